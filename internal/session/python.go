package session

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/session/settings"
)

// Settings of Python code.
const (
	interpreterKey = "spark.sql.execution.pyspark.python"
	safeArrowKey   = "spark.sql.execution.pandas.convertToArrowArraySafely"
	batchRowsKey   = "spark.sql.execution.arrow.maxRecordsPerBatch"
	byNameKey      = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName"
)

// Door is how Python code of a query comes back to its session; the server of
// the protocol is one.
type Door interface {
	// Admit lets processes that come to the URL in under the ids of root and s, and
	// no other, until leave is called, which releases s.
	Admit(root, s *Session) (url string, leave func(), err error)
}

// SetDoor says how Python code comes back. It is called before the first query
// starts; without it foreachBatch is refused.
func (e *Engine) SetDoor(d Door) { e.door = d }

// launch is the Python that functions of the session want.
func (sc *scope) launch() pyworker.Launch {
	a := sc.session.artifacts
	l := pyworker.Launch{Path: a.Modules(), Files: a.Files()}
	if python, ok := sc.conf.Lookup(interpreterKey); ok {
		l.Python = python
	}
	l.Hear = hearing(sc.session.output)
	return l
}

// hearing puts what functions print into an output; nil is nobody's.
func hearing(o *monitor.Output) func(pyworker.Line) {
	if o == nil {
		return nil
	}
	return func(l pyworker.Line) {
		o.Hear(monitor.OutputLine{At: time.Now(), Error: l.Error, Text: l.Text, Cut: l.Cut})
	}
}

// launch is that of the query's functions, whose words are the query's.
func (b *streamStart) launch() pyworker.Launch {
	l := b.scope.launch()
	l.Hear = hearing(b.output)
	return l
}

// python is how functions of the query run.
func (b *streamStart) python() *exec.Python {
	p := b.scope.python()
	p.Launch = b.launch()
	return p
}

// pythonSettings are those that shape what functions see.
func (sc *scope) pythonSettings() pyworker.Settings {
	return pyworker.Settings{
		Zone: sc.conf.Value(settings.ZoneKey), Safe: sc.conf.Flag(safeArrowKey), ByName: sc.conf.Flag(byNameKey),
	}
}

// python is how functions of the session run.
func (sc *scope) python() *exec.Python {
	return &exec.Python{
		Host: sc.session.engine.options.Python, Launch: sc.launch(), Settings: sc.pythonSettings(),
		BatchRows: sc.number(batchRowsKey),
	}
}

// checkPython refuses a plan with Python functions where they are switched off.
func (sc *scope) checkPython(n plan.Node) error {
	name := analyze.PythonFunction(n)
	if name == "" {
		return nil
	}
	return sc.session.engine.options.Python.Allowed("The function " + name)
}

// number is a setting that is a whole number.
func (sc *scope) number(key string) int {
	n, err := strconv.Atoi(strings.TrimSpace(sc.conf.Value(key)))
	if err != nil {
		return 0
	}
	return n
}

// Formats of queries whose sink is Python code.
const (
	foreachFormat      = "foreach"
	foreachBatchFormat = "foreachBatch"
)

// toPython makes the sink of a query with foreach or foreachBatch.
func (b *streamStart) toPython() error {
	name, sink := foreachFormat, b.openForeach
	if b.command.ForeachAll != nil {
		name, sink = foreachBatchFormat, b.openBatches
	}
	if err := b.scope.session.engine.options.Python.Allowed("The function of " + name); err != nil {
		return err
	}
	if len(b.spec.Partitions) > 0 {
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1197", "'"+name+"' does not support partitioning.",
			"operation", name)
	}
	b.format = &connector.Format{Name: name, Sink: sink}
	if name == foreachBatchFormat {
		b.format.Options = []connector.Option{{Name: idempotentOption}}
	}
	return nil
}

// openBatches starts the worker of a foreachBatch. Its function runs in a copy
// of the session, made now.
func (b *streamStart) openBatches(ctx context.Context, _ *connector.Env, spec connector.SinkSpec,
) (connector.Sink, error) {
	once, err := optionFlag(spec.Options, idempotentOption)
	if err != nil {
		return nil, err
	}
	root, f := b.scope.session, b.command.ForeachAll
	engine := root.engine
	if engine.door == nil {
		return nil, plan.Unsupported("foreachBatch without a server that the function can come back to")
	}
	clone := root.Clone(newID())
	clone.output = b.output
	url, leave, err := engine.door.Admit(root, clone)
	if err != nil {
		return nil, err
	}
	worker, err := engine.options.Python.OpenBatches(ctx, b.launch(), f.Command, f.PythonVersion,
		pyworker.Entry{URL: url, Root: root.id, Clone: clone.id, User: root.user})
	if err != nil {
		leave()
		return nil, notInitialized(err)
	}
	return &batchSink{
		session: clone, schema: b.spec.Schema, budget: b.scope.eval.Memory, worker: worker, leave: leave,
		query: spec.QueryID, once: once,
	}, nil
}

// notInitialized says that a function could not even be loaded.
func notInitialized(err error) error {
	e, ok := err.(*plan.Error)
	if !ok || e.Condition != "PYTHON_EXCEPTION" {
		return err
	}
	const result = -2
	return plan.NewError(plan.ClassSpark, "STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE",
		"Streaming Runner initialization failed, the function cannot be loaded: "+e.Args["traceback"],
		"resFromPython", strconv.Itoa(result), "msg", e.Args["traceback"])
}

// batchSink gives each batch to the function of a foreachBatch.
type batchSink struct {
	session *Session // where the function runs
	schema  plan.Type
	budget  *chunk.Budget
	worker  *pyworker.Batches
	leave   func()
	query   string // its id
	once    bool   // each write of the function is made once for a batch
}

func (k *batchSink) Describe() string { return "ForeachBatchSink" }

// Write reads the batch to its end before the function sees it: the function
// may then read it never or often, and the operators below have done their work.
func (k *batchSink) Write(ctx context.Context, batch connector.Batch) (int64, error) {
	s, err := k.session.engine.spooled(k.schema, batch.Rows, k.budget)
	if err != nil {
		return 0, err
	}
	frame := k.session.putSpool(s, batch.ID)
	defer k.session.dropSpool(frame)
	if k.once {
		k.session.setWrites(&batchWrites{query: k.query, batch: batch.ID, count: map[string]int{}})
		defer k.session.setWrites(nil)
	}
	return uncounted, k.worker.Run(ctx, frame, batch.ID)
}

// uncounted is what Spark says of the rows of a foreachBatch.
const uncounted = -1

func (k *batchSink) Close() error {
	k.worker.Close()
	k.leave()
	return nil
}

// openForeach makes the sink of a foreach. Its function is loaded anew for every
// partition of a batch, as in Spark.
func (b *streamStart) openForeach(_ context.Context, _ *connector.Env, _ connector.SinkSpec,
) (connector.Sink, error) {
	return &foreachSink{
		host: b.scope.session.engine.options.Python,
		call: pyworker.Call{
			Shape: pyworker.Foreach, Functions: []pyworker.Function{{Pickle: b.command.Foreach.Command}},
			Version: b.command.Foreach.PythonVersion, Input: b.spec.Schema,
			Settings: b.scope.pythonSettings(), Launch: b.launch(),
		},
	}, nil
}

// foreachSink gives the rows of each partition to the writer of a foreach.
type foreachSink struct {
	host *pyworker.Host
	call pyworker.Call
}

// Describe names the objects that Spark has in this place.
func (k *foreachSink) Describe() string {
	const writer = "org.apache.spark.sql.execution.python.streaming.PythonForeachWriter"
	const table = "org.apache.spark.sql.execution.streaming.sources.ForeachWriterTable"
	return "ForeachWriterTable(" + writer + "@" + objectID + ",Right(" + table + "$$$Lambda@" + objectID + "))"
}

// objectID stands where Java prints the identity of an object.
const objectID = "00000001"

// epochProperty is where foreach finds the batch that it is at.
const epochProperty = "streaming.sql.batchId"

func (k *foreachSink) Write(ctx context.Context, batch connector.Batch) (int64, error) {
	w := &foreachWrite{sink: k, ctx: ctx, batch: batch.ID, done: map[int]bool{}}
	for c, err := range batch.Rows {
		if err == nil {
			err = w.put(c)
		}
		if err != nil {
			w.kill()
			return 0, err
		}
	}
	if err := w.end(); err != nil {
		return 0, err
	}
	return w.rows, w.openEmpty(batch.Parts())
}

// Placement asks for one partition after the other: a writer is opened once for each.
func (k *foreachSink) Placement() chunk.Placement { return chunk.PartsGrouped }

func (k *foreachSink) Close() error { return nil }

// foreachWrite is a batch on its way into a foreach.
type foreachWrite struct {
	sink  *foreachSink
	ctx   context.Context
	batch int64
	part  int
	call  *pyworker.Exchange // of the partition at hand
	done  map[int]bool       // partitions that had rows
	rows  int64
}

func (w *foreachWrite) put(c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	if w.call != nil && c.Part != w.part {
		if err := w.end(); err != nil {
			return err
		}
	}
	if w.call == nil {
		if err := w.begin(c.Part); err != nil {
			return err
		}
		w.part = c.Part
		w.done[c.Part] = true
	}
	w.rows += int64(c.Rows)
	_, err := w.call.Put(noRows, c)
	return err
}

// begin starts the call for some partitions. Only that for one gets rows.
func (w *foreachWrite) begin(parts ...int) (err error) {
	call := w.sink.call
	call.Partitions = parts
	call.Properties = map[string]string{epochProperty: strconv.FormatInt(w.batch, 10)}
	w.call, err = w.sink.host.Begin(w.ctx, &call)
	return err
}

// openEmpty gives the partitions without rows their turn, in one call.
func (w *foreachWrite) openEmpty(parts int) error {
	var empty []int
	for part := range parts {
		if !w.done[part] {
			empty = append(empty, part)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	if err := w.begin(empty...); err != nil {
		return err
	}
	return w.end()
}

// noRows takes the results of a function that has none.
func noRows(*chunk.Chunk) bool { return true }

func (w *foreachWrite) end() error {
	if w.call == nil {
		return nil
	}
	err := w.call.End(noRows)
	w.call = nil
	return err
}

// kill ends the partition at hand without telling the writer that it is whole.
func (w *foreachWrite) kill() {
	if w.call != nil {
		w.call.Kill()
	}
}
