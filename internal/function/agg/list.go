package agg

import (
	"encoding/binary"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// listDefs are the aggregates that collect values.
func listDefs() []*fn.Def {
	collected := fn.Takes(fn.Anything()).WithNull(fn.Never).GivesType(func(args []plan.Expr) plan.Type {
		return plan.Array(args[0].Type(), false)
	})
	return []*fn.Def{
		fn.Aggregate("collect_list array_agg", collected, newCollect(false),
			fn.Example{"collect_list(i)", "[10, 30, 20, 20]"}),
		fn.Aggregate("collect_set", collected.Checked(noMaps), newCollect(true),
			fn.Example{"sort_array(collect_set(i))", "[10, 20, 30]"}),
	}
}

func noMaps(b *fn.Binding, c *plan.Call) error {
	if t := c.Args[0].Type(); fn.HasMap(t) {
		return fn.Mismatch(b, c, "UNSUPPORTED_INPUT_TYPE", "a set of maps cannot be collected.",
			"functionName", "`collect_set`", "dataType", fn.Quoted("MAP"))
	}
	return nil
}

// collect keeps the values of all groups in one vector; each group is a chain of
// its rows.
type collect struct {
	elem       plan.Type
	values     *chunk.Vector
	next       []int32 // the row after, -1 at the end
	head, tail []int32 // first and last row of each group, -1 when it is empty
	seen       map[string]struct{}
}

func newCollect(distinct bool) fn.Accumulate {
	return func(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
		a := &collect{elem: *c.Of.Elem, values: chunk.New(*c.Of.Elem, 16)}
		if distinct {
			a.seen = map[string]struct{}{}
		}
		return a, nil
	}
}

func (a *collect) grow(n int) {
	for len(a.head) < n {
		a.head, a.tail = append(a.head, -1), append(a.tail, -1)
	}
}

func (a *collect) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	v := args[0]
	if v.Type.Kind == plan.KindNull {
		return nil
	}
	var key []byte
	for _, i := range fn.Active(v.Valid, sel, len(groups)) {
		key = a.add(groups[i], v, int(i), key)
	}
	return nil
}

// add appends row i of a vector to a group, unless the group has the value.
func (a *collect) add(g int32, v *chunk.Vector, i int, key []byte) []byte {
	if a.seen != nil {
		key = fn.AppendKey(binary.LittleEndian.AppendUint32(key[:0], uint32(g)), v, i)
		if _, ok := a.seen[string(key)]; ok {
			return key
		}
		a.seen[string(key)] = struct{}{}
	}
	row := int32(a.values.Len)
	a.values.AppendFrom(v, i)
	a.next = append(a.next, -1)
	if a.tail[g] >= 0 {
		a.next[a.tail[g]] = row
	} else {
		a.head[g] = row
	}
	a.tail[g] = row
	return key
}

func (a *collect) BufferTypes() []plan.Type { return []plan.Type{plan.Array(a.elem, false)} }

func (a *collect) Buffers() []*chunk.Vector {
	out := chunk.New(plan.Array(a.elem, false), len(a.head))
	for _, row := range a.head {
		for ; row >= 0; row = a.next[row] {
			out.Kids[0].AppendFrom(a.values, int(row))
		}
		out.AppendSpan()
	}
	return []*chunk.Vector{out}
}

func (a *collect) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	var key []byte
	for i, g := range groups {
		from, to := buffers[0].Span(i)
		for e := from; e < to; e++ {
			key = a.add(g, buffers[0].Kids[0], e, key)
		}
	}
	return nil
}

func (a *collect) Result() (*chunk.Vector, error) { return a.Buffers()[0], nil }
