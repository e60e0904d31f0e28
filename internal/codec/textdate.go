package codec

// Units of time in microseconds.
const (
	microsPerSecond = 1_000_000
	microsPerMinute = 60 * microsPerSecond
	microsPerHour   = 60 * microsPerMinute
	microsPerDay    = 24 * microsPerHour
	secondsPerDay   = 86_400
)

// Civil is the date of a day since 1970 in the proleptic Gregorian calendar.
func Civil(days int64) (year, month, day int) {
	// Years start in March here, so that the leap day is the last of its year;
	// an era is 400 years.
	z := days + 719_468
	era := floorDiv(z, 146_097)
	doe := z - era*146_097
	yoe := (doe - doe/1_460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	year = int(yoe + era*400)
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// Days is the day since 1970 of a date, and whether the date exists.
func Days(year, month, day int) (int64, bool) {
	if month < 1 || month > 12 || day < 1 || day > DaysIn(year, month) {
		return 0, false
	}
	y, m := int64(year), int64(month)
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + int64(day) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146_097 + doe - 719_468, true
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// DaysIn is the number of days of a month.
func DaysIn(year, month int) int {
	switch month {
	case 2:
		if isLeap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y < 0 {
		q--
	}
	return q
}

func floorMod(x, y int64) int64 {
	m := x % y
	if m < 0 {
		m += y
	}
	return m
}

// AppendDate writes a date as Spark casts it: 2024-02-29, +10000-01-01 beyond
// four digits, -0001-12-31 before the year zero.
func AppendDate(dst []byte, days int32) []byte {
	year, month, day := Civil(int64(days))
	return appendYMD(dst, year, month, day)
}

func appendYMD(dst []byte, year, month, day int) []byte {
	switch {
	case year < 0:
		dst = append(dst, '-')
		year = -year
	case year > 9999:
		dst = append(dst, '+')
	}
	dst = appendPadded(dst, uint64(year), 4)
	dst = append(dst, '-', byte('0'+month/10), byte('0'+month%10))
	return append(dst, '-', byte('0'+day/10), byte('0'+day%10))
}

// AppendTimestamp writes a timestamp as Spark casts it, in a time zone:
// 2024-02-29 10:11:12.5, the fraction without trailing zeros.
func AppendTimestamp(dst []byte, micros int64, zone *Offsets) []byte {
	second := floorDiv(micros, microsPerSecond)
	return appendStamp(dst, second+zone.At(second), floorMod(micros, microsPerSecond))
}

// AppendTimestampNTZ writes a timestamp without a time zone.
func AppendTimestampNTZ(dst []byte, micros int64) []byte {
	return appendStamp(dst, floorDiv(micros, microsPerSecond), floorMod(micros, microsPerSecond))
}

// appendStamp takes seconds, because the local time of an instant may lie
// beyond what an int64 of µs can hold.
func appendStamp(dst []byte, second, micros int64) []byte {
	days := floorDiv(second, secondsPerDay)
	year, month, day := Civil(days)
	dst = appendYMD(dst, year, month, day)
	dst = append(dst, ' ')
	return appendClock(dst, (second-days*secondsPerDay)*microsPerSecond+micros)
}

// appendClock writes the time of day.
func appendClock(dst []byte, micros int64) []byte {
	seconds := micros / microsPerSecond
	h, m, s := seconds/3600, seconds/60%60, seconds%60
	dst = append(dst, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10),
		':', byte('0'+s/10), byte('0'+s%10))
	return appendFraction(dst, micros%microsPerSecond)
}

// appendFraction writes .5 for 500,000 µs and nothing for 0.
func appendFraction(dst []byte, micros int64) []byte {
	if micros == 0 {
		return dst
	}
	dst = append(dst, '.')
	dst = appendPadded(dst, uint64(micros), 6)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// AppendTime writes a TIME, given in nanoseconds since midnight.
func AppendTime(dst []byte, nanos int64) []byte { return appendClock(dst, nanos/1000) }
