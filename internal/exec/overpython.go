package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
)

// overPython is a function in Python over a window: one call of the worker for all
// partitions of the window, each a group. Where frames differ from row to row they
// go along as two columns behind the arguments, from and behind which place of the
// group they reach.
type overPython struct {
	name   string
	call   pyworker.Call
	framed bool
}

// pythonOver is the call of an aggregate function over a window, nil for those of the
// shelf.
func pythonOver(c *plan.AggregateCall, frame plan.WindowFrame) *overPython {
	if c.Python == nil {
		return nil
	}
	f := *c.Python
	f.Args = c.Args
	o := &overPython{name: f.Name, call: pyworker.Call{
		Shape: pyworker.Over, Version: f.PythonVersion,
		Output: plan.Struct(plan.Col(columnName(0), c.Of)),
	}}
	var fields []plan.Field
	o.call.Functions = []pyworker.Function{functionOf(&f, func(e plan.Expr) int {
		fields = append(fields, plan.Col(columnName(len(fields)), e.Type()))
		return len(fields) - 1
	})}
	o.call.Keys = len(fields)
	o.framed = frame.From.Kind != plan.UnboundedPreceding || frame.To.Kind != plan.UnboundedFollowing
	if o.framed {
		fields = append(fields, plan.Col("from", plan.Int), plan.Col("to", plan.Int))
	}
	o.call.Input = plan.Struct(fields...)
	return o
}

// callPython is the values of a function in Python for every place.
func (w *windowRows) callPython(fn *windowFn) (*chunk.Vector, error) {
	out := chunk.New(fn.call.Type(), 0)
	if w.n == 0 {
		return out, nil
	}
	cols := make([]*chunk.Vector, 0, len(fn.args)+2)
	for _, k := range fn.args {
		cols = append(cols, w.cols[k])
	}
	if fn.python.framed {
		bytes := int64(8 * w.n)
		if err := w.held.Add(bytes); err != nil {
			return nil, err
		}
		defer func() { _ = w.held.Add(-bytes) }()
		from, to := w.bounds(&fn.frame)
		cols = append(cols, from, to)
	}
	x, err := w.r.run.Python.begin(w.r.ctx, fn.python.name, fn.python.call)
	if err != nil {
		return nil, err
	}
	defer x.Abandon()
	take := func(c *chunk.Chunk) bool {
		out.AppendRange(c.Cols[0], 0, c.Rows)
		return true
	}
	w.eachPart(func(part span) {
		if err == nil {
			_, err = x.Put(take, slicesOf(cols, part, w.r.run.Python.batchRows())...)
		}
	})
	if err != nil {
		return nil, err
	}
	return out, x.End(take)
}

// slicesOf is some places of columns, in batches of at most so many rows.
func slicesOf(cols []*chunk.Vector, part span, most int) []*chunk.Chunk {
	var out []*chunk.Chunk
	for from := part.from; from < part.to; {
		to := part.to
		if to-from > most {
			to = from + most
		}
		c := &chunk.Chunk{Rows: to - from}
		for _, v := range cols {
			c.Cols = append(c.Cols, v.Slice(from, to))
		}
		out = append(out, c)
		from = to
	}
	return out
}

// bounds is where the frame of each place begins and ends, counted within its
// partition.
func (w *windowRows) bounds(f *frameForm) (from, to *chunk.Vector) {
	from, to = chunk.Make(plan.Int, w.n), chunk.Make(plan.Int, w.n)
	first, behind := chunk.Values[int32](from), chunk.Values[int32](to)
	w.eachFrame(f, func(part span, i int, frame span) {
		first[i] = int32(min(frame.from, part.to) - part.from)
		behind[i] = max(first[i], int32(frame.to-part.from))
	})
	return from, to
}
