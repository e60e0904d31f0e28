package state

import (
	"encoding/binary"
	"errors"

	"github.com/weir-dev/weir/internal/chunk"
)

// decode is the columns of some rows, their keys or their values.
func (r *rows) decode(f *form, of []int32) []*chunk.Vector {
	cols := make([]*chunk.Vector, len(f.types))
	if f.fixed {
		base := 0
		if f == r.value {
			base = r.keyWidth
		}
		for k := range f.cells {
			cols[k] = r.column(&f.cells[k], base, of)
		}
		return cols
	}
	bytes := r.keyOf
	if f == r.value {
		bytes = r.valueOf
	}
	for k, t := range f.types {
		cols[k] = chunk.New(t, len(of))
	}
	for _, row := range of {
		b := bytes(row)
		for _, v := range cols {
			b = readValue(v, b)
		}
	}
	return cols
}

// column is a column of fixed rows, whose form begins at byte base of a row.
func (r *rows) column(c *cell, base int, of []int32) *chunk.Vector {
	n := len(of)
	var v *chunk.Vector
	if c.width > 0 {
		v = chunk.Make(c.of, n)
	} else {
		v = &chunk.Vector{Type: c.of, Len: n}
	}
	at, w := base+c.at, c.width
	switch w {
	case 0:
	case 8:
		for i, row := range of {
			b := r.pages[row>>pageBits][int(row&(pageRows-1))*r.width+at:]
			binary.LittleEndian.PutUint64(v.Data[i*8:], binary.LittleEndian.Uint64(b))
		}
	default:
		for i, row := range of {
			copy(v.Data[i*w:(i+1)*w], r.bytes(row)[at:at+w])
		}
	}
	for k := range c.kids {
		v.Kids = append(v.Kids, r.column(&c.kids[k], base, of))
	}
	at, null := base+c.bit/8, byte(1)<<(c.bit%8)
	for i, row := range of {
		if r.bytes(row)[at]&null != 0 {
			v.SetNull(i)
		}
	}
	return v
}

// readValue appends the value at the start of b and returns what follows it.
// The bytes are what appendValue wrote: checksums and valid vouch for that.
func readValue(v *chunk.Vector, b []byte) []byte {
	if b[0] == 0 {
		v.AppendNull()
		return b[1:]
	}
	b = b[1:]
	if w := chunk.Width(v.Type); w > 0 {
		v.AppendRaw(b[:w])
		return b[w:]
	}
	switch {
	case chunk.IsBytes(v.Type):
		n, size := binary.Uvarint(b)
		b = b[size:]
		v.AppendBytes(b[:n])
		return b[n:]
	case v.Offsets != nil:
		n, size := binary.Uvarint(b)
		b = b[size:]
		for range n {
			for _, kid := range v.Kids {
				b = readValue(kid, b)
			}
		}
		v.AppendSpan()
		return b
	default:
		for _, kid := range v.Kids {
			b = readValue(kid, b)
		}
		v.AppendRow()
		return b
	}
}

var errBadRow = errors.New("a row that does not fit its columns")

// check tells whether bytes are a row of this form.
func (f *form) check(b []byte) error {
	if f.fixed {
		if len(b) != f.stride {
			return errBadRow
		}
		return nil
	}
	for _, shape := range f.shapes {
		var ok bool
		if b, ok = skipValue(shape, b); !ok {
			return errBadRow
		}
	}
	if len(b) > 0 {
		return errBadRow
	}
	return nil
}

// skipValue is readValue that trusts nothing and keeps nothing; shape is an
// empty vector of the type.
func skipValue(shape *chunk.Vector, b []byte) ([]byte, bool) {
	if len(b) == 0 || b[0] > 1 {
		return nil, false
	}
	there := b[0] == 1
	b = b[1:]
	if !there {
		return b, true
	}
	if w := chunk.Width(shape.Type); w > 0 {
		if len(b) < w {
			return nil, false
		}
		return b[w:], true
	}
	times := uint64(1)
	if chunk.IsBytes(shape.Type) || shape.Offsets != nil {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)) {
			return nil, false
		}
		b = b[size:]
		if chunk.IsBytes(shape.Type) {
			if n > uint64(len(b)) {
				return nil, false
			}
			return b[n:], true
		}
		times = n
	}
	ok := true
	for range times {
		for _, kid := range shape.Kids {
			if b, ok = skipValue(kid, b); !ok {
				return nil, false
			}
		}
	}
	return b, true
}
