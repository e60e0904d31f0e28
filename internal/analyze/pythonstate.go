package analyze

import (
	"fmt"

	"github.com/weir-dev/weir/internal/plan"
)

// statePython resolves a function of groups with a state. Its keys are columns.
func (r *resolver) statePython(n *plan.StatePython) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("FlatMapGroupsInPandasWithState", in)
	keys, err := r.groupColumns(x, n.Keys, in)
	if err != nil {
		return nil, err
	}
	f, err := x.expr(n.Func)
	if err != nil {
		return nil, err
	}
	m := *n
	m = *m.WithChildren([]plan.Node{x.exposed(in)}).(*plan.StatePython)
	m.Keys, m.Func = keys, f.(*plan.PythonUDF)
	m.Attrs, err = r.pythonColumns(m.Func)
	return &m, err
}

// groupColumns are the keys of functions with state: plain columns.
func (r *resolver) groupColumns(x *exprs, list []plan.Expr, in plan.Node) ([]plan.Expr, error) {
	keys, err := x.all(list)
	if err != nil {
		return nil, err
	}
	for i, k := range keys {
		name := ""
		if keys[i] = unnamed(k); !isColumn(keys[i]) {
			name = r.sqlText(keys[i])
		}
		if a, ok := k.(*plan.Alias); ok && (name != "" || keys[i].(*plan.Attribute).Name != a.Names[0]) {
			name = a.Names[0]
		}
		if name != "" {
			return nil, unresolvedColumn([]string{name}, in.Output(), nil)
		}
	}
	return keys, nil
}

func isColumn(e plan.Expr) bool {
	_, ok := e.(*plan.Attribute)
	return ok
}

// transformPython resolves a stateful processor.
func (r *resolver) transformPython(n *plan.TransformPython) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("TransformWithStateInPySpark", in)
	m := *n
	if m.Keys, err = r.groupColumns(x, n.Keys, in); err != nil {
		return nil, err
	}
	if len(m.Keys) == 0 {
		return nil, plan.IllegalArgument("requirement failed: transformWithState needs grouping columns")
	}
	f, err := x.expr(n.Func)
	if err != nil {
		return nil, err
	}
	m.Input, m.Func = x.exposed(in), f.(*plan.PythonUDF)
	if err := r.initialStates(&m); err != nil {
		return nil, err
	}
	if m.Attrs, err = r.pythonColumns(m.Func); err != nil {
		return nil, err
	}
	return &m, r.emittedTime(&m)
}

// initialStates resolves the relation that states begin from.
func (r *resolver) initialStates(n *plan.TransformPython) error {
	if n.Initial == nil {
		return nil
	}
	in, err := r.node(n.Initial)
	if err != nil {
		return err
	}
	if plan.Streaming(in) {
		return plan.Unsupported("An initial state that is a stream")
	}
	x := r.over("TransformWithStateInPySpark", in)
	if n.InitialKeys, err = r.groupColumns(x, n.InitialKeys, in); err != nil {
		return err
	}
	same := len(n.Keys) == len(n.InitialKeys)
	for i := 0; same && i < len(n.Keys); i++ {
		same = n.Keys[i].Type().EqualIgnoringNull(n.InitialKeys[i].Type())
	}
	if !same {
		return plan.Unsupported("An initial state that is grouped by columns of other types than the stream")
	}
	n.Initial, n.InitialArgs = in, attributeExprs(in.Output())
	return nil
}

// emittedTime makes a column of the result event time, with the delay of the
// watermark below.
func (r *resolver) emittedTime(n *plan.TransformPython) error {
	if n.EventColumn == "" {
		return nil
	}
	delay := watermarkBelow(n.Input)
	if delay == nil {
		return plan.AnalysisError("CANNOT_ASSIGN_EVENT_TIME_COLUMN_WITHOUT_WATERMARK",
			"a column can only go on as event time when there is a stream with a watermark below.")
	}
	found := newScope(n.Attrs, r.CaseSensitive).named(n.EventColumn)
	if len(found) == 0 {
		return unresolvedColumn([]string{n.EventColumn}, n.Attrs, nil)
	}
	if t := eventTimeType(found[0].Of); t.Kind != plan.KindTimestamp {
		return plan.AnalysisError("EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE",
			fmt.Sprintf("event time must be a TIMESTAMP column, and %s is %s.", n.EventColumn, found[0].Of.SQL()),
			"eventName", plan.Quote(n.EventColumn), "eventType", sqlType(found[0].Of))
	}
	found[0].EventTime = delay
	return nil
}

// watermarkBelow is the delay of a stream's watermark, nil without one.
func watermarkBelow(n plan.Node) *int64 {
	var delay *int64
	plan.WalkNodes(n, func(m plan.Node) bool {
		if w, ok := m.(*plan.Watermark); ok && plan.Streaming(w) {
			delay = &w.DelayMs
		}
		return delay == nil
	})
	return delay
}
