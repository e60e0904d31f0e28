package fn

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

// Picked is the rows of sel, spelt out when sel is nil.
func Picked(sel chunk.Sel, n int) []uint16 {
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

// Active is the picked rows that are valid, in order.
func Active(valid chunk.Bitmap, sel chunk.Sel, n int) []uint16 {
	rows := Picked(sel, n)
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

// ValidOf is the rows in which no argument is NULL.
func ValidOf(args []*chunk.Vector, n int) chunk.Bitmap {
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

func NewColumn(t plan.Type, n int, valid chunk.Bitmap) column {
	v := chunk.Make(t, n)
	v.Valid = valid
	return column{Vector: v}
}

// Null makes row i NULL.
func (c *column) Null(i uint16) {
	if !c.own && c.Valid != nil {
		c.Valid = slices.Clone(c.Valid)
	}
	c.own = true
	c.SetNull(int(i))
}

// texts is a string or binary result under construction, filled in row order.
type texts struct {
	v    *chunk.Vector
	Data []byte
	next int
	own  bool
}

func NewTexts(t plan.Type, n int, valid chunk.Bitmap) *texts {
	v := &chunk.Vector{Type: t, Len: n, Valid: valid, Offsets: make([]int32, n+1)}
	return &texts{v: v}
}

// At starts row i, which follows those started before, and returns the bytes so
// far for the caller to append to and hand to end.
func (b *texts) At(i uint16) []byte {
	end := int32(len(b.Data))
	for b.next <= int(i) {
		b.v.Offsets[b.next] = end
		b.next++
	}
	return b.Data
}

func (b *texts) End(data []byte) { b.Data = data }

func (b *texts) null(i uint16) {
	if !b.own && b.v.Valid != nil {
		b.v.Valid = slices.Clone(b.v.Valid)
	}
	b.own = true
	b.v.SetNull(int(i))
}

func (b *texts) Done() *chunk.Vector {
	b.At(uint16(b.v.Len - 1))
	b.v.Offsets[b.v.Len] = int32(len(b.Data))
	b.v.Data = b.Data
	return b.v
}

// appender builds a result of any type row by row, with NULL for the rows that
// are not asked for.
type appender struct {
	v *chunk.Vector
}

func NewAppender(t plan.Type, n int) *appender { return &appender{chunk.New(t, n)} }

// SkipTo fills the rows before i.
func (a *appender) SkipTo(i int) *chunk.Vector {
	for a.v.Len < i {
		a.v.AppendNull()
	}
	return a.v
}

// Fixed is a kernel that maps the valid rows of fixed-width arguments one by
// one. The function is called for those rows only; ok false gives NULL.
func Fixed[R chunk.Fixed](t plan.Type,
	row func(args []*chunk.Vector, i int) (r R, ok bool, err error)) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		valid := ValidOf(args, n)
		out := NewColumn(t, n, valid)
		dst := chunk.Values[R](out.Vector)
		for _, i := range Active(valid, sel, n) {
			r, ok, err := row(args, int(i))
			if err != nil {
				return nil, err
			}
			if !ok {
				out.Null(i)
				continue
			}
			dst[i] = r
		}
		return out.Vector, nil
	}
}

// textRow appends the value of row i to dst; ok false gives NULL.
type textRow func(dst []byte, args []*chunk.Vector, i int) (out []byte, ok bool, err error)

// Text is a kernel that makes a string or binary of the valid rows one by one.
func Text(t plan.Type, row textRow) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		if n == 0 {
			return chunk.New(t, 0), nil
		}
		valid := ValidOf(args, n)
		out := NewTexts(t, n, valid)
		out.Data = make([]byte, 0, textBytes(args))
		for _, i := range Active(valid, sel, n) {
			dst, ok, err := row(out.At(i), args, int(i))
			if err != nil {
				return nil, err
			}
			if err := Room(dst, 0); err != nil {
				return nil, err
			}
			out.End(dst)
			if !ok {
				out.null(i)
			}
		}
		return out.Done(), nil
	}
}

// Room refuses n more bytes for a column's text when the offsets of a chunk
// could not count them.
func Room(dst []byte, n int) error {
	if len(dst)+n > math.MaxInt32 {
		return plan.Unsupported("A text column of more than 2 GiB in one chunk")
	}
	return nil
}

// LargeResult is the size from which a result is asked for in the budget before
// it is made.
const LargeResult = 1 << 20

// Lengthened makes room for n more bytes of a column's text.
func Lengthened(env *Env, dst []byte, n int) ([]byte, error) {
	if err := Room(dst, n); err != nil {
		return nil, err
	}
	if n > LargeResult {
		if err := env.Memory.Fits("text", int64(len(dst)+n)); err != nil {
			return nil, err
		}
	}
	return slices.Grow(dst, n), nil
}

// Growth asks the budget again whenever a text that grows bit by bit has doubled.
type Growth struct {
	Env   *Env
	asked int
}

// Add is lengthened for one bit, which costs nothing while the text is small.
func (g *Growth) Add(dst []byte, n int) error {
	size := len(dst) + n
	if size <= max(g.asked, LargeResult) {
		return nil
	}
	g.asked = 2 * size
	if err := Room(dst, n); err != nil {
		return err
	}
	return g.Env.Memory.Fits("text", int64(g.asked))
}

// RoomFor refuses n more elements of an array that the budget does not have.
func RoomFor(env *Env, function string, elements *chunk.Vector, n uint64) error {
	if n+uint64(elements.Len) > maxElements {
		return tooManyElements(function, n)
	}
	if n+uint64(elements.Len) <= LargeResult/8 {
		return nil
	}
	size := int64(n+uint64(elements.Len)) * int64(max(1, chunk.Width(elements.Type)))
	return env.Memory.Fits("array of "+function, size)
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

// Nested is a kernel that appends the value of the valid rows one by one to a
// vector of any type.
func Nested(t plan.Type, row func(out *chunk.Vector, args []*chunk.Vector, i int) error) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := NewAppender(t, n)
		for _, i := range Active(ValidOf(args, n), sel, n) {
			if err := row(out.SkipTo(int(i)), args, int(i)); err != nil {
				return nil, err
			}
		}
		return out.SkipTo(n), nil
	}
}

// Constant is the value of a call's argument when it is a literal.
func Constant(e plan.Expr) (plan.Value, bool) {
	switch e := e.(type) {
	case *plan.Literal:
		return e.Value, true
	case *plan.Alias:
		return Constant(e.Child)
	default:
		return nil, false
	}
}

// ConstantText is the text of an argument that is a literal string.
func ConstantText(e plan.Expr) (string, bool) {
	v, _ := Constant(e)
	s, ok := v.(string)
	return s, ok
}

// maxElements is the longest array Spark makes.
const maxElements = math.MaxInt32 - 15

// AppendAny copies row i; vectors of the null type have only NULLs.
func AppendAny(dst, src *chunk.Vector, i int) {
	if src.IsNull(i) {
		dst.AppendNull()
		return
	}
	dst.AppendFrom(src, i)
}

func Sizes(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	out := NewColumn(plan.Int, n, ValidOf(args, n))
	dst := chunk.Values[int32](out.Vector)
	for _, i := range Active(out.Valid, sel, n) {
		dst[i] = args[0].Offsets[i+1] - args[0].Offsets[i]
	}
	return out.Vector, nil
}

// ConstantInt is the value of an integer literal, perhaps cast or negated.
func ConstantInt(e plan.Expr) (int64, bool) {
	switch e := e.(type) {
	case *plan.Literal:
		v, ok := e.Value.(int64)
		return v, ok || e.Value == nil
	case *plan.Cast:
		return ConstantInt(e.Child)
	case *plan.Call:
		if e.Name == "negative" {
			v, ok := ConstantInt(e.Args[0])
			return -v, ok
		}
	}
	return 0, false
}
