package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
)

// storeSessions merges the sessions of the batch with those that the state has
// for their keys, and puts what comes out in their place.
func (b *batchOfGroups) storeSessions() error {
	at, table := b.of.session, b.table(0)
	s, err := newSessions(b.of.agg, at)
	if err != nil {
		return err
	}
	buffers, err := b.g.partial()
	if err != nil {
		return err
	}
	s.add(without(b.g.keys, at), b.g.keys[at], buffers)
	old := b.kept(s)
	s.stored = len(s.list)
	stateRows(old, func(rows []int32) bool {
		values := table.Values(rows)
		s.add(table.Keys(rows), values[0], values[1:])
		return true
	})
	table.Remove(old)
	b.work().Removed += s.swallowed()
	merged, err := s.merged(b.r, b.of.buffers)
	if err != nil {
		return err
	}
	defer merged.end()
	if buffers, err = merged.partial(); err != nil {
		return err
	}
	n := merged.count()
	for from := 0; from < n; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, n)
		values := []*chunk.Vector{merged.keys[at].Slice(from, to)}
		for _, v := range buffers {
			values = append(values, v.Slice(from, to))
		}
		keys := without(merged.keys, at)
		for k, v := range keys {
			keys[k] = v.Slice(from, to)
		}
		if err := table.Put(keys, values, make([]int32, to-from)); err != nil {
			return err
		}
	}
	b.work().Updated += int64(n)
	return b.r.stopped()
}

// kept is the rows that the state has for the keys of the batch.
func (b *batchOfGroups) kept(s *sessions) []int32 {
	table := b.table(0)
	var out []int32
	n := s.count()
	for from := 0; from < n; from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, n)
		keys := make([]*chunk.Vector, len(s.cols))
		for k, v := range s.cols {
			keys[k] = v.Slice(from, to)
		}
		first := make([]int32, to-from)
		table.Find(keys, first)
		for _, row := range first {
			for ; row >= 0; row = table.Next(row) {
				out = append(out, row)
			}
		}
	}
	return out
}

// swallowed counts the sessions of the state that will begin earlier: Spark
// counts them as removed.
func (s *sessions) swallowed() int64 {
	stored := make(map[session]bool, len(s.list)-s.stored)
	for _, w := range s.list[s.stored:] {
		stored[session{key: w.key, start: w.start}] = true
	}
	_, _, joined := s.join()
	for _, w := range joined {
		delete(stored, session{key: w.key, start: w.start})
	}
	return int64(len(stored))
}
