package collections

import (
	"slices"

	"github.com/weir-dev/weir/internal/function/fn"
)

// Defs is the functions of arrays, maps and structs, with the higher-order ones.
func Defs() []*fn.Def {
	return slices.Concat(
		arrayDefs(),
		collectionDefs(),
		foldDefs(),
		higherDefs(),
		higherMapDefs(),
		higherSortDefs(),
		insertDefs(),
		mapDefs(),
		mapJoinDefs(),
		setDefs(),
	)
}
