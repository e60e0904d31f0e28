package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// buildSetOp compiles UNION, INTERSECT and EXCEPT.
func (p *planner) buildSetOp(n *plan.SetOp, want need) (input, error) {
	all := n.Kind == plan.Union && n.All
	if !all {
		want = nil
	}
	attrs := want.only(n.Attrs)
	ins := make([]input, len(n.Inputs))
	for i, child := range n.Inputs {
		columns := make([]*plan.Attribute, 0, len(attrs))
		for k, a := range child.Output() {
			if want.has(n.Attrs[k]) {
				columns = append(columns, a)
			}
		}
		in, err := p.build(child, needs(exprsOf(columns)...))
		if err != nil {
			return input{}, err
		}
		ins[i] = in.take(columns)
	}
	if n.Kind == plan.Union {
		u := &unionOp{}
		for _, in := range ins {
			u.ins = append(u.ins, in.op)
		}
		if all {
			return input{op: u, attrs: attrs}, nil
		}
		return newDedup(input{op: u, attrs: attrs}, attrs, attrs)
	}
	return buildOverlap(n, ins)
}

func buildOverlap(n *plan.SetOp, ins []input) (input, error) {
	types := make([]plan.Type, len(n.Attrs))
	for i, a := range n.Attrs {
		types[i] = a.Of
	}
	form, err := rowkey.NewForm(types)
	if err != nil {
		return input{}, err
	}
	op := ins[0].op
	for _, in := range ins[1:] {
		op = &overlapOp{left: op, right: in.op, form: form, except: n.Kind == plan.Except, all: n.All}
	}
	return input{op: op, attrs: n.Attrs}, nil
}

// unionOp yields the rows of its inputs one after the other, their partitions
// side by side.
type unionOp struct{ ins []operator }

func (o *unionOp) parts(r *running) int {
	n := 0
	for _, in := range o.ins {
		n += in.parts(r)
	}
	return n
}

func (o *unionOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		first := 0
		for _, in := range o.ins {
			parts := 0
			for c, err := range in.rows(r) {
				if err != nil {
					yield(nil, err)
					return
				}
				parts = max(parts, c.Part+1)
				out := *c
				out.Part += first
				if !yield(&out, nil) {
					return
				}
			}
			first += max(parts, in.parts(r))
		}
	}
}

// overlapOp is INTERSECT and EXCEPT: it reads the right side, then lets rows of
// the left side pass. NULL equals NULL.
type overlapOp struct {
	left, right operator
	form        *rowkey.Form
	except, all bool
}

func (o *overlapOp) parts(*running) int { return 1 }

func (o *overlapOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		s := &overlap{op: o, index: o.form.NewIndex(), held: r.lease("set operation")}
		defer s.held.End()
		for c, err := range o.right.rows(r) {
			if err == nil {
				err = s.right(c)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		s.known = s.index.Count
		s.passed = make([]bool, s.known)
		for c, err := range o.left.rows(r) {
			if err == nil {
				c, err = s.left(c)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if c != nil && !yield(c, nil) {
				return
			}
		}
	}
}

// overlap is a set operation in progress.
type overlap struct {
	op     *overlapOp
	index  *rowkey.Index
	held   *chunk.Lease
	ids    []int32
	known  int     // rows with numbers below it exist on the right
	times  []int64 // how often, less those used up
	passed []bool  // without ALL: the row was let through
}

// number gives each row of a chunk the number of its value.
func (s *overlap) number(c *chunk.Chunk) (*chunk.Chunk, error) {
	all := make([]int, len(c.Cols))
	for i := range all {
		all[i] = i
	}
	c = normalized(c, all)
	s.ids = grow(s.ids, c.Rows)
	s.index.Insert(c.Cols, nil, s.ids, nil)
	return c, s.held.Hold(s.index.Bytes() + int64(9*s.index.Count))
}

func (s *overlap) right(c *chunk.Chunk) error {
	_, err := s.number(c)
	if err != nil {
		return err
	}
	for len(s.times) < s.index.Count {
		s.times = append(s.times, 0)
	}
	for _, id := range s.ids {
		s.times[id]++
	}
	return nil
}

// left is the rows of a chunk that pass, nil without any.
func (s *overlap) left(c *chunk.Chunk) (*chunk.Chunk, error) {
	c, err := s.number(c)
	if err != nil {
		return nil, err
	}
	for len(s.passed) < s.index.Count {
		s.passed = append(s.passed, false)
	}
	sel := make(chunk.Sel, 0, c.Rows)
	for i, id := range s.ids {
		if s.passes(int(id)) {
			sel = append(sel, uint16(i))
		}
	}
	if len(sel) == 0 {
		return nil, nil
	}
	out := *c.Take(sel)
	out.Part = 0
	return &out, nil
}

func (s *overlap) passes(id int) bool {
	right := id < s.known
	if s.op.all {
		used := right && s.times[id] > 0
		if used {
			s.times[id]--
		}
		return used != s.op.except
	}
	if s.passed[id] || right == s.op.except {
		return false
	}
	s.passed[id] = true
	return true
}
