package chunk

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/weir-dev/weir/internal/plan"
)

// Budget is memory that somebody may hold, in bytes. Budgets are a tree: the
// server's, below it one for each query, below that one for each run or state
// store. What is taken counts on the whole way up, so that neither a query nor
// all of them together hold more than they may.
//
// Whoever takes gives back; Close gives back the rest. Taking is for what is
// large or lives long (tables of joins, groups, sorted rows, a string of a
// gigabyte), never for single rows. A nil Budget allows everything. Any
// goroutine may call it.
type Budget struct {
	parent *Budget
	limit  int64 // 0: only the parents' limits count
	key    string
	used   atomic.Int64
}

// NewBudget is a budget below another one, which may be nil. key is the setting
// that a user changes to get more; limit 0 leaves it to the parents.
func NewBudget(parent *Budget, limit int64, key string) *Budget {
	return &Budget{parent: parent, limit: limit, key: key}
}

// Part is a share of b that can be closed on its own.
func (b *Budget) Part() *Budget { return NewBudget(b, 0, "") }

// Take takes n bytes for something, or refuses and takes nothing.
func (b *Budget) Take(what string, n int64) error {
	for x := b; x != nil; x = x.parent {
		if used := x.used.Add(n); x.limit > 0 && used > x.limit {
			err := x.refuse(what, n, used-n)
			for y := b; ; y = y.parent {
				y.used.Add(-n)
				if y == x {
					return err
				}
			}
		}
	}
	return nil
}

// Give gives back what was taken.
func (b *Budget) Give(n int64) {
	for x := b; x != nil; x = x.parent {
		x.used.Add(-n)
	}
}

// Fits refuses n bytes that are needed at once and that b does not have.
func (b *Budget) Fits(what string, n int64) error {
	err := b.Take(what, n)
	if err == nil {
		b.Give(n)
	}
	return err
}

// Used is what is taken now.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Limit is how much may be taken, 0 where only the parents' limits count.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Close gives back whatever is still taken. Nobody may use b afterwards.
func (b *Budget) Close() {
	if b != nil {
		b.Give(b.used.Load())
	}
}

func (b *Budget) refuse(what string, n, used int64) *plan.Error {
	e := plan.NewError(plan.ClassSpark, "UNABLE_TO_ACQUIRE_MEMORY",
		fmt.Sprintf("The %s needs %d bytes more; %d of the %d bytes that %s allows are held.",
			what, n, used, b.limit, b.key),
		"requestedBytes", strconv.FormatInt(n, 10), "receivedBytes", strconv.FormatInt(max(0, b.limit-used), 10))
	e.Hint = "Let it hold less at a time, or give it more with " + b.key + "."
	return e
}
