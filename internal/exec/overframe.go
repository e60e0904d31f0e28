package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// aggregate folds the rows of every place's frame, in order, so that sums round
// as they do in Spark.
func (w *windowRows) aggregate(fn *windowFn) (*chunk.Vector, error) {
	f := &fn.frame
	switch {
	case f.From.Kind != plan.UnboundedPreceding:
		return w.sliding(fn)
	case f.To.Kind == plan.UnboundedFollowing:
		return w.whole(fn)
	default:
		return w.growing(fn)
	}
}

// folder folds ordered rows into the groups of an accumulator.
type folder struct {
	w    *windowRows
	fn   *windowFn
	call *plan.AggregateCall
	acc  function.Accumulator
	n    int // groups
	kept int64
}

// folder starts over n groups.
func (w *windowRows) folder(fn *windowFn, n int) (*folder, error) {
	call := fn.call.(*plan.AggregateCall)
	acc, err := fn.def.Accumulate(call, w.env)
	if whole, ok := acc.(function.WholeAccumulator); ok {
		whole.Whole()
	}
	return &folder{w: w, fn: fn, call: call, acc: acc, n: n}, err
}

// fold folds the rows of some columns, at most a chunk of them.
func (f *folder) fold(groups []int32, cols []*chunk.Vector) error {
	var sel chunk.Sel
	if at := f.fn.filter; at >= 0 {
		sel = chunk.TrueRows(cols[at], nil, len(groups), make(chunk.Sel, 0, len(groups)))
		if sel != nil && len(sel) == 0 {
			return nil
		}
	}
	args := make([]*chunk.Vector, len(f.fn.args))
	for i, k := range f.fn.args {
		args[i] = cols[k]
	}
	n := keptBytes(f.acc, args)
	f.kept += n
	if err := f.w.held.Add(n); err != nil {
		return err
	}
	return f.acc.Update(groups, args, sel, f.n)
}

// result is the value of each group.
func (f *folder) result() (*chunk.Vector, error) {
	args := make([]*chunk.Vector, len(f.fn.args))
	for i, k := range f.fn.args {
		args[i] = chunk.New(f.w.op.extra[k].Of, 0)
	}
	if err := f.acc.Update(nil, args, chunk.Sel{}, f.n); err != nil {
		return nil, err
	}
	return f.acc.Result()
}

// end gives back what the accumulator held.
func (f *folder) end() { _ = f.w.held.Add(-f.kept) }

// slice is what functions read of some places.
func (w *windowRows) slice(from, to int) []*chunk.Vector {
	cols := make([]*chunk.Vector, len(w.cols))
	for i, v := range w.cols {
		cols[i] = v.Slice(from, to)
	}
	return cols
}

// whole is the same value for all rows of a partition.
func (w *windowRows) whole(fn *windowFn) (*chunk.Vector, error) {
	f, err := w.folder(fn, len(w.parts)-1)
	if err != nil {
		return nil, err
	}
	defer f.end()
	groups := make([]int32, 0, w.n)
	for i := 1; i < len(w.parts); i++ {
		for range w.parts[i] - w.parts[i-1] {
			groups = append(groups, int32(i-1))
		}
	}
	for from := 0; from < w.n; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, w.n)
		if err := f.fold(groups[from:to], w.slice(from, to)); err != nil {
			return nil, err
		}
	}
	v, err := f.result()
	if err != nil {
		return nil, err
	}
	return chunk.GatherMany("window", v, groups)
}

// growing folds each row once: the frame of a row is that of the row before, and
// some more.
func (w *windowRows) growing(fn *windowFn) (*chunk.Vector, error) {
	out := chunk.New(fn.call.Type(), 0)
	groups := make([]int32, chunk.MaxRows)
	var f *folder
	var value *chunk.Vector
	var err error
	done := 0
	w.eachFrame(&fn.frame, func(part span, i int, frame span) {
		if err != nil {
			return
		}
		if i == part.from {
			if f != nil {
				f.end()
			}
			done, value = part.from, nil
			if f, err = w.folder(fn, 1); err != nil {
				return
			}
		}
		if value == nil || frame.to > done {
			if value, err = f.grow(groups, done, frame.to); err != nil {
				return
			}
			done = max(done, frame.to)
		}
		appendAny(out, value, 0)
	})
	if f != nil {
		f.end()
	}
	return out, err
}

// grow folds places [from, to) and answers the value so far.
func (f *folder) grow(groups []int32, from, to int) (*chunk.Vector, error) {
	for from < to {
		next := min(from+chunk.MaxRows, to)
		if err := f.fold(groups[:next-from], f.w.slice(from, next)); err != nil {
			return nil, err
		}
		from = next
	}
	if err := f.w.r.stopped(); err != nil {
		return nil, err
	}
	return f.result()
}

// sliding folds the frame of each row anew, many frames at a time.
func (w *windowRows) sliding(fn *windowFn) (*chunk.Vector, error) {
	s := &slider{w: w, fn: fn, out: chunk.New(fn.call.Type(), 0)}
	w.eachFrame(&fn.frame, func(_ span, _ int, frame span) {
		if s.err == nil {
			s.err = s.add(frame)
		}
	})
	if s.err == nil {
		s.err = s.finish()
	}
	return s.out, s.err
}

// slider folds frames that overlap: a group for each, its rows repeated.
type slider struct {
	w      *windowRows
	fn     *windowFn
	f      *folder
	out    *chunk.Vector
	frames int
	rows   []int32 // places not folded yet, with their groups
	groups []int32
	err    error
}

func (s *slider) add(frame span) error {
	if s.f == nil {
		f, err := s.w.folder(s.fn, chunk.MaxRows)
		if err != nil {
			return err
		}
		s.f, s.frames = f, 0
	}
	for i := frame.from; i < frame.to; i++ {
		s.rows = append(s.rows, int32(i))
		s.groups = append(s.groups, int32(s.frames))
		if len(s.rows) == chunk.MaxRows {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	s.frames++
	if s.frames == chunk.MaxRows {
		return s.finish()
	}
	return nil
}

// flush folds the rows at hand.
func (s *slider) flush() error {
	if len(s.rows) == 0 {
		return nil
	}
	if err := s.w.r.stopped(); err != nil {
		return err
	}
	cols := make([]*chunk.Vector, len(s.w.cols))
	for _, k := range append([]int{s.fn.filter}, s.fn.args...) {
		if k < 0 {
			continue
		}
		var err error
		if cols[k], err = chunk.GatherMany("window", s.w.cols[k], s.rows); err != nil {
			return err
		}
	}
	err := s.f.fold(s.groups, cols)
	s.rows, s.groups = s.rows[:0], s.groups[:0]
	return err
}

// finish yields the values of the frames at hand.
func (s *slider) finish() error {
	if s.f == nil {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	defer s.f.end()
	v, err := s.f.result()
	if err != nil {
		return err
	}
	s.out.AppendRange(v, 0, s.frames)
	s.f = nil
	return nil
}
