package operators

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

func notKernel(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := fn.NewColumn(plan.Boolean, n, args[0].Valid)
	dst := chunk.Values[uint8](out.Vector)
	for i, x := range chunk.Values[uint8](args[0]) {
		dst[i] = x ^ 1
	}
	return out.Vector, nil
}

// largest is the argument with the largest value of row i by sign*order, nil when all are NULL.
func largest(args []*chunk.Vector, i, sign int, order fn.Comparator) *chunk.Vector {
	var best *chunk.Vector
	for _, a := range args {
		if !a.IsNull(i) && (best == nil || sign*order(a, i, best, i) > 0) {
			best = a
		}
	}
	return best
}

// greatestKernel picks the greatest (sign 1) or the least (sign -1) of the
// arguments that are not NULL.
func greatestKernel(sign int) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		order := fn.Compare(c.Of)
		return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
			out := fn.NewAppender(c.Of, n)
			for _, i := range fn.Picked(sel, n) {
				if from := largest(args, int(i), sign, order); from != nil {
					out.SkipTo(int(i)).AppendFrom(from, int(i))
				}
			}
			return out.SkipTo(n), nil
		}, nil
	}
}
