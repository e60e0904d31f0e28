package operators

import (
	"slices"

	"github.com/weir-dev/weir/internal/function/fn"
)

// Defs is the operators, and what decides by conditions.
func Defs() []*fn.Def {
	return slices.Concat(
		arithmeticDefs(),
		bitwiseDefs(),
		logicDefs(),
		predicateDefs(),
	)
}
