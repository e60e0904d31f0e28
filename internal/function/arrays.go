package function

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// arrayDefs search, order and fill arrays.
func arrayDefs() []*Def {
	sorted := takes(anyArray(), exactly(plan.Boolean)).defaults(plan.Lit(true, plan.Boolean)).givesFirst().
		checked(orderedElements)
	extreme := takes(anyArray()).givesType(elementOf).withNull(always).checked(orderedElements)
	return []*Def{
		{Name: "array_contains", Group: "array_funcs", Bind: bindSearch(plan.Boolean), Kernel: containsMaker,
			Examples: []Example{{"array_contains(array(1, 2, 3), 2)", "true"}}},
		{Name: "array_position", Group: "array_funcs", Bind: bindSearch(plan.Long), Kernel: positionMaker,
			Examples: []Example{{"array_position(array(3, 2, 1), 1)", "3"}}},
		{Name: "array_remove", Group: "array_funcs", Bind: bindSearch(plan.Null), Kernel: removeMaker,
			Examples: []Example{{"array_remove(array(1, 2, 3, NULL, 3), 3)", "[1, 2, NULL]"}}},
		scalar("sort_array", "array_funcs", sorted, sortMaker,
			Example{"sort_array(array('b', 'd', NULL, 'a'))", "[NULL, a, b, d]"}),
		scalar("array_distinct", "array_funcs", takes(anyArray()).givesFirst(), distinctMaker,
			Example{"array_distinct(array(1, 2, 1, NULL))", "[1, 2, NULL]"}),
		scalar("array_max", "array_funcs", extreme, arrayExtreme(1),
			Example{"array_max(array(1, 20, NULL))", "20"}),
		scalar("array_min", "array_funcs", extreme, arrayExtreme(-1),
			Example{"array_min(array(1, 20, NULL))", "1"}),
		{Name: "sequence", Group: "array_funcs", Bind: bindSequence, Kernel: sequenceMaker,
			Examples: []Example{{"sequence(1, 5, 2)", "[1, 3, 5]"},
				{"sequence(DATE '2024-01-30', DATE '2024-02-01')", "[2024-01-30, 2024-01-31, 2024-02-01]"}}},
	}
}

// searchType is what elements and the value looked for among them are cast to.
// Of the searches only array_contains finds a common type of decimals.
func (b *Binding) searchType(elem, value plan.Type) (plan.Type, bool) {
	if b.Def.Name == "array_contains" && elem.Kind == plan.KindDecimal && value.Kind == plan.KindDecimal {
		return WiderDecimal(elem, value), true
	}
	return TightestType(elem, value, b.Env)
}

// bindSearch binds a search for a value among an array's elements; of is the
// result's type, the array's when null.
func bindSearch(of plan.Type) func(b *Binding) (*plan.Call, error) {
	return func(b *Binding) (*plan.Call, error) {
		if err := b.between(2, 2); err != nil {
			return nil, err
		}
		child, value := b.Args[0], b.Args[1]
		if t := child.Type(); t.Kind == plan.KindArray {
			if common, ok := b.searchType(*t.Elem, value.Type()); ok {
				child, value = b.cast(child, plan.Array(common, t.ContainsNull)), b.cast(value, common)
			}
		}
		c := b.call([]plan.Expr{child, value}, of, child.Nullable() || value.Nullable())
		t, v := child.Type(), value.Type()
		if t.Kind != plan.KindArray || v.Kind == plan.KindNull || !t.Elem.EqualIgnoringNull(v) {
			return nil, mismatch(b, c, "ARRAY_FUNCTION_DIFF_TYPES",
				"values of "+v.SQL()+" are not looked for in "+t.SQL()+".",
				"functionName", plan.Quote(b.Def.Name), "dataType", quoted("ARRAY"), "leftType", sqlType(t),
				"rightType", sqlType(v))
		}
		if !Orderable(v) {
			return nil, mismatch(b, c, "INVALID_ORDERING_TYPE", v.SQL()+" values cannot be compared.",
				"functionName", plan.Quote(b.Def.Name), "dataType", sqlType(v))
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
func find(order Comparator, args []*chunk.Vector, i int) (at int, null bool) {
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

func containsMaker(c *plan.Call, _ *Env) (Kernel, error) {
	order := Compare(c.Args[1].Type())
	return fixed(plan.Boolean, func(args []*chunk.Vector, i int) (uint8, bool, error) {
		at, null := find(order, args, i)
		return bit(at >= 0), at >= 0 || !null, nil
	}), nil
}

func positionMaker(c *plan.Call, _ *Env) (Kernel, error) {
	order := Compare(c.Args[1].Type())
	return fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
		at, _ := find(order, args, i)
		return int64(at + 1), true, nil
	}), nil
}

func removeMaker(c *plan.Call, _ *Env) (Kernel, error) {
	order := Compare(c.Args[1].Type())
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		kid := args[0].Kids[0]
		for e := from; e < to; e++ {
			if kid.IsNull(e) || order(kid, e, args[1], i) != 0 {
				appendAny(out.Kids[0], kid, e)
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}

func orderedElements(b *Binding, c *plan.Call) error {
	t := c.Args[0].Type()
	if Orderable(*t.Elem) {
		return nil
	}
	return mismatch(b, c, "INVALID_ORDERING_TYPE", t.Elem.SQL()+" values cannot be compared.",
		"functionName", plan.Quote(b.Def.Name), "dataType", sqlType(*t.Elem))
}

// sortMaker sorts ascending with NULLs first, or descending with NULLs last.
func sortMaker(c *plan.Call, _ *Env) (Kernel, error) {
	order := Compare(*c.Of.Elem)
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
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
			return sign * nullsFirst(order, kid, int(x), kid, int(y))
		})
		for _, r := range rows {
			appendAny(out.Kids[0], kid, int(r))
		}
		out.AppendSpan()
		return nil
	}), nil
}

func arrayExtreme(sign int) maker {
	return func(c *plan.Call, _ *Env) (Kernel, error) {
		order := Compare(c.Of)
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
func distinctMaker(c *plan.Call, _ *Env) (Kernel, error) {
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		from, to := args[0].Span(i)
		kid := args[0].Kids[0]
		seen := make(map[string]struct{}, min(to-from, fewElements))
		var key []byte
		for e := from; e < to; e++ {
			key = appendKey(key[:0], kid, e)
			if _, ok := seen[string(key)]; ok {
				continue
			}
			seen[string(key)] = struct{}{}
			appendAny(out.Kids[0], kid, e)
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

// appendKey writes a value so that two are equal exactly when their bytes are:
// NaNs are one, zeros are one.
func appendKey(dst []byte, v *chunk.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch v.Type.Kind {
	case plan.KindFloat, plan.KindDouble:
		f := 0.0
		if v.Type.Kind == plan.KindFloat {
			f = float64(chunk.Values[float32](v)[i])
		} else {
			f = chunk.Values[float64](v)[i]
		}
		if f != f {
			f = math.NaN()
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f+0))
	case plan.KindStruct:
		for _, kid := range v.Kids {
			dst = appendKey(dst, kid, i)
		}
		return dst
	}
	if w := chunk.Width(v.Type); w > 0 {
		return append(dst, v.Data[i*w:(i+1)*w]...)
	}
	if chunk.IsBytes(v.Type) {
		dst = binary.AppendUvarint(dst, uint64(len(v.Bytes(i))))
		return append(dst, v.Bytes(i)...)
	}
	from, to := v.Span(i)
	dst = binary.AppendUvarint(dst, uint64(to-from))
	for e := from; e < to; e++ {
		for _, kid := range v.Kids {
			dst = appendKey(dst, kid, e)
		}
	}
	return dst
}

// bindSequence binds sequence(start, stop[, step]).
func bindSequence(b *Binding) (*plan.Call, error) {
	if err := b.between(2, 3); err != nil {
		return nil, err
	}
	ends := b.Args[:2]
	args := slices.Clone(b.Args)
	if t, ok := foldTypes(typesOf(ends), b.Env, CommonType); ok {
		args[0], args[1] = b.cast(ends[0], t), b.cast(ends[1], t)
		if len(args) == 3 && t.IsIntegral() && args[2].Type().IsIntegral() {
			if t, ok = foldTypes(typesOf(args), b.Env, CommonType); ok {
				args = b.castAll(args, t)
			}
		}
	}
	t := args[0].Type()
	c := b.call(args, plan.Array(t, false), anyNullable(args))
	step := t
	if len(args) == 3 {
		step = args[2].Type()
	}
	good := t.EqualIgnoringNull(args[1].Type()) &&
		(t.IsIntegral() && step.EqualIgnoringNull(t) || isDatetime(t) && (step.IsInterval() || len(args) == 2))
	if !good {
		return nil, mismatch(b, c, "SEQUENCE_WRONG_INPUT_TYPES",
			"sequence needs two integers, dates or timestamps and a step.",
			"functionName", "`sequence`", "startType", `("TIMESTAMP" or "TIMESTAMP_NTZ" or "DATE")`,
			"stepType", `("INTERVAL" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")`, "otherStartType",
			`"INTEGRAL"`)
	}
	return c, nil
}

// maxElements is the longest array Spark makes.
const maxElements = math.MaxInt32 - 15

func sequenceMaker(c *plan.Call, env *Env) (Kernel, error) {
	t := *c.Of.Elem
	if isDatetime(t) {
		return zoned(env, func(zone *codec.Offsets) Kernel { return timeSequence(c, t, zone) }), nil
	}
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		start, stop := integerAt(args[0], i), integerAt(args[1], i)
		step := int64(1)
		if stop < start {
			step = -1
		}
		if len(args) == 3 {
			step = integerAt(args[2], i)
		}
		if !reaches(start, stop, step) {
			return badBoundaries(itoa(int(start)), itoa(int(stop)), itoa(int(step)))
		}
		if n := sequenceLength(start, stop, step); n+uint64(out.Kids[0].Len) > maxElements {
			return tooManyElements("sequence", n)
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

func tooManyElements(function string, n uint64) error {
	return runtimeError("COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER", "an array cannot have so many elements.",
		"numberOfElements", itoa(int(n)), "functionName", plan.Quote(function), "parameter", "`count`",
		"maxRoundedArrayLength", itoa(maxElements))
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
func timeSequence(c *plan.Call, t plan.Type, zone *codec.Offsets) Kernel {
	unit := int64(1)
	if t.Kind != plan.KindTimestamp {
		zone = codec.NewOffsets(utc)
	}
	if t.Kind == plan.KindDate {
		unit = microsPerDay
	}
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		start, stop := integerAt(args[0], i)*unit, integerAt(args[1], i)*unit
		step := plan.Interval{Days: 1}
		if stop < start {
			step.Days = -1
		}
		if len(args) == 3 {
			part := spanPart
			if args[2].Type.Kind == plan.KindYearMonth {
				part = monthsPart
			}
			step = part(args[2], i)
		}
		if t.Kind == plan.KindDate && step.Months == 0 && step.Days == 0 {
			return plan.NewError(plan.ClassIllegal, "_LEGACY_ERROR_TEMP_3242",
				"sequence over dates needs a step of whole days.", "intervalType", intervalName(args[2].Type))
		}
		span := int64(step.Months)*28*microsPerDay + int64(step.Days)*microsPerDay + step.Micros
		if !reaches(start, stop, span) {
			return badBoundaries(itoa(int(start)), itoa(int(stop)), itoa(int(span)))
		}
		for k := int64(0); ; k++ {
			x, ok := addSpan(start, plan.Interval{Months: step.Months * int32(k), Days: step.Days * int32(k),
				Micros: step.Micros * k}, zone)
			if !ok || span > 0 && x > stop || span < 0 && x < stop || span == 0 && k > 0 {
				break
			}
			appendInteger(out.Kids[0], floorDiv(x, unit))
		}
		out.AppendSpan()
		return nil
	})
}
