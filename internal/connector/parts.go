package connector

import (
	"cmp"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
)

// ReadParts yields the rows of files by partition.
func ReadParts(env *Env, sizes []int64, file func(i int) chunk.Rows) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		packed, parts := packParts(env, sizes)
		if parts == 0 || !yield(chunk.Partitions(parts), nil) {
			return
		}
		for _, p := range packed {
			for c, err := range file(p.file) {
				if err != nil {
					yield(nil, err)
					return
				}
				c.Part = p.part
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// packedFile is the index of a file and the partition of the input that it
// belongs to.
type packedFile struct{ file, part int }

// packParts deals files into partitions by size as Spark does, the largest
// first. A file that Spark would split belongs to the partition where it begins.
func packParts(env *Env, sizes []int64) (packed []packedFile, parts int) {
	packed = make([]packedFile, len(sizes))
	total, open := int64(0), ConfInt(env, "spark.sql.files.openCostInBytes", 4<<20)
	for i, size := range sizes {
		packed[i].file = i
		total += size + open
	}
	slices.SortStableFunc(packed, func(a, b packedFile) int { return cmp.Compare(sizes[b.file], sizes[a.file]) })
	least := ConfInt(env, "spark.sql.files.minPartitionNum", int64(max(1, env.Parallelism)))
	limit := min(ConfInt(env, "spark.sql.files.maxPartitionBytes", 128<<20), max(open, total/max(1, least)))
	part, used, empty := 0, int64(0), true
	for i, p := range packed {
		length, pieces := sizes[p.file], int64(1)
		if length > limit && limit > 0 {
			pieces, length = (length+limit-1)/limit, limit
		}
		if !empty && used+length > limit {
			part, used = part+1, 0
		}
		packed[i].part = part
		if pieces > 1 {
			part += int(pieces - 1)
			used, length = 0, sizes[p.file]-limit*(pieces-1)
		}
		used, empty = used+length+open, false
	}
	if len(packed) > 0 {
		parts = part + 1
	}
	return packed, parts
}
