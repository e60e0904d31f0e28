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

	// shared marks pages that a snapshot still reads; nil when none is under way.
	shared []bool
}

const refWidth = 8

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
	// The first page of a small table grows; others will be needed whole.
	room := pageRows * r.width
	if page == 0 {
		room = min(room, max(16*r.width, 2*end))
	}
	grown := make([]byte, room)
	copy(grown, r.pages[page])
	r.pages[page] = grown
	r.unshare(page)
}

// bytes is the row to read.
func (r *rows) bytes(row int32) []byte {
	at := int(row&(pageRows-1)) * r.width
	return r.pages[row>>pageBits][at : at+r.width : at+r.width]
}

// writable is the row to write.
func (r *rows) writable(row int32) []byte {
	page := int(row >> pageBits)
	if r.shared != nil && page < len(r.shared) && r.shared[page] {
		own := make([]byte, len(r.pages[page]), cap(r.pages[page]))
		copy(own, r.pages[page])
		r.pages[page] = own
		r.unshare(page)
	}
	return r.bytes(row)
}

func (r *rows) unshare(page int) {
	if page < len(r.shared) {
		r.shared[page] = false
	}
}

// keyOf is the bytes of a row's key.
func (r *rows) keyOf(row int32) []byte {
	b := r.bytes(row)[:r.keyWidth]
	if r.key.fixed {
		return b
	}
	return r.arena.get(binary.LittleEndian.Uint64(b))
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
	n := int64(24*cap(r.pages) + 8*cap(r.live) + 4*cap(r.free))
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

// frozen is the rows as they are now, to be read while they change.
func (r *rows) frozen() *rows {
	f := *r
	f.pages = append([][]byte(nil), r.pages...)
	f.live = append(bits(nil), r.live...)
	f.free = nil
	if r.arena != nil {
		f.arena = &arena{blocks: append([]block(nil), r.arena.blocks...)}
	}
	r.shared = make([]bool, len(r.pages))
	for k := range r.shared {
		r.shared[k] = true
	}
	return &f
}

// thaw says that nobody reads the frozen rows any more.
func (r *rows) thaw() { r.shared = nil }
