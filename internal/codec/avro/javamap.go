package avro

import (
	"slices"
	"unicode/utf16"

	"github.com/weir-dev/weir/internal/chunk"
)

// Spark keeps the entries of a map in a java.util.HashMap on their way from and
// to Avro, and users see the order in which that hands them out. entryOrder
// tells it.
type entryOrder struct {
	hashes []int32
	order  []int32
	places []int32
	slots  map[string]int32
}

// of is the order of the entries with those keys, by index: equal keys are one
// entry, that of the last. size is the room that the map was made with. The answer
// holds until the next call.
func (e *entryOrder) of(keys *chunk.Vector, from, to, size int, hash func([]byte) int32) []int32 {
	e.hashes, e.order, e.places = e.hashes[:0], e.order[:0], e.places[:0]
	if to-from == 1 {
		e.order = append(e.order, int32(from))
		return e.order
	}
	if e.slots == nil {
		e.slots = map[string]int32{}
	}
	clear(e.slots)
	for i := from; i < to; i++ {
		if at, ok := e.slots[keys.Text(i)]; ok {
			e.order[at] = int32(i)
			continue
		}
		e.slots[keys.Text(i)] = int32(len(e.order))
		e.order = append(e.order, int32(i))
		h := hash(keys.Bytes(i))
		e.hashes = append(e.hashes, h^int32(uint32(h)>>16))
	}
	table := 1
	for table < size {
		table *= 2
	}
	for len(e.order) > table*3/4 {
		table *= 2
	}
	for i := range e.order {
		e.places = append(e.places, int32(i))
	}
	slices.SortStableFunc(e.places, func(a, b int32) int {
		return int(e.hashes[a]&int32(table-1)) - int(e.hashes[b]&int32(table-1))
	})
	for i, p := range e.places {
		e.places[i] = e.order[p]
	}
	return e.places
}

// hashUtf8 is the hash of Avro's Utf8, hashString that of Java's String.
func hashUtf8(b []byte) int32 {
	h := int32(1)
	for _, x := range b {
		h = 31*h + int32(int8(x))
	}
	return h
}

func hashString(b []byte) int32 {
	h := int32(0)
	for _, x := range utf16.Encode([]rune(string(b))) {
		h = 31*h + int32(x)
	}
	return h
}
