package history

import (
	"context"
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// A Change is a verdict on a run, which holds from a moment on.
type Change struct {
	RunID string
	At    time.Time
	State health.State
}

// mostChanges is how many changes a reader gets, the newest.
const mostChanges = 100_000

// Changes are those of all runs since an instant, and the last of each before it, in the
// order of time. What changed in the last minute is not there yet.
func (s *Store) Changes(ctx context.Context, since time.Time) ([]Change, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	before := map[string]Change{}
	var out []Change
	byTime := func(a, b Change) int { return a.At.Compare(b.At) }
	w := span{columns: []string{"at", "run_id", "to_state"}}
	err := s.scan(ctx, healthTable, w, func(r *row) bool {
		c := Change{r.text("run_id"), r.instant("at"), health.State(r.text("to_state"))}
		if c.At.Before(since) {
			if c.At.After(before[c.RunID].At) {
				before[c.RunID] = c
			}
			return true
		}
		if out = append(out, c); len(out) > 2*mostChanges {
			slices.SortStableFunc(out, byTime)
			out = slices.Delete(out, 0, len(out)-mostChanges)
		}
		return true
	})
	for _, c := range before {
		out = append(out, c)
	}
	slices.SortStableFunc(out, byTime)
	return out, err
}
