package eventlog

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// progressText is what Spark's own progress said, in its file beside the log.
type progressText struct {
	BatchID                int64   `json:"batchId"`
	NumInputRows           int64   `json:"numInputRows"`
	InputRowsPerSecond     float64 `json:"inputRowsPerSecond"`
	ProcessedRowsPerSecond float64 `json:"processedRowsPerSecond"`
}

// readAll reads every log of a directory of this machine to its end.
func readAll(t *testing.T, dir string) *monitor.Registry {
	t.Helper()
	r := monitor.NewRegistry()
	files := vfs.NewLocal()
	infos, err := files.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if strings.HasSuffix(info.Name, ".json") {
			continue
		}
		app := newApplication(r, slog.New(slog.DiscardHandler), info.Name)
		l := logFiles{files: files, path: filepath.Join(dir, info.Name), rolling: info.IsDir()}
		if err := l.read(t.Context(), func() { t.Error("a finished log is waited for") }, app.line); err != nil {
			t.Fatal(err)
		}
		if app.damaged > 0 {
			t.Errorf("%d lines cannot be read", app.damaged)
		}
	}
	return r
}

func TestLogsOfSpark(t *testing.T) {
	for recorded, engine := range map[string]string{
		"zstd": "Spark 4.3.0", "lz4": "Spark 4.3.0", "snappy": "Spark 4.3.0", "spark35": "Spark 3.5.9",
	} {
		t.Run(recorded, func(t *testing.T) {
			dir, err := filepath.Abs(filepath.Join("testdata", recorded))
			if err != nil {
				t.Fatal(err)
			}
			r := readAll(t, dir)
			data, err := os.ReadFile(filepath.Join(dir, "progress.json"))
			if err != nil {
				t.Fatal(err)
			}
			var recorded map[string][]progressText
			if err := json.Unmarshal(data, &recorded); err != nil {
				t.Fatal(err)
			}
			if got := len(r.Queries()); got != 3 {
				t.Fatalf("%d queries", got)
			}
			for id, list := range recorded {
				compareQuery(t, r.Find(id), engine, list)
			}
		})
	}
}

func compareQuery(t *testing.T, q *monitor.Query, engine string, recorded []progressText) {
	t.Helper()
	s := q.Snapshot()
	if s.Application != "shop events" || s.Engine != engine {
		t.Errorf("application %q of %q", s.Application, s.Engine)
	}
	byBatch := map[int64]*monitor.Progress{}
	for _, p := range q.Recent() {
		byBatch[p.BatchID] = p
	}
	for _, want := range recorded {
		p := byBatch[want.BatchID]
		if p == nil {
			t.Errorf("%s: batch %d is missing", s.Name, want.BatchID)
			continue
		}
		// Spark's first rate is 0; its own rounding is to a tenth here.
		near := func(got, want float64) bool { return got-want < 0.06 && want-got < 0.06 }
		if p.NumInputRows() != want.NumInputRows || !near(p.InputRowsPerSecond(), want.InputRowsPerSecond) ||
			!near(p.ProcessedRowsPerSecond(), want.ProcessedRowsPerSecond) {
			t.Errorf("%s batch %d: %d rows, %v and %v a second, want %+v", s.Name, want.BatchID, p.NumInputRows(),
				p.InputRowsPerSecond(), p.ProcessedRowsPerSecond(), want)
		}
	}
	wanted := health.Stopped
	if s.Name == "failing" {
		wanted = health.Failed
		if s.Failure.Message != "ValueError: out of stock" {
			t.Errorf("failed with %q", s.Failure.Message)
		}
	}
	if got := q.Health().State; got != wanted {
		t.Errorf("%s is %s, want %s", s.Name, got, wanted)
	}
}

// A log may end anywhere: what is there is read.
func TestCutLogsAreReadUpToTheirEnd(t *testing.T) {
	whole, err := os.ReadFile("testdata/zstd/eventlog_v2_local-1796105977083/events_1_local-1796105977083.zstd")
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(whole); cut += 1 + len(whole)/150 {
		fsys := vfs.NewMemory()
		put(t, fsys, "/logs/app.zstd", whole[:cut])
		app := newApplication(monitor.NewRegistry(), slog.New(slog.DiscardHandler), "app")
		l := logFiles{files: fsys, path: "/logs/app.zstd"}
		if err := l.read(t.Context(), func() {}, app.line); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

func TestDamagedLogsAreNamedAndHurtNobody(t *testing.T) {
	for name, data := range map[string]string{
		"a.zstd": "no zstd at all, but long enough to be one", "a.lz4": "LZ4Block\x25\xff\xff\xff\x7f\xff\xff\xff\x7f0000",
		"a.lz4.x": "", "a.snappy": "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x7f\xff\xff\xff", "a.lzf": "ZV",
	} {
		fsys := vfs.NewMemory()
		put(t, fsys, "/logs/"+name, []byte(data))
		l := logFiles{files: fsys, path: "/logs/" + name}
		err := l.read(t.Context(), func() {}, func([]byte) {})
		if err == nil {
			t.Errorf("%s was read", name)
		}
	}
	app := newApplication(monitor.NewRegistry(), slog.New(slog.DiscardHandler), "app")
	for _, line := range []string{
		`{"Event":"` + listenerClass + `QueryProgressEvent"`, `{"Event":"` + listenerClass + `QueryProgressEvent"}`,
		`{"Event":"` + listenerClass + `QueryProgressEvent","progress":{"timestamp":"yesterday"}}`,
		`{"Event":"` + listenerClass + `QueryTerminatedEvent","runId":"unknown"}`,
		`{"Event":"` + listenerClass + `QueryFutureEvent","id":7}`,
	} {
		app.line([]byte(line))
	}
	if app.damaged != 3 {
		t.Errorf("%d damaged lines, want 3", app.damaged)
	}
}

func put(t *testing.T, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	if err := fsys.MkdirAll(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	w, err := fsys.Append(name)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

var began = time.UnixMilli(1_700_000_000_000).UTC()

func started(id string) string {
	return fmt.Sprintf(`{"Event":"%sQueryStartedEvent","id":"%s","runId":"r%s","name":"n%s","timestamp":"%s"}`,
		listenerClass, id, id, id, began.Format(time.RFC3339Nano)) + "\n"
}

// kafkaBatch is the progress of a batch from an offset to another, of a topic that
// ends at the third.
func kafkaBatch(id string, batch int64, at time.Time, end [3]int64) string {
	from, to, latest := end[0], end[1], end[2]
	offsets := func(n int64) string { return fmt.Sprintf(`"{\"t\":{\"0\":%d}}"`, n) }
	return fmt.Sprintf(`{"Event":"%sQueryProgressEvent","progress":{"id":"%s","runId":"r%s","name":"n%s",`+
		`"timestamp":"%s","batchId":%d,"batchDuration":2000,"durationMs":{"addBatch":1900,"triggerExecution":2000},`+
		`"eventTime":{},"stateOperators":[],"sources":[{"description":"KafkaV2[Subscribe[t]]","startOffset":%s,`+
		`"endOffset":%s,"latestOffset":%s,"numInputRows":%d}],"sink":{"description":"s","numOutputRows":-1}}}`,
		listenerClass, id, id, id, at.Format(time.RFC3339Nano), batch, offsets(from), offsets(to), offsets(latest),
		to-from) + "\n"
}

// From progress alone: a query that takes 100 rows every 10 seconds while 200 arrive.
func TestAForeignQueryFallsBehind(t *testing.T) {
	r := monitor.NewRegistry()
	app := newApplication(r, slog.New(slog.DiscardHandler), "app")
	app.line([]byte(started("q")))
	for i := range int64(100) {
		at := began.Add(time.Duration(i) * 10 * time.Second)
		app.line([]byte(kafkaBatch("q", i, at, [3]int64{
			100 * i, 100*i + 100, 100*i + min(100, 200*i) + max(0, 100*(i-20)),
		})))
	}
	a := r.Find("q").Health()
	if a.State != health.Behind || a.Unit != "rows" ||
		a.ArrivalRowsPerSecond < 18 || a.ArrivalRowsPerSecond > 22 {
		t.Errorf("got %s, %v rows a second arrive, %+v", a.State, a.ArrivalRowsPerSecond, a.Cause)
	}
	if p := r.Find("q").Reading().Sources[0].Partitions; len(p) != 1 || p[0].Name != "t-0" {
		t.Errorf("partitions %+v", p)
	}
}

func TestARunningLogIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewMemory()
		put(t, fsys, "/logs/app-1.inprogress", []byte(started("a")[:40]))
		r := monitor.NewRegistry()
		f, err := Follow(Options{Registry: r, Files: fsys, Dirs: []string{"/logs"},
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		time.Sleep(3 * time.Second)
		if n := len(r.Queries()); n != 0 {
			t.Fatalf("%d queries of half a line", n)
		}
		rest := started("a")[40:] + kafkaBatch("a", 0, began, [3]int64{0, 5, 9})
		put(t, fsys, "/logs/app-1.inprogress", []byte(rest))
		time.Sleep(3 * time.Second)
		q := r.Find("a")
		if q == nil || q.Last() == nil || q.Last().NumInputRows() != 5 {
			t.Fatal("what was appended was not read")
		}
		next := kafkaBatch("a", 1, began.Add(time.Second), [3]int64{5, 9, 9})
		put(t, fsys, "/logs/app-1.inprogress", []byte(next))
		if err := fsys.Rename("/logs/app-1.inprogress", "/logs/app-1"); err != nil {
			t.Fatal(err)
		}
		put(t, fsys, "/logs/app-2", []byte(started("b")+`{"Event":"SparkListenerApplicationEnd"}`+"\n"))
		time.Sleep(3 * time.Second)
		if last := q.Last(); last.BatchID != 1 {
			t.Errorf("batch %d before the end", last.BatchID)
		}
		if b := r.Find("b"); b == nil || b.Health().State != health.Stopped {
			t.Error("a new log was not read to its end")
		}
	})
}

// Spark makes the directory of a log, then what says that its application runs, then a part.
func TestALogThatIsJustBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewMemory()
		dir := "/logs/eventlog_v2_app"
		if err := fsys.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
		r := monitor.NewRegistry()
		f, err := Follow(Options{Registry: r, Files: fsys, Dirs: []string{"/logs"},
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		time.Sleep(3 * time.Second)
		put(t, fsys, dir+"/events_1_app", []byte(started("a")))
		time.Sleep(3 * time.Second)
		put(t, fsys, dir+"/appstatus_app.inprogress", nil)
		time.Sleep(3 * time.Second)
		if r.Find("a") == nil {
			t.Error("its query is not there")
		}
		put(t, fsys, dir+"/events_1_app", []byte(`{"Event":"SparkListenerApplicationEnd"}`+"\n"))
		if err := fsys.Rename(dir+"/appstatus_app.inprogress", dir+"/appstatus_app"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if q := r.Find("a"); q == nil || q.Health().State != health.Stopped {
			t.Error("its end was not read")
		}
	})
}

func TestPartsOfARollingLogComeInOrder(t *testing.T) {
	fsys := vfs.NewMemory()
	const dir = "/logs/eventlog_v2_app"
	line := func(part int64) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		at := began.Add(time.Duration(part) * time.Second)
		return w.EncodeAll([]byte(kafkaBatch("a", part, at, [3]int64{part, part + 1, 99})), nil)
	}
	put(t, fsys, dir+"/appstatus_app", nil)
	for _, part := range []int64{9, 10, 11} {
		put(t, fsys, fmt.Sprintf("%s/events_%d_app.zstd", dir, part), line(part))
	}
	put(t, fsys, dir+"/events_8_app.zstd.compact", line(8))
	put(t, fsys, dir+"/events_2_app.zstd.compact", line(2))
	r := monitor.NewRegistry()
	app := newApplication(r, slog.New(slog.DiscardHandler), "app")
	if err := (&logFiles{files: fsys, path: dir, rolling: true}).read(t.Context(), func() {},
		app.line); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range r.Find("a").Recent() {
		got += fmt.Sprint(p.BatchID, " ")
	}
	if got != "8 9 10 11 " {
		t.Errorf("batches %s", got)
	}
}

func TestLongLinesArePassedOver(t *testing.T) {
	long := `{"Event":"SparkListenerTaskStart","x":"` + strings.Repeat("y", 200_000) + `"}` + "\n"
	name := strings.Repeat("z", maxLine)
	many := `{"Event":"` + listenerClass + `QueryStartedEvent","id":"` + name + `"}` + "\n"
	var got []string
	all, bytes := long+started("a")+many+started("b"), int64(0)
	err := lines(strings.NewReader(all), func(line []byte, n int64) {
		if bytes += n; line != nil {
			got = append(got, string(line))
		}
	})
	if bytes != int64(len(all)) {
		t.Errorf("%d bytes are counted of %d", bytes, len(all))
	}
	if len(got) != 2 || got[0]+"\n" != started("a") || got[1]+"\n" != started("b") {
		t.Errorf("%d lines, %v", len(got), err)
	}
}

// Whatever else lies in a directory is passed over in one line; a log of a codec that is not
// supported is named.
func TestFilesThatAreNoLogsArePassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewMemory()
		for name, text := range map[string]string{
			"progress.json": `{"batchId": 1}`, "record.py": "print(1)", "README": "# Logs\n", "empty": "",
			"config": "{\"a\": 1}\n", "app-1": started("a") + kafkaBatch("a", 0, began, [3]int64{0, 5, 9}),
			"app-2.lzf": "x",
		} {
			put(t, fsys, "/logs/"+name, []byte(text))
		}
		var said strings.Builder
		r := monitor.NewRegistry()
		f, err := Follow(Options{Registry: r, Files: fsys, Dirs: []string{"/logs"},
			Log: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		f.Close()
		if r.Find("a") == nil {
			t.Error("the log was not read")
		}
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		passed := 0
		for _, line := range lines {
			switch {
			case strings.Contains(line, "passed over") && strings.Contains(line, "files=4"):
				passed++
			case strings.Contains(line, "app-2.lzf is compressed with lzf, which is not supported"):
			default:
				t.Errorf("said %s", line)
			}
		}
		if passed != 1 || len(lines) != 2 {
			t.Errorf("said %q", lines)
		}
	})
}
