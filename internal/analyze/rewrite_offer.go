package analyze

import (
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// offerFilters tells scans which conditions the plan asks of their rows, as far
// as Spark tells its readers: a column against constants, and what follows for
// columns that a condition cannot be true without. The filters stay where they
// are; but a reader that leaves rows out is what numInputRows of a stream counts.
func offerFilters(a *Analyzer, n plan.Node) (plan.Node, error) {
	r := &resolver{Analyzer: a}
	return r.offered(n, nil)
}

// offered is a node whose scans know the conditions asked of its rows.
func (r *resolver) offered(n plan.Node, asked []plan.Expr) (plan.Node, error) {
	switch m := n.(type) {
	case *plan.Scan:
		filters, err := r.readable(m, asked)
		if err != nil {
			return nil, err
		}
		scan := *m
		scan.Filters = filters
		return &scan, nil
	case *plan.Filter:
		if !mergeable(m.Cond) {
			asked = nil // its values depend on which rows it sees
			break
		}
		asked = append(slices.Clip(asked), conjuncts(m.Cond)...)
	case *plan.Watermark:
		asked = slices.DeleteFunc(slices.Clone(asked), func(p plan.Expr) bool {
			return overlap(plan.References(p), plan.References(m.Column))
		})
	case *plan.Project:
		asked = below(m, asked)
	case *plan.Join:
		return r.offeredJoin(m, asked)
	case *plan.TimeWindow:
		// Rows without a time have no window.
		there, err := r.bind("isnotnull", m.Time)
		if err != nil {
			return nil, err
		}
		asked = append(slices.Clip(asked), there)
	case *plan.Generate:
		var err error
		if asked, err = r.askedOf(m, asked); err != nil {
			return nil, err
		}
	default:
		asked = nil
	}
	children := slices.Clone(n.Children())
	for i, c := range children {
		var err error
		if children[i], err = r.offered(c, asked); err != nil {
			return nil, err
		}
	}
	if len(children) == 0 {
		return n, nil
	}
	return n.WithChildren(children), nil
}

// askedOf is what a generator asks of its input: without a list there are no
// rows, unless it is an outer one.
func (r *resolver) askedOf(g *plan.Generate, asked []plan.Expr) ([]plan.Expr, error) {
	if !mergeable(g.Generator) {
		return nil, nil
	}
	if g.Outer || len(g.Generator.Children()) != 1 {
		return asked, nil
	}
	there, err := r.bind("isnotnull", g.Generator.Children()[0])
	return append(slices.Clip(asked), there), err
}

// offeredJoin tells the sides of a join what it asks of their rows: those that
// fail its condition vanish, unless the join keeps them for themselves.
func (r *resolver) offeredJoin(n *plan.Join, asked []plan.Expr) (plan.Node, error) {
	var left, right []plan.Expr
	if n.Cond != nil {
		left = conjuncts(n.Cond)
		right = left
	}
	switch n.Kind {
	case plan.InnerJoin, plan.CrossJoin:
		left, right = slices.Concat(left, asked), slices.Concat(right, asked)
	case plan.SemiJoin:
		left = slices.Concat(left, asked)
	case plan.LeftJoin:
		left = asked
	case plan.RightJoin:
		right = asked
	default:
		left, right = nil, nil
	}
	l, err := r.offered(n.Left, left)
	if err != nil {
		return nil, err
	}
	rest, err := r.offered(n.Right, right)
	if err != nil {
		return nil, err
	}
	return n.WithChildren([]plan.Node{l, rest}), nil
}

func overlap(a, b map[plan.ExprID]bool) bool {
	for id := range a {
		if b[id] {
			return true
		}
	}
	return false
}

// below are the conditions in terms of a projection's input.
func below(p *plan.Project, asked []plan.Expr) []plan.Expr {
	defs := map[plan.ExprID]plan.Expr{}
	for _, e := range p.Exprs {
		if !mergeable(e) {
			return nil
		}
		if a, ok := e.(*plan.Alias); ok {
			defs[a.ID] = a
		}
	}
	out := make([]plan.Expr, len(asked))
	for i, cond := range asked {
		out[i] = substituted(cond, defs)
	}
	return out
}

// readable are the conditions that a reader of a scan can check.
func (r *resolver) readable(s *plan.Scan, asked []plan.Expr) ([]plan.Expr, error) {
	var filters []plan.Expr
	for _, cond := range asked {
		readable := isReadable(cond) && reads(s, cond)
		if readable {
			filters = append(filters, cond)
		}
		for _, a := range s.Attrs {
			if readable || !a.Null || !a.Of.IsAtomic() || !rejectsNull(cond, a.ID) {
				continue
			}
			there, err := r.bind("isnotnull", a)
			if err != nil {
				return nil, err
			}
			filters = append(filters, there)
		}
	}
	return filters, nil
}

// reads tells whether a condition is about columns of a scan only.
func reads(s *plan.Scan, cond plan.Expr) bool {
	refs := plan.References(cond)
	for _, a := range s.Attrs {
		delete(refs, a.ID)
	}
	return len(refs) == 0
}

// isReadable reports conditions of atomic columns against constants.
func isReadable(cond plan.Expr) bool {
	switch e := cond.(type) {
	case *plan.Attribute:
		return e.Of.Kind == plan.KindBoolean
	case *plan.Call:
		switch e.Name {
		case "and", "or", "not":
			return !slices.ContainsFunc(e.Args, func(a plan.Expr) bool { return !isReadable(a) })
		case "isnull", "isnotnull":
			_, column := e.Args[0].(*plan.Attribute)
			return column
		case "in", "startswith", "endswith", "contains":
			return isPlainColumn(e.Args[0]) && !slices.ContainsFunc(e.Args[1:], isNotConstant)
		case "like":
			return isPlainColumn(e.Args[0]) && isSimplePattern(e.Args[1])
		}
		if comparisons[e.Name] {
			return isPlainColumn(e.Args[0]) && !isNotConstant(e.Args[1]) ||
				isPlainColumn(e.Args[1]) && !isNotConstant(e.Args[0])
		}
	}
	return false
}

// isSimplePattern reports patterns that only ask for a beginning, an end, both,
// something within or the whole text.
func isSimplePattern(e plan.Expr) bool {
	l, ok := e.(*plan.Literal)
	if !ok {
		return false
	}
	pattern, ok := l.Value.(string)
	if !ok || strings.ContainsAny(pattern, `_\`) {
		return false
	}
	wild := strings.Count(pattern, "%")
	return wild <= 1 || wild == 2 && strings.HasPrefix(pattern, "%") && strings.HasSuffix(pattern, "%")
}

var comparisons = map[string]bool{
	"=": true, "<=>": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true,
}

func isPlainColumn(e plan.Expr) bool {
	a, ok := e.(*plan.Attribute)
	return ok && a.Of.IsAtomic()
}

// isNotConstant looks through conversions of constants.
func isNotConstant(e plan.Expr) bool {
	for {
		c, ok := e.(*plan.Cast)
		if !ok {
			break
		}
		e = c.Child
	}
	_, ok := e.(*plan.Literal)
	return !ok
}

// rejectsNull reports whether a condition cannot be true where a column is NULL.
func rejectsNull(cond plan.Expr, id plan.ExprID) bool {
	switch e := cond.(type) {
	case *plan.Attribute:
		return e.ID == id
	case *plan.Cast:
		return rejectsNull(e.Child, id)
	case *plan.Call:
		if e.Name == "isnotnull" || strict[e.Name] {
			return slices.ContainsFunc(e.Args, func(a plan.Expr) bool { return rejectsNull(a, id) })
		}
	}
	return false
}

// strict are calls that are NULL when an argument is. Those of conditions count;
// others need not be named.
var strict = map[string]bool{
	"=": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true, "+": true, "-": true, "*": true,
	"/": true, "%": true, "like": true, "rlike": true, "startswith": true, "endswith": true, "contains": true,
	"date + days": true, "date + months": true, "date + interval": true, "timestamp + months": true,
	"timestamp + interval": true, "date - date": true, "timestamp - timestamp": true,
	"length": true, "substring": true, "upper": true, "lower": true, "trim": true, "not": true,
}
