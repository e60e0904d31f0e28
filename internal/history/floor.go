package history

import (
	"context"
	"math"
	"time"
)

// A floor is what the tables have of a run that an earlier process told of: what is told
// again of it is left out, table by table, since a crash may come between the commits.
type floor struct {
	batch  [tableCount]int64 // the newest, of the tables of batches
	minute time.Time
	ended  bool // its end is known
	known  bool // its start is
	plan   bool // its plan is
}

// nothingTold is the floor of a run of this process.
var nothingTold = &floor{batch: beforeAll()}

func beforeAll() (out [tableCount]int64) {
	for i := range out {
		out[i] = math.MinInt64
	}
	return out
}

// told tells whether the tables have a row of a run's life.
func (f *floor) told(l *lifeRow) bool {
	if l.run.EndedAt.IsZero() {
		return f.known
	}
	return f.ended
}

// floorOf is the floor of a run. The writer alone calls it; of a run that is new it costs
// nothing.
func (s *Store) floorOf(runID string) *floor {
	f := s.floors[runID]
	if f == nil {
		return nothingTold
	}
	if !s.floored {
		s.floored = true
		s.readFloors()
	}
	return f
}

// floorsWithin is how long looking for floors may take; batches wait in memory meanwhile.
const floorsWithin = 2 * time.Minute

// readFloors looks for what is there of the runs of earlier processes, for all of them at
// once. What cannot be read is taken for nothing: rather is a row there twice than never.
func (s *Store) readFloors() {
	ctx, cancel := context.WithTimeout(context.Background(), floorsWithin)
	defer cancel()
	for _, table := range []int{progressTable, sourcesTable, stateTable, operatorsTable} {
		err := s.scan(ctx, table, span{columns: []string{"run_id", "batch_id"}}, func(r *row) bool {
			if f := s.floors[r.text("run_id")]; f != nil {
				f.batch[table] = max(f.batch[table], r.long("batch_id"))
			}
			return true
		})
		if err != nil {
			s.failed(err)
		}
	}
	err := s.scan(ctx, freshnessTable, span{columns: []string{"run_id", "minute"}}, func(r *row) bool {
		if f, at := s.floors[r.text("run_id")], r.instant("minute"); f != nil && at.After(f.minute) {
			f.minute = at
		}
		return true
	})
	if err != nil {
		s.failed(err)
	}
}
