package numbers

import (
	"slices"

	"github.com/weir-dev/weir/internal/function/fn"
)

// Defs is the functions of numbers that are not operators.
func Defs() []*fn.Def {
	return slices.Concat(
		mathDefs(),
		roundDefs(),
	)
}
