package codec

import (
	"github.com/weir-dev/weir/internal/plan"
)

// AppendInterval writes a calendar interval: 1 years 2 months 3 days 4 hours.
func AppendInterval(dst []byte, x plan.Interval) []byte {
	start := len(dst)
	dst = appendUnit(dst, int64(x.Months/12), " years ")
	dst = appendUnit(dst, int64(x.Months%12), " months ")
	dst = appendUnit(dst, int64(x.Days), " days ")
	rest := x.Micros
	dst = appendUnit(dst, rest/microsPerHour, " hours ")
	rest %= microsPerHour
	dst = appendUnit(dst, rest/microsPerMinute, " minutes ")
	rest %= microsPerMinute
	if rest != 0 {
		if rest < 0 {
			dst = append(dst, '-')
			rest = -rest
		}
		dst = appendInt(dst, rest/microsPerSecond)
		dst = appendFraction(dst, rest%microsPerSecond)
		dst = append(dst, " seconds "...)
	}
	if len(dst) == start {
		return append(dst, "0 seconds"...)
	}
	return dst[:len(dst)-1]
}

func appendUnit(dst []byte, n int64, unit string) []byte {
	if n == 0 {
		return dst
	}
	dst = appendInt(dst, n)
	return append(dst, unit...)
}

// AppendDayTime writes a day-time interval of type t in µs:
// INTERVAL '1 02:03:04.5' DAY TO SECOND.
func AppendDayTime(dst []byte, micros int64, t plan.Type) []byte {
	dst = append(dst, "INTERVAL '"...)
	rest := uint64(micros)
	if micros < 0 {
		dst = append(dst, '-')
		rest = -rest
	}
	for f := t.Start; f <= t.End; f++ {
		unit := dayTimeMicros[f-plan.FieldDay]
		n := rest / unit
		rest %= unit
		if f > t.Start {
			dst = append(dst, dayTimeMark[f-plan.FieldDay])
		}
		if f == plan.FieldDay {
			dst = appendPadded(dst, n, 1)
			continue
		}
		dst = appendPadded(dst, n, 2)
		if f == plan.FieldSecond {
			dst = appendFraction(dst, int64(rest))
		}
	}
	return appendFields(dst, t)
}

var (
	dayTimeMicros = [...]uint64{microsPerDay, microsPerHour, microsPerMinute, microsPerSecond}
	dayTimeMark   = [...]byte{0, ' ', ':', ':'}
)

// AppendYearMonth writes a year-month interval of type t in months:
// INTERVAL '1-2' YEAR TO MONTH.
func AppendYearMonth(dst []byte, months int32, t plan.Type) []byte {
	dst = append(dst, "INTERVAL '"...)
	rest := int64(months)
	if rest < 0 {
		dst = append(dst, '-')
		rest = -rest
	}
	switch {
	case t.Start == plan.FieldMonth:
		dst = appendInt(dst, rest)
	case t.End == plan.FieldYear:
		dst = appendInt(dst, rest/12)
	default:
		dst = appendInt(dst, rest/12)
		dst = append(dst, '-')
		dst = appendInt(dst, rest%12)
	}
	return appendFields(dst, t)
}

func appendFields(dst []byte, t plan.Type) []byte {
	dst = append(dst, "' "...)
	dst = append(dst, upperFields[t.Start]...)
	if t.End != t.Start {
		dst = append(dst, " TO "...)
		dst = append(dst, upperFields[t.End]...)
	}
	return dst
}

var upperFields = [...]string{"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"}
