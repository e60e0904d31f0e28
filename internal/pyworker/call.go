package pyworker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Shape is how a function meets its rows.
type Shape string

// Shapes.
const (
	// Scalar functions give one value a row; several may be in a call, and each
	// sees the columns of the input and the results of those before it.
	Scalar Shape = "scalar"
	// ScalarIterator is one function over iterators of Series.
	ScalarIterator Shape = "scalarIterator"
	// MapPandas and MapArrow turn batches of a partition into others.
	MapPandas Shape = "mapPandas"
	MapArrow  Shape = "mapArrow"
	// GroupPandas and GroupArrow turn groups into rows. The first Keys columns of
	// the input are the group's key.
	GroupPandas Shape = "groupPandas"
	GroupArrow  Shape = "groupArrow"
	// CogroupPandas and CogroupArrow turn pairs of groups into rows. Behind the key
	// a column tells the rows of the second group (1) from those of the first (0),
	// which come first and have the next First columns; the others have the rest.
	CogroupPandas Shape = "cogroupPandas"
	CogroupArrow  Shape = "cogroupArrow"
	// Aggregate functions give one value a group. The key follows them.
	Aggregate Shape = "aggregate"
	// Over functions give one value for each row of a group, computed over all its
	// rows or over those between two places: the two columns behind the first Keys.
	Over Shape = "over"
	// StatePandas turns groups and their states into rows and states.
	StatePandas Shape = "statePandas"
	// Transform runs a stateful processor over groups, first states and timers;
	// TransformRows is the same for one that works on rows.
	Transform     Shape = "transform"
	TransformRows Shape = "transformRows"
	// Describe asks a stateful processor for its variables.
	Describe Shape = "describe"
	// Table yields any number of rows for a row, or for a table. The first Keys
	// columns of the input tell the table's partitions apart; the first column of the
	// results is the row of the batch that they are for. A second pickle is what the
	// function's method analyze gave.
	Table Shape = "table"
	// AnalyzeTable asks a table function about a call: a row of JSON and a pickle.
	AnalyzeTable Shape = "analyzeTable"
	// Foreach gives nothing.
	Foreach Shape = "foreach"
)

// EvalType numbers of PySpark.
const (
	EvalBatched         = 100
	EvalArrowBatched    = 101
	EvalScalarPandas    = 200
	EvalGroupPandas     = 201
	EvalAggregatePandas = 202
	EvalScalarIterator  = 204
	EvalMapPandas       = 205
	EvalCogroupPandas   = 206
	EvalMapArrow        = 207
	EvalStatePandas     = 208

	EvalTransformPandas     = 211
	EvalTransformPandasInit = 212
	EvalTransformRows       = 213
	EvalTransformRowsInit   = 214

	EvalGroupArrow            = 209
	EvalCogroupArrow          = 210
	EvalAggregatePandasFrames = 217 // of iterators
	EvalGroupArrowBatches     = 215 // of iterators
	EvalGroupPandasFrames     = 216 // of iterators
	EvalScalarArrow           = 250
	EvalAggregateArrow        = 252
	EvalAggregateArrowBatches = 254 // of iterators

	EvalTable       = 300
	EvalTableRows   = 301 // by way of Arrow
	EvalTableArrays = 302
)

// Argument is a column of the input, behind it the results of the functions
// before; Name is "" for positional ones.
type Argument struct {
	Column int    `json:"column"`
	Name   string `json:"name,omitempty"`
}

// Function is a pickled function.
type Function struct {
	Pickle []byte
	Eval   int
	Args   []Argument
}

// Call is functions over rows.
type Call struct {
	Shape     Shape
	Functions []Function
	Version   string // of the Python that pickled them
	Input     plan.Type
	Output    plan.Type // of the rows that come back, one field a function for scalars
	Keys      int
	First     int
	Partition int
	// Partitions are those that a Foreach is called for, each as if it were a task
	// of its own; all but a single one have no rows.
	Partitions []int
	// Properties are what TaskContext.getLocalProperty answers.
	Properties map[string]string
	Settings   Settings
	Launch     Launch
	State      *Stateful  // of functions that keep one
	Table      *TableCall // of table functions
}

// TableCall is a call of a table function.
type TableCall struct {
	Name     string `json:"name"`
	Argument int    `json:"argument"` // which is a row of a table; -1: none
	// Constant and Table are what is known of each argument while it is analysed.
	Constant []bool `json:"constant,omitempty"`
	Table    []bool `json:"table,omitempty"`
}

// Settings are those of the session.
type Settings struct {
	Zone   string // of timestamps
	Safe   bool   // spark.sql.execution.pandas.convertToArrowArraySafely
	ByName bool   // columns of frames are found by name
}

// described is a Call on the wire.
type described struct {
	Do           Shape             `json:"do"`
	Pickles      int               `json:"pickles"`
	Functions    []describedFunc   `json:"functions"`
	Python       string            `json:"python"`
	Input        json.RawMessage   `json:"input,omitempty"`
	Output       json.RawMessage   `json:"output,omitempty"`
	OutputSchema string            `json:"outputSchema,omitempty"`
	Keys         int               `json:"keys"`
	First        int               `json:"first"`
	Partition    int               `json:"partition"`
	Partitions   []int             `json:"partitions,omitempty"`
	Properties   map[string]string `json:"properties,omitempty"`
	Zone         string            `json:"zone"`
	Safe         bool              `json:"safe"`
	ByName       bool              `json:"byName"`
	State        json.RawMessage   `json:"state,omitempty"`
	Table        *TableCall        `json:"table,omitempty"`
}

type describedFunc struct {
	Eval   int        `json:"eval"`
	Args   []Argument `json:"args"`
	Result int        `json:"result"`
}

// Exchange is a call under way. One goroutine uses it, and ends it with End or
// Abandon.
type Exchange struct {
	host    *Host
	worker  *worker
	ctx     context.Context
	release func() bool
	call    *Call
	in      *arrow.Schema
	wanted  bool // the worker waits for rows
	ended   bool
}

// Begin finds a worker for a call and tells it.
func (h *Host) Begin(ctx context.Context, c *Call) (*Exchange, error) {
	w, err := h.take(ctx, c.Launch)
	if err != nil {
		return nil, err
	}
	x := &Exchange{host: h, worker: w, ctx: ctx, call: c, release: w.until(ctx)}
	options := chunk.ArrowOptions{Zone: c.Settings.Zone}
	x.in = chunk.ArrowSchema(c.Input, options)
	if err := x.tell(chunk.ArrowSchema(c.Output, options)); err != nil {
		return nil, x.lost(err)
	}
	return x, nil
}

func (x *Exchange) tell(out *arrow.Schema) error {
	c := x.call
	d := described{
		Do: c.Shape, Pickles: len(c.Functions), Python: c.Version, Input: json.RawMessage(c.Input.JSON()),
		Keys: c.Keys, First: c.First, Partition: c.Partition, Partitions: c.Partitions, Properties: c.Properties,
		Zone: c.Settings.Zone, Safe: c.Settings.Safe, ByName: c.Settings.ByName,
		Table: c.Table,
	}
	var err error
	if c.Shape != Foreach {
		if d.OutputSchema, err = schemaText(out); err != nil {
			return err
		}
		d.Output = json.RawMessage(c.Output.JSON())
	}
	if d.State, err = c.describeState(); err != nil {
		return err
	}
	for i, f := range c.Functions {
		d.Functions = append(d.Functions, describedFunc{Eval: f.Eval, Args: f.Args, Result: i})
	}
	return x.worker.tell(d, c.Functions)
}

// tell sends a call and its functions.
func (w *worker) tell(call any, functions []Function) error {
	if err := w.sendJSON(frameCall, call); err != nil {
		return err
	}
	for _, f := range functions {
		if err := w.send(framePickle, f.Pickle); err != nil {
			return err
		}
	}
	return nil
}

// Put hands a group of rows over when the function wants one. What it gives
// until then is passed to take, which says whether more is wanted. Put reports
// false when nothing more will come of the call, whatever is put into it.
func (x *Exchange) Put(take func(*chunk.Chunk) bool, rows ...*chunk.Chunk) (more bool, err error) {
	if x.ended {
		return false, nil
	}
	wanted, err := x.advance(take)
	if err != nil || !wanted {
		return false, err
	}
	for _, c := range rows {
		if err := x.worker.sendRows(c, x.in); err != nil {
			return false, x.lost(err)
		}
	}
	x.wanted = false
	if err := x.worker.send(frameGroup, nil); err != nil {
		return false, x.lost(err)
	}
	return true, nil
}

// End says that there are no more rows and waits for the rest of the results.
func (x *Exchange) End(take func(*chunk.Chunk) bool) error {
	for !x.ended {
		wanted, err := x.advance(take)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		x.wanted = false
		if err := x.worker.send(frameEnd, nil); err != nil {
			return x.lost(err)
		}
	}
	return nil
}

// abandonWait is how long a function may go on whose results nobody wants.
const abandonWait = time.Second

// Abandon ends a call before its end; an ended one is left alone.
func (x *Exchange) Abandon() {
	if x.ended {
		return
	}
	late := time.AfterFunc(abandonWait, x.worker.kill)
	defer late.Stop()
	// An exception that comes now is nobody's: the results are not wanted.
	_ = x.End(func(*chunk.Chunk) bool { return true })
}

// Kill ends a call that cannot come to its end: the function is not told that
// there are no more rows.
func (x *Exchange) Kill() {
	if x.ended {
		return
	}
	x.ended = true
	x.release()
	x.worker.kill()
	x.host.end(x.worker)
}

// advance takes results until the worker wants rows, which it reports, or the
// call has ended.
func (x *Exchange) advance(take func(*chunk.Chunk) bool) (wanted bool, err error) {
	for !x.ended && !x.wanted {
		kind, payload, err := x.worker.receive()
		if err != nil {
			return false, x.lost(err)
		}
		switch kind {
		case frameNeed:
			x.wanted = true
		case frameDone:
			x.finish()
		case frameError:
			x.finish()
			if x.ctx.Err() != nil {
				// The exception is the interruption.
				return false, context.Cause(x.ctx)
			}
			return false, failure(payload, workerSentence)
		case frameRows:
			proceed, err := x.results(payload, take)
			if err != nil {
				x.Kill()
				return false, fmt.Errorf("results of Python: %w", err)
			}
			if !proceed {
				x.Abandon()
				return false, nil
			}
		case frameChanges, frameAsk:
			serve := x.changed
			if kind == frameAsk {
				serve = x.asked
			}
			if err := serve(payload); err != nil {
				x.Kill()
				return false, fmt.Errorf("state of Python: %w", err)
			}
		default:
			return false, x.lost(fmt.Errorf("a frame of kind %q from Python", kind))
		}
	}
	return x.wanted && !x.ended, nil
}

// results passes a frame of rows on.
func (x *Exchange) results(payload []byte, take func(*chunk.Chunk) bool) (proceed bool, err error) {
	proceed = true
	err = readRows(payload, x.call.Output, func(c *chunk.Chunk) (bool, error) {
		proceed = take(c)
		return proceed, nil
	})
	return proceed, err
}

// finish gives the worker back.
func (x *Exchange) finish() {
	x.ended = true
	x.release()
	x.host.give(x.worker)
}

// lost ends a call whose worker does not answer as it should.
func (x *Exchange) lost(err error) error {
	x.ended = true
	x.release()
	err = x.worker.broken(x.ctx, err)
	x.host.end(x.worker)
	return err
}

// broken is why a worker does not answer.
func (w *worker) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return w.crashed(err)
}

// sendRows sends a chunk as an Arrow stream.
func (w *worker) sendRows(c *chunk.Chunk, schema *arrow.Schema) error {
	var b bytes.Buffer
	to := ipc.NewWriter(&b, ipc.WithSchema(schema))
	if err := to.Write(c.ToArrow(schema)); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	return w.send(frameRows, b.Bytes())
}

// workerSentence stands before a traceback in the error of a function.
const workerSentence = "An exception was thrown from the Python worker"

// failure is the exception that a worker reports.
func failure(payload []byte, sentence string) *plan.Error {
	var told struct{ Traceback string }
	if err := json.Unmarshal(payload, &told); err != nil {
		told.Traceback = string(payload)
	}
	return plan.NewError(plan.ClassPython, "PYTHON_EXCEPTION", sentence+": "+told.Traceback,
		"msg", sentence, "traceback", told.Traceback)
}
