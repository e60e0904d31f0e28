package agg

import (
	"encoding/binary"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// tally counts how often each group has met each value. The different values of
// all groups stand in one vector, where those of a group are a chain.
type tally struct {
	t          plan.Type
	values     *chunk.Vector
	counts     []int64
	next       []int32 // the value after, -1 at the end
	head, tail []int32 // first and last value of each group, -1 when it has none
	seen       map[string]int32
	key        []byte
}

func newTally(t plan.Type) *tally {
	return &tally{t: t, values: chunk.New(t, 16), seen: map[string]int32{}}
}

func (a *tally) grow(n int) {
	for len(a.head) < n {
		a.head, a.tail = append(a.head, -1), append(a.tail, -1)
	}
}

// add counts row i of a vector n times for a group.
func (a *tally) add(g int32, v *chunk.Vector, i int, n int64) {
	a.key = fn.AppendKey(binary.LittleEndian.AppendUint32(a.key[:0], uint32(g)), v, i)
	row, ok := a.seen[string(a.key)]
	if ok {
		a.counts[row] += n
		return
	}
	row = int32(a.values.Len)
	a.seen[string(a.key)] = row
	a.values.AppendFrom(v, i)
	a.counts, a.next = append(a.counts, n), append(a.next, -1)
	if a.tail[g] >= 0 {
		a.next[a.tail[g]] = row
	} else {
		a.head[g] = row
	}
	a.tail[g] = row
}

// rows is the values of a group in the order in which they were met.
func (a *tally) rows(g int, dst []int32) []int32 {
	for row := a.head[g]; row >= 0; row = a.next[row] {
		dst = append(dst, row)
	}
	return dst
}

// BufferTypes are the values of a group and beside them their counts.
func (a *tally) BufferTypes() []plan.Type {
	return []plan.Type{plan.Array(a.t, false), plan.Array(plan.Long, false)}
}

func (a *tally) Buffers() []*chunk.Vector {
	types := a.BufferTypes()
	values, counts := chunk.New(types[0], len(a.head)), chunk.New(types[1], len(a.head))
	for _, row := range a.head {
		for ; row >= 0; row = a.next[row] {
			values.Kids[0].AppendFrom(a.values, int(row))
			chunk.Append(counts.Kids[0], a.counts[row])
		}
		values.AppendSpan()
		counts.AppendSpan()
	}
	return []*chunk.Vector{values, counts}
}

func (a *tally) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	counts := chunk.Values[int64](buffers[1].Kids[0])
	for i, g := range groups {
		from, to := buffers[0].Span(i)
		first, _ := buffers[1].Span(i)
		for e := from; e < to; e++ {
			a.add(g, buffers[0].Kids[0], e, counts[first+e-from])
		}
	}
	return nil
}

// Update counts the values that are not NULL.
func (a *tally) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	v := args[0]
	if v.Type.Kind == plan.KindNull {
		return nil
	}
	for _, i := range fn.Active(v.Valid, sel, len(groups)) {
		a.add(groups[i], v, int(i), 1)
	}
	return nil
}
