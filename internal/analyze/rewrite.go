package analyze

import "github.com/weir-dev/weir/internal/plan"

// rewrites are applied in order, each once, to a tree whose names are resolved.
func rewrites() []func(*Analyzer, plan.Node) (plan.Node, error) {
	return []func(*Analyzer, plan.Node) (plan.Node, error){
		cleanNames,
		checkCorrelation,
		normalAggregates,
		windowRelations,
		mergeProjections,
		pushFilters,
		sinkFilters,
		pruneColumns,
		offerFilters,
		offerLimits,
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
