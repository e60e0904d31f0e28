package state

import (
	"container/heap"
	"math"
	"slices"
)

// Never is the expiry of a row that stays.
const Never = math.MaxInt64

// A bucket of the index by time is about a second wide, in the unit of the times.
const (
	microsBits = 20
	millisBits = 10
)

// expiry finds the rows that are due. Rows of about the same time share a
// bucket; the buckets' times form a heap. Numbers of rows that are gone stay in
// their bucket until it is due, and are passed over then.
type expiry struct {
	bits    int // of a time that tell places in a bucket apart
	buckets map[int64]*bucket
	times   times
	last    *bucket // the one added to last, which is mostly the next one too
}

type bucket struct {
	key  int64
	rows []int32
}

func newExpiry(millis bool) *expiry {
	e := &expiry{bits: microsBits, buckets: map[int64]*bucket{}}
	if millis {
		e.bits = millisBits
	}
	return e
}

func (e *expiry) add(row int32, at int64) {
	if at == Never {
		return
	}
	key := at >> e.bits
	if e.last == nil || e.last.key != key {
		b, ok := e.buckets[key]
		if !ok {
			b = &bucket{key: key}
			e.buckets[key] = b
			heap.Push(&e.times, key)
		}
		e.last = b
	}
	e.last.rows = append(e.last.rows, row)
}

// due takes out the rows whose time is at most until, in the order of their
// numbers. at is the time of a row, false when the row is gone.
func (e *expiry) due(until int64, at func(row int32) (int64, bool)) []int32 {
	var out []int32
	for len(e.times) > 0 && e.times[0] <= until>>e.bits {
		key := e.times[0]
		b := e.buckets[key]
		kept := b.rows[:0]
		for _, r := range b.rows {
			switch t, ok := at(r); {
			case !ok || t>>e.bits != key:
			case t <= until:
				out = append(out, r)
			default:
				kept = append(kept, r)
			}
		}
		if len(kept) > 0 {
			// Only the last bucket is due in part.
			b.rows = kept
			break
		}
		delete(e.buckets, key)
		e.last = nil
		heap.Pop(&e.times)
	}
	// A number that was given to a second row of the bucket stands in it twice.
	slices.Sort(out)
	return slices.Compact(out)
}

func (e *expiry) bytes() int64 {
	n := int64(64 * len(e.times))
	for _, b := range e.buckets {
		n += int64(4 * cap(b.rows))
	}
	return n
}

// times is a heap of bucket numbers, the earliest first.
type times []int64

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(int64)) }
func (t *times) Pop() any {
	old := *t
	x := old[len(old)-1]
	*t = old[:len(old)-1]
	return x
}
