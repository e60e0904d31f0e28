package ui

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

const (
	// refreshEvery is how often the fleet is looked at for all streams together.
	refreshEvery = time.Second
	// keptGone is how many queries that left are remembered; who missed more gets the
	// whole fleet.
	keptGone = 256
)

// changes remembers when each row of the fleet changed, so that a stream is told what
// is new since its last event, however long ago that was: nothing is kept for a
// stream, and none waits for another. There is no goroutine; the streams that are
// there look at the fleet, one of them each second.
type changes struct {
	server *server

	mu     sync.Mutex
	at     time.Time // of the last look
	seq    int64     // its number: Unix milliseconds, but never less than before
	base   int64     // who has seen less than this gets everything
	rows   map[string]*changingRow
	gone   []goneRow // oldest first
	totals []byte
}

// changingRow is a row as JSON in two parts, with when each changed last.
type changingRow struct {
	figures, past     []byte
	figuresAt, pastAt int64
	pastOf            time.Time // the step for which the past was read
	seen              int64
}

type goneRow struct {
	id string
	at int64
}

// fleetEvent is what a stream is told of the fleet. Whole says that queries that are
// not listed are no more.
type fleetEvent struct {
	NowAtMs int64             `json:"nowAtMs"`
	Whole   bool              `json:"whole"`
	Totals  json.RawMessage   `json:"totals"`
	Queries []json.RawMessage `json:"queries"`
	Gone    []string          `json:"gone"`
}

// since is what is new since the event of a number, and the number of now; 0 has seen
// nothing.
func (c *changes) since(last int64, now time.Time) (*fleetEvent, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.at) >= refreshEvery*9/10 || now.Before(c.at) || c.rows == nil {
		c.refresh(now)
	}
	e := &fleetEvent{
		NowAtMs: c.seq, Whole: last < c.base || last > c.seq, Totals: c.totals,
		Queries: []json.RawMessage{}, Gone: []string{},
	}
	if e.Whole {
		last = 0
	}
	for id, row := range c.rows {
		if text := row.since(id, last); text != nil {
			e.Queries = append(e.Queries, text)
		}
	}
	for _, g := range c.gone {
		if !e.Whole && g.at > last {
			e.Gone = append(e.Gone, g.id)
		}
	}
	return e, c.seq
}

// refresh requires mu.
func (c *changes) refresh(now time.Time) {
	c.at, c.seq = now, max(now.UnixMilli(), c.seq+1)
	if c.rows == nil {
		c.rows, c.base = map[string]*changingRow{}, c.seq
	}
	queries := c.server.registry.Queries()
	figures := make([]*fleetRow, len(queries))
	for i, q := range queries {
		figures[i] = &fleetRow{rowFigures: newFigures(q, now)}
		row := c.rows[q.ID()]
		if row == nil {
			row = &changingRow{}
			c.rows[q.ID()] = row
		}
		row.seen = c.seq
		if text := mustJSON(&figures[i].rowFigures); !bytes.Equal(text, row.figures) {
			row.figures, row.figuresAt = text, c.seq
		}
		step := now.Truncate(health.FineStep)
		if row.past != nil && step.Equal(row.pastOf) {
			continue
		}
		row.pastOf = step
		past := newPast(q, now)
		if text := mustJSON(&past); !bytes.Equal(text, row.past) {
			row.past, row.pastAt = text, c.seq
		}
	}
	c.totals = mustJSON(newTotals(figures))
	c.forget()
}

// forget requires mu. It drops the rows of queries that are no more.
func (c *changes) forget() {
	for id, row := range c.rows {
		if row.seen != c.seq {
			delete(c.rows, id)
			c.gone = append(c.gone, goneRow{id, c.seq})
		}
	}
	if many := len(c.gone) - keptGone; many > 0 {
		c.base = c.gone[many-1].at
		c.gone = append(c.gone[:0:0], c.gone[many:]...)
	}
}

// since is the JSON object of what is new in the row, nil for nothing.
func (r *changingRow) since(id string, last int64) []byte {
	figures, past := r.figuresAt > last, r.pastAt > last
	switch {
	case figures && past:
		return bytes.Join([][]byte{r.figures[:len(r.figures)-1], r.past[1:]}, []byte(","))
	case figures:
		return r.figures
	case past:
		head := append([]byte(`{"id":`), mustJSON(id)...)
		return bytes.Join([][]byte{head, r.past[1:]}, []byte(","))
	default:
		return nil
	}
}

// sequence reads the number of an event, 0 when there is none.
func sequence(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
