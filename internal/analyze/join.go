package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

func (r *resolver) join(n *plan.Join) (plan.Node, error) {
	left, err := r.node(n.Left)
	if err != nil {
		return nil, err
	}
	right, err := r.rightSide(n, left)
	if err != nil {
		return nil, err
	}
	right = r.apart(left, right)
	m := &plan.Join{Left: left, Right: right, Kind: n.Kind, Origin: n.Origin, Lateral: n.Lateral}
	switch {
	case n.Lateral:
		return r.lateralJoin(m, n.Cond)
	case n.Natural:
		return r.usingJoin(m, r.sharedNames(left, right))
	case len(n.Using) > 0:
		return r.usingJoin(m, n.Using)
	case n.Cond == nil:
		return m, nil
	}
	x := r.over("Join", left, right)
	cond, err := x.condition(n.Cond, "JOIN", nil)
	if err != nil {
		return nil, err
	}
	if hasGenerator(cond) {
		return nil, outsideSelect(fmt.Sprintf("'Join %s, %s", n.Kind, r.sqlText(cond)))
	}
	if err := r.notForOperator("Join", cond); err != nil {
		return nil, err
	}
	if anyCorrelated(cond) && (n.Kind == plan.InnerJoin || n.Kind == plan.CrossJoin) {
		out, err := r.subqueryFilter(m, cond)
		if err != nil {
			return nil, err
		}
		return restrict(out, m.Output()), nil
	}
	m.Cond = cond
	if len(x.used) == 0 {
		return m, nil
	}
	out, _ := exposeJoin(m, x.used)
	return restrict(out, m.Output()), nil
}

// sourceColumn is a column of a streaming source.
type sourceColumn struct {
	source int
	name   string
}

// apart is the right side of a join whose left side has the same columns of a
// stream: its scans then read sources of their own, with logs of their own, as
// Spark's copies of a relation do. Where a side renames the columns, both sides
// read one source.
func (r *resolver) apart(left, right plan.Node) plan.Node {
	if !plan.Streaming(left) || !plan.Streaming(right) {
		return right
	}
	taken := map[sourceColumn]bool{}
	streamColumns(left, func(s *plan.Scan, a *plan.Attribute) { taken[sourceColumn{s.Source, a.Name}] = true })
	fresh := map[int]int{}
	streamColumns(right, func(s *plan.Scan, a *plan.Attribute) {
		if taken[sourceColumn{s.Source, a.Name}] && fresh[s.Source] == 0 {
			fresh[s.Source] = len(r.sources) + 1
			r.sources[sourceKey{node: s}] = fresh[s.Source]
		}
	})
	if len(fresh) == 0 {
		return right
	}
	// Nothing here fails.
	out, _ := plan.TransformNodes(right, func(n plan.Node) (plan.Node, error) {
		if s, ok := n.(*plan.Scan); ok && s.Streaming && fresh[s.Source] > 0 {
			m := *s
			m.Source = fresh[s.Source]
			return &m, nil
		}
		return n, nil
	})
	return out
}

// streamColumns visits the columns that a relation passes on from streams.
func streamColumns(n plan.Node, visit func(*plan.Scan, *plan.Attribute)) {
	shown := map[plan.ExprID]bool{}
	for _, a := range n.Output() {
		shown[a.ID] = true
	}
	plan.WalkNodes(n, func(m plan.Node) bool {
		s, ok := m.(*plan.Scan)
		if !ok || !s.Streaming {
			return true
		}
		for _, a := range s.Attrs {
			if shown[a.ID] {
				visit(s, a)
			}
		}
		return true
	})
}

// sharedNames are the columns that a NATURAL join joins by.
func (r *resolver) sharedNames(left, right plan.Node) []string {
	var names []string
	s := newScope(right.Output(), r.CaseSensitive)
	for _, a := range left.Output() {
		if len(s.named(a.Name)) > 0 {
			names = append(names, a.Name)
		}
	}
	return names
}

// usingJoin joins by equally named columns: they come first and once, then the
// other columns of the left side, then those of the right side.
func (r *resolver) usingJoin(m *plan.Join, names []string) (plan.Node, error) {
	var leftKeys, rightKeys []*plan.Attribute
	var cond plan.Expr
	for _, name := range names {
		l, err := r.usingKey(m.Left, name, "left")
		if err != nil {
			return nil, err
		}
		k, err := r.usingKey(m.Right, name, "right")
		if err != nil {
			return nil, err
		}
		leftKeys, rightKeys = append(leftKeys, l), append(rightKeys, k)
		equal, err := r.bind("=", l, k)
		if err != nil {
			return nil, err
		}
		if cond == nil {
			cond = equal
		} else if cond, err = r.bind("and", cond, equal); err != nil {
			return nil, err
		}
	}
	m.Cond = cond
	if m.Kind == plan.CrossJoin {
		m.Kind = plan.InnerJoin
	}
	return r.usingOutput(m, leftKeys, rightKeys)
}

func (r *resolver) usingKey(n plan.Node, name, side string) (*plan.Attribute, error) {
	found := newScope(n.Output(), r.CaseSensitive).named(name)
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return nil, ambiguous([]string{name}, found, nil)
	}
	var names []string
	for _, a := range n.Output() {
		names = append(names, plan.Quote(a.Name))
	}
	slices.Sort(names)
	list := strings.Join(names, ", ")
	return nil, plan.AnalysisError("UNRESOLVED_USING_COLUMN_FOR_JOIN",
		fmt.Sprintf("the %s side of the join has no column %s, only %s.", side, plan.Quote(name), list),
		"colName", plan.Quote(name), "side", side, "suggestion", list)
}

func (r *resolver) usingOutput(m *plan.Join, leftKeys, rightKeys []*plan.Attribute) (plan.Node, error) {
	if m.Kind == plan.SemiJoin || m.Kind == plan.AntiJoin {
		rest := absent(leftKeys, m.Left.Output())
		return plan.NewProject(m, append(attributeExprs(leftKeys), attributeExprs(rest)...)...), nil
	}
	out := newScope(m.Output(), r.CaseSensitive).attrs
	left, right := out[:len(m.Left.Output())], out[len(m.Left.Output()):]
	leftOut, rightOut := picked(left, leftKeys), picked(right, rightKeys)
	var keys []plan.Expr
	hidden := rightOut
	switch m.Kind {
	case plan.RightJoin:
		keys, hidden = attributeExprs(rightOut), leftOut
	case plan.FullJoin:
		hidden = append(slices.Clone(leftOut), rightOut...)
		for i, l := range leftOut {
			both, err := r.bind("coalesce", l, rightOut[i])
			if err != nil {
				return nil, err
			}
			keys = append(keys, &plan.Alias{Child: both, Names: []string{l.Name}, ID: r.IDs.Next()})
		}
	default:
		keys = attributeExprs(leftOut)
	}
	list := append(keys, attributeExprs(absent(leftKeys, left))...)
	list = append(list, attributeExprs(absent(rightKeys, right))...)
	return &shadow{plan.NewProject(m, list...), hidden}, nil
}

// picked are the attributes with the ids of keys, in the order of keys.
func picked(attrs, keys []*plan.Attribute) []*plan.Attribute {
	out := make([]*plan.Attribute, len(keys))
	for i, k := range keys {
		for _, a := range attrs {
			if a.ID == k.ID {
				out[i] = a
			}
		}
	}
	return out
}
