package exec

import (
	"math"
	"sort"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// windowFunctions compute the functions that stand before OVER only.
var windowFunctions = map[string]func(w *windowRows, fn *windowFn) (*chunk.Vector, error){
	"row_number":   (*windowRows).rowNumber,
	"rank":         (*windowRows).rank,
	"dense_rank":   (*windowRows).denseRank,
	"percent_rank": (*windowRows).percentRank,
	"cume_dist":    (*windowRows).cumeDist,
	"ntile":        (*windowRows).ntile,
	"lag":          (*windowRows).neighbour,
	"lead":         (*windowRows).neighbour,
	"nth_value":    (*windowRows).nth,
}

// span is places [from, to).
type span struct{ from, to int }

// eachPart calls fn for every partition.
func (w *windowRows) eachPart(fn func(part span)) {
	for i := 1; i < len(w.parts); i++ {
		fn(span{int(w.parts[i-1]), int(w.parts[i])})
	}
}

// eachPeers calls fn for the rows of equal keys, with the partition they are in
// and how many such groups came before in it.
func (w *windowRows) eachPeers(fn func(part, peers span, before int)) {
	k := 1
	w.eachPart(func(part span) {
		for before := 0; k < len(w.peers) && int(w.peers[k]) <= part.to; k++ {
			fn(part, span{int(w.peers[k-1]), int(w.peers[k])}, before)
			before++
		}
	})
}

// numbers makes a column of integers of every place's partition and peers.
func (w *windowRows) numbers(value func(part, peers span, before int) int) (*chunk.Vector, error) {
	out := chunk.Make(plan.Int, w.n)
	dst := chunk.Values[int32](out)
	w.eachPeers(func(part, peers span, before int) {
		v := int32(value(part, peers, before))
		for i := peers.from; i < peers.to; i++ {
			dst[i] = v
		}
	})
	return out, nil
}

// shares is numbers for fractions.
func (w *windowRows) shares(value func(part, peers span) float64) (*chunk.Vector, error) {
	out := chunk.Make(plan.Double, w.n)
	dst := chunk.Values[float64](out)
	w.eachPeers(func(part, peers span, _ int) {
		v := value(part, peers)
		for i := peers.from; i < peers.to; i++ {
			dst[i] = v
		}
	})
	return out, nil
}

func (w *windowRows) rowNumber(*windowFn) (*chunk.Vector, error) {
	out := chunk.Make(plan.Int, w.n)
	dst := chunk.Values[int32](out)
	w.eachPart(func(part span) {
		for i := part.from; i < part.to; i++ {
			dst[i] = int32(i - part.from + 1)
		}
	})
	return out, nil
}

func (w *windowRows) rank(*windowFn) (*chunk.Vector, error) {
	return w.numbers(func(part, peers span, _ int) int { return peers.from - part.from + 1 })
}

func (w *windowRows) denseRank(*windowFn) (*chunk.Vector, error) {
	return w.numbers(func(_, _ span, before int) int { return before + 1 })
}

func (w *windowRows) percentRank(*windowFn) (*chunk.Vector, error) {
	return w.shares(func(part, peers span) float64 {
		if part.to-part.from == 1 {
			return 0
		}
		return float64(peers.from-part.from) / float64(part.to-part.from-1)
	})
}

func (w *windowRows) cumeDist(*windowFn) (*chunk.Vector, error) {
	return w.shares(func(part, peers span) float64 {
		return float64(peers.to-part.from) / float64(part.to-part.from)
	})
}

// ntile deals the rows of a partition out to buckets; the first ones take what
// is left over.
func (w *windowRows) ntile(fn *windowFn) (*chunk.Vector, error) {
	n := int(fn.call.(*plan.Call).Args[0].(*plan.Literal).Value.(int64))
	out := chunk.Make(plan.Int, w.n)
	dst := chunk.Values[int32](out)
	w.eachPart(func(part span) {
		size, larger := (part.to-part.from)/n, (part.to-part.from)%n
		at := part.from
		for bucket := 1; at < part.to; bucket++ {
			end := at + size
			if bucket <= larger {
				end++
			}
			for ; at < end; at++ {
				dst[at] = int32(bucket)
			}
		}
	})
	return out, nil
}

// neighbour is lag and lead.
func (w *windowRows) neighbour(fn *windowFn) (*chunk.Vector, error) {
	call := fn.call.(*plan.Call)
	away := int(function.WindowOffset(call))
	value, other := w.cols[fn.args[0]], w.cols[fn.args[2]]
	out := chunk.New(call.Of, 0)
	find := func(part span, i int) int { return i + away }
	if function.IgnoresNulls(call) {
		find = func(part span, i int) int { return nextValue(value, part, i, away) }
	}
	w.eachPart(func(part span) {
		for i := part.from; i < part.to; i++ {
			if k := find(part, i); k >= part.from && k < part.to {
				appendAny(out, value, k)
			} else {
				appendAny(out, other, i)
			}
		}
	})
	return out, nil
}

// nextValue is the place of the away-th value that is not NULL behind i, or
// before it; outside of the partition when there is none.
func nextValue(v *chunk.Vector, part span, i, away int) int {
	step := 1
	if away < 0 {
		step, away = -1, -away
	}
	for ; away > 0; away-- {
		for i += step; i >= part.from && i < part.to && v.IsNull(i); i += step {
		}
	}
	return i
}

// appendAny copies row i, also of a column that holds NULLs only.
func appendAny(out, v *chunk.Vector, i int) {
	if v.IsNull(i) {
		out.AppendNull()
		return
	}
	out.AppendFrom(v, i)
}

// nth is nth_value.
func (w *windowRows) nth(fn *windowFn) (*chunk.Vector, error) {
	call := fn.call.(*plan.Call)
	n := call.Args[1].(*plan.Literal).Value.(int64)
	value := w.cols[fn.args[0]]
	out := chunk.New(call.Of, 0)
	find := func(f span) int { return int(min(int64(f.from)+n-1, math.MaxInt32)) }
	if function.IgnoresNulls(call) {
		find = func(f span) int {
			if int64(w.n) < n {
				return f.to
			}
			return nextValue(value, f, f.from-1, int(n))
		}
	}
	w.eachFrame(&fn.frame, func(_ span, _ int, f span) {
		if k := find(f); f.from < f.to && k < f.to {
			appendAny(out, value, k)
		} else {
			out.AppendNull()
		}
	})
	return out, nil
}

// eachFrame calls fn for every place in order: its partition, the place, and the
// places of its frame, which may be none.
func (w *windowRows) eachFrame(f *frameForm, fn func(part span, i int, frame span)) {
	var from, to frameEnd
	if f.Rows {
		from, to = rowEnd(f.From.Kind, f.from), rowEnd(f.To.Kind, f.to+1)
	} else {
		from, to = w.rangeEnd(f.From.Kind, f.fromLimit, false), w.rangeEnd(f.To.Kind, f.toLimit, true)
	}
	w.eachPeers(func(part, peers span, _ int) {
		for i := peers.from; i < peers.to; i++ {
			fn(part, i, span{max(from(part, peers, i), part.from), min(to(part, peers, i), part.to)})
		}
	})
}

// frameEnd finds an end of the frame of place i: its first place, or the place
// behind its last.
type frameEnd func(part, peers span, i int) int

func partFrom(part, _ span, _ int) int { return part.from }
func partTo(part, _ span, _ int) int   { return part.to }

// rowEnd finds an end of ROWS, so many places away.
func rowEnd(kind plan.BoundKind, away int64) frameEnd {
	switch kind {
	case plan.UnboundedPreceding:
		return partFrom
	case plan.UnboundedFollowing:
		return partTo
	default:
		return func(_, _ span, i int) int { return i + int(away) }
	}
}

// rangeEnd finds an end of RANGE; behind says that it is the upper one.
func (w *windowRows) rangeEnd(kind plan.BoundKind, limit int, behind bool) frameEnd {
	switch kind {
	case plan.UnboundedPreceding:
		return partFrom
	case plan.UnboundedFollowing:
		return partTo
	case plan.CurrentRow:
		if behind {
			return func(_, peers span, _ int) int { return peers.to }
		}
		return func(_, peers span, _ int) int { return peers.from }
	default:
		return w.limitEnd(limit, behind)
	}
}

// limitEnd finds the first place whose key reaches the limit of place i, or the
// first whose key is beyond it.
func (w *windowRows) limitEnd(limit int, behind bool) frameEnd {
	limits := &rowkey.SortKeys{}
	limits.Add([]*chunk.Vector{w.cols[limit]}, w.op.orders[w.op.groups:])
	least := 0
	if behind {
		least = 1
	}
	return func(part, _ span, i int) int {
		return part.from + sort.Search(part.to-part.from, func(k int) bool {
			return rowkey.Compare(w.keys, w.order[part.from+k], limits, int32(i)) >= least
		})
	}
}
