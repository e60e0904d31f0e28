package connector

import (
	"context"
	"slices"

	"github.com/weir-dev/weir/internal/connector/kafka"
)

// kafkaGauge asks the cluster where the partitions end that the query has read.
type kafkaGauge struct {
	source *kafkaSource
	first  kafka.Offsets // as of the first answer: what was read is counted from there
	last   kafka.Offsets
	kept   retention
}

// Gauge asks over the source's connections.
func (k *kafkaSource) Gauge() Gauge {
	return &kafkaGauge{source: k, first: kafka.Offsets{}, kept: newRetention()}
}

func (g *kafkaGauge) Backlog(ctx context.Context, committed Offset) (Backlog, error) {
	b := unmeasured()
	if committed == "" { // where it begins is found by the first batch
		return b, nil
	}
	at, err := parseKafkaOffsets(string(committed))
	if err != nil {
		return b, err
	}
	partitions := at.Partitions()
	slices.SortFunc(partitions, kafka.Compare)
	ends, err := g.source.cluster.Peek(ctx, partitions, kafka.Latest)
	if err != nil {
		return b, kafkaFailed(err)
	}
	if now := g.source.env.Now(); g.kept.due(now) {
		begins, err := g.source.cluster.Peek(ctx, partitions, kafka.Earliest)
		if err != nil {
			return b, kafkaFailed(err)
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
		b.Partitions = append(b.Partitions, PartitionBacklog{Name: p.String(), Committed: from, Latest: end})
	}
	g.last = at
	if size := g.source.main.fetcher.PerOffset(); size > 0 || b.Rows == 0 {
		b.Bytes, b.ReadBytes = b.Rows*size, b.ReadRows*size
	}
	return b, nil
}
