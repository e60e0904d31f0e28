package analyze

import (
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// pruneColumns makes scans read, and relations carry, only the columns that
// something above needs.
func pruneColumns(_ *Analyzer, n plan.Node) (plan.Node, error) {
	need := map[plan.ExprID]bool{}
	for _, a := range n.Output() {
		need[a.ID] = true
	}
	return prune(n, need), nil
}

func prune(n plan.Node, need map[plan.ExprID]bool) plan.Node {
	switch m := n.(type) {
	case *plan.Scan:
		return pruneScan(m, need)
	case *plan.Project:
		var list []plan.Expr
		for _, e := range m.Exprs {
			if need[plan.ToAttribute(e).ID] {
				list = append(list, e)
			}
		}
		return withoutNoOp(plan.NewProject(prune(m.Input, plan.References(list...)), list...))
	case *plan.Aggregate:
		return pruneAggregate(m, need)
	case *plan.SetOp:
		return pruneSetOp(m, need)
	case *plan.Dedup:
		return m.WithChildren([]plan.Node{prune(m.Input, with(need, attributeExprs(m.Keys)))})
	case *plan.ShowString:
		return m.WithChildren([]plan.Node{prune(m.Input, allOf(m.Input))})
	case *plan.MapPython, *plan.GroupPython, *plan.StatePython, *plan.TransformPython:
		return pruneChildren(n, plan.References(nodeExprs(n)...))
	case *plan.TablePython:
		if !m.Beside {
			need = nil
		}
		return pruneChildren(n, with(need, m.Exprs()))
	case *plan.LocalData, *plan.Range, *plan.OneRow:
		return n
	case *plan.Filter, *plan.Sort, *plan.Limit, *plan.Repartition, *plan.Observe, *plan.Watermark,
		*plan.Join, *plan.Generate, *plan.TimeWindow, *plan.Window:
		return pruneChildren(n, with(need, nodeExprs(n)))
	default:
		return n
	}
}

func pruneChildren(n plan.Node, need map[plan.ExprID]bool) plan.Node {
	children := n.Children()
	pruned := make([]plan.Node, len(children))
	for i, c := range children {
		pruned[i] = prune(c, need)
	}
	return n.WithChildren(pruned)
}

// withoutNoOp is the input of a projection that shows it as it is.
func withoutNoOp(p *plan.Project) plan.Node {
	in := p.Input.Output()
	if len(in) != len(p.Exprs) {
		return p
	}
	for i, e := range p.Exprs {
		a, ok := e.(*plan.Attribute)
		if !ok || a.ID != in[i].ID || !sameColumn(a, in[i]) {
			return p
		}
	}
	return p.Input
}

// sameColumn reports whether users and streams see no difference.
func sameColumn(a, b *plan.Attribute) bool {
	return a.Name == b.Name && a.Null == b.Null && a.Metadata == b.Metadata && a.Of.Equal(b.Of) &&
		(a.EventTime == nil) == (b.EventTime == nil)
}

// with are the columns needed by a relation whose expressions are list.
func with(need map[plan.ExprID]bool, list []plan.Expr) map[plan.ExprID]bool {
	if len(list) == 0 {
		return need
	}
	out := plan.References(list...)
	for id := range need {
		out[id] = true
	}
	return out
}

func allOf(n plan.Node) map[plan.ExprID]bool {
	out := map[plan.ExprID]bool{}
	for _, a := range n.Output() {
		out[a.ID] = true
	}
	return out
}

func pruneScan(n *plan.Scan, need map[plan.ExprID]bool) plan.Node {
	if twice(n.Attrs) {
		return n // columns are read by their names, and by which of a name they are
	}
	m := *n
	m.Attrs = nil
	for _, a := range n.Attrs {
		if need[a.ID] {
			m.Attrs = append(m.Attrs, a)
		}
	}
	return &m
}

// twice tells whether a name stands for two columns, as it may in the rows of a stream.
func twice(attrs []*plan.Attribute) bool {
	for i, a := range attrs {
		if slices.ContainsFunc(attrs[:i], func(b *plan.Attribute) bool { return a.Name == b.Name }) {
			return true
		}
	}
	return false
}

func pruneAggregate(n *plan.Aggregate, need map[plan.ExprID]bool) plan.Node {
	m := *n
	m.Exprs = nil
	for i, e := range n.Exprs {
		// Grouping columns stay: the state of a stream is keyed by them.
		if i < len(n.Group) || need[plan.ToAttribute(e).ID] {
			m.Exprs = append(m.Exprs, e)
		}
	}
	m.Input = prune(n.Input, plan.References(append(append([]plan.Expr{}, m.Group...), m.Exprs...)...))
	return &m
}

// pruneSetOp drops columns of a union; other set operations compare whole rows.
func pruneSetOp(n *plan.SetOp, need map[plan.ExprID]bool) plan.Node {
	inputs := make([]plan.Node, len(n.Inputs))
	if n.Kind != plan.Union {
		for i, in := range n.Inputs {
			inputs[i] = prune(in, allOf(in))
		}
		return n.WithChildren(inputs)
	}
	m := *n
	var keep []int
	m.Attrs = nil
	for j, a := range n.Attrs {
		if need[a.ID] {
			keep = append(keep, j)
			m.Attrs = append(m.Attrs, a)
		}
	}
	for i, in := range n.Inputs {
		attrs := in.Output()
		list := make([]plan.Expr, len(keep))
		for k, j := range keep {
			list[k] = attrs[j]
		}
		if len(keep) < len(attrs) {
			in = plan.NewProject(in, list...)
			if p, ok := in.Children()[0].(*plan.Project); ok && cheap(list, p.Exprs) {
				in = merged(in.(*plan.Project), p)
			}
		}
		inputs[i] = prune(in, plan.References(list...))
	}
	m.Inputs = inputs
	return &m
}
