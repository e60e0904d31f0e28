package text

import (
	"slices"

	"github.com/weir-dev/weir/internal/function/fn"
)

// Defs is the functions of texts, and of the documents in them.
func Defs() []*fn.Def {
	return slices.Concat(
		checkedDefs(),
		encodingDefs(),
		formatDefs(),
		jsonDefs(),
		csvDefs(),
		avroDefs(),
		jsonPathDefs(),
		regexDefs(),
		searchDefs(),
		stringBuildDefs(),
		stringDefs(),
	)
}
