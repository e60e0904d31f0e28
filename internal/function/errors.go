package function

import (
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

func itoa(i int) string { return strconv.Itoa(i) }

// ansiConfig is the parameter that names the setting which turns errors off.
const ansiConfig = `"spark.sql.ansi.enabled"`

func arithmeticError(condition, msg string, args ...string) *plan.Error {
	return plan.NewError(plan.ClassArithmetic, condition, msg, args...)
}

func runtimeError(condition, msg string, args ...string) *plan.Error {
	return plan.NewError(plan.ClassRuntime, condition, msg, args...)
}

// overflow says that a number does not fit its type. try names the function
// that gives NULL instead, "" when there is none.
func overflow(what, try string) *plan.Error {
	alternative := ""
	if try != "" {
		alternative = " Use '" + try + "' to tolerate overflow and return NULL instead."
	}
	return arithmeticError("ARITHMETIC_OVERFLOW", what+"."+alternative,
		"message", what, "alternative", alternative, "config", ansiConfig)
}

func divideByZero() *plan.Error {
	return arithmeticError("DIVIDE_BY_ZERO", "division by zero; try_divide gives NULL instead.", "config",
		ansiConfig)
}

func remainderByZero() *plan.Error {
	return arithmeticError("REMAINDER_BY_ZERO", "remainder by zero; try_mod gives NULL instead.", "config",
		ansiConfig)
}

// castOverflow says that a value is outside the range of a cast's target.
func castOverflow(value string, from, to plan.Type) *plan.Error {
	return arithmeticError("CAST_OVERFLOW",
		"the value "+value+" of type "+sqlType(from)+" is outside the range of "+sqlType(to)+".",
		"value", value, "sourceType", sqlType(from), "targetType", sqlType(to), "ansiConfig", ansiConfig)
}

// decimalOverflow says that a number needs more digits than a decimal type has.
func decimalOverflow(value string, to plan.Type) *plan.Error {
	return arithmeticError("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
		value+" does not fit "+sqlType(to)+".", "value", value,
		"precision", itoa(to.Precision), "scale", itoa(to.Scale), "config", ansiConfig)
}

// invalidInput says that a text is not a value of a cast's target.
func invalidInput(text string, from, to plan.Type) *plan.Error {
	class := plan.ClassNumberFormat
	switch {
	case isDatetime(to) || to.Kind == plan.KindTime:
		class = plan.ClassDateTime
	case to.Kind == plan.KindBoolean:
		class = plan.ClassRuntime
	}
	literal := sqlString(text)
	return plan.NewError(class, "CAST_INVALID_INPUT",
		"the value "+literal+" cannot be read as "+sqlType(to)+"; try_cast gives NULL instead.",
		"expression", literal, "sourceType", sqlType(from), "targetType", sqlType(to), "ansiConfig", ansiConfig)
}

// sqlString is a text as a SQL literal.
func sqlString(s string) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '\'')
	for i := range len(s) {
		if s[i] == '\'' || s[i] == '\\' {
			out = append(out, '\\')
		}
		out = append(out, s[i])
	}
	return string(append(out, '\''))
}

// invalidParameter says that an argument's value is not one of the good ones.
func invalidParameter(subclass, function, parameter, msg string, args ...string) *plan.Error {
	args = append(args, "functionName", plan.Quote(function), "parameter", plan.Quote(parameter))
	return runtimeError("INVALID_PARAMETER_VALUE."+subclass, msg, args...)
}
