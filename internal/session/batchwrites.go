package session

import (
	"fmt"
	"strings"
	"sync"

	"github.com/weir-dev/weir/internal/plan"
)

// idempotentOption makes each write of a foreachBatch's function into a Delta table once,
// however often its batch runs. The writes are told apart by their table and their order,
// so the function must make the same ones each time, one after the other.
const idempotentOption = "weir.foreachBatch.idempotent"

// batchWrites counts the writes of a batch into each table.
type batchWrites struct {
	query string
	batch int64

	mu    sync.Mutex
	count map[string]int // by directory
}

// next is the transaction of the next write into a table: an application for each of
// the query's writes, whose version is the batch.
func (w *batchWrites) next(dir string) (app string, version int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[dir]++
	return fmt.Sprintf("%s/%d", w.query, w.count[dir]), w.batch
}

func (s *Session) setWrites(w *batchWrites) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = w
}

func (s *Session) batchWrites() *batchWrites {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// optionFlag is an option that is true or false.
func optionFlag(o plan.Options, name string) (bool, error) {
	text, ok := o.Get(name)
	switch {
	case !ok || strings.EqualFold(text, "false"):
		return false, nil
	case strings.EqualFold(text, "true"):
		return true, nil
	}
	return false, plan.IllegalArgument("The option %s is %q; it is true or false.", name, text)
}
