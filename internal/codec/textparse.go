package codec

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// ParseDate reads a date as Spark casts it: [+-]yyyy[yyy][-[m]m[-[d]d]], with
// anything behind a blank or a T after a whole date.
func ParseDate(text string) (int32, bool) {
	s := trimBlank(text)
	if s == "" {
		return 0, false
	}
	sign := 1
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	parts := [3]int{1, 1, 1}
	part, value, digits, j := 0, 0, 0, 0
	for ; j < len(s) && s[j] != ' ' && s[j] != 'T'; j++ {
		if part < 2 && s[j] == '-' {
			if !dateDigits(part, digits) {
				return 0, false
			}
			parts[part] = value
			part, value, digits = part+1, 0, 0
			continue
		}
		c := s[j] - '0'
		if c > 9 || digits == 7 {
			return 0, false
		}
		value = value*10 + int(c)
		digits++
	}
	if !dateDigits(part, digits) || part < 2 && j < len(s) {
		return 0, false
	}
	parts[part] = value
	days, ok := Days(sign*parts[0], parts[1], parts[2])
	return int32(days), ok && days == int64(int32(days))
}

func dateDigits(part, digits int) bool {
	if part == 0 {
		return digits >= 4 && digits <= 7
	}
	return digits > 0 && digits <= 2
}

// ParseTimestamp reads a timestamp as Spark casts it, such as
// 2024-1-2 3:4:5.6+01:00; zone is that of texts that name none. A time without
// a date, as 3:04 and T3:04, is one of the day of now, in µs since 1970.
func ParseTimestamp(text string, zone *Offsets, now int64) (int64, bool) {
	if micros, ok := parsePlainTimestamp(text, zone); ok {
		return micros, true
	}
	var s stamp
	if !s.scan(text) {
		return 0, false
	}
	if s.zoneID != "" {
		if zone = zone.named(s.zoneID); zone == nil {
			return 0, false
		}
	}
	days := floorDiv(zone.Local(now), microsPerDay)
	if !s.timeOnly {
		var ok bool
		if days, ok = s.days(); !ok {
			return 0, false
		}
	}
	clock, ok := s.clock()
	if !ok {
		return 0, false
	}
	second := days*secondsPerDay + clock/microsPerSecond
	return toMicros(zone.instant(second), clock%microsPerSecond)
}

// parsePlainTimestamp reads the usual form yyyy-MM-ddTHH:mm:ss[.f…][Z] of a
// valid time, with a T or a blank, and says false to anything else.
func parsePlainTimestamp(s string, zone *Offsets) (int64, bool) {
	local, ok := plainSecond(s)
	if !ok {
		return 0, false
	}
	return withFraction(s, local, zone)
}

// plainSecond is the second, counted as if in UTC, that the first 19 characters
// of a usual text say.
func plainSecond(s string) (int64, bool) {
	if len(s) < 19 || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != ' ' ||
		s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	year := two(s, 0)*100 + two(s, 2)
	month, day := two(s, 5), two(s, 8)
	hour, minute, second := two(s, 11), two(s, 14), two(s, 17)
	days, ok := Days(year, month, day)
	if year < 0 || !ok || uint(hour) > 23 || uint(minute) > 59 || uint(second) > 59 {
		return 0, false
	}
	return days*secondsPerDay + int64(hour*3600+minute*60+second), true
}

// withFraction is a local time in seconds and what follows its text in s: [.f…][Z].
func withFraction(s string, local int64, zone *Offsets) (int64, bool) {
	micros, n := 0, 19
	if len(s) > 19 && s[19] == '.' {
		unit := microsPerSecond
		for n = 20; n < len(s) && s[n]-'0' <= 9; n++ {
			if unit > 1 { // digits beyond six are cut off
				micros, unit = micros*10+int(s[n]-'0'), unit/10
			}
		}
		micros *= unit
	}
	switch {
	case n == len(s):
		local = zone.instant(local)
	case n+1 != len(s) || s[n] != 'Z':
		return 0, false
	}
	return local*microsPerSecond + int64(micros), true
}

// minuteParser is parsePlainTimestamp that remembers the last minute it read:
// times of a stream are mostly of the same one.
type minuteParser struct {
	date, clock uint64 // its text, yyyy-MM-ddTHH:mm; 0 before the first
	local       int64  // the second it begins with
}

func (p *minuteParser) parse(s string, zone *Offsets) (int64, bool) {
	if len(s) < 19 || s[16] != ':' {
		return 0, false
	}
	b := unsafe.Slice(unsafe.StringData(s), 16)
	date, clock := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	second := int64(two(s, 17))
	if date != p.date || clock != p.clock || uint64(second) > 59 {
		local, ok := plainSecond(s)
		if !ok {
			return 0, false
		}
		p.date, p.clock, p.local = date, clock, local-second
	}
	return withFraction(s, p.local+second, zone)
}

// two is the number of two digits at i, very negative when they are none.
func two(s string, i int) int {
	a, b := s[i]-'0', s[i+1]-'0'
	if a > 9 || b > 9 {
		return -1 << 20
	}
	return int(a)*10 + int(b)
}

// toMicros is an instant in µs, unless that overflows.
func toMicros(second, micros int64) (int64, bool) {
	if second < 0 && micros > 0 {
		// From above, so that the least int64 can be reached.
		second++
		micros -= microsPerSecond
	}
	hi, lo := bits.Mul64(uint64(max(second, -second)), microsPerSecond)
	x := int64(lo)
	if second < 0 {
		x = -x
	}
	sum := x + micros
	fits := hi == 0 && (lo < 1<<63 || lo == 1<<63 && second < 0) && (sum >= x) == (micros >= 0)
	return sum, fits
}

// ParseTimestampNTZ reads a timestamp without a time zone. A zone in the text
// is ignored, or an error without allowZone.
func ParseTimestampNTZ(text string, allowZone bool) (int64, bool) {
	var s stamp
	if !s.scan(text) || s.timeOnly {
		return 0, false
	}
	if s.zoneID != "" {
		if _, err := Zone(trimJava(s.zoneID)); err != nil || !allowZone {
			return 0, false
		}
	}
	days, ok := s.days()
	clock, ok2 := s.clock()
	micros, ok3 := toMicros(days*secondsPerDay+clock/microsPerSecond, clock%microsPerSecond)
	return micros, ok && ok2 && ok3
}

// stamp is a timestamp text taken apart: year, month, day, hour, minute,
// second, µs.
type stamp struct {
	parts    [7]int
	zoneID   string
	timeOnly bool
}

func (s *stamp) days() (int64, bool) { return Days(s.parts[0], s.parts[1], s.parts[2]) }

func (s *stamp) clock() (int64, bool) {
	h, m, sec := s.parts[3], s.parts[4], s.parts[5]
	micros := (int64(h)*3600+int64(m)*60+int64(sec))*microsPerSecond + int64(s.parts[6])
	return micros, h < 24 && m < 60 && sec < 60
}

// stampDigits reports whether a part may have that many digits. Digits of the
// fraction beyond six are cut off.
func stampDigits(part, digits int) bool {
	switch part {
	case 0:
		return digits >= 4 && digits <= 6
	case 6:
		return true
	default:
		return digits > 0 && digits <= 2
	}
}

func (s *stamp) scan(text string) bool {
	t := trimBlank(text)
	s.parts = [7]int{1, 1, 1}
	if t == "" {
		return false
	}
	signed, sign := t[0] == '-' || t[0] == '+', 1
	if signed {
		if t[0] == '-' {
			sign = -1
		}
		t = t[1:]
	}
	part, value, digits := 0, 0, 0
	for j := 0; j < len(t); j++ {
		c := t[j]
		if d := c - '0'; d <= 9 {
			if digits < 6 {
				value = value*10 + int(d)
			} else if part != 6 {
				return false
			}
			digits++
			continue
		}
		if j == 0 && c == 'T' && !signed {
			s.timeOnly = true
			part = 3
			continue
		}
		if part == 0 && c == ':' && !signed {
			s.timeOnly = true
			part = 3
		}
		if !stampDigits(part, digits) {
			return false
		}
		next, ok := afterPart(part, c)
		if !ok {
			return false
		}
		s.parts[part] = s.fraction(part, value, digits)
		part, value, digits = next, 0, 0
		if next == zonePart {
			s.zoneID = t[j:]
			break
		}
	}
	if part != zonePart {
		if !stampDigits(part, digits) {
			return false
		}
		s.parts[part] = s.fraction(part, value, digits)
	}
	s.parts[0] *= sign
	return true
}

const zonePart = 7

// afterPart is the part that follows one which ends with c. After the seconds
// anything but a point begins the zone.
func afterPart(part int, c byte) (int, bool) {
	switch {
	case part < 2:
		return part + 1, c == '-'
	case part == 2:
		return 3, c == ' ' || c == 'T'
	case part < 5:
		return part + 1, c == ':'
	case part == 5 && c == '.':
		return 6, true
	default:
		return zonePart, true
	}
}

// fraction scales the digits of a second's fraction to µs.
func (s *stamp) fraction(part, value, digits int) int {
	if part != 6 {
		return value
	}
	for ; digits < 6; digits++ {
		value *= 10
	}
	return value
}
