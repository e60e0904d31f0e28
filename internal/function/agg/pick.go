package agg

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// pickDefs are the aggregates whose result is one of the values they met.
func pickDefs() []*fn.Def {
	extreme := fn.Takes(fn.Anything()).GivesFirst().WithNull(fn.Always).Checked(mustOrder(0))
	truth := fn.Takes(fn.Exactly(plan.Boolean)).Gives(plan.Boolean).WithNull(fn.Always)
	by := fn.Takes(fn.Anything(), fn.Anything()).GivesFirst().WithNull(fn.Always).Checked(mustOrder(1))
	first := fn.Takes(fn.Anything(), constantFlag()).
		Optional(1).
		GivesFirst().
		WithNull(fn.Always).
		Checked(ignoreFlag)
	return []*fn.Def{
		fn.Aggregate("min", extreme, newExtreme(-1), fn.Example{"min(i)", "10"}),
		fn.Aggregate("max", extreme, newExtreme(1), fn.Example{"max(k)", "b"}),
		fn.Aggregate("bool_and every", truth, newExtreme(-1), fn.Example{"bool_and(i > 5)", "true"}).AsWritten(),
		fn.Aggregate("bool_or some any", truth, newExtreme(1), fn.Example{"bool_or(i > 25)", "true"}).AsWritten(),
		fn.Aggregate("max_by", by, newExtremeBy(1), fn.Example{"max_by(id, d)", "4"}),
		fn.Aggregate("min_by", by, newExtremeBy(-1), fn.Example{"min_by(id, m)", "5"}),
		fn.Aggregate("first first_value", first, newEdge(false), fn.Example{"first(i)", "10"}).AsWritten(),
		fn.Aggregate("last last_value", first, newEdge(true), fn.Example{"last(i, true)", "20"}).AsWritten(),
		fn.Aggregate("any_value", first, newEdge(false), fn.Example{"any_value(k)", "a"}),
	}
}

// constantFlag takes anything: that it is a constant is checked first.
func constantFlag() fn.Input { return fn.Anything() }

// mustOrder checks that values of argument i have an order.
func mustOrder(i int) func(b *fn.Binding, c *plan.Call) error {
	return func(b *fn.Binding, c *plan.Call) error {
		if t := c.Args[i].Type(); !fn.Orderable(t) {
			return fn.Mismatch(b, c, "INVALID_ORDERING_TYPE", t.SQL()+" values cannot be compared.",
				"functionName", plan.Quote(b.Def.Name), "dataType", fn.SqlType(t))
		}
		return nil
	}
}

// ignoreFlag checks that IGNORE NULLS is a constant, and shows it as Spark does.
func ignoreFlag(b *fn.Binding, c *plan.Call) error {
	if len(c.Args) < 2 {
		return nil
	}
	if _, ok := fn.Constant(c.Args[1]); !ok {
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1210",
			"the second argument of "+b.Def.Name+" must be a constant.",
			"funcName", b.Def.Name).At(b.Origin)
	}
	if t := c.Args[1].Type(); t.Kind != plan.KindBoolean {
		return fn.Unexpected(b, c, 1, fn.SqlType(plan.Boolean))
	}
	c.Text = b.ShownName() + "($1)"
	return nil
}

// newExtreme makes min (sign -1) or max (sign 1).
func newExtreme(sign int) fn.Accumulate {
	return func(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
		switch c.Of.Kind {
		case plan.KindBoolean:
			return newBest(c.Of, sign, betterInt[uint8]), nil
		case plan.KindByte:
			return newBest(c.Of, sign, betterInt[int8]), nil
		case plan.KindShort:
			return newBest(c.Of, sign, betterInt[int16]), nil
		case plan.KindInt, plan.KindDate, plan.KindYearMonth:
			return newBest(c.Of, sign, betterInt[int32]), nil
		case plan.KindLong, plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindTime:
			return newBest(c.Of, sign, betterInt[int64]), nil
		case plan.KindFloat:
			return newBest(c.Of, sign, betterFloat[float32]), nil
		case plan.KindDouble:
			return newBest(c.Of, sign, betterFloat[float64]), nil
		case plan.KindDecimal:
			return newBest(c.Of, sign, func(x, y chunk.Dec) bool { return x.Greater(y) }), nil
		default:
			return &extreme{keeper: newKeeper(c.Of), order: fn.Compare(c.Of), sign: sign}, nil
		}
	}
}

func betterInt[T fn.Ordered](x, y T) bool { return x > y }

func betterFloat[T fn.Float](x, y T) bool { return fn.OrderFloats(x, y) > 0 }

// best keeps the greatest or the least fixed-width value of each group.
type best[T chunk.Fixed] struct {
	t       plan.Type
	greater func(x, y T) bool
	sign    int
	values  []T
	met     []bool
}

func newBest[T chunk.Fixed](t plan.Type, sign int, greater func(x, y T) bool) *best[T] {
	return &best[T]{t: t, greater: greater, sign: sign}
}

func (a *best[T]) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.values, a.met = grown(a.values, n), grown(a.met, n)
	values := chunk.Values[T](args[0])
	for _, i := range fn.Active(args[0].Valid, sel, len(groups)) {
		g, x := groups[i], values[i]
		if !a.met[g] || a.sign > 0 && a.greater(x, a.values[g]) || a.sign < 0 && a.greater(a.values[g], x) {
			a.values[g], a.met[g] = x, true
		}
	}
	return nil
}

func (a *best[T]) BufferTypes() []plan.Type { return []plan.Type{a.t} }

func (a *best[T]) Buffers() []*chunk.Vector {
	return []*chunk.Vector{flagged(a.met, a.t, copied(a.t, a.values))}
}

func (a *best[T]) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	return inChunks(groups, buffers, n, a.Update)
}

func (a *best[T]) Result() (*chunk.Vector, error) { return a.Buffers()[0], nil }

// inChunks feeds partial results, which may be longer than a chunk, to Update.
func inChunks(groups []int32, buffers []*chunk.Vector, n int,
	update func(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error) error {
	for from := 0; from < len(groups); from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, len(groups))
		parts := make([]*chunk.Vector, len(buffers))
		for i, b := range buffers {
			parts[i] = b.Slice(from, to)
		}
		if err := update(groups[from:to], parts, nil, n); err != nil {
			return err
		}
	}
	return nil
}

// extreme is best for values of any type.
type extreme struct {
	*keeper
	order fn.Comparator
	sign  int
}

func (a *extreme) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	v := args[0]
	if v.Type.Kind == plan.KindNull {
		return nil
	}
	for _, i := range fn.Active(v.Valid, sel, len(groups)) {
		g := groups[i]
		if !a.has(g) || a.sign*a.order(v, int(i), a.values, int(a.at[g])) > 0 {
			a.set(g, v, int(i))
		}
	}
	return nil
}

func (a *extreme) BufferTypes() []plan.Type { return []plan.Type{a.t} }

func (a *extreme) Buffers() []*chunk.Vector { return []*chunk.Vector{a.vector()} }

func (a *extreme) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	return inChunks(groups, buffers, n, a.Update)
}

func (a *extreme) Result() (*chunk.Vector, error) { return a.vector(), nil }

// newExtremeBy makes max_by and min_by.
func newExtremeBy(sign int) fn.Accumulate {
	return func(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
		t := c.Args[1].Type()
		return &extremeBy{value: newKeeper(c.Of), key: newKeeper(t), order: fn.Compare(t), sign: sign}, nil
	}
}

// extremeBy keeps the value that stands beside the greatest or least key; of
// equal keys the last one counts.
type extremeBy struct {
	value, key *keeper
	order      fn.Comparator
	sign       int
}

func (a *extremeBy) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.value.grow(n)
	a.key.grow(n)
	value, key := args[0], args[1]
	if key.Type.Kind == plan.KindNull {
		return nil
	}
	for _, i := range fn.Active(key.Valid, sel, len(groups)) {
		g := groups[i]
		if a.key.has(g) && a.sign*a.order(key, int(i), a.key.values, int(a.key.at[g])) < 0 {
			continue
		}
		a.key.set(g, key, int(i))
		a.value.set(g, value, int(i))
	}
	return nil
}

func (a *extremeBy) BufferTypes() []plan.Type { return []plan.Type{a.value.t, a.key.t} }

func (a *extremeBy) Buffers() []*chunk.Vector {
	return []*chunk.Vector{a.value.vector(), a.key.vector()}
}

func (a *extremeBy) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	return inChunks(groups, buffers, n, a.Update)
}

func (a *extremeBy) Result() (*chunk.Vector, error) { return a.value.vector(), nil }

// newEdge makes first and last.
func newEdge(last bool) fn.Accumulate {
	return func(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
		ignore := false
		if len(c.Args) > 1 {
			flag, _ := fn.Constant(c.Args[1])
			ignore = flag == true
		}
		return &edge{keeper: newKeeper(c.Of), last: last, ignore: ignore}, nil
	}
}

// edge keeps the first or the last value, NULLs among them unless ignored.
type edge struct {
	*keeper
	last, ignore bool
}

func (a *edge) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	for _, i := range fn.Picked(sel, len(groups)) {
		g := groups[i]
		if !a.last && a.has(g) || a.ignore && args[0].IsNull(int(i)) {
			continue
		}
		a.set(g, args[0], int(i))
	}
	return nil
}

func (a *edge) BufferTypes() []plan.Type { return []plan.Type{a.t, plan.Boolean} }

func (a *edge) Buffers() []*chunk.Vector { return []*chunk.Vector{a.vector(), a.presence()} }

func (a *edge) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	met := chunk.Values[uint8](buffers[1])
	for i, g := range groups {
		if met[i] != 0 && (a.last || !a.has(g)) {
			a.set(g, buffers[0], i)
		}
	}
	return nil
}

func (a *edge) Result() (*chunk.Vector, error) { return a.vector(), nil }
