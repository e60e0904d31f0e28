package codec

import (
	"cmp"
	"math"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// maxStatText is how many characters of a string's minimum and maximum are
// kept, as in Delta.
const maxStatText = 32

// ParquetSummary is what a written file holds.
type ParquetSummary struct {
	Rows    int64
	Columns []ColumnSummary // in the order of the schema
}

// ColumnSummary is the range of one top-level column. Min and Max are nil when
// the column has no value or no order that readers agree on; Max of a long
// string is rounded up.
type ColumnSummary struct {
	Nulls    int64
	Min, Max plan.Value
}

// columnStats gathers a summary, one chunk at a time.
type columnStats struct {
	nulls int64
	low   plan.Value
	high  plan.Value
	scan  func(s *columnStats, v *chunk.Vector)
}

func newColumnStats(t plan.Type) *columnStats {
	s := &columnStats{}
	switch t.Kind {
	case plan.KindByte:
		s.scan = rangeOf[int8]
	case plan.KindShort:
		s.scan = rangeOf[int16]
	case plan.KindInt, plan.KindDate:
		s.scan = rangeOf[int32]
	case plan.KindLong, plan.KindTimestamp, plan.KindTimestampNTZ:
		s.scan = rangeOf[int64]
	case plan.KindFloat:
		s.scan = rangeOf[float32]
	case plan.KindDouble:
		s.scan = rangeOf[float64]
	case plan.KindDecimal:
		s.scan = rangeOfDecimals
	case plan.KindString, plan.KindChar, plan.KindVarChar:
		s.scan = rangeOfText
	}
	return s
}

func (s *columnStats) add(v *chunk.Vector) {
	s.nulls += int64(v.Nulls())
	if s.scan != nil {
		s.scan(s, v)
	}
}

// rangeOf widens the range by the values of a chunk. NaN has no place in an
// order that all readers share, so a column that holds one has no range.
func rangeOf[T int8 | int16 | int32 | int64 | float32 | float64](s *columnStats, v *chunk.Vector) {
	low, high, any := *new(T), *new(T), false
	for i, x := range chunk.Values[T](v) {
		if v.IsNull(i) {
			continue
		}
		if x != x {
			s.low, s.high, s.scan = nil, nil, nil
			return
		}
		if !any {
			low, high, any = x, x, true
		}
		low, high = min(low, x), max(high, x)
	}
	if !any {
		return
	}
	widen(s, boxNumber(low, v.Type), boxNumber(high, v.Type))
}

// boxNumber is a number in plan.Value's form.
func boxNumber[T int8 | int16 | int32 | int64 | float32 | float64](x T, t plan.Type) plan.Value {
	switch t.Kind {
	case plan.KindFloat:
		return float32(x)
	case plan.KindDouble:
		return float64(x)
	case plan.KindDate:
		return int32(x)
	default:
		return int64(x)
	}
}

// widen takes a chunk's own range into the column's.
func widen(s *columnStats, low, high plan.Value) {
	if s.low == nil || compareValues(low, s.low) < 0 {
		s.low = low
	}
	if s.high == nil || compareValues(high, s.high) > 0 {
		s.high = high
	}
}

func compareValues(a, b plan.Value) int {
	switch x := a.(type) {
	case int64:
		return cmp.Compare(x, b.(int64))
	case int32:
		return cmp.Compare(x, b.(int32))
	case float32:
		return cmp.Compare(x, b.(float32))
	case float64:
		return cmp.Compare(x, b.(float64))
	case chunk.Dec:
		return x.Cmp(b.(chunk.Dec))
	default:
		return cmp.Compare(x.(string), b.(string))
	}
}

func rangeOfDecimals(s *columnStats, v *chunk.Vector) {
	for i, x := range chunk.Values[chunk.Dec](v) {
		if v.IsNull(i) {
			continue
		}
		if s.low == nil || x.Less(s.low.(chunk.Dec)) {
			s.low = x
		}
		if s.high == nil || s.high.(chunk.Dec).Less(x) {
			s.high = x
		}
	}
}

func rangeOfText(s *columnStats, v *chunk.Vector) {
	low, high := -1, -1
	for i := range v.Len {
		if v.IsNull(i) {
			continue
		}
		if low < 0 || v.Text(i) < v.Text(low) {
			low = i
		}
		if high < 0 || v.Text(i) > v.Text(high) {
			high = i
		}
	}
	if low >= 0 {
		widen(s, string(v.Bytes(low)), string(v.Bytes(high)))
	}
}

func (s *columnStats) summary() ColumnSummary {
	c := ColumnSummary{Nulls: s.nulls, Min: s.low, Max: s.high}
	if low, ok := s.low.(string); ok {
		c.Min = firstCharacters(low, maxStatText)
	}
	if high, ok := s.high.(string); ok {
		c.Max = roundUp(high, maxStatText)
	}
	if infinite(c.Min) || infinite(c.Max) {
		c.Min, c.Max = nil, nil
	}
	return c
}

// infinite values cannot stand in JSON statistics.
func infinite(v plan.Value) bool {
	switch x := v.(type) {
	case float32:
		return math.IsInf(float64(x), 0)
	case float64:
		return math.IsInf(x, 0)
	default:
		return false
	}
}

func firstCharacters(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// roundUp is the first n characters of s and a character above all that may
// follow; nil when there is no such text.
func roundUp(s string, n int) plan.Value {
	head := firstCharacters(s, n)
	if len(head) == len(s) {
		return s
	}
	if !utf8.ValidString(head) {
		return nil
	}
	return head + string(rune(utf8.MaxRune))
}
