package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
	"github.com/weir-dev/weir/internal/sql"
)

// checkValues checks what a new table says of the values that its columns have by
// themselves, and of the columns that it is clustered by. Only Delta tables can.
func (sc *scope) checkValues(t *newTable) error {
	for key, text := range t.entry.Properties {
		if strings.HasPrefix(strings.ToLower(key), "delta.constraints.") && t.format.Name == deltaFormat {
			if _, err := sql.ParseExpr(text); err != nil {
				return err
			}
		}
	}
	for _, f := range t.schema.Fields {
		var err error
		switch computed := f.Has(plan.GeneratedMark) || f.Has(plan.IdentityStart); {
		case f.Has(plan.IdentityStart) && f.Has(plan.DefaultMark):
			err = plan.AnalysisError("IDENTITY_COLUMN_WITH_DEFAULT_VALUE",
				fmt.Sprintf("The column %s numbers the rows and has a DEFAULT.", f.Name), "colName", f.Name,
				"defaultValue", f.Entry(plan.DefaultMark),
				"identityColumnSpec", fmt.Sprintf("IdentityColumnSpec{start=%s, step=%s, allowExplicitInsert=%s}",
					f.Raw(plan.IdentityStart), f.Raw(plan.IdentityStep), f.Raw(plan.IdentityExplicit)))
		case computed && f.Has(plan.DefaultMark):
			err = plan.AnalysisError("GENERATED_COLUMN_WITH_DEFAULT_VALUE",
				fmt.Sprintf("The column %s is computed and has a DEFAULT.", f.Name), "colName", plan.Quote(f.Name),
				"defaultValue", f.Entry(plan.DefaultMark), "genExpr", f.Entry(plan.GeneratedMark))
		case t.format.Name != deltaFormat && computed:
			err = plan.TableOperation(t.entry.ID, "generated columns")
		case t.format.Name != deltaFormat && f.Has(plan.DefaultMark):
			err = plan.Unsupported("The option DEFAULT of a column in a table of the format " + t.format.Name)
		case f.Has(plan.GeneratedMark):
			err = sc.checkGenerated(t.schema, f)
		case f.Has(plan.DefaultMark):
			err = sc.checkDefault(f, "CREATE TABLE")
		}
		if err != nil {
			return err
		}
	}
	if len(t.cluster) > 0 && t.format.Name != deltaFormat {
		return plan.Unsupported("The clause CLUSTER BY of a table of the format " + t.format.Name)
	}
	for i, name := range t.cluster {
		at := sc.column(t.schema, name)
		if at < 0 {
			return plan.AnalysisError("UNSUPPORTED_FEATURE.PARTITION_WITH_NESTED_COLUMN_IS_UNSUPPORTED",
				"The table has no column "+plan.Quote(name)+" to be clustered by.", "cols", plan.Quote(name))
		}
		t.cluster[i] = t.schema.Fields[at].Name
	}
	if len(t.cluster) > 0 && len(t.entry.Partitions) > 0 {
		return plan.AnalysisError("SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED",
			"A table is clustered or partitioned, not both.")
	}
	return nil
}

// checkGenerated checks GENERATED ALWAYS AS: an expression over the columns that are
// not computed, the same each time, of just the column's type.
func (sc *scope) checkGenerated(schema plan.Type, f plan.Field) error {
	text := f.Entry(plan.GeneratedMark)
	plain := plan.Struct()
	for _, other := range schema.Fields {
		if !other.Has(plan.GeneratedMark) {
			plain.Fields = append(plain.Fields, other)
		}
	}
	refuse := func(reason string) error {
		return plan.AnalysisError("UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
			fmt.Sprintf("The column %s cannot be generated as %s: %s.", f.Name, text, reason),
			"fieldName", f.Name, "expressionStr", text, "reason", reason)
	}
	exprs, _, err := sc.resolveOver([]string{text}, plain.Unbounded())
	if e, ok := err.(*plan.Error); ok && strings.HasPrefix(e.Condition, "UNRESOLVED_COLUMN") {
		// Over all columns it may be resolved: then it is one of the computed ones.
		_, used, wide := sc.resolveOver([]string{text}, schema.Unbounded())
		switch {
		case wide != nil:
			return err
		case slices.ContainsFunc(used, func(a *plan.Attribute) bool { return a.Name == f.Name }):
			return refuse("generation expression cannot reference itself")
		}
		return refuse("generation expression cannot reference another generated column")
	}
	if err != nil {
		return err
	}
	e := exprs[0]
	if name := changing(e); name != "" {
		return dml.Mistake("DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN", "42621",
			name+" cannot be used in a generated column.", "expression", name)
	}
	if volatile(e) {
		return refuse("generation expression is not deterministic")
	}
	if want := f.Type.Unbounded(); !e.Type().EqualIgnoringNull(want) {
		return dml.Mistake("DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH", "42K09",
			fmt.Sprintf("The column %s is %s, and what it is generated from is %s.", f.Name, want.SQL(),
				e.Type().SQL()),
			"columnName", f.Name, "expressionType", e.Type().SQL(), "columnType", want.SQL())
	}
	return nil
}

// volatile reports whether an expression may be another one each time.
func volatile(e plan.Expr) bool {
	return plan.Contains(e, func(e plan.Expr) bool {
		c, ok := e.(*plan.Call)
		return ok && eval.Volatile(c.Name)
	})
}

// changing names a function whose value depends on the moment, the user or the
// session; "" when there is none.
func changing(e plan.Expr) string {
	found := ""
	plan.Walk(e, func(e plan.Expr) bool {
		if c, ok := e.(*plan.Call); ok && slices.Contains(ofTheMoment, c.Name) {
			found = plan.SQLText(c)
		}
		return found == ""
	})
	return found
}

var ofTheMoment = []string{
	"current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp",
	"current_timezone", "current_user", "localtimestamp", "now", "session_user", "user",
}

// holdsDefault reports whether a column can hold the value of a DEFAULT. As in Spark a
// constant of another type is tried: 1.5 for an INT, a text for a DATE.
func (sc *scope) holdsDefault(text string, e plan.Expr, t plan.Type) bool {
	l, constant := e.(*plan.Literal)
	switch {
	case e.Type().EqualIgnoringNull(t) || constant && l.Value == nil:
		return true
	case !constant:
		return storable(e.Type(), t)
	}
	switch t.Kind {
	case plan.KindBoolean, plan.KindArray, plan.KindMap, plan.KindStruct:
		return false
	}
	cast := "TRY_CAST(" + text + "\n AS " + t.SQL() + ")" // the text may end in a comment
	tried, err := sc.compute([]string{cast}, plan.Struct(), sc.files.Now())
	if err != nil {
		return false
	}
	values, err := tried.Eval(&chunk.Chunk{Rows: 1})
	return err == nil && !values[0].IsNull(0)
}

// checkDefault checks DEFAULT: an expression without columns that the column can hold.
func (sc *scope) checkDefault(f plan.Field, statement string) error {
	text := f.Entry(plan.DefaultMark)
	refuse := func(sub, why string, args ...string) error {
		return plan.AnalysisError("INVALID_DEFAULT_VALUE."+sub,
			fmt.Sprintf("The DEFAULT %s of the column %s %s.", text, plan.Quote(f.Name), why),
			append(args, "statement", statement, "colName", plan.Quote(f.Name), "defaultValue", text)...)
	}
	parsed, err := sql.ParseExpr(text)
	if err != nil {
		return err
	}
	if plan.Contains(parsed, func(e plan.Expr) bool { _, ok := e.(*plan.Subquery); return ok }) {
		return refuse("SUBQUERY_EXPRESSION", "holds a subquery")
	}
	exprs, _, err := sc.resolveOver([]string{text}, plan.Struct())
	switch e, ok := err.(*plan.Error); {
	case ok && strings.HasPrefix(e.Condition, "UNRESOLVED_COLUMN"):
		return refuse("NOT_CONSTANT", "is no constant")
	case err != nil:
		return err
	case !sc.holdsDefault(text, exprs[0], f.Type.Unbounded()):
		return refuse("DATA_TYPE", "is "+exprs[0].Type().SQL(), "expectedType", `"`+f.Type.SQL()+`"`,
			"actualType", `"`+exprs[0].Type().SQL()+`"`)
	}
	return nil
}
