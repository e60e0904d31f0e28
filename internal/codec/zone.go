package codec

import (
	"math"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // zones are the same on machines without a zone database

	"github.com/weir-dev/weir/internal/plan"
)

// shortZones are the abbreviations that Java (ZoneId.SHORT_IDS) and so Spark
// take for one particular zone.
var shortZones = map[string]string{
	"EST": "-05:00", "HST": "-10:00", "MST": "-07:00",
	"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
	"ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
	"CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
	"EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis",
	"IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan",
	"NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
	"PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
}

var (
	oneDigitHour   = regexp.MustCompile(`([+|-])(\d):`)
	oneDigitMinute = regexp.MustCompile(`([+|-]\d\d):(\d)$`)
	regionName     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9~/._+-]+$`)
)

// Zone is the time zone of one of Spark's ids: +01:00, GMT+1, UTC, a short id
// such as PST, a region. Its String is the id as Java prints it.
func Zone(id string) (*time.Location, error) {
	name := id
	if m := oneDigitHour.FindStringSubmatchIndex(id); m != nil {
		name = id[:m[3]] + "0" + id[m[3]:]
	}
	name = oneDigitMinute.ReplaceAllString(name, "$1:0$2")
	if full, ok := shortZones[name]; ok {
		name = full
	}
	if loc, ok := fixedZone(name); ok {
		return loc, nil
	}
	if regionName.MatchString(name) && !hiddenZone(name) {
		if loc, err := time.LoadLocation(name); err == nil {
			return loc, nil
		}
	}
	return nil, plan.NewError(plan.ClassDateTime, "INVALID_TIMEZONE",
		"The time zone "+id+" is not known; give a region such as Europe/Paris or an offset such as +02:00.",
		"timeZone", id)
}

// hiddenZone are names that the zone database holds and Java does not know.
func hiddenZone(name string) bool {
	switch name {
	case "Local", "localtime", "posixrules", "Factory":
		return true
	default:
		return strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
	}
}

// fixedZone is the zone of an id that names an offset.
func fixedZone(id string) (*time.Location, bool) {
	if id == "Z" {
		return time.FixedZone("Z", 0), true
	}
	prefix := ""
	for _, p := range [...]string{"UTC", "GMT", "UT"} {
		if strings.HasPrefix(id, p) {
			prefix = p
			break
		}
	}
	rest := id[len(prefix):]
	if rest == "" {
		if prefix == "UTC" {
			return time.UTC, true
		}
		return time.FixedZone(prefix, 0), prefix != ""
	}
	seconds, ok := parseOffset(rest)
	if !ok {
		return nil, false
	}
	return time.FixedZone(offsetID(prefix, seconds), seconds), true
}

// offsetID is a fixed zone's id in Java's normal form.
func offsetID(prefix string, seconds int) string {
	if seconds == 0 {
		if prefix == "" {
			return "Z"
		}
		return prefix
	}
	return string(appendOffset([]byte(prefix), seconds, "+HH:MM:ss"))
}

// parseOffset reads ±h, ±hh, ±hh:mm, ±hhmm, ±hh:mm:ss and ±hhmmss, at most 18
// hours.
func parseOffset(s string) (seconds int, ok bool) {
	if len(s) < 2 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	digits := s[1:]
	switch len(digits) {
	case 1:
		digits = "0" + digits
	case 5, 8:
		if digits[2] != ':' || len(digits) == 8 && digits[5] != ':' {
			return 0, false
		}
		digits = strings.ReplaceAll(digits, ":", "")
	}
	if len(digits)%2 != 0 || len(digits) > 6 {
		return 0, false
	}
	var parts [3]int
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return 0, false
		}
		parts[i/2] = parts[i/2]*10 + int(c)
	}
	seconds = parts[0]*3600 + parts[1]*60 + parts[2]
	if parts[1] > 59 || parts[2] > 59 || seconds > 18*3600 {
		return 0, false
	}
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// Offsets converts between instants and local times of one zone. It remembers
// the period between two changes of the clock that it met last, so most calls
// are an addition. It belongs to one goroutine.
type Offsets struct {
	loc      *time.Location
	from, to int64 // seconds since 1970: the period [from, to) …
	offset   int64 // … has this offset from UTC, in seconds

	// others are the zones that texts named, so that a column of them finds
	// each once; at most maxNamedZones.
	others map[string]*Offsets
}

const maxNamedZones = 100

// named is the converter of another zone, nil when there is none of that id.
func (o *Offsets) named(id string) *Offsets {
	if other, ok := o.others[id]; ok {
		return other
	}
	var other *Offsets
	if loc, err := Zone(trimJava(id)); err == nil {
		other = NewOffsets(loc)
	}
	if o.others == nil || len(o.others) == maxNamedZones {
		o.others = map[string]*Offsets{}
	}
	o.others[strings.Clone(id)] = other
	return other
}

// NewOffsets makes the converter of a zone.
func NewOffsets(loc *time.Location) *Offsets { return &Offsets{loc: loc} }

// Location is the zone.
func (o *Offsets) Location() *time.Location { return o.loc }

// At is the offset from UTC in seconds at an instant in seconds since 1970.
func (o *Offsets) At(second int64) int64 {
	if second < o.from || second >= o.to {
		o.load(second)
	}
	return o.offset
}

func (o *Offsets) load(second int64) {
	t := time.Unix(second, 0).In(o.loc)
	from, to := t.ZoneBounds()
	_, offset := t.Zone()
	o.from, o.to, o.offset = math.MinInt64, math.MaxInt64, int64(offset)
	if !from.IsZero() {
		o.from = from.Unix()
	}
	if !to.IsZero() {
		o.to = to.Unix()
		// On the last day of a leap year Go's bound lies in the past, because it
		// counts 365 days to the next year; no clock changes on that day.
		if o.to <= second {
			o.to = second + 3600
		}
	}
}

// Local is the wall clock's time at an instant, both in µs since 1970.
func (o *Offsets) Local(micros int64) int64 {
	return micros + o.At(floorDiv(micros, microsPerSecond))*microsPerSecond
}

// widestShift bounds how far a change can move a clock: a day at the date
// line, and some hours.
const widestShift = 30 * 3600

// Instant is the instant of a wall clock's time, both in µs since 1970. As in
// Java, a time that a change of the clock skips moves forward by the width of
// the gap, and of a time that occurs twice the first is taken.
func (o *Offsets) Instant(local int64) int64 {
	second := floorDiv(local, microsPerSecond)
	return local + (o.instant(second)-second)*microsPerSecond
}

// instant is Instant in seconds.
func (o *Offsets) instant(second int64) int64 {
	guess := second - o.offset
	if guess >= o.from && guess < o.to && (o.from == math.MinInt64 || guess-o.from >= widestShift) {
		return guess
	}
	before := o.At(second - widestShift)
	for {
		if second-o.offset < o.from {
			return second - before
		}
		if second-o.offset < o.to {
			return second - o.offset
		}
		before = o.offset
		o.load(o.to)
	}
}
