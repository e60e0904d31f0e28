package state

import "encoding/binary"

const (
	firstBlock = 4 << 10
	blockSize  = 1 << 20
	// wasteAllowed is how much dead weight an arena carries before it is written
	// anew, if it is also more than half of the arena.
	wasteAllowed = 1 << 20
)

// arena holds the bytes of rows that vary in length, in blocks that are only
// appended to. A reference is the block's number and the offset in it.
type arena struct {
	blocks []block
	last   int // the block that is appended to
	used   int64
	waste  int64
}

type block struct {
	data []byte
	live int
}

func newArena() *arena { return &arena{last: -1} }

// put keeps a copy of bytes.
func (a *arena) put(b []byte) uint64 {
	size := len(b) + binary.MaxVarintLen64
	if a.last < 0 || len(a.blocks[a.last].data)+size > cap(a.blocks[a.last].data) {
		a.open(size)
	}
	at := &a.blocks[a.last]
	ref := uint64(a.last)<<32 | uint64(len(at.data))
	before := len(at.data)
	at.data = append(binary.AppendUvarint(at.data, uint64(len(b))), b...)
	at.live++
	a.used += int64(len(at.data) - before)
	return ref
}

// open begins a block with room for n bytes. Blocks double up to their size.
func (a *arena) open(n int) {
	size := firstBlock
	if a.last >= 0 {
		size = min(2*cap(a.blocks[a.last].data), blockSize)
		size = max(size, firstBlock)
	}
	a.blocks = append(a.blocks, block{data: make([]byte, 0, max(n, size))})
	a.last = len(a.blocks) - 1
}

// get is the bytes behind a reference.
func (a *arena) get(ref uint64) []byte {
	b := a.blocks[ref>>32].data[uint32(ref):]
	n, size := binary.Uvarint(b)
	return b[size : size+int(n)]
}

// drop says that nobody refers to the bytes any more.
func (a *arena) drop(ref uint64) {
	at := &a.blocks[ref>>32]
	n, size := binary.Uvarint(at.data[uint32(ref):])
	a.used -= int64(size) + int64(n)
	a.waste += int64(size) + int64(n)
	at.live--
	if at.live == 0 && int(ref>>32) != a.last {
		a.waste -= int64(len(at.data))
		at.data = nil
	}
}

// wasteful says that the arena should be written anew.
func (a *arena) wasteful() bool { return a.waste > wasteAllowed && a.waste > a.used }

func (a *arena) bytes() int64 {
	n := int64(cap(a.blocks) * 32)
	for k := range a.blocks {
		n += int64(cap(a.blocks[k].data))
	}
	return n
}
