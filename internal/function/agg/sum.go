package agg

import (
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// sumDefs are count, sum and avg.
func sumDefs() []*fn.Def {
	sum := fn.Takes(summable()).GivesType(sumType).WithNull(fn.Always)
	avg := fn.Takes(summable()).GivesType(avgType).WithNull(fn.Always)
	return []*fn.Def{
		{Name: "count", Group: "agg_funcs", BindAggregate: bindCount, Accumulate: newCount,
			Examples: []fn.Example{{"count(*)", "5"}, {"count(i)", "4"}, {"count(DISTINCT i)", "3"}}},
		fn.Aggregate("count_if", fn.Takes(fn.Exactly(plan.Boolean)).Gives(plan.Long).WithNull(fn.Never), newCountIf,
			fn.Example{"count_if(i > 15)", "3"}),
		{Name: "sum", Group: "agg_funcs", BindAggregate: withDoubles(sum), Accumulate: newSum(fn.Raise),
			Examples: []fn.Example{{"sum(i)", "80"}, {"sum(m)", "13.76"}}},
		{Name: "try_sum", Group: "agg_funcs", BindAggregate: withDoubles(sum), Accumulate: newSum(fn.Null),
			Examples: []fn.Example{{"try_sum(9223372036854775807)", "NULL"}}},
		{Name: "avg", Aliases: []string{"mean"}, Group: "agg_funcs", BindAggregate: withDoubles(avg),
			Accumulate: newAvg(fn.Raise), ShownAsWritten: true,
			Examples: []fn.Example{{"avg(i)", "20.0"}, {"avg(m)", "3.440000"}}},
		{Name: "try_avg", Group: "agg_funcs", BindAggregate: withDoubles(avg), Accumulate: newAvg(fn.Null),
			Examples: []fn.Example{{"try_avg(i)", "20.0"}}},
	}
}

func summable() fn.Input {
	in := fn.OneOf(fn.Numeric(), fn.AnsiIntervals())
	in.Text = `"NUMERIC" or "ANSI INTERVAL"`
	return in
}

// withDoubles reads strings and timestamps as doubles first.
func withDoubles(s fn.Sig) func(b *fn.Binding) (*plan.AggregateCall, error) {
	return func(b *fn.Binding) (*plan.AggregateCall, error) {
		if len(b.Args) == 1 {
			if t := b.Args[0].Type(); t.IsString() || t.Kind == plan.KindTimestamp {
				bound := *b
				bound.Args = []plan.Expr{b.Cast(b.Args[0], plan.Double)}
				b = &bound
			}
		}
		return s.Aggregate(b)
	}
}

// Digits that a sum has before those of its terms, and that an average has on
// top of them.
const (
	sumDigits = 10
	avgDigits = 4
)

func sumType(args []plan.Expr) plan.Type {
	t := args[0].Type()
	switch {
	case t.Kind == plan.KindDecimal:
		return boundedPrecision(t.Precision+sumDigits, t.Scale)
	case t.IsIntegral():
		return plan.Long
	case fn.IsANSIInterval(t):
		return t
	default:
		return plan.Double
	}
}

func boundedPrecision(precision, scale int) plan.Type {
	return plan.Decimal(min(precision, plan.MaxPrecision), min(scale, plan.MaxPrecision))
}

func avgType(args []plan.Expr) plan.Type {
	t := args[0].Type()
	switch t.Kind {
	case plan.KindDecimal:
		return boundedPrecision(t.Precision+avgDigits, t.Scale+avgDigits)
	case plan.KindYearMonth:
		return plan.YearMonth
	case plan.KindDayTime:
		return plan.DayTime
	default:
		return plan.Double
	}
}

func bindCount(b *fn.Binding) (*plan.AggregateCall, error) {
	if len(b.Args) == 0 {
		e := fn.WrongCount(b, " >= 1")
		return nil, plan.AnalysisError("WRONG_NUM_ARGS.WITH_SUGGESTION", e.Msg, "functionName", "`count`",
			"expectedNum", " >= 1", "actualNum", "0", "legacyNum", "0",
			"legacyConfKey", `"spark.sql.legacy.allowParameterlessCount"`, "legacyConfValue", `"true"`)
	}
	return b.AggregateCall(b.Call(b.Args, plan.Long, false))
}

// counter counts rows in which no argument is NULL.
type counter struct {
	counts []int64
	ifTrue bool // the only argument must be true
}

func newCount(*plan.AggregateCall, *fn.Env) (fn.Accumulator, error) { return &counter{}, nil }

func newCountIf(*plan.AggregateCall, *fn.Env) (fn.Accumulator, error) {
	return &counter{ifTrue: true}, nil
}

func (a *counter) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.counts = grown(a.counts, n)
	rows := len(groups)
	valid := fn.ValidOf(args, rows)
	switch {
	case a.ifTrue:
		truth := chunk.Values[uint8](args[0])
		for _, i := range fn.Active(valid, sel, rows) {
			a.counts[groups[i]] += int64(truth[i])
		}
	case valid == nil && sel == nil:
		for _, g := range groups {
			a.counts[g]++
		}
	default:
		for _, i := range fn.Active(valid, sel, rows) {
			a.counts[groups[i]]++
		}
	}
	return nil
}

func (a *counter) BufferTypes() []plan.Type { return []plan.Type{plan.Long} }

func (a *counter) Buffers() []*chunk.Vector { return []*chunk.Vector{copied(plan.Long, a.counts)} }

func (a *counter) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.counts = grown(a.counts, n)
	for i, c := range chunk.Values[int64](buffers[0]) {
		a.counts[groups[i]] += c
	}
	return nil
}

func (a *counter) Result() (*chunk.Vector, error) { return copied(plan.Long, a.counts), nil }

// faultsOf is what an overflow of a call becomes: without ANSI nothing raises.
func faultsOf(c *plan.AggregateCall, underANSI fn.Faults) fn.Faults {
	if !c.ANSI && underANSI == fn.Raise {
		return fn.Wrap
	}
	return underANSI
}

// newSum makes the sum of a type; f says what an overflow becomes under ANSI.
func newSum(f fn.Faults) fn.Accumulate {
	return func(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
		f := faultsOf(c, f)
		t := c.Args[0].Type()
		switch t.Kind {
		case plan.KindByte:
			return newIntSum[int8](c, f), nil
		case plan.KindShort:
			return newIntSum[int16](c, f), nil
		case plan.KindInt, plan.KindYearMonth:
			return newIntSum[int32](c, f), nil
		case plan.KindLong, plan.KindDayTime:
			return newIntSum[int64](c, f), nil
		case plan.KindFloat:
			return &floatSum[float32]{}, nil
		case plan.KindDouble:
			return &floatSum[float64]{}, nil
		default:
			return &decimalSum{origin: c.Origin, in: t, out: c.Of, faults: f, try: "try_sum"}, nil
		}
	}
}

// intSum sums integers and ANSI intervals in 64 bits.
type intSum[T fn.Integer] struct {
	call   *plan.AggregateCall
	faults fn.Faults
	sums   []int64
	met    []bool
	lost   []bool // overflowed where that gives NULL
}

func newIntSum[T fn.Integer](c *plan.AggregateCall, f fn.Faults) *intSum[T] {
	if c.Of.IsInterval() && f == fn.Wrap {
		f = fn.Raise
	}
	return &intSum[T]{call: c, faults: f}
}

func (a *intSum[T]) grow(n int) {
	a.sums, a.met = grown(a.sums, n), grown(a.met, n)
	if a.faults == fn.Null {
		a.lost = grown(a.lost, n)
	}
}

func (a *intSum[T]) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	values := chunk.Values[T](args[0])
	for _, i := range fn.Active(args[0].Valid, sel, len(groups)) {
		if err := a.add(groups[i], int64(values[i])); err != nil {
			return err
		}
	}
	return nil
}

func (a *intSum[T]) add(g int32, x int64) error {
	sum := a.sums[g] + x
	if (a.sums[g]^sum)&(x^sum) < 0 && a.faults != fn.Wrap {
		if a.faults == fn.Raise {
			return a.overflow()
		}
		a.lost[g] = true
	}
	a.sums[g], a.met[g] = sum, true
	return nil
}

func (a *intSum[T]) overflow() error {
	if a.call.Of.IsInterval() {
		return fn.IntervalOverflow("try_add")
	}
	return fn.Overflow("overflow", "try_add").At(a.call.Origin)
}

func (a *intSum[T]) BufferTypes() []plan.Type { return []plan.Type{plan.Long, plan.Boolean} }

func (a *intSum[T]) Buffers() []*chunk.Vector {
	lost := chunk.Make(plan.Boolean, len(a.sums))
	for g, x := range a.lost {
		chunk.Values[uint8](lost)[g] = fn.Bit(x)
	}
	return []*chunk.Vector{flagged(a.met, plan.Long, copied(plan.Long, a.sums)), lost}
}

func (a *intSum[T]) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	sums, lost := chunk.Values[int64](buffers[0]), chunk.Values[uint8](buffers[1])
	for i, g := range groups {
		if buffers[0].IsNull(i) {
			continue
		}
		if err := a.add(g, sums[i]); err != nil {
			return err
		}
		if a.faults == fn.Null && lost[i] != 0 {
			a.lost[g] = true
		}
	}
	return nil
}

func (a *intSum[T]) Result() (*chunk.Vector, error) {
	met := append([]bool(nil), a.met...)
	for g, lost := range a.lost {
		met[g] = met[g] && !lost
	}
	if a.call.Of.Kind != plan.KindYearMonth {
		return flagged(met, a.call.Of, copied(a.call.Of, a.sums)), nil
	}
	v := chunk.Make(a.call.Of, len(a.sums))
	for g, s := range a.sums {
		if int64(int32(s)) != s {
			return nil, fn.IntervalOverflow("try_add")
		}
		chunk.Values[int32](v)[g] = int32(s)
	}
	return flagged(met, a.call.Of, v), nil
}

// floatSum sums floats and doubles as doubles.
type floatSum[T fn.Float] struct {
	sums []float64
	met  []bool
}

func (a *floatSum[T]) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.sums, a.met = grown(a.sums, n), grown(a.met, n)
	values := chunk.Values[T](args[0])
	for _, i := range fn.Active(args[0].Valid, sel, len(groups)) {
		a.sums[groups[i]] += float64(values[i])
		a.met[groups[i]] = true
	}
	return nil
}

func (a *floatSum[T]) BufferTypes() []plan.Type { return []plan.Type{plan.Double} }

func (a *floatSum[T]) Buffers() []*chunk.Vector {
	return []*chunk.Vector{flagged(a.met, plan.Double, copied(plan.Double, a.sums))}
}

func (a *floatSum[T]) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.sums, a.met = grown(a.sums, n), grown(a.met, n)
	for i, x := range chunk.Values[float64](buffers[0]) {
		if !buffers[0].IsNull(i) {
			a.sums[groups[i]] += x
			a.met[groups[i]] = true
		}
	}
	return nil
}

func (a *floatSum[T]) Result() (*chunk.Vector, error) { return a.Buffers()[0], nil }

// newAvg makes the average of a type.
func newAvg(f fn.Faults) fn.Accumulate {
	return func(c *plan.AggregateCall, env *fn.Env) (fn.Accumulator, error) {
		f := faultsOf(c, f)
		sum, err := newSum(f)(c, env)
		t := c.Args[0].Type()
		switch {
		case t.IsIntegral():
			sum = &integersAsDoubles{floatSum[float64]{}}
		case t.Kind == plan.KindDecimal:
			sum = &decimalSum{origin: c.Origin, in: t, out: boundedPrecision(t.Precision+sumDigits, t.Scale),
				faults: f, try: "try_avg"}
		}
		return &average{sum: sum, out: c.Of, scale: t.Scale, call: c, faults: f}, err
	}
}

// integersAsDoubles sums integers as doubles, as avg does.
type integersAsDoubles struct{ floatSum[float64] }

func (a *integersAsDoubles) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.sums, a.met = grown(a.sums, n), grown(a.met, n)
	for _, i := range fn.Active(args[0].Valid, sel, len(groups)) {
		a.sums[groups[i]] += float64(fn.IntegerAt(args[0], int(i)))
		a.met[groups[i]] = true
	}
	return nil
}

// average is a sum and a count.
type average struct {
	sum    fn.Accumulator
	count  counter
	out    plan.Type
	scale  int
	call   *plan.AggregateCall
	faults fn.Faults
}

func (a *average) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	if err := a.sum.Update(groups, args, sel, n); err != nil {
		return err
	}
	return a.count.Update(groups, args, sel, n)
}

func (a *average) BufferTypes() []plan.Type { return append(a.sum.BufferTypes(), plan.Long) }

func (a *average) Buffers() []*chunk.Vector { return append(a.sum.Buffers(), a.count.Buffers()...) }

func (a *average) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	last := len(buffers) - 1
	if err := a.sum.Merge(groups, buffers[:last], n); err != nil {
		return err
	}
	return a.count.Merge(groups, buffers[last:], n)
}

func (a *average) Result() (*chunk.Vector, error) {
	if sum, ok := a.sum.(*decimalSum); ok {
		return a.decimals(sum)
	}
	sums, err := a.sum.Result()
	if err != nil {
		return nil, err
	}
	switch a.out.Kind {
	case plan.KindDayTime, plan.KindYearMonth:
		return a.intervals(sums)
	}
	out := chunk.Make(plan.Double, sums.Len)
	out.Valid = sums.Valid
	for g, s := range chunk.Values[float64](sums) {
		chunk.Values[float64](out)[g] = s / float64(a.count.counts[g])
	}
	return out, nil
}

// decimals divides. Of a sum that is kept whole only the quotient has to fit.
func (a *average) decimals(sum *decimalSum) (*chunk.Vector, error) {
	s := &decimal.Shape{Left: a.scale, Out: a.out}
	out := chunk.Make(a.out, len(sum.met))
	for g, met := range sum.met {
		if !met || sum.isLost(g) {
			if met && a.faults == fn.Raise {
				return nil, sum.overflow()
			}
			out.SetNull(g)
			continue
		}
		count := decimal128.FromI64(a.count.counts[g])
		total, small := sum.small(g)
		var v chunk.Dec
		var ok bool
		if small {
			v, ok = s.Div(total, count)
		} else {
			v, ok = decimal.FitBig(s.BigQuotientOf(sum.total(g), count), decimal.DivisionScale, a.out)
		}
		switch {
		case ok:
			chunk.Values[chunk.Dec](out)[g] = v
		case a.faults == fn.Raise:
			text := decimal.BigText(s.BigQuotientOf(sum.total(g), count), decimal.DivisionScale)
			return nil, fn.DecimalOverflow(text, a.out).At(a.call.Origin)
		default:
			out.SetNull(g)
		}
	}
	return out, nil
}

// Whole and EndPart are those of a sum of decimals; others have no use for them.
func (a *average) Whole() {
	if sum, ok := a.sum.(*decimalSum); ok {
		sum.Whole()
	}
}

func (a *average) EndPart() {
	if sum, ok := a.sum.(*decimalSum); ok {
		sum.EndPart()
	}
}

// intervals divides and rounds half up.
func (a *average) intervals(sums *chunk.Vector) (*chunk.Vector, error) {
	out := chunk.Make(a.out, sums.Len)
	for g := range sums.Len {
		if sums.IsNull(g) {
			out.SetNull(g)
			continue
		}
		q := divideHalfUp(fn.IntegerAt(sums, g), a.count.counts[g])
		if a.out.Kind == plan.KindYearMonth {
			chunk.Values[int32](out)[g] = int32(q)
		} else {
			chunk.Values[int64](out)[g] = q
		}
	}
	return out, nil
}

// divideHalfUp is x/by rounded half away from zero; by is positive.
func divideHalfUp(x, by int64) int64 {
	q, r := x/by, x%by
	if r < 0 {
		r = -r
	}
	if r >= by-r {
		if x < 0 {
			return q - 1
		}
		return q + 1
	}
	return q
}
