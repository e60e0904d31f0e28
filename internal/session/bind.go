package session

import (
	"maps"

	"github.com/weir-dev/weir/internal/plan"
)

// binder gives the tables and views of a plan that is not analysed the meaning
// they have now: temporary views are replaced by their relations, tables of the
// catalog get their full names. What it does not find stays, and analysis
// reports it.
type binder struct {
	session         *Session
	catalog, schema string // where names of one part are looked for
	temps           bool   // temporary views are seen
	temporary       []string
	hidden          map[string]bool // names of WITH in force
}

func newBinder(s *Session, temps bool) *binder {
	b := &binder{session: s, temps: temps}
	b.catalog, b.schema = s.current()
	return b
}

func (b *binder) node(n plan.Node) plan.Node {
	switch n := n.(type) {
	case nil:
		return nil
	case *plan.NamedTable:
		return b.named(n)
	case *plan.With:
		return b.with(n)
	}
	children := n.Children()
	if len(children) > 0 {
		bound := make([]plan.Node, len(children))
		for i, c := range children {
			bound[i] = b.node(c)
		}
		n = n.WithChildren(bound)
	}
	return b.exprsOf(n)
}

func (b *binder) named(n *plan.NamedTable) plan.Node {
	if len(n.Name) == 1 && b.hidden[fold(n.Name[0])] {
		return n
	}
	if v := b.session.findView(n.Name); v != nil && b.temps {
		b.temporary = n.Name
		return aliased(v.plan, n.Name)
	}
	id, err := b.session.engine.tableID(n.Name, b.catalog, b.schema)
	if err != nil || b.session.engine.find(id) == nil {
		return n
	}
	m := *n
	m.Name = id.Parts()
	return &m
}

// aliased is a view's relation under the view's name.
func aliased(n plan.Node, name []string) plan.Node {
	parts := make([]string, len(name))
	for i, p := range name {
		parts[i] = fold(p)
	}
	return plan.NewAlias(n, parts...)
}

func (b *binder) with(n *plan.With) plan.Node {
	outer := b.hidden
	defer func() { b.hidden = outer }()
	m := &plan.With{}
	for _, d := range n.Defs {
		d.Query = b.node(d.Query)
		m.Defs = append(m.Defs, d)
		b.hidden = maps.Clone(b.hidden)
		if b.hidden == nil {
			b.hidden = map[string]bool{}
		}
		b.hidden[fold(d.Name)] = true
	}
	m.Input = b.node(n.Input)
	return m
}

// exprsOf binds the queries inside a node's expressions.
func (b *binder) exprsOf(n plan.Node) plan.Node {
	switch n := n.(type) {
	case *plan.Project:
		m := *n
		m.Exprs = b.exprs(n.Exprs)
		return &m
	case *plan.Filter:
		m := *n
		m.Cond = b.expr(n.Cond)
		return &m
	case *plan.Having:
		m := *n
		m.Cond = b.expr(n.Cond)
		return &m
	case *plan.Aggregate:
		m := *n
		m.Group, m.Exprs = b.exprs(n.Group), b.exprs(n.Exprs)
		return &m
	case *plan.Join:
		m := *n
		m.Cond = b.expr(n.Cond)
		return &m
	default:
		return n
	}
}

func (b *binder) exprs(list []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, len(list))
	for i, e := range list {
		out[i] = b.expr(e)
	}
	return out
}

func (b *binder) expr(e plan.Expr) plan.Expr {
	if e == nil {
		return nil
	}
	// The rewrite itself never fails.
	bound, _ := plan.Transform(e, func(e plan.Expr) (plan.Expr, error) {
		s, ok := e.(*plan.Subquery)
		if !ok || s.Plan == nil {
			return e, nil
		}
		m := *s
		m.Plan = b.node(s.Plan)
		return &m, nil
	})
	return bound
}
