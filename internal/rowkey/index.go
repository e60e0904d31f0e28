package rowkey

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Index numbers distinct keys from 0 in the order they come. It is a hash
// table with open addressing: a slot holds 32 bits of the hash and the number
// plus one; the keys themselves lie in one piece of memory without pointers.
// Keys that fit one word have a table of their own kind.
type Index struct {
	form  *Form
	in    Encoded
	slots []uint64
	Count int // of the keys
	data  []byte
	ends  []int    // of keys of varying length
	probe []uint64 // the first slot of each row
	hit   []bool   // it holds the row's key
	words *wordIndex
}

// NewIndex is an index of keys of these types.
func NewIndex(types []plan.Type) (*Index, error) {
	form, err := NewForm(types)
	if err != nil {
		return nil, err
	}
	return form.NewIndex(), nil
}

// NewIndex is an empty index of keys of the form.
func (f *Form) NewIndex() *Index {
	if isWord(f.Types) {
		return &Index{form: f, words: &wordIndex{slots: make([]wordSlot, 64)}}
	}
	x := &Index{form: f, slots: make([]uint64, 64)}
	x.in.Form = f
	return x
}

// Bytes is the memory of the index.
func (x *Index) Bytes() int64 {
	if x.words != nil {
		return int64(16 * len(x.words.slots))
	}
	return int64(8*len(x.slots) + cap(x.data) + 8*cap(x.ends))
}

// Insert gives each picked row the number of its key in ids, and appends the
// rows whose key is new to fresh. The columns must be normal.
func (x *Index) Insert(cols []*chunk.Vector, sel chunk.Sel, ids []int32, fresh []uint16) []uint16 {
	if len(ids) == 0 {
		return fresh
	}
	if x.words != nil {
		fresh = x.words.insert(x.form.parts(cols), sel, ids, fresh)
		x.Count = x.words.count
		return fresh
	}
	n := len(ids)
	x.in.Encode(cols, sel, n)
	x.reserve(sel.Count(n))
	x.load(n)
	mask := uint32(len(x.slots) - 1)
	if sel != nil {
		for _, i := range sel {
			fresh = x.insertRow(int(i), mask, ids, fresh)
		}
		return fresh
	}
	for i := range n {
		fresh = x.insertRow(i, mask, ids, fresh)
	}
	return fresh
}

func (x *Index) insertRow(i int, mask uint32, ids []int32, fresh []uint16) []uint16 {
	found := x.probe[i]
	if x.hit[i] {
		ids[i] = int32(uint32(found)) - 1
		return fresh
	}
	h := x.in.hashes[i]
	slot := h & mask
	if found == 0 {
		// An earlier row of this chunk may have taken the slot.
		found = x.slots[slot]
	}
	for found != 0 {
		if uint32(found>>32) == h && x.same(int(uint32(found))-1, i) {
			ids[i] = int32(uint32(found)) - 1
			return fresh
		}
		slot = (slot + 1) & mask
		found = x.slots[slot]
	}
	x.slots[slot] = uint64(h)<<32 | uint64(x.Count+1)
	x.keep(i)
	ids[i] = int32(x.Count)
	x.Count++
	return append(fresh, uint16(i))
}

// Find gives each picked row the number of its key, or -1.
func (x *Index) Find(cols []*chunk.Vector, sel chunk.Sel, ids []int32) {
	if len(ids) == 0 {
		return
	}
	if x.words != nil {
		x.words.find(x.form.parts(cols), sel, ids)
		return
	}
	n := len(ids)
	x.in.Encode(cols, sel, n)
	x.load(n)
	if sel != nil {
		for _, i := range sel {
			ids[i] = x.findRow(int(i))
		}
		return
	}
	for i := range ids {
		ids[i] = x.findRow(i)
	}
}

func (x *Index) findRow(i int) int32 {
	found := x.probe[i]
	if x.hit[i] {
		return int32(uint32(found)) - 1
	}
	h, mask := x.in.hashes[i], uint32(len(x.slots)-1)
	for slot := h & mask; found != 0; found = x.slots[slot] {
		if uint32(found>>32) == h && x.same(int(uint32(found))-1, i) {
			return int32(uint32(found)) - 1
		}
		slot = (slot + 1) & mask
	}
	return -1
}

// load reads the first slot of every row, and then the key it points to, in
// loops so short that the processor waits for many rows at once.
func (x *Index) load(n int) {
	x.probe, x.hit = slices.Grow(x.probe[:0], n)[:n], slices.Grow(x.hit[:0], n)[:n]
	mask := uint32(len(x.slots) - 1)
	probe := x.probe
	for i, h := range x.in.hashes[:len(probe)] {
		probe[i] = x.slots[h&mask]
	}
	if x.form.stride == 16 {
		x.compare16()
		return
	}
	for i, found := range probe {
		x.hit[i] = found != 0 && uint32(found>>32) == x.in.hashes[i] && x.same(int(uint32(found))-1, i)
	}
}

// compare16 is the comparison of load for keys of 16 bytes.
func (x *Index) compare16() {
	hit, keys := x.hit, x.in.data
	for i, found := range x.probe {
		hit[i] = false
		if id := uint32(found); id != 0 {
			a, b := x.data[int(id-1)*16:][:16], keys[i*16:][:16]
			hit[i] = (binary.LittleEndian.Uint64(a)^binary.LittleEndian.Uint64(b))|
				(binary.LittleEndian.Uint64(a[8:])^binary.LittleEndian.Uint64(b[8:])) == 0
		}
	}
}

// same compares a kept key with that of row i.
func (x *Index) same(id, i int) bool {
	switch s := x.form.stride; s {
	case 0:
		from := 0
		if id > 0 {
			from = x.ends[id-1]
		}
		return bytes.Equal(x.data[from:x.ends[id]], x.in.Row(i))
	case 16:
		a, b := x.data[id*16:id*16+16], x.in.data[i*16:i*16+16]
		return binary.LittleEndian.Uint64(a) == binary.LittleEndian.Uint64(b) &&
			binary.LittleEndian.Uint64(a[8:]) == binary.LittleEndian.Uint64(b[8:])
	default:
		return bytes.Equal(x.data[id*s:id*s+s], x.in.Row(i))
	}
}

func (x *Index) keep(i int) {
	x.data = append(x.data, x.in.Row(i)...)
	if x.form.stride == 0 {
		x.ends = append(x.ends, len(x.data))
	}
}

// reserve grows the table so that n more keys leave it at most half full.
func (x *Index) reserve(n int) {
	size := len(x.slots)
	for 2*(x.Count+n) > size {
		size *= 2
	}
	if size == len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]uint64, size)
	mask := uint32(size - 1)
	for _, entry := range old {
		if entry == 0 {
			continue
		}
		slot := uint32(entry>>32) & mask
		for x.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		x.slots[slot] = entry
	}
	if x.form.stride > 0 {
		x.data = slices.Grow(x.data, (size/2-x.Count)*x.form.stride)
	}
}
