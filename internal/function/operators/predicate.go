package operators

import (
	"bytes"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// predicateDefs are the comparisons, IN, and the tests for NULL and NaN.
func predicateDefs() []*fn.Def {
	return []*fn.Def{
		comparison("=", fn.Example{"1 = 1.0", "true"}, fn.Example{"NULL = 1", "NULL"}).Alias("=="),
		comparison("<=>", fn.Example{"NULL <=> NULL", "true"}),
		comparison("<", fn.Example{"1 < 2", "true"}, fn.Example{"DATE '2024-01-01' < DATE '2023-01-01'", "false"}),
		comparison("<=", fn.Example{"2 <= 2", "true"}),
		comparison(">", fn.Example{"2 > 1", "true"}),
		comparison(">=", fn.Example{"1 >= 2", "false"}),
		fn.Short("!= <>", "predicate_funcs", unequal, fn.Example{"1 != 2", "true"}),
		fn.Short("between", "conditional_funcs", bindBetween, fn.Example{"1 BETWEEN 0 AND 2", "true"}),
		fn.Short("equal_null", "predicate_funcs", func(b *fn.Binding) (plan.Expr, error) {
			return b.Onto("<=>", 2, 2)
		}, fn.Example{"equal_null(NULL, NULL)", "true"}),
		{Name: "in", Group: "predicate_funcs", Bind: bindIn, Kernel: inKernel,
			Examples: []fn.Example{{"1 IN (1, 2, 3)", "true"}, {"1 IN (2, NULL)", "NULL"}}},
		fn.Scalar("isnull", "predicate_funcs", fn.Takes(fn.Anything()).Gives(plan.Boolean).WithNull(fn.Never),
			fn.Plain(nullTest(true)),
			fn.Example{"isnull(1)", "false"}),
		fn.Scalar("isnotnull", "predicate_funcs", fn.Takes(fn.Anything()).Gives(plan.Boolean).WithNull(fn.Never),
			fn.Plain(nullTest(false)), fn.Example{"isnotnull(1)", "true"}),
		fn.Scalar("isnan", "predicate_funcs", fn.Takes(fn.OneOf(fn.Exactly(plan.Double), fn.Exactly(plan.Float))).
			Gives(plan.Boolean).WithNull(fn.Never), nanTest, fn.Example{"isnan(CAST('NaN' AS DOUBLE))", "true"}),
	}
}

func comparison(name string, examples ...fn.Example) *fn.Def {
	bind := func(b *fn.Binding) (*plan.Call, error) { return bindComparison(b, name) }
	return &fn.Def{Name: name, Group: "predicate_funcs", Bind: bind, Kernel: compareKernel, Examples: examples}
}

func bindComparison(b *fn.Binding, name string) (*plan.Call, error) {
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	l, r := promoteComparison(b, b.Args[0], b.Args[1])
	l, r = meetForComparison(b, l, r)
	if t, ok := fn.TightestType(l.Type(), r.Type(), b.Env); ok {
		l, r = b.Cast(l, t), b.Cast(r, t)
	}
	c := b.Call([]plan.Expr{l, r}, plan.Boolean, name != "<=>" && (l.Nullable() || r.Nullable()))
	lt, rt := l.Type(), r.Type()
	if !sameParts(lt, rt) {
		return nil, fn.Mismatch(b, c, "BINARY_OP_DIFF_TYPES",
			"the sides of "+b.SQL(c)+" are "+lt.SQL()+" and "+rt.SQL()+", which cannot be compared.",
			"left", fn.SqlType(lt), "right", fn.SqlType(rt))
	}
	equality := name == "=" || name == "<=>"
	if !fn.Orderable(lt) && !(equality && lt.Kind == plan.KindCalendar) {
		return nil, fn.Mismatch(b, c, "INVALID_ORDERING_TYPE", lt.SQL()+" values cannot be compared.",
			"functionName", plan.Quote(name), "dataType", fn.SqlType(lt))
	}
	return c, nil
}

// sameParts: types that differ in nullability and in the names of fields.
func sameParts(a, b plan.Type) bool {
	if a.Kind != plan.KindStruct || b.Kind != plan.KindStruct || len(a.Fields) != len(b.Fields) {
		return a.EqualIgnoringNull(b)
	}
	for i, f := range a.Fields {
		if !sameParts(f.Type, b.Fields[i].Type) {
			return false
		}
	}
	return true
}

// promoteComparison turns a string beside something else into that.
func promoteComparison(b *fn.Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	promote := legacyComparisonType
	if b.Env.ANSI {
		promote = fn.AnsiStringPromotion
	}
	if t, ok := promote(lt, rt); ok {
		return b.Cast(l, t), b.Cast(r, t)
	}
	return l, r
}

// legacyComparisonType: strings are read as what they are compared with, beside
// decimals as doubles; a boolean meets a number as a number.
func legacyComparisonType(a, b plan.Type) (plan.Type, bool) {
	if !a.IsString() {
		a, b = b, a
	}
	switch {
	case !a.IsString():
		return plan.Type{}, false
	case b.Kind == plan.KindNull:
		return a, true
	case b.Kind == plan.KindDecimal:
		return plan.Double, true
	default:
		return b, b.IsAtomic() && !b.IsString()
	}
}

func meetForComparison(b *fn.Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	if !b.Env.ANSI {
		l, r = booleanAsNumber(b, l, r), booleanAsNumber(b, r, l)
		lt, rt = l.Type(), r.Type()
	}
	if lt.Kind == plan.KindDecimal && rt.Kind == plan.KindDecimal && !lt.Equal(rt) {
		t := fn.WiderDecimal(lt, rt)
		return b.Cast(l, t), b.Cast(r, t)
	}
	if lt.Kind != plan.KindDecimal && rt.Kind != plan.KindDecimal {
		return l, r
	}
	x, y := fn.MeetDecimals(b, l, r)
	if x == l && y == r || x.Type().Kind != plan.KindDecimal {
		return x, y
	}
	t := fn.WiderDecimal(x.Type(), y.Type())
	return b.Cast(x, t), b.Cast(y, t)
}

// booleanAsNumber casts e to the type of other when that is a number.
func booleanAsNumber(b *fn.Binding, e, other plan.Expr) plan.Expr {
	if e.Type().Kind == plan.KindBoolean && other.Type().IsNumeric() {
		return b.Cast(e, other.Type())
	}
	return e
}

func unequal(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	e, err := b.Nest("=", b.Args...)
	if err != nil {
		return nil, err
	}
	return b.Nest("not", e)
}

func bindBetween(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(3, 3); err != nil {
		return nil, err
	}
	low, err := b.Nest(">=", b.Args[0], b.Args[1])
	if err != nil {
		return nil, err
	}
	high, err := b.Nest("<=", b.Args[0], b.Args[2])
	if err != nil {
		return nil, err
	}
	e, err := b.Nest("and", low, high)
	if err != nil {
		return nil, err
	}
	return fn.Rewritten(b, e), nil
}

// holds are, for each operator, the results of a comparison (less, equal,
// greater) that make it true.
var holds = map[string][3]uint8{
	"=": {0, 1, 0}, "<=>": {0, 1, 0}, "<": {1, 0, 0}, "<=": {1, 1, 0}, ">": {0, 0, 1}, ">=": {0, 1, 1},
}

func compareKernel(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	var k fn.Kernel
	t := c.Args[0].Type()
	switch t.Kind {
	case plan.KindBoolean:
		k = compareValues[uint8](c.Name)
	case plan.KindByte:
		k = compareValues[int8](c.Name)
	case plan.KindShort:
		k = compareValues[int16](c.Name)
	case plan.KindInt, plan.KindDate, plan.KindYearMonth:
		k = compareValues[int32](c.Name)
	case plan.KindLong, plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindTime:
		k = compareValues[int64](c.Name)
	case plan.KindFloat:
		k = compareFloats[float32](c.Name)
	case plan.KindDouble:
		k = compareFloats[float64](c.Name)
	case plan.KindString, plan.KindChar, plan.KindVarChar, plan.KindBinary:
		k = compareBytes(c.Name)
	default:
		k = compareAny(c.Name, fn.Compare(t))
	}
	if c.Name == "<=>" {
		return nullSafe(k), nil
	}
	return k, nil
}

// compareValues compares whole vectors, one loop for each operator.
func compareValues[T fn.Ordered](op string) fn.Kernel {
	var loop func(out []uint8, a, b []T)
	switch op {
	case "=", "<=>":
		loop = equalLoop[T]
	case "<":
		loop = lessLoop[T]
	case "<=":
		loop = atMostLoop[T]
	case ">":
		loop = func(out []uint8, a, b []T) { lessLoop(out, b, a) }
	default:
		loop = func(out []uint8, a, b []T) { atMostLoop(out, b, a) }
	}
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(plan.Boolean, n, fn.ValidOf(args, n))
		loop(chunk.Values[uint8](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1]))
		return out.Vector, nil
	}
}

func equalLoop[T fn.Ordered](out []uint8, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = fn.Bit(a[i] == b[i])
	}
}

func lessLoop[T fn.Ordered](out []uint8, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = fn.Bit(a[i] < b[i])
	}
}

func atMostLoop[T fn.Ordered](out []uint8, a, b []T) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = fn.Bit(a[i] <= b[i])
	}
}

func compareFloats[T fn.Float](op string) fn.Kernel {
	table := holds[op]
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(plan.Boolean, n, fn.ValidOf(args, n))
		dst, a, b := chunk.Values[uint8](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
		for i := range dst {
			dst[i] = table[fn.OrderFloats(a[i], b[i])+1]
		}
		return out.Vector, nil
	}
}

func compareBytes(op string) fn.Kernel {
	table := holds[op]
	equality := op == "=" || op == "<=>"
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(plan.Boolean, n, fn.ValidOf(args, n))
		dst, a, b := chunk.Values[uint8](out.Vector), args[0], args[1]
		for _, i := range fn.Active(out.Valid, sel, n) {
			x, y := a.Bytes(int(i)), b.Bytes(int(i))
			if equality {
				dst[i] = fn.Bit(len(x) == len(y) && string(x) == string(y))
				continue
			}
			dst[i] = table[bytes.Compare(x, y)+1]
		}
		return out.Vector, nil
	}
}

func compareAny(op string, order fn.Comparator) fn.Kernel {
	table := holds[op]
	return fn.Fixed(plan.Boolean, func(args []*chunk.Vector, i int) (uint8, bool, error) {
		return table[min(1, max(-1, order(args[0], i, args[1], i)))+1], true, nil
	})
}

// nullSafe turns = into <=>: NULL equals NULL and nothing else.
func nullSafe(k fn.Kernel) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		v, err := k(args, sel, n)
		if err != nil || v.Valid == nil {
			return v, err
		}
		out := fn.NewColumn(plan.Boolean, n, nil)
		dst, src := chunk.Values[uint8](out.Vector), chunk.Values[uint8](v)
		for i := range dst {
			x, y := args[0].IsNull(i), args[1].IsNull(i)
			switch {
			case x || y:
				dst[i] = fn.Bit(x && y)
			default:
				dst[i] = src[i]
			}
		}
		return out.Vector, nil
	}
}

func nullTest(null bool) fn.Kernel {
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(plan.Boolean, n, nil)
		dst := chunk.Values[uint8](out.Vector)
		valid := fn.ValidOf(args, n)
		if valid == nil && null {
			return out.Vector, nil
		}
		flip := fn.Bit(null)
		for i := range dst {
			dst[i] = 1
			if valid != nil {
				dst[i] = valid[i>>3]>>(i&7)&1 ^ flip
			}
		}
		return out.Vector, nil
	}
}

func nanTest(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	if c.Args[0].Type().Kind == plan.KindFloat {
		return nanKernel[float32], nil
	}
	return nanKernel[float64], nil
}

func nanKernel[T fn.Float](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := fn.NewColumn(plan.Boolean, n, nil)
	dst := chunk.Values[uint8](out.Vector)
	for i, x := range chunk.Values[T](args[0]) {
		dst[i] = fn.Bit(x != x && !args[0].IsNull(i))
	}
	return out.Vector, nil
}

// bindIn casts the value and the list to one type.
func bindIn(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) == 0 {
		return nil, fn.WrongCount(b, "> 0").At(b.Origin)
	}
	args := b.Args
	if !fn.SameTypes(args) {
		if t, ok := fn.CommonTypeOf(fn.TypesOf(args), b.Env); ok {
			args = b.CastAll(args, t)
		}
	}
	c := b.Call(args, plan.Boolean, fn.AnyNullable(args))
	t := args[0].Type()
	if !fn.SameTypes(args) {
		return nil, fn.DiffTypes(b, c, "in", "["+fn.TypeList(args, ", ")+"]")
	}
	if !fn.Orderable(t) {
		return nil, fn.Mismatch(b, c, "INVALID_ORDERING_TYPE", t.SQL()+" values cannot be compared.",
			"functionName", "`in`", "dataType", fn.SqlType(t))
	}
	return c, nil
}

// inKernel looks the value up in a set when the list is of constants.
func inKernel(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	if set := newConstantSet(c.Args[1:]); set != nil {
		return set.kernel(), nil
	}
	order := fn.Compare(c.Args[0].Type())
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(plan.Boolean, n, args[0].Valid)
		dst := chunk.Values[uint8](out.Vector)
		for _, i := range fn.Active(out.Valid, sel, n) {
			found, null := false, false
			for _, a := range args[1:] {
				if a.IsNull(int(i)) {
					null = true
				} else if order(args[0], int(i), a, int(i)) == 0 {
					found = true
					break
				}
			}
			dst[i] = fn.Bit(found)
			if !found && null {
				out.Null(i)
			}
		}
		return out.Vector, nil
	}, nil
}

// constantSet is the literals of an IN list over integers or bytes.
type constantSet struct {
	ints  map[int64]struct{}
	texts map[string]struct{}
	null  bool
}

func newConstantSet(list []plan.Expr) *constantSet {
	s := &constantSet{ints: map[int64]struct{}{}, texts: map[string]struct{}{}}
	for _, e := range list {
		l, ok := e.(*plan.Literal)
		if !ok {
			return nil
		}
		switch v := l.Value.(type) {
		case nil:
			s.null = true
		case int64:
			s.ints[v] = struct{}{}
		case int32:
			s.ints[int64(v)] = struct{}{}
		case string:
			s.texts[v] = struct{}{}
		default:
			return nil
		}
	}
	return s
}

func (s *constantSet) kernel() fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		v := args[0]
		if v.Type.Kind == plan.KindNull {
			return chunk.NullVector(plan.Boolean, n), nil
		}
		out := fn.NewColumn(plan.Boolean, n, v.Valid)
		dst := chunk.Values[uint8](out.Vector)
		for _, i := range fn.Active(out.Valid, sel, n) {
			if s.has(v, int(i)) {
				dst[i] = 1
			} else if s.null {
				out.Null(i)
			}
		}
		return out.Vector, nil
	}
}

func (s *constantSet) has(v *chunk.Vector, i int) bool {
	if chunk.IsBytes(v.Type) {
		_, ok := s.texts[v.Text(i)]
		return ok
	}
	_, ok := s.ints[fn.IntegerAt(v, i)]
	return ok
}
