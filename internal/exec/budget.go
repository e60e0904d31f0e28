package exec

import (
	"fmt"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// budget counts the bytes that the operators of a run hold (X5). One goroutine
// uses it.
type budget struct{ limit, used int64 }

// take accounts for n more bytes of an operator.
func (b *budget) take(operator string, n int64) error {
	if b.used+n > b.limit {
		return outOfMemory(operator, n, b)
	}
	b.used += n
	return nil
}

func (b *budget) give(n int64) { b.used -= n }

func outOfMemory(operator string, n int64, b *budget) *plan.Error {
	left := max(0, b.limit-b.used)
	e := plan.NewError(plan.ClassSpark, "UNABLE_TO_ACQUIRE_MEMORY",
		fmt.Sprintf("The %s needs %d bytes more, but the query holds %d of %d.", operator, n, b.used, b.limit),
		"requestedBytes", strconv.FormatInt(n, 10), "receivedBytes", strconv.FormatInt(left, 10))
	e.Hint = "Reduce what it has to hold, or run with a larger memory budget."
	return e
}

// lease is what one operator holds of the budget, to be given back together.
type lease struct {
	of       *budget
	operator string
	bytes    int64
}

func (r *running) lease(operator string) *lease { return &lease{of: &r.budget, operator: operator} }

// hold sets the bytes held.
func (l *lease) hold(bytes int64) error {
	if bytes > l.bytes {
		if err := l.of.take(l.operator, bytes-l.bytes); err != nil {
			return err
		}
	} else {
		l.of.give(l.bytes - bytes)
	}
	l.bytes = bytes
	return nil
}

func (l *lease) add(bytes int64) error { return l.hold(l.bytes + bytes) }

func (l *lease) end() { _ = l.hold(0) }

// vectorBytes is the memory that the rows of a vector take.
func vectorBytes(v *chunk.Vector) int64 {
	n := int64(len(v.Valid))
	if w := chunk.Width(v.Type); w > 0 {
		return n + int64(v.Len*w)
	}
	if v.Offsets != nil {
		n += int64(4 * len(v.Offsets))
		if chunk.IsBytes(v.Type) {
			return n + int64(v.Offsets[v.Len]-v.Offsets[0])
		}
	}
	for _, k := range v.Kids {
		n += vectorBytes(k)
	}
	return n
}

func chunkBytes(c *chunk.Chunk) int64 {
	n := int64(0)
	for _, v := range c.Cols {
		n += vectorBytes(v)
	}
	return n
}
