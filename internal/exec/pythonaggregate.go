package exec

import (
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
)

// pythonCalls are the aggregate functions of an aggregation if Python computes
// any of them.
func pythonCalls(n *plan.Aggregate) []*plan.AggregateCall {
	var calls []*plan.AggregateCall
	found := false
	for _, e := range n.Exprs {
		plan.Walk(e, func(p plan.Expr) bool {
			call, ok := p.(*plan.AggregateCall)
			if ok && !isMark(call.Name) {
				calls = append(calls, call)
				found = found || call.Python != nil
			}
			return !ok
		})
	}
	if !found {
		return nil
	}
	return calls
}

// buildPythonAggregate computes an aggregation whose functions are Python's: one
// call of the worker for all groups, and a projection over keys and values. As
// in Spark there is no group without rows, not even that of all.
func (p *planner) buildPythonAggregate(n *plan.Aggregate, calls []*plan.AggregateCall) (input, error) {
	if err := allPython(calls); err != nil {
		return input{}, err
	}
	out := n.Output()
	if n.Kind != plan.GroupBy {
		var err error
		if n, err = p.expandSets(n); err != nil {
			return input{}, err
		}
	}
	columns, keys := slices.Clone(n.Group), len(n.Group)
	at := map[string]int{}
	replaced := map[string]*plan.Attribute{}
	var attrs []*plan.Attribute
	var functions []pyworker.Function
	for _, call := range calls {
		name := eval.Canonical(call)
		if replaced[name] != nil {
			continue
		}
		f := *call.Python
		f.Args = call.Args
		functions = append(functions, functionOf(&f, func(e plan.Expr) int {
			text := eval.Canonical(e)
			if _, ok := at[text]; !ok {
				at[text] = len(columns)
				columns = append(columns, e)
			}
			return at[text]
		}))
		replaced[name] = p.liftedColumn(f.Name, call.Of)
		attrs = append(attrs, replaced[name])
	}
	for _, e := range n.Group {
		a := p.liftedColumn(plan.SQLText(e), e.Type())
		attrs = append(attrs, a)
		if name := eval.Canonical(e); replaced[name] == nil {
			replaced[name] = a
		}
	}
	o, err := p.groupedPython(groupedRows{in: n.Input, columns: columns, keys: keys, sorted: keys})
	if err != nil {
		return input{}, err
	}
	o.name, o.call.Version = calls[0].Python.Name, calls[0].Python.PythonVersion
	o.call.Shape, o.call.Functions, o.call.Output = pyworker.Aggregate, functions, hiddenColumns(attrs)
	results := make([]plan.Expr, len(n.Exprs))
	for i, e := range n.Exprs {
		results[i] = overResults(e, replaced)
	}
	set, err := p.compileSet(results, attrs)
	return input{op: &projectOp{o, set}, attrs: out}, err
}

// allPython refuses functions of Python beside others.
func allPython(calls []*plan.AggregateCall) error {
	var names []string
	mixed := false
	for _, c := range calls {
		if c.Python == nil {
			mixed = true
		} else if name := plan.Quote(c.Python.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if !mixed {
		return nil
	}
	return plan.AnalysisError("INVALID_PANDAS_UDF_PLACEMENT",
		"aggregate functions in Python cannot stand beside others.", "functionList", strings.Join(names, ", "))
}

// liftedColumn is a column that the plan does not have. Ids of the server are
// positive.
func (p *planner) liftedColumn(name string, of plan.Type) *plan.Attribute {
	p.lifted--
	return &plan.Attribute{Name: name, Of: of, Null: true, ID: p.lifted}
}

// hiddenColumns is a schema of columns that nobody sees.
func hiddenColumns(attrs []*plan.Attribute) plan.Type {
	fields := make([]plan.Field, len(attrs))
	for i, a := range attrs {
		fields[i] = plan.Field{Name: columnName(i), Type: a.Of, Nullable: true}
	}
	return plan.Struct(fields...)
}

// overResults is an expression over the keys and the values of groups.
func overResults(e plan.Expr, replaced map[string]*plan.Attribute) plan.Expr {
	if a := replaced[eval.Canonical(e)]; a != nil {
		return a
	}
	children := e.Children()
	if len(children) == 0 {
		return e
	}
	list := make([]plan.Expr, len(children))
	for i, c := range children {
		list[i] = overResults(c, replaced)
	}
	return e.WithChildren(list)
}
