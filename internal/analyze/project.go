package analyze

import (
	"fmt"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

func (r *resolver) project(n *plan.Project) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("Project", in)
	x.aliases, x.query = &lateral{}, n.Origin
	list, err := x.selectList(n.Exprs)
	if err != nil {
		return nil, err
	}
	in = x.exposed(in)
	if anyAggregate(list) {
		return r.grouped(&grouping{in: in, list: list, origin: n.Origin})
	}
	return r.projected(in, list)
}

// projected computes a resolved select list over a relation: generators become
// relations, names given by the list itself are computed below their uses.
func (r *resolver) projected(in plan.Node, list []plan.Expr) (plan.Node, error) {
	in, list, err := r.correlatedExprs(in, list)
	if err != nil {
		return nil, err
	}
	in, list, err = r.generators(in, list)
	if err != nil {
		return nil, err
	}
	in, list = r.lateralLevels(in, list)
	return plan.NewProject(in, list...), nil
}

func anyAggregate(list []plan.Expr) bool {
	for _, e := range list {
		if hasAggregate(e) {
			return true
		}
	}
	return false
}

func hasAggregate(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool {
		_, ok := p.(*plan.AggregateCall)
		return ok
	})
}

func isLateral(e plan.Expr) (*plan.Attribute, bool) {
	c, ok := e.(*plan.Call)
	if !ok || c.Name != lateralRef {
		return nil, false
	}
	return c.Args[0].(*plan.Attribute), true
}

func hasLateral(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool {
		_, ok := isLateral(p)
		return ok
	})
}

// lateralName is the first name of its own list that an expression uses.
func lateralName(e plan.Expr) string {
	name := ""
	plan.Walk(e, func(p plan.Expr) bool {
		if a, ok := isLateral(p); ok && name == "" {
			name = plan.Quote(a.Name)
		}
		return name == ""
	})
	return name
}

// lateralLevels puts the items that others of the same list use into
// projections of their own, as many as the uses are deep.
func (r *resolver) lateralLevels(in plan.Node, list []plan.Expr) (plan.Node, []plan.Expr) {
	level := make([]int, len(list))
	top := 0
	byID := map[plan.ExprID]int{}
	for i, e := range list {
		plan.Walk(e, func(p plan.Expr) bool {
			if a, ok := isLateral(p); ok {
				level[i] = max(level[i], level[byID[a.ID]]+1)
			}
			return true
		})
		top = max(top, level[i])
		if a, ok := e.(*plan.Alias); ok {
			byID[a.ID] = i
		}
	}
	if top == 0 {
		return in, list
	}
	out := make([]plan.Expr, len(list))
	for i, e := range list {
		out[i] = plainLateral(e)
	}
	for l := range top {
		exprs := attributeExprs(in.Output())
		for i, e := range out {
			if level[i] != l {
				continue
			}
			if a, ok := e.(*plan.Alias); ok {
				exprs = append(exprs, a)
				out[i] = plan.ToAttribute(a)
			}
		}
		in = plan.NewProject(in, exprs...)
	}
	return in, out
}

// plainLateral replaces the marks of names that the list gave by the columns
// that compute them.
func plainLateral(e plan.Expr) plan.Expr {
	out, err := plan.Transform(e, func(p plan.Expr) (plan.Expr, error) {
		if a, ok := isLateral(p); ok {
			return a, nil
		}
		return p, nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

// generator is the call of a function that yields rows, as an item of a select
// list.
func generator(e plan.Expr) (*plan.Call, *plan.Alias) {
	a, _ := e.(*plan.Alias)
	c, ok := unnamed(e).(*plan.Call)
	if !ok || !yieldsRows(c) {
		return nil, nil
	}
	return c, a
}

func yieldsRows(c *plan.Call) bool {
	d, ok := function.Lookup(c.Name)
	return ok && d.Generator
}

func hasGenerator(e plan.Expr) bool {
	return plan.Contains(e, func(p plan.Expr) bool {
		c, ok := p.(*plan.Call)
		return ok && yieldsRows(c)
	})
}

// generators moves the generators of a select list below it.
func (r *resolver) generators(in plan.Node, list []plan.Expr) (plan.Node, []plan.Expr, error) {
	var out []plan.Expr
	for i, e := range list {
		call, alias := generator(e)
		if call == nil {
			if hasGenerator(e) {
				return nil, nil, r.nestedGenerator(e)
			}
			if out != nil {
				out = append(out, e)
			}
			continue
		}
		for _, arg := range call.Args {
			if hasGenerator(arg) {
				return nil, nil, r.nestedGenerator(unnamed(e))
			}
		}
		if out == nil {
			out = append(make([]plan.Expr, 0, len(list)), list[:i]...)
		}
		if hasWindow(call) {
			return nil, nil, plan.Unsupported("rows made of a window function").At(call.Origin)
		}
		g, err := r.generated(in, call, alias)
		if err != nil {
			return nil, nil, err
		}
		in = g
		out = append(out, attributeExprs(g.Attrs)...)
	}
	if out == nil {
		return in, list, nil
	}
	return in, out, nil
}

func (r *resolver) nestedGenerator(e plan.Expr) error {
	return plan.AnalysisError("UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS",
		"a function that yields rows cannot stand inside an expression.", "expression", r.sqlExpr(unnamed(e)))
}

// generated runs a generator over a relation. Its columns have the names that
// the alias gives, or those of the function.
func (r *resolver) generated(in plan.Node, call *plan.Call, alias *plan.Alias) (*plan.Generate, error) {
	g := plan.NewGenerate(in, call, isOuter(call))
	var names []string
	if alias != nil && !alias.Generated {
		names = alias.Names
	}
	return g, r.generatorColumns(g, call, names)
}

// isOuter reports whether a generator keeps a row for which it yields nothing.
func isOuter(call *plan.Call) bool {
	return len(call.Name) > len("_outer") && call.Name[len(call.Name)-len("_outer"):] == "_outer"
}

// generatorColumns gives a Generate its columns. The generator's type is a
// struct with a field for each.
func (r *resolver) generatorColumns(g *plan.Generate, call *plan.Call, names []string) error {
	fields := call.Of.Fields
	if len(names) > 0 && len(names) != len(fields) {
		return plan.AnalysisError("UDTF_ALIAS_NUMBER_MISMATCH",
			fmt.Sprintf("%s yields %d columns, but %d names were given.", call.Name, len(fields), len(names)),
			"aliasesSize", fmt.Sprint(len(fields)), "aliasesNames", joinNames(names)).At(call.Origin)
	}
	g.Attrs = make([]*plan.Attribute, len(fields))
	for i, f := range fields {
		name := f.Name
		if len(names) > 0 {
			name = names[i]
		}
		g.Attrs[i] = r.attribute(name, f.Type, f.Nullable || g.Outer)
		if g.Qualifier != "" {
			g.Attrs[i].Qualifier = []string{g.Qualifier}
		}
	}
	return nil
}

func joinNames(names []string) string {
	out := ""
	for i, n := range names {
		if i > 0 {
			out += ","
		}
		out += n
	}
	return out
}

// generate resolves LATERAL VIEW.
func (r *resolver) generate(n *plan.Generate) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if err := r.noTableView(n); err != nil {
		return nil, err
	}
	x := r.over("Generate", in)
	e, err := x.expr(n.Generator)
	if err != nil {
		return nil, err
	}
	call, ok := e.(*plan.Call)
	if !ok || !yieldsRows(call) {
		return nil, plan.Unsupported("LATERAL VIEW of " + r.sqlText(e))
	}
	g := plan.NewGenerate(x.exposed(in), call, n.Outer || isOuter(call))
	g.Qualifier = n.Qualifier
	return g, r.generatorColumns(g, call, n.Names)
}
