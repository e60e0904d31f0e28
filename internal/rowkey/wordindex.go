package rowkey

import (
	"slices"
	"unsafe"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// wordIndex is the table of an Index whose keys fit one word: they lie in the
// slots themselves, so that finding one costs one cache miss instead of two.
type wordIndex struct {
	slots  []wordSlot
	count  int
	keys   []uint64 // of the chunk's rows
	masks  []uint8  // which of its columns are NULL; nil when none is
	hashes []uint32
	own    []uint64 // memory for keys
	nulls  []uint8  // memory for masks
}

// wordSlot is a key, the mask of its NULLs, and its number plus one; 0 is free.
type wordSlot struct {
	key  uint64
	mask uint32
	id   uint32
}

// isWord reports whether keys of these types fit a word and a mask of a byte.
func isWord(types []plan.Type) bool {
	bytes := 0
	for _, t := range types {
		w := chunk.Width(t)
		if w == 0 && t.Kind != plan.KindNull {
			return false
		}
		bytes += w
	}
	return bytes <= 8 && len(types) > 0 && len(types) <= 8
}

// encode packs the keys of n rows and hashes them.
func (x *wordIndex) encode(cols []*chunk.Vector, n int) {
	x.masks = nil
	if v := cols[0]; len(cols) == 1 && chunk.Width(v.Type) == 8 && v.Valid == nil {
		x.keys = unsafe.Slice((*uint64)(unsafe.Pointer(&v.Data[0])), n)
	} else {
		x.own = slices.Grow(x.own[:0], n)[:n]
		clear(x.own)
		x.keys = x.own
		shift := 0
		for k, v := range cols {
			x.column(v, k, shift, n)
			shift += 8 * chunk.Width(v.Type)
		}
	}
	x.hashes = slices.Grow(x.hashes[:0], n)[:n]
	for i, key := range x.keys {
		x.hashes[i] = mix(uint64(x.mask(i)), key)
	}
}

func (x *wordIndex) mask(i int) uint8 {
	if x.masks == nil {
		return 0
	}
	return x.masks[i]
}

// column packs column k of n rows at a bit of their words.
func (x *wordIndex) column(v *chunk.Vector, k, shift, n int) {
	switch chunk.Width(v.Type) {
	case 1:
		packColumn[uint8](x.keys, v, shift, 1<<8-1)
	case 2:
		packColumn[int16](x.keys, v, shift, 1<<16-1)
	case 4:
		packColumn[int32](x.keys, v, shift, 1<<32-1)
	case 8:
		packColumn[int64](x.keys, v, shift, 1<<64-1)
	}
	if v.Valid == nil && v.Type.Kind != plan.KindNull {
		return
	}
	if x.masks == nil {
		x.nulls = slices.Grow(x.nulls[:0], n)[:n]
		clear(x.nulls)
		x.masks = x.nulls
	}
	clean := uint64(1)<<(8*chunk.Width(v.Type)) - 1
	for i := range n {
		if v.IsNull(i) {
			x.masks[i] |= 1 << k
			x.keys[i] &^= clean << shift
		}
	}
}

func packColumn[T uint8 | int16 | int32 | int64](keys []uint64, v *chunk.Vector, shift int, bits uint64) {
	for i, value := range chunk.Values[T](v) {
		keys[i] |= (uint64(value) & bits) << shift
	}
}

// first looks at the first slot of every row and gives the number of its key,
// or -1, in a loop so short that the processor waits for many rows at once.
func (x *wordIndex) first(ids []int32) {
	slots, keys := x.slots, x.keys
	last := uint32(len(slots) - 1)
	if x.masks == nil {
		for i, h := range x.hashes[:len(ids)] {
			s := &slots[h&last]
			ids[i] = int32(s.id) - 1
			if s.key != keys[i] || s.mask != 0 {
				ids[i] = -1
			}
		}
		return
	}
	for i, h := range x.hashes[:len(ids)] {
		s := &slots[h&last]
		ids[i] = int32(s.id) - 1
		if s.key != keys[i] || s.mask != uint32(x.masks[i]) {
			ids[i] = -1
		}
	}
}

// insert is Index.insert.
func (x *wordIndex) insert(cols []*chunk.Vector, sel chunk.Sel, ids []int32, fresh []uint16) []uint16 {
	x.encode(cols, len(ids))
	x.reserve(sel.Count(len(ids)))
	x.first(ids)
	if sel != nil {
		for _, i := range sel {
			if ids[i] < 0 {
				fresh = x.insertRow(int(i), ids, fresh)
			}
		}
		return fresh
	}
	for i, id := range ids {
		if id < 0 {
			fresh = x.insertRow(i, ids, fresh)
		}
	}
	return fresh
}

func (x *wordIndex) insertRow(i int, ids []int32, fresh []uint16) []uint16 {
	s := x.search(i)
	if s.id != 0 {
		ids[i] = int32(s.id) - 1
		return fresh
	}
	ids[i] = int32(x.count)
	x.count++
	*s = wordSlot{x.keys[i], uint32(x.mask(i)), uint32(x.count)}
	return append(fresh, uint16(i))
}

// search is the slot that holds the key of row i, or where it would go.
func (x *wordIndex) search(i int) *wordSlot {
	key, mask := x.keys[i], uint32(x.mask(i))
	last := uint32(len(x.slots) - 1)
	for at := x.hashes[i] & last; ; at = (at + 1) & last {
		s := &x.slots[at]
		if s.id == 0 || s.key == key && s.mask == mask {
			return s
		}
	}
}

// find is Index.find.
func (x *wordIndex) find(cols []*chunk.Vector, sel chunk.Sel, ids []int32) {
	x.encode(cols, len(ids))
	if sel == nil {
		x.first(ids)
		for i, id := range ids {
			if id < 0 {
				ids[i] = int32(x.search(i).id) - 1
			}
		}
		return
	}
	for _, i := range sel {
		ids[i] = int32(x.search(int(i)).id) - 1
	}
}

// reserve grows the table so that n more keys leave it at most half full.
func (x *wordIndex) reserve(n int) {
	size := len(x.slots)
	for 2*(x.count+n) > size {
		size *= 2
	}
	if size == len(x.slots) {
		return
	}
	old := x.slots
	x.slots = make([]wordSlot, size)
	last := uint32(size - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		at := mix(uint64(s.mask), s.key) & last
		for x.slots[at].id != 0 {
			at = (at + 1) & last
		}
		x.slots[at] = s
	}
}
