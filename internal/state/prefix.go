package state

import (
	"bytes"

	"github.com/weir-dev/weir/internal/chunk"
)

// prefixOf is the bytes of the first columns of a row's key.
func (t *Table) prefixOf(row int32) []byte {
	key := t.rows.keyOf(row)
	rest := key
	for k := range t.shape.Prefix {
		rest, _ = skipValue(t.rows.key.shapes[k], rest)
	}
	return key[:len(key)-len(rest)]
}

// FindPrefix gives the first row of each prefix, or -1; Next leads to the others,
// which have no order. Prefixes are at most chunk.MaxRows.
func (t *Table) FindPrefix(prefixes []*chunk.Vector, found []int32) {
	n := len(found)
	t.prefixes.encode(prefixes, n)
	t.prefixes.hash(n)
	for i, h := range t.prefixes.hashes {
		key := t.prefixes.row(i)
		found[i] = t.groups.find(h, func(row int32) bool { return bytes.Equal(t.prefixOf(row), key) })
	}
}

// Prefixes is the number of different prefixes.
func (t *Table) Prefixes() int {
	n := 0
	for _, s := range t.groups.segs {
		n += s.used
	}
	return n
}
