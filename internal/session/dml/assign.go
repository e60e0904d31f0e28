package dml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// setting is a column, or a field within one, with its value.
type setting struct {
	path  []string // the column, then fields
	value plan.Expr
}

// assigned are the values of all columns of the table behind SET: those that it
// does not name keep theirs. Values are over some of the statement's tables.
func (t *target) assigned(set []plan.Assignment, over ...int) ([]plan.Expr, error) {
	settings := make([]setting, len(set))
	for i, a := range set {
		path, err := t.assignable(a.Column)
		if err != nil {
			return nil, err
		}
		value, err := t.value("UPDATE clause", a.Value, over...)
		if err != nil {
			return nil, err
		}
		settings[i] = setting{path, value}
	}
	if err := conflicting(settings); err != nil {
		return nil, err
	}
	out, err := t.settled(settings)
	if err != nil {
		return nil, err
	}
	return out, t.fill(out, givenBy(settings), false)
}

// assignable is the path of the column or field that SET names.
func (t *target) assignable(a *plan.UnresolvedAttribute) ([]string, error) {
	if name := t.newColumn(a); name != "" {
		return []string{name}, nil
	}
	column, err := t.value("UPDATE clause", a, 0)
	if err != nil {
		return nil, err
	}
	path, ok := pathOf(column)
	if !ok {
		e := Mistake("DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE", "0A000",
			"An element of an array or a map cannot be assigned to; give the column a new value.",
			"optionalPrefixMessage", "")
		return nil, e.At(a.Origin)
	}
	return path, nil
}

// settled are the values of all columns, of which some have settings.
func (t *target) settled(settings []setting) ([]plan.Expr, error) {
	out := make([]plan.Expr, len(t.after))
	for i, c := range t.after {
		var err error
		if out[i], err = t.composed(c.field, c.old, under(settings, c.field.Name)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// value resolves an expression of a clause.
func (t *target) value(clause string, e plan.Expr, over ...int) (plan.Expr, error) {
	out, err := t.tables.Value(e, over...)
	if err != nil {
		return nil, t.unresolved(err, clause, over...)
	}
	return out, nil
}

// pathOf is the name of a column with the fields behind it.
func pathOf(e plan.Expr) ([]string, bool) {
	switch e := e.(type) {
	case *plan.Attribute:
		return []string{e.Name}, true
	case *plan.GetField:
		path, ok := pathOf(e.Child)
		return append(path, e.Name), ok && !e.Each
	default:
		return nil, false
	}
}

// conflicting refuses two values for one column, or for a struct and its field.
func conflicting(settings []setting) error {
	for i, a := range settings {
		for _, b := range settings[:i] {
			n := min(len(a.path), len(b.path))
			if slices.EqualFunc(a.path[:n], b.path[:n], strings.EqualFold) {
				list := "[`" + strings.Join(b.path, ".") + "`, `" + strings.Join(a.path, ".") + "`]"
				return Mistake("DELTA_CONFLICT_SET_COLUMN", "42701",
					"SET gives more than one value to "+list+".", "columnList", list)
			}
		}
	}
	return nil
}

// under are the settings of a column or field and of what is within it, with
// paths that begin there.
func under(settings []setting, name string) []setting {
	var out []setting
	for _, s := range settings {
		if strings.EqualFold(s.path[0], name) {
			out = append(out, setting{s.path[1:], s.value})
		}
	}
	return out
}

// composed is a column or field with what was set in it.
func (t *target) composed(f plan.Field, base plan.Expr, settings []setting) (plan.Expr, error) {
	switch {
	case len(settings) == 0:
		return base, nil
	case len(settings[0].path) == 0:
		return t.converted(settings[0].value, f)
	}
	var parts []plan.Expr
	for i, inner := range f.Type.Fields {
		field := &plan.GetField{Child: base, Ordinal: i, Name: inner.Name}
		part, err := t.composed(inner, field, under(settings, inner.Name))
		if err != nil {
			return nil, err
		}
		parts = append(parts, plan.Lit(inner.Name, plan.String), part)
	}
	return t.analyzer.Call("named_struct", parts...)
}

// converted is a value as the column f holds it: structs by the names of their
// fields, all else by a cast.
func (t *target) converted(e plan.Expr, f plan.Field) (plan.Expr, error) {
	from, to := e.Type().Unbounded(), f.Type.Unbounded()
	switch {
	case from.EqualIgnoringNull(to):
		return e, nil
	case from.Kind == plan.KindNull:
		return plan.Lit(nil, to), nil
	case from.Kind == plan.KindStruct && to.Kind == plan.KindStruct:
		return t.restructured(e, from, to)
	}
	if from.IsNumeric() && to.IsNumeric() {
		t.narrowed = append(t.narrowed, narrowing{f.Name, from, to})
	}
	c := &plan.Cast{Child: e, To: to.AsNullable(), Mode: plan.CastANSI, Implicit: true}
	return c, function.CheckCast(c, t.Eval)
}

// restructured is a struct with the fields of another type, found by their names.
func (t *target) restructured(e plan.Expr, from, to plan.Type) (plan.Expr, error) {
	mismatch := Mistake("DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION", "42846",
		fmt.Sprintf("A value of the type %s has not the fields of %s.", from.Simple(), to.Simple()),
		"fromCatalog", from.Simple(), "toCatalog", to.Simple())
	if len(from.Fields) != len(to.Fields) {
		return nil, mismatch
	}
	var parts []plan.Expr
	for _, f := range to.Fields {
		at := slices.IndexFunc(from.Fields, func(g plan.Field) bool { return strings.EqualFold(f.Name, g.Name) })
		if at < 0 {
			return nil, mismatch
		}
		part, err := t.converted(&plan.GetField{Child: e, Ordinal: at, Name: from.Fields[at].Name}, f)
		if err != nil {
			return nil, err
		}
		parts = append(parts, plan.Lit(f.Name, plan.String), part)
	}
	built, err := t.analyzer.Call("named_struct", parts...)
	if err != nil || !e.Nullable() {
		return built, err
	}
	isNull, err := t.analyzer.Call("isnull", e)
	if err != nil {
		return nil, err
	}
	return t.analyzer.Call("if", isNull, plan.Lit(nil, built.Type()), built)
}

// unresolved gives an unknown name in a clause of MERGE the error that Delta has
// for it.
func (t *target) unresolved(err error, clause string, over ...int) error {
	e, ok := err.(*plan.Error)
	if !ok || t.operation != "MERGE" || !strings.HasPrefix(e.Condition, "UNRESOLVED_COLUMN") {
		return err
	}
	var names []string
	for _, a := range t.tables.Columns(over...) {
		parts := append(slices.Clone(a.Qualifier), a.Name)
		for i, p := range parts {
			parts[i] = plan.QuoteIfNeeded(p)
		}
		names = append(names, strings.Join(parts, "."))
	}
	name := strings.ReplaceAll(e.Args["objectName"], "`", "")
	out := Mistake("DELTA_MERGE_UNRESOLVED_EXPRESSION", "42601",
		fmt.Sprintf("The %s has no column %s, only %s.", clause, name, strings.Join(names, ", ")),
		"sqlExpr", name, "clause", clause, "cols", strings.Join(names, ", "))
	return out.At(e.Origin)
}
