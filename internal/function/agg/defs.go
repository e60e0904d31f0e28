package agg

import (
	"slices"

	"github.com/weir-dev/weir/internal/function/fn"
)

// Defs is the aggregate functions.
func Defs() []*fn.Def {
	return slices.Concat(
		approxDefs(),
		bitDefs(),
		distinctDefs(),
		histogramDefs(),
		joinDefs(),
		listDefs(),
		modeDefs(),
		momentDefs(),
		pairDefs(),
		percentileDefs(),
		pickDefs(),
		frequentDefs(),
		productDefs(),
		sumDefs(),
	)
}
