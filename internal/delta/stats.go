package delta

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// maxStatColumns is how many columns have statistics, as in Delta.
const maxStatColumns = 32

// statsText is the statistics of a file as JSON: its rows and for the first
// columns the number of NULLs, least and greatest value.
func statsText(schema plan.Type, s codec.ParquetSummary) string {
	var low, high, nulls []string
	for i, f := range schema.Fields[:min(len(schema.Fields), maxStatColumns)] {
		name := plan.JSONText(f.Name) + ":"
		c := s.Columns[i]
		if x, ok := statValue(c.Min, f.Type); ok {
			low = append(low, name+x)
		}
		if x, ok := statValue(c.Max, f.Type); ok {
			high = append(high, name+x)
		}
		if f.Type.Kind != plan.KindStruct {
			nulls = append(nulls, name+strconv.FormatInt(c.Nulls, 10))
		}
	}
	return fmt.Sprintf(`{"numRecords":%d,"minValues":{%s},"maxValues":{%s},"nullCount":{%s}}`,
		s.Rows, strings.Join(low, ","), strings.Join(high, ","), strings.Join(nulls, ","))
}

// statValue is a least or greatest value as JSON; false when there is none.
// Timestamps have milliseconds, as readers expect, unless that would cut them.
func statValue(x plan.Value, t plan.Type) (string, bool) {
	switch x := x.(type) {
	case string:
		return plan.JSONText(x), utf8.ValidString(x)
	case int64:
		if t.IsIntegral() {
			return strconv.FormatInt(x, 10), true
		}
		text := isoMicros(x)
		if x%1000 == 0 {
			text = text[:len(text)-3]
		}
		if t.Kind == plan.KindTimestamp {
			text += "Z"
		}
		return `"` + text + `"`, true
	case int32:
		return `"` + string(codec.AppendDate(nil, x)) + `"`, true
	case float32:
		return string(codec.AppendFloat(nil, x)), true
	case float64:
		return string(codec.AppendDouble(nil, x)), true
	case chunk.Dec:
		return string(codec.AppendDecimal(nil, x, t.Scale)), true
	}
	return "", false
}

// NumRecords is the number of rows that a file's statistics tell, less those that
// a deletion vector takes.
func (a *Add) NumRecords() (int64, bool) {
	var s struct {
		NumRecords *int64 `json:"numRecords"`
	}
	if a.Stats == "" || json.Unmarshal([]byte(a.Stats), &s) != nil || s.NumRecords == nil {
		return 0, false
	}
	if a.DeletionVector != nil {
		return *s.NumRecords - a.DeletionVector.Cardinality, true
	}
	return *s.NumRecords, true
}
