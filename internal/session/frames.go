package session

import (
	"context"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/spool"
)

// spoolTable is the format under which a spool is read.
const spoolTable = "foreachBatch frame"

const (
	spoolOption = "frame"
	batchOption = "batch"
)

// spooled keeps rows beside the engine's other temporary files.
func (e *Engine) spooled(schema plan.Type, rows chunk.Rows, budget *chunk.Budget) (*spool.Spool, error) {
	place := spool.Place{FS: e.fs, Name: func() string { return e.tempDir("batch") }}
	return spool.Keep(place, schema, rows, budget)
}

// putSpool makes a batch a frame that clients of the session find by the id.
func (s *Session) putSpool(rows *spool.Spool, batch int64) (frame string) {
	frame = newID()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spools[frame] = rows
	s.cached[frame] = &plan.Scan{Relation: plan.Relation{
		Format: spoolTable, Schema: rows.Schema,
		Options: plan.Options{spoolOption: frame, batchOption: strconv.FormatInt(batch, 10)},
	}}
	return frame
}

// dropSpool forgets a batch. Who still reads it reads on.
func (s *Session) dropSpool(frame string) {
	s.mu.Lock()
	rows := s.spools[frame]
	delete(s.spools, frame)
	delete(s.cached, frame)
	s.mu.Unlock()
	if err := rows.Remove(); err != nil {
		s.engine.log.Warn("remove a batch of a foreachBatch", "file", rows.FileName(), "err", err)
	}
}

// scanSpool yields the rows of the batch that a foreachBatch is at.
func (s *Session) scanSpool(_ context.Context, _ *connector.Env, scan *plan.Scan) chunk.Rows {
	s.mu.Lock()
	rows := s.spools[scan.Relation.Options[spoolOption]]
	s.mu.Unlock()
	if rows == nil {
		return chunk.Fail(plan.IllegalArgument("the rows of batch %s are gone: its foreachBatch has ended, "+
			"and what is to outlive it has to be written somewhere", scan.Relation.Options[batchOption]))
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows.Rows() {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(columnsOf(c, scan), nil) {
				return
			}
		}
	}
}
