package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// workProgress is what Spark's own progress said of a batch of testdata/work.
type workProgress struct {
	BatchID    int64              `json:"batchId"`
	DurationMs map[string]float64 `json:"durationMs"`
	State      []struct {
		Updates  float64 `json:"allUpdatesTimeMs"`
		Removals float64 `json:"allRemovalsTimeMs"`
		Commit   float64 `json:"commitTimeMs"`
	} `json:"stateOperators"`
}

func recordedWork(t *testing.T) (*monitor.Registry, map[string][]workProgress) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "work"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "progress.json"))
	var recorded map[string][]workProgress
	if err == nil {
		err = json.Unmarshal(data, &recorded)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := readAll(t, dir)
	byName := map[string][]workProgress{}
	for id, list := range recorded {
		byName[r.Find(id).Snapshot().Name] = list
	}
	return r, byName
}

func named(t *testing.T, r *monitor.Registry, name string) *monitor.Query {
	t.Helper()
	for _, q := range r.Queries() {
		if q.Snapshot().Name == name {
			return q
		}
	}
	t.Fatalf("no query %s", name)
	return nil
}

// Of nine rows of ten, which sleep for ten milliseconds each, one partition has all.
func TestOperatorsAndSkewOfSparksBatches(t *testing.T) {
	r, recorded := recordedWork(t)
	q := named(t, r, "skewed")
	batches := q.Batches()
	if len(batches) != 4 {
		t.Fatalf("%d batches", len(batches))
	}
	want := "Scan json, Exchange, MapInPandas, HashAggregate, Exchange, HashAggregate, HashAggregate, " +
		"StateStoreSave, HashAggregate, Tasks"
	for i, b := range batches {
		var names []string
		seconds := 0.0
		for _, o := range b.Operators {
			names = append(names, o.Name)
			seconds += o.Seconds
		}
		if got := strings.Join(names, ", "); got != want {
			t.Fatalf("batch %d has the operators %s", b.ID, got)
		}
		said := recorded["skewed"][i]
		if all := said.DurationMs["addBatch"] / 1000; seconds > all || seconds < all/4 {
			t.Errorf("batch %d: operators took %.3f s of %.3f", b.ID, seconds, all)
		}
		if rows := b.Operators[2].Rows; rows != 100 {
			t.Errorf("batch %d: MapInPandas had %v rows", b.ID, rows)
		}
	}
	last := batches[3].Operators
	if ratio, worst := health.Skew(last[2].Partitions); len(last[2].Partitions) != 4 || ratio < 3 ||
		last[2].Partitions[worst] < 0.9 || last[2].Seconds < 0.9 {
		t.Errorf("MapInPandas took %.3f s, %.3f", last[2].Seconds, last[2].Partitions)
	}
	state := 0.0
	for _, seconds := range last[7].Partitions {
		state += seconds * 1000
	}
	if s := recorded["skewed"][3].State[0]; state < s.Commit || state > s.Commit+s.Updates+s.Removals+1 {
		t.Errorf("StateStoreSave took %v ms, and Spark says %+v", state, s)
	}
	if batches[2].Operators[2].Partitions != nil {
		t.Error("partitions of a batch before the newest are kept")
	}
}

func TestBothWritesOfForeachBatchAreSeen(t *testing.T) {
	r, _ := recordedWork(t)
	for _, b := range named(t, r, "both").Batches() {
		var writes []string
		for _, o := range b.Operators {
			if strings.HasPrefix(o.Name, "Execute Insert") {
				writes = append(writes, o.Text[:strings.IndexByte(o.Text, ',')])
			}
		}
		if got := strings.Join(writes, " "); got != "file:/data/counts file:/data/rows" {
			t.Errorf("batch %d writes %s", b.ID, got)
		}
	}
}

func TestThePlanAndSettingsOfARunAreKnownFromItsFirstBatch(t *testing.T) {
	r, _ := recordedWork(t)
	s := named(t, r, "skewed").Snapshot()
	lines := strings.Split(s.Plan, "\n")
	if len(lines) != 12 || !strings.HasPrefix(lines[2], "    StateStoreSave [k]") ||
		strings.Contains(s.Plan, "#") || strings.Contains(s.Plan, "1.json") {
		t.Errorf("the plan is\n%s", s.Plan)
	}
	has := func(name, value string) bool {
		return slices.Contains(s.Settings, monitor.Setting{Name: name, Value: value})
	}
	if !has("spark.sql.shuffle.partitions", "4") || !has("spark.master", "local[2]") ||
		!has("spark.sql.adaptive.enabled", "false") { // which Spark changes for streams
		t.Errorf("settings %v", s.Settings)
	}
	if slices.ContainsFunc(s.Settings, func(set monitor.Setting) bool {
		return set.Name == "spark.driver.port" || set.Name == "spark.app.id"
	}) {
		t.Errorf("settings that differ in every run: %v", s.Settings)
	}
}

func TestABatchThatFailedIsNamed(t *testing.T) {
	r, _ := recordedWork(t)
	if got := named(t, r, "failing").Health().Sentence; !strings.HasPrefix(got, "Failed in batch\u00a01,") {
		t.Errorf("got %q", got)
	}
}

// began1 is the line of an execution for a batch of a run; its scan has the accumulators 1
// and 2, a generated piece of code above it 3.
func began1(execution, batch int64, runID string, at time.Time) string {
	return fmt.Sprintf(`{"Event":"%s","executionId":%d,"description":"n\nid = a\nrunId = %s\nbatch = %d","time":%d,`+
		`"sparkPlanInfo":{"nodeName":"WholeStageCodegen (1)","simpleString":"","children":[{"nodeName":"Project",`+
		`"simpleString":"Project [x#1L]","children":[{"nodeName":"Scan","simpleString":"Scan t","children":[],`+
		`"metrics":[{"name":"number of output rows","accumulatorId":1,"metricType":"sum"},`+
		`{"name":"scan time","accumulatorId":2,"metricType":"timing"}]}],"metrics":[]}],`+
		`"metrics":[{"name":"duration","accumulatorId":3,"metricType":"timing"}]},"modifiedConfigs":{}}`,
		executionStarted, execution, runID, batch, at.UnixMilli())
}

func jobOf(execution int64, stages string) string {
	return fmt.Sprintf(`{"Event":"SparkListenerJobStart","Job ID":1,"Stage IDs":[%s],`+
		`"Properties":{"spark.sql.execution.id":"%d"}}`, stages, execution)
}

// taskOf is a task that read rows, of which scanning took one time and all another, in ms.
func taskOf(stage, partition int64, at time.Time, ms [3]int64) string {
	return fmt.Sprintf(`{"Event":"SparkListenerTaskEnd","Stage ID":%d,"Task End Reason":{"Reason":"Success"},`+
		`"Task Info":{"Index":%d,"Partition ID":%d,"Launch Time":%d,"Finish Time":%d,"Accumulables":[`+
		`{"ID":1,"Update":"%d"},{"ID":2,"Update":%d},{"ID":3,"Update":"%d"},{"ID":9,"Update":"7"}]},`+
		`"Task Executor Metrics":{"x":1},"Task Metrics":{}}`, stage, partition, partition, at.UnixMilli(),
		at.UnixMilli()+ms[2]+5, ms[0], ms[1], ms[2])
}

func tell(app *application, lines ...string) {
	for _, l := range lines {
		app.line([]byte(strings.TrimSpace(l)))
	}
}

// A batch is seen while it runs, with how far it is.
func TestTheRunningBatchOfASparkQuery(t *testing.T) {
	r := monitor.NewRegistry()
	app := newApplication(r, slog.New(slog.DiscardHandler), "app")
	at := began.Add(time.Second)
	tell(app, started("a"), began1(7, 0, "ra", at), jobOf(7, "4"), taskOf(4, 0, at, [3]int64{40, 10, 30}))
	q := r.Find("a")
	q.Sample(at.Add(2*time.Second), nil)
	f := q.Health().InFlight
	if f == nil || f.ID != 0 || f.ReadRows != 40 || !f.Start.Equal(at) {
		t.Fatalf("the running batch is %+v", f)
	}
	tell(app, kafkaBatch("a", 0, began, [3]int64{0, 5, 5}))
	q.Sample(began.Add(4*time.Second), nil)
	if f := q.Health().InFlight; f != nil {
		t.Errorf("a batch that is committed runs: %+v", f)
	}
	if b := q.Batches(); len(b) != 1 || len(b[0].Operators) != 3 {
		t.Errorf("batches %+v", b)
	}
}

func TestTimeGoesToTheOperatorThatTookIt(t *testing.T) {
	app := newApplication(monitor.NewRegistry(), slog.New(slog.DiscardHandler), "app")
	tell(app, started("a"), began1(7, 0, "ra", began), began1(8, 0, "ra", began), jobOf(7, "4"),
		taskOf(4, 1, began, [3]int64{10, 60, 95}), taskOf(4, 0, began, [3]int64{30, 20, 45}),
		taskOf(4, 0, began, [3]int64{30, 20, 45}), // a task that ran twice counts once
		`{"Event":"`+driverMeasured+`","executionId":7,"accumUpdates":[[2,500],[77,3]]}`)
	got := app.workbook.end("ra", 0).operators()
	// Both tasks ran for 100 and 50 ms at the same time, 100 ms in all: one of their
	// milliseconds stands for two thirds of one.
	want := []health.Operator{
		{Name: "Scan", Text: "t", Seconds: 0.5 + 0.08*2/3, Rows: 40, Partitions: []float64{0.02, 0.06}},
		{Name: "Project", Text: "[x]", Seconds: 0.06 * 2 / 3, Rows: 40, Partitions: []float64{0.025, 0.035}},
		{Name: "Tasks", Seconds: 0.01 * 2 / 3},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, w := range want {
		g := got[i]
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		same := g.Name == w.Name && near(g.Seconds, w.Seconds) && slices.EqualFunc(g.Partitions, w.Partitions, near)
		if i < 2 {
			same = same && g.Text == w.Text && g.Rows == w.Rows
		}
		if !same {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
}

// What is known of a batch goes away with it, whichever way it ends.
func TestWorkIsForgotten(t *testing.T) {
	for name, end := range map[string][]string{
		"the batch is committed":  {kafkaBatch("a", 3, began, [3]int64{0, 5, 5})},
		"a later one is":          {kafkaBatch("a", 4, began, [3]int64{0, 5, 5})},
		"the query ends":          {`{"Event":"` + listenerClass + `QueryTerminatedEvent","runId":"ra"}`},
		"the application ends":    {`{"Event":"SparkListenerApplicationEnd"}`},
		"it was committed before": {kafkaBatch("a", 3, began, [3]int64{0, 5, 5}), began1(7, 3, "ra", began)},
	} {
		t.Run(name, func(t *testing.T) {
			app := newApplication(monitor.NewRegistry(), slog.New(slog.DiscardHandler), "app")
			tell(app, started("a"), began1(7, 3, "ra", began), jobOf(7, "4, 5"),
				taskOf(4, 0, began, [3]int64{1, 1, 1}))
			tell(app, end...)
			b := &app.workbook
			if len(b.works)+len(b.executions)+len(b.stages) > 0 || app.damaged > 0 {
				t.Errorf("left: %+v, %d lines cannot be read", b, app.damaged)
			}
		})
	}
}

// The next batch of a run takes the place of one that was never committed.
func TestABatchThatIsTriedAgain(t *testing.T) {
	app := newApplication(monitor.NewRegistry(), slog.New(slog.DiscardHandler), "app")
	for batch := range int64(2000) {
		tell(app, began1(batch, batch, "ra", began), jobOf(batch, fmt.Sprint(batch)))
	}
	if b := &app.workbook; len(b.works) != 1 || len(b.executions) != 1 || len(b.stages) != 1 {
		t.Errorf("%d works, %d executions, %d stages", len(b.works), len(b.executions), len(b.stages))
	}
}

func TestLinesOfWorkThatSayNothing(t *testing.T) {
	damaged := 0
	for _, line := range []string{
		began1(1, 0, "", began), began1(1, -1, "r", began),
		strings.Replace(began1(1, 0, "r", began), "batch = 0", "batch = x", 1),
		`{"Event":"` + executionStarted + `","executionId":1,"description":"show at x.py:1"}`,
		`{"Event":"` + executionStarted + `"}`, `{"Event":"` + executionReplaned + `","executionId":5}`,
		`{"Event":"SparkListenerJobStart"}`,
		`{"Event":"SparkListenerJobStart","Stage IDs":[1],"Properties":{"spark.sql.execution.id":"x"}}`,
		`{"Event":"SparkListenerTaskEnd"}`, `{"Event":"SparkListenerTaskEnd","Stage ID":9,"Task Info":{}}`,
		`{"Event":"SparkListenerTaskEnd","Stage ID":x,`, `{"Event":"SparkListenerEnvironmentUpdate"}`,
		`{"Event":"` + driverMeasured + `","executionId":3,"accumUpdates":[[1,2]]}`,
	} {
		app := newApplication(monitor.NewRegistry(), slog.New(slog.DiscardHandler), "app")
		tell(app, line)
		damaged += app.damaged
		if n := len(app.workbook.works); n > 0 {
			t.Errorf("%s is taken for work", line)
		}
	}
	if damaged != 0 {
		t.Errorf("%d lines are said to be damaged", damaged)
	}
	app := newApplication(monitor.NewRegistry(), slog.New(slog.DiscardHandler), "app")
	tell(app, started("a"), began1(7, 0, "ra", began), jobOf(7, "4"),
		`{"Event":"SparkListenerTaskEnd","Stage ID":4,`,
		`{"Event":"`+executionStarted+`","executionId":"x"}`, `{"Event":"SparkListenerJobStart","Stage IDs":"x"}`)
	if app.damaged != 3 {
		t.Errorf("%d lines cannot be read, want 3", app.damaged)
	}
}

// BenchmarkReplay reads a log of batches of thirteen tasks, as testdata/work has them.
func BenchmarkReplay(b *testing.B) {
	names, err := filepath.Glob(filepath.Join("testdata", "work", "*.zstd"))
	if err != nil || len(names) != 1 {
		b.Fatal(names, err)
	}
	file, err := os.Open(names[0])
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	in, err := zstd.NewReader(file)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		b.Fatal(err)
	}
	// What stands between the end of batch 0 of the first query and that of its batch 1.
	ends := bytes.Split(data, []byte(`{"Event":"`+listenerClass+`QueryProgressEvent"`))
	first := bytes.Index(ends[1], []byte("\n")) + 1
	head, body := ends[0], string(ends[1][first:])+`{"Event":"`+listenerClass+`QueryProgressEvent"`
	body += string(ends[2][:bytes.Index(ends[2], []byte("\n"))+1])
	size := 0
	for b.Loop() {
		app := newApplication(monitor.NewRegistry(), slog.New(slog.DiscardHandler), "app")
		size = 0
		visit := func(line []byte, n int64) {
			size += int(n)
			if line != nil {
				app.line(line)
			}
		}
		if err := lines(bytes.NewReader(head), visit); err != io.EOF {
			b.Fatal(err)
		}
		for batch := range 200 {
			text := strings.ReplaceAll(body, `\nbatch = 1"`, fmt.Sprintf(`\nbatch = %d"`, batch))
			text = strings.ReplaceAll(text, `"batchId":1,`, fmt.Sprintf(`"batchId":%d,`, batch))
			if err := lines(strings.NewReader(text), visit); err != io.EOF {
				b.Fatal(err)
			}
		}
		if got := len(app.runs); got != 1 {
			b.Fatalf("%d runs", got)
		}
		for _, q := range app.runs {
			if q.batch != 199 || len(q.Batches()[0].Operators) != 10 {
				b.Fatalf("batch %d, %+v", q.batch, q.Batches()[0])
			}
		}
	}
	b.SetBytes(int64(size))
}
