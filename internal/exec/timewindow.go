package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// timeWindowOp adds the windows of time that a row lies in: a row for each.
type timeWindowOp struct {
	in    operator
	set   *eval.Set // the time, and the end of a session
	node  *plan.TimeWindow
	keep  []int
	wants bool // somebody reads the window
}

func (p *planner) buildTimeWindow(n *plan.TimeWindow, want need) (input, error) {
	exprs := []plan.Expr{n.Time}
	if n.End != nil {
		exprs = append(exprs, n.End)
	}
	in, err := p.build(n.Input, want.with(exprs...))
	if err != nil {
		return input{}, err
	}
	set, err := p.compileSet(exprs, in.attrs)
	if err != nil {
		return input{}, err
	}
	attrs := want.only(in.attrs)
	o := &timeWindowOp{in: in.op, set: set, node: n, keep: ordinalsOf(in.attrs, attrs), wants: want.has(n.Attr)}
	if o.wants {
		attrs = append(attrs[:len(attrs):len(attrs)], n.Attr)
	}
	return input{op: o, attrs: attrs}, nil
}

func (o *timeWindowOp) parts(r *running) int { return o.in.parts(r) }

func (o *timeWindowOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		ev := o.set.Take(r.evaluation())
		defer ev.Release()
		for c, err := range o.in.rows(r) {
			var w *windows
			if err == nil {
				w, err = o.windowsOf(ev, c)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !o.emit(c, w, yield) {
				return
			}
		}
	}
}

// windows are the windows of the rows of a chunk, row by row.
type windows struct {
	rows       []int32 // nil: each row has one
	start, end []int64
}

// windowsOf finds the windows of a chunk's rows.
func (o *timeWindowOp) windowsOf(ev *eval.Evaluator, c *chunk.Chunk) (*windows, error) {
	ev.Begin(c)
	v, err := ev.Out(0, nil)
	if err != nil {
		return nil, err
	}
	if n := o.node; n.End == nil && n.Slide == n.Size && v.Valid == nil && c.Rows > 0 {
		return tumbling(chunk.Values[int64](v), n), nil
	}
	w := &windows{
		rows: make([]int32, 0, c.Rows), start: make([]int64, 0, c.Rows), end: make([]int64, 0, c.Rows),
	}
	if c.Rows == 0 {
		return w, nil
	}
	if o.node.End != nil {
		ends, err := ev.Out(1, nil)
		if err != nil {
			return nil, err
		}
		w.sessions(v, ends)
		return w, nil
	}
	for i, t := range chunk.Values[int64](v) {
		if !v.IsNull(i) {
			w.add(int32(i), t, o.node)
		}
	}
	return w, nil
}

// tumbling finds the one window of each time; mostly it is that of the time before.
func tumbling(times []int64, n *plan.TimeWindow) *windows {
	both := make([]int64, 2*len(times))
	w := &windows{start: both[:len(times)], end: both[len(times):]}
	start, end := int64(0), int64(0)
	for i, t := range times {
		if t < start || t >= end {
			start = windowStart(t, n)
			end = start + n.Size
		}
		w.start[i], w.end[i] = start, end
	}
	return w
}

// windowStart is where the latest window that covers a time begins.
func windowStart(t int64, n *plan.TimeWindow) int64 {
	ago := (t - n.Start) % n.Slide
	if ago < 0 {
		ago += n.Slide
	}
	return t - ago
}

// add finds the windows of one time, the latest first. A window covers its start
// and not its end.
func (w *windows) add(row int32, t int64, n *plan.TimeWindow) {
	for start := windowStart(t, n); start > t-n.Size; start -= n.Slide {
		w.rows = append(w.rows, row)
		w.start = append(w.start, start)
		w.end = append(w.end, start+n.Size)
	}
}

// sessions are the windows that rows open by themselves; rows whose gap is
// nothing or less have none.
func (w *windows) sessions(times, ends *chunk.Vector) {
	until := chunk.Values[int64](ends)
	for i, t := range chunk.Values[int64](times) {
		if times.IsNull(i) || ends.IsNull(i) || until[i] <= t {
			continue
		}
		w.rows = append(w.rows, int32(i))
		w.start = append(w.start, t)
		w.end = append(w.end, until[i])
	}
}

// emit yields the rows with their windows.
func (o *timeWindowOp) emit(c *chunk.Chunk, w *windows, yield receiver) bool {
	for from := 0; from < len(w.start); from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, len(w.start))
		out := &chunk.Chunk{Rows: to - from, Part: c.Part}
		whole, rows := w.rows == nil, w.rows
		if !whole {
			rows = rows[from:to]
			whole = len(w.rows) == c.Rows && to-from == c.Rows && rows[0] == 0 && rows[c.Rows-1] == int32(c.Rows-1)
		}
		for _, k := range o.keep {
			v := c.Cols[k]
			if !whole {
				v = chunk.Gather(v, rows)
			}
			out.Cols = append(out.Cols, v)
		}
		if o.wants {
			time := o.node.Attr.Of.Fields[0].Type
			out.Cols = append(out.Cols, &chunk.Vector{Type: o.node.Attr.Of, Len: out.Rows, Kids: []*chunk.Vector{
				chunk.Of(time, w.start[from:to]), chunk.Of(time, w.end[from:to]),
			}})
		}
		if !yield(out, nil) {
			return false
		}
	}
	return true
}
