package analyze

import (
	"context"
	"fmt"

	"github.com/weir-dev/weir/internal/plan"
)

// maxDepth bounds the nesting of relations and of expressions, views and
// subqueries included. Spark itself gives up somewhere near it.
const maxDepth = 4000

// Resolve turns an unresolved relation into one that satisfies plan.PL2.
// Commands are returned as they are: session resolves their queries.
func (a *Analyzer) Resolve(ctx context.Context, n plan.Node) (plan.Node, error) {
	if _, ok := n.(plan.Command); ok {
		return n, nil
	}
	r := &resolver{Analyzer: a, ctx: ctx, sources: map[sourceKey]int{}}
	n, err := r.node(n)
	if err != nil {
		return nil, err
	}
	return rewrite(a, n)
}

// resolver is one run of Resolve. Relations are resolved from the leaves up;
// what a relation's names may mean is its children's output.
type resolver struct {
	*Analyzer
	ctx     context.Context
	depth   int
	ctes    *cteScope
	sources map[sourceKey]int
	places  places
	// outer are the queries around the subquery being resolved, innermost last.
	outer []*exprs
	// rowless are expressions known to have no function in them that yields rows.
	rowless map[plan.Expr]bool
}

func (r *resolver) enter() error {
	r.depth++
	if r.depth > maxDepth {
		return plan.Unsupported(fmt.Sprintf("a query nested deeper than %d levels", maxDepth))
	}
	return nil
}

func (r *resolver) leave() { r.depth-- }

// node resolves a relation.
func (r *resolver) node(n plan.Node) (plan.Node, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	switch n := n.(type) {
	case *plan.Project:
		return r.project(n)
	case *plan.Filter:
		return r.filter(n)
	case *plan.Having:
		return r.having(n)
	case *plan.Aggregate:
		return r.aggregate(n)
	case *plan.Sort:
		return r.sort(n)
	case *plan.Limit:
		return r.limit(n)
	case *plan.Join:
		return r.join(n)
	case *plan.SetOp:
		return r.setOp(n)
	case *plan.Tagged:
		return r.tag(n)
	case *plan.SubqueryAlias:
		return r.subqueryAlias(n)
	case *plan.Dedup:
		return r.dedup(n)
	case *plan.Watermark:
		return r.watermark(n)
	case *plan.Observe:
		return r.observe(n)
	case *plan.Generate:
		return r.generate(n)
	case *plan.Repartition:
		return r.repartition(n)
	case *plan.Hint:
		return r.node(n.Input)
	case *plan.With:
		return r.with(n)
	default:
		return r.sugarOrLeaf(n)
	}
}

func (r *resolver) sugarOrLeaf(n plan.Node) (plan.Node, error) {
	switch n := n.(type) {
	case *plan.WithColumns:
		return r.withColumns(n)
	case *plan.RenameColumns:
		return r.renameColumns(n)
	case *plan.DropColumns:
		return r.dropColumns(n)
	case *plan.RenameAll:
		return r.renameAll(n)
	case *plan.ToSchema:
		return r.toSchema(n)
	case *plan.FillNA:
		return r.fillNA(n)
	case *plan.ReplaceNA:
		return r.replaceNA(n)
	case *plan.DropNA:
		return r.dropNA(n)
	case *plan.ShowString:
		return r.showString(n)
	case *plan.NamedTable:
		return r.namedTable(n)
	case *plan.Read:
		return r.read(n)
	case *plan.Scan:
		return r.scan(n, sourceKey{node: n}), nil
	case *plan.LocalData:
		return r.localData(n), nil
	case *plan.Range:
		m := *n
		m.Attr = r.attribute("id", plan.Long, false)
		return &m, nil
	case *plan.OneRow:
		return n, nil
	case *plan.InlineTable:
		return r.inlineTable(n)
	case *plan.TableFunction:
		return r.tableFunction(n)
	case *plan.CachedRemote:
		return r.cached(n)
	case *plan.MapPython:
		return r.mapPython(n)
	case *plan.GroupPython:
		return r.groupPython(n)
	case *plan.CogroupPython:
		return r.cogroupPython(n)
	case *plan.TransformPython:
		return r.transformPython(n)
	case *plan.StatePython:
		return r.statePython(n)
	default:
		return r.statisticOf(n)
	}
}

func (r *resolver) statisticOf(n plan.Node) (plan.Node, error) {
	switch n := n.(type) {
	case *plan.Statistics:
		return r.statistics(n)
	case *plan.PairStatistic:
		return r.pairStatistic(n)
	case *plan.Quantiles:
		return r.quantiles(n)
	case *plan.FrequentItems:
		return r.frequentItems(n)
	case *plan.CrossTable:
		return r.crossTable(n)
	case *plan.Transpose:
		return r.transpose(n)
	case *plan.Sample:
		return r.sample(n)
	case *plan.SampleBy:
		return r.sampleBy(n)
	case *plan.Unpivot:
		return r.unpivot(n)
	default:
		return nil, plan.Unsupported(fmt.Sprintf("the relation %T", n))
	}
}

// attribute is a new column.
func (r *resolver) attribute(name string, t plan.Type, null bool) *plan.Attribute {
	return &plan.Attribute{Name: name, Of: t, Null: null, ID: r.IDs.Next()}
}

// tagged is a resolved relation that a client's DataFrame of an id stands for.
// It lives until names are resolved.
type tagged struct {
	id    int64
	input plan.Node
}

func (n *tagged) Children() []plan.Node                { return []plan.Node{n.input} }
func (n *tagged) WithChildren(c []plan.Node) plan.Node { return &tagged{n.id, c[0]} }
func (n *tagged) Output() []*plan.Attribute            { return n.input.Output() }
func (r *resolver) tag(n *plan.Tagged) (plan.Node, error) {
	in, err := r.tagInput(n)
	if err != nil {
		return nil, err
	}
	return &tagged{n.ID, in}, nil
}

// shadow is a projection over columns that it does not show but that may be
// asked for by name: the second key of a USING join.
type shadow struct {
	*plan.Project
	hidden []*plan.Attribute
}

// qualifiedOnly is the metadata of hidden columns that only a qualified name or
// df.x finds, never a plain name. It stays inside of name lookup.
const qualifiedOnly = "qualified access only"

// marked are the columns of a shadow as name lookup sees them.
func (n *shadow) marked() []*plan.Attribute {
	out := make([]*plan.Attribute, len(n.hidden))
	for i, a := range n.hidden {
		b := *a
		b.Metadata = qualifiedOnly
		out[i] = &b
	}
	return out
}

// unmarked are hidden columns as they stand in a tree.
func unmarked(attrs []*plan.Attribute) []*plan.Attribute {
	out := make([]*plan.Attribute, len(attrs))
	for i, a := range attrs {
		out[i] = a
		if a.Metadata == qualifiedOnly {
			b := *a
			b.Metadata = ""
			out[i] = &b
		}
	}
	return out
}

func (n *shadow) WithChildren(c []plan.Node) plan.Node {
	return &shadow{plan.NewProject(c[0], n.Exprs...), n.hidden}
}

// hiddenColumns are the columns that a resolved relation has below its output
// and still answers for by name.
func hiddenColumns(n plan.Node) []*plan.Attribute {
	switch n := n.(type) {
	case *shadow:
		return n.marked()
	case *fileScan:
		return n.hidden
	case *tagged:
		return hiddenColumns(n.input)
	case *aliased:
		return qualified(hiddenColumns(n.input), n.name)
	case *plan.Project, *plan.Filter, *plan.Sort, *plan.Limit, *plan.Repartition, *plan.Watermark,
		*plan.Observe, *plan.Dedup, *plan.Generate, *plan.TimeWindow:
		return hiddenColumns(n.Children()[0])
	case *plan.Join:
		if n.Kind == plan.SemiJoin || n.Kind == plan.AntiJoin {
			return hiddenColumns(n.Left)
		}
		left, right := hiddenColumns(n.Left), hiddenColumns(n.Right)
		return append(left[:len(left):len(left)], right...)
	default:
		return nil
	}
}

func qualified(attrs []*plan.Attribute, name []string) []*plan.Attribute {
	out := make([]*plan.Attribute, len(attrs))
	for i, a := range attrs {
		b := *a
		b.Qualifier = name
		out[i] = &b
	}
	return out
}

// expose makes a resolved relation output attributes that it has below. It
// reports false when something in between hides them for good.
func expose(n plan.Node, want []*plan.Attribute) (plan.Node, bool) {
	missing := absent(n.Output(), want)
	if len(missing) == 0 {
		return n, true
	}
	switch n := n.(type) {
	case *plan.Project:
		in, ok := expose(n.Input, missing)
		return plan.NewProject(in, withAttributes(n.Exprs, missing)...), ok
	case *shadow:
		in, ok := expose(n.Input, missing)
		return plan.NewProject(in, withAttributes(n.Exprs, missing)...), ok
	case *fileScan:
		return n.showing(missing)
	case *plan.Aggregate:
		for _, a := range missing {
			if indexOf(n.Group, a) < 0 {
				return n, false
			}
		}
		m := *n
		m.Exprs = withAttributes(n.Exprs, missing)
		return &m, true
	case *plan.Join:
		return exposeJoin(n, missing)
	case *plan.Filter, *plan.Sort, *plan.Limit, *plan.Repartition, *plan.Watermark, *plan.Observe,
		*plan.Dedup, *plan.Generate, *plan.TimeWindow, *aliased, *tagged:
		in, ok := expose(n.Children()[0], missing)
		return n.WithChildren([]plan.Node{in}), ok
	default:
		return n, false
	}
}

func exposeJoin(n *plan.Join, want []*plan.Attribute) (plan.Node, bool) {
	sides := []plan.Node{n.Left, n.Right}
	for i, side := range sides {
		var mine []*plan.Attribute
		for _, a := range want {
			if len(absent(hiddenColumns(side), []*plan.Attribute{a})) == 0 {
				mine = append(mine, a)
			}
		}
		sides[i], _ = expose(side, mine)
	}
	m := n.WithChildren(sides)
	return m, len(absent(m.Output(), want)) == 0
}

// absent are the attributes of want that are not among have.
func absent(have, want []*plan.Attribute) []*plan.Attribute {
	var out []*plan.Attribute
	for _, w := range want {
		found := false
		for _, h := range have {
			found = found || h.ID == w.ID
		}
		if !found {
			out = append(out, w)
		}
	}
	return out
}

func withAttributes(list []plan.Expr, attrs []*plan.Attribute) []plan.Expr {
	out := list[:len(list):len(list)]
	for _, a := range attrs {
		out = append(out, a)
	}
	return out
}

func attributeExprs(attrs []*plan.Attribute) []plan.Expr {
	return withAttributes(make([]plan.Expr, 0, len(attrs)), attrs)
}
