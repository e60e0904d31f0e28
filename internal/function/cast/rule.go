package cast

import (
	"fmt"

	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// Can reports whether Spark knows a cast between two types in a mode.
// Everything a cast under ANSI can do, one without it can too, and more.
func Can(from, to plan.Type, mode plan.CastMode) bool {
	if from.EqualIgnoringNull(to) || from.Kind == plan.KindNull {
		return true
	}
	if mode == plan.CastLegacy && legacyOnly(from, to) {
		return true
	}
	switch {
	case to.IsString():
		return true
	case to.Kind == plan.KindVariant:
		return variantFrom(from)
	case from.IsString():
		return to.IsAtomic() && to.Kind != plan.KindNull
	case from.Kind == plan.KindVariant:
		return variantTo(to)
	case from.Kind == plan.KindArray || from.Kind == plan.KindMap || from.Kind == plan.KindStruct:
		return canCastNested(from, to, mode)
	case from.IsNumeric() || from.Kind == plan.KindBoolean:
		return numberTo(from, to)
	case fn.IsANSIInterval(from):
		return to.Kind == from.Kind || to.IsIntegral() || to.Kind == plan.KindDecimal
	default:
		return timeTo(from.Kind, to)
	}
}

// legacyOnly are the casts that ANSI mode refuses.
func legacyOnly(from, to plan.Type) bool {
	switch from.Kind {
	case plan.KindBoolean:
		return to.Kind == plan.KindTimestamp
	case plan.KindByte, plan.KindShort, plan.KindInt, plan.KindLong:
		return to.Kind == plan.KindBinary
	case plan.KindDate:
		return to.Kind == plan.KindBoolean || to.IsNumeric()
	case plan.KindTimestamp:
		return to.Kind == plan.KindBoolean
	default:
		return false
	}
}

func numberTo(from, to plan.Type) bool {
	switch {
	case to.Kind == plan.KindBoolean || to.IsNumeric():
		return true
	case from.Kind == plan.KindBoolean:
		return false
	case to.Kind == plan.KindTimestamp:
		return true
	default:
		return fn.IsANSIInterval(to) && (from.IsIntegral() || from.Kind == plan.KindDecimal)
	}
}

func timeTo(from plan.Kind, to plan.Type) bool {
	switch from {
	case plan.KindDate:
		return fn.IsDatetime(to)
	case plan.KindTimestamp:
		return fn.IsDatetime(to) || to.IsNumeric() || to.Kind == plan.KindTime
	case plan.KindTimestampNTZ:
		return fn.IsDatetime(to) || to.Kind == plan.KindTime
	case plan.KindTime:
		return fn.IsTimestamp(to) || to.IsIntegral() || to.Kind == plan.KindDecimal || to.Kind == plan.KindTime
	default:
		return false
	}
}

func variantFrom(from plan.Type) bool {
	switch from.Kind {
	case plan.KindArray:
		return variantFrom(*from.Elem)
	case plan.KindMap, plan.KindStruct:
		return false
	default:
		return !from.IsInterval() && from.Kind != plan.KindNull
	}
}

func variantTo(to plan.Type) bool {
	switch to.Kind {
	case plan.KindArray:
		return variantTo(*to.Elem)
	case plan.KindMap:
		return to.Key.IsString() && variantTo(*to.Elem)
	case plan.KindStruct:
		for _, f := range to.Fields {
			if !variantTo(f.Type) {
				return false
			}
		}
		return true
	default:
		return !to.IsInterval() && to.Kind != plan.KindNull
	}
}

func canCastNested(from, to plan.Type, mode plan.CastMode) bool {
	if from.Kind != to.Kind {
		return false
	}
	part := func(f, t plan.Type, fNull, tNull bool) bool {
		return Can(f, t, mode) && (tNull || !fNull && (mode == plan.CastANSI || !plan.ForceNullable(f, t)))
	}
	switch from.Kind {
	case plan.KindArray:
		return part(*from.Elem, *to.Elem, from.ContainsNull, to.ContainsNull)
	case plan.KindMap:
		return part(*from.Key, *to.Key, false, false) &&
			part(*from.Elem, *to.Elem, from.ContainsNull, to.ContainsNull)
	}
	if len(from.Fields) != len(to.Fields) {
		return false
	}
	for i, f := range from.Fields {
		t := to.Fields[i]
		if !part(f.Type, t.Type, f.Nullable, t.Nullable) {
			return false
		}
	}
	return true
}

// Check is the error of a cast that Spark refuses, nil when it is allowed.
func Check(c *plan.Cast, env *fn.Env) error {
	from, to, mode := c.Child.Type(), c.To, c.Mode
	if mode == plan.CastDefault {
		mode = env.CastMode()
	}
	if Can(from, to, mode) {
		return nil
	}
	shown := plan.Expr(c)
	if !to.IsAtomic() && to.Kind != plan.KindVariant || c.Implicit {
		shown = c.Child
	}
	args := []string{
		"sqlExpr",
		fn.Quoted(plan.SQLTextIn(fn.Unnamed(shown), env.Zone)),
		"srcType",
		fn.SqlType(from),
		"targetType",
		fn.SqlType(to),
	}
	condition := "CAST_WITHOUT_SUGGESTION"
	switch {
	case mode == plan.CastLegacy:
	case from.IsNumeric() && to.Kind == plan.KindDate:
		condition, args = "CAST_WITH_FUNC_SUGGESTION", append(args, "functionNames", "`DATE_FROM_UNIX_DATE`")
	case from.Kind == plan.KindDate && to.IsNumeric():
		condition, args = "CAST_WITH_FUNC_SUGGESTION", append(args, "functionNames", "`UNIX_DATE`")
	case mode == plan.CastANSI && Can(from, to, plan.CastLegacy):
		condition = "CAST_WITH_CONF_SUGGESTION"
		args = append(args, "config", fn.AnsiConfig, "configVal", "'false'")
	}
	return plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH."+condition,
		fmt.Sprintf("%s cannot be cast to %s.", from.SQL(), to.SQL()), args...).At(c.Origin)
}
