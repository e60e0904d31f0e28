package exec

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// sortOp orders rows: all of them into one partition, or those of each
// partition.
type sortOp struct {
	in     operator
	set    *exprSet
	orders []*plan.SortOrder
	attrs  []*plan.Attribute
	global bool
	top    *int64 // only so many first rows are asked for
}

// maxTop is the largest limit for which a sort throws away the rows beyond it
// while it reads.
const maxTop = 100_000

func (p *planner) buildSort(n *plan.Sort, top *int64, want need) (input, error) {
	keys := make([]plan.Expr, len(n.Orders))
	for i, o := range n.Orders {
		keys[i] = o.Child
		if err := comparable(o.Type()); err != nil {
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
	return input{op: o, attrs: in.attrs}, nil
}

func (o *sortOp) parts(r *running) int {
	if o.global {
		return 1
	}
	return o.in.parts(r)
}

func (o *sortOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		held := r.lease("sort")
		defer held.end()
		sorted, err := o.collect(r, held)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, part := range slices.Sorted(maps.Keys(sorted)) {
			if !sorted[part].emit(r, part, yield) {
				return
			}
		}
	}
}

// collect reads all rows into the sorters of their partitions.
func (o *sortOp) collect(r *running, held *lease) (map[int]*sorter, error) {
	ev := o.set.take(r)
	defer ev.release()
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

// sorter orders rows by keys that were written as bytes which compare as the
// rows do.
type sorter struct {
	op    *sortOp
	store *rowStore
	keys  []sortKey
	data  []byte
}

// sortKey is the key of a row: its first eight bytes, as a number, and where
// the rest begins.
type sortKey struct {
	prefix   uint64
	row      int32
	from, to int
}

func (s *sorter) add(ev *Evaluator, c *chunk.Chunk) error {
	cols, err := ev.EvalAll(c, nil)
	if err != nil {
		return err
	}
	base, kept := s.store.rows, len(s.data)
	if err := s.store.add(c); err != nil {
		return err
	}
	s.keys = slices.Grow(s.keys, c.Rows)
	for i := range c.Rows {
		s.keys = append(s.keys, s.key(cols, i, int32(base+i)))
	}
	if err := s.store.held.add(int64(len(s.data) - kept + 32*c.Rows)); err != nil {
		return err
	}
	if top := s.op.top; top != nil && len(s.keys) > int(max(4*chunk.MaxRows, 4**top)) {
		return s.cut(int(*top))
	}
	return nil
}

// key writes the key of a row. What goes beyond the prefix stays in data.
func (s *sorter) key(cols []*chunk.Vector, i int, row int32) sortKey {
	from := len(s.data)
	for k, v := range cols {
		s.data = appendSortKey(s.data, v, i, s.op.orders[k])
	}
	key := sortKey{row: row, from: from + 8, to: len(s.data)}
	if whole := s.data[from:]; len(whole) >= 8 {
		key.prefix = binary.BigEndian.Uint64(whole)
		return key
	}
	var short [8]byte
	copy(short[:], s.data[from:])
	key.prefix = binary.BigEndian.Uint64(short[:])
	s.data = s.data[:from]
	key.from, key.to = from, from
	return key
}

// appendSortKey writes one key of a row: a byte that puts NULL where it
// belongs, then the value, turned around for a descending order.
func appendSortKey(dst []byte, v *chunk.Vector, i int, o *plan.SortOrder) []byte {
	if v.IsNull(i) {
		if o.NullsFirst {
			return append(dst, 0)
		}
		return append(dst, 2)
	}
	dst = append(dst, 1)
	from := len(dst)
	dst = appendOrdered(dst, v, i)
	if o.Descending {
		for k := from; k < len(dst); k++ {
			dst[k] = ^dst[k]
		}
	}
	return dst
}

func (s *sorter) compare(a, b sortKey) int {
	if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
		return c
	}
	if c := bytes.Compare(s.data[a.from:a.to], s.data[b.from:b.to]); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}

// cut keeps the first n rows.
func (s *sorter) cut(n int) error {
	slices.SortFunc(s.keys, s.compare)
	rows := make([]int32, min(n, len(s.keys)))
	for i := range rows {
		rows[i] = s.keys[i].row
	}
	first := s.store.chunk(rows)
	old := s.data
	s.data = nil
	for i := range rows {
		k := &s.keys[i]
		from := len(s.data)
		s.data = append(s.data, old[k.from:k.to]...)
		k.row, k.from, k.to = int32(i), from, len(s.data)
	}
	s.keys = s.keys[:len(rows)]
	held := s.store.held
	held.end()
	s.store = newRowStore(s.op.attrs, held)
	if err := held.add(int64(len(s.data) + 32*len(s.keys))); err != nil {
		return err
	}
	return s.store.add(first)
}

// emit yields the rows in order. It reports whether more are wanted.
func (s *sorter) emit(r *running, part int, yield receiver) bool {
	slices.SortFunc(s.keys, s.compare)
	rows := make([]int32, 0, chunk.MaxRows)
	for from := 0; from < len(s.keys); from += chunk.MaxRows {
		rows = rows[:0]
		for _, k := range s.keys[from:min(from+chunk.MaxRows, len(s.keys))] {
			rows = append(rows, k.row)
		}
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
