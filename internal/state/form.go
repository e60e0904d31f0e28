package state

import (
	"encoding/binary"
	"fmt"
	mathbits "math/bits"

	"github.com/zeebo/xxh3"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// form is how the values of some columns become the bytes of a row and back.
// If all widths are fixed, structs included, a row has one stride: a mask of
// NULLs, then the values, without gaps. Else it is the values one after the
// other, each behind a byte that says whether it is there.
type form struct {
	types  []plan.Type
	shapes []*chunk.Vector // empty vectors of the types
	cells  []cell
	fixed  bool
	stride int // of fixed rows
}

// cell is the place of a value in a fixed row. A struct has no bytes of its
// own, only a bit and its fields.
type cell struct {
	of        plan.Type
	bit       int
	at, width int
	kids      []cell
	from, to  int // the bytes of all fields
}

func newForm(types []plan.Type) *form {
	f := &form{types: types, fixed: true}
	bits := 0
	for _, t := range types {
		f.shapes = append(f.shapes, chunk.New(t, 0))
		f.fixed = f.fixed && isFixed(t)
		bits += countNodes(t)
	}
	if !f.fixed || len(types) == 0 {
		return f
	}
	next := 0
	f.stride = (bits + 7) / 8
	for _, t := range types {
		f.cells = append(f.cells, f.place(t, &next))
	}
	return f
}

func isFixed(t plan.Type) bool {
	if t.Kind != plan.KindStruct {
		return chunk.Width(t) > 0
	}
	for _, field := range t.Fields {
		if !isFixed(field.Type) {
			return false
		}
	}
	return true
}

func countNodes(t plan.Type) int {
	n := 1
	for _, field := range t.Fields {
		n += countNodes(field.Type)
	}
	return n
}

// place gives a value its bit and its bytes.
func (f *form) place(t plan.Type, bit *int) cell {
	c := cell{of: t, bit: *bit, at: f.stride, width: chunk.Width(t), from: f.stride}
	*bit++
	f.stride += c.width
	for _, field := range t.Fields {
		c.kids = append(c.kids, f.place(field.Type, bit))
	}
	c.to = f.stride
	return c
}

// encoded is the rows of a chunk as bytes. Its memory is used again for the
// next chunk.
type encoded struct {
	form   *form
	data   []byte
	ends   []int // of rows of varying length
	hashes []uint32
}

func (e *encoded) row(i int) []byte {
	if e.form.fixed {
		s := e.form.stride
		return e.data[i*s : i*s+s]
	}
	from := 0
	if i > 0 {
		from = e.ends[i-1]
	}
	return e.data[from:e.ends[i]]
}

// encode takes n rows of columns.
func (e *encoded) encode(cols []*chunk.Vector, n int) {
	if len(cols) != len(e.form.types) {
		panic(fmt.Sprintf("%d columns for a row of %d", len(cols), len(e.form.types)))
	}
	if !e.form.fixed {
		e.varying(cols, n)
		return
	}
	if n == 0 {
		e.data = e.data[:0]
		return
	}
	s := e.form.stride
	if cap(e.data) < n*s {
		e.data = make([]byte, max(n, chunk.MaxRows)*s)
	}
	e.data = e.data[:n*s]
	clear(e.data)
	for k := range cols {
		e.write(&e.form.cells[k], cols[k], n)
	}
}

// hash makes the hashes of n encoded rows.
func (e *encoded) hash(n int) {
	e.hashes = sized(e.hashes, max(n, chunk.MaxRows))[:n]
	for i := range e.hashes {
		e.hashes[i] = hashOf(e.row(i))
	}
}

// Most keys are a few words, for which one multiplication each is enough.
const (
	shortest, longest = 8, 40
	hashSeed          = 0x9e3779b97f4a7c15
	hashStep          = 0xe7037ed1a0b428db
)

func hashOf(row []byte) uint32 {
	if len(row) < shortest || len(row) > longest {
		return uint32(xxh3.Hash(row) >> 32)
	}
	h := uint64(len(row)) ^ hashSeed
	for rest := row; len(rest) > 8; rest = rest[8:] {
		h = fold(h ^ binary.LittleEndian.Uint64(rest))
	}
	h = fold(h ^ binary.LittleEndian.Uint64(row[len(row)-8:]))
	return uint32((h ^ h>>32) * hashSeed >> 32)
}

func fold(x uint64) uint64 {
	hi, lo := mathbits.Mul64(x, hashStep)
	return hi ^ lo
}

// write puts a column into the rows.
func (e *encoded) write(c *cell, v *chunk.Vector, n int) {
	s := e.form.stride
	switch c.width {
	case 1:
		scatter1(e.data[c.at:], v.Data, s, n)
	case 2:
		scatterN(e.data[c.at:], v.Data, s, n, 2)
	case 4:
		scatter4(e.data[c.at:], v.Data, s, n)
	case 8:
		scatter8(e.data[c.at:], v.Data, s, n)
	case 16:
		scatterN(e.data[c.at:], v.Data, s, n, 16)
	}
	for k := range c.kids {
		e.write(&c.kids[k], v.Kids[k], n)
	}
	if v.Valid == nil {
		return
	}
	for i := range n {
		if v.IsNull(i) {
			row := e.data[i*s : i*s+s]
			c.erase(row)
			setBit(row, c.bit)
		}
	}
}

// erase makes a value zero throughout, so that NULLs are equal bytes.
func (c *cell) erase(row []byte) {
	clear(row[c.from:c.to])
	for k := range c.kids {
		c.kids[k].erase(row)
		row[c.kids[k].bit/8] &^= 1 << (c.kids[k].bit % 8)
	}
}

func setBit(row []byte, bit int) { row[bit/8] |= 1 << (bit % 8) }

func scatter1(dst, src []byte, stride, n int) {
	for i := range n {
		dst[i*stride] = src[i]
	}
}

func scatter4(dst, src []byte, stride, n int) {
	for i := range n {
		binary.LittleEndian.PutUint32(dst[i*stride:], binary.LittleEndian.Uint32(src[i*4:]))
	}
}

func scatter8(dst, src []byte, stride, n int) {
	for i := range n {
		binary.LittleEndian.PutUint64(dst[i*stride:], binary.LittleEndian.Uint64(src[i*8:]))
	}
}

func scatterN(dst, src []byte, stride, n, width int) {
	for i := range n {
		copy(dst[i*stride:i*stride+width], src[i*width:(i+1)*width])
	}
}

// varying writes rows of values that vary in length.
func (e *encoded) varying(cols []*chunk.Vector, n int) {
	e.data = e.data[:0]
	if cap(e.ends) < n {
		e.ends = make([]int, max(n, chunk.MaxRows))
	}
	e.ends = e.ends[:n]
	for i := range n {
		for _, v := range cols {
			e.data = appendValue(e.data, v, i)
		}
		e.ends[i] = len(e.data)
	}
}

// appendValue writes one value: 0 for NULL, else 1 and its bytes.
func appendValue(dst []byte, v *chunk.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	if w := chunk.Width(v.Type); w > 0 {
		return append(dst, v.Data[i*w:(i+1)*w]...)
	}
	switch {
	case chunk.IsBytes(v.Type):
		b := v.Bytes(i)
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
	case v.Offsets != nil:
		from, to := v.Span(i)
		dst = binary.AppendUvarint(dst, uint64(to-from))
		for k := from; k < to; k++ {
			for _, kid := range v.Kids {
				dst = appendValue(dst, kid, k)
			}
		}
		return dst
	default:
		for _, kid := range v.Kids {
			dst = appendValue(dst, kid, i)
		}
		return dst
	}
}
