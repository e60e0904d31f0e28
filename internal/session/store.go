package session

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
)

// assigner casts the columns of a query to those of a table as
// spark.sql.storeAssignmentPolicy says.
type assigner struct {
	table  string // quoted, for errors
	policy string
	casts  bool // a Delta table takes whatever can be cast to its columns
	env    *function.Env
	ids    *plan.IDs
}

func (sc *scope) assigner(id plan.TableID) *assigner {
	return &assigner{
		table: plan.QuoteParts(id.Parts()), policy: strings.ToUpper(sc.conf.Value(settings.AssignmentKey)),
		env: sc.eval, ids: sc.session.engine.ids,
	}
}

// column is e as the column f of the table.
func (a *assigner) column(e plan.Expr, f plan.Field) (plan.Expr, error) {
	from, to := e.Type(), f.Type.Unbounded()
	mode := plan.CastANSI
	if a.policy == "LEGACY" {
		mode = plan.CastLegacy
	}
	if a.casts && a.policy != "STRICT" && to.IsAtomic() {
		c := &plan.Cast{Child: e, To: to, Mode: mode}
		err := function.CheckCast(c, a.env)
		var refused *plan.Error
		if errors.As(err, &refused) {
			refused.Args["sqlExpr"] = strconv.Quote(plan.SQLText(e))
		}
		if err != nil && from.Kind != plan.KindNull {
			return nil, err
		}
	} else if !a.allowed(from, to) {
		return nil, plan.AnalysisError("INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
			fmt.Sprintf("the column %s of %s holds %s, and %s is not stored as one.",
				plan.Quote(f.Name), a.table, to.SQL(), from.SQL()),
			"tableName", a.table, "colName", plan.Quote(f.Name),
			"srcType", strconv.Quote(from.SQL()), "targetType", strconv.Quote(to.SQL()))
	}
	if !from.EqualIgnoringNull(to) {
		e = &plan.Cast{Child: e, To: to, Mode: mode}
	}
	return &plan.Alias{Child: e, Names: []string{f.Name}, ID: a.ids.Next()}, nil
}

func (a *assigner) allowed(from, to plan.Type) bool {
	switch a.policy {
	case "LEGACY":
		return function.CanCast(from, to, plan.CastLegacy)
	case "STRICT":
		return from.EqualIgnoringNull(to) || plan.CanUpCast(from, to)
	default:
		return storable(from, to)
	}
}

// storable is Spark's rule of the policy ANSI: what an insert may cast.
func storable(from, to plan.Type) bool {
	timed := func(t plan.Type) bool {
		return t.Kind == plan.KindDate || t.Kind == plan.KindTimestamp || t.Kind == plan.KindTimestampNTZ
	}
	switch {
	case from.EqualIgnoringNull(to), from.Kind == plan.KindNull, from.IsNumeric() && to.IsNumeric():
		return true
	case to.IsString():
		return from.IsAtomic()
	case timed(from) && timed(to):
		return true
	case from.Kind == plan.KindArray && to.Kind == plan.KindArray:
		return storable(*from.Elem, *to.Elem) && (to.ContainsNull || !from.ContainsNull)
	case from.Kind == plan.KindMap && to.Kind == plan.KindMap:
		return storable(*from.Key, *to.Key) && storable(*from.Elem, *to.Elem)
	case from.Kind == plan.KindStruct && to.Kind == plan.KindStruct:
		return storableFields(from.Fields, to.Fields)
	default:
		return plan.CanUpCast(from, to)
	}
}

func storableFields(from, to []plan.Field) bool {
	if len(from) != len(to) {
		return false
	}
	for i, f := range from {
		if !strings.EqualFold(f.Name, to[i].Name) || !storable(f.Type, to[i].Type) {
			return false
		}
	}
	return true
}

// checked is rows on their way into a table: an overflow names the column.
func checked(rows chunk.Rows, schema plan.Type) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if err != nil {
				yield(nil, overflow(err, schema))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// fitted is rows whose texts are as long as the CHAR and VARCHAR of a table say.
func fitted(rows chunk.Rows, schema plan.Type) chunk.Rows {
	if !schema.Bounded() {
		return rows
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if err == nil {
				c, err = lengthen(c, schema)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// overflow tells which column a value was too big for; the cast itself does not
// know.
func overflow(err error, schema plan.Type) error {
	e, ok := err.(*plan.Error)
	if !ok || e.Condition != "CAST_OVERFLOW" {
		return err
	}
	for _, f := range schema.Fields {
		if strconv.Quote(f.Type.SQL()) == e.Args["targetType"] {
			return plan.NewError(plan.ClassArithmetic, "CAST_OVERFLOW_IN_TABLE_INSERT",
				fmt.Sprintf("a value of the type %s is too big for the column %s.",
					e.Args["sourceType"], plan.Quote(f.Name)),
				"sourceType", e.Args["sourceType"], "targetType", e.Args["targetType"],
				"columnName", plan.Quote(f.Name))
		}
	}
	return err
}

// padded is the rows of a table with its CHAR columns padded: files may hold
// shorter texts that others wrote.
func padded(rows chunk.Rows, scan *plan.Scan) chunk.Rows {
	if scan.Relation.Table == nil || !scan.Relation.Schema.Bounded() {
		return rows
	}
	types := make([]plan.Type, len(scan.Attrs))
	for i, a := range scan.Attrs {
		types[i] = a.Of
		for _, f := range scan.Relation.Schema.Fields {
			if f.Name == a.Name {
				types[i] = f.Type
			}
		}
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if err == nil && c.Rows > 0 {
				out := *c
				out.Cols = slices.Clone(c.Cols)
				for i, t := range types {
					out.Cols[i] = function.PadText(c.Cols[i], t)
				}
				c = &out
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// lengthen brings the texts of a chunk to the lengths that a table gives them.
func lengthen(c *chunk.Chunk, schema plan.Type) (*chunk.Chunk, error) {
	out := *c
	out.Cols = slices.Clone(c.Cols)
	for i, f := range schema.Fields {
		var err error
		if out.Cols[i], err = function.FitText(c.Cols[i], f.Type, function.TooLong); err != nil {
			return nil, err
		}
	}
	return &out, nil
}
