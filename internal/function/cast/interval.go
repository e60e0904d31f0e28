package cast

import (
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// intervalFromText casts strings to intervals. A calendar interval that cannot
// be read is NULL whatever the mode, as in Spark.
func (c *caster) intervalFromText() fn.Kernel {
	switch c.to.Kind {
	case plan.KindCalendar:
		lenient := *c
		lenient.mode = plan.CastTry
		return parsed(&lenient, parseCalendar)
	case plan.KindYearMonth:
		return readInterval(c, func(n int64) (int32, bool) { return int32(n), int64(int32(n)) == n })
	default:
		return readInterval(c, func(n int64) (int64, bool) { return n, true })
	}
}

func readInterval[R int32 | int64](c *caster, fit func(n int64) (R, bool)) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.to, n, args[0].Valid)
		dst := chunk.Values[R](out.Vector)
		for _, i := range fn.Active(out.Valid, sel, n) {
			s := args[0].Text(int(i))
			v, ok := parseANSIInterval(s, c.to)
			if ok {
				dst[i], ok = fit(v)
			}
			if ok {
				continue
			}
			if c.ansi() {
				return nil, unmatchedInterval(s, c.to)
			}
			out.Null(i)
		}
		return out.Vector, nil
	}
}

// fieldShapes is how each field is written between its neighbours.
var fieldShapes = [...]struct{ letter, before string }{
	plan.FieldYear: {"y", ""}, plan.FieldMonth: {"m", "-"}, plan.FieldDay: {"d", ""},
	plan.FieldHour: {"h", " "}, plan.FieldMinute: {"m", ":"}, plan.FieldSecond: {"s.n", ":"},
}

func unmatchedInterval(s string, t plan.Type) *plan.Error {
	shape := ""
	for f := t.Start; f <= t.End; f++ {
		if f > t.Start {
			shape += fieldShapes[f].before
		}
		shape += fieldShapes[f].letter
	}
	fields := strings.ToUpper(strings.TrimPrefix(t.Simple(), "interval "))
	formats := "`[+|-]" + shape + "`, `INTERVAL [+|-]'[+|-]" + shape + "' " + fields + "`"
	condition, name := "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING", "year-month"
	if t.Kind == plan.KindDayTime {
		condition, name = condition+"_WITH_NOTICE", "day-time"
	}
	return plan.NewError(plan.ClassIllegal, condition,
		fn.SqlString(s)+" is not an interval of the form "+formats+".",
		"input", s, "intervalStr", name, "supportedFormat", formats, "typeName", t.Simple())
}

// parseANSIInterval reads [+|-]fields or INTERVAL [+|-]'[+|-]fields' FIELDS, in
// months or µs.
func parseANSIInterval(s string, t plan.Type) (int64, bool) {
	s = strings.TrimSpace(s)
	negative := false
	if len(s) > 8 && fn.EqualFold(s[:8], "INTERVAL") {
		body, sign, ok := insideLiteral(s[8:], t)
		if !ok {
			return 0, false
		}
		s, negative = body, sign
	}
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = negative != (s[0] == '-')
		s = s[1:]
	}
	total := int64(0)
	for f := t.Start; f <= t.End; f++ {
		v, rest, ok := readField(s, f, t)
		if !ok {
			return 0, false
		}
		if total, ok = fn.AddFits(total, v); !ok {
			return 0, false
		}
		s = rest
	}
	if negative {
		total = -total
	}
	return total, s == ""
}

// insideLiteral takes the quoted part out of [+|-]'fields' FIELDS.
func insideLiteral(s string, t plan.Type) (body string, negative, ok bool) {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	parts := strings.SplitN(s, "'", 3)
	if len(parts) != 3 || parts[0] != "" {
		return "", false, false
	}
	fields := strings.Join(strings.Fields(parts[2]), " ")
	return parts[1], negative, fn.EqualFold("interval "+fields, t.Simple())
}

// readField reads one field and what parts it from the one before.
func readField(s string, f plan.IntervalField, t plan.Type) (v int64, rest string, ok bool) {
	if f > t.Start {
		if s, ok = strings.CutPrefix(s, fieldShapes[f].before); !ok {
			return 0, "", false
		}
	}
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(s[:n], 10, 64)
	if err != nil || f > t.Start && (n > 2 || v > fieldLimit(f)) {
		return 0, "", false
	}
	s = s[n:]
	switch f {
	case plan.FieldYear:
		v, ok = fn.MulFits(v, 12)
	case plan.FieldMonth:
		ok = true
	default:
		v, ok = fn.MulFits(v, microsOf(f))
	}
	if f == plan.FieldSecond && ok && strings.HasPrefix(s, ".") {
		micros := int64(0)
		micros, s, ok = readFraction(s[1:])
		v += micros
	}
	return v, s, ok
}

func fieldLimit(f plan.IntervalField) int64 {
	switch f {
	case plan.FieldMonth:
		return 11
	case plan.FieldHour:
		return 23
	default:
		return 59
	}
}

// readFraction reads up to nine digits behind the point; those beyond µs are
// cut off.
func readFraction(s string) (micros int64, rest string, ok bool) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		if n < 6 {
			micros = micros*10 + int64(s[n]-'0')
		}
		n++
	}
	for i := n; i < 6; i++ {
		micros *= 10
	}
	return micros, s[n:], n > 0 && n <= 9
}

// parseCalendar reads [INTERVAL] value unit …; only seconds have fractions.
func parseCalendar(s string) (plan.Interval, bool) {
	words := strings.Fields(strings.ToLower(s))
	if len(words) > 0 && words[0] == "interval" {
		words = words[1:]
	}
	var out plan.Interval
	if len(words) == 0 {
		return out, false
	}
	for len(words) > 0 {
		sign := ""
		if words[0] == "-" || words[0] == "+" {
			sign, words = words[0], words[1:]
		}
		if len(words) < 2 || !addUnit(&out, sign+words[0], strings.TrimSuffix(words[1], "s")) {
			return out, false
		}
		words = words[2:]
	}
	return out, true
}

func addUnit(out *plan.Interval, value, unit string) bool {
	whole, fraction, fractional := strings.Cut(value, ".")
	negative := strings.HasPrefix(whole, "-")
	if whole == "" || whole == "-" || whole == "+" {
		whole += "0"
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || fractional && unit != "second" {
		return false
	}
	switch unit {
	case "year", "month":
		if unit == "year" {
			n *= 12
		}
		n += int64(out.Months)
		out.Months = int32(n)
		return int64(out.Months) == n
	case "week", "day":
		if unit == "week" {
			n *= 7
		}
		n += int64(out.Days)
		out.Days = int32(n)
		return int64(out.Days) == n
	}
	scale, ok := map[string]int64{"hour": 3_600e6, "minute": 60e6, "second": 1e6, "millisecond": 1e3,
		"microsecond": 1}[unit]
	if !ok {
		return false
	}
	micros, fits := fn.MulFits(n, scale)
	if fractional {
		part, rest, good := readFraction(fraction)
		if !good || rest != "" {
			return false
		}
		if negative {
			part = -part
		}
		micros += part
	}
	out.Micros, ok = fn.AddFits(out.Micros, micros)
	return ok && fits
}
