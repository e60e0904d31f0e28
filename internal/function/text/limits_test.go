package text

import (
	"errors"
	"math"
	"testing"

	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// TestLengthsThatNoChunkHolds: one call must not take the memory of the whole
// server, nor more than the offsets of a column can count.
func TestLengthsThatNoChunkHolds(t *testing.T) {
	full := make([]byte, 3)
	for name, err := range map[string]error{
		"one text": func() error { _, _, err := repeatText(&fn.Env{}, nil, full, math.MaxInt32); return err }(),
		"the last": fn.Room(make([]byte, 1), math.MaxInt32),
		"pad":      fn.Room(nil, math.MaxInt32+1),
	} {
		var e *plan.Error
		if !errors.As(err, &e) || e.Class != plan.ClassJavaUnsupported {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := fn.Room(nil, math.MaxInt32); err != nil {
		t.Error(err)
	}
	out, ok, err := repeatText(&fn.Env{}, []byte("a"), []byte("bc"), -1)
	if string(out) != "a" || !ok || err != nil {
		t.Errorf("%q %v %v", out, ok, err)
	}
}
