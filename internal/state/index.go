package state

const (
	segmentBits  = 4
	segments     = 1 << segmentBits
	firstSlots   = 16
	segmentShift = 32 - segmentBits
)

// index finds rows by the hash of their key. It is cut into segments by the
// highest bits of the hash, which grow one by one and at different loads, so
// that no batch waits for the whole table to grow.
//
// A segment is a hash table with open addressing and linear probing; a slot
// holds the hash and the row's number plus one. A removed entry leaves no mark:
// the entries behind it move up.
type index struct {
	segs [segments]segment
}

type segment struct {
	slots []uint64
	used  int
	limit int
}

// entryOf is what a slot holds.
func entryOf(h uint32, row int32) uint64 { return uint64(h)<<32 | uint64(row+1) }

func newIndex() *index {
	x := &index{}
	for k := range x.segs {
		x.segs[k].resize(k, firstSlots)
	}
	return x
}

// limitOf is how many entries segment k takes before it grows: 45 % to 65 %.
func limitOf(k, slots int) int { return slots * (45*(segments-1) + 20*k) / (100 * (segments - 1)) }

func (s *segment) resize(k, slots int) {
	old := s.slots
	s.slots = make([]uint64, slots)
	advise(s.slots, true)
	s.limit = limitOf(k, slots)
	for _, entry := range old {
		if entry != 0 {
			s.place(entry)
		}
	}
	advise(old, false)
}

// place puts an entry into the first free slot from its home on.
func (s *segment) place(entry uint64) {
	mask := uint32(len(s.slots) - 1)
	slot := uint32(entry>>32) & mask
	for s.slots[slot] != 0 {
		slot = (slot + 1) & mask
	}
	s.slots[slot] = entry
}

// home is the slot where the search for a hash begins.
func (x *index) home(h uint32) uint64 {
	s := &x.segs[h>>segmentShift]
	return s.slots[h&uint32(len(s.slots)-1)]
}

// first is the first row with a hash, or -1.
func (x *index) first(h uint32) int32 {
	slots := x.segs[h>>segmentShift].slots
	mask := uint32(len(slots) - 1)
	for slot := h & mask; ; slot = (slot + 1) & mask {
		entry := slots[slot]
		if entry == 0 || uint32(entry>>32) == h {
			return int32(uint32(entry)) - 1
		}
	}
}

// reserve makes an empty index ready for n rows.
func (x *index) reserve(n int) {
	for k := range x.segs {
		slots := firstSlots
		for limitOf(k, slots) < n/segments+n/(4*segments) {
			slots *= 2
		}
		x.segs[k].resize(k, slots)
	}
}

// blockBits is the size of the parts of an index that build fills one after the
// other, so that each stays in the processor's cache: 128 KiB.
const blockBits = 14

// build fills an empty index with entries of distinct keys.
func (x *index) build(entries []uint64) {
	x.reserve(len(entries))
	// Blocks are counted through all segments.
	var first [segments]uint32
	blocks := uint32(0)
	for k := range x.segs {
		first[k] = blocks
		blocks += uint32(len(x.segs[k].slots)>>blockBits) + 1
	}
	blockOf := func(entry uint64) uint32 {
		h := uint32(entry >> 32)
		k := h >> segmentShift
		return first[k] + h&uint32(len(x.segs[k].slots)-1)>>blockBits
	}
	ends := make([]int32, blocks+1)
	for _, entry := range entries {
		ends[blockOf(entry)+1]++
	}
	for k := range blocks {
		ends[k+1] += ends[k]
	}
	sorted := make([]uint64, len(entries))
	for _, entry := range entries {
		b := blockOf(entry)
		sorted[ends[b]] = entry
		ends[b]++
	}
	for _, entry := range sorted {
		s := &x.segs[entry>>(32+segmentShift)]
		if s.used >= s.limit {
			s.resize(int(entry>>(32+segmentShift)), 2*len(s.slots))
		}
		s.used++
		s.place(entry)
	}
}

// add enters a row whose key is not there.
func (x *index) add(h uint32, row int32) {
	k := h >> segmentShift
	s := &x.segs[k]
	if s.used >= s.limit {
		s.resize(int(k), 2*len(s.slots))
	}
	s.used++
	s.place(entryOf(h, row))
}

// fill is add for a row whose slot was looked for.
func (x *index) fill(h uint32, row int32, slot uint32) {
	s := &x.segs[h>>segmentShift]
	if s.used >= s.limit {
		x.add(h, row)
		return
	}
	s.used++
	s.slots[slot] = entryOf(h, row)
}

// find is the row with the hash whose key is the one, or -1.
func (x *index) find(h uint32, same func(row int32) bool) int32 {
	s := &x.segs[h>>segmentShift]
	mask := uint32(len(s.slots) - 1)
	for slot := h & mask; s.slots[slot] != 0; slot = (slot + 1) & mask {
		entry := s.slots[slot]
		if uint32(entry>>32) == h && same(int32(uint32(entry))-1) {
			return int32(uint32(entry)) - 1
		}
	}
	return -1
}

// slotOf is where a row stands, which is there.
func (s *segment) slotOf(h uint32, row int32) uint32 {
	mask := uint32(len(s.slots) - 1)
	slot := h & mask
	for s.slots[slot] != entryOf(h, row) {
		if s.slots[slot] == 0 {
			panic("a row is not in the index of its table")
		}
		slot = (slot + 1) & mask
	}
	return slot
}

// replace enters another row in the place of one with the same key.
func (x *index) replace(h uint32, row, by int32) {
	s := &x.segs[h>>segmentShift]
	s.slots[s.slotOf(h, row)] = entryOf(h, by)
}

// remove takes a row out and moves up the entries that would not be found any
// more.
func (x *index) remove(h uint32, row int32) {
	s := &x.segs[h>>segmentShift]
	mask := uint32(len(s.slots) - 1)
	hole := s.slotOf(h, row)
	s.used--
	for next := (hole + 1) & mask; s.slots[next] != 0; next = (next + 1) & mask {
		home := uint32(s.slots[next]>>32) & mask
		if (next-home)&mask >= (next-hole)&mask {
			s.slots[hole] = s.slots[next]
			hole = next
		}
	}
	s.slots[hole] = 0
}

// release says that the index will not be used any more.
func (x *index) release() {
	if x == nil {
		return
	}
	for k := range x.segs {
		advise(x.segs[k].slots, false)
	}
}

func (x *index) bytes() int64 {
	n := int64(0)
	if x == nil {
		return n
	}
	for k := range x.segs {
		n += int64(8 * cap(x.segs[k].slots))
	}
	return n
}
