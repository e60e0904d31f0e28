package fn

import (
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// common is a rule that finds one type for two, or fails.
type common func(a, b plan.Type, env *Env) (plan.Type, bool)

// TightestType is the type that two types share without losing anything; it is
// what operators cast their sides to. Decimals have rules of their own.
func TightestType(a, b plan.Type, env *Env) (plan.Type, bool) {
	switch {
	case a.Equal(b):
		return a, true
	case a.Kind == plan.KindNull:
		return b, true
	case b.Kind == plan.KindNull:
		return a, true
	case a.IsIntegral() && b.Kind == plan.KindDecimal && widerThan(b, a):
		return b, true
	case b.IsIntegral() && a.Kind == plan.KindDecimal && widerThan(a, b):
		return a, true
	case a.IsNumeric() && b.IsNumeric() && a.Kind != plan.KindDecimal && b.Kind != plan.KindDecimal:
		return tightestNumber(a, b, env), true
	case IsDatetime(a) && IsDatetime(b):
		return widerDatetime(a, b)
	case IsANSIInterval(a) && a.Kind == b.Kind:
		a.Start, a.End = min(a.Start, b.Start), max(a.End, b.End)
		return a, true
	case a.IsString() && b.IsString() && a.Collation == b.Collation:
		return plan.Type{Kind: plan.KindString, Collation: a.Collation}, true
	default:
		return commonNested(a, b, env, TightestType)
	}
}

// tightestNumber: under ANSI an integer beside a FLOAT makes DOUBLE, which loses less.
func tightestNumber(a, b plan.Type, env *Env) plan.Type {
	wider := a
	if b.Kind > a.Kind {
		wider = b
	}
	if wider.Kind == plan.KindFloat && a.Kind != b.Kind && env.ANSI {
		return plan.Double
	}
	return wider
}

func IsDatetime(t plan.Type) bool { return t.Kind == plan.KindDate || IsTimestamp(t) }

func widerDatetime(a, b plan.Type) (plan.Type, bool) {
	if a.Kind == plan.KindTimestamp || b.Kind == plan.KindTimestamp {
		return plan.Timestamp, true
	}
	return plan.TimestampNTZ, true
}

// widerThan reports whether decimal d holds every value of the integer type t.
func widerThan(d, t plan.Type) bool { return !plan.ForceNullable(t, d) }

// commonNested finds the common type of arrays, maps and structs part by part.
func commonNested(a, b plan.Type, env *Env, rule common) (plan.Type, bool) {
	if a.Kind != b.Kind {
		return plan.Type{}, false
	}
	switch a.Kind {
	case plan.KindArray:
		e, ok := rule(*a.Elem, *b.Elem, env)
		return plan.Array(e, a.ContainsNull || b.ContainsNull || forced(*a.Elem, *b.Elem, e)), ok
	case plan.KindMap:
		k, ok := rule(*a.Key, *b.Key, env)
		if !ok || forced(*a.Key, *b.Key, k) {
			return plan.Type{}, false
		}
		e, ok := rule(*a.Elem, *b.Elem, env)
		return plan.Map(k, e, a.ContainsNull || b.ContainsNull || forced(*a.Elem, *b.Elem, e)), ok
	case plan.KindStruct:
		return commonStruct(a, b, env, rule)
	default:
		return plan.Type{}, false
	}
}

func forced(a, b, to plan.Type) bool { return plan.ForceNullable(a, to) || plan.ForceNullable(b, to) }

func commonStruct(a, b plan.Type, env *Env, rule common) (plan.Type, bool) {
	if len(a.Fields) != len(b.Fields) {
		return plan.Type{}, false
	}
	fields := make([]plan.Field, len(a.Fields))
	for i, f := range a.Fields {
		g := b.Fields[i]
		t, ok := rule(f.Type, g.Type, env)
		if !ok || !sameName(f.Name, g.Name, env) {
			return plan.Type{}, false
		}
		nullable := f.Nullable || g.Nullable || forced(f.Type, g.Type, t)
		fields[i] = plan.Field{Name: f.Name, Type: t, Nullable: nullable}
	}
	return plan.Struct(fields...), true
}

// WiderType is the type two types share with some loss of precision allowed but
// without turning strings into anything: greatest, least.
func WiderType(a, b plan.Type, env *Env) (plan.Type, bool) {
	if t, ok := TightestType(a, b, env); ok {
		return t, true
	}
	if t, ok := widerDecimalOrDouble(a, b); ok {
		return t, true
	}
	return commonNested(a, b, env, WiderType)
}

// CommonType is the type that the branches of CASE, the elements of an array,
// the sides of IN and of a UNION are cast to. Under ANSI a string beside
// something else becomes that; otherwise all become strings.
func CommonType(a, b plan.Type, env *Env) (plan.Type, bool) {
	if t, ok := TightestType(a, b, env); ok {
		return t, true
	}
	if t, ok := widerDecimalOrDouble(a, b); ok {
		return t, true
	}
	promote := stringPromotion
	if env.ANSI {
		promote = AnsiStringPromotion
	}
	if t, ok := promote(a, b); ok {
		return t, true
	}
	return commonNested(a, b, env, CommonType)
}

// CommonTypeOf is CommonType of many.
func CommonTypeOf(list []plan.Type, env *Env) (plan.Type, bool) {
	if !env.ANSI {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b plan.Type) int { return stringsFirst(b) - stringsFirst(a) })
	}
	return FoldTypes(list, env, CommonType)
}

// stringsFirst orders types so that the result does not depend on the order of
// arguments when strings are among them.
func stringsFirst(t plan.Type) int {
	if t.IsString() || t.Kind == plan.KindArray && stringsFirst(*t.Elem) > 0 {
		return 1
	}
	return 0
}

func FoldTypes(list []plan.Type, env *Env, rule common) (plan.Type, bool) {
	t, ok := plan.Null, true
	for _, next := range list {
		if t, ok = rule(t, next, env); !ok {
			return t, false
		}
	}
	return t, true
}

func stringPromotion(a, b plan.Type) (plan.Type, bool) {
	promotable := func(t plan.Type) bool {
		return t.IsAtomic() && t.Kind != plan.KindBinary && t.Kind != plan.KindBoolean &&
			t.Kind != plan.KindCalendar
	}
	if a.IsString() && promotable(b) || b.IsString() && promotable(a) {
		return plan.String, true
	}
	return plan.Type{}, false
}

func AnsiStringPromotion(a, b plan.Type) (plan.Type, bool) {
	if !a.IsString() {
		a, b = b, a
	}
	switch {
	case !a.IsString() || b.IsInterval() || !b.IsAtomic():
		return plan.Type{}, false
	case b.IsIntegral():
		return plan.Long, true
	case b.IsFractional():
		return plan.Double, true
	case b.Kind == plan.KindNull:
		return a, true
	default:
		return b, !b.IsString()
	}
}

// widerDecimalOrDouble is the common type when one side at least is a decimal.
func widerDecimalOrDouble(a, b plan.Type) (plan.Type, bool) {
	if a.Kind != plan.KindDecimal {
		a, b = b, a
	}
	switch {
	case a.Kind != plan.KindDecimal || !b.IsNumeric():
		return plan.Type{}, false
	case b.IsIntegral():
		b = plan.DecimalOf(b.Kind)
	case b.Kind != plan.KindDecimal:
		return plan.Double, true
	}
	return WiderDecimal(a, b), true
}

// WiderDecimal is the decimal that holds the values of two, within 38 digits.
func WiderDecimal(a, b plan.Type) plan.Type {
	scale := max(a.Scale, b.Scale)
	return boundedDecimal(max(a.Precision-a.Scale, b.Precision-b.Scale)+scale, scale)
}

// boundedDecimal cuts precision and scale at 38; digits before the point are
// kept rather than those after it.
func boundedDecimal(precision, scale int) plan.Type {
	if precision <= plan.MaxPrecision {
		return plan.Decimal(precision, scale)
	}
	return plan.Decimal(plan.MaxPrecision, max(0, scale-(precision-plan.MaxPrecision)))
}

// sameName compares field names under spark.sql.caseSensitive.
func sameName(a, b string, env *Env) bool {
	if a == b {
		return true
	}
	return env.Setting("spark.sql.caseSensitive") != "true" && EqualFold(a, b)
}

// MeetDecimals turns an integer beside a decimal into a decimal, of just the
// digits it has when it is a literal, and a decimal beside a double into one.
func MeetDecimals(b *Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	switch {
	case lt.Kind == plan.KindDecimal && rt.IsIntegral():
		return l, b.Cast(r, tightDecimal(r))
	case rt.Kind == plan.KindDecimal && lt.IsIntegral():
		return b.Cast(l, tightDecimal(l)), r
	case lt.Kind == plan.KindDecimal && IsFloat(rt):
		return b.Cast(l, plan.Double), r
	case rt.Kind == plan.KindDecimal && IsFloat(lt):
		return l, b.Cast(r, plan.Double)
	default:
		return l, r
	}
}

func tightDecimal(e plan.Expr) plan.Type {
	l, ok := e.(*plan.Literal)
	if !ok || l.Value == nil || l.Of.Kind == plan.KindByte {
		return plan.DecimalOf(e.Type().Kind)
	}
	v := l.Value.(int64)
	digits := 1
	for v /= 10; v != 0; v /= 10 {
		digits++
	}
	return plan.Decimal(digits, 0)
}

// Agree casts arguments to their common type, if there is one.
func (b *Binding) Agree(args []plan.Expr,
	rule func(list []plan.Type, env *Env) (plan.Type, bool)) ([]plan.Expr, bool) {
	if len(args) == 0 || SameTypes(args) {
		return args, true
	}
	t, ok := rule(TypesOf(args), b.Env)
	if !ok {
		return args, false
	}
	return b.CastAll(args, t), true
}

// MergedType is the type of arguments that differ at most in nullability: it
// allows NULL where one of them does.
func MergedType(args []plan.Expr) plan.Type {
	t := args[0].Type()
	for _, a := range args[1:] {
		t = mergeNulls(t, a.Type())
	}
	return t
}

func mergeNulls(a, b plan.Type) plan.Type {
	switch a.Kind {
	case plan.KindArray:
		return plan.Array(mergeNulls(*a.Elem, *b.Elem), a.ContainsNull || b.ContainsNull)
	case plan.KindMap:
		return plan.Map(mergeNulls(*a.Key, *b.Key), mergeNulls(*a.Elem, *b.Elem), a.ContainsNull || b.ContainsNull)
	case plan.KindStruct:
		fields := make([]plan.Field, len(a.Fields))
		for i, f := range a.Fields {
			f.Type = mergeNulls(f.Type, b.Fields[i].Type)
			f.Nullable = f.Nullable || b.Fields[i].Nullable
			fields[i] = f
		}
		return plan.Struct(fields...)
	default:
		return a
	}
}

func SameTypes(args []plan.Expr) bool {
	for _, a := range args[1:] {
		if !a.Type().EqualIgnoringNull(args[0].Type()) {
			return false
		}
	}
	return true
}
