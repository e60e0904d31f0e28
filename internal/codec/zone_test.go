package codec

import (
	"testing"
	"time"
)

// The offset of an instant does not depend on the instants that were asked for
// before, also shortly before and at a change of the clock.
func TestOffsetsAroundChangesOfTheClock(t *testing.T) {
	for _, c := range []struct{ zone, change string }{
		{"Pacific/Apia", "2011-12-30T10:00:00Z"}, {"Europe/Berlin", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-10-25T01:00:00Z"}, {"America/Los_Angeles", "2026-03-08T10:00:00Z"},
		{"America/New_York", "2024-12-31T23:30:00Z"}, {"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
	} {
		loc, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		change, err := time.Parse(time.RFC3339, c.change)
		if err != nil {
			t.Fatal(err)
		}
		for first := int64(-7200); first <= 7200; first += 600 {
			for then := int64(-7200); then <= 7200; then += 300 {
				o := NewOffsets(loc)
				o.At(change.Unix() + first)
				at := change.Unix() + then
				if _, want := time.Unix(at, 0).In(loc).Zone(); o.At(at) != int64(want) {
					t.Errorf("%s: %d s after the change, asked after %d s: offset %d, want %d",
						c.zone, then, first, o.At(at), want)
				}
			}
		}
	}
}
