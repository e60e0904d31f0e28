package dml

import (
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// givenBy reports which columns have a setting.
func givenBy(settings []setting) func(name string) bool {
	return func(name string) bool { return len(under(settings, name)) > 0 }
}

// fill gives the columns that compute themselves their values, where a clause gives none:
// generated ones from the other values of the row, in a row that is inserted defaults and
// numbers too. It refuses values that identity columns do not take.
func (t *target) fill(values []plan.Expr, given func(name string) bool, inserts bool) error {
	for i, c := range t.after {
		computed := delta.ComputedOf(c.field)
		has := given(c.field.Name)
		var err error
		switch {
		case computed.Identity != nil:
			err = t.identity(i, computed.Identity, has, inserts)
		case has:
		case computed.Generated != "":
			values[i], err = t.textValue(computed.Generated, values, c.field)
		case computed.Default != "" && inserts:
			values[i], err = t.textValue(computed.Default, values, c.field)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// textValue is an expression of the table's description over the values of a row.
func (t *target) textValue(text string, values []plan.Expr, f plan.Field) (plan.Expr, error) {
	e, err := sql.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	if e, err = t.tables.Value(e, 0); err != nil {
		return nil, err
	}
	e, err = plan.Transform(e, func(e plan.Expr) (plan.Expr, error) {
		if a, ok := e.(*plan.Attribute); ok {
			for i, own := range t.columns {
				if own.ID == a.ID {
					return values[i], nil
				}
			}
		}
		return e, nil
	})
	if err != nil {
		return nil, err
	}
	return t.converted(e, f)
}

// identity notes that the rows of a statement are to be numbered.
func (t *target) identity(at int, id *delta.Identity, given, inserts bool) error {
	name := t.after[at].field.Name
	switch {
	case given && !inserts:
		return Mistake("DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED", "42808",
			fmt.Sprintf("The column %s numbers the rows, and a number stays.", name), "colName", name)
	case given && !id.Explicit:
		return Mistake("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", "42808",
			fmt.Sprintf("The column %s numbers the rows itself (GENERATED ALWAYS AS IDENTITY).", name),
			"colName", name)
	case !inserts:
		return nil
	}
	old, seen := t.numbered[at]
	if seen && (old == nil) != given {
		return plan.Unsupported("MERGE with numbers for the identity column " + name +
			" in some INSERT clauses only")
	}
	if t.numbered == nil {
		t.numbered = map[int]*delta.Identity{}
	}
	if t.numbered[at] = id; given {
		t.numbered[at] = nil
	}
	return nil
}

// numbering gives rows that are inserted, which are their fate and the table's columns,
// the next numbers of identity columns; last are the last ones.
func (t *target) numbering(rows chunk.Rows, last map[int]int64) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if err == nil && c.Rows > 0 {
				numbered := *c
				numbered.Cols = slices.Clone(c.Cols)
				t.number(&numbered, last)
				c = &numbered
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func (t *target) number(c *chunk.Chunk, last map[int]int64) {
	for at, id := range t.numbered {
		if id == nil {
			continue
		}
		v := chunk.Make(plan.Long, c.Rows)
		for i, f := range chunk.Values[int32](c.Cols[0]) {
			if fate(f) == inserted {
				chunk.Values[int64](v)[i] = id.Next
				last[at] = id.Next
				id.Next += id.Step
			}
		}
		c.Cols[1+at] = v
	}
}
