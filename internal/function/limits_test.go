package function

import (
	"errors"
	"math"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// TestLengthsThatNoChunkHolds: one call must not take the memory of the whole
// server, nor more than the offsets of a column can count.
func TestLengthsThatNoChunkHolds(t *testing.T) {
	full := make([]byte, 3)
	for name, err := range map[string]error{
		"one text": func() error { _, _, err := repeatText(nil, full, math.MaxInt32); return err }(),
		"the last": room(make([]byte, 1), math.MaxInt32),
		"pad":      room(nil, math.MaxInt32+1),
	} {
		var e *plan.Error
		if !errors.As(err, &e) || e.Class != plan.ClassJavaUnsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := room(nil, math.MaxInt32); err != nil {
		t.Error(err)
	}
	if out, ok, err := repeatText([]byte("a"), []byte("bc"), -1); string(out) != "a" || !ok || err != nil {
		t.Errorf("%q %v %v", out, ok, err)
	}
}

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
