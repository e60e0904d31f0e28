package session

import (
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/session/settings"
)

// unknownMemory is Options.Memory when nobody says: a small machine.
const unknownMemory = 4 << 30

// What counts in a budget is what operators hold. Copies on the way to a client
// and garbage not yet collected come on top, so the shares leave room for them.
const (
	serverShare = 2 // of the machine's memory, one part in so many
	queryShare  = 4
)

// serverBudget is what all queries may hold together.
func (e *Engine) serverBudget() *chunk.Budget {
	limit, ok := sizeOf(e.options.Confs[settings.ServerMemoryKey])
	if !ok {
		limit = e.memory() / serverShare
	}
	return chunk.NewBudget(nil, limit, settings.ServerMemoryKey)
}

func (e *Engine) memory() int64 {
	if e.options.Memory > 0 {
		return e.options.Memory
	}
	return unknownMemory
}

// queryBudget is what one query may hold, its state included.
func (e *Engine) queryBudget(conf *settings.Conf) *chunk.Budget {
	limit, ok := sizeOf(conf.Value(settings.QueryMemoryKey))
	if !ok {
		limit = e.memory() / queryShare
	}
	return chunk.NewBudget(e.budget, limit, settings.QueryMemoryKey)
}

// sizeOf reads a size; an unset one is none.
func sizeOf(text string) (int64, bool) {
	n, ok := settings.ParseSuffixed(strings.TrimSpace(text), settings.SizeUnits, 1)
	return int64(n), ok && n > 0
}
