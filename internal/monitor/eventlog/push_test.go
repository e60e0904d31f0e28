package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/vfs"
)

// pusher is a fleet without logs.
func pusher(t testing.TB) *Fleet {
	f, err := Follow(Options{Registry: monitor.NewRegistry(), Files: vfs.NewMemory(),
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// body is a push of events; each is an object's text.
func body(events ...string) []byte {
	return []byte(`{"application":{"id":"app-1","name":"shop","version":"4.3.0"},"events":[` +
		strings.Join(events, ",") + "]}")
}

// pushedBatch is a progress as listeners get it: offsets are JSON, not texts.
func pushedBatch(run string, batch int64, from, to, latest int64) string {
	return fmt.Sprintf(`{"event":"progress","progress":{"id":"q","runId":%q,"name":"orders",`+
		`"timestamp":"2026-03-02T10:00:%02d.000Z","batchId":%d,"batchDuration":900,"numInputRows":%d,`+
		`"durationMs":{"addBatch":800,"triggerExecution":900},"stateOperators":[],"sources":[{"description":"KafkaV2[Subscribe[t]]",`+
		`"startOffset":{"t":{"0":%d}},"endOffset":{"t":{"0":%d}},"latestOffset":{"t":{"0":%d}},"numInputRows":%d}],`+
		`"sink":{"description":"s","numOutputRows":-1}}}`, run, batch%60, batch, to-from, from, to, latest, to-from)
}

func TestAnApplicationPushesItsProgress(t *testing.T) {
	f := pusher(t)
	now := time.Date(2026, 3, 2, 10, 1, 0, 0, time.UTC)
	push := func(want Pushed, events ...string) {
		t.Helper()
		got, err := f.Push(body(events...), now)
		if err != nil || got != want {
			t.Errorf("got %+v %v, want %+v", got, err, want)
		}
	}
	start := `{"event":"started","id":"q","runId":"r","name":"orders","timestamp":"2026-03-02T10:00:00.000Z"}`
	push(Pushed{Taken: 2}, start, pushedBatch("r", 0, 0, 5, 9))
	push(Pushed{Taken: 1, Known: 2}, start, pushedBatch("r", 0, 0, 5, 9), pushedBatch("r", 1, 5, 9,
		20)) // sent again
	q := f.registry.Find("q")
	run := q.Snapshot()
	if run.Application != "shop" || run.Engine != "Spark 4.3.0" || run.Name != "orders" ||
		run.LastBatch.BatchID != 1 ||
		q.Totals().Batches != 2 || q.Totals().Rows != 9 {
		t.Errorf("%+v %+v", run.Run, q.Totals())
	}
	if s := q.Reading().Sources; len(s) != 1 || s[0].Unread.Rows != 11 {
		t.Errorf("sources stand at %+v", s)
	}
	push(Pushed{Taken: 1}, `{"event":"idle","id":"q","runId":"r","timestamp":"2026-03-02T10:00:20.000Z"}`)
	push(Pushed{Taken: 1}, `{"event":"terminated","id":"q","runId":"r","exception":"java.lang.X: boom\n\tat y","errorClassOnException":"STREAM_FAILED"}`)
	if end := q.Snapshot(); end.State != monitor.Failed || end.Failure.Condition != "STREAM_FAILED" {
		t.Errorf("%+v", end)
	}
	if got := q.Health().Sentence; got != "Failed after batch\u00a01." {
		t.Errorf("got %q: which batch ran is not known", got)
	}
	// Without the start, as when somebody listens later.
	push(Pushed{Taken: 1}, pushedBatch("later", 7, 5, 9, 9))
	if f.registry.Find("later") == nil {
		t.Error("a query whose start nobody pushed is not known")
	}
}

// What cannot be read is refused by its place, and does no harm to the rest.
func TestWhatCannotBeReadIsRefused(t *testing.T) {
	f := pusher(t)
	for text, want := range map[string]string{
		"":                                       "no JSON object",
		"[]":                                     "no JSON object",
		`{"application":{},"events":[]}`:         "needs an id",
		`{"application":{"id":7},"events":[]}`:   "no JSON object",
		`{"application":{"id":"a"},"events":{}}`: "no JSON object",
		`{"application":{"id":"` + strings.Repeat("x",
			mostName+1) + `"}}`: "at most 1024 bytes",
		`{"application":{"id":"a"},"events":[` + strings.TrimSuffix(strings.Repeat("1,", mostEvents+1), ",") + "]}": "several requests",
	} {
		if _, err := f.Push([]byte(text), began); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
	runs := 0
	for event, want := range map[string]string{
		"7": "no object", `{"event":"future"}`: `"future" is none of`, `{"event":"progress"}`: "no progress",
		`{"event":"progress","progress":{"id":"a","runId":"b","timestamp":"yesterday"}}`:                          "its timestamp",
		`{"event":"progress","progress":{"id":"a","timestamp":"2026-03-02T10:00:00Z"}}`:                           "needs the id and the runId",
		`{"event":"progress","progress":{"id":"a","runId":"b","timestamp":"2026-03-02T10:00:00Z","batchId":"2"}}`: "batchId",
		`{"event":"started","id":"a"}`: "needs the id and the runId", `{"event":"terminated"}`: "needs the id",
		`{"event":"started","id":"a","runId":"` + strings.Repeat("r", mostName+1) + `"}`: "at most",
	} {
		runs++
		got, err := f.Push(body(event, pushedBatch(fmt.Sprint("r", runs), 0, 0, 1, 1)), began)
		if err != nil || got.Refused != 1 || got.Taken != 1 || !strings.Contains(got.Problem, want) ||
			!strings.HasPrefix(got.Problem, "events[0]: ") {
			t.Errorf("%.80s: %+v %v, want %q", event, got, err, want)
		}
	}
}

// Progress at the edges of what Spark writes: every number that pages show of it is finite
// or not known.
func TestProgressAtTheEdges(t *testing.T) {
	data, err := os.ReadFile("testdata/progress_edge.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	f := pusher(t)
	var events []string
	for line := range bytes.Lines(data) {
		events = append(events, fmt.Sprintf(`{"event":"progress","progress":%s}`, bytes.TrimSpace(line)))
	}
	huge := strings.NewReplacer(`"addBatch":800`, `"addBatch":1e300`, `"batchDuration":900`, `"batchDuration":9223372036854775807`,
		`"numInputRows":1`, `"numInputRows":9223372036854775807`)
	events = append(events, huge.Replace(pushedBatch("huge", 0, 0, 1, 1)))
	got, err := f.Push(body(events...), began)
	if err != nil || got.Taken != 3 || got.Refused != 1 {
		t.Errorf("%+v %v", got, err)
	}
	for _, q := range f.registry.Queries() {
		f.sample(began.Add(time.Hour))
		a := q.Health()
		for _, x := range []float64{a.BatchSeconds, a.ProcessedPerSecond, a.Backlog.Rows, a.StateBytes, a.Score} {
			if math.IsInf(x, 0) {
				t.Errorf("%s: %+v", q.ID(), a.Signals)
			}
		}
		if last := q.Last(); last != nil && !json.Valid(last.AppendJSON(nil)) {
			t.Errorf("%s: %s", q.ID(), last.AppendJSON(nil))
		}
	}
}

func TestWhoPushesIsBounded(t *testing.T) {
	f := pusher(t)
	app := func(i int) []byte { return bytes.Replace(body(), []byte("app-1"), fmt.Appendf(nil, "app-%d", i), 1) }
	for i := range mostApps {
		if _, err := f.Push(app(i), began); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Push(app(mostApps), began); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	var many []string
	for i := range mostPushedRuns + 1 {
		many = append(many, fmt.Sprintf(`{"event":"started","id":"q%d","runId":"r%d"}`, i, i))
	}
	if got, err := f.Push(append([]byte(nil), body(many...)...), began); !errors.Is(err, ErrFull) ||
		got.Taken != mostPushedRuns {
		t.Errorf("%+v %v", got, err)
	}
	q := f.registry.Find("r0")
	f.sample(began.Add(silentFor + time.Minute)) // they are all gone
	if _, err := f.Push(app(mostApps), began.Add(silentFor+time.Minute)); err != nil {
		t.Error(err)
	}
	if q.State() != monitor.Stopped || !strings.Contains(q.Snapshot().EndReason, "not pushed anything") {
		t.Errorf("%+v", q.Snapshot())
	}
}

// Many at once tell of their queries while these are judged.
func TestPushesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := Follow(Options{Registry: monitor.NewRegistry(), Files: vfs.NewMemory(),
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		for i := range 8 {
			go func() {
				var err error
				for batch := range int64(20) {
					_, e := f.Push(body(pushedBatch(fmt.Sprint("r", i), batch, batch, batch+1, batch+2)), time.Now())
					err = errors.Join(err, e)
					time.Sleep(300 * time.Millisecond)
				}
				done <- err
			}()
		}
		for range 8 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		f.Close()
		if q := f.registry.Find("r3"); q.Totals().Batches == 0 {
			t.Error("nothing was told")
		}
	})
}

func FuzzPush(f *testing.F) {
	f.Add(body(pushedBatch("r", 0, 0, 5, 9), `{"event":"idle","id":"q","runId":"r"}`))
	f.Add([]byte(`{"application":{"id":"a"},"events":[{"event":"terminated","runId":"r"}]}`))
	fleet := pusher(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := fleet.Push(data, began); err == nil && got.Taken < 0 {
			t.Error(got)
		}
		fleet.sample(began.Add(time.Duration(len(data)) * time.Minute))
	})
}
