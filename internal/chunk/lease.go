package chunk

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

// Lease is what one operator holds of a budget, to be given back together.
type Lease struct {
	Of       *Budget
	Operator string // names the holder in errors
	bytes    int64
}

// Hold sets the bytes held.
func (l *Lease) Hold(bytes int64) error {
	if bytes > l.bytes {
		if err := l.Of.Take(l.Operator, bytes-l.bytes); err != nil {
			return err
		}
	} else {
		l.Of.Give(l.bytes - bytes)
	}
	l.bytes = bytes
	return nil
}

// Add changes the bytes held by some more, or fewer.
func (l *Lease) Add(bytes int64) error { return l.Hold(l.bytes + bytes) }

// Held is the bytes held.
func (l *Lease) Held() int64 { return l.bytes }

// End gives all back.
func (l *Lease) End() { _ = l.Hold(0) }

// TooLong says that a column would not fit into one chunk, whose offsets count
// 2 GiB.
func TooLong(operator string, n int64) *plan.Error {
	return plan.NewError(plan.ClassSpark, "UNABLE_TO_ACQUIRE_MEMORY",
		fmt.Sprintf("The %s makes %d bytes of one column at once; at most %d are possible.",
			operator, n, math.MaxInt32),
		"requestedBytes", strconv.FormatInt(n, 10), "receivedBytes", strconv.Itoa(math.MaxInt32))
}
