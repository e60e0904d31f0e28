package delta

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// noValue is what partition directories are called whose value is NULL.
const noValue = "__HIVE_DEFAULT_PARTITION__"

// partText is a partition value as the log has it: nil for NULL, the empty
// string and Hive's name for no value, timestamps in UTC.
func partText(v *chunk.Vector, row int) *string {
	if v.IsNull(row) {
		return nil
	}
	var text string
	switch v.Type.Kind {
	case plan.KindTimestamp:
		text = isoMicros(chunk.Values[int64](v)[row]) + "Z"
	case plan.KindBinary:
		text = string(v.Bytes(row))
	default:
		style := codec.TextStyle{Zone: codec.NewOffsets(time.UTC)}
		text = string(style.AppendValue(nil, v, row))
	}
	if text == "" || text == noValue {
		return nil
	}
	return &text
}

// isoMicros is 2024-01-01T00:00:00.500000.
func isoMicros(micros int64) string {
	return string(codec.AppendDate(nil, int32(floorDiv(micros, 86_400_000_000)))) + "T" + clock(micros, 6)
}

func clock(micros int64, digits int) string {
	in := micros - floorDiv(micros, 86_400_000_000)*86_400_000_000
	second := in / 1_000_000
	text := fmt.Sprintf("%02d:%02d:%02d.%06d", second/3600, second/60%60, second%60, in%1_000_000)
	return text[:len(text)-6+digits]
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// partValue is a partition value of the log as a column of one row.
func partValue(text *string, f plan.Field) (*chunk.Vector, error) {
	v := chunk.New(f.Type, 1)
	if text == nil || *text == "" {
		v.AppendNull()
		return v, nil
	}
	x, ok := parsePart(*text, f.Type)
	if !ok {
		return nil, fmt.Errorf("the value %q of partition column %s is no %s", *text, f.Name, f.Type.Simple())
	}
	v.AppendValue(x)
	return v, nil
}

func parsePart(text string, t plan.Type) (plan.Value, bool) {
	switch t.Kind {
	case plan.KindString, plan.KindChar, plan.KindVarChar:
		return text, true
	case plan.KindBinary:
		return []byte(text), true
	case plan.KindBoolean:
		b, err := strconv.ParseBool(strings.ToLower(text))
		return b, err == nil
	case plan.KindByte, plan.KindShort, plan.KindInt, plan.KindLong:
		n, err := strconv.ParseInt(text, 10, 8*chunk.Width(t))
		return n, err == nil
	case plan.KindFloat:
		return second(codec.ParseFloat(text))
	case plan.KindDouble:
		return second(codec.ParseDouble(text))
	case plan.KindDecimal:
		d, fault := codec.ParseDecimal(text, t)
		return d, fault == 0
	case plan.KindDate:
		return second(codec.ParseDate(text))
	case plan.KindTimestamp:
		return second(codec.ParseTimestamp(text, codec.NewOffsets(time.UTC), 0))
	case plan.KindTimestampNTZ:
		return second(codec.ParseTimestampNTZ(text, false))
	}
	return nil, false
}

func second[T any](x T, ok bool) (plan.Value, bool) { return x, ok }

const hexDigits = "0123456789ABCDEF"

// unsafePart are the characters that Hive cannot have in a directory name.
const unsafePart = "\"#%'*/:=?\\{[]^\x7f"

// escapePart is a name or value as a directory name.
func escapePart(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || strings.IndexByte(unsafePart, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
