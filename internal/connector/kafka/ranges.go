package kafka

import (
	"math"
	"time"

	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
)

// shareLimit gives each partition its share of a limit by what it has to read.
// Every partition that has something gets an offset at least, so the sum may be
// more than the limit. first are the starts of partitions that start lacks.
func shareLimit(limit int64, start, first, end client.Offsets) client.Offsets {
	begin := func(p client.Partition) (int64, bool) {
		if o, ok := start[p]; ok {
			return o, true
		}
		o, ok := first[p]
		return o, ok
	}
	total := 0.0
	for p, to := range end {
		if from, ok := begin(p); ok && to > from {
			total += float64(to - from)
		}
	}
	if total < 1 {
		return end
	}
	out := make(client.Offsets, len(end))
	for p, to := range end {
		out[p] = to
		from, ok := begin(p)
		if !ok || to <= from {
			continue
		}
		share := float64(limit) * (float64(to-from) / total)
		if share < 1 {
			share = math.Ceil(share)
		}
		if n := int64(share); n <= math.MaxInt64-from {
			out[p] = min(to, from+n)
		}
	}
	return out
}

// holdBack tells whether a batch waits for more records: fewer than least are
// new, and the last batch that ran is not longer than delay ago.
func holdBack(least int64, start, end client.Offsets, passed, delay time.Duration) bool {
	if passed >= delay {
		return false
	}
	fresh := int64(0)
	for p, to := range end {
		fresh += to - start[p]
	}
	return fresh < least
}

// facts is what the cluster says that a range is judged by.
type facts struct {
	start, end client.Offsets
	// first are the earliest offsets of partitions of end that start lacks.
	first client.Offsets
	group string // kafka.group.id; "" when it is not set
}

// ranges turns the bounds of a batch into ranges, sorted by partition. What
// is wrong with them is loss: records that were to be read are not there.
func ranges(f facts) (ranges []client.Range, losses []*plan.Error) {
	var unknown, gone []client.Partition
	for _, p := range f.end.Partitions() {
		from, ok := f.start[p]
		if !ok {
			if from, ok = f.first[p]; !ok {
				unknown = append(unknown, p)
				continue
			}
			if from != 0 {
				losses = append(losses, startsLate(p, from))
			}
		}
		to := f.end[p]
		if to < from {
			losses = append(losses, offsetChanged(p, from, to,
				"the topic was made again or cut off, or the query was started behind its end"))
			continue
		}
		if to > from {
			ranges = append(ranges, client.Range{Partition: p, From: from, To: to})
		}
	}
	for _, p := range f.start.Partitions() {
		if _, ok := f.end[p]; !ok {
			gone = append(gone, p)
		}
	}
	if len(unknown) > 0 {
		losses = append(losses, noEarliest(unknown))
	}
	if len(gone) > 0 {
		losses = append(losses, lostPartitions(gone, f.group))
	}
	return ranges, losses
}

// splitRanges cuts ranges up so that there are about as many as least, and none
// has more than most offsets; zero is no wish. The pieces are numbered.
func splitRanges(ranges []client.Range, least int, most int64) []client.Range {
	if most > 0 {
		ranges = cutRanges(ranges, func(r client.Range) int64 { return (r.To - r.From + most - 1) / most })
	}
	if least > len(ranges) {
		total, small, smallSize := int64(0), 0, int64(0)
		for _, r := range ranges {
			total += r.To - r.From
		}
		for _, r := range ranges {
			if pieces(r, total, least) == 1 {
				small++
				smallSize += r.To - r.From
			}
		}
		wanted, large := max(least-small, 1), total-smallSize
		ranges = cutRanges(ranges, func(r client.Range) int64 {
			if pieces(r, total, least) == 1 {
				return 1
			}
			return pieces(r, large, wanted)
		})
	}
	for i := range ranges {
		ranges[i].Part = i
	}
	return ranges
}

// pieces is how many of so many pieces of everything a range should be.
func pieces(r client.Range, total int64, of int) int64 {
	return max(int64(math.Floor(float64(r.To-r.From)/float64(total)*float64(of)+0.5)), 1)
}

func cutRanges(ranges []client.Range, into func(client.Range) int64) []client.Range {
	var out []client.Range
	for _, r := range ranges {
		parts := into(r)
		for left := r.To - r.From; parts > 0; parts-- {
			size := left / parts
			if size > 0 {
				out = append(out, client.Range{Partition: r.Partition, From: r.From, To: r.From + size})
			}
			r.From += size
			left -= size
		}
	}
	return out
}
