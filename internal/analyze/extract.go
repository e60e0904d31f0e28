package analyze

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

func (x *exprs) extractValue(n *plan.ExtractValue) (plan.Expr, error) {
	child, err := x.expr(n.Child)
	if err != nil {
		return nil, err
	}
	key, err := x.expr(n.Key)
	if err != nil {
		return nil, err
	}
	// Spark gives no place for what is wrong with x[y], only for x.y.
	return x.extract(unnamed(child), key, nil, n.Origin)
}

// extract is child[key]: a field of a struct, of every struct of an array, an
// element, or the value of a key. Errors found here are at one place, those of
// execution at another.
func (x *exprs) extract(child, key plan.Expr, at, call *plan.Origin) (plan.Expr, error) {
	t := child.Type()
	name, isName := fieldName(key)
	switch {
	case t.Kind == plan.KindStruct && isName:
		i, err := x.fieldIndex(t, name, at)
		if err != nil {
			return nil, err
		}
		return &plan.GetField{Child: child, Ordinal: i, Name: name}, nil
	case t.Kind == plan.KindStruct:
		return nil, plan.AnalysisError("INVALID_EXTRACT_FIELD_TYPE",
			fmt.Sprintf("a field's name must be a string constant, not %s.", x.sqlText(key)),
			"extraction", x.sqlExpr(key)).At(at)
	case t.Kind == plan.KindArray && t.Elem.Kind == plan.KindStruct && isName:
		i, err := x.fieldIndex(*t.Elem, name, at)
		if err != nil {
			return nil, err
		}
		return &plan.GetField{Child: child, Ordinal: i, Name: t.Elem.Fields[i].Name, Each: true}, nil
	case t.Kind == plan.KindArray || t.Kind == plan.KindMap:
		return function.BindCall(&function.Binding{
			Name: "getitem", Def: lookup("getitem"), Args: []plan.Expr{child, key}, Origin: call, Env: x.Eval,
		})
	default:
		return nil, plan.AnalysisError("INVALID_EXTRACT_BASE_FIELD_TYPE",
			fmt.Sprintf("%s is %s, which has no parts.", x.sqlText(child), t.SQL()),
			"base", x.sqlExpr(child), "other", sqlType(t)).At(at)
	}
}

// lookup finds a function that may be hidden from users; nil when there is none.
func lookup(name string) *function.Def {
	d, _ := function.Lookup(name)
	return d
}

func fieldName(key plan.Expr) (string, bool) {
	l, ok := key.(*plan.Literal)
	if !ok || !l.Of.IsString() {
		return "", false
	}
	s, ok := l.Value.(string)
	return s, ok
}

func (r *resolver) fieldIndex(t plan.Type, name string, at *plan.Origin) (int, error) {
	index, count := -1, 0
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = plan.Quote(f.Name)
		if f.Name == name || !r.CaseSensitive && strings.EqualFold(f.Name, name) {
			index = i
			count++
		}
	}
	switch {
	case count == 1:
		return index, nil
	case count > 1:
		return 0, plan.AnalysisError("AMBIGUOUS_REFERENCE_TO_FIELDS",
			fmt.Sprintf("the struct has %d fields called %s.", count, plan.Quote(name)),
			"field", plan.Quote(name), "count", strconv.Itoa(count)).At(at)
	default:
		fields := strings.Join(names, ", ")
		return 0, plan.AnalysisError("FIELD_NOT_FOUND",
			fmt.Sprintf("the struct has no field %s, only %s.", plan.Quote(name), fields),
			"fieldName", plan.Quote(name), "fields", fields).At(at)
	}
}

// updateFields is col.withField and col.dropFields: a struct built anew.
func (x *exprs) updateFields(n *plan.UpdateFields) (plan.Expr, error) {
	if len(n.Field) == 0 {
		return nil, malformed("a field has no name")
	}
	child, err := x.expr(n.Child)
	if err != nil {
		return nil, err
	}
	child = unnamed(child)
	var value plan.Expr
	text := "dropfield()"
	if n.Value != nil {
		if value, err = x.expr(n.Value); err != nil {
			return nil, err
		}
		value = unnamed(value)
		text = "WithField(" + x.sqlText(value) + ")"
	}
	e, err := x.withField(child, n.Field, value)
	if err != nil {
		return nil, err
	}
	if c, ok := e.(*plan.Call); ok {
		shown := "update_fields(" + x.sqlText(child) + ", " + text + ")"
		if _, chained := n.Child.(*plan.UpdateFields); chained {
			shown = strings.TrimSuffix(x.sqlText(child), ")") + ", " + text + ")"
		}
		shown = strings.ReplaceAll(shown, "$", "$$")
		named := *c
		named.Text = shown
		return &named, nil
	}
	return e, nil
}

func (x *exprs) withField(child plan.Expr, path []string, value plan.Expr) (plan.Expr, error) {
	t := child.Type()
	if t.Kind != plan.KindStruct {
		return nil, plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
			fmt.Sprintf("%s is %s; only a struct has fields to change.", x.sqlText(child), t.SQL()),
			"sqlExpr", quoted("update_fields("+x.sqlText(child)+")"), "paramIndex", "first",
			"requiredType", quoted("STRUCT"), "inputSql", x.sqlExpr(child), "inputType", sqlType(t))
	}
	var args []plan.Expr
	found := false
	for i, f := range t.Fields {
		var part plan.Expr = &plan.GetField{Child: child, Ordinal: i, Name: f.Name}
		name := f.Name
		if name == path[0] || !x.CaseSensitive && strings.EqualFold(name, path[0]) {
			found = true
			var err error
			if part, err = x.changedField(part, path, value); err != nil {
				return nil, err
			}
			if len(path) == 1 {
				name = path[0]
			}
		}
		if part != nil {
			args = append(args, plan.Lit(name, plan.String), part)
		}
	}
	switch {
	case !found && len(path) > 1:
		_, err := x.fieldIndex(t, path[0], nil)
		return nil, err
	case !found && value != nil:
		args = append(args, plan.Lit(path[0], plan.String), value)
	case len(args) == 0:
		return nil, plan.NewError(plan.ClassExtendedAnalysis, "DATATYPE_MISMATCH.CANNOT_DROP_ALL_FIELDS",
			"a struct keeps at least one field.",
			"sqlExpr", quoted("update_fields("+x.sqlText(child)+", dropfield())"))
	}
	return x.rebuilt(child, args)
}

// changedField is the new value of a field, nil when it is dropped.
func (x *exprs) changedField(part plan.Expr, path []string, value plan.Expr) (plan.Expr, error) {
	if len(path) == 1 {
		return value, nil
	}
	return x.withField(part, path[1:], value)
}

// rebuilt is a struct of args, NULL where the struct it was made from is.
func (x *exprs) rebuilt(child plan.Expr, args []plan.Expr) (plan.Expr, error) {
	e, err := x.bind("named_struct", args...)
	if err != nil || !child.Nullable() {
		return e, err
	}
	isNull, err := x.bind("isnull", child)
	if err != nil {
		return nil, err
	}
	return x.bind("if", isNull, plan.Lit(nil, e.Type()), e)
}

// bind binds a call that the user did not write.
func (r *resolver) bind(name string, args ...plan.Expr) (plan.Expr, error) {
	return function.BindCall(&function.Binding{Name: name, Def: lookup(name), Args: args, Env: r.Eval})
}
