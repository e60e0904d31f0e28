package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/vfs"
)

const (
	// lagCalm is how long all is well, so that what is usual is known.
	lagCalm = 2 * time.Minute
	// lagNamedWithin is how long after that every query is named.
	lagNamedWithin = 3 * time.Minute
	// lagTrigger is the interval of every query.
	lagTrigger = "5 seconds"
	// lagBurst is how long the burst lasts.
	lagBurst = 90 * time.Second
)

// lagDemo is five queries and what arrives at them.
type lagDemo struct {
	engine *session.Engine
	files  vfs.FS
	dir    string // where files arrive
	screen *screen
	out    io.Writer

	begun   time.Time
	written map[string]int // files by directory
	queries []*stream.Query
	said    map[string]health.State
}

// part is a query of the demonstration.
type part struct {
	name   string
	read   plan.Node
	sql    string // over the relation arrivals; "" takes it as it is
	format string
	mode   string
	// named tells whether the query is shown as what it is.
	named func(a *health.Assessment) bool
}

func (d *lagDemo) parts() []part {
	is := func(s health.State, reason string) func(a *health.Assessment) bool {
		return func(a *health.Assessment) bool {
			return a.State == s && strings.Contains(strings.ToLower(a.Reason), reason)
		}
	}
	rate := func(rows string) plan.Node {
		return &plan.Read{Format: "rate", Streaming: true, Options: plan.Options{"rowsPerSecond": rows}}
	}
	return []part{
		{"orders", rate("50"), "", "noop", "append", is(health.Healthy, "")},
		{"clicks_capped", d.arrivals("clicks", "1"), "", "noop", "append", is(health.Behind, "cap is the limit")},
		{"payments_burst", d.arrivals("payments", "4"), "", "noop", "append",
			is(health.CatchingUp, "cap is the limit")},
		{"audit_stalled_sink", rate("10"), "", "console", "append", is(health.Stalled, "does not move")},
		{"sessions_stuck_watermark", plan.NewWatermark(d.arrivals("sessions", "100"), column("ts"), "10 seconds"),
			"SELECT window(ts, '10 seconds') AS w, count(*) AS n FROM arrivals GROUP BY window(ts, '10 seconds')",
			"noop", "update", is(health.Lagging, "watermark stuck")},
	}
}

func column(name string) plan.Expr { return &plan.UnresolvedAttribute{Parts: []string{name}} }

// arrivals is the stream of files of a directory, at most so many a batch.
func (d *lagDemo) arrivals(name, most string) plan.Node {
	schema, err := sql.ParseSchema("ts timestamp, n int")
	if err != nil { // it stands above
		panic(err)
	}
	return &plan.Read{
		Format: "json", Streaming: true, Schema: &schema, Paths: []string{"file:" + path.Join(d.dir, name)},
		Options: plan.Options{"maxFilesPerTrigger": most},
	}
}

// run starts the queries and feeds them until ctx ends; with once it ends when every
// one was named. took is how much trouble there was until then, 0 for never.
func (d *lagDemo) run(ctx context.Context, once bool) (took time.Duration, err error) {
	d.written, d.said = map[string]int{}, map[string]health.State{}
	for _, name := range []string{"clicks", "payments", "sessions"} {
		if err := d.files.MkdirAll(path.Join(d.dir, name)); err != nil {
			return 0, err
		}
	}
	parts := d.parts()
	s := d.engine.NewSession("demo", "demo")
	for i := range parts {
		if err := d.start(ctx, s, &parts[i]); err != nil {
			return 0, fmt.Errorf("start %s: %w", parts[i].name, err)
		}
	}
	d.begun = time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return took, nil
		case now := <-tick.C:
			if err := d.feed(now); err != nil {
				return took, err
			}
			if d.look(parts, now) && took == 0 {
				took = now.Sub(d.begun) - lagCalm
				fmt.Fprintf(d.out, "%s  every query is named, %s after the trouble began\n", d.clock(now),
					took.Round(time.Second))
			}
			if once && (took > 0 || now.Sub(d.begun) > lagCalm+2*lagNamedWithin) {
				return took, nil
			}
		}
	}
}

func (d *lagDemo) start(ctx context.Context, s *session.Session, p *part) error {
	input := p.read
	if p.sql != "" {
		var err error
		if input, err = s.SQL(ctx, p.sql, nil, nil, map[string]plan.Node{"arrivals": p.read}); err != nil {
			return err
		}
	}
	q, err := s.StartStream(ctx, &plan.StartStream{
		Input: input, Format: p.format, OutputMode: p.mode, QueryName: p.name, Trigger: plan.ProcessingTime,
		Interval: lagTrigger,
	}, nil, "")
	if err != nil {
		return err
	}
	q.Record().Announce()
	d.queries = append(d.queries, q)
	return nil
}

// feed makes files arrive: one each five seconds, and more where there is trouble.
func (d *lagDemo) feed(now time.Time) error {
	trouble := now.Sub(d.begun) - lagCalm
	second := int(now.Sub(d.begun) / time.Second)
	calm, stuck := second/5, now
	clicks, payments := calm, calm
	if trouble > 0 {
		d.screen.stop()
		clicks += int(trouble / (5 * time.Second)) // twice what a batch may take
		payments += 2 * int(min(trouble, lagBurst)/time.Second)
		stuck = d.begun.Add(lagCalm)
	}
	return errors.Join(
		d.write("clicks", clicks, now), d.write("payments", payments, now), d.write("sessions", calm, stuck))
}

// write brings a directory to so many files, whose rows bear a time.
func (d *lagDemo) write(name string, files int, at time.Time) error {
	row := fmt.Sprintf("{\"ts\":%q,\"n\":1}\n", at.UTC().Format(time.RFC3339Nano))
	for d.written[name] < files {
		file := path.Join(d.dir, name, fmt.Sprintf("%05d.json", d.written[name]))
		if err := vfs.WriteNew(d.files, file, []byte(strings.Repeat(row, 100))); err != nil {
			return err
		}
		d.written[name]++
	}
	return nil
}

// look prints what has changed, and tells whether every query is named.
func (d *lagDemo) look(parts []part, now time.Time) bool {
	all := now.Sub(d.begun) > lagCalm
	for i, q := range d.queries {
		a, name := q.Record().Health(), parts[i].name
		if before := d.said[name]; before != a.State {
			d.said[name] = a.State
			if before != "" || a.State != health.Healthy {
				fmt.Fprintf(d.out, "%s  %s is %s: %s\n", d.clock(now), name, strings.ToLower(a.State.Word()),
					health.Plain(health.Say(a.Sentence, a.Reason)))
			}
		}
		all = all && parts[i].named(&a)
	}
	return all
}

// clock is the time since the beginning.
func (d *lagDemo) clock(now time.Time) string {
	s := int(now.Sub(d.begun) / time.Second)
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// screen is a terminal that can be stopped, as with Ctrl-S: who writes waits.
type screen struct {
	out io.Writer
	mu  sync.Mutex
	off chan struct{} // nil while it goes on
	end bool
}

func newScreen(out io.Writer) *screen { return &screen{out: out} }

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	off := s.off
	s.mu.Unlock()
	if off != nil {
		<-off
	}
	return s.out.Write(p)
}

func (s *screen) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off == nil && !s.end {
		s.off = make(chan struct{})
	}
}

// goOn is for good.
func (s *screen) goOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off != nil {
		close(s.off)
	}
	s.off, s.end = nil, true
}
