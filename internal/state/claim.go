package state

import (
	"bytes"
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
)

// Claim gives each key its row; a key that is not there gets one, with the value
// zero, until Update or Fill says otherwise. It appends to added the places of the
// keys that were not there, ascending; of equal ones the first is added. Keys are at
// most chunk.MaxRows; rows have room for all of them. The table has one row of a key.
func (t *Table) Claim(keys []*chunk.Vector, rows []int32, added chunk.Sel) (chunk.Sel, error) {
	if t.rows.count > maxRows-len(rows) {
		return added, fmt.Errorf("a state table holds %d rows, its limit", t.rows.count)
	}
	t.probeKeys(keys, len(rows))
	for i, entry := range t.probe {
		h, key := t.keys.hashes[i], t.keys.row(i)
		row := int32(uint32(entry)) - 1
		if entry == 0 || uint32(entry>>32) != h || !bytes.Equal(t.rows.keyOf(row), key) {
			var slot uint32
			if row, slot = t.search(h, key); row < 0 {
				row = t.add(key)
				t.index.fill(h, row, slot)
				added = append(added, uint16(i))
			}
		}
		rows[i] = row
	}
	return added, nil
}

// add makes a row whose value is still to come, with its time if that is part of the
// key. It is not in the index yet.
func (t *Table) add(key []byte) int32 {
	row := t.rows.take()
	t.rows.blank(row, key)
	if t.shape.ExpiryKey > 0 {
		t.expire(row)
	}
	t.touch(row)
	return row
}

// probeKeys encodes and hashes keys and looks at the first slot of each, then at the
// rows that may be theirs, in loops so short that the processor waits for many places
// of memory at once.
func (t *Table) probeKeys(keys []*chunk.Vector, n int) {
	t.keys.encode(keys, n)
	t.keys.hash(n)
	t.probe = sized(t.probe, max(n, chunk.MaxRows))[:n]
	probe := t.probe
	for i, h := range t.keys.hashes[:len(probe)] {
		probe[i] = t.index.home(h)
	}
	if t.rows.width == 0 {
		return
	}
	sum := t.touched
	for i, h := range t.keys.hashes[:len(probe)] {
		if entry := probe[i]; uint32(entry>>32) == h && entry != 0 {
			sum += uint64(t.rows.bytes(int32(uint32(entry)) - 1)[0])
		}
	}
	t.touched = sum
}

// search is the row of a key, or -1 and the slot where it would go.
func (t *Table) search(h uint32, key []byte) (row int32, slot uint32) {
	slots := t.index.segs[h>>segmentShift].slots
	mask := uint32(len(slots) - 1)
	for slot = h & mask; ; slot = (slot + 1) & mask {
		entry := slots[slot]
		if entry == 0 {
			return -1, slot
		}
		if row := int32(uint32(entry)) - 1; uint32(entry>>32) == h && bytes.Equal(t.rows.keyOf(row), key) {
			return row, slot
		}
	}
}

// Fill writes the first values of rows that Claim added, at most chunk.MaxRows.
func (t *Table) Fill(rows []int32, values []*chunk.Vector) {
	t.values.encode(values, len(rows))
	for i, row := range rows {
		t.rows.change(row, t.values.row(i))
		if t.shape.Expiry > 0 {
			t.expire(row)
		}
	}
}

// Scratch is a number for each row, which callers may use as they like while no row
// is added. At first it is anything.
func (t *Table) Scratch() []int32 {
	for int(t.rows.next) > len(t.scratch) {
		t.scratch = append(t.scratch, 0)
		t.scratch = t.scratch[:cap(t.scratch)]
	}
	return t.scratch
}
