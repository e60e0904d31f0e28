package connector

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

const ClassNumberFormat = "java.lang.NumberFormatException"

// NotANumber is what Java says of a text that should be a number.
func NotANumber(text string) *plan.Error {
	return &plan.Error{Class: ClassNumberFormat, Msg: fmt.Sprintf("For input string: %q", text)}
}

// LongOption is a 64-bit option, as Java's parseLong reads it.
func LongOption(o plan.Options, key string, otherwise int64) (int64, error) {
	return IntegerOption(o, key, otherwise, 64)
}

func IntOption(o plan.Options, key string, otherwise int) (int, error) {
	n, err := IntegerOption(o, key, int64(otherwise), 32)
	return int(n), err
}

func IntegerOption(o plan.Options, key string, otherwise int64, bits int) (int64, error) {
	text, ok := o.Get(key)
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return 0, NotANumber(text)
	}
	return n, nil
}

// BoolOption is an option that is true or false in any case.
func BoolOption(o plan.Options, key string, otherwise bool) (bool, error) {
	text, ok := o.Get(key)
	switch {
	case !ok:
		return otherwise, nil
	case strings.EqualFold(text, "true"):
		return true, nil
	case strings.EqualFold(text, "false"):
		return false, nil
	}
	return false, plan.IllegalArgument("%s is not a boolean string.", text)
}

// RefuseOption is how Spark's rate sources refuse a value.
func RefuseOption(key string, value int64, must string) *plan.Error {
	return plan.IllegalArgument("Invalid value '%d'. The option '%s' must %s", value, key, must)
}

var durationText = regexp.MustCompile(`^(-?[0-9]+)([a-z]+)?$`)

// nanos are the units of Spark's durations such as 5s and 100ms.
var nanos = map[string]int64{
	"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "min": 60e9, "h": 3600e9, "d": 86400e9,
}

// Duration reads Spark's text of a duration and gives it in a unit; a number
// without a unit is in that unit already. What is too long becomes the longest.
func Duration(text, unit string) (int64, error) {
	m := durationText.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil || m[2] != "" && nanos[m[2]] == 0 {
		return 0, &plan.Error{Class: ClassNumberFormat, Msg: fmt.Sprintf("%q is no duration; write 50s, "+
			"100ms or 250us, with one of the units s, ms, us, m, min, h and d.", text)}
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, NotANumber(m[1])
	}
	from := nanos[m[2]]
	if m[2] == "" {
		from = nanos[unit]
	}
	exact := new(big.Int).Mul(big.NewInt(n), big.NewInt(from))
	exact.Quo(exact, big.NewInt(nanos[unit]))
	switch {
	case exact.IsInt64():
		return exact.Int64(), nil
	case exact.Sign() < 0:
		return math.MinInt64, nil
	default:
		return math.MaxInt64, nil
	}
}
