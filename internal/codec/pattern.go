package codec

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Pattern is a datetime pattern of Java's DateTimeFormatter as Spark allows
// them, compiled. It is immutable.
type Pattern struct {
	text  string
	ops   []patternOp
	never bool // it reads nothing
}

// PatternUse says what a pattern is for.
type PatternUse struct {
	Parse bool // it reads text; some letters only print
	NTZ   bool // of TIMESTAMP_NTZ and TIME, whose errors differ
}

// field is a part of a date or a time that a pattern names.
type field uint8

const (
	noField field = iota
	fieldEra
	fieldYear // proleptic
	fieldYearOfEra
	fieldQuarter
	fieldMonth
	fieldDay
	fieldDayOfYear
	fieldWeekday
	fieldDayInMonth // 1 to 7, counted from the first of the month
	fieldAmPm
	fieldHour
	fieldClockHour // 1 to 24
	fieldHour12    // 0 to 11
	fieldClockHour12
	fieldMinute
	fieldSecond
	fieldNano
	fieldJulian // modified Julian day
	fieldCount
)

type opKind uint8

const (
	opLiteral opKind = iota
	opNumber
	opReduced // two digits of a year
	opText
	opFraction
	opOffset    // text is the form, zero what stands for UTC
	opGMTOffset // GMT+8, GMT+08:00
	opZoneID
	opZoneName
	opStart // of an optional section that ends before op number end
	opEnd
)

// signStyle is Java's: when a number has a sign.
type signStyle uint8

const (
	signNormal     signStyle = iota // minus only
	signNever                       // digits only
	signExceedsPad                  // plus when longer than the padding
)

type patternOp struct {
	kind     opKind
	field    field
	full     bool // long form of texts
	sign     signStyle
	min, max int
	// after are digits that adjacent fixed fields behind this one need; -1
	// says that this number has exactly min digits.
	after int
	text  string
	zero  string
	end   int
}

// Letters that Spark refuses, some only for reading, before Java sees them.
const (
	weekLetters       = "YWwuec"
	refusedLetters    = "ABnNp"
	refusedForParsing = "EFqQ"
)

var refusedLengths = [...]string{"GGGGG", "MMMMM", "LLLLL", "EEEEE", "QQQQQ", "qqqqq", "yyyyyyy"}

const docroot = "https://spark.apache.org/docs/latest"

// CompilePattern compiles a pattern or refuses it with Spark's error.
func CompilePattern(text string, use PatternUse) (*Pattern, error) {
	err := refuseLetters(text, use.Parse)
	if err == nil {
		b := patternBuilder{text: text, parse: use.Parse, active: -1}
		b.era = hasEra(text)
		if b.compile() {
			return &Pattern{text: text, ops: b.ops}, nil
		}
		if b.generic {
			return nil, plan.Unsupported("the letter v in datetime patterns")
		}
	}
	if use.NTZ || err == nil && !legacyAccepts(text) {
		return nil, plan.NewError(plan.ClassRuntime, "INVALID_DATETIME_PATTERN.WITH_SUGGESTION",
			"The datetime pattern '"+text+"' is not one.", "pattern", quoteSQL(text), "docroot", docroot)
	}
	if legacyAccepts(text) {
		return nil, plan.NewError(plan.ClassUpgrade,
			"INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION",
			"The datetime pattern '"+text+"' was one of Spark 2.4 and is none of Spark 3.",
			"pattern", quoteSQL(text), "docroot", docroot,
			"config", `"spark.sql.legacy.timeParserPolicy"`)
	}
	return nil, err
}

// RefuseLegacyPolicy refuses spark.sql.legacy.timeParserPolicy=LEGACY, whose
// patterns are those of SimpleDateFormat.
func RefuseLegacyPolicy(policy string) error {
	if strings.EqualFold(policy, "LEGACY") {
		return plan.Unsupported("spark.sql.legacy.timeParserPolicy=LEGACY")
	}
	return nil
}

// quoteSQL is a string as a SQL literal.
func quoteSQL(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
}

// unquoted calls f with each part of a pattern that is not between quotes.
func unquoted(text string, f func(part string) error) error {
	for i, part := range strings.Split(text, "'") {
		if i%2 != 0 {
			continue
		}
		if err := f(part); err != nil {
			return err
		}
	}
	return nil
}

func hasEra(text string) bool {
	era := false
	_ = unquoted(text, func(part string) error {
		era = era || strings.Contains(part, "G")
		return nil
	})
	return era
}

func refuseLetters(text string, parse bool) error {
	return unquoted(text, func(part string) error {
		if i := strings.IndexAny(part, weekLetters); i >= 0 {
			c := part[i : i+1]
			return plan.NewError(plan.ClassIllegal,
				"INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_WEEK_BASED_PATTERN",
				"Week-based patterns are refused since Spark 3, here the letter "+c+".", "c", c)
		}
		refused := refusedLetters
		if parse {
			refused += refusedForParsing
		}
		if i := strings.IndexAny(part, refused); i >= 0 {
			c := part[i : i+1]
			return plan.NewError(plan.ClassIllegal, "INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER",
				"The letter "+c+" of pattern '"+text+"' is not supported.", "c", c, "pattern", text)
		}
		for _, long := range refusedLengths {
			if strings.Contains(part, long) {
				return plan.NewError(plan.ClassIllegal, "INVALID_DATETIME_PATTERN.LENGTH",
					"The pattern has too many letters: "+long+".", "pattern", long)
			}
		}
		return nil
	})
}

// legacyAccepts reports whether SimpleDateFormat takes a pattern, which decides
// between two of Spark's errors.
func legacyAccepts(text string) bool {
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\'' {
			quoted = !quoted
			continue
		}
		if quoted || !isLetter(c) {
			continue
		}
		run := letterRun(text, i)
		if strings.IndexByte("GyMLwWDdFEuaHkKhmsSzZXY", c) < 0 || c == 'X' && run > 3 {
			return false
		}
		i += run - 1
	}
	return !quoted
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// letterRun is the number of equal bytes from i on.
func letterRun(text string, i int) int {
	n := 1
	for i+n < len(text) && text[i+n] == text[i] {
		n++
	}
	return n
}

type patternBuilder struct {
	text  string
	parse bool
	era   bool
	// generic is set by a pattern with v, a zone's name the whole year round.
	generic bool
	ops     []patternOp
	active  int // op of the number that adjacent numbers extend, -1 for none
	starts  []int
}

func (b *patternBuilder) compile() bool {
	for i := 0; i < len(b.text); {
		c := b.text[i]
		switch {
		case isLetter(c):
			n := letterRun(b.text, i)
			if !b.letters(c, n) {
				return false
			}
			i += n
			continue
		case c == '\'':
			n, ok := b.quoted(b.text[i:])
			if !ok {
				return false
			}
			i += n
			continue
		case c == '[':
			b.starts = append(b.starts, len(b.ops))
			b.add(patternOp{kind: opStart})
		case c == ']':
			if len(b.starts) == 0 {
				return false
			}
			b.endSection()
		case c == '{' || c == '}' || c == '#':
			return false
		default:
			b.add(patternOp{kind: opLiteral, text: b.text[i : i+1]})
		}
		i++
	}
	for len(b.starts) > 0 {
		b.endSection()
	}
	return true
}

func (b *patternBuilder) endSection() {
	start := b.starts[len(b.starts)-1]
	b.starts = b.starts[:len(b.starts)-1]
	b.add(patternOp{kind: opEnd})
	b.ops[start].end = len(b.ops)
}

// quoted takes a quoted text, ” for a quote, and returns its length.
func (b *patternBuilder) quoted(s string) (int, bool) {
	var text strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			text.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' {
			text.WriteByte('\'')
			i++
			continue
		}
		if i == 1 {
			text.WriteByte('\'')
		}
		b.add(patternOp{kind: opLiteral, text: text.String()})
		return i + 1, true
	}
	return 0, false
}

// add appends an op that no number extends over.
func (b *patternBuilder) add(op patternOp) bool {
	b.ops = append(b.ops, op)
	b.active = -1
	return true
}

// number appends a number and lets adjacent ones share digits as Java does:
// fixed ones reserve their digits from the first, a variable one ends it.
func (b *patternBuilder) number(op patternOp) bool {
	active := b.active
	if active >= 0 && op.min == op.max && (op.sign == signNever) {
		b.ops[active].after += op.max
		op.after = -1
		b.add(op)
		b.active = active
		return true
	}
	if active >= 0 {
		b.ops[active].after = -1
	}
	b.add(op)
	b.active = len(b.ops) - 1
	return true
}

// numberFields are the letters that are numbers of one or two digits.
var numberFields = map[byte]field{
	'd': fieldDay, 'h': fieldClockHour12, 'H': fieldHour, 'k': fieldClockHour, 'K': fieldHour12,
	'm': fieldMinute, 's': fieldSecond,
}

func (b *patternBuilder) letters(c byte, n int) bool {
	if f, ok := numberFields[c]; ok {
		return n <= 2 && b.plainNumber(f, n)
	}
	switch c {
	case 'y', 'u':
		return b.year(n)
	case 'M', 'L':
		return b.numberOrText(fieldMonth, n)
	case 'Q', 'q':
		return b.numberOrText(fieldQuarter, n)
	case 'E':
		return n <= 4 && b.add(patternOp{kind: opText, field: fieldWeekday, full: n == 4})
	case 'a':
		return n == 1 && b.add(patternOp{kind: opText, field: fieldAmPm})
	case 'G':
		return n <= 4 && b.add(patternOp{kind: opText, field: fieldEra, full: n == 4})
	case 'F':
		return n == 1 && b.plainNumber(fieldDayInMonth, 1)
	case 'D':
		return n <= 3 && b.dayOfYear(n)
	case 'g':
		return b.number(patternOp{kind: opNumber, field: fieldJulian, min: n, max: 19})
	case 'S':
		return b.fraction(n)
	default:
		return b.zone(c, n)
	}
}

func (b *patternBuilder) plainNumber(f field, n int) bool {
	if n == 1 {
		return b.number(patternOp{kind: opNumber, field: f, min: 1, max: 19})
	}
	return b.number(patternOp{kind: opNumber, field: f, min: n, max: n, sign: signNever})
}

func (b *patternBuilder) dayOfYear(n int) bool {
	if n == 1 {
		return b.plainNumber(fieldDayOfYear, 1)
	}
	return b.number(patternOp{kind: opNumber, field: fieldDayOfYear, min: n, max: 3, sign: signNever})
}

func (b *patternBuilder) year(n int) bool {
	f := fieldYear
	if b.era {
		f = fieldYearOfEra
	}
	switch {
	case n == 2:
		return b.number(patternOp{kind: opReduced, field: f, min: 2, max: 2, sign: signNever})
	case n < 4:
		return b.number(patternOp{kind: opNumber, field: f, min: n, max: 19})
	default:
		return b.number(patternOp{kind: opNumber, field: f, min: n, max: 19, sign: signExceedsPad})
	}
}

func (b *patternBuilder) numberOrText(f field, n int) bool {
	if n <= 2 {
		return b.plainNumber(f, n)
	}
	return n <= 4 && b.add(patternOp{kind: opText, field: f, full: n == 4})
}

// fraction is a second's fraction: printed at full length, read from one digit
// on.
func (b *patternBuilder) fraction(n int) bool {
	op := patternOp{kind: opFraction, field: fieldNano, min: n, max: n}
	if b.parse {
		op.min = 1
	}
	return n <= 9 && b.add(op)
}

// offsetForms are Java's forms of offsets for 'X' and 'x' by number of letters.
var offsetForms = [...]string{1: "+HHmm", 2: "+HHMM", 3: "+HH:MM", 4: "+HHMMss", 5: "+HH:MM:ss"}

func (b *patternBuilder) zone(c byte, n int) bool {
	switch c {
	case 'z':
		return n <= 4 && b.add(patternOp{kind: opZoneName, full: n == 4})
	case 'V':
		return n == 2 && b.add(patternOp{kind: opZoneID})
	case 'O':
		return (n == 1 || n == 4) && b.add(patternOp{kind: opGMTOffset, full: n == 4})
	case 'X':
		return n <= 5 && b.add(patternOp{kind: opOffset, text: offsetForms[n], zero: "Z"})
	case 'x':
		zero := "+00:00"
		if n == 1 {
			zero = "+00"
		} else if n%2 == 0 {
			zero = "+0000"
		}
		return n <= 5 && b.add(patternOp{kind: opOffset, text: offsetForms[n], zero: zero})
	case 'Z':
		switch {
		case n <= 3:
			return b.add(patternOp{kind: opOffset, text: "+HHMM", zero: "+0000"})
		case n == 4:
			return b.add(patternOp{kind: opGMTOffset, full: true})
		default:
			return n == 5 && b.add(patternOp{kind: opOffset, text: "+HH:MM:ss", zero: "Z"})
		}
	default:
		b.generic = b.generic || c == 'v' && (n == 1 || n == 4)
		return false
	}
}
