package deltatable

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// tableRows turns rows of the data into rows of the table: columns by name, cast where
// types differ, values of their own where the data brings none, texts as long as CHAR
// and VARCHAR say. It refuses rows that break a constraint.
type tableRows struct {
	schema plan.Type
	data   plan.Type
	from   []int
	shape  []shaper // nil where the data's column is taken as it is

	defaults   *columnValues // of columns that the data does not bring
	generated  *columnValues
	identities map[int]*delta.Identity
	last       map[int]int64 // numbers that identity columns gave, by column

	checks *rowChecks
	zone   *time.Location
}

// columnValues are expressions whose values go into columns.
type columnValues struct {
	at   []int
	eval *connector.Computed
}

// rowChecks are conditions that every row must make true.
type rowChecks struct {
	names []string
	eval  *connector.Computed
}

// Rules is what a Delta table asks of rows that have all its columns.
type Rules struct{ rows *tableRows }

// NewRules are the rules of a table with these columns.
func NewRules(env *connector.Env, schema plan.Type, m *delta.Metadata) (*Rules, error) {
	fit := &delta.Fit{Schema: schema}
	for i := range schema.Fields {
		fit.From = append(fit.From, i)
	}
	rows, err := tableRowsOf(env, schema.Unbounded(), fit, m, true)
	return &Rules{rows}, err
}

// Apply is rows as the table takes them, or the error for what it does not take.
func (r *Rules) Apply(c *chunk.Chunk) (*chunk.Chunk, error) { return r.rows.chunk(c) }

// newTableRows are the rows of a write into the table that the fit describes.
func newTableRows(env *connector.Env, data plan.Type, fit *delta.Fit, m *delta.Metadata) (*tableRows, error) {
	return tableRowsOf(env, data, fit, m, false)
}

// tableRowsOf is newTableRows; numbered rows have what identity columns gave them.
func tableRowsOf(env *connector.Env, data plan.Type, fit *delta.Fit, m *delta.Metadata, numbered bool,
) (*tableRows, error) {
	r := &tableRows{schema: fit.Schema, data: data, from: fit.From, shape: make([]shaper, len(fit.From)),
		identities: map[int]*delta.Identity{}, last: map[int]int64{}, zone: env.Eval.Zone}
	var texts [3][]string // defaults, generated, checks
	r.defaults, r.generated, r.checks = &columnValues{}, &columnValues{}, &rowChecks{}
	for i, at := range fit.From {
		f := fit.Schema.Fields[i]
		c := delta.ComputedOf(f)
		switch {
		case at >= 0 && c.Identity != nil && !c.Identity.Explicit && !numbered:
			return nil, delta.Mistake("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
				fmt.Sprintf("The column %s numbers the rows itself (GENERATED ALWAYS AS IDENTITY).", f.Name),
				"colName", f.Name)
		case at >= 0:
			var err error
			if r.shape[i], err = shaperFor(env, data.Fields[at].Type, f.Type.Unbounded()); err != nil {
				return nil, err
			}
			if c.Generated != "" {
				r.checks.names = append(r.checks.names, "Generated Column")
				texts[2] = append(texts[2], plan.QuoteIfNeeded(f.Name)+" <=> ("+c.Generated+")")
			}
		case c.Identity != nil:
			r.identities[i] = c.Identity
		case c.Generated != "":
			r.generated.at = append(r.generated.at, i)
			texts[1] = append(texts[1], c.Generated)
		case c.Default != "":
			r.defaults.at = append(r.defaults.at, i)
			// As Spark a default is cast to its column. It may end in a comment.
			texts[0] = append(texts[0], "CAST("+c.Default+"\n AS "+f.Type.Unbounded().SQL()+")")
		}
	}
	for _, c := range m.Constraints(fit.Schema) {
		r.checks.names = append(r.checks.names, c.Name)
		texts[2] = append(texts[2], c.Condition)
	}
	for i, to := range []**connector.Computed{&r.defaults.eval, &r.generated.eval, &r.checks.eval} {
		if len(texts[i]) == 0 {
			continue
		}
		var err error
		if *to, err = env.Compute(texts[i], fit.Schema.Unbounded(), env.Now()); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *tableRows) rows(in chunk.Rows) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range in {
			if err == nil {
				c, err = r.chunk(c)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func (r *tableRows) chunk(c *chunk.Chunk) (*chunk.Chunk, error) {
	out := &chunk.Chunk{Cols: make([]*chunk.Vector, len(r.from)), Rows: c.Rows, Part: c.Part}
	for i, at := range r.from {
		var err error
		switch t := r.schema.Fields[i].Type.Unbounded(); {
		case r.identities[i] != nil:
			out.Cols[i] = r.number(i, c.Rows)
		case at < 0:
			out.Cols[i] = chunk.NullVector(t, c.Rows)
		case r.shape[i] == nil:
			out.Cols[i] = c.Cols[at]
		default:
			if out.Cols[i], err = r.shape[i](c.Cols[at]); err != nil {
				return nil, err
			}
		}
	}
	for _, values := range []*columnValues{r.defaults, r.generated} {
		if err := values.fill(out, r.schema); err != nil {
			return nil, err
		}
	}
	for i, f := range r.schema.Fields {
		var err error
		if out.Cols[i], err = function.FitText(out.Cols[i], f.Type, tooLongFor(f.Name)); err != nil {
			return nil, err
		}
	}
	return out, r.check(out)
}

// number is the next values of an identity column.
func (r *tableRows) number(at, rows int) *chunk.Vector {
	id := r.identities[at]
	v := chunk.Make(plan.Long, rows)
	for i := range chunk.Values[int64](v) {
		chunk.Values[int64](v)[i] = id.Next
		r.last[at] = id.Next
		id.Next += id.Step
	}
	return v
}

// fill puts computed values into the columns of a chunk.
func (v *columnValues) fill(c *chunk.Chunk, schema plan.Type) error {
	if v.eval == nil || c.Rows == 0 {
		return nil
	}
	values, err := v.eval.Eval(c)
	if err != nil {
		return err
	}
	for i, at := range v.at {
		want := schema.Fields[at].Type.Unbounded()
		if !values[i].Type.EqualIgnoringNull(want) {
			return plan.Unsupported(fmt.Sprintf("the column %s of type %s with a value computed as %s",
				schema.Fields[at].Name, want.SQL(), values[i].Type.SQL()))
		}
		c.Cols[at] = values[i]
	}
	return nil
}

// check refuses the first row that breaks a condition; NULL breaks it too.
func (r *tableRows) check(c *chunk.Chunk) error {
	if r.checks.eval == nil || c.Rows == 0 {
		return nil
	}
	results, err := r.checks.eval.Eval(c)
	if err != nil {
		return err
	}
	for k, v := range results {
		for row := range c.Rows {
			if v.IsNull(row) || v.Type.Kind == plan.KindBoolean && chunk.Values[uint8](v)[row] == 0 {
				return r.violated(k, c, row)
			}
		}
	}
	return nil
}

// asWritten is a condition without the casts that nobody wrote.
func asWritten(e plan.Expr) plan.Expr {
	out, err := plan.Transform(e, func(e plan.Expr) (plan.Expr, error) {
		if c, ok := e.(*plan.Cast); ok && c.Implicit {
			return c.Child, nil
		}
		return e, nil
	})
	if err != nil {
		return e
	}
	return out
}

// violated says which row broke which condition.
func (r *tableRows) violated(k int, c *chunk.Chunk, row int) error {
	e := r.checks.eval.Exprs[k]
	var columns []string
	plan.Walk(e, func(e plan.Expr) bool {
		if a, ok := e.(*plan.Attribute); ok && !slices.Contains(columns, a.Name) {
			columns = append(columns, a.Name)
		}
		return true
	})
	slices.Sort(columns)
	lines := make([]string, len(columns))
	for i, name := range columns {
		at := slices.IndexFunc(r.schema.Fields, func(f plan.Field) bool { return strings.EqualFold(f.Name, name) })
		value := "null"
		if at >= 0 && !c.Cols[at].IsNull(row) {
			value = shownValue(c.Cols[at], row, r.zone)
		}
		lines[i] = fmt.Sprintf(" - %s : %s", name, value)
	}
	text := plan.QualifiedText(asWritten(e), r.zone)
	return delta.Refused("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
		fmt.Sprintf("A row breaks the constraint %s %s; its values are:\n%s", r.checks.names[k], text,
			strings.Join(lines, "\n")),
		"constraintName", r.checks.names[k], "expression", text, "values", strings.Join(lines, "\n"))
}
