package ui

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/ui"
	"github.com/weir-dev/weir/internal/vfs"
)

// A stage is a simulated server.
type stage struct {
	cast *cast
	mu   sync.Mutex
	away time.Duration // so long after the first request it is away for as long; 0: never
	seen time.Time     // the first request
}

// serveOn serves stories that go on, until ctx ends. What is to happen while somebody
// looks happens so long after the first request.
func serveOn(ctx context.Context, t *testing.T, l net.Listener, list []story) *stage {
	t.Helper()
	step := 2 * time.Second
	if len(list) > 50 {
		step = 10 * time.Second
	}
	s := &stage{cast: rehearse(list, time.Now(), 26*time.Minute, step)}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				s.cast.follow(now)
			}
		}
	}()
	alerts, err := alert.Start(alert.Env{
		Registry: s.cast.registry, Log: slog.New(slog.DiscardHandler), Files: rules(t), File: "/alerts.yaml",
		Server: "stage", Link: "http://" + l.Addr().String(), Variable: os.LookupEnv,
	})
	if err != nil {
		t.Fatal(err)
	}
	past := earlier(t, s.cast)
	pages := ui.New(s.cast.registry, ui.Options{
		Past: past, Version: "test", Remote: "sc://localhost:15002", Now: time.Now,
		Environment: environment, Resources: s.resources, Alerts: alerts,
		SameUser: func(*http.Request) bool { return true },
	})
	server := &http.Server{
		Handler:     s.watched(pages),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
		server.Close()
		alerts.Close()
		past.Close()
	})
	return s
}

// earlier is the history of an earlier server: of two queries that it knew alone, of which
// one failed, and an earlier run of the first query that is played, which was quicker.
func earlier(t *testing.T, c *cast) *history.Store {
	t.Helper()
	files, dir := vfs.NewLocal(), t.TempDir()
	before := monitor.NewRegistry()
	before.Versioned("0.9")
	o := history.Options{Registry: before, Files: files, Dir: dir, Keep: 1000 * time.Hour, Bytes: 1 << 30}
	store := history.Start(o)
	if len(c.plays) > 0 {
		fail := failing("[DIVIDE_BY_ZERO] Division by zero. <b>" + strings.Repeat("long ", 40))
		past := []story{c.plays[0].story, {name: "nightly_import", application: "platform", every: 10 * second,
			rate: steady(300), fixed: .2, perRow: 1e-4, end: fail}, {name: "<script>globalThis.pwned=1</script>", every: 10 * second,
			rate: steady(300), fixed: .2, perRow: 1e-4, end: func(q *monitor.Query, at time.Time) { q.Terminate(at, nil) }}}
		past[0].perRow, past[0].end, past[0].again, past[0].run = past[0].perRow/2, past[2].end, false, "-before"
		past[0].settings = []monitor.Setting{{Name: "trigger", Value: "10s"}, {Name: "spark.sql.shuffle.partitions",
			Value: "200"}}
		past[1].number, past[2].number = 9000, 9000
		// Longer ago than what failed is still news to the fleet.
		rehearseIn(before, past, time.Now().Add(-26*time.Hour), 20*time.Minute, 2*time.Second)
	}
	store.Close()
	o.Registry = c.registry
	store = history.Start(o)
	store.Ready()
	return store
}

// rules are a file with a rule of its own, a notifier that nobody reaches, and hostile texts.
func rules(t *testing.T) vfs.FS {
	t.Helper()
	files := vfs.NewMemory()
	err := vfs.WriteNew(files, "/alerts.yaml", []byte(`
group: {wait: 1s}
rules:
  - {name: '<script>globalThis.pwned=1</script>', when: state = behind and backlogMs > 1 s, labels: {team: '<b>'}}
notify:
  - {name: ops, webhook: {url: 'http://127.0.0.1:1/`+strings.Repeat("x", 100)+`'}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func environment() []ui.Group {
	return []ui.Group{
		{Title: "Server", Settings: []ui.Setting{
			{Name: "Data directory", Value: "/data/weir"}, {Name: "Python", Value: "", Note: "none was found"},
		}},
		{Title: "Settings", Settings: []ui.Setting{
			{Name: "spark.sql.streaming.stateStore.providerClass.and.a.very.long.name", Value: strings.Repeat("x", 200)},
			{Name: "spark.connect.authenticate.token", Value: "secret"},
		}},
	}
}

func (s *stage) resources() ui.Resources {
	u := ui.Resources{
		StartedAt: s.cast.now, Cores: 2, CPUSeconds: time.Since(s.cast.now).Seconds(), Goroutines: 60,
		Resident: 2.1e8, Heap: 9e7, Held: 4e7, Limit: 6e9,
		Workers: []ui.WorkerUse{{PID: 4242, Interpreter: "/opt/" + strings.Repeat("deep/", 30) + "python3",
			Resident: 9e7, CPUSeconds: 12}},
	}
	for i, p := range s.cast.plays {
		u.Queries = append(u.Queries, ui.QueryUse{RunID: p.id + "-run", Held: 3e6 * float64(i+1), Limit: 1e9})
	}
	return u
}

// watched notes the first request, and cuts connections while the server is away.
func (s *stage) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if s.seen.IsZero() {
			s.seen = time.Now()
			s.cast.open(s.seen)
		}
		leaves, returns := s.seen.Add(s.away), s.seen.Add(2*s.away)
		s.mu.Unlock()
		if s.away == 0 || time.Now().After(returns) {
			next.ServeHTTP(w, r)
			return
		}
		if time.Now().After(leaves) {
			panic(http.ErrAbortHandler)
		}
		ctx, stop := context.WithDeadline(r.Context(), leaves)
		defer stop()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
