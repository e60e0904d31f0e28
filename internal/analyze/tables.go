package analyze

import (
	"context"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// Tables are the relations that a statement speaks of which changes rows: the
// table that it changes, and behind it the source of a MERGE. What the statement
// computes is resolved over some of them, told by their numbers.
type Tables struct {
	r     *resolver
	nodes []plan.Node
}

// Tables resolves the relations of a statement.
func (a *Analyzer) Tables(ctx context.Context, nodes ...plan.Node) (*Tables, error) {
	t := &Tables{r: &resolver{Analyzer: a, ctx: ctx, sources: map[sourceKey]int{}}}
	for _, n := range nodes {
		in, err := t.r.node(n)
		if err != nil {
			return nil, err
		}
		t.nodes = append(t.nodes, in)
	}
	return t, nil
}

// Target is the scan of the table that is changed, with its columns as they are
// named in expressions; nil when there is something else. shown says that all its
// columns are to be seen, filtered that some of its rows are not.
func (t *Tables) Target() (scan *plan.Scan, shown, filtered bool) {
	n := t.nodes[0]
	shown = true
	for {
		switch m := n.(type) {
		case *aliased:
			n = m.input
		case *tagged:
			n = m.input
		case *plan.Filter:
			n, filtered = m.Input, true
		case *plan.Project:
			shown = shown && passes(m)
			n = m.Input
		case *fileScan:
			return m.scan, shown, filtered
		case *plan.Scan:
			return m, shown, filtered
		default:
			return nil, shown, filtered
		}
	}
}

// passes reports whether a projection shows the columns below it as they are.
func passes(p *plan.Project) bool {
	in := p.Input.Output()
	if len(in) != len(p.Exprs) {
		return false
	}
	for i, e := range p.Exprs {
		if a, ok := e.(*plan.Attribute); !ok || a.ID != in[i].ID || a.Name != in[i].Name {
			return false
		}
	}
	return true
}

// Node is a relation.
func (t *Tables) Node(i int) plan.Node { return t.nodes[i] }

// Columns are those of some tables, under the names that expressions have for them.
func (t *Tables) Columns(over ...int) []*plan.Attribute {
	var out []*plan.Attribute
	for _, i := range over {
		out = append(out, t.nodes[i].Output()...)
	}
	return out
}

func (t *Tables) over(clause string, over []int) *exprs {
	nodes := make([]plan.Node, len(over))
	for k, i := range over {
		nodes[k] = t.nodes[i]
	}
	return t.r.over(clause, nodes...)
}

// Value resolves an expression over some tables.
func (t *Tables) Value(e plan.Expr, over ...int) (plan.Expr, error) {
	x := t.over("Project", over)
	out, err := x.expr(e)
	if err != nil {
		return nil, err
	}
	return unnamed(out), x.onlyShown()
}

// Condition resolves a predicate over some tables; where is WHERE or JOIN.
func (t *Tables) Condition(e plan.Expr, where string, over ...int) (plan.Expr, error) {
	x := t.over("Filter", over)
	out, err := x.condition(e, where, nil)
	if err != nil {
		return nil, err
	}
	return out, x.onlyShown()
}

// onlyShown refuses what a relation has beside its rows: a statement rewrites them
// and nothing else.
func (x *exprs) onlyShown() error {
	if len(x.used) > 0 {
		return plan.Unsupported("the hidden column " + x.used[0].Name + " in a statement that changes rows")
	}
	if len(x.windows) > 0 {
		return plan.Unsupported("a window of time in a statement that changes rows")
	}
	return nil
}

// Plain refuses what is not computed for a row by itself.
func (t *Tables) Plain(operator string, list ...plan.Expr) error {
	for _, e := range list {
		var bad plan.Expr
		plan.Walk(e, func(p plan.Expr) bool {
			switch n := p.(type) {
			case *plan.AggregateCall, *plan.Windowed:
				bad = p
			case *plan.Call:
				if yieldsRows(n) {
					bad = p
				}
			}
			return bad == nil
		})
		if bad != nil {
			return t.r.notComputedBy(operator, bad)
		}
	}
	return nil
}

// Conjuncts are the parts of a condition that AND joins, in a list of their own.
func Conjuncts(e plan.Expr) []plan.Expr { return slices.Clone(conjuncts(e)) }

// Aggregates reports whether an expression holds an aggregate function.
func Aggregates(e plan.Expr) bool { return hasAggregate(e) }

// HoldsSubquery reports whether an expression asks a query.
func HoldsSubquery(e plan.Expr) bool { return holdsSubquery(e) }

// Volatile reports whether an expression may be another one each time.
func Volatile(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool {
		switch n := p.(type) {
		case *plan.Call:
			return volatile(n)
		case *plan.PythonUDF:
			return !n.Deterministic
		default:
			return false
		}
	})
}

// Text is an expression as errors quote it.
func (t *Tables) Text(e plan.Expr) string { return t.r.sqlExpr(e) }

// Call binds a function of the shelf to resolved arguments.
func (a *Analyzer) Call(name string, args ...plan.Expr) (plan.Expr, error) {
	return (&resolver{Analyzer: a}).bind(name, args...)
}

// NewColumn is a column that nothing else has.
func (a *Analyzer) NewColumn(name string, t plan.Type) *plan.Attribute {
	return (&resolver{Analyzer: a}).attribute(name, t, true)
}

// Finish turns a tree over resolved relations and expressions into one that can
// be run, as Resolve does at its end.
func (a *Analyzer) Finish(n plan.Node) (plan.Node, error) { return rewrite(a, n) }
