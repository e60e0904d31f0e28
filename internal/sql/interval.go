package sql

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode"

	"github.com/weir-dev/weir/internal/plan"
)

// intervalUnit is a unit of the text of an interval: what it counts, how many
// of that, and which field of an interval type it fills.
type intervalUnit struct {
	part  byte // 'm' months, 'd' days, 'u' µs
	times int64
	field plan.IntervalField
}

var intervalUnits = map[string]intervalUnit{
	"year":        {'m', 12, plan.FieldYear},
	"month":       {'m', 1, plan.FieldMonth},
	"week":        {'d', 7, plan.FieldDay},
	"day":         {'d', 1, plan.FieldDay},
	"hour":        {'u', 3_600_000_000, plan.FieldHour},
	"minute":      {'u', 60_000_000, plan.FieldMinute},
	"second":      {'u', 1_000_000, plan.FieldSecond},
	"millisecond": {'u', 1_000, plan.FieldSecond},
	"microsecond": {'u', 1, plan.FieldSecond},
}

func unitNamed(word string) (intervalUnit, bool) {
	u, ok := intervalUnits[strings.TrimSuffix(word, "s")]
	return u, ok
}

// ParseInterval reads the text of an interval as triggers and casts take it:
// [INTERVAL] then signed numbers, each with a unit, such as 1 minute 30 seconds.
// Errors are INVALID_INTERVAL_FORMAT with Spark's reasons.
func ParseInterval(text string) (plan.Interval, error) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r <= ' ' })
	if len(words) > 0 && strings.HasPrefix(words[0], "interval") {
		if words[0] != "interval" {
			return plan.Interval{}, intervalError(text, "INVALID_PREFIX", "begins with "+words[0], "prefix", words[0])
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return plan.Interval{}, intervalError(text, "INPUT_IS_EMPTY", "is empty")
	}
	var sum plan.Interval
	for len(words) > 0 {
		n, reason := intervalTerm(words, &sum)
		if reason != nil {
			return plan.Interval{}, intervalError(text, reason[0], reason[1], reason[2:]...)
		}
		words = words[n:]
	}
	return sum, nil
}

// intervalError is one of the subclasses of INVALID_INTERVAL_FORMAT.
func intervalError(text, reason, why string, args ...string) *plan.Error {
	return plan.NewError(plan.ClassIllegal, "INVALID_INTERVAL_FORMAT."+reason,
		"The interval '"+text+"' "+why+".", append([]string{"input", text}, args...)...)
}

// intervalTerm adds the number and unit that words begin with to sum and says
// how many words they were, or what is wrong: a reason, its sentence and its
// parameters.
func intervalTerm(words []string, sum *plan.Interval) (n int, reason []string) {
	word, sign := words[0], int64(1)
	switch word[0] {
	case '-':
		sign = -1
		fallthrough
	case '+':
		word = word[1:]
		if word == "" && len(words) == 1 {
			return 0, []string{"MISSING_NUMBER", "has a sign without a number", "word", words[0]}
		}
		if word == "" {
			words, word = words[1:], words[1]
			n = 1
		}
	}
	count, nanos, fraction, reason := intervalNumber(word, words[0])
	switch {
	case reason != nil:
		return 0, reason
	case len(words) == 1:
		return 0, []string{"MISSING_UNIT", "has a number without a unit", "word", words[0]}
	}
	unit, ok := unitNamed(words[1])
	if fraction && words[1][0] != 's' {
		return 0, []string{"INVALID_FRACTION", "has a fraction of " + words[1], "unit", words[1]}
	}
	if !ok {
		return 0, []string{"INVALID_UNIT", "has the unknown unit " + words[1], "unit", words[1]}
	}
	if !unit.add(sum, sign, count) || !addMicros(sum, sign*(nanos/1000)) {
		return 0, []string{"ARITHMETIC_EXCEPTION", "is too long"}
	}
	return n + 2, nil
}

// intervalNumber reads digits, perhaps with a point and up to nine digits of a
// fraction. whole is the word with its sign.
func intervalNumber(word, whole string) (count uint64, nanos int64, fraction bool, reason []string) {
	if c := word[0]; c != '.' && !digit(c) {
		if word != whole {
			return 0, 0, false, []string{"INVALID_VALUE", "has no number at " + whole, "value", whole}
		}
		return 0, 0, false, []string{"UNRECOGNIZED_NUMBER", "has no number at " + whole, "number", whole}
	}
	integer, rest, point := strings.Cut(word, ".")
	for i := range len(integer) {
		if !digit(integer[i]) {
			return 0, 0, false, []string{"INVALID_VALUE", "has no number at " + whole, "value", whole}
		}
		hi, lo := bits.Mul64(count, 10)
		count = lo + uint64(integer[i]-'0')
		if hi != 0 || count > math.MaxInt64 {
			return 0, 0, false, []string{"ARITHMETIC_EXCEPTION", "is too long"}
		}
	}
	if point && integer == "" && rest == "" {
		return 0, 0, false, []string{"INVALID_VALUE", "has no number at " + whole, "value", whole}
	}
	scale := int64(100_000_000)
	for i := range len(rest) {
		switch {
		case !digit(rest[i]):
			return 0, 0, false, []string{"INVALID_VALUE", "has no number at " + whole, "value", whole}
		case i == 9:
			return 0, 0, false, []string{"INVALID_PRECISION", "is finer than nanoseconds at " + whole, "value", whole}
		}
		nanos += int64(rest[i]-'0') * scale
		scale /= 10
	}
	return count, nanos, point, nil
}

// add adds count units to an interval, false when it grows too long.
func (u intervalUnit) add(sum *plan.Interval, sign int64, count uint64) bool {
	hi, lo := bits.Mul64(count, uint64(u.times))
	if hi != 0 || lo > math.MaxInt64 {
		return false
	}
	n := sign * int64(lo)
	switch u.part {
	case 'm':
		return addInt32(&sum.Months, n)
	case 'd':
		return addInt32(&sum.Days, n)
	default:
		return addMicros(sum, n)
	}
}

func addInt32(to *int32, n int64) bool {
	if n != int64(int32(n)) {
		return false
	}
	total := int64(*to) + n
	*to = int32(total)
	return total == int64(*to)
}

func addMicros(sum *plan.Interval, n int64) bool {
	total := sum.Micros + n
	if (total > sum.Micros) != (n > 0) && n != 0 {
		return false
	}
	sum.Micros = total
	return true
}

// ParseDelay reads a duration as withWatermark and window take it: the text of
// an interval, or a SQL literal that begins with INTERVAL. Whatever is wrong is
// CANNOT_PARSE_INTERVAL.
func ParseDelay(text string) (plan.Interval, error) {
	v, err := ParseInterval(text)
	if err == nil {
		return v, nil
	}
	if trimmed := strings.TrimSpace(text); len(trimmed) >= 8 && strings.EqualFold(trimmed[:8], "interval") {
		if e, err := ParseExpr(trimmed); err == nil {
			if v, ok := intervalValue(e); ok {
				return v, nil
			}
		}
	}
	e := plan.AnalysisError("CANNOT_PARSE_INTERVAL",
		"The text "+sqlQuoted(text)+" is no interval such as '10 minutes'.", "intervalString", sqlQuoted(text))
	e.Cause = err
	return plan.Interval{}, e
}

// intervalValue is an interval literal as a calendar interval.
func intervalValue(e plan.Expr) (plan.Interval, bool) {
	l, ok := e.(*plan.Literal)
	if !ok {
		return plan.Interval{}, false
	}
	switch v := l.Value.(type) {
	case plan.Interval:
		return v, true
	case int32:
		return plan.Interval{Months: v}, l.Of.Kind == plan.KindYearMonth
	case int64:
		return plan.Interval{Micros: v}, l.Of.Kind == plan.KindDayTime
	default:
		return plan.Interval{}, false
	}
}

// intervalAhead reports whether the word INTERVAL begins a literal of numbers
// and units rather than being a name.
func (p *parser) intervalAhead() bool {
	n := 1
	if w := p.peek(1).word; w == "-" || w == "+" {
		n = 2
	}
	switch p.peek(n).kind {
	case tokString:
		for p.peek(n+1).kind == tokString {
			n++
		}
		_, ok := p.unitAt(n + 1)
		return ok
	case tokInteger, tokDecimal:
		if n == 1 {
			return true
		}
		_, ok := p.unitAt(n + 1)
		return ok
	default:
		return false
	}
}

func (p *parser) unitAt(n int) (intervalUnit, bool) {
	t := p.peek(n)
	if t.kind != tokWord || t.word == "" {
		return intervalUnit{}, false
	}
	word := strings.ToLower(t.word)
	if word == "nanosecond" || word == "nanoseconds" {
		return intervalUnit{field: plan.FieldSecond}, true
	}
	return unitNamed(word)
}

// intervalLiteral reads INTERVAL, then numbers with units or '…' unit TO unit.
func (p *parser) intervalLiteral() plan.Expr {
	start := p.i
	p.skip(1)
	body := p.i
	var text strings.Builder
	first, last := plan.FieldSecond, plan.FieldYear
	for n := 0; n == 0 || p.termAhead(); n++ {
		term := p.i
		sign := ""
		if p.atAny("-", "+") {
			sign = strings.TrimPrefix(p.cur().word, "+")
			p.skip(1)
		}
		value, quoted := p.intervalNumberText(sign)
		unit, ok := p.unitAt(0)
		if !ok {
			p.syntax("")
			return nothing()
		}
		if p.peek(1).word == "TO" && fieldNamed(p.cur().word) >= 0 && fieldNamed(p.peek(2).word) >= 0 {
			return p.fromTo(start, [2]int{body, term}, value, quoted)
		}
		text.WriteString(" " + value + " " + p.text[p.cur().start:p.cur().end])
		p.skip(1)
		if quoted && strings.ContainsFunc(value, unicode.IsLetter) {
			p.mistake(body, "_LEGACY_ERROR_TEMP_0026", "The text '"+value+"' before a unit is no number.",
				"value", value)
		}
		first, last = min(first, unit.field), max(last, unit.field)
	}
	v, err := ParseInterval(text.String())
	if err != nil {
		if p.fault == nil {
			p.fault = err.(*plan.Error)
		}
		return nothing()
	}
	return p.ansiInterval(start, v, first, last)
}

// termAhead reports whether another number and unit follow.
func (p *parser) termAhead() bool {
	n := 0
	if p.atAny("-", "+") {
		n = 1
	}
	switch p.peek(n).kind {
	case tokInteger, tokDecimal, tokString:
		_, ok := p.unitAt(n + 1)
		return ok
	default:
		return false
	}
}

// intervalNumberText reads the number before a unit, in digits or as text,
// with the sign outside applied to it.
func (p *parser) intervalNumberText(sign string) (value string, quoted bool) {
	if p.cur().kind != tokString {
		t := p.cur()
		p.skip(1)
		return sign + p.text[t.start:t.end], false
	}
	value = p.stringLit()
	if sign == "-" {
		if rest, ok := strings.CutPrefix(value, "-"); ok {
			return rest, true
		}
		return "-" + value, true
	}
	return value, true
}

// ansiInterval is an interval as a value of the narrowest ANSI type that has
// the units it was written with.
func (p *parser) ansiInterval(start int, v plan.Interval, first, last plan.IntervalField) plan.Expr {
	switch {
	case last <= plan.FieldMonth:
		return plan.Lit(v.Months, plan.Type{Kind: plan.KindYearMonth, Start: first, End: last})
	case first <= plan.FieldMonth:
		text := p.source(start)
		p.mistake(start, "_LEGACY_ERROR_TEMP_0029", "The interval mixes months with days or less: "+text+".",
			"literal", text)
		return nothing()
	}
	days := int64(v.Days) * 86_400_000_000
	micros := days + v.Micros
	tooLong := int64(v.Days) > 106_751_991 || int64(v.Days) < -106_751_991
	if tooLong || (micros > days) != (v.Micros > 0) && v.Micros != 0 {
		if p.fault == nil {
			p.fault = plan.NewError(plan.ClassArithmetic, "INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION",
				"The interval "+p.source(start)+" is too long.")
		}
		return nothing()
	}
	return plan.Lit(micros, plan.Type{Kind: plan.KindDayTime, Start: first, End: last})
}

// intervalText is the value of INTERVAL '1 day 2 hours'.
func (p *parser) intervalText(start int, text string) plan.Expr {
	v, err := ParseInterval(text)
	if err != nil {
		return p.badLiteral(start, "INTERVAL", text)
	}
	first, last := plan.FieldSecond, plan.FieldYear
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if unit, ok := unitNamed(word); ok {
			first, last = min(first, unit.field), max(last, unit.field)
		}
	}
	return p.ansiInterval(start, v, first, last)
}

// fieldNamed is the field that a unit names in … TO …, -1 for other words.
func fieldNamed(word string) int {
	switch word {
	case "YEAR":
		return int(plan.FieldYear)
	case "MONTH":
		return int(plan.FieldMonth)
	case "DAY":
		return int(plan.FieldDay)
	case "HOUR":
		return int(plan.FieldHour)
	case "MINUTE":
		return int(plan.FieldMinute)
	case "SECOND":
		return int(plan.FieldSecond)
	default:
		return -1
	}
}

// fromTo reads unit TO unit behind a value. starts are the token numbers of
// the whole body and of the value.
func (p *parser) fromTo(start int, starts [2]int, value string, quoted bool) plan.Expr {
	from, to := plan.IntervalField(fieldNamed(p.cur().word)), plan.IntervalField(fieldNamed(p.peek(2).word))
	p.skip(3)
	body, term := starts[0], starts[1]
	switch {
	case term != body || p.termAhead():
		for p.termAhead() {
			p.skip(2)
		}
		p.mistake(start, "_LEGACY_ERROR_TEMP_0024", "An interval has one unit TO unit, and nothing beside it.")
	case !quoted:
		p.mistake(body, "_LEGACY_ERROR_TEMP_0027",
			"The value before "+from.String()+" TO "+to.String()+" must be text.")
	case from >= to || (from <= plan.FieldMonth) != (to <= plan.FieldMonth):
		p.mistake(body, "INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION",
			"There are no intervals from "+from.String()+" to "+to.String()+".",
			"input", value, "from", from.String(), "to", to.String())
	default:
		return p.fieldsOf(body, strings.TrimSpace(value), from, to)
	}
	return nothing()
}

// fieldsOf reads [+-]a<mark>b<mark>c of the fields from … to.
func (p *parser) fieldsOf(body int, value string, from, to plan.IntervalField) plan.Expr {
	t := plan.Type{Kind: plan.KindDayTime, Start: from, End: to}
	if to <= plan.FieldMonth {
		t.Kind = plan.KindYearMonth
	}
	rest, negative := strings.CutPrefix(value, "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	total := int64(0)
	for f := from; f <= to; f++ {
		text := rest
		if f < to {
			var ok bool
			if text, rest, ok = strings.Cut(rest, fieldMarks[f:f+1]); !ok {
				return p.badFields(body, value, t)
			}
		}
		count, micros, ok := fieldValue(text, f, f == from)
		switch {
		case !ok:
			return p.badFields(body, value, t)
		case f > from && count >= fieldLimits[f], f == from && count > leadingLimit[f]:
			return p.fieldTooLarge(body, value, t, f, count)
		}
		total += count*fieldSize[f] + micros
	}
	if negative {
		total = -total
	}
	switch {
	case t.Kind == plan.KindDayTime:
		return plan.Lit(total, t)
	case total != int64(int32(total)):
		return p.fieldTooLarge(body, value, t, plan.FieldMonth, 0)
	default:
		return plan.Lit(int32(total), t)
	}
}

// What stands behind a field, how many of it make one of the field before,
// how large it is in months or µs, and how many there may be of the first.
var (
	fieldMarks   = "-  ::"
	fieldLimits  = [...]int64{0, 12, 0, 24, 60, 60}
	fieldSize    = [...]int64{12, 1, 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000}
	leadingLimit = [...]int64{
		math.MaxInt32, math.MaxInt32, 106_751_991, 2_562_047_788, 153_722_867_280, 9_223_372_036_854,
	}
)

// fieldValue is how many of a field there are; seconds may have a fraction, in
// µs.
func fieldValue(text string, f plan.IntervalField, leading bool) (count, micros int64, ok bool) {
	whole, fraction, point := strings.Cut(text, ".")
	if point && (f != plan.FieldSecond || fraction == "" || len(fraction) > 9) || !leading && len(whole) > 2 {
		return 0, 0, false
	}
	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil {
		return 0, 0, false
	}
	if point {
		u, err := strconv.ParseUint((fraction + "00000")[:6], 10, 32)
		if err != nil {
			return 0, 0, false
		}
		micros = int64(u)
	}
	return int64(n), micros, true
}

// badFields refuses a value that has not the form of its fields.
func (p *parser) badFields(body int, value string, t plan.Type) plan.Expr {
	name, form, reason := "year-month", "", "UNMATCHED_FORMAT_STRING"
	if t.Kind == plan.KindDayTime {
		name, reason = "day-time", "UNMATCHED_FORMAT_STRING_WITH_NOTICE"
	}
	for f := t.Start; f <= t.End; f++ {
		form += [...]string{"y", "m", "d", "h", "m", "s.n"}[f]
		if f < t.End {
			form += fieldMarks[f : f+1]
		}
	}
	words := strings.ToUpper(strings.TrimPrefix(t.Simple(), "interval "))
	p.mistake(body, "INVALID_INTERVAL_FORMAT."+reason,
		"The value '"+value+"' has not the form "+form+" of an "+t.Simple()+".",
		"input", value, "intervalStr", name, "typeName", t.Simple(),
		"supportedFormat", "`[+|-]"+form+"`, `INTERVAL [+|-]'[+|-]"+form+"' "+words+"`")
	return nothing()
}

// fieldTooLarge refuses a field beyond what makes one of the field before.
func (p *parser) fieldTooLarge(body int, value string, t plan.Type, f plan.IntervalField, n int64) plan.Expr {
	if t.Kind == plan.KindYearMonth {
		p.mistake(body, "INVALID_INTERVAL_FORMAT.INTERVAL_PARSING", "The interval '"+value+"' is out of range.",
			"input", value, "interval", "year-month")
		return nothing()
	}
	limit := fieldLimits[f] - 1
	if f == t.Start {
		limit = leadingLimit[f]
	}
	msg := "requirement failed: " + f.String() + " " + strconv.FormatInt(n, 10) +
		" outside range [0, " + strconv.FormatInt(limit, 10) + "]"
	p.mistake(body, "_LEGACY_ERROR_TEMP_0063",
		"The interval '"+value+"' is out of range: "+f.String()+".", "msg", msg)
	return nothing()
}
