package function_test

import (
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// TestSumsOfBothModesStandBesideEachOther: a call without ANSI once made every later one
// wrap around.
func TestSumsOfBothModesStandBesideEachOther(t *testing.T) {
	d, _ := function.Lookup("sum")
	most := chunk.Of(plan.Long, []int64{1<<63 - 1, 1})
	overflows := func(ansi bool) bool {
		acc, err := d.Accumulate(&plan.AggregateCall{Name: "sum", ANSI: ansi, Of: plan.Long,
			Args: []plan.Expr{&plan.Attribute{Of: plan.Long}}}, &function.Env{})
		if err != nil {
			t.Fatal(err)
		}
		return acc.Update([]int32{0, 0}, []*chunk.Vector{most}, nil, 1) != nil
	}
	for _, ansi := range []bool{true, false, true} {
		if overflows(ansi) != ansi {
			t.Errorf("ANSI %t: overflow is an error: %t", ansi, !ansi)
		}
	}
}
