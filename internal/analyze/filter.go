package analyze

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// filter resolves WHERE, and HAVING when what is filtered is an Aggregate.
func (r *resolver) filter(n *plan.Filter) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	return r.filtered(in, n.Cond, "WHERE", n.Origin)
}

// having filters groups. Without GROUP BY all rows are one group.
func (r *resolver) having(n *plan.Having) (plan.Node, error) {
	input := n.Input
	var origin *plan.Origin
	switch m := input.(type) {
	case *plan.Project:
		global := plan.NewAggregate(m.Input, nil, m.Exprs)
		global.FromSQL, global.Origin = true, m.Origin
		input, origin = global, m.Origin
	case *plan.Aggregate:
		origin = m.Origin
	}
	in, err := r.node(input)
	if err != nil {
		return nil, err
	}
	return r.filtered(in, n.Cond, "HAVING", origin)
}

func (r *resolver) filtered(in plan.Node, condition plan.Expr, where string, at *plan.Origin) (
	plan.Node, error) {
	x := r.over("Filter", in)
	lift := r.lift(x)
	cond, err := x.condition(condition, where, at)
	if err != nil {
		return nil, err
	}
	if hasWindow(cond) {
		return nil, windowInClause(where)
	}
	if cond, err = lift.finish(cond); err != nil {
		return nil, err
	}
	if hasAggregate(cond) {
		return nil, r.aggregateInWhere(cond, at)
	}
	if hasGenerator(cond) {
		return nil, outsideSelect("'Filter " + r.sqlText(cond))
	}
	below := lift.input(x.exposed(in))
	out, err := r.subqueryFilter(below, cond)
	if err != nil {
		return nil, err
	}
	return restrict(out, in.Output()), nil
}

// restrict drops the columns that were only needed below.
func restrict(n plan.Node, attrs []*plan.Attribute) plan.Node {
	if len(n.Output()) == len(attrs) {
		return n
	}
	return plan.NewProject(n, attributeExprs(attrs)...)
}

func (r *resolver) aggregateInWhere(cond plan.Expr, at *plan.Origin) error {
	var list []string
	plan.Walk(cond, func(e plan.Expr) bool {
		if a, ok := e.(*plan.AggregateCall); ok {
			list = append(list, plan.QualifiedText(a, r.Eval.Zone))
		}
		return true
	})
	err := plan.AnalysisError("INVALID_WHERE_CONDITION",
		fmt.Sprintf("WHERE %s holds aggregate functions, which are computed after it.", r.sqlText(cond)),
		"condition", r.sqlExpr(cond), "expressionList", strings.Join(list, ", "))
	err.Hint = "Use HAVING or filter before grouping."
	return err.At(at)
}

// lifted are expressions over a relation that may use more than its output:
// columns below a projection, and aggregates over an Aggregate's input.
type lifted struct {
	*resolver
	x *exprs
	// agg is the Aggregate that the relation stands on, nil when there is none.
	agg   *plan.Aggregate
	extra []plan.Expr
	known sameSet           // those of agg, then extra
	shown []*plan.Attribute // of the Aggregate, which the relation does not show
	need  []*plan.Attribute
}

// lift lets expressions over one input look below it.
func (r *resolver) lift(x *exprs) *lifted {
	l := &lifted{resolver: r, x: x, agg: aggregateBelow(x.inputs[0])}
	if l.agg != nil {
		x.below = r.over("Aggregate", l.agg.Input)
		x.lift = l
		for _, e := range l.agg.Exprs {
			l.known.add(e)
		}
	}
	x.missing = l.missing
	return l
}

// aggregateBelow is the Aggregate whose columns a relation shows as they are.
func aggregateBelow(n plan.Node) *plan.Aggregate {
	for {
		switch m := n.(type) {
		case *plan.Aggregate:
			return m
		case *tagged:
			n = m.input
		case *plan.Filter:
			n = m.Input
		case *plan.Project:
			for _, e := range m.Exprs {
				if _, ok := e.(*plan.Attribute); !ok && !m.Grouped {
					return nil
				}
			}
			n = m.Input
		default:
			return nil
		}
	}
}

// missing looks a column up that the relation does not output.
func (l *lifted) missing(n *plan.UnresolvedAttribute) (plan.Expr, error) {
	if l.agg != nil {
		e, err := l.x.below.lookup(n, false)
		if err != nil {
			return nil, errNotFound
		}
		// Only grouping expressions are known above an Aggregate: finish tells.
		return &plan.Call{Name: groupedRef, Args: []plan.Expr{e}, Of: e.Type(), Null: e.Nullable(),
			Text: "$1", Origin: n.Origin}, nil
	}
	node := l.x.inputs[0]
	for {
		children := node.Children()
		if _, stop := node.(*aliased); stop || len(children) != 1 {
			return nil, errNotFound
		}
		node = children[0]
		below := l.over("", node)
		e, err := below.lookup(n, false)
		if errors.Is(err, errNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		plan.Walk(e, func(p plan.Expr) bool {
			if a, ok := p.(*plan.Attribute); ok {
				l.need = append(l.need, absent(l.need, []*plan.Attribute{a})...)
			}
			return true
		})
		if _, ok := expose(l.x.inputs[0], l.need); !ok {
			return nil, errNotFound
		}
		return e, nil
	}
}

// groupedRef marks a column of an Aggregate's input in an expression over it.
const groupedRef = "grouped reference"

// keep makes the Aggregate compute a call, or a grouping expression, that an
// expression over it needs, and answers the column that holds it.
func (l *lifted) keep(e plan.Expr) plan.Expr {
	if have := l.known.find(e); have != nil {
		a := plan.ToAttribute(have)
		visible := slices.Concat(l.x.inputs[0].Output(), l.shown)
		l.shown = append(l.shown, absent(visible, []*plan.Attribute{a})...)
		return a
	}
	named := l.named(e)
	l.extra = append(l.extra, named)
	l.known.add(named)
	return plan.ToAttribute(named)
}

// finish turns an expression over an Aggregate's input into one over its
// output.
func (l *lifted) finish(e plan.Expr) (plan.Expr, error) {
	if l.agg == nil {
		return e, nil
	}
	return l.finishPart(e)
}

func (l *lifted) finishPart(e plan.Expr) (plan.Expr, error) {
	if c, ok := e.(*plan.Call); ok && c.Name == groupedRef {
		if plain := ungrouped(e); l.isGrouping(plain) {
			return l.keep(plain), nil
		}
		return nil, unresolvedColumn(attributeParts(c.Args[0]), l.x.scope.attrs, c.Origin)
	}
	if !hasGroupedRef(e) {
		return e, nil
	}
	if plain := ungrouped(e); l.isGrouping(plain) {
		return l.keep(plain), nil
	}
	children := e.Children()
	list := make([]plan.Expr, len(children))
	for i, c := range children {
		var err error
		if list[i], err = l.finishPart(c); err != nil {
			return nil, err
		}
	}
	return e.WithChildren(list), nil
}

func (l *lifted) isGrouping(e plan.Expr) bool {
	for _, g := range l.agg.Group {
		if sameExpr(unnamed(g), e) {
			return true
		}
	}
	return false
}

func hasGroupedRef(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool {
		c, ok := p.(*plan.Call)
		return ok && c.Name == groupedRef
	})
}

func ungrouped(e plan.Expr) plan.Expr {
	out, err := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		if c, ok := p.(*plan.Call); ok && c.Name == groupedRef {
			return c.Args[0], nil
		}
		return p, nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

// attributeParts is the name that a user wrote for a column, of the first one where
// there are several.
func attributeParts(e plan.Expr) []string {
	switch n := e.(type) {
	case *plan.Attribute:
		return []string{n.Name}
	case *plan.GetField:
		return append(attributeParts(n.Child), n.Name)
	}
	for _, c := range e.Children() {
		if parts := attributeParts(c); parts != nil {
			return parts
		}
	}
	return nil
}

// input is the relation with what the expressions need.
func (l *lifted) input(in plan.Node) plan.Node {
	if len(l.need) > 0 {
		out, ok := expose(in, l.need)
		if !ok {
			panic("a missing column cannot be reached")
		}
		in = out
	}
	if len(l.extra) == 0 && len(l.shown) == 0 {
		return in
	}
	return l.withExtra(in, append(toAttributes(l.extra), l.shown...))
}

// withExtra makes the Aggregate below a relation compute more, and shows what is
// wanted of it.
func (l *lifted) withExtra(n plan.Node, wanted []*plan.Attribute) plan.Node {
	if n == plan.Node(l.agg) {
		m := *l.agg
		m.Exprs = append(m.Exprs[:len(m.Exprs):len(m.Exprs)], l.extra...)
		return &m
	}
	in := l.withExtra(n.Children()[0], wanted)
	if p, ok := n.(*plan.Project); ok {
		more := attributeExprs(absent(p.Output(), wanted))
		m := plan.NewProject(in, append(p.Exprs[:len(p.Exprs):len(p.Exprs)], more...)...)
		m.Grouped = p.Grouped
		return m
	}
	return n.WithChildren([]plan.Node{in})
}

func toAttributes(list []plan.Expr) []*plan.Attribute {
	out := make([]*plan.Attribute, len(list))
	for i, e := range list {
		out[i] = plan.ToAttribute(e)
	}
	return out
}
