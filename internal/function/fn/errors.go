package fn

import (
	"math/big"
	"strconv"

	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/plan"
)

func Itoa(i int) string { return strconv.Itoa(i) }

// AnsiConfig is the parameter that names the setting which turns errors off.
const AnsiConfig = `"spark.sql.ansi.enabled"`

func ArithmeticError(condition, msg string, args ...string) *plan.Error {
	return plan.NewError(plan.ClassArithmetic, condition, msg, args...)
}

func RuntimeError(condition, msg string, args ...string) *plan.Error {
	return plan.NewError(plan.ClassRuntime, condition, msg, args...)
}

// Overflow says that a number does not fit its type. try names the function
// that gives NULL instead, "" when there is none.
func Overflow(what, try string) *plan.Error {
	alternative := ""
	if try != "" {
		alternative = " Use '" + try + "' to tolerate overflow and return NULL instead."
	}
	return ArithmeticError("ARITHMETIC_OVERFLOW", what+"."+alternative,
		"message", what, "alternative", alternative, "config", AnsiConfig)
}

func DivideByZero() *plan.Error {
	return ArithmeticError("DIVIDE_BY_ZERO", "division by zero; try_divide gives NULL instead.", "config",
		AnsiConfig)
}

func RemainderByZero() *plan.Error {
	return ArithmeticError("REMAINDER_BY_ZERO", "remainder by zero; try_mod gives NULL instead.", "config",
		AnsiConfig)
}

// CastOverflow says that a value is outside the range of a cast's target.
func CastOverflow(value string, from, to plan.Type) *plan.Error {
	return ArithmeticError("CAST_OVERFLOW",
		"the value "+value+" of type "+SqlType(from)+" is outside the range of "+SqlType(to)+".",
		"value", value, "sourceType", SqlType(from), "targetType", SqlType(to), "ansiConfig", AnsiConfig)
}

// DecimalOverflow says that a number needs more digits than a decimal type has.
func DecimalOverflow(value string, to plan.Type) *plan.Error {
	return ArithmeticError("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
		value+" does not fit "+SqlType(to)+".", "value", value,
		"precision", Itoa(to.Precision), "scale", Itoa(to.Scale), "config", AnsiConfig)
}

// InvalidInput says that a text is not a value of a cast's target.
func InvalidInput(text string, from, to plan.Type) *plan.Error {
	class := plan.ClassNumberFormat
	switch {
	case IsDatetime(to) || to.Kind == plan.KindTime:
		class = plan.ClassDateTime
	case to.Kind == plan.KindBoolean:
		class = plan.ClassRuntime
	}
	literal := SqlString(text)
	return plan.NewError(class, "CAST_INVALID_INPUT",
		"the value "+literal+" cannot be read as "+SqlType(to)+"; try_cast gives NULL instead.",
		"expression", literal, "sourceType", SqlType(from), "targetType", SqlType(to), "ansiConfig", AnsiConfig)
}

// SqlString is a text as a SQL literal.
func SqlString(s string) string {
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

// InvalidParameter says that an argument's value is not one of the good ones.
func InvalidParameter(subclass, function, parameter, msg string, args ...string) *plan.Error {
	args = append(args, "functionName", plan.Quote(function), "parameter", plan.Quote(parameter))
	return RuntimeError("INVALID_PARAMETER_VALUE."+subclass, msg, args...)
}

// Faults is what an operator does with a row that has no result.
type Faults uint8

const (
	Wrap  Faults = iota // integers wrap around; the rest is NULL
	Raise               // an error
	Null                // NULL
)

func IntervalOverflow(try string) *plan.Error {
	if try == "" {
		return ArithmeticError("INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION",
			"the interval does not fit its type.")
	}
	return ArithmeticError("INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION",
		"the interval does not fit its type; "+try+" gives NULL instead.", "functionName", plan.Quote(try))
}

// RoundedOverflow says that a rounded decimal, q at a scale, no longer fits.
func RoundedOverflow(q *big.Int, scale int, t plan.Type) *plan.Error {
	text := decimal.BigText(q, 0)
	value := text
	if scale < 0 {
		value = decimal.BigText(new(big.Int).Mul(q, decimal.BigPow10(-scale)), 0)
		text = exponentText(text, -scale)
	}
	return ArithmeticError("NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION",
		value+" does not fit "+SqlType(t)+".", "originalValue", text, "roundedValue", value,
		"precision", Itoa(t.Precision), "scale", Itoa(t.Scale))
}

// exponentText writes digits·10^exp as BigDecimal does: 1.00E+38.
func exponentText(digits string, exp int) string {
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	exp += len(digits) - 1
	if len(digits) > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	return sign + digits + "E+" + Itoa(exp)
}

func tooManyElements(function string, n uint64) error {
	return RuntimeError("COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER", "an array cannot have so many elements.",
		"numberOfElements", Itoa(int(n)), "functionName", plan.Quote(function), "parameter", "`count`",
		"maxRoundedArrayLength", Itoa(maxElements))
}
