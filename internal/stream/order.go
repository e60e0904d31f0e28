package stream

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// checkOrder refuses entries of the offset log of which the later is not the
// later one: a file put back from a copy, or one batch's in the place of
// another's. The ranges of what really ran are lost then, and going on would
// read rows again.
//
// No two batches of a run have one timestamp, so what says all that the entry
// before says is its copy. What an even older one says lies behind in time and
// in every source. A clock that was set back moves no source back, and a topic
// that was made anew moves no clock back: either alone is allowed.
func checkOrder(before, after *offsetEntry, id int64) *plan.Error {
	if before == nil || after == nil || after.timestampMs > before.timestampMs {
		return nil
	}
	same := len(after.sources) == len(before.sources)
	behind := false
	for i := 0; same && i < len(after.sources); i++ {
		a, b := after.sources[i].offset, before.sources[i].offset
		if a == b {
			continue
		}
		if ahead(a, b) {
			return nil
		}
		behind = true
	}
	copied := !behind && after.timestampMs == before.timestampMs && after.watermarkMs == before.watermarkMs
	if !same || !behind && !copied {
		return nil
	}
	e := illegalState("offsets/%d is a copy of an older batch's: nothing in it is later than "+
		"offsets/%d, and what batch %d read is lost.", id, id-1, id)
	e.Hint = "Restore the file from a copy of the checkpoint, or start with a new checkpoint."
	return e
}

// ahead tells whether an offset has any number that the other lacks or has
// smaller. Offsets are JSON of their sources' own shapes; in all of them a
// source that moves on counts something up.
func ahead(a, b connector.Offset) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a != "" && b == ""
	}
	return aheadOf(x, y)
}

func aheadOf(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return !ok || a > b
	case map[string]any:
		b, ok := b.(map[string]any)
		return !ok || slices.ContainsFunc(slices.Collect(maps.Keys(a)), func(key string) bool {
			other, found := b[key]
			return !found || aheadOf(a[key], other)
		})
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) > len(b) {
			return true
		}
		for i := range a {
			if aheadOf(a[i], b[i]) {
				return true
			}
		}
		return false
	}
	return fmt.Sprint(a) != fmt.Sprint(b)
}
