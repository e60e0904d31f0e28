package analyze

import (
	"fmt"
	"math"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

func (r *resolver) withColumns(n *plan.WithColumns) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(n.Aliases))
	for i, a := range n.Aliases {
		if len(a.Names) != 1 {
			return nil, malformed("withColumns takes one name for each column")
		}
		names[i] = a.Names[0]
	}
	if err := r.noDuplicates(names); err != nil {
		return nil, err
	}
	x := r.over("Project", in)
	list := attributeExprs(x.scope.attrs)
	added := make([]plan.Expr, len(n.Aliases))
	for i, a := range n.Aliases {
		if added[i], err = x.alias(a); err != nil {
			return nil, err
		}
	}
	for i, e := range added {
		replaced := false
		for j, a := range x.scope.attrs {
			if x.scope.same(a.Name, names[i]) {
				list[j], replaced = e, true
				e = r.again(added[i].(*plan.Alias))
			}
		}
		if !replaced {
			list = append(list, e)
		}
	}
	in = x.exposed(in)
	if anyAggregate(list) {
		return r.grouped(&grouping{in: in, list: list})
	}
	return r.projected(in, list)
}

// again is an alias under an id of its own, for a second column of the name.
func (r *resolver) again(a *plan.Alias) *plan.Alias {
	b := *a
	b.ID = r.IDs.Next()
	return &b
}

func (r *resolver) renameColumns(n *plan.RenameColumns) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if len(n.From) != len(n.To) {
		return nil, malformed("withColumnsRenamed has not as many new names as old ones")
	}
	s := newScope(in.Output(), r.CaseSensitive)
	list := make([]plan.Expr, len(s.attrs))
	for i, a := range s.attrs {
		list[i] = a
		for j, from := range n.From {
			if s.same(a.Name, from) {
				list[i] = r.rename(a, n.To[j])
			}
		}
	}
	return plan.NewProject(in, list...), nil
}

func (r *resolver) dropColumns(n *plan.DropColumns) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("DropColumns", in)
	dropped := map[plan.ExprID]bool{}
	for _, name := range n.Names {
		for _, a := range x.scope.named(name) {
			dropped[a.ID] = true
		}
	}
	for _, e := range n.Exprs {
		// A column that is not there is not dropped, which is no error.
		u, ok := e.(*plan.UnresolvedAttribute)
		if !ok {
			continue
		}
		found, err := x.lookup(u, false)
		if a, ok := found.(*plan.Attribute); ok && err == nil {
			dropped[a.ID] = true
		}
		if pe, ok := err.(*plan.Error); ok && pe.Condition != "CANNOT_RESOLVE_DATAFRAME_COLUMN" {
			return nil, err
		}
	}
	var list []plan.Expr
	for _, a := range x.scope.attrs {
		if !dropped[a.ID] {
			list = append(list, a)
		}
	}
	return plan.NewProject(in, list...), nil
}

func (r *resolver) renameAll(n *plan.RenameAll) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	return r.renamedColumns(in, n.Names, nil)
}

// toSchema is df.to(schema): columns by name, cast, NULL when absent.
func (r *resolver) toSchema(n *plan.ToSchema) (plan.Node, error) {
	if err := n.Schema.CharAsString(); err != nil {
		return nil, err
	}
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	s := newScope(in.Output(), r.CaseSensitive)
	list := make([]plan.Expr, len(n.Schema.Fields))
	for i, f := range n.Schema.Fields {
		if list[i], err = r.toField(s, f); err != nil {
			return nil, err
		}
	}
	return plan.NewProject(in, list...), nil
}

func (r *resolver) toField(s *scope, f plan.Field) (plan.Expr, error) {
	found := s.named(f.Name)
	var e plan.Expr
	switch {
	case len(found) > 1:
		return nil, ambiguous([]string{f.Name}, found, nil)
	case len(found) == 0 && !f.Nullable:
		return nil, unresolvedColumn([]string{f.Name}, s.attrs, nil)
	case len(found) == 0:
		e = plan.Lit(nil, f.Type)
	case found[0].Null && !f.Nullable:
		return nil, plan.AnalysisError("NULLABLE_COLUMN_OR_FIELD",
			fmt.Sprintf("the column %s may be NULL, but the schema says that it may not.", plan.Quote(f.Name)),
			"name", plan.Quote(f.Name))
	default:
		e = found[0]
		if !e.Type().EqualIgnoringNull(f.Type) {
			if !function.CanCast(e.Type(), f.Type, plan.CastANSI) {
				return nil, plan.AnalysisError("INVALID_COLUMN_OR_FIELD_DATA_TYPE",
					fmt.Sprintf("the column %s is %s, not %s.", plan.Quote(f.Name), e.Type().SQL(), f.Type.SQL()),
					"name", plan.Quote(f.Name), "type", sqlType(e.Type()), "expectedType", sqlType(f.Type))
			}
			e = r.implicitly(e, f.Type)
		}
	}
	return &plan.Alias{Child: e, Names: []string{f.Name}, ID: r.IDs.Next(), Metadata: f.Metadata}, nil
}

func (r *resolver) fillNA(n *plan.FillNA) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if len(n.Values) == 0 || len(n.Values) > 1 && len(n.Values) != len(n.Columns) {
		return nil, malformed("fillna has not as many values as columns")
	}
	s := newScope(in.Output(), r.CaseSensitive)
	values := map[plan.ExprID]*plan.Literal{}
	for i, name := range n.Columns {
		e, err := r.naColumn(in, s, name)
		if err != nil {
			return nil, err
		}
		a, ok := e.(*plan.Attribute)
		switch {
		case ok:
			values[a.ID] = n.Values[min(i, len(n.Values)-1)]
		case len(n.Values) > 1:
			return nil, nestedReplacement(name)
		} // Spark leaves a field of a struct as it is when one value is for all.
	}
	list := make([]plan.Expr, len(s.attrs))
	for i, a := range s.attrs {
		list[i] = a
		v := values[a.ID]
		if len(n.Columns) == 0 {
			v = n.Values[0]
		}
		if v == nil || !fills(v.Of, a.Of) {
			continue
		}
		if list[i], err = r.filled(a, v); err != nil {
			return nil, err
		}
	}
	return plan.NewProject(in, list...), nil
}

// naColumn finds the column or the field of a struct that a function of df.na
// names. Unknown names are answered with all columns in the order of the schema.
func (r *resolver) naColumn(in plan.Node, s *scope, name string) (plan.Expr, error) {
	parts, err := sql.ParseColumn(name)
	if err != nil {
		return nil, err
	}
	found, fields := s.find(parts)
	switch {
	case len(found) > 1:
		return nil, ambiguous(parts, found, nil)
	case len(found) == 1 && len(fields) == 0:
		return found[0], nil
	case len(found) == 1:
		return r.over("df.na", in).fieldsOf(found[0], fields, nil, false)
	}
	names := make([]string, len(s.attrs))
	for i, a := range s.attrs {
		names[i] = plan.Quote(a.Name)
	}
	unknown := unresolvedColumn(parts, s.attrs, nil)
	if _, ok := unknown.Args["proposal"]; ok {
		unknown.Args["proposal"] = strings.Join(names, ", ")
	}
	return nil, unknown
}

// nestedReplacement refuses values for single fields.
func nestedReplacement(name string) *plan.Error {
	parts, _ := sql.ParseColumn(name)
	shown := plan.QuoteParts(parts)
	return plan.NewError(plan.ClassUnsupported, "UNSUPPORTED_FEATURE.REPLACE_NESTED_COLUMN",
		"Values of single fields of a struct, such as "+shown+", cannot be replaced.", "colName", shown)
}

// fills reports whether a value of a type replaces NULLs of another.
func fills(value, column plan.Type) bool {
	switch {
	case value.IsNumeric():
		return column.IsNumeric()
	case value.IsString():
		return column.IsString()
	default:
		return value.Kind == column.Kind
	}
}

// filled is coalesce(column, value), where NaN counts as NULL.
func (r *resolver) filled(a *plan.Attribute, v *plan.Literal) (plan.Expr, error) {
	value := r.implicitly(v, a.Of)
	var e plan.Expr = a
	var err error
	if isFloat(a.Of) {
		nan, err := r.isNaN(a)
		if err != nil {
			return nil, err
		}
		if e, err = r.bind("if", nan, plan.Lit(nil, a.Of), a); err != nil {
			return nil, err
		}
	}
	if e, err = r.bind("coalesce", e, value); err != nil {
		return nil, err
	}
	return &plan.Alias{Child: e, Names: []string{a.Name}, ID: r.IDs.Next()}, nil
}

// replaceNA is df.replace: CASE column WHEN old THEN new … ELSE column END in the
// columns of the kind of the old values.
func (r *resolver) replaceNA(n *plan.ReplaceNA) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil || len(n.From) == 0 {
		return in, err
	}
	s := newScope(in.Output(), r.CaseSensitive)
	named := map[plan.ExprID]bool{}
	for _, name := range n.Columns {
		e, err := r.naColumn(in, s, name)
		if err != nil {
			return nil, err
		}
		a, ok := e.(*plan.Attribute)
		if !ok {
			return nil, nestedReplacement(name)
		}
		// As in Spark, a name in other letters finds the column and changes nothing.
		parts, _ := sql.ParseColumn(name)
		named[a.ID] = named[a.ID] || a.Name == parts[len(parts)-1]
	}
	list := make([]plan.Expr, len(s.attrs))
	for i, a := range s.attrs {
		list[i] = a
		if len(n.Columns) > 0 && !named[a.ID] || !fills(n.From[0].Of, a.Of) {
			continue
		}
		if list[i], err = r.replaced(a, n); err != nil {
			return nil, err
		}
	}
	return plan.NewProject(in, list...), nil
}

func (r *resolver) replaced(a *plan.Attribute, n *plan.ReplaceNA) (plan.Expr, error) {
	// Spark sends all numbers through DOUBLE.
	plain := func(l *plan.Literal) plan.Expr {
		if l.Value != nil && l.Of.IsNumeric() {
			return r.implicitly(l, plan.Double)
		}
		return l
	}
	var args []plan.Expr
	for i, from := range n.From {
		is, err := r.bind("==", a, plain(from))
		if err != nil {
			return nil, err
		}
		args = append(args, is, r.implicitly(plain(n.To[i]), a.Of))
	}
	e, err := r.bind("when", append(args, a)...)
	if err != nil {
		return nil, err
	}
	return &plan.Alias{Child: e, Names: []string{a.Name}, ID: r.IDs.Next()}, nil
}

func (r *resolver) dropNA(n *plan.DropNA) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	s := newScope(in.Output(), r.CaseSensitive)
	columns := attributeExprs(s.attrs)
	if len(n.Columns) > 0 {
		columns = nil
		for _, name := range n.Columns {
			e, err := r.naColumn(in, s, name)
			if err != nil {
				return nil, err
			}
			columns = append(columns, e)
		}
	}
	least := n.MinNonNulls
	if least < 0 {
		least = len(columns)
	}
	cond, err := r.enough(columns, least)
	if err != nil {
		return nil, err
	}
	return plan.NewFilter(in, cond), nil
}

// enough holds for rows with at least n values among columns that are neither
// NULL nor NaN.
func (r *resolver) enough(columns []plan.Expr, n int) (plan.Expr, error) {
	var cond, count plan.Expr
	for _, a := range columns {
		there, err := r.present(a)
		if err != nil {
			return nil, err
		}
		one, err := r.bind("if", there, plan.Lit(int64(1), plan.Int), plan.Lit(int64(0), plan.Int))
		if err != nil {
			return nil, err
		}
		if cond == nil {
			cond, count = there, one
			continue
		}
		if cond, err = r.bind("and", cond, there); err != nil {
			return nil, err
		}
		if count, err = r.bind("+", count, one); err != nil {
			return nil, err
		}
	}
	switch {
	case n <= 0 || len(columns) == 0:
		return plan.Lit(n <= 0, plan.Boolean), nil
	case n == len(columns):
		return cond, nil
	default:
		return r.bind(">=", count, plan.Lit(int64(n), plan.Int))
	}
}

func (r *resolver) present(a plan.Expr) (plan.Expr, error) {
	there, err := r.bind("isnotnull", a)
	if err != nil || !isFloat(a.Type()) {
		return there, err
	}
	nan, err := r.isNaN(a)
	if err != nil {
		return nil, err
	}
	number, err := r.bind("not", nan)
	if err != nil {
		return nil, err
	}
	return r.bind("and", there, number)
}

func isFloat(t plan.Type) bool { return t.Kind == plan.KindDouble || t.Kind == plan.KindFloat }

// isNaN compares with NaN, which equals itself in SQL.
func (r *resolver) isNaN(a plan.Expr) (plan.Expr, error) {
	nan := plan.Lit(math.NaN(), plan.Double)
	if a.Type().Kind == plan.KindFloat {
		nan = plan.Lit(float32(math.NaN()), plan.Float)
	}
	return r.bind("=", a, nan)
}

func (r *resolver) showString(n *plan.ShowString) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	m := *n
	name := "show_string"
	if n.HTML {
		name = "html_string"
	}
	m.Attr = r.attribute(name, plan.String, false)
	return m.WithChildren([]plan.Node{in}), nil
}
