package agg

import (
	"cmp"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// histogramDefs is histogram_numeric.
func histogramDefs() []*fn.Def {
	of := fn.OneOf(
		fn.Numeric(),
		fn.Exactly(plan.Date),
		fn.Exactly(plan.Timestamp),
		fn.Exactly(plan.TimestampNTZ),
		fn.Interval(plan.KindYearMonth),
		fn.Interval(plan.KindDayTime),
	)
	s := fn.Takes(of, fn.Exactly(plan.Int)).WithNull(fn.Always).Checked(constantBins).
		GivesType(func(args []plan.Expr) plan.Type {
			return plan.Array(plan.Struct(plan.Field{Name: "x", Type: args[0].Type(), Nullable: true},
				plan.Field{Name: "y", Type: plan.Double, Nullable: true}), true)
		})
	return []*fn.Def{fn.Aggregate("histogram_numeric", s, newHistogram, fn.Example{"histogram_numeric(d, 5)",
		"[{-0.5, 1.0}, {1.5, 1.0}, {2.25, 1.0}, {4.0, 1.0}]"})}
}

// constantBins makes a constant of the number of bins.
func constantBins(b *fn.Binding, c *plan.Call) error {
	e := c.Args[1]
	v, ok := cast.Folded(b, e)
	if !ok {
		return fn.Mismatch(b, c, "NON_FOLDABLE_INPUT", "the number of bins must be a constant.",
			"inputName", "`nb`", "inputType", fn.SqlType(plan.Int), "inputExpr", fn.Quoted(b.SQL(e)))
	}
	if v == nil {
		return fn.Mismatch(b, c, "UNEXPECTED_NULL", "the number of bins must not be NULL.", "exprName", "nb")
	}
	if bins := v.(int64); bins < 2 {
		return fn.Mismatch(b, c, "VALUE_OUT_OF_RANGE", "a histogram has at least two bins.", "exprName", "nb",
			"valueRange", "[2, 2147483647]", "currentValue", b.SQL(plan.Lit(bins, plan.Int)))
	}
	c.Text = "histogram_numeric($1, " + fn.Escaped(b.SQL(e)) + ")"
	c.Args[1] = plan.Lit(v, plan.Int)
	return nil
}

// bin is a place of a histogram and how many values are near.
type bin struct{ x, y float64 }

// histogram approximates what was met by at most a number of bins, as Hive does:
// when there are too many, the two nearest become one.
type histogram struct {
	most   int
	bins   []bin
	random javaRandom
}

func (h *histogram) add(x float64) {
	at, found := slices.BinarySearchFunc(h.bins, x, func(b bin, x float64) int { return cmp.Compare(b.x, x) })
	if found {
		h.bins[at].y++
		return
	}
	h.bins = slices.Insert(h.bins, at, bin{x, 1})
	h.trim()
}

func (h *histogram) trim() {
	for len(h.bins) > h.most {
		at, least, ties := 0, h.bins[1].x-h.bins[0].x, 1
		for i := 1; i < len(h.bins)-1; i++ {
			gap := h.bins[i+1].x - h.bins[i].x
			switch {
			case gap < least:
				at, least, ties = i, gap, 1
			case gap == least:
				ties++
				if h.random.float64() <= 1/float64(ties) {
					at = i
				}
			}
		}
		near, next := &h.bins[at], h.bins[at+1]
		sum := near.y + next.y
		near.x *= near.y / sum
		near.x += float64(next.x / sum * next.y)
		near.y = sum
		h.bins = slices.Delete(h.bins, at+1, at+2)
	}
}

func (h *histogram) merge(bins []bin) {
	h.bins = append(h.bins, bins...)
	slices.SortStableFunc(h.bins, func(a, b bin) int { return cmp.Compare(a.x, b.x) })
	h.trim()
}

// javaRandom is java.util.Random.
type javaRandom int64

const (
	javaFactor     = 0x5deece66d
	javaMask       = 1<<48 - 1
	histogramStart = 31183 // what Hive's histograms start their random numbers from
)

func newJavaRandom(start int64) javaRandom { return javaRandom((start ^ javaFactor) & javaMask) }

func (r *javaRandom) next(bits int) int64 {
	*r = (*r*javaFactor + 0xb) & javaMask
	return int64(*r) >> (48 - bits)
}

func (r *javaRandom) float64() float64 { return float64(r.next(26)<<27+r.next(27)) / (1 << 53) }

// histograms is the histogram of each group.
type histograms struct {
	of     plan.Type
	most   int
	number fn.Kernel
	groups []histogram
}

func newHistogram(c *plan.AggregateCall, env *fn.Env) (fn.Accumulator, error) {
	v, _ := fn.Constant(c.Args[1])
	a := &histograms{of: c.Of, most: int(v.(int64))}
	var err error
	a.number, err = asDoubles(c.Args[0].Type(), env)
	return a, err
}

func (a *histograms) grow(n int) {
	for len(a.groups) < n {
		a.groups = append(a.groups, histogram{most: a.most, random: newJavaRandom(histogramStart)})
	}
}

func (a *histograms) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	return eachDouble(a.number, groups, args[0], sel, func(group int32, x float64) { a.groups[group].add(x) })
}

// BufferTypes are the places of the bins and what is in them.
func (a *histograms) BufferTypes() []plan.Type {
	return []plan.Type{plan.Array(plan.Double, false), plan.Array(plan.Double, false)}
}

func (a *histograms) Buffers() []*chunk.Vector {
	types := a.BufferTypes()
	x, y := chunk.New(types[0], len(a.groups)), chunk.New(types[1], len(a.groups))
	for _, h := range a.groups {
		for _, b := range h.bins {
			chunk.Append(x.Kids[0], b.x)
			chunk.Append(y.Kids[0], b.y)
		}
		x.AppendSpan()
		y.AppendSpan()
	}
	return []*chunk.Vector{x, y}
}

func (a *histograms) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	xs, ys := chunk.Values[float64](buffers[0].Kids[0]), chunk.Values[float64](buffers[1].Kids[0])
	for i, g := range groups {
		from, to := buffers[0].Span(i)
		first, _ := buffers[1].Span(i)
		bins := make([]bin, to-from)
		for k := range bins {
			bins[k] = bin{xs[from+k], ys[first+k]}
		}
		a.groups[g].merge(bins)
	}
	return nil
}

func (a *histograms) Result() (*chunk.Vector, error) {
	out := chunk.New(a.of, len(a.groups))
	for _, h := range a.groups {
		if len(h.bins) == 0 {
			out.AppendNull()
			continue
		}
		bins := out.Kids[0]
		for _, b := range h.bins {
			appendNumber(bins.Kids[0], b.x)
			chunk.Append(bins.Kids[1], b.y)
			bins.AppendRow()
		}
		out.AppendSpan()
	}
	return out, nil
}
