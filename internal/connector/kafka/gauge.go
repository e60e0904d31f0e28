package kafka

import (
	"context"
	"slices"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
)

// gauge asks the cluster where the partitions end that the query has read.
type gauge struct {
	source *source
	first  client.Offsets // as of the first answer: what was read is counted from there
	last   client.Offsets
	kept   retention
}

// Gauge asks over the source's connections.
func (k *source) Gauge() connector.Gauge {
	return &gauge{source: k, first: client.Offsets{}, kept: newRetention()}
}

func (g *gauge) Backlog(ctx context.Context, committed connector.Offset) (connector.Backlog, error) {
	b := connector.Unmeasured()
	if committed == "" { // where it begins is found by the first batch
		return b, nil
	}
	at, err := parseOffsets(string(committed))
	if err != nil {
		return b, err
	}
	partitions := at.Partitions()
	slices.SortFunc(partitions, client.Compare)
	ends, err := g.source.cluster.Peek(ctx, partitions, client.Latest)
	if err != nil {
		return b, failed(err)
	}
	if now := g.source.env.Now(); g.kept.due(now) {
		begins, err := g.source.cluster.Peek(ctx, partitions, client.Earliest)
		if err != nil {
			return b, failed(err)
		}
		g.kept.note(now, begins, at, ends)
	}
	b.UntilLoss = g.kept.until
	b.Rows, b.ReadRows = 0, 0
	for _, p := range partitions {
		from, end := at[p], ends[p]
		if _, known := g.first[p]; !known || from < g.last[p] || end < from {
			b.Restarted = len(g.last) > 0
			g.first[p] = from
		}
		b.Rows += float64(max(0, end-from))
		b.ReadRows += float64(from - g.first[p])
		b.Partitions = append(b.Partitions, connector.PartitionBacklog{Name: p.String(), Committed: from,
			Latest: end})
	}
	g.last = at
	if size := g.source.main.fetcher.PerOffset(); size > 0 || b.Rows == 0 {
		b.Bytes, b.ReadBytes = b.Rows*size, b.ReadRows*size
	}
	return b, nil
}
