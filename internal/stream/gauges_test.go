package stream

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
)

// gaugedSource tells what waits on its tape.
type gaugedSource struct {
	*countSource
	ask func(ctx context.Context) error // nil or what it does first
}

func (s gaugedSource) Gauge() connector.Gauge { return s }

func (s gaugedSource) Limited() bool { return s.limit > 0 }

func (s gaugedSource) Backlog(ctx context.Context, committed connector.Offset) (connector.Backlog, error) {
	if s.ask != nil {
		if err := s.ask(ctx); err != nil {
			return connector.Backlog{}, err
		}
	}
	return connector.Backlog{
		Rows: float64(s.tape.len() - at(committed)), ReadRows: float64(at(committed)),
		Bytes: math.NaN(), Files: math.NaN(), ReadBytes: math.NaN(), ReadFiles: math.NaN(), UntilLoss: math.NaN(),
	}, nil
}

// arrive puts rows on a tape every second, until the test ends.
func arrive(t *testing.T, tape *tape, perSecond int) {
	ticker := time.NewTicker(time.Second)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				tape.put(make([]int64, perSecond)...)
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() { ticker.Stop(); close(done) })
}

// pass lets time pass in a bubble.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// A query whose limit is below what arrives looks healthy by its own rates.
func TestACappedQueryFallsBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.limit, r.trigger = 10, Trigger{Kind: plan.ProcessingTime, Every: time.Second}
		r.open = func(s countSource) connector.Source { return gaugedSource{countSource: &s} }
		var logged bytes.Buffer
		r.log = slog.New(slog.NewTextHandler(&logged, nil))
		q := r.mustStart(t)
		arrive(t, r.tapes["a"], 15)
		pass(t, 10*time.Minute)
		if n := strings.Count(logged.String(), `level=WARN msg="the query is behind"`); n != 1 {
			t.Errorf("logged %d times that it is behind: %s", n, logged.String())
		}
		a := q.Record().Health()
		if a.State != health.Behind || math.Abs(a.ArrivalRowsPerSecond-15) > 0.3 ||
			math.Abs(a.ProcessedPerSecond-10) > 0.3 || !strings.Contains(a.Reason, "cap") {
			t.Errorf("got %s: %+v, arrival %v, processed %v", a.State, a.Cause, a.ArrivalRowsPerSecond,
				a.ProcessedPerSecond)
		}
		if last := q.Record().Last(); last.ProcessedRowsPerSecond() < last.InputRowsPerSecond() {
			t.Error("its own rates told, so this shows nothing")
		}
		stop(t, q)
		if a := q.Record().Health(); a.State != health.Stopped {
			t.Errorf("got %s after the stop", a.State)
		}
		again := r.mustStart(t)
		pass(t, time.Minute)
		if a := again.Record().Health(); a.Backlog.Rows < 3000 {
			t.Errorf("%v rows wait after the restart", a.Backlog.Rows)
		}
		if strip, _ := again.Record().Strip(time.Now()); strip[health.StripCells-1] != health.Behind {
			t.Errorf("the past before the restart is %q", strip[health.StripCells-1])
		}
		stop(t, again)
	})
}

// Batches and stops wait for no source that is asked beside them.
func TestASourceThatDoesNotAnswerHoldsUpNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		asked := 0
		r.open = func(s countSource) connector.Source {
			return gaugedSource{&s, func(ctx context.Context) error {
				asked++
				<-ctx.Done()
				return ctx.Err()
			}}
		}
		q := r.mustStart(t)
		for range 5 {
			r.tapes["a"].put(1)
			process(t, q)
			pass(t, 3*time.Second)
		}
		began := time.Now()
		stop(t, q)
		if took := time.Since(began); took > 0 {
			t.Errorf("the stop took %v", took)
		}
		if a := q.Record().Health(); asked == 0 || health.Known(a.Backlog.Rows) {
			t.Errorf("asked %d times, %v rows wait", asked, a.Backlog.Rows)
		}
	})
}

// Rows that a source had no more are counted at their query and stand among its events.
func TestLostRowsAreNotedAtTheirQuery(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.trigger = Trigger{Kind: plan.ProcessingTime, Every: time.Second}
		r.tune = func(c *Config) {
			f, _ := c.Format("")
			losing := *f
			losing.Source = func(
				ctx context.Context, env *connector.Env, s *plan.Scan, log connector.Place,
			) (connector.Source, error) {
				env.Lost("versions 3 to 5 are gone")
				return f.Source(ctx, env, s, log)
			}
			c.Format = func(string) (*connector.Format, bool) { return &losing, true }
		}
		q := r.mustStart(t)
		pass(t, 2*time.Second)
		if n, text := q.Record().Losses(); n != 1 || text != "versions 3 to 5 are gone" {
			t.Errorf("%d losses, %q", n, text)
		}
		marks := q.Record().Marks()
		if last := marks[len(marks)-1]; last.Kind != "loss" || !strings.Contains(last.Text, "versions 3 to 5") {
			t.Errorf("%+v", marks)
		}
		stop(t, q)
	})
}
