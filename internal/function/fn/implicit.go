package fn

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

func EqualFold(a, b string) bool { return strings.EqualFold(a, b) }

// Setting asks for a setting; an Env without Conf has none.
func (e *Env) Setting(key string) string {
	if e.Conf == nil {
		return ""
	}
	return e.Conf(key)
}

// ImplicitCast casts an expression to a type if coercion does that by itself.
func ImplicitCast(e plan.Expr, to plan.Type, env *Env) (plan.Expr, bool) {
	want := Exactly(to)
	if to.IsString() {
		want = Str()
	}
	return CastInput(e, want, env, nil)
}

// CastInput casts an argument to what a parameter takes.
func CastInput(e plan.Expr, want Input, env *Env, origin *plan.Origin) (plan.Expr, bool) {
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
	return &plan.Cast{Child: e, To: to, Mode: env.CastMode(), Implicit: true, Origin: origin}
}

func (e *Env) CastMode() plan.CastMode {
	if e.ANSI {
		return plan.CastANSI
	}
	return plan.CastLegacy
}

// implicitType is the type an argument is cast to for a parameter.
func implicitType(from plan.Type, want Input, env *Env) (plan.Type, bool) {
	switch {
	case want.Accepts(from):
		return from, true
	case want.Family == familyOneOf:
		for _, option := range want.options {
			if t, ok := implicitType(from, option, env); ok {
				return t, true
			}
		}
		return plan.Type{}, false
	case want.Family == familyDecimal && from.IsNumeric():
		return plan.DecimalOf(from.Kind), true
	case env.ANSI:
		return ansiImplicit(from, want, env)
	default:
		return legacyImplicit(from, want, env)
	}
}

func ansiImplicit(from plan.Type, want Input, env *Env) (plan.Type, bool) {
	switch {
	case from.IsString() && want.Family == familyText:
		return plan.Type{}, false
	case from.IsFractional() && want.Family == familyIntegral:
		return plan.Type{}, false
	case from.IsString() && stringsBecome(want):
		return want.Concrete, true
	case want.Family == familyArray && from.Kind == plan.KindArray:
		elem, ok := implicitType(*from.Elem, want.options[0], env)
		return plan.Array(elem, true), ok
	case want.Concrete.Kind == plan.KindNull && want.Family != familyType:
		return plan.Type{}, false
	default:
		return want.Concrete, storeAssignable(from, want.Concrete)
	}
}

// stringsBecome reports whether coercion casts a string to what a parameter
// takes.
func stringsBecome(want Input) bool {
	switch want.Family {
	case familyNumeric, familyDecimal, familyTimestamps:
		return true
	case familyType:
		return want.Concrete.IsAtomic() && want.Concrete.Kind != plan.KindCalendar
	default:
		return want.Family == FamilyOther && IsANSIInterval(want.Concrete)
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
	case IsDatetime(from) && IsDatetime(to):
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

func legacyImplicit(from plan.Type, want Input, env *Env) (plan.Type, bool) {
	to := want.Concrete
	switch {
	case from.Kind == plan.KindNull:
		return to, want.Family != familyAny
	case from.IsString() && want.Family == familyNumeric:
		return plan.Double, true
	case from.IsString() && want.Family == familyTimestamps:
		return plan.Timestamp, true
	case want.Family == familyArray && from.Kind == plan.KindArray:
		elem, ok := implicitType(*from.Elem, want.options[0], env)
		return plan.Array(elem, true), ok
	case want.Family == familyText:
		return to, from.IsAtomic() && !from.IsString()
	case want.Family != familyType && want.Family != familyDecimal:
		return plan.Type{}, false
	case from.IsNumeric() && to.IsNumeric():
		return to, true
	case from.IsString():
		return to, to.IsNumeric() || IsDatetime(to) || to.Kind == plan.KindBinary || IsANSIInterval(to)
	case IsDatetime(from) && IsDatetime(to):
		return to, true
	default:
		return plan.Type{}, false
	}
}

func (b *Binding) Cast(e plan.Expr, t plan.Type) plan.Expr { return castTo(e, t, b.Env, b.Origin) }

func (b *Binding) CastAll(args []plan.Expr, t plan.Type) []plan.Expr {
	out := make([]plan.Expr, len(args))
	for i, a := range args {
		out[i] = b.Cast(a, t)
	}
	return out
}
