package analyze

import (
	"github.com/weir-dev/weir/internal/plan"
)

// rightSide resolves the right side of a join, which in a LATERAL one may name the
// columns of the left.
func (r *resolver) rightSide(n *plan.Join, left plan.Node) (plan.Node, error) {
	if !n.Lateral {
		return r.node(n.Right)
	}
	r.outer = append(r.outer, r.over("LateralJoin", left))
	defer func() { r.outer = r.outer[:len(r.outer)-1] }()
	return r.node(n.Right)
}

// lateralJoin makes a join of a lateral one.
func (r *resolver) lateralJoin(m *plan.Join, on plan.Expr) (plan.Node, error) {
	if hasArrowTable(m.Right) {
		return nil, plan.AnalysisError("LATERAL_JOIN_WITH_ARROW_UDTF_UNSUPPORTED",
			"a table function of Arrow batches cannot stand in a lateral join.").At(m.Origin)
	}
	if on != nil {
		x := r.over("LateralJoin", m.Left, m.Right)
		cond, err := x.condition(on, "JOIN", nil)
		if err != nil {
			return nil, err
		}
		m.Cond = cond
	}
	out := m.Output()
	if !correlatedNode(m.Right) {
		return m, nil
	}
	if joined, ok := besideRows(m); ok {
		return plan.NewProject(joined, attributeExprs(out)...), nil
	}
	c, err := r.correlating(m.Left, m.Right)
	if err != nil {
		return nil, err
	}
	right, d, err := c.push(m.Right)
	if err != nil {
		return nil, err
	}
	parts, err := c.equal(c.outs, d)
	if err != nil {
		return nil, err
	}
	if m.Cond != nil {
		parts = append(parts, m.Cond)
	}
	j := &plan.Join{Left: m.Left, Right: right, Kind: m.Kind, Origin: m.Origin}
	if j.Kind == plan.CrossJoin {
		j.Kind = plan.InnerJoin
	}
	if j.Cond, err = r.conjunction(parts); err != nil {
		return nil, err
	}
	return plan.NewProject(j, attributeExprs(out)...), nil
}

func hasArrowTable(n plan.Node) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool {
		t, ok := m.(*plan.TablePython)
		return !ok || t.Func.EvalType != arrowTableType
	})
}

// besideRows computes the right side of a lateral join row by row beside the left,
// where that is only functions over one row. Then a row of the left side comes out as
// often as it is there, and a stream stays one.
func besideRows(m *plan.Join) (plan.Node, bool) {
	always := m.Cond == nil
	if l, ok := m.Cond.(*plan.Literal); ok {
		always = l.Value == true
	}
	outer := m.Kind == plan.LeftJoin
	if outer && !always {
		return nil, false
	}
	if m.Cond == nil && generates(m.Right) {
		// Spark's optimizer takes a LEFT JOIN of a generator that has no ON for an inner one.
		outer = false
	}
	n, ok := beside(m.Left, m.Right, outer)
	if ok && !always {
		n = plan.NewFilter(n, m.Cond)
	}
	return n, ok
}

// beside puts the columns of one relation over a single row beside those of left.
// With outer a row of left stays that the relation has nothing for.
func beside(left, n plan.Node, outer bool) (plan.Node, bool) {
	switch m := n.(type) {
	case *plan.OneRow:
		return left, true
	case *aliased, *tagged:
		return beside(left, n.Children()[0], outer)
	case *plan.Project:
		in, ok := beside(left, m.Input, outer)
		list := make([]plan.Expr, len(m.Exprs))
		for i, e := range m.Exprs {
			ok = ok && !holdsSubquery(e) && (!outer || isColumn(e))
			list[i] = withoutOuter(e)
		}
		return plan.NewProject(in, append(attributeExprs(left.Output()), list...)...), ok
	case *plan.Filter:
		if outer || holdsSubquery(m.Cond) {
			return nil, false
		}
		in, ok := beside(left, m.Input, false)
		return plan.NewFilter(in, withoutOuter(m.Cond)), ok
	case *plan.Generate:
		in, ok := beside(left, m.Input, false)
		g := plan.NewGenerate(in, withoutOuter(m.Generator), m.Outer || outer)
		g.Attrs, g.Qualifier = m.Attrs, m.Qualifier
		return g, ok && (!outer || isOneRow(m.Input))
	case *plan.TablePython:
		if m.Table >= 0 || len(m.Keys) > 0 {
			return nil, false
		}
		in, ok := beside(left, m.Input, false)
		t := *m
		t.Func = withoutOuter(m.Func).(*plan.PythonUDF)
		t.Beside, t.Outer = true, outer
		return t.WithChildren([]plan.Node{in}), ok && (!outer || isOneRow(m.Input))
	default:
		return nil, false
	}
}

// generates reports whether a relation is what a function makes of one row.
func generates(n plan.Node) bool {
	switch m := n.(type) {
	case *aliased, *tagged, *plan.Project:
		return generates(n.Children()[0])
	case *plan.Generate:
		return isOneRow(m.Input)
	case *plan.TablePython:
		return isOneRow(m.Input)
	default:
		return false
	}
}

func isOneRow(n plan.Node) bool { _, ok := n.(*plan.OneRow); return ok }
