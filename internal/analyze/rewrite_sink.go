package analyze

import (
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// sinkFilters moves conditions over streams down as far as Spark's optimizer does.
// In a batch query nobody would see it; in a stream, rows that a condition far
// above rules out do not count for a watermark below it, and no operator in
// between keeps them.
func sinkFilters(a *Analyzer, n plan.Node) (plan.Node, error) {
	if !plan.Streaming(n) {
		return n, nil
	}
	s := &sinking{r: &resolver{Analyzer: a}}
	out := s.node(s.timed(n), nil)
	return out, s.err
}

// timed says of joins whose rows get a window that their time is not NULL, by which an
// outer one may become another kind.
func (s *sinking) timed(n plan.Node) plan.Node {
	out, _ := plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		w, ok := m.(*plan.TimeWindow)
		if !ok || s.err != nil {
			return m, nil
		}
		time, ok := w.Time.(*plan.Attribute)
		if !ok || !time.Null || !overJoin(w.Input) {
			return m, nil
		}
		return w.WithChildren([]plan.Node{s.filtered(w.Input, []plan.Expr{s.bind("isnotnull", time)})}), nil
	})
	return out
}

func overJoin(n plan.Node) bool {
	switch m := n.(type) {
	case *plan.Join:
		return m.Kind == plan.LeftJoin || m.Kind == plan.RightJoin || m.Kind == plan.FullJoin
	case *plan.Project, *plan.SubqueryAlias, *plan.Filter:
		return overJoin(m.Children()[0])
	}
	return false
}

// needless is the kind of join that is left of an outer one when rows with NULLs in the
// place of a partner are ruled out above it.
func needless(n *plan.Join, asked []plan.Expr) plan.JoinType {
	matched := func(side plan.Node) bool {
		return slices.ContainsFunc(side.Output(), func(a *plan.Attribute) bool {
			return slices.ContainsFunc(asked, func(e plan.Expr) bool { return rejectsNull(e, a.ID) })
		})
	}
	left, right := matched(n.Left), matched(n.Right)
	switch {
	case n.Kind == plan.LeftJoin && right, n.Kind == plan.RightJoin && left,
		n.Kind == plan.FullJoin && left && right:
		return plan.InnerJoin
	case n.Kind == plan.FullJoin && left:
		return plan.LeftJoin
	case n.Kind == plan.FullJoin && right:
		return plan.RightJoin
	}
	return n.Kind
}

// sinking moves conditions. The first error stays.
type sinking struct {
	r   *resolver
	err error
}

// filtered is a node with conditions right above it.
func (s *sinking) filtered(n plan.Node, parts []plan.Expr) plan.Node {
	if len(parts) == 0 || s.err != nil {
		return n
	}
	cond, err := s.r.conjunction(parts)
	if err != nil {
		s.err = err
		return n
	}
	return plan.NewFilter(n, cond)
}

// movable conditions say the same of a row wherever they are asked.
func movable(e plan.Expr) bool {
	return plan.Walk(e, func(p plan.Expr) bool {
		switch n := p.(type) {
		case *plan.PythonUDF:
			return n.Deterministic
		case *plan.Subquery:
			return false
		case *plan.Call:
			return !volatile(n)
		default:
			return true
		}
	})
}

// parted divides conditions into those that pass a test and those that do not.
func parted(list []plan.Expr, test func(plan.Expr) bool) (yes, no []plan.Expr) {
	for _, e := range list {
		if test(e) {
			yes = append(yes, e)
		} else {
			no = append(no, e)
		}
	}
	return yes, no
}

// node is a node of whose rows movable conditions are asked, which stand as low as
// they can.
func (s *sinking) node(n plan.Node, asked []plan.Expr) plan.Node {
	if !plan.Streaming(n) || s.err != nil {
		return s.filtered(n, asked)
	}
	down, stay := asked, []plan.Expr(nil)
	switch m := n.(type) {
	case *plan.Filter:
		return s.filter(m, asked)
	case *plan.Join:
		return s.join(m, asked)
	case *plan.SetOp:
		return s.setOp(m, asked)
	case *plan.Project:
		down, stay = throughProject(m, asked)
	case *plan.Aggregate:
		down, stay = throughAggregate(m, asked)
	case *plan.Watermark:
		time := plan.References(m.Column)
		stay, down = parted(asked, func(e plan.Expr) bool { return overlap(plan.References(e), time) })
	case *plan.TimeWindow:
		down, stay = parted(asked, func(e plan.Expr) bool { return from(e, m.Input.Output()) })
	case *plan.Generate:
		down, stay = s.throughGenerate(m, asked)
	case *plan.Repartition, *plan.SubqueryAlias, *plan.Sort:
	default:
		down, stay = nil, asked
	}
	children := slices.Clone(n.Children())
	for i, c := range children {
		children[i] = s.node(c, down)
	}
	if len(children) > 0 {
		n = n.WithChildren(children)
	}
	return s.filtered(n, stay)
}

// filter is a condition that moves on with those above it, unless its value
// depends on which rows it sees.
func (s *sinking) filter(n *plan.Filter, asked []plan.Expr) plan.Node {
	down, rest := parted(conjuncts(n.Cond), movable)
	if len(rest) == 0 {
		return s.node(n.Input, slices.Concat(down, asked))
	}
	volatileRest := slices.ContainsFunc(rest, func(e plan.Expr) bool {
		return plan.Contains(e, func(p plan.Expr) bool {
			c, ok := p.(*plan.Call)
			return ok && volatile(c)
		})
	})
	if !volatileRest {
		return s.filtered(s.node(n.Input, slices.Concat(down, asked)), rest)
	}
	return s.filtered(s.filtered(s.node(n.Input, down), rest), asked)
}

// throughProject is conditions in terms of a projection's input. Those about what
// Python computes stay.
func throughProject(n *plan.Project, asked []plan.Expr) (down, stay []plan.Expr) {
	defs, ok := definitions(n.Exprs)
	if !ok {
		return nil, asked
	}
	for _, e := range asked {
		moved := unnamed(substituted(e, defs))
		if mergeable(moved) || !mergeable(e) {
			down = append(down, moved)
		} else {
			stay = append(stay, e)
		}
	}
	return down, stay
}

// throughGenerate is conditions on the rows that a generator gets. One that gives no
// rows for an empty list asks for some, as far as a watermark below could tell.
func (s *sinking) throughGenerate(n *plan.Generate, asked []plan.Expr) (down, stay []plan.Expr) {
	if !movable(n.Generator) {
		return nil, asked
	}
	down, stay = parted(asked, func(e plan.Expr) bool { return from(e, n.Input.Output()) })
	call, ok := n.Generator.(*plan.Call)
	if !ok || n.Outer || len(call.Args) != 1 || !watermarked(n.Input) || !explodes[call.Name] {
		return down, stay
	}
	list, ok := call.Args[0].(*plan.Attribute)
	if !ok {
		return down, stay
	}
	some := s.bind(">", s.bind("size", list), plan.Lit(int64(0), plan.Int))
	return append(slices.Clone(down), some, s.bind("isnotnull", list)), stay
}

// explodes are generators that give a row for each element.
var explodes = map[string]bool{"explode": true, "posexplode": true, "inline": true}

// bind is resolver.bind whose first error stays.
func (s *sinking) bind(name string, args ...plan.Expr) plan.Expr {
	if s.err != nil {
		return nil
	}
	var e plan.Expr
	e, s.err = s.r.bind(name, args...)
	return e
}

// throughAggregate is conditions on whole groups in terms of the aggregation's
// input.
func throughAggregate(n *plan.Aggregate, asked []plan.Expr) (down, stay []plan.Expr) {
	if n.Kind != plan.GroupBy || len(n.Group) == 0 {
		return nil, asked
	}
	defs, ok := definitions(n.Exprs)
	if !ok {
		return nil, asked
	}
	in := n.Input.Output()
	for _, e := range asked {
		moved := unnamed(substituted(e, defs))
		aggregated := plan.Contains(moved, func(p plan.Expr) bool { _, ok := p.(*plan.AggregateCall); return ok })
		if !aggregated && from(moved, in) {
			down = append(down, moved)
		} else {
			stay = append(stay, e)
		}
	}
	return down, stay
}

// setOp asks conditions of every input of a union, and of the rows that EXCEPT
// takes from.
func (s *sinking) setOp(n *plan.SetOp, asked []plan.Expr) plan.Node {
	inputs := slices.Clone(n.Inputs)
	for i, in := range inputs {
		var down []plan.Expr
		if n.Kind != plan.Intersect && (i == 0 || n.All) {
			down = readdressed(asked, n.Attrs, in.Output())
		}
		inputs[i] = s.node(in, down)
	}
	m := n.WithChildren(inputs)
	if n.Kind == plan.Intersect {
		return s.filtered(m, asked)
	}
	return m
}

// readdressed is conditions about other columns in the same places.
func readdressed(list []plan.Expr, old, fresh []*plan.Attribute) []plan.Expr {
	to := map[plan.ExprID]*plan.Attribute{}
	for i, a := range old {
		to[a.ID] = fresh[i]
	}
	out := make([]plan.Expr, len(list))
	for i, e := range list {
		// Attributes are only put in the place of others.
		out[i], _ = plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
			if a, ok := p.(*plan.Attribute); ok && to[a.ID] != nil {
				return to[a.ID], nil
			}
			return p, nil
		})
	}
	return out
}

// join asks of both sides what the conditions above and its own say of each, and
// of a side whose rows have to match what follows from it.
func (s *sinking) join(n *plan.Join, asked []plan.Expr) plan.Node {
	if kind := needless(n, asked); kind != n.Kind {
		was := n.Kind
		less := *n
		less.Kind, less.Was = kind, &was
		n = &less
	}
	left, right, stay := split2(asked, n, whereSides(n.Kind))
	var own []plan.Expr
	if n.Cond != nil {
		own = conjuncts(n.Cond)
	}
	m := *n
	if n.Kind == plan.InnerJoin || n.Kind == plan.CrossJoin {
		// What is about both sides is a condition of the join.
		var both []plan.Expr
		both, stay = parted(stay, func(e plan.Expr) bool { return mergeable(e) && len(plan.References(e)) > 0 })
		if own = slices.Concat(own, both); len(both) > 0 {
			m.Kind = plan.InnerJoin
		}
	}
	ownLeft, ownRight, rest := split2(own, n, onSides(n.Kind))
	known := slices.Concat(left, right, own)
	to := onSides(n.Kind)
	if to.left {
		left = append(slices.Concat(left, ownLeft), s.following(n.Left, n.Right, known)...)
	}
	if to.right {
		right = append(slices.Concat(right, ownRight), s.following(n.Right, n.Left, known)...)
	}
	m.Left, m.Right = s.node(n.Left, left), s.node(n.Right, right)
	m.Cond = nil
	if len(rest) > 0 && s.err == nil {
		m.Cond, s.err = s.r.conjunction(rest)
	}
	if m.Kind == plan.SemiJoin || m.Kind == plan.AntiJoin {
		return s.filtered(s.sinkSemi(&m), stay)
	}
	return s.filtered(&m, stay)
}

// split2 is split for conditions in parts.
func split2(list []plan.Expr, j *plan.Join, to sides) (left, right, rest []plan.Expr) {
	for _, e := range list {
		l, r, other := split(e, j, to)
		left, right, rest = append(left, l...), append(right, r...), append(rest, other...)
	}
	return left, right, rest
}

// following is what a side of a join is asked because rows of the other have to
// match it: values in what must not be NULL, and of keys what is known of those
// that they equal. Only a watermark, a state or a reader below could tell.
func (s *sinking) following(side, other plan.Node, known []plan.Expr) []plan.Expr {
	if !plan.Streaming(side) {
		return nil
	}
	columns := side.Output()
	var out []plan.Expr
	for _, e := range slices.Concat(known, facts(other)) {
		moved := s.overKeys(e, columns, known)
		if moved != nil && !slices.ContainsFunc(known, func(k plan.Expr) bool { return sameExpr(k, moved) }) {
			out = append(out, moved)
		}
	}
	if !watermarked(side) && !keeping(side) {
		return out
	}
	for _, a := range columns {
		rejected := slices.ContainsFunc(known, func(e plan.Expr) bool { return rejectsNull(e, a.ID) })
		own := slices.ContainsFunc(known, func(e plan.Expr) bool {
			return from(e, columns) && rejectsNull(e, a.ID)
		})
		if a.Null && rejected && !own {
			out = append(out, s.bind("isnotnull", a))
		}
	}
	return out
}

// overKeys is a condition on one column in terms of the key among columns that
// equals it, nil without one.
func (s *sinking) overKeys(e plan.Expr, columns []*plan.Attribute, known []plan.Expr) plan.Expr {
	refs := plan.References(e)
	if len(refs) != 1 || from(e, columns) {
		return nil
	}
	for _, eq := range known {
		c, ok := eq.(*plan.Call)
		if !ok || c.Name != "=" {
			continue
		}
		a, okA := c.Args[0].(*plan.Attribute)
		b, okB := c.Args[1].(*plan.Attribute)
		if !okA || !okB {
			continue
		}
		if refs[a.ID] {
			a, b = b, a
		}
		if refs[b.ID] && from(a, columns) {
			return readdressed([]plan.Expr{e}, []*plan.Attribute{b}, []*plan.Attribute{a})[0]
		}
	}
	return nil
}

// watermarked tells whether a stream has a watermark.
func watermarked(n plan.Node) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool { _, ok := m.(*plan.Watermark); return !ok })
}

// keeping tells whether a stream has groups in a state.
func keeping(n plan.Node) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool { _, ok := m.(*plan.Aggregate); return !ok })
}

// facts are conditions that every row of a relation meets. Rows that travelled with
// the plan are filtered before anything is concluded, so nothing is.
func facts(n plan.Node) []plan.Expr {
	switch m := n.(type) {
	case *plan.Filter:
		if isLocal(m) {
			return nil
		}
		conds, _ := parted(conjuncts(m.Cond), movable)
		return append(facts(m.Input), conds...)
	case *plan.Project:
		return factsOver(m.Exprs, facts(m.Input))
	case *plan.Aggregate:
		return factsOver(m.Exprs, facts(m.Input))
	case *plan.SubqueryAlias, *plan.Repartition, *plan.Sort, *plan.Watermark, *plan.Dedup:
		return facts(m.Children()[0])
	case *plan.Join:
		switch m.Kind {
		case plan.InnerJoin, plan.CrossJoin:
			return append(facts(m.Left), facts(m.Right)...)
		case plan.LeftJoin, plan.SemiJoin, plan.AntiJoin:
			return facts(m.Left)
		case plan.RightJoin:
			return facts(m.Right)
		}
	}
	return nil
}

// factsOver are those of facts that are about columns which a relation passes on,
// under any name.
func factsOver(named, facts []plan.Expr) []plan.Expr {
	var old, fresh []*plan.Attribute
	for _, e := range named {
		if a, ok := unnamed(e).(*plan.Attribute); ok {
			old, fresh = append(old, a), append(fresh, plan.ToAttribute(e))
		}
	}
	about, _ := parted(facts, func(e plan.Expr) bool { return from(e, old) })
	return readdressed(about, old, fresh)
}

// isLocal tells of a relation that Spark computes while it optimizes.
func isLocal(n plan.Node) bool {
	switch m := n.(type) {
	case *plan.LocalData:
		return true
	case *plan.Filter, *plan.Project, *plan.Limit, *plan.SubqueryAlias:
		return isLocal(m.Children()[0])
	default:
		return false
	}
}
