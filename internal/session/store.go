package session

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// stored is a schema as files keep it: CHAR and VARCHAR are strings there.
func stored(schema plan.Type) plan.Type {
	out := make([]plan.Field, len(schema.Fields))
	for i, f := range schema.Fields {
		if f.Type.Kind == plan.KindChar || f.Type.Kind == plan.KindVarChar {
			f.Type = plan.String
		}
		out[i] = f
	}
	return plan.Struct(out...)
}

// assigner casts the columns of a query to those of a table as
// spark.sql.storeAssignmentPolicy says.
type assigner struct {
	table  string // quoted, for errors
	policy string
	env    *function.Env
	ids    *plan.IDs
}

func (sc *scope) assigner(id plan.TableID) *assigner {
	return &assigner{
		table: plan.QuoteParts(id.Parts()), policy: strings.ToUpper(sc.conf.value(assignmentKey)),
		env: sc.eval, ids: sc.session.engine.ids,
	}
}

// column is e as the column f of the table.
func (a *assigner) column(e plan.Expr, f plan.Field) (plan.Expr, error) {
	from, to := e.Type(), f.Type
	if to.Kind == plan.KindChar || to.Kind == plan.KindVarChar {
		to = plan.String
	}
	mode := plan.CastANSI
	if a.policy == "LEGACY" {
		mode = plan.CastLegacy
	}
	if !a.allowed(from, to) {
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

// checked is rows on their way into a table: texts are brought to the length of
// their CHAR or VARCHAR, and an overflow names the column.
func checked(rows chunk.Rows, schema plan.Type) chunk.Rows {
	var bounded []int
	for i, f := range schema.Fields {
		if f.Type.Kind == plan.KindChar || f.Type.Kind == plan.KindVarChar {
			bounded = append(bounded, i)
		}
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			if err != nil {
				yield(nil, overflow(err, schema))
				return
			}
			if len(bounded) > 0 {
				if c, err = lengthen(c, schema, bounded); err != nil {
					yield(nil, err)
					return
				}
			}
			if !yield(c, nil) {
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

// lengthen pads CHAR columns, cuts trailing blanks that are too many and
// refuses longer texts.
func lengthen(c *chunk.Chunk, schema plan.Type, bounded []int) (*chunk.Chunk, error) {
	out := &chunk.Chunk{Cols: append([]*chunk.Vector(nil), c.Cols...), Rows: c.Rows, Part: c.Part}
	for _, at := range bounded {
		v, t := c.Cols[at], schema.Fields[at].Type
		w := chunk.New(plan.String, v.Len)
		for i := range v.Len {
			if v.IsNull(i) {
				w.AppendNull()
				continue
			}
			s, err := fitted(v.Text(i), t)
			if err != nil {
				return nil, err
			}
			w.AppendText(s)
		}
		out.Cols[at] = w
	}
	return out, nil
}

func fitted(s string, t plan.Type) (string, error) {
	n := utf8.RuneCountInString(s)
	if n > t.Length {
		blanks := len(s) - len(strings.TrimRight(s, " "))
		if n-blanks > t.Length {
			return "", plan.NewError(plan.ClassRuntime, "EXCEED_LIMIT_LENGTH",
				fmt.Sprintf("a text is longer than the %d characters of its column.", t.Length),
				"limit", strconv.Itoa(t.Length))
		}
		return s[:len(s)-(n-t.Length)], nil
	}
	if t.Kind == plan.KindChar {
		s += strings.Repeat(" ", t.Length-n)
	}
	return s, nil
}
