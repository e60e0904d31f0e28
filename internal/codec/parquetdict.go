package codec

import (
	"bytes"
	"math/bits"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/zeebo/xxh3"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// A column gets a dictionary when a sample of at least fewRows and about
// sampleRows has at most one new value in maxFresh: others pay half of the
// time of writing for it and gain nothing.
const (
	sampleRows = 10_000
	fewRows    = 1000
	maxFresh   = 5
)

// repetitive are the paths of the leaves whose sample repeats its values.
func repetitive(schema plan.Type, sample []*chunk.Chunk) []parquet.ColumnPath {
	rows := 0
	for _, c := range sample {
		rows += c.Rows
	}
	if rows < fewRows {
		return nil
	}
	var out []parquet.ColumnPath
	for i, f := range schema.Fields {
		vectors := make([]*chunk.Vector, len(sample))
		for k, c := range sample {
			vectors[k] = c.Cols[i]
		}
		out = append(out, repetitiveLeaves(f.Type, parquet.ColumnPath{f.Name}, vectors)...)
	}
	return out
}

func repetitiveLeaves(t plan.Type, path parquet.ColumnPath, sample []*chunk.Vector) []parquet.ColumnPath {
	kid := func(k int, kind plan.Type, names ...string) []parquet.ColumnPath {
		inner := make([]*chunk.Vector, len(sample))
		for i, v := range sample {
			inner[i] = v.Kids[k]
		}
		return repetitiveLeaves(kind, append(path[:len(path):len(path)], names...), inner)
	}
	switch t.Kind {
	case plan.KindStruct:
		var out []parquet.ColumnPath
		for k, f := range t.Fields {
			out = append(out, kid(k, f.Type, f.Name)...)
		}
		return out
	case plan.KindArray:
		return kid(0, *t.Elem, "list", "element")
	case plan.KindMap:
		return append(kid(0, *t.Key, "key_value", "key"), kid(1, *t.Elem, "key_value", "value")...)
	case plan.KindBoolean:
		return nil
	}
	if !repeats(sample) {
		return nil
	}
	return []parquet.ColumnPath{path}
}

func repeats(sample []*chunk.Vector) bool {
	rows := 0
	for _, v := range sample {
		rows += v.Len
	}
	most := rows / maxFresh
	fresh := newHashes(most + 1)
	for _, v := range sample {
		w := chunk.Width(v.Type)
		var before, value []byte
		for i := range v.Len {
			before = value
			if w > 0 {
				value = v.Data[i*w : (i+1)*w]
			} else {
				value = v.Bytes(i)
			}
			if i > 0 && bytes.Equal(value, before) {
				continue // runs of one value are common, and dear to hash
			}
			fresh.add(xxh3.Hash(value))
			if fresh.count > most {
				return false
			}
		}
	}
	return rows > 0
}

// hashes is a set of at most so many hashes, by open addressing.
type hashes struct {
	slots []uint64 // 0 is free
	count int
}

func newHashes(most int) *hashes {
	return &hashes{slots: make([]uint64, 1<<bits.Len(uint(2*most)))}
}

func (h *hashes) add(x uint64) {
	x |= 1 // not 0
	mask := uint64(len(h.slots) - 1)
	for at := x >> 1 & mask; ; at = (at + 1) & mask {
		switch h.slots[at] {
		case x:
			return
		case 0:
			h.slots[at] = x
			h.count++
			return
		}
	}
}
