package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function/hashes"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
)

// spreader knows the partition in which Spark would keep the state of a key, so
// that the rows an operator yields lie where a user expects them: in the files
// of a sink, in the calls of foreach.
type spreader struct {
	hash *eval.Set // nil: one partition
}

// spreadBy makes the spreader of rows with these keys.
func (p *planner) spreadBy(keys []state.Column) (*spreader, error) {
	if len(keys) == 0 {
		return &spreader{}, nil
	}
	attrs := make([]*plan.Attribute, len(keys))
	for i, k := range keys {
		attrs[i] = &plan.Attribute{Name: k.Name, Of: k.Type, Null: true, ID: plan.ExprID(-1 - i)}
	}
	// The hash of a partitioning is the function hash().
	set, err := p.compileSet([]plan.Expr{&plan.Call{Name: "hash", Args: exprsOf(attrs), Of: plan.Int}}, attrs)
	return &spreader{set}, err
}

// ordered is the numbers of rows, partition by partition.
type ordered struct {
	rows []int32
	ends []int // of each partition
}

// order sorts the numbers of n rows by partition. keys is the keys of a range
// of them, at most chunk.MaxRows.
func (s *spreader) order(r *running, n int, keys func(from, to int) []*chunk.Vector) (*ordered, error) {
	parts := r.partitions()
	if s.hash == nil || parts == 1 {
		o := &ordered{rows: make([]int32, n), ends: []int{n}}
		for i := range o.rows {
			o.rows[i] = int32(i)
		}
		return o, nil
	}
	part := make([]int32, n)
	o := &ordered{rows: make([]int32, n), ends: make([]int, parts)}
	for from := 0; from < n; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, n)
		if err := s.parts(r, keys(from, to), part[from:to]); err != nil {
			return nil, err
		}
		for _, p := range part[from:to] {
			o.ends[p]++
		}
	}
	// ends holds counts; turn them into beginnings, which move to the ends.
	at := 0
	for p, count := range o.ends {
		o.ends[p] = at
		at += count
	}
	for i, p := range part {
		o.rows[o.ends[p]] = int32(i)
		o.ends[p]++
	}
	return o, nil
}

// parts is the partition of each of at most chunk.MaxRows rows.
func (s *spreader) parts(r *running, keys []*chunk.Vector, part []int32) error {
	if s.hash == nil || r.partitions() == 1 {
		clear(part)
		return nil
	}
	ev := s.hash.Take(r.evaluation())
	defer ev.Release()
	v, err := ev.Eval(&chunk.Chunk{Cols: keys, Rows: len(part)}, nil)
	if err != nil {
		return err
	}
	for i, h := range chunk.Values[int32](v) {
		part[i] = int32(hashes.Partition(h, r.partitions()))
	}
	return nil
}

// each hands over the rows, at most chunk.MaxRows of one partition at a time,
// until visit says false.
func (o *ordered) each(visit func(part int, rows []int32) bool) {
	from := 0
	for part, end := range o.ends {
		for from < end {
			to := min(from+chunk.MaxRows, end)
			if !visit(part, o.rows[from:to]) {
				return
			}
			from = to
		}
	}
}

// each calls do for the partitions of rows that are known by number, in order,
// while it says so.
func (s *spreader) each(
	r *running, rows []int32, keys func(rows []int32) []*chunk.Vector, do func(part int, rows []int32) bool,
) error {
	order, err := s.order(r, len(rows), func(from, to int) []*chunk.Vector { return keys(rows[from:to]) })
	if err != nil {
		return err
	}
	order.each(func(part int, picked []int32) bool {
		some := make([]int32, len(picked))
		for i, k := range picked {
			some[i] = rows[k]
		}
		return do(part, some)
	})
	return nil
}
