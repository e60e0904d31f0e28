package function

import (
	"math"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// allRows is 0, 1, 2, … as far as a full chunk goes.
var allRows = func() (rows [chunk.MaxRows]uint16) {
	for i := range rows {
		rows[i] = uint16(i)
	}
	return rows
}()

// picked is the rows of sel, spelt out when sel is nil.
func picked(sel chunk.Sel, n int) []uint16 {
	switch {
	case sel != nil:
		return sel
	case n <= len(allRows):
		return allRows[:n]
	}
	rows := make([]uint16, n)
	for i := range rows {
		rows[i] = uint16(i)
	}
	return rows
}

// active is the picked rows that are valid, in order.
func active(valid chunk.Bitmap, sel chunk.Sel, n int) []uint16 {
	rows := picked(sel, n)
	if valid == nil {
		return rows
	}
	out := make([]uint16, 0, len(rows))
	for _, i := range rows {
		if valid.Get(int(i)) {
			out = append(out, i)
		}
	}
	return out
}

// validOf is the rows in which no argument is NULL.
func validOf(args []*chunk.Vector, n int) chunk.Bitmap {
	var valid chunk.Bitmap
	for _, a := range args {
		if a.Type.Kind == plan.KindNull {
			return make(chunk.Bitmap, (n+7)/8)
		}
		valid = valid.And(a.Valid, n)
	}
	return valid
}

// column is a fixed-width result under construction. Its validity may still be
// an argument's, so NULLs are set through it.
type column struct {
	*chunk.Vector
	own bool
}

func newColumn(t plan.Type, n int, valid chunk.Bitmap) column {
	v := chunk.Make(t, n)
	v.Valid = valid
	return column{Vector: v}
}

// null makes row i NULL.
func (c *column) null(i uint16) {
	if !c.own && c.Valid != nil {
		c.Valid = slices.Clone(c.Valid)
	}
	c.own = true
	c.SetNull(int(i))
}

// texts is a string or binary result under construction, filled in row order.
type texts struct {
	v    *chunk.Vector
	data []byte
	next int
	own  bool
}

func newTexts(t plan.Type, n int, valid chunk.Bitmap) *texts {
	v := &chunk.Vector{Type: t, Len: n, Valid: valid, Offsets: make([]int32, n+1)}
	return &texts{v: v}
}

// at starts row i, which follows those started before, and returns the bytes so
// far for the caller to append to and hand to end.
func (b *texts) at(i uint16) []byte {
	end := int32(len(b.data))
	for b.next <= int(i) {
		b.v.Offsets[b.next] = end
		b.next++
	}
	return b.data
}

func (b *texts) end(data []byte) { b.data = data }

func (b *texts) null(i uint16) {
	if !b.own && b.v.Valid != nil {
		b.v.Valid = slices.Clone(b.v.Valid)
	}
	b.own = true
	b.v.SetNull(int(i))
}

func (b *texts) done() *chunk.Vector {
	b.at(uint16(b.v.Len - 1))
	b.v.Offsets[b.v.Len] = int32(len(b.data))
	b.v.Data = b.data
	return b.v
}

// appender builds a result of any type row by row, with NULL for the rows that
// are not asked for.
type appender struct {
	v *chunk.Vector
}

func newAppender(t plan.Type, n int) *appender { return &appender{chunk.New(t, n)} }

// skipTo fills the rows before i.
func (a *appender) skipTo(i int) *chunk.Vector {
	for a.v.Len < i {
		a.v.AppendNull()
	}
	return a.v
}

// fixed is a kernel that maps the valid rows of fixed-width arguments one by
// one. The function is called for those rows only; ok false gives NULL.
func fixed[R chunk.Fixed](t plan.Type,
	row func(args []*chunk.Vector, i int) (r R, ok bool, err error)) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		valid := validOf(args, n)
		out := newColumn(t, n, valid)
		dst := chunk.Values[R](out.Vector)
		for _, i := range active(valid, sel, n) {
			r, ok, err := row(args, int(i))
			if err != nil {
				return nil, err
			}
			if !ok {
				out.null(i)
				continue
			}
			dst[i] = r
		}
		return out.Vector, nil
	}
}

// textRow appends the value of row i to dst; ok false gives NULL.
type textRow func(dst []byte, args []*chunk.Vector, i int) (out []byte, ok bool, err error)

// text is a kernel that makes a string or binary of the valid rows one by one.
func text(t plan.Type, row textRow) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		if n == 0 {
			return chunk.New(t, 0), nil
		}
		valid := validOf(args, n)
		out := newTexts(t, n, valid)
		out.data = make([]byte, 0, textBytes(args))
		for _, i := range active(valid, sel, n) {
			dst, ok, err := row(out.at(i), args, int(i))
			if err != nil {
				return nil, err
			}
			if err := room(dst, 0); err != nil {
				return nil, err
			}
			out.end(dst)
			if !ok {
				out.null(i)
			}
		}
		return out.done(), nil
	}
}

// room refuses n more bytes for a column's text when the offsets of a chunk
// could not count them.
func room(dst []byte, n int) error {
	if len(dst)+n > math.MaxInt32 {
		return plan.Unsupported("A text column of more than 2 GiB in one chunk")
	}
	return nil
}

// maxForesight bounds what is set aside for a result that may turn out short.
const maxForesight = 1 << 20

// textBytes guesses the size of a result from the texts it is made of.
func textBytes(args []*chunk.Vector) int {
	sum := 0
	for _, a := range args {
		if len(a.Offsets) > a.Len {
			sum += int(a.Offsets[a.Len] - a.Offsets[0])
		}
	}
	return min(sum, maxForesight)
}

// nested is a kernel that appends the value of the valid rows one by one to a
// vector of any type.
func nested(t plan.Type, row func(out *chunk.Vector, args []*chunk.Vector, i int) error) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := newAppender(t, n)
		for _, i := range active(validOf(args, n), sel, n) {
			if err := row(out.skipTo(int(i)), args, int(i)); err != nil {
				return nil, err
			}
		}
		return out.skipTo(n), nil
	}
}

// constant is the value of a call's argument when it is a literal.
func constant(e plan.Expr) (plan.Value, bool) {
	switch e := e.(type) {
	case *plan.Literal:
		return e.Value, true
	case *plan.Alias:
		return constant(e.Child)
	default:
		return nil, false
	}
}

// constantText is the text of an argument that is a literal string.
func constantText(e plan.Expr) (string, bool) {
	v, _ := constant(e)
	s, ok := v.(string)
	return s, ok
}
