package delta

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// MayMatch reports whether a file may hold a row for which all conditions are
// true, by the statistics that the log has of it. It errs on the side of yes.
// Conditions are resolved, over columns that are called as the table's.
func (s *Snapshot) MayMatch(f *Add, conditions []plan.Expr) bool {
	if f.Stats == "" || len(conditions) == 0 {
		return true
	}
	stats := fileStats{schema: s.Schema}
	in := json.NewDecoder(strings.NewReader(f.Stats))
	in.UseNumber()
	if in.Decode(&stats.raw) != nil {
		return true
	}
	for _, c := range conditions {
		if !stats.may(c) {
			return false
		}
	}
	return true
}

// fileStats are the statistics of one file.
type fileStats struct {
	schema plan.Type
	raw    struct {
		NumRecords *int64         `json:"numRecords"`
		Min        map[string]any `json:"minValues"`
		Max        map[string]any `json:"maxValues"`
		Nulls      map[string]any `json:"nullCount"`
	}
}

// may reports whether a condition may be true for a row of the file.
func (s *fileStats) may(e plan.Expr) bool {
	if l, ok := e.(*plan.Literal); ok {
		return l.Value == true
	}
	call, ok := e.(*plan.Call)
	if !ok {
		return true
	}
	switch call.Name {
	case "and":
		return s.may(call.Args[0]) && s.may(call.Args[1])
	case "or":
		return s.may(call.Args[0]) || s.may(call.Args[1])
	case "isnull":
		n, ok := s.nulls(column(call.Args[0]))
		return !ok || n > 0
	case "isnotnull":
		return !s.allNull(column(call.Args[0]))
	case "in":
		for _, x := range call.Args[1:] {
			if s.mayCompare("=", call.Args[0], x) {
				return true
			}
		}
		return false
	}
	if _, ok := mirrored[call.Name]; ok && len(call.Args) == 2 {
		if column(call.Args[0]) == nil {
			return s.mayCompare(mirrored[call.Name], call.Args[1], call.Args[0])
		}
		return s.mayCompare(call.Name, call.Args[0], call.Args[1])
	}
	return true
}

// mirrored are the comparisons with their sides swapped.
var mirrored = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// column is the column that an expression is, nil when it is another one.
func column(e plan.Expr) *plan.Attribute {
	a, _ := e.(*plan.Attribute)
	return a
}

// mayCompare reports whether a value of a column may compare so with a constant.
func (s *fileStats) mayCompare(op string, side, constant plan.Expr) bool {
	a := column(side)
	l, ok := constant.(*plan.Literal)
	if a == nil || !ok || !l.Of.Unbounded().EqualIgnoringNull(a.Of.Unbounded()) {
		return true
	}
	if l.Value == nil || s.allNull(a) {
		return false
	}
	low, hasLow := s.bound(s.raw.Min, a)
	high, hasHigh := s.bound(s.raw.Max, a)
	if n, ok := high.(int64); ok && (a.Of.Kind == plan.KindTimestamp || a.Of.Kind == plan.KindTimestampNTZ) {
		high = n + 999 // Delta cuts timestamps to milliseconds
	}
	// What has no bound may be anything.
	least, greatest := -1, 1
	if c, ok := order(low, l.Value); ok && hasLow {
		least = c
	}
	if c, ok := order(high, l.Value); ok && hasHigh {
		greatest = c
	}
	switch op {
	case "=":
		return least <= 0 && greatest >= 0
	case "<":
		return least < 0
	case "<=":
		return least <= 0
	case ">":
		return greatest > 0
	default:
		return greatest >= 0
	}
}

func (s *fileStats) allNull(a *plan.Attribute) bool {
	n, ok := s.nulls(a)
	return ok && s.raw.NumRecords != nil && n >= *s.raw.NumRecords
}

// nulls is how often a column is NULL.
func (s *fileStats) nulls(a *plan.Attribute) (int64, bool) {
	if a == nil {
		return 0, false
	}
	x, ok := s.raw.Nulls[s.spelled(a)].(json.Number)
	if !ok {
		return 0, false
	}
	n, err := x.Int64()
	return n, err == nil
}

// spelled is the name of a column as the log has it.
func (s *fileStats) spelled(a *plan.Attribute) string {
	if at := columnIndex(s.schema, a.Name); at >= 0 {
		return physicalName(s.schema.Fields[at])
	}
	return a.Name
}

// bound is the least or greatest value of a column. Floating-point numbers have
// none: NaN is greater than all others, and writers do not agree on it. Nor have
// CHAR columns, whose texts are padded when they are read.
func (s *fileStats) bound(of map[string]any, a *plan.Attribute) (plan.Value, bool) {
	t := a.Of.Unbounded()
	_, padded := a.CharLength()
	if t.Kind == plan.KindFloat || t.Kind == plan.KindDouble || padded || t.Collation != "" {
		return nil, false
	}
	switch x := of[s.spelled(a)].(type) {
	case json.Number:
		return parsePart(x.String(), t)
	case string:
		return parsePart(x, t)
	}
	return nil, false
}

// order compares two values of a type.
func order(a, b plan.Value) (int, bool) {
	switch x := a.(type) {
	case int64:
		y, ok := b.(int64)
		return cmp.Compare(x, y), ok
	case int32:
		y, ok := b.(int32)
		return cmp.Compare(x, y), ok
	case string:
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	case chunk.Dec:
		y, ok := b.(chunk.Dec)
		return x.Cmp(y), ok
	}
	return 0, false
}
