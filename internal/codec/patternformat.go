package codec

import (
	"errors"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// moment is what a pattern prints: a local date and time, and a zone if there
// is one.
type moment struct {
	second  int64 // local, since 1970
	nano    int
	offset  int
	zone    *Offsets // nil without a zone
	instant int64    // seconds since 1970, when there is a zone
	hasTime bool
	values  [fieldCount]int64
}

func (m *moment) fill() {
	days := floorDiv(m.second, secondsPerDay)
	year, month, day := Civil(days)
	first, _ := Days(year, 1, 1)
	v := &m.values
	v[fieldYear], v[fieldMonth], v[fieldDay] = int64(year), int64(month), int64(day)
	v[fieldEra], v[fieldYearOfEra] = 1, int64(year)
	if year < 1 {
		v[fieldEra], v[fieldYearOfEra] = 0, int64(1-year)
	}
	v[fieldQuarter] = int64(month+2) / 3
	v[fieldDayOfYear] = days - first + 1
	v[fieldWeekday] = floorMod(days+3, 7)
	v[fieldDayInMonth] = int64(day-1)%7 + 1
	v[fieldJulian] = days + 40_587
	clock := m.second - days*secondsPerDay
	hour := clock / 3600
	v[fieldHour], v[fieldMinute], v[fieldSecond] = hour, clock/60%60, clock%60
	v[fieldClockHour] = (hour+23)%24 + 1
	v[fieldHour12], v[fieldClockHour12] = hour%12, (hour+11)%12+1
	v[fieldAmPm] = hour / 12
	v[fieldNano] = int64(m.nano)
}

// AppendTimestamp prints a timestamp in a time zone.
func (p *Pattern) AppendTimestamp(dst []byte, micros int64, zone *Offsets) ([]byte, error) {
	instant := floorDiv(micros, microsPerSecond)
	m := moment{instant: instant, zone: zone, offset: int(zone.At(instant)), hasTime: true}
	m.second = instant + int64(m.offset)
	m.nano = int(micros-instant*microsPerSecond) * 1000
	m.fill()
	return p.append(dst, &m)
}

// AppendTimestampNTZ prints a timestamp without a time zone; letters of zones
// are an error outside of [ ].
func (p *Pattern) AppendTimestampNTZ(dst []byte, micros int64) ([]byte, error) {
	m := moment{second: floorDiv(micros, microsPerSecond), hasTime: true}
	m.nano = int(micros-m.second*microsPerSecond) * 1000
	m.fill()
	return p.append(dst, &m)
}

// AppendDate prints a date; letters of times are an error outside of [ ].
func (p *Pattern) AppendDate(dst []byte, days int32) ([]byte, error) {
	m := moment{second: int64(days) * secondsPerDay}
	m.fill()
	return p.append(dst, &m)
}

var errNoField = errors.New("the value has no such field")

// unsupportedField is Java's refusal to print what a value does not have.
func (p *Pattern) unsupportedField() error {
	return &plan.Error{
		Class: plan.ClassDateTime,
		Msg:   "The pattern '" + p.text + "' asks for a field that the value does not have.",
	}
}

func (p *Pattern) append(dst []byte, m *moment) ([]byte, error) {
	var starts []int // lengths of dst where open sections began
	var ends []int
	for i := 0; i < len(p.ops); i++ {
		op := &p.ops[i]
		switch op.kind {
		case opStart:
			starts, ends = append(starts, len(dst)), append(ends, op.end)
			continue
		case opEnd:
			starts, ends = starts[:len(starts)-1], ends[:len(ends)-1]
			continue
		}
		out, err := op.append(dst, m)
		if err == nil {
			dst = out
			continue
		}
		if len(starts) == 0 {
			return dst, p.unsupportedField()
		}
		last := len(starts) - 1
		dst, i = dst[:starts[last]], ends[last]-1
		starts, ends = starts[:last], ends[:last]
	}
	return dst, nil
}

func (op *patternOp) append(dst []byte, m *moment) ([]byte, error) {
	if op.field >= fieldAmPm && op.field <= fieldNano && !m.hasTime || op.kind >= opOffset && m.zone == nil {
		return dst, errNoField
	}
	switch op.kind {
	case opLiteral:
		return append(dst, op.text...), nil
	case opNumber:
		return op.appendNumber(dst, m.values[op.field])
	case opReduced:
		v := m.values[op.field]
		return appendPadded(dst, uint64(max(v, -v)%100), 2), nil
	case opText:
		return append(dst, fieldTexts(op.field, op.full)[m.textIndex(op.field)]...), nil
	case opFraction:
		v := uint64(m.nano) / pow10[9-op.max]
		return appendPadded(dst, v, op.max), nil
	case opOffset:
		if m.offset == 0 || m.offset/60 == 0 && len(op.text) < 7 {
			return append(dst, op.zero...), nil
		}
		return appendOffset(dst, m.offset, op.text), nil
	case opGMTOffset:
		return appendGMTOffset(dst, m.offset, op.full), nil
	case opZoneID:
		return append(dst, m.zone.loc.String()...), nil
	default:
		return append(dst, zoneName(m.zone.loc, m.instant, op.full)...), nil
	}
}

func (op *patternOp) appendNumber(dst []byte, v int64) ([]byte, error) {
	if v < 0 {
		dst = append(dst, '-')
		v = -v
	} else if op.sign == signExceedsPad && op.min < 19 && uint64(v) >= pow10[op.min] {
		dst = append(dst, '+')
	}
	if op.min == op.max && uint64(v) >= pow10[op.max] {
		return dst, errNoField
	}
	return appendPadded(dst, uint64(v), op.min), nil
}

// textIndex is the place of a value in its fieldTexts.
func (m *moment) textIndex(f field) int64 {
	if f == fieldMonth || f == fieldQuarter {
		return m.values[f] - 1
	}
	return m.values[f]
}

var (
	monthNames = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September",
		"October", "November", "December"}
	monthShort   = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	dayNames     = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	dayShort     = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	quarterNames = []string{"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"}
	quarterShort = []string{"Q1", "Q2", "Q3", "Q4"}
	eraNames     = []string{"Before Christ", "Anno Domini"}
	eraShort     = []string{"BC", "AD"}
	dayHalves    = []string{"AM", "PM"}
)

func fieldTexts(f field, full bool) []string {
	short, long := dayHalves, dayHalves
	switch f {
	case fieldMonth:
		short, long = monthShort, monthNames
	case fieldWeekday:
		short, long = dayShort, dayNames
	case fieldQuarter:
		short, long = quarterShort, quarterNames
	case fieldEra:
		short, long = eraShort, eraNames
	}
	if full {
		return long
	}
	return short
}

// appendGMTOffset writes GMT+8 or, in full, GMT+08:00.
func appendGMTOffset(dst []byte, seconds int, full bool) []byte {
	dst = append(dst, "GMT"...)
	if seconds == 0 {
		return dst
	}
	if full {
		return appendOffset(dst, seconds, "+HH:MM:ss")
	}
	at := len(dst)
	dst = appendOffset(dst, seconds, "+HH:mm:ss")
	if dst[at+1] == '0' {
		dst = append(dst[:at+1], dst[at+2:]...)
	}
	return dst
}

// zoneTexts are the English names of zones that Go abbreviates, with their
// hours from UTC, because abbreviations repeat. Other zones are printed as
// their offset.
var zoneTexts = map[string]struct {
	name  string
	hours float64
}{
	"UTC":  {"Coordinated Universal Time", 0},
	"GMT":  {"Greenwich Mean Time", 0},
	"PST":  {"Pacific Standard Time", -8},
	"PDT":  {"Pacific Daylight Time", -7},
	"MST":  {"Mountain Standard Time", -7},
	"MDT":  {"Mountain Daylight Time", -6},
	"CST":  {"Central Standard Time", -6},
	"CDT":  {"Central Daylight Time", -5},
	"EST":  {"Eastern Standard Time", -5},
	"EDT":  {"Eastern Daylight Time", -4},
	"CET":  {"Central European Standard Time", 1},
	"CEST": {"Central European Summer Time", 2},
	"EET":  {"Eastern European Standard Time", 2},
	"EEST": {"Eastern European Summer Time", 3},
	"WET":  {"Western European Standard Time", 0},
	"WEST": {"Western European Summer Time", 1},
	"BST":  {"British Summer Time", 1},
	"MSK":  {"Moscow Standard Time", 3},
	"JST":  {"Japan Standard Time", 9},
	"IST":  {"India Standard Time", 5.5},
}

// usualName is the abbreviation of the zone's winter or summer time nowadays,
// which Java prints for all times, and its offset.
func usualName(at time.Time) (string, int) {
	for _, month := range [...]time.Month{time.January, time.July} {
		now := time.Date(2024, month, 1, 0, 0, 0, 0, at.Location())
		if now.IsDST() == at.IsDST() {
			return now.Zone()
		}
	}
	return at.Zone()
}

func zoneName(loc *time.Location, instant int64, full bool) string {
	if id := loc.String(); id == "Z" || id[0] == '+' || id[0] == '-' {
		return id
	}
	at := time.Unix(instant, 0).In(loc)
	name, usual := usualName(at)
	_, offset := at.Zone()
	if full {
		if text, ok := zoneTexts[name]; ok && int(text.hours*3600) == usual {
			return text.name
		}
		return string(appendGMTOffset(nil, offset, true))
	}
	if isLetter(name[0]) {
		return name
	}
	return string(appendGMTOffset(nil, offset, false))
}
