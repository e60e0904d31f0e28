package exec

import (
	"maps"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// sortOp orders rows: all of them into one partition, or those of each
// partition.
type sortOp struct {
	in     operator
	set    *eval.Set
	orders []*plan.SortOrder
	attrs  []*plan.Attribute
	global bool
	ranges bool   // all rows in order, cut into partitions
	top    *int64 // only so many first rows are asked for
}

// maxTop is the largest limit for which a sort throws away the rows beyond it
// while it reads.
const maxTop = 100_000

func (p *planner) buildSort(n *plan.Sort, top *int64, want need) (input, error) {
	if len(n.Orders) == 0 {
		return p.build(n.Input, want)
	}
	if slices.ContainsFunc(n.Orders, func(o *plan.SortOrder) bool { return callsPython(o) }) {
		return p.buildPythonSort(n, top, want)
	}
	keys := make([]plan.Expr, len(n.Orders))
	for i, o := range n.Orders {
		keys[i] = o.Child
		if err := rowkey.Comparable(o.Type()); err != nil {
			return input{}, err
		}
	}
	in, err := p.build(n.Input, want.with(keys...))
	if err != nil {
		return input{}, err
	}
	set, err := p.compileSet(keys, in.attrs)
	if err != nil {
		return input{}, err
	}
	o := &sortOp{in: in.op, set: set, orders: n.Orders, attrs: in.attrs, global: n.Global, top: top}
	// Sorts that compilation made are not among the placements: nobody sees theirs.
	o.ranges = p.fixed && n.Global && top == nil && p.placements[n] != chunk.PartsUnseen
	return input{op: o, attrs: in.attrs}, nil
}

func (o *sortOp) parts(r *running) int {
	switch {
	case o.ranges:
		return r.counted[o]
	case o.global:
		return 1
	default:
		return o.in.parts(r)
	}
}

func (o *sortOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		held := r.lease("sort")
		defer held.End()
		sorted, err := o.collect(r, held)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, part := range slices.Sorted(maps.Keys(sorted)) {
			s := sorted[part]
			s.keys.Sort()
			ends := []int{s.keys.Len()}
			if o.ranges {
				ends = rangesOf(s.keys.Len(), r.partitions(), s.keys.Same)
				r.counted[o] = len(ends)
			}
			from := 0
			for i, end := range ends {
				if !s.emit(r, part+i, from, end, yield) {
					return
				}
				from = end
			}
		}
	}
}

// collect reads all rows into the sorters of their partitions.
func (o *sortOp) collect(r *running, held *chunk.Lease) (map[int]*sorter, error) {
	ev := o.set.Take(r.evaluation())
	defer ev.Release()
	sorters := map[int]*sorter{}
	for c, err := range o.in.rows(r) {
		if err != nil {
			return nil, err
		}
		part := c.Part
		if o.global {
			part = 0
		}
		s := sorters[part]
		if s == nil {
			s = &sorter{op: o, store: newRowStore(o.attrs, held)}
			sorters[part] = s
		}
		if err := s.add(ev, c); err != nil {
			return nil, err
		}
	}
	return sorters, nil
}

// sorter orders the rows of a store.
type sorter struct {
	op    *sortOp
	store *rowStore
	keys  rowkey.SortKeys
}

func (s *sorter) add(ev *eval.Evaluator, c *chunk.Chunk) error {
	cols, err := ev.EvalAll(c, nil)
	if err != nil {
		return err
	}
	if err := s.store.add(c); err != nil {
		return err
	}
	before := s.keys.Bytes()
	s.keys.Add(cols, s.op.orders)
	if err := s.store.held.Add(s.keys.Bytes() - before); err != nil {
		return err
	}
	if top := s.op.top; top != nil && s.keys.Len() > int(max(4*chunk.MaxRows, 4**top)) {
		return s.cut(int(*top))
	}
	return nil
}

// cut keeps the first n rows.
func (s *sorter) cut(n int) error {
	s.keys.Sort()
	rows := s.keys.Rows(0, n, nil)
	first := s.store.chunk(rows)
	s.keys.Cut(rows)
	held := s.store.held
	held.End()
	s.store = newRowStore(s.op.attrs, held)
	if err := held.Add(s.keys.Bytes()); err != nil {
		return err
	}
	return s.store.add(first)
}

// rangesOf cuts n rows in order into partitions of about one size, without cutting
// equal ones apart, and gives their ends. Spark does so by a sample, which is all
// rows as long as they are few.
func rangesOf(n, parts int, same func(i, j int) bool) []int {
	var ends []int
	parts = min(parts, n)
	step, last := float64(n)/float64(parts), -1
	target := step
	for i := 0; i < n && len(ends) < parts-1; i++ {
		if float64(i+1) < target || last >= 0 && same(i, last) {
			continue
		}
		last, target = i, target+step
		for i+1 < n && same(i+1, last) {
			i++
		}
		ends = append(ends, i+1)
	}
	return append(ends, n)
}

// emit yields rows [from, end) in order. It reports whether more are wanted.
func (s *sorter) emit(r *running, part, from, end int, yield receiver) bool {
	var rows []int32
	for ; from < end; from += chunk.MaxRows {
		rows = s.keys.Rows(from, min(end, from+chunk.MaxRows), rows[:0])
		if err := r.stopped(); err != nil {
			yield(nil, err)
			return false
		}
		c := s.store.chunk(rows)
		c.Part = part
		if !yield(c, nil) {
			return false
		}
	}
	return true
}
