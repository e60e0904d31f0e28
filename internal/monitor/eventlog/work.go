package eventlog

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// The events that tell what batches are made of. Spark ties an SQL execution to its batch
// by its description, jobs to the execution by a property, tasks to the job by its stages.
const (
	sqlEvents         = "org.apache.spark.sql.execution.ui.SparkListener"
	executionStarted  = sqlEvents + "SQLExecutionStart"
	executionReplaned = sqlEvents + "SQLAdaptiveExecutionUpdate"
	driverMeasured    = sqlEvents + "DriverAccumUpdates"
	jobStarted        = "SparkListenerJobStart"
	taskEnded         = "SparkListenerTaskEnd"
)

const (
	// mostExecutions is how many SQL executions of a batch are followed, mostStages how
	// many stages of all batches that run, mostTasks how many tasks of a batch.
	mostExecutions = 1000
	mostStages     = 20_000
	mostTasks      = 20_000
)

// workbook is what the jobs of an application do for batches that are not committed yet,
// one of each run.
type workbook struct {
	works      map[string]*work // by run
	executions map[int64]*work
	stages     map[int64]*work
}

func newWorkbook() workbook {
	return workbook{works: map[string]*work{}, executions: map[int64]*work{}, stages: map[int64]*work{}}
}

// work is what was done for one batch.
type work struct {
	runID string
	batch int64
	trees map[int64]*planNode // by execution
	// metrics are those of the trees, by accumulator. What tasks say of others is passed over.
	metrics map[int64]planMetric
	spent   map[int64]map[taskKey]float64 // seconds by accumulator
	driver  map[int64]float64             // seconds, outside tasks
	rows    map[int64]float64
	tasks   map[taskKey]taskSpan
}

// A taskKey is one of the tasks of a batch; one that is tried again has the key of the first.
type taskKey struct {
	stage     int64
	partition int64
}

type taskSpan struct{ launched, finished int64 } // Unix milliseconds

// kindOf is the name of a line's event.
func kindOf(line []byte) string {
	const head = `{"Event":"`
	rest, ok := bytes.CutPrefix(line, []byte(head))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 {
		return ""
	}
	return string(rest[:end])
}

// begin takes in an execution that is for a batch of a run: fresh says that the batch was
// not heard of before.
func (b *workbook) begin(id int64, of *described, plan *planNode) (fresh bool) {
	w := b.works[of.runID]
	if w == nil || w.batch != of.batch {
		b.forget(of.runID)
		w = &work{
			runID: of.runID, batch: of.batch, trees: map[int64]*planNode{}, metrics: map[int64]planMetric{},
			spent: map[int64]map[taskKey]float64{}, driver: map[int64]float64{}, rows: map[int64]float64{},
			tasks: map[taskKey]taskSpan{},
		}
		b.works[of.runID] = w
		fresh = true
	}
	if len(w.trees) < mostExecutions {
		b.executions[id] = w
		w.plan(id, plan)
	}
	return fresh
}

// plan notes the plan of an execution, which may replace an earlier one.
func (w *work) plan(id int64, plan *planNode) {
	w.trees[id] = plan
	plan.eachMetric(w.metrics)
}

// job ties the stages of a job to the batch of its execution.
func (b *workbook) job(execution int64, stages []int64) {
	w := b.executions[execution]
	if w == nil {
		return
	}
	for _, stage := range stages {
		if len(b.stages) < mostStages {
			b.stages[stage] = w
		}
	}
}

// taskStart begins the line of a task; the number of its stage follows.
const taskStart = `{"Event":"` + taskEnded + `","Stage ID":`

// ofTask finds the batch that a task was for without reading all of its line, which is
// most of what there is in a log.
func (b *workbook) ofTask(line []byte) *work {
	rest, ok := bytes.CutPrefix(line, []byte(taskStart))
	end := bytes.IndexByte(rest, ',')
	if !ok || end < 0 {
		return nil
	}
	stage, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	if err != nil {
		return nil
	}
	return b.stages[stage]
}

// taskEvent is the line of a task that ended.
type taskEvent struct {
	Stage  int64 `json:"Stage ID"`
	Reason struct {
		Reason string
	} `json:"Task End Reason"`
	Info struct {
		Index        int64
		Partition    *int64 `json:"Partition ID"` // since Spark 3.3
		Launched     int64  `json:"Launch Time"`
		Finished     int64  `json:"Finish Time"`
		Accumulables []struct {
			ID     int64
			Update json.RawMessage
		}
	} `json:"Task Info"`
}

// readTask reads the line of a task, without the metrics of the executor behind what is
// needed. A name between quotes with a colon behind stands nowhere inside a text, whose own
// quotes are escaped.
func readTask(line []byte) (*taskEvent, error) {
	for _, name := range []string{`,"Task Executor Metrics":`, `,"Task Metrics":`} {
		if i := bytes.Index(line, []byte(name)); i >= 0 {
			line = append(slices.Clip(line[:i]), '}')
		}
	}
	t := &taskEvent{}
	return t, json.Unmarshal(line, t)
}

// task takes in what a task did, and tells how many rows of sources it read.
func (w *work) task(t *taskEvent) (read int64) {
	key := taskKey{t.Stage, t.Info.Index}
	if t.Info.Partition != nil {
		key.partition = *t.Info.Partition
	}
	if _, again := w.tasks[key]; t.Reason.Reason != "Success" || again || len(w.tasks) >= mostTasks {
		return 0
	}
	w.tasks[key] = taskSpan{t.Info.Launched, t.Info.Finished}
	for _, a := range t.Info.Accumulables {
		m, ok := w.metrics[a.ID]
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.Trim(string(a.Update), `"`), 64)
		if err != nil || !(n >= 0) {
			continue
		}
		if m.rows {
			w.rows[a.ID] += n
			if m.source {
				read += int64(n)
			}
			continue
		}
		if w.spent[a.ID] == nil {
			w.spent[a.ID] = map[taskKey]float64{}
		}
		w.spent[a.ID][key] = n * m.unit
	}
	return read
}

// measured takes in what the driver says of an execution, pairs of accumulator and value.
func (b *workbook) measured(execution int64, updates [][2]float64) {
	w := b.executions[execution]
	if w == nil {
		return
	}
	for _, u := range updates {
		id := int64(u[0])
		if m, ok := w.metrics[id]; ok && u[1] >= 0 {
			if m.rows {
				w.rows[id] += u[1]
			} else {
				w.driver[id] += u[1] * m.unit
			}
		}
	}
}

// end takes out what was done for a batch, nil when nothing is known of it.
func (b *workbook) end(runID string, batch int64) *work {
	w := b.works[runID]
	if w == nil || w.batch > batch {
		return nil
	}
	b.forget(runID)
	if w.batch != batch {
		return nil
	}
	return w
}

// forget drops what is known of a run's batch.
func (b *workbook) forget(runID string) {
	w := b.works[runID]
	if w == nil {
		return
	}
	delete(b.works, runID)
	of := func(_ int64, other *work) bool { return other == w }
	maps.DeleteFunc(b.executions, of)
	maps.DeleteFunc(b.stages, of)
}

// described is what the description of an execution says of its batch.
type described struct {
	name, id, runID string
	batch           int64
}

// readDescription reads lines of the form "id = …", "runId = …", "batch = N" behind the
// query's name.
func readDescription(text string) (*described, bool) {
	name, rest, _ := strings.Cut(text, "\nid = ")
	id, rest, _ := strings.Cut(rest, "\nrunId = ")
	runID, number, ok := strings.Cut(rest, "\nbatch = ")
	batch, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	return &described{name, id, runID, batch}, ok && err == nil && batch >= 0 && id != "" && runID != ""
}

// executionEvent is the line of an execution: of its start, or of its plan.
type executionEvent struct {
	ID          int64 `json:"executionId"`
	Description string
	Time        int64     // Unix milliseconds
	Plan        *planNode `json:"sparkPlanInfo"`
	Settings    map[string]string
	Modified    map[string]string `json:"modifiedConfigs"`
	Updates     [][2]float64      `json:"accumUpdates"`
}

// jobEvent is the line of a job.
type jobEvent struct {
	Stages     []int64 `json:"Stage IDs"`
	Properties map[string]json.RawMessage
}

// work takes in a line that tells of the work for a batch; false for other lines.
func (a *application) work(kind string, line []byte) (bool, error) {
	switch kind {
	case executionStarted, executionReplaned, driverMeasured:
		var e executionEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return true, err
		}
		a.execution(kind, &e)
	case jobStarted:
		var j jobEvent
		if err := json.Unmarshal(line, &j); err != nil {
			return true, err
		}
		text := strings.Trim(string(j.Properties["spark.sql.execution.id"]), `"`)
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			a.workbook.job(id, j.Stages)
		}
	case taskEnded:
		w := a.workbook.ofTask(line)
		if w == nil {
			return true, nil
		}
		t, err := readTask(line)
		if err != nil {
			return true, err
		}
		a.saw(time.UnixMilli(t.Info.Finished))
		read := w.task(t)
		if q := a.runs[w.runID]; q != nil && q.running == w.batch {
			q.Flight().Read(read)
			q.Flight().Step()
		}
	default:
		return false, nil
	}
	return true, nil
}

func (a *application) execution(kind string, e *executionEvent) {
	switch {
	case kind == driverMeasured:
		a.workbook.measured(e.ID, e.Updates)
		return
	case e.Plan == nil:
		return
	case kind == executionReplaned:
		if w := a.workbook.executions[e.ID]; w != nil {
			w.plan(e.ID, e.Plan)
		}
		return
	}
	of, ok := readDescription(e.Description)
	if !ok {
		return
	}
	at := time.UnixMilli(e.Time)
	q := a.runs[of.runID]
	if q == nil { // the start was compacted away
		q = a.start(of.id, of.runID, &of.name, at)
	}
	if of.batch <= q.batch || !a.workbook.begin(e.ID, of, e.Plan) {
		return
	}
	a.saw(at)
	q.describe(e.Plan, a.settings, e.Modified)
	q.running = of.batch
	q.Begin(of.batch, at)
	q.Flight().Enter(health.Compute)
}
