package exec

import (
	"cmp"
	"math"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// Sessions are windows that grow: rows of one key whose windows overlap or touch
// belong together. Grouping treats a row's own window as one more key at first;
// merging then joins groups of the same other keys whose windows meet.

// sessionKey is the place of the session among the keys of an aggregation, -1
// without one.
func sessionKey(groups []plan.Expr) int {
	return slices.IndexFunc(groups, func(e plan.Expr) bool {
		a, ok := unaliased(e).(*plan.Attribute)
		return ok && a.IsSession()
	})
}

// sessions are the windows of groups to be merged.
type sessions struct {
	of   *grouping
	at   int           // of the session among the keys
	keys *rowkey.Index // the other keys; nil without any
	cols []*chunk.Vector
	list []session
	// buffers are the partial results behind the windows, by session.row.
	buffers []*chunk.Vector
	// stored is where the windows from the state begin in the list; they are older
	// than the others.
	stored int
}

type session struct {
	key        int32
	start, end int64
	row        int32
}

func newSessions(of *grouping, at int) (*sessions, error) {
	s := &sessions{of: of, at: at, stored: math.MaxInt}
	types := without(of.types, at)
	for _, t := range types {
		s.cols = append(s.cols, chunk.New(t, 0))
	}
	if len(types) == 0 {
		return s, nil
	}
	var err error
	s.keys, err = rowkey.NewIndex(types)
	return s, err
}

// without is a list without element i.
func without[T any](list []T, i int) []T {
	return append(append(make([]T, 0, len(list)-1), list[:i]...), list[i+1:]...)
}

// inserted is a list with one more element at i.
func inserted[T any](list []T, i int, x T) []T {
	return append(append(append(make([]T, 0, len(list)+1), list[:i]...), x), list[i:]...)
}

// add takes windows with their other keys and partial results.
func (s *sessions) add(keys []*chunk.Vector, windows *chunk.Vector, buffers []*chunk.Vector) {
	n := windows.Len
	ids := make([]int32, n)
	for from := 0; from < n && s.keys != nil; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, n)
		some := make([]*chunk.Vector, len(keys))
		for k, v := range keys {
			some[k] = v.Slice(from, to)
		}
		for _, i := range s.keys.Insert(some, nil, ids[from:to], nil) {
			for k, v := range some {
				s.cols[k].AppendFrom(v, int(i))
			}
		}
	}
	if s.buffers == nil {
		for _, v := range buffers {
			s.buffers = append(s.buffers, chunk.New(v.Type, n))
		}
	}
	base := int32(len(s.list))
	for k, v := range buffers {
		appendAll(s.buffers[k], v)
	}
	start, end := chunk.Values[int64](windows.Kids[0]), chunk.Values[int64](windows.Kids[1])
	for i := range n {
		s.list = append(s.list, session{ids[i], start[i], end[i], base + int32(i)})
	}
}

// count is the number of distinct other keys.
func (s *sessions) count() int {
	if s.keys != nil {
		return s.keys.Count
	}
	return min(1, len(s.list))
}

// merged is the groups after merging: keys, and accumulators with the partial
// results folded together.
func (s *sessions) merged(r *running, buffers [][]plan.Type) (*groups, error) {
	order, ids, joined := s.join()
	g, err := s.of.start(r)
	if err != nil {
		return nil, err
	}
	g.index.Count = len(joined)
	g.keys = s.keysOf(joined)
	// Partial results are folded in the order of time, which first() shows.
	sorted := make([]*chunk.Vector, len(s.buffers))
	for k, v := range s.buffers {
		sorted[k] = chunk.Gather(v, order)
	}
	if err := mergeBuffers(g, buffers, ids, sorted); err != nil {
		g.end()
		return nil, err
	}
	return g, nil
}

// join finds the windows that belong together: what they become, the rows in the
// order of time, and which of the joined ones each of them is part of.
func (s *sessions) join() (order, ids []int32, joined []session) {
	list := slices.Clone(s.list)
	slices.SortStableFunc(list, func(a, b session) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.start, b.start), s.age(a)-s.age(b))
	})
	for _, w := range list {
		if n := len(joined); n > 0 && joined[n-1].key == w.key && w.start <= joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, w.end)
		} else {
			joined = append(joined, w)
		}
		order, ids = append(order, w.row), append(ids, int32(len(joined)-1))
	}
	return order, ids, joined
}

// age puts windows from the state before those of the batch.
func (s *sessions) age(w session) int {
	if int(w.row) >= s.stored {
		return 0
	}
	return 1
}

// keysOf is the key columns of merged windows.
func (s *sessions) keysOf(joined []session) []*chunk.Vector {
	rows := make([]int32, len(joined))
	start, end := make([]int64, len(joined)), make([]int64, len(joined))
	for i, w := range joined {
		rows[i], start[i], end[i] = w.key, w.start, w.end
	}
	keys := make([]*chunk.Vector, len(s.cols))
	for k, v := range s.cols {
		keys[k] = chunk.Gather(v, rows)
	}
	of := s.of.types[s.at]
	return inserted(keys, s.at, &chunk.Vector{Type: of, Len: len(joined), Kids: []*chunk.Vector{
		chunk.Of(of.Fields[0].Type, start), chunk.Of(of.Fields[1].Type, end),
	}})
}

// partial is the buffers of the groups of an aggregation.
func (g *groups) partial() ([]*chunk.Vector, error) {
	var buffers []*chunk.Vector
	for k, acc := range g.accs {
		if err := g.announce(k); err != nil {
			return nil, eval.At(err, g.of.calls[k].call)
		}
		buffers = append(buffers, acc.Buffers()...)
	}
	return buffers, nil
}

// bufferTypes are the types of the buffers of each call.
func (g *groups) bufferTypes() [][]plan.Type {
	out := make([][]plan.Type, len(g.accs))
	for k, acc := range g.accs {
		out[k] = acc.BufferTypes()
	}
	return out
}

// sessionOp merges the sessions of a batch query.
type sessionOp struct {
	in  operator
	agg *grouping
	at  int
}

func (o *sessionOp) parts(*running) int { return 1 }

func (o *sessionOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		g, err := o.group(r)
		if err != nil {
			yield(nil, err)
			return
		}
		defer g.end()
		for c, err := range g.results(r) {
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func (o *sessionOp) group(r *running) (*groups, error) {
	g, err := o.agg.start(r)
	if err != nil {
		return nil, err
	}
	defer g.end()
	for c, err := range o.in.rows(r) {
		if err == nil {
			err = g.add(c)
		}
		if err != nil {
			return nil, err
		}
	}
	s, err := newSessions(o.agg, o.at)
	if err != nil {
		return nil, err
	}
	buffers, err := g.partial()
	if err != nil {
		return nil, err
	}
	s.add(without(g.keys, o.at), g.keys[o.at], buffers)
	return s.merged(r, g.bufferTypes())
}
