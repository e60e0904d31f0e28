package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// callable are the eval types of PySpark that weir runs: functions of values, of
// Series and of iterators of them, of frames and of groups.
var callable = []int{
	100, 101, 200, 201, 202, 204, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214, 215, 216, 217, 250, 252, 254,
}

// aggregating are those that give one value of a group.
var aggregating = []int{202, 217, 252, 254}

// iterates reports those of them that get a group batch by batch.
func iterates(f *plan.PythonUDF) bool { return f.EvalType == 217 || f.EvalType == 254 }

func aggregates(f *plan.PythonUDF) bool { return slices.Contains(aggregating, f.EvalType) }

// pythonCall resolves a Python function and its arguments.
func (x *exprs) pythonCall(n *plan.PythonUDF) (plan.Expr, error) {
	if err := runnable(n); err != nil {
		return nil, err
	}
	in := x
	if aggregates(n) && x.below != nil {
		in = x.below
	}
	e, err := in.children(n)
	if err != nil {
		return nil, err
	}
	return x.pythonFunction(e.(*plan.PythonUDF).WithKeywords())
}

func runnable(f *plan.PythonUDF) error {
	if !slices.Contains(callable, f.EvalType) {
		return plan.Unsupported(fmt.Sprintf("The Python function %s, of type %d,", f.Name, f.EvalType))
	}
	return nil
}

// pythonFunction is a call of a Python function whose arguments are resolved. One
// that aggregates is a call like those of the shelf.
func (x *exprs) pythonFunction(f *plan.PythonUDF) (plan.Expr, error) {
	if !aggregates(f) {
		return f, nil
	}
	return x.aggregateCall(x.pythonAggregate(f))
}

// pythonAggregate is a function that aggregates as a call like those of the shelf.
func (x *exprs) pythonAggregate(f *plan.PythonUDF) *plan.AggregateCall {
	bare := *f
	bare.Args = nil
	text := strings.ReplaceAll(plan.SQLTextIn(f, x.Eval.Zone), "$", "$$")
	return &plan.AggregateCall{
		Name: pythonName, Args: f.Args, Of: f.Returns, Null: true, Text: text, Python: &bare,
	}
}

func hasPythonAggregate(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool {
		a, ok := p.(*plan.AggregateCall)
		return ok && a.Python != nil
	})
}

// aggregatesBy reports names of Python functions of the session that aggregate.
func (x *exprs) aggregatesBy(name string) bool {
	f := x.Names.Function(name)
	return f != nil && aggregates(f)
}

// registered is a call by name of a Python function of the session.
func (x *exprs) registered(n *plan.UnresolvedFunction, f *plan.PythonUDF, over *over) (plan.Expr, error) {
	syntax := ""
	switch {
	case !aggregates(f):
	case n.Distinct:
		syntax = "DISTINCT"
	case n.Filter != nil:
		syntax = "FILTER CLAUSE"
	}
	if syntax != "" {
		return nil, plan.AnalysisError("INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
			"A Python function does not take "+syntax+".", "prettyName", "`pythonudaf`", "syntax", syntax).At(n.Origin)
	}
	if over != nil {
		return x.pythonOver(f.WithKeywords())
	}
	return x.pythonFunction(f.WithKeywords())
}

// pythonName is the name of calls that Python computes; no function of the shelf is
// called so.
const pythonName = "python aggregate"

// pythonColumns are the columns that a function of rows or groups yields.
func (r *resolver) pythonColumns(f *plan.PythonUDF) ([]*plan.Attribute, error) {
	if f.Returns.Kind != plan.KindStruct {
		return nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_3064",
			fmt.Sprintf("The function %s yields rows, and %s is no type of rows.", f.Name, f.Returns.Simple()))
	}
	attrs := make([]*plan.Attribute, len(f.Returns.Fields))
	for i, field := range f.Returns.Fields {
		attrs[i] = r.attribute(field.Name, field.Type, field.Nullable)
		attrs[i].Metadata = field.Metadata
	}
	return attrs, nil
}

func (r *resolver) mapPython(n *plan.MapPython) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if n.Barrier {
		return nil, plan.Unsupported("A barrier, under which all partitions run at the same time,")
	}
	x := r.over("MapInPandas", in)
	f, err := x.expr(n.Func)
	if err != nil {
		return nil, err
	}
	m := plan.NewMapPython(x.exposed(in), f.(*plan.PythonUDF), false)
	m.Attrs, err = r.pythonColumns(m.Func)
	return m, err
}

func (r *resolver) groupPython(n *plan.GroupPython) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("FlatMapGroupsInPandas", in)
	keys, err := x.all(n.Keys)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		keys[i] = unnamed(k)
	}
	f, err := x.expr(n.Func)
	if err != nil {
		return nil, err
	}
	m := plan.NewGroupPython(x.exposed(in), keys, f.(*plan.PythonUDF))
	m.Attrs, err = r.pythonColumns(m.Func)
	return m, err
}

// cogroupPython resolves a function of pairs of groups: one over the rows of both
// relations together, each with NULLs in the place of the other's columns.
func (r *resolver) cogroupPython(n *plan.CogroupPython) (plan.Node, error) {
	if len(n.LeftKeys) != len(n.RightKeys) {
		return nil, plan.IllegalArgument("requirement failed: Cogroup keys must have same size: %d != %d",
			len(n.LeftKeys), len(n.RightKeys))
	}
	left, leftKeys, err := r.cogrouped(n.Left, n.LeftKeys)
	if err != nil {
		return nil, err
	}
	right, rightKeys, err := r.cogrouped(n.Right, n.RightKeys)
	if err != nil {
		return nil, err
	}
	for i, k := range leftKeys {
		if other := rightKeys[i]; !k.Type().EqualIgnoringNull(other.Type()) {
			text := fmt.Sprintf("cogroup by keys of %s and %s", k.Type().SQL(), other.Type().SQL())
			return nil, plan.Unsupported(text)
		}
	}
	ours, theirs := attributeExprs(left.Output()), attributeExprs(right.Output())
	both := &plan.SetOp{Kind: plan.Union, All: true, Inputs: []plan.Node{
		plan.NewProject(left, slices.Concat(r.keyed(leftKeys, 0), ours, r.absent(right.Output()))...),
		plan.NewProject(right, slices.Concat(r.keyed(rightKeys, 1), r.absent(left.Output()), theirs)...),
	}}
	both.Attrs = r.setColumns(both)
	columns := attributeExprs(both.Attrs)
	keys := len(leftKeys)
	for i, a := range right.Output() { // the function sees their names, not those of NULLs
		both.Attrs[keys+1+len(ours)+i].Name = a.Name
	}
	f := *n.Func
	f.Args = columns[keys+1:]
	m := plan.NewGroupPython(both, columns[:keys:keys], &f)
	m.Side, m.First = columns[keys], len(ours)
	m.Attrs, err = r.pythonColumns(m.Func)
	return m, err
}

// cogrouped is one relation of a cogroup and its keys.
func (r *resolver) cogrouped(n plan.Node, keys []plan.Expr) (plan.Node, []plan.Expr, error) {
	in, err := r.node(n)
	if err != nil {
		return nil, nil, err
	}
	x := r.over("FlatMapCoGroupsInPandas", in)
	out, err := x.all(keys)
	if err != nil {
		return nil, nil, err
	}
	for i, k := range out {
		out[i] = unnamed(k)
	}
	return in, out, nil
}

// keyed are the keys of a row and the side that it is from.
func (r *resolver) keyed(keys []plan.Expr, side int64) []plan.Expr {
	var out []plan.Expr
	for _, k := range keys {
		out = append(out, &plan.Alias{Child: k, Names: []string{r.sqlText(k)}, ID: r.IDs.Next()})
	}
	return append(out, &plan.Alias{Child: plan.Lit(side, plan.Int), Names: []string{"side"}, ID: r.IDs.Next()})
}

// absent are NULLs in the place of columns.
func (r *resolver) absent(attrs []*plan.Attribute) []plan.Expr {
	out := make([]plan.Expr, len(attrs))
	for i, a := range attrs {
		out[i] = &plan.Alias{Child: plan.Lit(nil, a.Of), Names: []string{a.Name}, ID: r.IDs.Next()}
	}
	return out
}

// withPython replaces the expressions of a function of rows or groups.
func withPython(n plan.Node, list []plan.Expr) plan.Node {
	switch n := n.(type) {
	case *plan.MapPython:
		m := *n
		m.Func = list[0].(*plan.PythonUDF)
		return &m
	case *plan.GroupPython:
		m := *n
		last := len(list) - 1
		m.Func = list[last].(*plan.PythonUDF)
		if m.Side != nil {
			last--
			m.Side = list[last]
		}
		m.Keys = list[:last:last]
		return &m
	case *plan.TransformPython:
		return n.WithExprs(list)
	case *plan.TablePython:
		return n.WithExprs(list)
	case *plan.StatePython:
		m := *n
		last := len(list) - 1
		m.Keys, m.Func = list[:last:last], list[last].(*plan.PythonUDF)
		return &m
	default:
		return n
	}
}

// PythonFunction is the name of a Python function in a resolved plan, "" when
// there is none.
func PythonFunction(n plan.Node) string {
	name := ""
	plan.WalkNodes(n, func(m plan.Node) bool {
		for _, e := range nodeExprs(m) {
			plan.Walk(e, func(p plan.Expr) bool {
				if f, ok := p.(*plan.PythonUDF); ok {
					name = f.Name
				}
				return name == ""
			})
		}
		return name == ""
	})
	return name
}
