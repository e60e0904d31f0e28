package client

import (
	"errors"
	"fmt"
	"sort"
	"time"
)

// ErrRecreated says that a topic is not the one that was read before but
// another one of its name.
var ErrRecreated = errors.New("the topic was deleted and made again")

// ErrEmpty says that a partition had no records where there should be some.
var ErrEmpty = errors.New("no records came")

// OutOfRangeError says that a partition does not have an offset.
type OutOfRangeError struct {
	Partition
	Offset int64
}

// Error names partition and offset.
func (e *OutOfRangeError) Error() string {
	return fmt.Sprintf("partition %s has no offset %d", e.Partition, e.Offset)
}

// lane is what a fetcher has of one partition: blocks of records from first on,
// read up to next, to be read up to until. Fetcher.mu guards it.
type lane struct {
	at       Partition
	id       [16]byte // of the topic
	first    int64    // what a reader gets next begins here
	next     int64    // what is fetched next begins here
	until    int64    // where it is known that records are
	blocks   []block
	seeks    int       // answers to requests of an earlier seek are dropped (K3)
	fetching bool      // a request is under way
	wanted   bool      // a reader waits
	err      error     // it cannot go on
	failing  time.Time // since when requests fail
	empty    time.Time // since when answers have no records
	gone     int       // how often the cluster did not know it in a row
}

// seek makes the lane begin at an offset.
func (l *lane) seek(offset int64, id [16]byte) (freed int64) {
	for _, b := range l.blocks {
		freed += b.bytes
	}
	*l = lane{at: l.at, id: id, first: offset, next: offset, until: offset, seeks: l.seeks + 1}
	return freed
}

// due tells whether the lane is to be fetched; room says that what it fetches
// may be kept though nobody waits for it.
func (l *lane) due(room bool) bool {
	return l.err == nil && !l.fetching && l.next < l.until && (room || l.wanted && len(l.blocks) == 0)
}

// take gives out the first rows that lie before to, and moves past them. ok is
// false when there are none yet.
func (l *lane) take(to int64) (b block, freed int64, ok bool) {
	if len(l.blocks) == 0 {
		l.first = max(l.first, min(l.next, to))
		return b, 0, false
	}
	b = l.blocks[0]
	rows := len(b.offsets)
	if b.offsets[rows-1] < to {
		l.blocks[0] = block{}
		l.blocks = l.blocks[1:]
		l.first = b.offsets[rows-1] + 1
		return b, b.bytes, true
	}
	cut := sort.Search(rows, func(i int) bool { return b.offsets[i] >= to })
	l.first = to
	if cut == 0 {
		return block{}, 0, false
	}
	head := block{chunk: b.chunk.Slice(0, cut), offsets: b.offsets[:cut], lastMs: b.lastMs}
	l.blocks[0] = block{
		chunk: b.chunk.Slice(cut, rows), offsets: b.offsets[cut:], bytes: b.bytes, lastMs: b.lastMs,
	}
	return head, 0, true
}
