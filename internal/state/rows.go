package state

import "encoding/binary"

const (
	pageBits = 10
	pageRows = 1 << pageBits
)

// rows holds rows by number: the key, then the value, each as its bytes or, if
// its length varies, as a reference into the arena.
type rows struct {
	key, value *form
	keyWidth   int
	width      int
	pages      [][]byte
	arena      *arena // nil when everything is of fixed width
	live       bits
	free       []int32
	count      int
	next       int32 // the first number never given

	// slabs is memory that pages are cut from, and slab what is left of the last one.
	slabs [][]byte
	slab  []byte
	// frozen is what a snapshot under way reads; nil when none is. kept marks the pages
	// that may be written without asking it.
	frozen *frozen
	kept   []bool
}

const (
	refWidth = 8
	// slabBytes is the memory that pages are taken from, a few at a time, once the rows
	// weigh slabsFrom: what lies side by side can be in huge pages.
	slabBytes = hugeBytes
	slabsFrom = 4 * hugeBytes
	hugeBytes = 2 << 20
)

func newRows(key, value *form) *rows {
	r := &rows{key: key, value: value, keyWidth: refWidth}
	if key.fixed {
		r.keyWidth = key.stride
	}
	r.width = r.keyWidth + refWidth
	if value.fixed {
		r.width = r.keyWidth + value.stride
	}
	if !key.fixed || !value.fixed {
		r.arena = newArena()
	}
	return r
}

// take gives out a number.
func (r *rows) take() int32 {
	var row int32
	if n := len(r.free); n > 0 {
		row = r.free[n-1]
		r.free = r.free[:n-1]
	} else {
		row = r.next
		r.next++
	}
	r.reserve(row)
	r.live.set(row)
	r.count++
	return row
}

// reserve makes the bytes of a row be there.
func (r *rows) reserve(row int32) {
	page := int(row >> pageBits)
	if page < len(r.pages) && (int(row&(pageRows-1))+1)*r.width <= len(r.pages[page]) {
		return
	}
	r.grow(page, (int(row&(pageRows-1))+1)*r.width)
}

// grow makes a page have the bytes up to end.
func (r *rows) grow(page, end int) {
	for page >= len(r.pages) {
		r.pages = append(r.pages, nil)
	}
	old := r.pages[page]
	r.pages[page] = r.room(page, end)
	copy(r.pages[page], old)
	if page < len(r.kept) {
		r.kept[page] = true
	}
}

// room is memory for a page that has to hold bytes up to end.
func (r *rows) room(page, end int) []byte {
	size := pageRows * r.width
	switch {
	case page == 0:
		// The first page of a small table grows; others will be needed whole.
		return make([]byte, min(size, max(16*r.width, 2*end)))
	case page*size < slabsFrom || size > slabBytes/4:
		return make([]byte, size)
	}
	if len(r.slab) < size {
		r.slab = make([]byte, slabBytes/size*size)
		advise(r.slab, true)
		r.slabs = append(r.slabs, r.slab)
	}
	out := r.slab[:size:size]
	r.slab = r.slab[size:]
	return out
}

// release says that the rows will hardly be read any more.
func (r *rows) release() {
	for _, slab := range r.slabs {
		advise(slab, false)
	}
}

// bytes is the row to read.
func (r *rows) bytes(row int32) []byte {
	at := int(row&(pageRows-1)) * r.width
	return r.pages[row>>pageBits][at : at+r.width : at+r.width]
}

// writable is the row to write.
func (r *rows) writable(row int32) []byte {
	if page := int(row >> pageBits); page < len(r.kept) && !r.kept[page] {
		r.frozen.keep(page)
		r.kept[page] = true
	}
	return r.bytes(row)
}

// keyOf is the bytes of a row's key.
func (r *rows) keyOf(row int32) []byte {
	b := r.bytes(row)[:r.keyWidth]
	if r.key.fixed {
		return b
	}
	return r.arena.get(binary.LittleEndian.Uint64(b))
}

// look reads a byte of each row.
func (r *rows) look(of []int32) (sum uint64) {
	if r.width == 0 {
		return 0
	}
	for _, row := range of {
		sum += uint64(r.pages[row>>pageBits][int(row&(pageRows-1))*r.width])
	}
	return sum
}

// touchKey reads a byte of a key that lies in the arena.
func (r *rows) touchKey(row int32) uint64 {
	ref := binary.LittleEndian.Uint64(r.bytes(row))
	return uint64(r.arena.blocks[ref>>32].data[uint32(ref)])
}

// valueOf is the bytes of a row's value.
func (r *rows) valueOf(row int32) []byte {
	b := r.bytes(row)[r.keyWidth:]
	if r.value.fixed {
		return b
	}
	return r.arena.get(binary.LittleEndian.Uint64(b))
}

// fill writes key and value of a row that was just taken.
func (r *rows) fill(row int32, key, value []byte) {
	b := r.writable(row)
	r.put(b[:r.keyWidth], r.key, key)
	r.put(b[r.keyWidth:], r.value, value)
}

// blank writes the key of a row that was just taken, and an empty value.
func (r *rows) blank(row int32, key []byte) {
	b := r.writable(row)
	r.put(b[:r.keyWidth], r.key, key)
	if b = b[r.keyWidth:]; r.value.fixed {
		clear(b)
		return
	}
	r.put(b, r.value, nil)
}

func (r *rows) put(at []byte, f *form, b []byte) {
	if f.fixed {
		copy(at, b)
		return
	}
	binary.LittleEndian.PutUint64(at, r.arena.put(b))
}

// change writes another value.
func (r *rows) change(row int32, value []byte) {
	b := r.writable(row)[r.keyWidth:]
	if !r.value.fixed {
		r.arena.drop(binary.LittleEndian.Uint64(b))
	}
	r.put(b, r.value, value)
}

// drop ends a row.
func (r *rows) drop(row int32) {
	b := r.bytes(row)
	if !r.key.fixed {
		r.arena.drop(binary.LittleEndian.Uint64(b))
	}
	if !r.value.fixed {
		r.arena.drop(binary.LittleEndian.Uint64(b[r.keyWidth:]))
	}
	r.live.clear(row)
	r.free = append(r.free, row)
	r.count--
}

// tidy writes the arena anew when most of it is dead. A snapshot under way
// keeps the old one.
func (r *rows) tidy() {
	if r.arena == nil || !r.arena.wasteful() {
		return
	}
	old := r.arena
	r.arena = newArena()
	for row := range r.next {
		if !r.live.has(row) {
			continue
		}
		b := r.writable(row)
		if !r.key.fixed {
			move(b[:r.keyWidth], old, r.arena)
		}
		if !r.value.fixed {
			move(b[r.keyWidth:], old, r.arena)
		}
	}
}

func move(at []byte, from, to *arena) {
	binary.LittleEndian.PutUint64(at, to.put(from.get(binary.LittleEndian.Uint64(at))))
}

// memory is the bytes that the rows take.
func (r *rows) memory() int64 {
	n := int64(24*cap(r.pages) + 8*cap(r.live) + 4*cap(r.free) + len(r.slab))
	for _, p := range r.pages {
		n += int64(cap(p))
	}
	if r.arena != nil {
		n += r.arena.bytes()
	}
	return n
}

// restore puts a row under a number, whatever was there.
func (r *rows) restore(id uint32, key, value []byte) error {
	if id > maxRows {
		return errBadRow
	}
	row := int32(id)
	if r.live.has(row) {
		r.discard(row)
	}
	r.next = max(r.next, row+1)
	r.reserve(row)
	r.live.set(row)
	r.count++
	r.fill(row, key, value)
	return nil
}

// discard is drop that gives no number back.
func (r *rows) discard(row int32) {
	r.drop(row)
	r.free = r.free[:len(r.free)-1]
}

// collect finds the numbers that are free, so that the lowest is given first.
func (r *rows) collect() {
	r.free = r.free[:0]
	for row := r.next - 1; row >= 0; row-- {
		if !r.live.has(row) {
			r.free = append(r.free, row)
		}
	}
}
