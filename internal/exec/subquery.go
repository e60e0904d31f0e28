package exec

import (
	"bytes"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// subquery is a compiled query inside an expression. It runs once, before the
// rows of the query around it.
type subquery struct {
	node  *plan.Subquery
	root  operator
	attrs []*plan.Attribute
	form  *rowkey.Form // of IN
}

// answer is what a subquery found.
type answer struct {
	value  *chunk.Vector // of a scalar subquery, one row
	exists bool
	rows   *membership
}

// subqueryKey tells subqueries apart: one that stands in several places runs once.
type subqueryKey struct {
	plan plan.Node
	kind plan.SubqueryKind
}

// subquery compiles a subquery.
func (p *planner) subquery(n *plan.Subquery) error {
	if p.known[subqueryKey{n.Plan, n.Kind}] {
		return nil
	}
	in, err := p.build(n.Plan, nil)
	if err != nil {
		return err
	}
	in = in.take(n.Plan.Output())
	s := &subquery{node: n, root: in.op, attrs: in.attrs}
	if n.Kind == plan.InSubquery {
		types := make([]plan.Type, len(in.attrs))
		for i, a := range in.attrs {
			types[i] = a.Of
		}
		if s.form, err = rowkey.NewForm(types); err != nil {
			return err
		}
	}
	p.known[subqueryKey{n.Plan, n.Kind}] = true
	p.subs = append(p.subs, s)
	return nil
}

// answer runs the subquery.
func (s *subquery) answer(r *running) error {
	a := &answer{}
	if r.answers == nil {
		r.answers = map[subqueryKey]*answer{}
	}
	r.answers[subqueryKey{s.node.Plan, s.node.Kind}] = a
	switch s.node.Kind {
	case plan.ScalarSubquery:
		return s.scalar(r, a)
	case plan.ExistsSubquery:
		for c, err := range s.root.rows(r) {
			if err != nil {
				return err
			}
			if c.Rows > 0 {
				a.exists = true
				return nil
			}
		}
		return nil
	default:
		a.rows = newMembership(s.form, r.lease("subquery"))
		for c, err := range s.root.rows(r) {
			if err == nil {
				err = a.rows.add(c)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *subquery) scalar(r *running, a *answer) error {
	rows := 0
	for c, err := range s.root.rows(r) {
		if err != nil {
			return err
		}
		if rows += c.Rows; rows > 1 {
			return plan.NewError(plan.ClassSpark, "SCALAR_SUBQUERY_TOO_MANY_ROWS",
				"A subquery used as a value returned more than one row.").At(s.node.Origin)
		}
		if c.Rows > 0 {
			a.value = c.Cols[0]
		}
	}
	if a.value == nil {
		a.value = chunk.NullVector(s.attrs[0].Of, 1)
	}
	return nil
}

// Answer is the answer of a subquery of this run for the picked rows of n.
func (r *running) Answer(
	s *plan.Subquery, values []*chunk.Vector, sel chunk.Sel, n int,
) (*chunk.Vector, error) {
	a := r.answers[subqueryKey{s.Plan, s.Kind}]
	switch s.Kind {
	case plan.ScalarSubquery:
		return chunk.GatherMany("subquery", a.value, make([]int32, n))
	case plan.ExistsSubquery:
		return chunk.Repeat(a.exists, plan.Boolean, n), nil
	}
	normals := make([]*chunk.Vector, len(values))
	for k, v := range values {
		normals[k] = rowkey.Normal(v)
	}
	found := a.rows.contain(normals, sel, n)
	if found.Valid == nil {
		return found, nil
	}
	known := chunk.Make(plan.Boolean, n)
	for i, is := range chunk.Values[uint8](found) {
		if found.IsNull(i) {
			if is = 0; s.Negated {
				is = 1
			}
		}
		chunk.Values[uint8](known)[i] = is
	}
	return known, nil
}

// membership answers IN over the rows of a subquery.
type membership struct {
	index *rowkey.Index   // rows without NULL
	whole []*chunk.Vector // the same as columns, unless there is only one
	gaps  []*chunk.Vector // rows with a NULL
	rows  int
	held  *chunk.Lease
	ids   []int32
}

func newMembership(form *rowkey.Form, held *chunk.Lease) *membership {
	m := &membership{index: form.NewIndex(), held: held}
	for _, t := range form.Types {
		m.whole = append(m.whole, chunk.New(t, 0))
		m.gaps = append(m.gaps, chunk.New(t, 0))
	}
	return m
}

func (m *membership) single() bool { return len(m.gaps) == 1 }

func (m *membership) add(c *chunk.Chunk) error {
	cols := make([]*chunk.Vector, len(c.Cols))
	for i, v := range c.Cols {
		cols[i] = rowkey.Normal(v)
	}
	whole, gaps := splitNulls(cols, nil, c.Rows)
	m.ids = grow(m.ids, c.Rows)
	fresh := m.index.Insert(cols, whole, m.ids, nil)
	if m.single() {
		// One NULL of a single column says all that others could.
		fresh, gaps = nil, gaps[:min(len(gaps), 1-min(1, m.gaps[0].Len))]
	}
	for i, v := range cols {
		appendRows(m.whole[i], v, fresh)
		appendRows(m.gaps[i], v, gaps)
	}
	m.rows += c.Rows
	held := m.index.Bytes()
	for i := range cols {
		held += chunk.SizeOf(m.whole[i]) + chunk.SizeOf(m.gaps[i])
	}
	return m.held.Hold(held)
}

// splitNulls parts rows into those without any NULL and others.
func splitNulls(cols []*chunk.Vector, sel chunk.Sel, n int) (whole, gaps chunk.Sel) {
	flags := chunk.Make(plan.Boolean, n)
	values := chunk.Values[uint8](flags)
	sel.Each(n, func(i int) {
		values[i] = 1
		for _, v := range cols {
			if v.IsNull(i) {
				values[i] = 0
				return
			}
		}
	})
	return chunk.Split(flags, sel, n)
}

// contain is, for each picked row: true if an equal row exists, NULL if one
// might (a NULL on either side where all else is equal), else false.
func (m *membership) contain(values []*chunk.Vector, sel chunk.Sel, n int) *chunk.Vector {
	out := chunk.Make(plan.Boolean, n)
	yes := chunk.Values[uint8](out)
	whole, gaps := splitNulls(values, sel, n)
	m.ids = grow(m.ids, n)
	m.index.Find(values, whole, m.ids)
	for _, i := range whole {
		switch {
		case m.ids[i] >= 0:
			yes[i] = 1
		case maybe(m.gaps, values, int(i)):
			out.SetNull(int(i))
		}
	}
	for _, i := range gaps {
		if m.single() && m.rows > 0 || maybe(m.gaps, values, int(i)) || maybe(m.whole, values, int(i)) {
			out.SetNull(int(i))
		}
	}
	return out
}

// maybe reports whether some row equals row i of values wherever both are known.
func maybe(rows, values []*chunk.Vector, i int) bool {
	for k := range rows[0].Len {
		match := true
		for c := range rows {
			match = match && (rows[c].IsNull(k) || values[c].IsNull(i) || equalValues(rows[c], k, values[c], i))
		}
		if match {
			return true
		}
	}
	return false
}

func equalValues(a *chunk.Vector, i int, b *chunk.Vector, k int) bool {
	return bytes.Equal(rowkey.Append(nil, a, i), rowkey.Append(nil, b, k))
}
