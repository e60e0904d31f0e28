package avro

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

func decOf(b [16]byte) chunk.Dec {
	return decimal128.New(int64(binary.BigEndian.Uint64(b[:8])), binary.BigEndian.Uint64(b[8:]))
}

// Rebase is what becomes of old dates: until 1582 they may be of the Julian
// calendar, which Spark 2 and Hive wrote.
type Rebase string

// The ways to read old dates.
const (
	RebaseNone   Rebase = "CORRECTED" // they are what they say
	RebaseJulian Rebase = "LEGACY"    // they are Julian
	RebaseError  Rebase = "EXCEPTION" // nobody knows: refuse them
)

const (
	firstGregorian = -141_427               // 1582-10-15
	year1900       = -2_208_988_800_000_000 // in microseconds
	microsPerDay   = 86_400_000_000
)

// calendar corrects dates, or refuses them.
type calendar struct {
	refuse bool
	zone   *time.Location
}

// calendar is what a file's dates need, nil for nothing. about is the file's
// metadata: what Spark wrote says itself which calendar it is of.
func (o *ReadOptions) calendar(about map[string][]byte) (*calendar, error) {
	mode := o.Rebase
	if version, ok := about["org.apache.spark.version"]; ok {
		mode = RebaseNone
		if _, legacy := about["org.apache.spark.legacyDateTime"]; legacy ||
			strings.Compare(string(version), "3") < 0 {
			mode = RebaseJulian
		}
	}
	switch mode {
	case "", RebaseNone:
		return nil, nil
	case RebaseJulian, RebaseError:
	default:
		return nil, &plan.Error{Class: "java.util.NoSuchElementException", Msg: fmt.Sprintf(
			"The option datetimeRebaseMode is %q; it may be CORRECTED, LEGACY or EXCEPTION.", string(mode))}
	}
	c := &calendar{refuse: mode == RebaseError, zone: o.Zone}
	if name, ok := about["org.apache.spark.timeZone"]; ok {
		if zone, err := time.LoadLocation(string(name)); err == nil {
			c.zone = zone
		}
	}
	if c.zone == nil {
		c.zone = time.UTC
	}
	return c, nil
}

func ancient() error {
	return plan.NewError(plan.ClassUpgrade, "INCONSISTENT_BEHAVIOR_CROSS_VERSION.READ_ANCIENT_DATETIME",
		"The Avro file has dates before 1582-10-15 or timestamps before 1900, and does not say of which calendar "+
			"they are. Set the option datetimeRebaseMode to LEGACY when Spark 2 or Hive wrote them, "+
			"else to CORRECTED.",
		"format", "Avro", "config", `"spark.sql.avro.datetimeRebaseModeInRead"`, "option", `"datetimeRebaseMode"`)
}

func (k *calendar) day(c *cursor, days int32) int32 {
	if days >= firstGregorian {
		return days
	}
	if k.refuse {
		c.fail(ancient())
		return days
	}
	return int32(gregorian(int64(days)))
}

func (k *calendar) micros(c *cursor, micros int64) int64 {
	switch {
	case micros >= year1900:
		return micros
	case k.refuse:
		c.fail(ancient())
		return micros
	}
	_, seconds := time.UnixMicro(micros).In(k.zone).Zone()
	local := micros + int64(seconds)*1_000_000
	day := local / microsPerDay
	if local%microsPerDay < 0 {
		day--
	}
	if day >= firstGregorian {
		return micros
	}
	return micros + (gregorian(day)-day)*microsPerDay
}

// gregorian is the day that the Gregorian calendar writes as the Julian calendar
// writes the given one, as days since 1970.
func gregorian(days int64) int64 {
	// Julian years of 1461 days in four begin on 1 March here, counted from year 0.
	const march = 719_470 // days from 1 March of the Julian year 0 to 1970-01-01
	n := days + march
	cycle := floor(n, 1461)
	left := n - cycle*1461
	year := min(left/365, 3)
	yearDay := left - year*365
	month := (5*yearDay + 2) / 153
	day := yearDay - (153*month+2)/5 + 1
	y := cycle*4 + year
	return time.Date(int(y), time.Month(month+3), int(day), 0, 0, 0, 0, time.UTC).Unix() / 86400
}

func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
