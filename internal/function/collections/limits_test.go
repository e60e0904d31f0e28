package collections

import (
	"errors"
	"math"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Spark 4.3 says the same about array_repeat(1, 2147483647).
func TestArrayRepeatHasSparksLimit(t *testing.T) {
	kernel, err := repeatMaker(&plan.Call{Of: plan.Array(plan.Int, false)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	times := chunk.New(plan.Int, 1)
	chunk.Append[int32](times, math.MaxInt32)
	_, err = kernel([]*chunk.Vector{times, times}, nil, 1)
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER" ||
		e.Args["numberOfElements"] != "2147483647" || e.Args["functionName"] != "`array_repeat`" {
		t.Errorf("%v", err)
	}
}
