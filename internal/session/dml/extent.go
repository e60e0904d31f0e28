package dml

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/plan"
)

// extent is between which values those of a column lie.
type extent struct {
	low, high plan.Value // nil while there is none but NULL
	nulls     bool
}

// bounded reports whether the values of a type have an extent.
func bounded(t plan.Type) bool {
	switch t.Kind {
	case plan.KindInt, plan.KindLong, plan.KindDate, plan.KindTimestamp, plan.KindTimestampNTZ:
		return true
	}
	return t.Kind == plan.KindString && t.Collation == ""
}

// add takes in the values of a column.
func (x *extent) add(v *chunk.Vector) {
	x.nulls = x.nulls || v.Nulls() > 0
	switch v.Type.Kind {
	case plan.KindInt:
		values := chunk.Values[int32](v)
		widen(x, v, func(i int) int64 { return int64(values[i]) })
	case plan.KindDate:
		values := chunk.Values[int32](v)
		widen(x, v, func(i int) int32 { return values[i] })
	case plan.KindString:
		if widen(x, v, v.Text); x.low != nil { // the rows go, the bounds stay
			x.low, x.high = strings.Clone(x.low.(string)), strings.Clone(x.high.(string))
		}
	default:
		values := chunk.Values[int64](v)
		widen(x, v, func(i int) int64 { return values[i] })
	}
}

func widen[T cmp.Ordered](x *extent, v *chunk.Vector, at func(int) T) {
	low, seen := x.low.(T)
	high, _ := x.high.(T)
	for i := range v.Len {
		if v.IsNull(i) {
			continue
		}
		switch value := at(i); {
		case !seen:
			low, high, seen = value, value, true
		case value < low:
			low = value
		case value > high:
			high = value
		}
	}
	if seen {
		x.low, x.high = low, high
	}
}

// sourceKey is a column of the table that a MERGE compares with one of the source.
type sourceKey struct {
	column   *plan.Attribute
	source   int // the source's column
	nullSafe bool
}

// keys are the comparisons for equality of the search condition.
func (m *merge) keys() []sourceKey {
	var out []sourceKey
	for _, e := range analyze.Conjuncts(m.on) {
		call, ok := e.(*plan.Call)
		if !ok || call.Name != "=" && call.Name != "<=>" {
			continue
		}
		for i, side := range call.Args {
			column, _ := side.(*plan.Attribute)
			other, _ := call.Args[1-i].(*plan.Attribute)
			if column == nil || other == nil || !bounded(column.Of.Unbounded()) || column.Of.Kind != other.Of.Kind {
				continue
			}
			at := slices.IndexFunc(m.source.columns, func(a *plan.Attribute) bool { return a.ID == other.ID })
			mine := slices.ContainsFunc(m.columns, func(a *plan.Attribute) bool { return a.ID == column.ID })
			if _, padded := column.CharLength(); mine && at >= 0 && !padded {
				out = append(out, sourceKey{column, at, call.Name == "<=>"})
			}
		}
	}
	return out
}

// narrow leaves out the files whose keys are none of the source's, as their statistics
// tell: unless rows without a match matter, nothing happens to them.
func (m *merge) narrow() error {
	keys := m.keys()
	if len(m.bySource) > 0 || len(m.files) == 0 || len(keys) == 0 {
		return nil
	}
	extents := make([]extent, len(keys))
	for c, err := range m.source.rows.Rows() {
		if err != nil {
			return err
		}
		for i, k := range keys {
			extents[i].add(c.Cols[k.source])
		}
	}
	conditions := slices.DeleteFunc(analyze.Conjuncts(m.on), func(e plan.Expr) bool { return !m.readsOnly(e) })
	for i, k := range keys {
		x := &extents[i]
		switch {
		case k.nullSafe && x.nulls:
			continue
		case x.low == nil:
			conditions = append(conditions, plan.Lit(false, plan.Boolean))
			continue
		}
		of := k.column.Of.Unbounded()
		for op, value := range map[string]plan.Value{">=": x.low, "<=": x.high} {
			within, err := m.analyzer.Call(op, k.column, plan.Lit(value, of))
			if err != nil {
				return err
			}
			conditions = append(conditions, within)
		}
	}
	var err error
	if m.files, err = deltatable.Prune(m.Files, m.snapshot, m.columns, conditions); err != nil {
		return err
	}
	m.reads.Files = m.files
	return nil
}
