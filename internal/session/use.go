package session

import (
	"maps"
	"slices"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/session/settings"
)

// A Setting is one that the server gives every session.
type Setting struct {
	Key, Value string
	// Unknown says that neither Spark nor weir has such a setting: it is kept, and
	// changes nothing.
	Unknown bool
}

// Settings are what the server gives every session, in the order of their keys: what
// it was started with, where it departs from Spark's defaults, and weir's own.
func (e *Engine) Settings() []Setting {
	values := map[string]string{}
	conf := settings.New(e.base)
	for _, d := range settings.Own() {
		values[d.Key] = ""
		if value, ok := conf.Explicit(d.Key); ok {
			values[d.Key] = value
		} else if d.Get != settings.NoValue {
			values[d.Key] = d.Get
		}
	}
	// Unset, these two follow from the memory of the machine.
	for key, budget := range map[string]*chunk.Budget{
		settings.ServerMemoryKey: e.budget, settings.QueryMemoryKey: e.queryBudget(conf),
	} {
		if values[key] == "" {
			values[key] = strconv.FormatInt(budget.Limit(), 10)
		}
	}
	maps.Copy(values, e.base.Defaults)
	maps.Copy(values, e.base.Set)
	var out []Setting
	for _, key := range slices.Sorted(maps.Keys(values)) {
		unknown := settings.Known().ByKey[key] == nil && looksLikeSparks(key)
		out = append(out, Setting{Key: key, Value: values[key], Unknown: unknown})
	}
	return out
}

// A QueryUse is the memory that a streaming query holds, and what it may, in bytes; a
// limit of 0 is none.
type QueryUse struct {
	RunID       string
	Held, Limit int64
}

// QueryUses are those of the queries that run, in no order.
func (e *Engine) QueryUses() []QueryUse {
	active := e.streams.Active()
	out := make([]QueryUse, len(active))
	for i, q := range active {
		budget := q.Memory()
		out[i] = QueryUse{RunID: q.RunID(), Held: budget.Used(), Limit: budget.Limit()}
	}
	return out
}

// Use is the memory that all queries together hold, and what they may, in bytes.
func (e *Engine) Use() (held, limit int64) { return e.budget.Used(), e.budget.Limit() }
