package stream

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
)

// restingSource writes down what becomes of it.
type restingSource struct {
	gaugedSource
	rests, closes *int
}

func (s restingSource) Rest() { *s.rests++ }

func (s restingSource) Close() error {
	*s.closes++
	return nil
}

// resting makes a rig whose sources are asked for a day after the end of their query.
func resting(r *rig) (rests, closes *int) {
	rests, closes = new(int), new(int)
	r.registry = monitor.NewRegistry()
	r.manager = NewManager(r.registry, Options{Log: slog.New(slog.DiscardHandler), AskEnded: 24 * time.Hour})
	r.open = func(s countSource) connector.Source {
		return restingSource{gaugedSource{countSource: &s}, rests, closes}
	}
	return rests, closes
}

// What waits for a query that was stopped is told, and grows while rows arrive; the time
// since its last rows too.
func TestReportMN13(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		rests, closes := resting(r)
		q := r.mustStart(t)
		r.tapes["a"].put(1, 2, 3)
		process(t, q)
		pass(t, 10*time.Second)
		stop(t, q)
		arrive(t, r.tapes["a"], 5)
		was := 0.0
		for range 5 {
			pass(t, 2*time.Minute)
			a := q.Record().Health()
			if a.State != health.Stopped || a.Backlog.Rows < was+500 || a.BacklogSeconds < was/5 {
				t.Fatalf("%s: %v rows, %v s, and before %v rows", a.State, a.Backlog.Rows, a.BacklogSeconds, was)
			}
			was = a.Backlog.Rows
		}
		a := q.Record().Health()
		if len(a.Why) != 1 || !strings.Contains(a.Why[0], "rows wait in its sources; nothing was read for 10") {
			t.Errorf("said: %q", a.Why)
		}
		if *rests != 1 || *closes != 0 {
			t.Errorf("%d sources rest, %d are closed", *rests, *closes)
		}
		again := r.mustStart(t)
		process(t, again)
		pass(t, 5*time.Second)
		if a := again.Record().Health(); *closes != 1 || a.Backlog.Rows > 10 {
			t.Errorf("after the restart %d sources are closed and %v rows wait", *closes, a.Backlog.Rows)
		}
		if err := r.manager.StopAll(t.Context()); err != nil || *closes != 2 {
			t.Errorf("after the end %d sources are closed, %v", *closes, err)
		}
	})
}

// Sources do not rest when nobody would go on where the query was, and not for ever.
func TestWhoseSourcesAreClosed(t *testing.T) {
	for name, of := range map[string]struct {
		tune   func(r *rig)
		end    func(t *testing.T, r *rig, q *Query)
		rests  int
		closes int
	}{
		"stopped":  {func(*rig) {}, func(*testing.T, *rig, *Query) {}, 1, 0},
		"read all": {func(r *rig) { r.trigger.Kind = plan.AvailableNow }, func(*testing.T, *rig, *Query) {}, 0, 1},
		"temporary": {func(r *rig) { r.tune = func(c *Config) { c.Temporary = true } },
			func(*testing.T, *rig, *Query) {}, 0, 1},
		"after days": {func(*rig) {}, func(t *testing.T, _ *rig, _ *Query) { pass(t, 25*time.Hour) }, 1, 1},
		"dismissed": {func(*rig) {}, func(t *testing.T, _ *rig, q *Query) {
			q.Record().Dismiss(time.Now())
			pass(t, 2*time.Minute)
		}, 1, 1},
		"a source that cannot": {func(r *rig) {
			open := r.open
			r.open = func(s countSource) connector.Source { return open(s).(restingSource).gaugedSource }
		}, func(*testing.T, *rig, *Query) {}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				rests, closes := resting(r)
				of.tune(r)
				q := r.mustStart(t)
				r.tapes["a"].put(1)
				pass(t, 2*time.Second)
				stop(t, q)
				of.end(t, r, q)
				if *rests != of.rests || *closes != of.closes {
					t.Errorf("%d rest and %d are closed, want %d and %d", *rests, *closes, of.rests, of.closes)
				}
				if err := r.manager.StopAll(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestTheNewestRunsRest(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		rests, closes := resting(r)
		for i := range mostRested + 7 {
			r.place(fmt.Sprintf("/q%d", i))
			stop(t, r.mustStart(t))
			pass(t, time.Second)
		}
		if *rests != mostRested+7 || *closes != 7 {
			t.Errorf("%d rested, %d are closed", *rests, *closes)
		}
		if err := r.manager.StopAll(t.Context()); err != nil || *closes != mostRested+7 {
			t.Errorf("%d are closed at the end, %v", *closes, err)
		}
	})
}
