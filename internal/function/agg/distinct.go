package agg

import (
	"fmt"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/hashes"
	"github.com/weir-dev/weir/internal/function/hyperloglog"
	"github.com/weir-dev/weir/internal/plan"
)

// distinctDefs is approx_count_distinct.
func distinctDefs() []*fn.Def {
	return []*fn.Def{{
		Name: "approx_count_distinct", Group: "agg_funcs", BindAggregate: bindApproxDistinct,
		Accumulate: newApproxDistinct, Examples: []fn.Example{{"approx_count_distinct(i)", "3"}},
	}}
}

// defaultDeviation is the relative standard deviation that is aimed at.
const defaultDeviation = 0.05

// bindApproxDistinct makes a constant of the deviation, which the call's text
// does not show.
func bindApproxDistinct(b *fn.Binding) (*plan.AggregateCall, error) {
	s := fn.Takes(fn.Anything(), fn.Anything()).Optional(1).Gives(plan.Long).WithNull(fn.Never)
	c, err := s.Bind(b)
	if err != nil {
		return nil, err
	}
	if fn.HasVariant(c.Args[0].Type()) {
		return nil, plan.Unsupported("approx_count_distinct of variants, which Spark fails on,")
	}
	deviation := defaultDeviation
	if len(c.Args) == 2 {
		var ok bool
		if deviation, ok = deviationOf(c.Args[1]); !ok {
			return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_1104",
				"the second argument of approx_count_distinct must be a number.").At(b.Origin)
		}
	}
	if _, ok := hyperloglog.NewShape(deviation); !ok {
		return nil, plan.AnalysisError(
			"FAILED_FUNCTION_CALL",
			fmt.Sprintf(
				"approx_count_distinct aims at a relative standard deviation of at most 39%%, not %g.",
				deviation,
			),
			"funcName",
			"`approx_count_distinct`",
		).At(b.Origin)
	}
	c.Args = []plan.Expr{c.Args[0], plan.Lit(deviation, plan.Double)}
	c.Text = "approx_count_distinct($1)"
	return b.AggregateCall(c)
}

// deviationOf is the value of a literal with a fraction.
func deviationOf(e plan.Expr) (float64, bool) {
	v, _ := fn.Constant(e)
	switch v := v.(type) {
	case float64:
		return v, e.Type().Kind == plan.KindDouble
	case chunk.Dec:
		x, err := strconv.ParseFloat(decimal.Text(v, e.Type().Scale), 64)
		return x, err == nil
	default:
		return 0, false
	}
}

// approxDistinct keeps a sketch of each group.
type approxDistinct struct {
	shape    *hyperloglog.Shape
	sketches []int64 // Words of each group, one after the other
	groups   int
}

func newApproxDistinct(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
	deviation, _ := fn.Constant(c.Args[1])
	shape, _ := hyperloglog.NewShape(deviation.(float64))
	return &approxDistinct{shape: shape}, nil
}

func (a *approxDistinct) grow(n int) {
	a.groups = max(a.groups, n)
	a.sketches = grown(a.sketches, a.groups*a.shape.Words())
}

func (a *approxDistinct) sketch(g int32) []int64 {
	words := a.shape.Words()
	return a.sketches[int(g)*words : (int(g)+1)*words]
}

func (a *approxDistinct) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	value := args[0]
	if value.Type.Kind == plan.KindNull {
		return nil
	}
	for _, i := range fn.Active(value.Valid, sel, len(groups)) {
		a.shape.Add(a.sketch(groups[i]), hashes.XXOf(value, int(i)))
	}
	return nil
}

// BufferTypes are Spark's: the words of a sketch.
func (a *approxDistinct) BufferTypes() []plan.Type {
	types := make([]plan.Type, a.shape.Words())
	for w := range types {
		types[w] = plan.Long
	}
	return types
}

func (a *approxDistinct) Buffers() []*chunk.Vector {
	out := make([]*chunk.Vector, a.shape.Words())
	for w := range out {
		out[w] = chunk.Make(plan.Long, a.groups)
		dst := chunk.Values[int64](out[w])
		for g := range dst {
			dst[g] = a.sketches[g*len(out)+w]
		}
	}
	return out
}

func (a *approxDistinct) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	words := make([][]int64, len(buffers))
	for w, v := range buffers {
		words[w] = chunk.Values[int64](v)
	}
	other := make([]int64, len(buffers))
	for i, g := range groups {
		for w := range other {
			other[w] = words[w][i]
		}
		a.shape.Merge(a.sketch(g), other)
	}
	return nil
}

func (a *approxDistinct) Result() (*chunk.Vector, error) {
	out := chunk.Make(plan.Long, a.groups)
	dst := chunk.Values[int64](out)
	for g := range dst {
		dst[g] = a.shape.Estimate(a.sketch(int32(g)))
	}
	return out, nil
}
