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
	t.keys.encode(keys, len(rows))
	t.keys.hash(len(rows))
	for from := 0; from < len(rows); from += ahead {
		to := min(from+ahead, len(rows))
		for k, row := range t.lookUp(from, to) {
			i := from + k
			h, key := t.keys.hashes[i], t.keys.row(i)
			if row < 0 || !bytes.Equal(t.rows.keyOf(row), key) {
				var slot uint32
				if row, slot = t.search(h, key); row < 0 {
					row = t.add(key)
					t.index.fill(h, row, slot)
					added = append(added, uint16(i))
				}
			}
			rows[i] = row
		}
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

// ahead is how many rows are looked at before the first of them is worked on: what
// they touch stays in the processor's nearest cache.
const ahead = 64

// lookUp is the rows that may be those of the encoded keys from one to another: the
// first whose hash is the key's, or -1. Memory is read in loops so short that the
// processor waits for many places of it at once: the homes of the keys, then the rows,
// then what the rows refer to.
func (t *Table) lookUp(from, to int) []int32 {
	hashes := t.keys.hashes[from:to]
	sum := t.touched
	for _, h := range hashes {
		sum += t.index.home(h)
	}
	found := t.found[:len(hashes)]
	for i, h := range hashes {
		row := t.index.first(h)
		found[i] = row
		if row >= 0 && t.rows.width > 0 {
			sum += uint64(t.rows.bytes(row)[0])
		}
	}
	if !t.rows.key.fixed {
		for _, row := range found {
			if row >= 0 {
				sum += t.rows.touchKey(row)
			}
		}
	}
	t.touched = sum
	return found
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
	if need := int(t.rows.next); need > len(t.scratch) {
		old := t.scratch
		t.scratch = make([]int32, max(need+need/4, 64))
		advise(t.scratch, true)
		copy(t.scratch, old)
		advise(old, false)
	}
	return t.scratch
}
