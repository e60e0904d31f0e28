package connector

import (
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// ColumnsOf are the places of a scan's columns in its relation's schema.
func ColumnsOf(s *plan.Scan) ([]int, error) {
	columns := make([]int, len(s.Attrs))
	for i, a := range s.Attrs {
		columns[i] = FieldIndex(s.Relation.Schema, a.Name)
		if columns[i] < 0 {
			return nil, fmt.Errorf("open %s: it has no column %q", s.Relation.Format, a.Name)
		}
	}
	return columns, nil
}

func FieldIndex(schema plan.Type, name string) int {
	for i, f := range schema.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// Drain computes rows and counts them.
func Drain(rows chunk.Rows) (int64, error) {
	count := int64(0)
	for c, err := range rows {
		if err != nil {
			return count, err
		}
		count += int64(c.Rows)
	}
	return count, nil
}
