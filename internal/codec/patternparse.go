package codec

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// parsed is what a pattern found in a text. A set bit of has says that the
// field was there.
type parsed struct {
	text   string
	values [fieldCount]int64
	has    uint32
	zone   *time.Location
}

func (r *parsed) get(f field) (int64, bool) { return r.values[f], r.has&(1<<f) != 0 }

func (r *parsed) or(f field, otherwise int64) int64 {
	if v, ok := r.get(f); ok {
		return v
	}
	return otherwise
}

// set stores a field; a field met twice must have one value.
func (r *parsed) set(f field, v int64) bool {
	if old, ok := r.get(f); ok {
		return old == v
	}
	r.values[f] = v
	r.has |= 1 << f
	return true
}

// ParseTimestamp reads a timestamp; zone is that of texts that name none. The
// error is a *plan.Error when the timestamp overflows, and says what is wrong
// with the text otherwise.
func (p *Pattern) ParseTimestamp(text string, zone *Offsets) (int64, error) {
	var r parsed
	days, clock, err := p.parse(text, &r)
	if err != nil {
		return 0, err
	}
	if r.zone != nil {
		zone = NewOffsets(r.zone)
	}
	second := zone.instant(days*secondsPerDay + clock/microsPerSecond)
	return microsOrOverflow(second, clock)
}

// microsOrOverflow fails as Spark does, even where it forgives bad text.
func microsOrOverflow(second, clock int64) (int64, error) {
	micros, ok := toMicros(second, clock%microsPerSecond)
	if !ok {
		return 0, &plan.Error{Class: "java.lang.ArithmeticException", Msg: "long overflow"}
	}
	return micros, nil
}

// ParseTimestampNTZ reads a timestamp without a time zone; one in the text is
// ignored, or an error without allowZone.
func (p *Pattern) ParseTimestampNTZ(text string, allowZone bool) (int64, error) {
	var r parsed
	days, clock, err := p.parse(text, &r)
	if err != nil {
		return 0, err
	}
	if r.zone != nil && !allowZone {
		return 0, r.fault("the text has a time zone")
	}
	return microsOrOverflow(days*secondsPerDay+clock/microsPerSecond, clock)
}

// ParseDate reads a date.
func (p *Pattern) ParseDate(text string) (int32, error) {
	var r parsed
	days, _, err := p.parse(text, &r)
	if err != nil {
		return 0, err
	}
	if days != int64(int32(days)) {
		return 0, r.fault("the date overflows")
	}
	return int32(days), nil
}

func (r *parsed) fault(why string) error {
	return fmt.Errorf("text '%s' could not be parsed: %s", r.text, why)
}

// parse reads text whole: days since 1970 and µs of the day.
func (p *Pattern) parse(text string, r *parsed) (days, clock int64, err error) {
	r.text = text
	if p.never {
		return 0, 0, fmt.Errorf("text '%s' could not be parsed: '%s' is no pattern", text, p.text)
	}
	at, end := p.match(r)
	switch {
	case at >= 0:
		return 0, 0, fmt.Errorf("text '%s' could not be parsed at index %d", text, at)
	case end < len(text):
		return 0, 0, fmt.Errorf("text '%s' could not be parsed, unparsed text found at index %d", text, end)
	}
	if err := r.resolve(); err != nil {
		return 0, 0, r.fault(err.Error())
	}
	days, err = r.days()
	if err != nil {
		return 0, 0, r.fault(err.Error())
	}
	return days, r.clock(), nil
}

// match runs the ops over r.text. It returns where it failed, or -1 and where
// it ended.
func (p *Pattern) match(r *parsed) (failed, end int) {
	type section struct {
		before parsed
		at     int
		end    int
	}
	var open []section
	at := 0
	for i := 0; i < len(p.ops); i++ {
		op := &p.ops[i]
		switch op.kind {
		case opStart:
			open = append(open, section{*r, at, op.end})
			continue
		case opEnd:
			open = open[:len(open)-1]
			continue
		}
		next, ok := op.match(r, at)
		if ok {
			at = next
			continue
		}
		if len(open) == 0 {
			return at, 0
		}
		last := open[len(open)-1]
		open = open[:len(open)-1]
		*r, at, i = last.before, last.at, last.end-1
	}
	return -1, at
}

func (op *patternOp) match(r *parsed, at int) (int, bool) {
	rest := r.text[at:]
	switch op.kind {
	case opLiteral:
		n := len(op.text)
		return at + n, len(rest) >= n && strings.EqualFold(rest[:n], op.text)
	case opNumber:
		return op.matchNumber(r, at)
	case opReduced:
		next, v, ok := op.digits(r.text, at)
		if ok && v >= 0 {
			v += 2000
		}
		return next, ok && r.set(op.field, v)
	case opText:
		return op.matchText(r, at)
	case opFraction:
		return op.matchFraction(r, at)
	case opOffset, opGMTOffset:
		seconds, n, ok := op.matchOffset(rest)
		if !ok {
			return at, false
		}
		r.zone = time.FixedZone(offsetID("", seconds), seconds)
		return at + n, true
	default:
		return matchZone(r, at)
	}
}

func (op *patternOp) matchNumber(r *parsed, at int) (int, bool) {
	next, v, ok := op.digits(r.text, at)
	return next, ok && r.set(op.field, v)
}

// digits reads a number by Java's strict rules for signs and widths.
func (op *patternOp) digits(s string, at int) (next int, v int64, ok bool) {
	negative, positive := false, false
	if at < len(s) && (s[at] == '-' || s[at] == '+') {
		negative, positive = s[at] == '-', s[at] == '+'
		if op.sign == signNever || positive && op.sign == signNormal {
			return at, 0, false
		}
		at++
	}
	n := 0
	for n < op.max+max(op.after, 0) && at+n < len(s) && s[at+n] >= '0' && s[at+n] <= '9' {
		n++
	}
	if op.after > 0 {
		n = min(n, max(op.min, n-op.after))
	}
	if n < op.min || n > 18 {
		return at, 0, false
	}
	for _, c := range []byte(s[at : at+n]) {
		v = v*10 + int64(c-'0')
	}
	switch {
	case negative && v == 0:
		return at, 0, false
	case negative:
		v = -v
	case op.sign == signExceedsPad && positive != (n > op.min):
		return at, 0, false
	}
	return at + n, v, true
}

func (op *patternOp) matchText(r *parsed, at int) (int, bool) {
	best, value := 0, 0
	for i, name := range fieldTexts(op.field, op.full) {
		if n := len(name); n > best && at+n <= len(r.text) && strings.EqualFold(r.text[at:at+n], name) {
			best, value = n, i
		}
	}
	if op.field == fieldMonth || op.field == fieldQuarter {
		value++
	}
	return at + best, best > 0 && r.set(op.field, int64(value))
}

func (op *patternOp) matchFraction(r *parsed, at int) (int, bool) {
	n := 0
	v := int64(0)
	for n < op.max && at+n < len(r.text) && r.text[at+n] >= '0' && r.text[at+n] <= '9' {
		v = v*10 + int64(r.text[at+n]-'0')
		n++
	}
	return at + n, n >= op.min && r.set(fieldNano, v*int64(pow10[9-n]))
}

// matchOffset reads an offset in the op's form.
func (op *patternOp) matchOffset(s string) (seconds, n int, ok bool) {
	form := op.text
	if op.kind == opGMTOffset {
		if len(s) < 3 || !strings.EqualFold(s[:3], "GMT") {
			return 0, 0, false
		}
		if len(s) == 3 || s[3] != '+' && s[3] != '-' {
			return 0, 3, true
		}
		form = "+H:mm:ss"
		if op.full {
			form = "+HH:MM:ss"
		}
		seconds, n, ok = scanOffset(s[3:], form)
		return seconds, n + 3, ok
	}
	if seconds, n, ok = scanOffset(s, form); ok {
		return seconds, n, true
	}
	z := len(op.zero)
	return 0, z, len(s) >= z && strings.EqualFold(s[:z], op.zero)
}

// scanOffset reads an offset of a form such as +HH:MM:ss; capital parts must be
// there, a single H is one digit or two.
func scanOffset(s, form string) (seconds, n int, ok bool) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, 0, false
	}
	n = 1
	for i, unit := 1, 3600; i < len(form); unit /= 60 {
		colon := form[i] == ':'
		if colon {
			i++
		}
		short := form[i] == 'H' && (i+1 == len(form) || form[i+1] != 'H')
		v, used, found := scanTwo(s[n:], colon, short)
		if !found {
			if form[i] >= 'a' {
				break
			}
			return 0, 0, false
		}
		if unit < 3600 && v > 59 {
			return 0, 0, false
		}
		seconds += v * unit
		n += used
		i += 2
		if short {
			i--
		}
	}
	if seconds > 18*3600 {
		return 0, 0, false
	}
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, n, true
}

func scanTwo(s string, colon, short bool) (v, n int, ok bool) {
	if colon {
		if s == "" || s[0] != ':' {
			return 0, 0, false
		}
		n = 1
	}
	start := n
	for n < len(s) && n < start+2 && s[n] >= '0' && s[n] <= '9' {
		v = v*10 + int(s[n]-'0')
		n++
	}
	return v, n, n == start+2 || short && n == start+1
}

// matchZone reads the longest zone id or abbreviation at the place.
func matchZone(r *parsed, at int) (int, bool) {
	end := at
	for end < len(r.text) && end < at+50 && strings.IndexByte(" \t,;()[]'\"", r.text[end]) < 0 {
		end++
	}
	for ; end > at; end-- {
		name := r.text[at:end]
		if long, ok := summerZones[strings.ToUpper(name)]; ok {
			name = long
		}
		for _, spelling := range [...]string{name, regionCase(name)} {
			if loc, err := Zone(spelling); err == nil {
				r.zone = loc
				return end, true
			}
		}
	}
	return at, false
}

// regionCase is the name of a region as it is usually spelt: patterns read ids
// in any case.
func regionCase(name string) string {
	b := []byte(strings.ToLower(name))
	for i := range b {
		if (i == 0 || b[i-1] == '/' || b[i-1] == '_' || b[i-1] == '-') && isLetter(b[i]) {
			b[i] &^= 0x20
		}
	}
	return string(b)
}

// summerZones are the abbreviations that Java reads beside those that are ids.
var summerZones = map[string]string{
	"PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "MST": "America/Denver", "MDT": "America/Denver",
	"CST": "America/Chicago", "CDT": "America/Chicago", "EST": "America/New_York", "EDT": "America/New_York",
	"CEST": "Europe/Paris", "EEST": "Europe/Bucharest", "WEST": "Europe/Lisbon", "BST": "Europe/London",
	"MSK": "Europe/Moscow",
}

// resolve turns the fields of a text into year, month, day and hour.
func (r *parsed) resolve() error {
	for f, limits := range fieldLimits {
		v, ok := r.get(field(f))
		if ok && limits.name != "" && (v < limits.min || v > limits.max) {
			return fmt.Errorf("invalid value for %s (valid values %d - %d): %d",
				limits.name, limits.min, limits.max, v)
		}
	}
	if y, ok := r.get(fieldYearOfEra); ok {
		if era, ok := r.get(fieldEra); ok {
			if era == 0 {
				y = 1 - y
			}
			if !r.set(fieldYear, y) {
				return errors.New("conflict between years")
			}
		}
	}
	hours := true
	if v, ok := r.get(fieldClockHour); ok {
		hours = r.set(fieldHour, v%24)
	}
	if v, ok := r.get(fieldClockHour12); ok {
		hours = hours && r.set(fieldHour12, v%12)
	}
	half, ok := r.get(fieldAmPm)
	if hour, ok2 := r.get(fieldHour12); ok && ok2 {
		hours = hours && r.set(fieldHour, half*12+hour)
	}
	if hour, ok := r.get(fieldHour); ok {
		hours = hours && r.set(fieldHour12, hour%12) && r.set(fieldAmPm, hour/12)
	}
	if !hours {
		return errors.New("conflict between hours")
	}
	return nil
}

// fieldLimits are the ranges that numbers of a text are checked against, under
// the names that Java gives the fields.
var fieldLimits = [fieldCount]struct {
	name     string
	min, max int64
}{
	fieldYear:        {"Year", -999_999_999, 999_999_999},
	fieldYearOfEra:   {"YearOfEra", 1, 999_999_999},
	fieldMonth:       {"MonthOfYear", 1, 12},
	fieldDay:         {"DayOfMonth", 1, 31},
	fieldDayOfYear:   {"DayOfYear", 1, 366},
	fieldHour:        {"HourOfDay", 0, 23},
	fieldClockHour:   {"ClockHourOfDay", 1, 24},
	fieldHour12:      {"HourOfAmPm", 0, 11},
	fieldClockHour12: {"ClockHourOfAmPm", 1, 12},
	fieldMinute:      {"MinuteOfHour", 0, 59},
	fieldSecond:      {"SecondOfMinute", 0, 59},
}

// days is the date: whole, or with the first of January 1970 for what is not
// there, as Spark fills it in.
func (r *parsed) days() (int64, error) {
	year := int(r.or(fieldYear, 1970))
	if v, ok := r.get(fieldJulian); ok {
		return v - 40_587, nil
	}
	if yearDay, ok := r.get(fieldDayOfYear); ok {
		if _, ok := r.get(fieldYear); ok {
			return r.dayOfYear(year, yearDay)
		}
	}
	month, day := int(r.or(fieldMonth, 1)), int(r.or(fieldDay, 1))
	days, ok := Days(year, month, day)
	switch {
	case ok:
		return days, nil
	case month == 2 && day == 29:
		return 0, fmt.Errorf("invalid date 'February 29' as '%d' is not a leap year", year)
	default:
		return 0, fmt.Errorf("invalid date '%s %d'", strings.ToUpper(monthNames[month-1]), day)
	}
}

func (r *parsed) dayOfYear(year int, yearDay int64) (int64, error) {
	first, _ := Days(year, 1, 1)
	if yearDay == 366 && !isLeap(year) {
		return 0, fmt.Errorf("invalid date 'DayOfYear 366' as '%d' is not a leap year", year)
	}
	days := first + yearDay - 1
	_, month, day := Civil(days)
	if r.or(fieldMonth, int64(month)) != int64(month) || r.or(fieldDay, int64(day)) != int64(day) {
		return 0, errors.New("conflict between the day of the year and the date")
	}
	return days, nil
}

// clock is the time of the day in µs; an hour of twelve is one of the morning.
func (r *parsed) clock() int64 {
	hour, ok := r.get(fieldHour)
	if !ok {
		hour = r.or(fieldHour12, 12*r.or(fieldAmPm, 0))
	}
	second := hour*3600 + r.or(fieldMinute, 0)*60 + r.or(fieldSecond, 0)
	return second*microsPerSecond + r.or(fieldNano, 0)/1000
}
