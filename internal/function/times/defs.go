package times

import (
	"slices"

	"github.com/weir-dev/weir/internal/function/fn"
)

// Defs is the functions of dates, timestamps and intervals.
func Defs() []*fn.Def {
	return slices.Concat(
		dateDefs(),
		dateFieldDefs(),
		intervalDefs(),
		timeConvDefs(),
		timeMakeDefs(),
	)
}
