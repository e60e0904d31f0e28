package client

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Partition is one partition of a topic.
type Partition struct {
	Topic  string
	Number int32
}

// String is Kafka's text: topic-number.
func (p Partition) String() string { return p.Topic + "-" + strconv.Itoa(int(p.Number)) }

// Compare orders partitions by topic and number.
func Compare(a, b Partition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
}

// Offsets is a place in each of some partitions.
type Offsets map[Partition]int64

// Places that List resolves and that programs may name.
const (
	Latest   int64 = -1
	Earliest int64 = -2
)

// Partitions are those of the map, sorted.
func (o Offsets) Partitions() []Partition {
	return slices.SortedFunc(maps.Keys(o), Compare)
}

// Range is the records of a partition in [From, To).
type Range struct {
	Partition
	From, To int64
	// Part is the number that chunks of the range carry.
	Part int
}
