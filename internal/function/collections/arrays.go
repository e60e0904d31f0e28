package collections

import (
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/times"
	"github.com/weir-dev/weir/internal/plan"
)

// arrayDefs search, order and fill arrays.
func arrayDefs() []*fn.Def {
	sorted := fn.Takes(fn.AnyArray(), fn.Exactly(plan.Boolean)).
		Defaults(plan.Lit(true, plan.Boolean)).
		GivesFirst().
		Checked(sortable)
	extreme := fn.Takes(fn.AnyArray()).GivesType(elementOf).WithNull(fn.Always).Checked(orderedElements)
	return []*fn.Def{
		{Name: "array_contains", Group: "array_funcs", Bind: bindSearch(plan.Boolean), Kernel: containsMaker,
			Examples: []fn.Example{{"array_contains(array(1, 2, 3), 2)", "true"}}},
		{Name: "array_position", Group: "array_funcs", Bind: bindSearch(plan.Long), Kernel: positionMaker,
			Examples: []fn.Example{{"array_position(array(3, 2, 1), 1)", "3"}}},
		{Name: "array_remove", Group: "array_funcs", Bind: bindSearch(plan.Null), Kernel: removeMaker,
			Examples: []fn.Example{{"array_remove(array(1, 2, 3, NULL, 3), 3)", "[1, 2, NULL]"}}},
		fn.Scalar("sort_array", "array_funcs", sorted, sortMaker,
			fn.Example{"sort_array(array('b', 'd', NULL, 'a'))", "[NULL, a, b, d]"}),
		fn.Scalar("array_distinct", "array_funcs",
			fn.Takes(fn.AnyArray()).GivesFirst().Checked(orderedElements), distinctMaker,
			fn.Example{"array_distinct(array(1, 2, 1, NULL))", "[1, 2, NULL]"}),
		fn.Scalar("array_max", "array_funcs", extreme, arrayExtreme(1),
			fn.Example{"array_max(array(1, 20, NULL))", "20"}),
		fn.Scalar("array_min", "array_funcs", extreme, arrayExtreme(-1),
			fn.Example{"array_min(array(1, 20, NULL))", "1"}),
		{Name: "sequence", Group: "array_funcs", Bind: bindSequence, Kernel: sequenceMaker,
			Examples: []fn.Example{{"sequence(1, 5, 2)", "[1, 3, 5]"},
				{"sequence(DATE '2024-01-30', DATE '2024-02-01')", "[2024-01-30, 2024-01-31, 2024-02-01]"}}},
	}
}

// searchType is what elements and the value looked for among them are cast to.
// Of the searches only array_contains finds a common type of decimals.
func searchType(b *fn.Binding, elem, value plan.Type) (plan.Type, bool) {
	if b.Def.Name == "array_contains" && elem.Kind == plan.KindDecimal && value.Kind == plan.KindDecimal {
		return fn.WiderDecimal(elem, value), true
	}
	return fn.TightestType(elem, value, b.Env)
}

// bindSearch binds a search for a value among an array's elements; of is the
// result's type, the array's when null.
func bindSearch(of plan.Type) func(b *fn.Binding) (*plan.Call, error) {
	return func(b *fn.Binding) (*plan.Call, error) {
		if err := b.Between(2, 2); err != nil {
			return nil, err
		}
		child, value := b.Args[0], b.Args[1]
		if t := child.Type(); t.Kind == plan.KindArray {
			if common, ok := searchType(b, *t.Elem, value.Type()); ok {
				child, value = b.Cast(child, plan.Array(common, t.ContainsNull)), b.Cast(value, common)
			}
		}
		c := b.Call([]plan.Expr{child, value}, of, child.Nullable() || value.Nullable())
		t, v := child.Type(), value.Type()
		untyped := b.Args[1].Type().Kind == plan.KindNull && b.Def.Name == "array_contains"
		if untyped || t.Kind == plan.KindNull || v.Kind == plan.KindNull {
			return nil, fn.Mismatch(b, c, "NULL_TYPE", b.Def.Name+" needs an array and a value of a type.",
				"functionName", plan.Quote(b.Def.Name))
		}
		if t.Kind != plan.KindArray || v.Kind == plan.KindNull || !t.Elem.EqualIgnoringNull(v) {
			return nil, fn.Mismatch(b, c, "ARRAY_FUNCTION_DIFF_TYPES",
				"values of "+v.SQL()+" are not looked for in "+t.SQL()+".",
				"functionName", plan.Quote(b.Def.Name), "dataType", fn.Quoted("ARRAY"), "leftType", fn.SqlType(t),
				"rightType", fn.SqlType(v))
		}
		if !fn.Orderable(v) {
			return nil, fn.Mismatch(b, c, "INVALID_ORDERING_TYPE", v.SQL()+" values cannot be compared.",
				"functionName", plan.Quote(b.Def.Name), "dataType", fn.SqlType(v))
		}
		switch of.Kind {
		case plan.KindNull:
			c.Of = t
		case plan.KindBoolean:
			c.Null = c.Null || t.ContainsNull
		}
		return c, nil
	}
}

// find is the first element equal to a row's value, -1 when there is none, and
// whether NULLs were met.
func find(order fn.Comparator, args []*chunk.Vector, i int) (at int, null bool) {
	from, to := args[0].Span(i)
	kid := args[0].Kids[0]
	for e := from; e < to; e++ {
		if kid.IsNull(e) {
			null = true
		} else if order(kid, e, args[1], i) == 0 {
			return e - from, null
		}
	}
	return -1, null
}

func containsMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	order := fn.Compare(c.Args[1].Type())
	return fn.Fixed(plan.Boolean, func(args []*chunk.Vector, i int) (uint8, bool, error) {
		at, null := find(order, args, i)
		return fn.Bit(at >= 0), at >= 0 || !null, nil
	}), nil
}

func positionMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	order := fn.Compare(c.Args[1].Type())
	return fn.Fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
		at, _ := find(order, args, i)
		return int64(at + 1), true, nil
	}), nil
}

func removeMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	order := fn.Compare(c.Args[1].Type())
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		kid := args[0].Kids[0]
		for e := from; e < to; e++ {
			if kid.IsNull(e) || order(kid, e, args[1], i) != 0 {
				fn.AppendAny(out.Kids[0], kid, e)
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}

func orderedElements(b *fn.Binding, c *plan.Call) error {
	return ordered(b, c, *c.Args[0].Type().Elem)
}

// sortable names the array where its elements have no order.
func sortable(b *fn.Binding, c *plan.Call) error { return ordered(b, c, c.Args[0].Type()) }

func ordered(b *fn.Binding, c *plan.Call, t plan.Type) error {
	if fn.Orderable(t) {
		return nil
	}
	return fn.Mismatch(b, c, "INVALID_ORDERING_TYPE", t.SQL()+" values cannot be compared.",
		"functionName", plan.Quote(b.Def.Name), "dataType", fn.SqlType(t))
}

// sortMaker sorts ascending with NULLs first, or descending with NULLs last.
func sortMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	order := fn.Compare(*c.Of.Elem)
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		kid := args[0].Kids[0]
		rows := make([]int32, to-from)
		for k := range rows {
			rows[k] = int32(from + k)
		}
		sign := -1
		if chunk.Values[uint8](args[1])[i] != 0 {
			sign = 1
		}
		slices.SortStableFunc(rows, func(x, y int32) int {
			return sign * fn.NullsFirst(order, kid, int(x), kid, int(y))
		})
		for _, r := range rows {
			fn.AppendAny(out.Kids[0], kid, int(r))
		}
		out.AppendSpan()
		return nil
	}), nil
}

func arrayExtreme(sign int) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		order := fn.Compare(c.Of)
		return gatherElements(c, func(args []*chunk.Vector, i int) (int, error) {
			from, to := args[0].Span(i)
			kid, best := args[0].Kids[0], -1
			for e := from; e < to; e++ {
				if !kid.IsNull(e) && (best < 0 || sign*order(kid, e, kid, best) > 0) {
					best = e
				}
			}
			return best, nil
		}), nil
	}
}

// fewElements is how many elements are compared one by one rather than hashed.
const fewElements = 16

// distinctMaker keeps the first of equal elements; -0.0 becomes 0.0.
func distinctMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		kid := args[0].Kids[0]
		seen := make(map[string]struct{}, min(to-from, fewElements))
		var key []byte
		for e := from; e < to; e++ {
			key = fn.AppendKey(key[:0], kid, e)
			if _, ok := seen[string(key)]; ok {
				continue
			}
			seen[string(key)] = struct{}{}
			fn.AppendAny(out.Kids[0], kid, e)
			dropSign(out.Kids[0])
		}
		out.AppendSpan()
		return nil
	}), nil
}

// dropSign makes 0.0 of a last element that is -0.0.
func dropSign(v *chunk.Vector) {
	switch v.Type.Kind {
	case plan.KindDouble:
		if values := chunk.Values[float64](v); values[v.Len-1] == 0 {
			values[v.Len-1] = 0
		}
	case plan.KindFloat:
		if values := chunk.Values[float32](v); values[v.Len-1] == 0 {
			values[v.Len-1] = 0
		}
	}
}

// bindSequence binds sequence(start, stop[, step]).
func bindSequence(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 3); err != nil {
		return nil, err
	}
	ends := b.Args[:2]
	args := slices.Clone(b.Args)
	if t, ok := fn.FoldTypes(fn.TypesOf(ends), b.Env, fn.CommonType); ok {
		args[0], args[1] = b.Cast(ends[0], t), b.Cast(ends[1], t)
		if len(args) == 3 && t.IsIntegral() && args[2].Type().IsIntegral() {
			if t, ok = fn.FoldTypes(fn.TypesOf(args), b.Env, fn.CommonType); ok {
				args = b.CastAll(args, t)
			}
		}
	}
	t := args[0].Type()
	c := b.Call(args, plan.Array(t, false), fn.AnyNullable(args))
	step := t
	if len(args) == 3 {
		step = args[2].Type()
	}
	good := t.EqualIgnoringNull(args[1].Type()) &&
		(t.IsIntegral() && step.EqualIgnoringNull(t) || fn.IsDatetime(t) && (step.IsInterval() || len(args) == 2))
	if !good {
		return nil, fn.Mismatch(b, c, "SEQUENCE_WRONG_INPUT_TYPES",
			"sequence needs two integers, dates or timestamps and a step.",
			"functionName", "`sequence`", "startType", `("TIMESTAMP" or "TIMESTAMP_NTZ" or "DATE")`,
			"stepType", `("INTERVAL" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")`, "otherStartType",
			`"INTEGRAL"`)
	}
	return c, nil
}

func sequenceMaker(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	t := *c.Of.Elem
	if fn.IsDatetime(t) {
		return times.Zoned(env, func(zone *codec.Offsets) fn.Kernel { return timeSequence(c, t, zone, env) }), nil
	}
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		start, stop := fn.IntegerAt(args[0], i), fn.IntegerAt(args[1], i)
		step := int64(1)
		if stop < start {
			step = -1
		}
		if len(args) == 3 {
			step = fn.IntegerAt(args[2], i)
		}
		if !reaches(start, stop, step) {
			return badBoundaries(fn.Itoa(int(start)), fn.Itoa(int(stop)), fn.Itoa(int(step)))
		}
		if err := fn.RoomFor(env, "sequence", out.Kids[0], sequenceLength(start, stop, step)); err != nil {
			return err
		}
		for x := start; ; x += step {
			appendInteger(out.Kids[0], x)
			if step > 0 && x > stop-step || step < 0 && x < stop-step || step == 0 {
				break
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}

func reaches(start, stop, step int64) bool {
	return step > 0 && start <= stop || step < 0 && start >= stop || step == 0 && start == stop
}

func sequenceLength(start, stop, step int64) uint64 {
	if step == 0 {
		return 1
	}
	if step > 0 {
		return (uint64(stop)-uint64(start))/uint64(step) + 1
	}
	return (uint64(start)-uint64(stop))/uint64(-step) + 1
}

// intervalName is a type of intervals as Spark's messages about sequences have it.
func intervalName(t plan.Type) string {
	switch t.Kind {
	case plan.KindYearMonth:
		return "interval year to month"
	case plan.KindDayTime:
		return "interval day to second"
	default:
		return "interval"
	}
}

func badBoundaries(start, stop, step string) error {
	return plan.IllegalArgument("Illegal sequence boundaries: %s to %s by %s", start, stop, step)
}

func appendInteger(v *chunk.Vector, x int64) {
	switch chunk.Width(v.Type) {
	case 1:
		chunk.Append(v, int8(x))
	case 2:
		chunk.Append(v, int16(x))
	case 4:
		chunk.Append(v, int32(x))
	default:
		chunk.Append(v, x)
	}
}

// timeSequence counts steps from the start, so that months keep their day.
func timeSequence(c *plan.Call, t plan.Type, zone *codec.Offsets, env *fn.Env) fn.Kernel {
	unit := int64(1)
	if t.Kind != plan.KindTimestamp {
		zone = codec.NewOffsets(times.Utc)
	}
	if t.Kind == plan.KindDate {
		unit = fn.MicrosPerDay
	}
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		start, stop := fn.IntegerAt(args[0], i)*unit, fn.IntegerAt(args[1], i)*unit
		step := plan.Interval{Days: 1}
		if stop < start {
			step.Days = -1
		}
		if len(args) == 3 {
			part := times.SpanPart
			if args[2].Type.Kind == plan.KindYearMonth {
				part = times.MonthsPart
			}
			step = part(args[2], i)
		}
		if t.Kind == plan.KindDate && step.Months == 0 && step.Days == 0 {
			return plan.NewError(plan.ClassIllegal, "_LEGACY_ERROR_TEMP_3242",
				"sequence over dates needs a step of whole days.", "intervalType", intervalName(args[2].Type))
		}
		span := int64(step.Months)*28*fn.MicrosPerDay + int64(step.Days)*fn.MicrosPerDay + step.Micros
		if !reaches(start, stop, span) {
			return badBoundaries(fn.Itoa(int(start)), fn.Itoa(int(stop)), fn.Itoa(int(span)))
		}
		if err := fn.RoomFor(env, "sequence", out.Kids[0], sequenceLength(start, stop, span)); err != nil {
			return err
		}
		for k := int64(0); ; k++ {
			x, ok := times.AddSpan(start, plan.Interval{Months: step.Months * int32(k), Days: step.Days * int32(k),
				Micros: step.Micros * k}, zone)
			if !ok || span > 0 && x > stop || span < 0 && x < stop || span == 0 && k > 0 {
				break
			}
			appendInteger(out.Kids[0], fn.FloorDiv(x, unit))
		}
		out.AppendSpan()
		return nil
	})
}
