package analyze

import "github.com/weir-dev/weir/internal/plan"

// rewrites are applied in order, each once, to a tree whose names are resolved.
func rewrites() []func(*Analyzer, plan.Node) (plan.Node, error) {
	return []func(*Analyzer, plan.Node) (plan.Node, error){
		cleanNames,
		checkCorrelation,
		normalAggregates,
		mergeProjections,
		pushFilters,
		pruneColumns,
	}
}

func rewrite(a *Analyzer, n plan.Node) (plan.Node, error) {
	for _, fn := range rewrites() {
		var err error
		if n, err = fn(a, n); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// eachExpr rewrites the expressions of every relation of a tree, those in
// subqueries too.
func eachExpr(n plan.Node, fn func(plan.Expr) (plan.Expr, error)) (plan.Node, error) {
	return plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		list := nodeExprs(m)
		var changed []plan.Expr
		for i, e := range list {
			f, err := plan.Transform(e, fn)
			if err != nil {
				return nil, err
			}
			if f != e && changed == nil {
				changed = append([]plan.Expr(nil), list...)
			}
			if changed != nil {
				changed[i] = f
			}
		}
		if changed == nil {
			return m, nil
		}
		return withExprs(m, changed), nil
	})
}
