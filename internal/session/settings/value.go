package settings

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// Accepts checks a value as Spark does when a key is set.
func (d *Def) Accepts(value string) error {
	number, isNumber, err := d.Parse(value)
	if err != nil {
		return err
	}
	if d.Key == ZoneKey {
		return CheckZone(value)
	}
	rule, rest, _ := strings.Cut(d.Check, ":")
	switch rule {
	case "options":
		for option := range strings.SplitSeq(rest, ", ") {
			if strings.EqualFold(option, value) {
				return nil
			}
		}
		return confError("OUT_OF_RANGE_OF_OPTIONS", d.Key, value,
			"it must be one of "+rest+".", "confOptions", rest)
	case "requirement":
		return d.checkRequirement(value)
	case "range":
		if isNumber {
			return d.inRange(value, number, rest)
		}
	}
	return nil
}

// requirements are checks of Spark that are code: the values that pass, and what
// Spark says of others.
var requirements = map[string]struct {
	values []string
	text   string
}{
	"spark.sql.streaming.multipleWatermarkPolicy": {
		[]string{"min", "max"},
		"Invalid value for 'spark.sql.streaming.multipleWatermarkPolicy'. Valid values are 'min' and 'max'",
	},
}

func (d *Def) checkRequirement(value string) error {
	r, ok := requirements[d.Key]
	if !ok || slices.Contains(r.values, strings.ToLower(value)) {
		return nil
	}
	return confError("REQUIREMENT", d.Key, value, "it must be "+strings.Join(r.values, " or ")+".",
		"confRequirement", r.text)
}

func (d *Def) inRange(value string, number float64, bounds string) error {
	low, high, _ := strings.Cut(bounds, "..")
	if n, err := strconv.ParseFloat(low, 64); err == nil && number < n {
		return d.requirement(value, "must be at least "+low)
	}
	if n, err := strconv.ParseFloat(high, 64); err == nil && number > n {
		return d.requirement(value, "must be at most "+high)
	}
	return nil
}

func (d *Def) requirement(value, must string) error {
	return confError("REQUIREMENT", d.Key, value, "it "+must+".", "confRequirement", must)
}

func confError(sub, key, value, why string, more ...string) *plan.Error {
	args := append([]string{"confName", key, "confValue", value}, more...)
	return plan.NewError(plan.ClassIllegal, "INVALID_CONF_VALUE."+sub,
		"The value '"+value+"' does not suit the setting "+key+": "+why, args...)
}

func CheckZone(value string) error {
	if _, err := codec.Zone(value); err != nil {
		return confError("TIME_ZONE", ZoneKey, value, "there is no such time zone.")
	}
	return nil
}

// Parse reads a value of the key's type; number is what ranges are about, in
// the type's own unit.
func (d *Def) Parse(value string) (number float64, isNumber bool, err error) {
	text := strings.TrimSpace(value)
	ok := true
	unit, isTime := strings.CutPrefix(d.Typ, "time in ")
	size, isSize := strings.CutPrefix(d.Typ, "bytes in ")
	switch {
	case isTime:
		number, ok = ParseSuffixed(text, timeUnits, timeUnits[unitSuffix[unit]])
	case isSize:
		number, ok = ParseSuffixed(text, SizeUnits, SizeUnits[unitSuffix[size]])
	case d.Typ == "boolean":
		return 0, false, d.mismatch(value, strings.EqualFold(text, "true") || strings.EqualFold(text, "false"))
	case d.Typ == "int":
		number, ok = parseInteger(text, 32)
	case d.Typ == "long":
		number, ok = parseInteger(text, 64)
	case d.Typ == "double":
		number, ok = codec.ParseDouble(text)
	case d.Typ == "decimal":
		var r big.Rat
		_, ok = r.SetString(text)
	default:
		return 0, false, nil
	}
	return number, true, d.mismatch(value, ok)
}

func (d *Def) mismatch(value string, ok bool) error {
	if ok {
		return nil
	}
	return confError("TYPE_MISMATCH", d.Key, value, "it must be of the type "+d.Typ+".", "confType", d.Typ)
}

func parseInteger(text string, bits int) (float64, bool) {
	n, err := strconv.ParseInt(text, 10, bits)
	return float64(n), err == nil
}

// The suffixes of times, in nanoseconds, and of sizes, in bytes.
var (
	timeUnits = map[string]float64{
		"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "min": 60e9, "h": 3600e9, "d": 86400e9,
	}
	SizeUnits = map[string]float64{
		"b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30,
		"t": 1 << 40, "tb": 1 << 40, "p": 1 << 50, "pb": 1 << 50,
	}
	unitSuffix = map[string]string{
		"NANOSECONDS": "ns", "MILLISECONDS": "ms", "SECONDS": "s", "MINUTES": "m",
		"BYTE": "b", "KiB": "k", "MiB": "m",
	}
)

// ParseSuffixed reads a whole number with or without a unit and gives it in
// the unit own.
func ParseSuffixed(text string, units map[string]float64, own float64) (float64, bool) {
	text = strings.ToLower(text)
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	unit := own
	if suffix := text[len(digits):]; suffix != "" {
		known, ok := units[suffix]
		if !ok {
			return 0, false
		}
		unit = known
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	in := float64(n) * unit
	if math.Abs(in) > math.MaxInt64*own {
		return 0, false
	}
	return math.Trunc(in / own), true
}
