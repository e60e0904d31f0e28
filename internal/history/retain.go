package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
)

const (
	// roundEvery is how often the tables are put in order.
	roundEvery = 24 * time.Hour
	// manyFiles of one table make it time earlier.
	manyFiles = 1500
	// removedKept is how long a reader may go on with files that were taken out.
	removedKept = time.Hour
	// logKept is how long a reader may go back in the log.
	logKept = 24 * time.Hour
	// bigFile is how large files are packed.
	bigFile = 128 << 20
	// leaveShare is how much of the allowed bytes is left after there were too many, so
	// that the next minute is not too much again.
	leaveShare = 0.9
)

// maintain puts the tables in order when it is time.
func (s *Store) maintain(now time.Time) {
	due := now.Sub(s.maintained) >= roundEvery || now.Before(s.maintained) || s.crowded(now)
	if !due && s.bytes() <= s.options.Bytes {
		return
	}
	if err := s.forget(now); err != nil {
		s.failed(err)
	}
	s.forgetRuns(now)
	if !due {
		return
	}
	s.maintained = now
	for i := range s.tables {
		if err := s.tidy(&s.tables[i], now); err != nil {
			s.failed(fmt.Errorf("table %s: %w", s.tables[i].name, err))
			s.tables[i].snapshot = nil
		}
	}
}

// crowded tells whether a table has so many files that it cannot wait for the day.
func (s *Store) crowded(now time.Time) bool {
	for i := range s.tables {
		if snapshot := s.tables[i].snapshot; snapshot != nil {
			n, _ := snapshot.NumFiles()
			if n >= manyFiles && now.Sub(s.maintained) >= removedKept {
				return true
			}
		}
	}
	return false
}

// dayOf is the last day of a file's rows, by its statistics.
func dayOf(f *delta.Add) string {
	var stats struct {
		MaxValues struct {
			Day string `json:"day"`
		} `json:"maxValues"`
	}
	if json.Unmarshal([]byte(f.Stats), &stats) != nil {
		return ""
	}
	return stats.MaxValues.Day
}

type dated struct {
	table int
	day   string
	file  *delta.Add
}

// forget takes files out of the tables: those that are too old, then the oldest until
// the rest is within the allowed bytes.
func (s *Store) forget(now time.Time) error {
	var all []dated
	bytes := int64(0)
	for i := range s.tables {
		if s.tables[i].snapshot == nil {
			continue
		}
		for _, f := range s.tables[i].snapshot.Files() {
			all = append(all, dated{i, dayOf(f), f})
			bytes += f.Size
		}
	}
	slices.SortFunc(all, func(a, b dated) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(a.file.ModificationTime, b.file.ModificationTime))
	})
	oldest := now.Add(-s.options.Keep).UTC().Format(time.DateOnly)
	limit := int64(math.MaxInt64)
	if bytes > s.options.Bytes {
		limit = int64(float64(s.options.Bytes) * leaveShare)
	}
	var gone [tableCount][]*delta.Add
	for _, one := range all {
		if one.day >= oldest && bytes <= limit {
			break
		}
		gone[one.table] = append(gone[one.table], one.file)
		bytes -= one.file.Size
	}
	for i, files := range gone {
		if len(files) == 0 {
			continue
		}
		_, err := s.tables[i].snapshot.Commit(context.Background(), delta.Change{
			Operation: "DELETE", Removes: files, Reads: &delta.Reads{}, Now: now,
			Metrics: []delta.Param{delta.Number("numRemovedFiles", int64(len(files)))},
		})
		if err != nil {
			return fmt.Errorf("table %s: %w", s.tables[i].name, err)
		}
	}
	return nil
}

// tidy packs the files of each day together and removes what nothing needs.
func (s *Store) tidy(t *live, now time.Time) error {
	if t.snapshot == nil {
		return nil
	}
	ctx := context.Background()
	byDay := map[string][]*delta.Add{}
	for _, f := range t.snapshot.Files() {
		day := dayOf(f)
		byDay[day] = append(byDay[day], f)
	}
	for _, files := range byDay {
		for _, bin := range t.snapshot.Bins(files, bigFile/2, bigFile) {
			if err := s.pack(ctx, t, bin, now); err != nil {
				return fmt.Errorf("pack files: %w", err)
			}
		}
	}
	// What was written in between is to be named before files without a name go.
	if err := s.commit(t, now); err != nil {
		return err
	}
	litter, err := t.snapshot.Litter(ctx, now.Add(-removedKept))
	if err != nil {
		return err
	}
	if _, err := litter.Remove(ctx, s.options.Files); err != nil {
		return err
	}
	if err := t.snapshot.Checkpoint(ctx); err != nil {
		return err
	}
	_, err = t.snapshot.TrimLog(now.Add(-logKept))
	return err
}

// pack writes the rows of a bin into one file. A day of many queries takes minutes, so
// that what waits meanwhile is written in between.
func (s *Store) pack(ctx context.Context, t *live, bin delta.Bin, now time.Time) error {
	var names []string
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	rows := func(yield func(*chunk.Chunk, error) bool) {
		for _, f := range bin.Files {
			for c, err := range t.snapshot.ReadFile(ctx, f, names) {
				if c != nil {
					c.Part = 0
				}
				if !yield(c, err) || err != nil {
					return
				}
				s.relieve()
			}
		}
	}
	spec := delta.DataSpec{Schema: t.schema, Zone: time.UTC}
	written, err := t.snapshot.Write(ctx, spec, rows)
	if err != nil {
		return err
	}
	_, err = t.snapshot.Commit(ctx, t.snapshot.Optimized([]delta.Bin{bin}, written, nil, now))
	return err
}
