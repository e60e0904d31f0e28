package connector

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/weir-dev/weir/internal/delta"
)

// gaugedCommits is how many commits one answer reads: a query that is further
// behind is told so by the following answers.
const gaugedCommits = 1000

// deltaGauge sums up the commits that the query has not read.
type deltaGauge struct {
	table delta.Table

	begun   bool
	commits []commitSize // from version first on
	first   int64
	read    commitSize // of the versions before first, since the gauge was made
}

// commitSize is what a commit added.
type commitSize struct {
	files, bytes, rows float64
	at                 time.Time
}

func (c *commitSize) plus(other commitSize) {
	c.files += other.files
	c.bytes += other.bytes
	c.rows += other.rows
}

// Gauge reads the log by itself.
func (d *deltaSource) Gauge() Gauge { return &deltaGauge{table: d.table} }

func (g *deltaGauge) Backlog(_ context.Context, committed Offset) (Backlog, error) {
	b := unmeasured()
	var at deltaOffset
	if committed == "" || json.Unmarshal([]byte(committed), &at) != nil || at.Starting {
		return b, nil // of what the table began with, the batches tell
	}
	if !g.begun || at.Version < g.first {
		b.Restarted = g.begun
		*g = deltaGauge{table: g.table, begun: true, first: at.Version}
	}
	if err := g.look(); err != nil {
		return b, err
	}
	for g.first < at.Version && len(g.commits) > 0 {
		g.read.plus(g.commits[0])
		g.commits = g.commits[1:]
		g.first++
	}
	if len(g.commits) == 0 {
		g.first = max(g.first, at.Version)
	}
	var waits commitSize
	for i, c := range g.commits {
		if i == 0 && at.Version == g.first && at.Index >= 0 && c.files > 0 {
			left := max(0, c.files-float64(at.Index+1)) / c.files // files of a commit are much alike
			c.files, c.bytes, c.rows = c.files*left, c.bytes*left, c.rows*left
		}
		if waits.files == 0 && c.files > 0 {
			b.Oldest = c.at
		}
		waits.plus(c)
	}
	b.Rows, b.Bytes, b.Files = waits.rows, waits.bytes, waits.files
	b.ReadRows, b.ReadBytes, b.ReadFiles = g.read.rows, g.read.bytes, g.read.files
	return b, nil
}

// look reads the commits that came since it looked last.
func (g *deltaGauge) look() error {
	for range gaugedCommits {
		version := g.first + int64(len(g.commits))
		changes, err := g.table.ChangesOf(version)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		var c commitSize
		for _, add := range changes.Added {
			c.plus(commitSize{files: 1, bytes: float64(add.Size), rows: recordsOf(add)})
		}
		if c.at, err = g.table.CommittedAt(version); err != nil {
			return err
		}
		g.commits = append(g.commits, c)
	}
	return nil
}

// recordsOf is how many rows a file has by its statistics; unknown without any.
func recordsOf(add *delta.Add) float64 {
	var stats struct {
		NumRecords *float64 `json:"numRecords"`
	}
	if json.Unmarshal([]byte(add.Stats), &stats) != nil || stats.NumRecords == nil {
		return unmeasured().Rows
	}
	return *stats.NumRecords
}
