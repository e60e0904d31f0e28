package codec

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// csvValues reads the values of cells.
type csvValues struct {
	dates                         jsonDecoder // reads dates and times by the same patterns
	nan, positiveInf, negativeInf string
	locale                        *decimalSigns // nil: those of English
}

// compile prepares for the columns that are read. Patterns and locales that none
// of them needs may be wrong.
func (v *csvValues) compile(o CSVReadOptions, columns []csvColumn) error {
	v.nan, v.positiveInf, v.negativeInf = o.NaN, o.PositiveInf, o.NegativeInf
	d := &v.dates
	d.zone, d.now, d.fallback = NewOffsets(o.Zone), o.Now, o.Fallback
	var patterns datePatterns
	for _, c := range columns {
		switch c.typ.Kind {
		case plan.KindDecimal:
			var err error
			if v.locale, err = signsOf(o.Locale); err != nil {
				return err
			}
		case plan.KindDate:
			patterns.date = o.DateFormat
		case plan.KindTimestamp:
			patterns.stamp = o.TimestampFormat
		case plan.KindTimestampNTZ:
			patterns.ntz = o.TimestampNTZFormat
		}
	}
	if err := refuseWords(o.Locale, patterns); err != nil {
		return err
	}
	return d.compilePatterns(patterns)
}

func refuseWords(locale string, p datePatterns) error {
	if !english(locale) && (wordy(p.date) || wordy(p.stamp) || wordy(p.ntz)) {
		return plan.Unsupported("reading dates with words in the locale " + locale)
	}
	return nil
}

// wordy reports whether a pattern has words in its texts: names of months, of
// days, of halves of a day, of eras.
func wordy(pattern string) bool {
	return strings.Contains(pattern, "MMM") || strings.Contains(pattern, "LLL") ||
		strings.ContainsAny(pattern, "EaBG")
}

func english(locale string) bool {
	language, _, _ := strings.Cut(strings.ReplaceAll(locale, "_", "-"), "-")
	return language == "" || strings.EqualFold(language, "en")
}

// csvReaders append the value of a cell that is not NULL; false when it is not
// of the type.
var csvReaders = map[plan.Kind]func(v *csvValues, cell []byte, to *chunk.Vector) bool{
	plan.KindBoolean:      (*csvValues).boolean,
	plan.KindByte:         (*csvValues).integer,
	plan.KindShort:        (*csvValues).integer,
	plan.KindInt:          (*csvValues).integer,
	plan.KindLong:         (*csvValues).integer,
	plan.KindFloat:        (*csvValues).float,
	plan.KindDouble:       (*csvValues).float,
	plan.KindDecimal:      (*csvValues).decimal,
	plan.KindDate:         (*csvValues).date,
	plan.KindTimestamp:    (*csvValues).timestamp,
	plan.KindTimestampNTZ: (*csvValues).timestampNTZ,
	plan.KindString:       (*csvValues).text,
	plan.KindBinary:       (*csvValues).bytes,
}

// csvRead is how cells of a type are read.
func csvRead(t plan.Type) (func(v *csvValues, cell []byte, to *chunk.Vector) bool, error) {
	if read := csvReaders[t.Kind]; read != nil {
		return read, nil
	}
	return nil, plan.Unsupported("reading " + t.SQL() + " from CSV")
}

func (v *csvValues) text(cell []byte, to *chunk.Vector) bool {
	if !utf8.Valid(cell) {
		cell = replaceBadUTF8(cell)
	}
	to.AppendBytes(cell)
	return true
}

func (v *csvValues) bytes(cell []byte, to *chunk.Vector) bool {
	to.AppendBytes(cell)
	return true
}

func (v *csvValues) boolean(cell []byte, to *chunk.Vector) bool {
	switch s := textOf(cell); {
	case strings.EqualFold(s, "true"):
		chunk.Append(to, uint8(1))
	case strings.EqualFold(s, "false"):
		chunk.Append(to, uint8(0))
	default:
		return false
	}
	return true
}

func (v *csvValues) integer(cell []byte, to *chunk.Vector) bool {
	n, ok := javaInt(cell)
	if !ok {
		return false
	}
	switch to.Type.Kind {
	case plan.KindLong:
		chunk.Append(to, n)
		return true
	case plan.KindInt:
		if n != int64(int32(n)) {
			return false
		}
		chunk.Append(to, int32(n))
	case plan.KindShort:
		if n != int64(int16(n)) {
			return false
		}
		chunk.Append(to, int16(n))
	default:
		if n != int64(int8(n)) {
			return false
		}
		chunk.Append(to, int8(n))
	}
	return true
}

// javaInt is Long.parseLong: a sign and digits, of any script.
func javaInt(cell []byte) (int64, bool) {
	digits, negative := cell, false
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	if n := len(digits); n == 0 || n > 18 {
		return javaIntSlow(cell)
	}
	n := int64(0)
	for _, b := range digits {
		if b-'0' > 9 {
			return javaIntSlow(cell)
		}
		n = n*10 + int64(b-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

func javaIntSlow(cell []byte) (int64, bool) {
	s := asciiDigits(textOf(cell))
	if strings.IndexByte(s, '_') >= 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func (v *csvValues) float(cell []byte, to *chunk.Vector) bool {
	var f float64
	switch s := textOf(cell); s {
	case v.nan:
		f = math.NaN()
	case v.positiveInf:
		f = math.Inf(1)
	case v.negativeInf:
		f = math.Inf(-1)
	default:
		bits := 64
		if to.Type.Kind == plan.KindFloat {
			bits = 32
		}
		var ok bool
		if f, ok = javaParseFloat(s, bits); !ok {
			return false
		}
	}
	appendFloatTo(to, f)
	return true
}

// javaParseFloat is Double.parseDouble, which knows NaN and Infinity in one
// spelling.
func javaParseFloat(s string, bits int) (float64, bool) {
	if f, ok := shortDouble(s); ok && bits == 64 {
		return f, true
	}
	s = trimJava(s)
	if !javaFloat(s) {
		switch name := strings.TrimLeft(s, "+-"); {
		case len(s)-len(name) > 1:
			return 0, false
		case name == "NaN":
			return math.NaN(), true
		case name == "Infinity" && s[0] == '-':
			return math.Inf(-1), true
		case name == "Infinity":
			return math.Inf(1), true
		}
		return 0, false
	}
	return parseFloat(s, bits)
}

func (v *csvValues) decimal(cell []byte, to *chunk.Vector) bool {
	s := textOf(cell)
	if strings.IndexByte(s, ',') >= 0 || v.locale != nil {
		var ok bool
		if s, ok = v.locale.english(s); !ok {
			return false
		}
	}
	x, fault := parseJSONDecimal(s, to.Type)
	if fault != DecimalOK {
		return false
	}
	chunk.Append(to, x)
	return true
}

func (v *csvValues) date(cell []byte, to *chunk.Vector) bool {
	days, ok := v.dates.calendarDate(textOf(cell))
	if ok {
		chunk.Append(to, days)
	}
	return ok
}

func (v *csvValues) timestamp(cell []byte, to *chunk.Vector) bool {
	micros, ok := v.dates.parseTimestamp(textOf(cell))
	if ok {
		chunk.Append(to, micros)
	}
	return ok
}

func (v *csvValues) timestampNTZ(cell []byte, to *chunk.Vector) bool {
	micros, ok := v.dates.parseTimestampNTZ(textOf(cell))
	if ok {
		chunk.Append(to, micros)
	}
	return ok
}

// shortDouble reads a number of at most 15 digits without sign of an exponent,
// of which one division gives the nearest double.
func shortDouble(s string) (float64, bool) {
	i, negative := 0, false
	if s != "" && s[0] == '-' {
		i, negative = 1, true
	}
	n, digits, scale, point := uint64(0), 0, 0, false
	for ; i < len(s); i++ {
		switch b := s[i]; {
		case b-'0' <= 9:
			n = n*10 + uint64(b-'0')
			digits++
			if point {
				scale++
			}
		case b == '.' && !point:
			point = true
		default:
			return 0, false
		}
	}
	if digits == 0 || digits > 15 {
		return 0, false
	}
	f := float64(n) / float64(pow10[scale])
	if negative {
		f = -f
	}
	return f, true
}

// decimalSigns are how a locale writes decimals.
type decimalSigns struct{ group, point string }

// signsOf are those of a language tag, nil for English ones.
func signsOf(locale string) (*decimalSigns, error) {
	if english(locale) {
		return nil, nil
	}
	language, _, _ := strings.Cut(strings.ReplaceAll(locale, "_", "-"), "-")
	switch strings.ToLower(language) {
	case "de", "es", "it", "nl", "id", "tr", "da", "pt", "el", "hr", "sl", "ro":
		return &decimalSigns{".", ","}, nil
	}
	return nil, plan.Unsupported("reading CSV in the locale " + locale)
}

// english writes a number with a point and without groups; false when the locale
// would not read all of it.
func (d *decimalSigns) english(s string) (string, bool) {
	if d == nil {
		d = &decimalSigns{",", "."}
	}
	whole, fraction, cut := strings.Cut(s, d.point)
	if strings.Contains(fraction, d.group) {
		return "", false
	}
	whole = strings.ReplaceAll(whole, d.group, "")
	if cut {
		whole += "." + fraction
	}
	return whole, true
}
