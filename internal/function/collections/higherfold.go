package collections

import (
	"cmp"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// foldDefs make one value of the elements of an array.
func foldDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "aggregate", Aliases: []string{"reduce"}, Group: "lambda_funcs", ShownAsWritten: true,
			Bind: bindFold, Higher: foldMaker,
			Examples: []fn.Example{{"aggregate(array(1, 2, 3), 0, (acc, x) -> acc + x)", "6"},
				{"aggregate(array(1, 2, 3), 0, (acc, x) -> acc + x, acc -> acc * 10)", "60"}}},
	}
}

// bindFold binds aggregate(array, start, merge[, finish]).
func bindFold(b *fn.Binding) (*plan.Call, error) {
	same := &plan.Lambda{Params: []string{"id"}, Body: &plan.UnresolvedAttribute{Parts: []string{"id"}}}
	c, err := fn.Taking(2, 2).Or(same).Bind(b, fn.AnyArray())
	if err != nil {
		return nil, err
	}
	start := fn.Param{Of: c.Args[1].Type(), Null: true}
	if _, err := b.Resolve(c, 2, start, fn.ElementOf(c.Args[0].Type())); err != nil {
		return nil, err
	}
	finish, err := b.Resolve(c, 3, start)
	if err != nil {
		return nil, err
	}
	c.Of, c.Null = finish.Type(), c.Args[0].Nullable() || finish.Nullable()
	return c, b.Yields(c, 2, start.Of)
}

// foldMaker folds all lists at once, element by element: merge is asked for the
// first elements of all, then for the second ones of those that have two, and
// so on.
func foldMaker(c *plan.Call, _ *fn.Env) (fn.HigherKernel, error) {
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		list := args[0]
		f := &fold{list: list, merge: apply[0]}
		for _, i := range fn.Active(list.Valid, sel, n) {
			f.rows = append(f.rows, int32(i))
		}
		folded, err := f.run(args[1])
		if err != nil {
			return nil, err
		}
		rows := slices.Clone(f.rows)
		made, err := apply[1](rows, []*chunk.Vector{folded})
		if err != nil {
			return nil, err
		}
		at := make([]int32, n)
		for i := range at {
			at[i] = -1
		}
		for k, i := range rows {
			at[i] = int32(k)
		}
		return chunk.Gather(made, at), nil
	}, nil
}

// fold is the folding of some lists, the longest first.
type fold struct {
	list  *chunk.Vector
	rows  []int32
	merge fn.Apply
}

func (f *fold) length(k int) int {
	from, to := f.list.Span(int(f.rows[k]))
	return to - from
}

// run is the folded value of each row of f.rows, in that order.
func (f *fold) run(start *chunk.Vector) (*chunk.Vector, error) {
	slices.SortStableFunc(f.rows, func(a, b int32) int {
		return cmp.Compare(f.list.Offsets[b+1]-f.list.Offsets[b], f.list.Offsets[a+1]-f.list.Offsets[a])
	})
	acc := chunk.Gather(start, f.rows)
	var ended []*chunk.Vector // the values of lists that are through, longest last
	live := len(f.rows)
	at := make([]int32, live)
	for k := 0; ; k++ {
		still := live
		for still > 0 && f.length(still-1) <= k {
			still--
		}
		if still < live {
			ended = append(ended, acc.Slice(still, live))
			acc, live = acc.Slice(0, still), still
		}
		if live == 0 {
			break
		}
		for i := range live {
			at[i] = f.list.Offsets[f.rows[i]] + int32(k)
		}
		var err error
		params := []*chunk.Vector{acc, chunk.Gather(f.list.Kids[0], at[:live])}
		if acc, err = f.merge(f.rows[:live], params); err != nil {
			return nil, err
		}
	}
	out := chunk.New(start.Type, len(f.rows))
	for _, v := range slices.Backward(ended) {
		out.AppendRange(v, 0, v.Len)
	}
	return out, nil
}
