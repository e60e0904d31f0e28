package plan

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

func (w *sqlWriter) literal(l *Literal) {
	if l.Value == nil {
		w.b.WriteString("NULL")
		return
	}
	if w.qualified && l.Of.Kind != KindInt {
		w.b.WriteString(w.quoted(l.Value, l.Of))
		return
	}
	switch v := l.Value.(type) {
	case string:
		w.b.WriteString(v)
	case int64:
		if l.Of.IsNumeric() {
			w.b.WriteString(strconv.FormatInt(v, 10))
			return
		}
		w.b.WriteString(w.quoted(l.Value, l.Of))
	case float32:
		w.b.WriteString(javaFloat(float64(v), 32))
	case float64:
		w.b.WriteString(javaFloat(v, 64))
	case decimal128.Num:
		w.b.WriteString(javaDecimal(v, l.Of.Scale))
	default:
		w.b.WriteString(w.quoted(l.Value, l.Of))
	}
}

// javaDecimal is the text of a decimal as Java's BigDecimal.toString writes it:
// with an exponent when that is below -6.
func javaDecimal(v decimal128.Num, scale int) string {
	digits, sign := v.BigInt().String(), ""
	if digits[0] == '-' {
		digits, sign = digits[1:], "-"
	}
	exponent := len(digits) - 1 - scale
	if exponent >= -6 {
		return v.ToString(int32(scale))
	}
	if len(digits) > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	return sign + digits + "E" + strconv.Itoa(exponent)
}

// quoted is a constant as SQL text that would read it back.
func (w *sqlWriter) quoted(value Value, t Type) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return "'" + strings.ReplaceAll(strings.ReplaceAll(v, `\`, `\\`), "'", `\'`) + "'"
	case []byte:
		return "X'" + strings.ToUpper(hex.EncodeToString(v)) + "'"
	case float32:
		return floatSQL(float64(v), 32, "FLOAT", "F")
	case float64:
		return floatSQL(v, 64, "DOUBLE", "D")
	case decimal128.Num:
		return javaDecimal(v, t.Scale) + "BD"
	case Interval:
		return "INTERVAL '" + calendarText(v) + "'"
	case MapValue:
		parts := make([]string, 0, 2*len(v.Keys))
		for i, k := range v.Keys {
			parts = append(parts, w.quoted(k, *t.Key), w.quoted(v.Values[i], *t.Elem))
		}
		return "MAP(" + strings.Join(parts, ", ") + ")"
	case []Value:
		return w.quotedList(v, t)
	case int32, int64:
		return w.quotedNumber(value, t)
	default:
		return "?"
	}
}

func (w *sqlWriter) quotedList(values []Value, t Type) string {
	if t.Kind == KindArray {
		parts := make([]string, len(values))
		for i, v := range values {
			parts[i] = w.quoted(v, *t.Elem)
		}
		return "ARRAY(" + strings.Join(parts, ", ") + ")"
	}
	parts := make([]string, 0, 2*len(values))
	for i, v := range values {
		parts = append(parts, "'"+t.Fields[i].Name+"'", w.quoted(v, t.Fields[i].Type))
	}
	return "NAMED_STRUCT(" + strings.Join(parts, ", ") + ")"
}

func (w *sqlWriter) quotedNumber(value Value, t Type) string {
	var n int64
	switch v := value.(type) {
	case int32:
		n = int64(v)
	case int64:
		n = v
	}
	switch t.Kind {
	case KindByte:
		return strconv.FormatInt(n, 10) + "Y"
	case KindShort:
		return strconv.FormatInt(n, 10) + "S"
	case KindLong:
		return strconv.FormatInt(n, 10) + "L"
	case KindDate:
		return "DATE '" + dateText(time.Unix(n*86400, 0).UTC()) + "'"
	case KindTimestamp:
		return "TIMESTAMP '" + timestampText(n, w.zone) + "'"
	case KindTimestampNTZ:
		return "TIMESTAMP_NTZ '" + timestampText(n, time.UTC) + "'"
	case KindTime:
		at := time.Unix(0, n).UTC()
		return "TIME '" + at.Format("15:04:05") + fraction(n%1e9, 9) + "'"
	case KindYearMonth, KindDayTime:
		return IntervalText(n, t)
	default:
		return strconv.FormatInt(n, 10)
	}
}

func dateText(at time.Time) string {
	year, month, day := at.Date()
	return yearText(year) + "-" + pad(int64(month), 2) + "-" + pad(int64(day), 2)
}

func yearText(year int) string {
	switch {
	case year > 9999:
		return "+" + strconv.Itoa(year)
	case year < 0:
		return "-" + pad(int64(-year), 4)
	default:
		return pad(int64(year), 4)
	}
}

func timestampText(micros int64, zone *time.Location) string {
	at := time.UnixMicro(micros).In(zone)
	sub := micros % 1_000_000
	if sub < 0 {
		sub += 1_000_000
	}
	return dateText(at) + " " + at.Format("15:04:05") + fraction(sub, 6)
}

// fraction is ".5" of n units of 10^-digits, "" for none.
func fraction(n int64, digits int) string {
	if n == 0 {
		return ""
	}
	return "." + strings.TrimRight(pad(n, digits), "0")
}

func pad(n int64, width int) string {
	s := strconv.FormatInt(n, 10)
	if len(s) < width {
		s = strings.Repeat("0", width-len(s)) + s
	}
	return s
}

func floatSQL(v float64, bits int, name, suffix string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "CAST('" + javaFloat(v, bits) + "' AS " + name + ")"
	}
	return javaFloat(v, bits) + suffix
}

// javaFloat is a number as Java prints it: 1.0, 1.0E10, 1.2E-5, NaN.
func javaFloat(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	if a := math.Abs(v); v == 0 || a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(v, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	exponent = strings.TrimPrefix(exponent, "+")
	negative := strings.HasPrefix(exponent, "-")
	exponent = strings.TrimLeft(strings.TrimPrefix(exponent, "-"), "0")
	if negative {
		exponent = "-" + exponent
	}
	return mantissa + "E" + exponent
}

// IntervalText is an ANSI interval as SQL: INTERVAL '1-2' YEAR TO MONTH,
// INTERVAL '01' SECOND. n is months or microseconds, as t says.
func IntervalText(n int64, t Type) string {
	fields := strings.ToUpper(t.Start.String())
	if t.Start != t.End {
		fields += " TO " + strings.ToUpper(t.End.String())
	}
	sign, u := "", uint64(n)
	if n < 0 {
		sign, u = "-", -u
	}
	var text string
	if t.Kind == KindYearMonth {
		text = yearMonthText(u, t)
	} else {
		text = dayTimeText(u, t)
	}
	return "INTERVAL '" + sign + text + "' " + fields
}

func yearMonthText(months uint64, t Type) string {
	switch {
	case t.Start != t.End:
		return strconv.FormatUint(months/12, 10) + "-" + strconv.FormatUint(months%12, 10)
	case t.Start == FieldYear:
		return strconv.FormatUint(months/12, 10)
	default:
		return strconv.FormatUint(months, 10)
	}
}

// dayTimeUnits is the length of each field in microseconds, from FieldDay on.
var dayTimeUnits = [...]uint64{86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000}

func dayTimeText(micros uint64, t Type) string {
	var b strings.Builder
	for f := t.Start; f <= t.End; f++ {
		unit := dayTimeUnits[f-FieldDay]
		n := micros / unit
		micros %= unit
		switch {
		case f == t.Start:
		case f == FieldHour:
			b.WriteByte(' ')
		default:
			b.WriteByte(':')
		}
		if f == FieldDay {
			b.WriteString(strconv.FormatUint(n, 10))
		} else {
			b.WriteString(pad(int64(n), 2))
		}
		if f == FieldSecond {
			b.WriteString(fraction(int64(micros), 6))
		}
	}
	return b.String()
}

// calendarText is a calendar interval as Spark prints it: 1 years 2 months 3 days.
func calendarText(v Interval) string {
	var parts []string
	add := func(n int64, unit string) {
		if n != 0 {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+unit)
		}
	}
	add(int64(v.Months/12), "years")
	add(int64(v.Months%12), "months")
	add(int64(v.Days), "days")
	rest := v.Micros
	add(rest/3_600_000_000, "hours")
	rest %= 3_600_000_000
	add(rest/60_000_000, "minutes")
	rest %= 60_000_000
	if rest != 0 {
		sign, u := "", rest
		if u < 0 {
			sign, u = "-", -u
		}
		text := sign + strconv.FormatInt(u/1_000_000, 10) + fraction(u%1_000_000, 6)
		parts = append(parts, text+" seconds")
	}
	if len(parts) == 0 {
		return "0 seconds"
	}
	return strings.Join(parts, " ")
}
