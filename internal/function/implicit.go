package function

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// conf asks for a setting; an Env without Conf has none.
func (e *Env) conf(key string) string {
	if e.Conf == nil {
		return ""
	}
	return e.Conf(key)
}

// ImplicitCast casts an expression to a type if coercion does that by itself.
func ImplicitCast(e plan.Expr, to plan.Type, env *Env) (plan.Expr, bool) {
	want := exactly(to)
	if to.IsString() {
		want = str()
	}
	return castInput(e, want, env, nil)
}

// castInput casts an argument to what a parameter takes.
func castInput(e plan.Expr, want input, env *Env, origin *plan.Origin) (plan.Expr, bool) {
	from := e.Type()
	to, ok := implicitType(from, want, env)
	if !ok {
		return e, false
	}
	return castTo(e, to, env, origin), true
}

// castTo puts an implicit cast around an expression of another type. NULL
// literals just take the type.
func castTo(e plan.Expr, to plan.Type, env *Env, origin *plan.Origin) plan.Expr {
	from := e.Type()
	if from.EqualIgnoringNull(to) {
		return e
	}
	if l, ok := e.(*plan.Literal); ok && l.Value == nil && from.Kind == plan.KindNull {
		return plan.Lit(nil, to)
	}
	return &plan.Cast{Child: e, To: to, Mode: env.castMode(), Implicit: true, Origin: origin}
}

func (e *Env) castMode() plan.CastMode {
	if e.ANSI {
		return plan.CastANSI
	}
	return plan.CastLegacy
}

// implicitType is the type an argument is cast to for a parameter.
func implicitType(from plan.Type, want input, env *Env) (plan.Type, bool) {
	switch {
	case want.accepts(from):
		return from, true
	case want.family == familyOneOf:
		for _, option := range want.options {
			if t, ok := implicitType(from, option, env); ok {
				return t, true
			}
		}
		return plan.Type{}, false
	case want.family == familyDecimal && from.IsNumeric():
		return plan.DecimalOf(from.Kind), true
	case env.ANSI:
		return ansiImplicit(from, want, env)
	default:
		return legacyImplicit(from, want, env)
	}
}

func ansiImplicit(from plan.Type, want input, env *Env) (plan.Type, bool) {
	switch {
	case from.IsString() && want.family == familyText:
		return plan.Type{}, false
	case from.IsFractional() && want.family == familyIntegral:
		return plan.Type{}, false
	case from.IsString() && stringsBecome(want):
		return want.concrete, true
	case want.family == familyArray && from.Kind == plan.KindArray:
		elem, ok := implicitType(*from.Elem, want.options[0], env)
		return plan.Array(elem, true), ok
	case want.concrete.Kind == plan.KindNull && want.family != familyType:
		return plan.Type{}, false
	default:
		return want.concrete, storeAssignable(from, want.concrete)
	}
}

// stringsBecome reports whether coercion casts a string to what a parameter
// takes.
func stringsBecome(want input) bool {
	switch want.family {
	case familyNumeric, familyDecimal, familyTimestamps:
		return true
	case familyType:
		return want.concrete.IsAtomic() && want.concrete.Kind != plan.KindCalendar
	default:
		return want.family == familyOther && isANSIInterval(want.concrete)
	}
}

// storeAssignable is the ANSI rule for storing a value into a column of another
// type.
func storeAssignable(from, to plan.Type) bool {
	switch {
	case from.EqualIgnoringNull(to), from.Kind == plan.KindNull, from.IsNumeric() && to.IsNumeric():
		return true
	case to.IsString():
		return from.IsAtomic() || from.Kind == plan.KindVariant
	case isDatetime(from) && isDatetime(to):
		return true
	case from.Kind != to.Kind:
		return false
	case from.Kind == plan.KindArray:
		return (!from.ContainsNull || to.ContainsNull) && storeAssignable(*from.Elem, *to.Elem)
	case from.Kind == plan.KindMap:
		return (!from.ContainsNull || to.ContainsNull) && storeAssignable(*from.Key, *to.Key) &&
			storeAssignable(*from.Elem, *to.Elem)
	default:
		return false
	}
}

func legacyImplicit(from plan.Type, want input, env *Env) (plan.Type, bool) {
	to := want.concrete
	switch {
	case from.Kind == plan.KindNull:
		return to, want.family != familyAny
	case from.IsString() && want.family == familyNumeric:
		return plan.Double, true
	case from.IsString() && want.family == familyTimestamps:
		return plan.Timestamp, true
	case want.family == familyArray && from.Kind == plan.KindArray:
		elem, ok := implicitType(*from.Elem, want.options[0], env)
		return plan.Array(elem, true), ok
	case want.family == familyText:
		return to, from.IsAtomic() && !from.IsString()
	case want.family != familyType && want.family != familyDecimal:
		return plan.Type{}, false
	case from.IsNumeric() && to.IsNumeric():
		return to, true
	case from.IsString():
		return to, to.IsNumeric() || isDatetime(to) || to.Kind == plan.KindBinary || isANSIInterval(to)
	case isDatetime(from) && isDatetime(to):
		return to, true
	default:
		return plan.Type{}, false
	}
}
