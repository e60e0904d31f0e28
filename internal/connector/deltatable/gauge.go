package deltatable

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
)

// gaugedCommits is how many commits one answer reads: a query that is further
// behind is told so by the following answers.
const gaugedCommits = 1000

// gauge sums up the commits that the query has not read.
type gauge struct {
	table delta.Table
	now   func() time.Time
	kept  delta.Retention
	start time.Time // when the first file of what the table began with was given up

	begun   bool
	commits []commitSize // from version first on
	first   int64
	read    commitSize // of the versions before first, since the gauge was made
}

// commitSize is what a commit added.
type commitSize struct {
	files, bytes, rows float64
	at                 time.Time
	paths              []uint64  // of its files
	gone               time.Time // when the table gave up the first of them; zero if it has all
}

func (c *commitSize) plus(other commitSize) {
	c.files += other.files
	c.bytes += other.bytes
	c.rows += other.rows
}

// Gauge reads the log by itself.
func (d *source) Gauge() connector.Gauge {
	g := &gauge{table: d.table, now: d.env.Now}
	g.kept.Keeps(&d.reader.Metadata)
	return g
}

func (g *gauge) Backlog(_ context.Context, committed connector.Offset) (connector.Backlog, error) {
	b := connector.Unmeasured()
	var at offset
	if committed == "" || json.Unmarshal([]byte(committed), &at) != nil {
		return b, nil
	}
	from := at.Version
	if at.Starting {
		from++
	}
	if !g.begun || from < g.first {
		b.Restarted = g.begun
		*g = gauge{table: g.table, now: g.now, kept: g.kept, begun: true, first: from}
		g.kept.Anew()
	}
	if err := g.look(); err != nil {
		return b, err
	}
	for g.first < from && len(g.commits) > 0 {
		g.read.plus(g.commits[0])
		g.kept.Read(g.commits[0].paths)
		g.commits = g.commits[1:]
		g.first++
	}
	if len(g.commits) == 0 {
		g.first = max(g.first, from)
	}
	b.UntilLoss = g.untilLoss(at.Starting)
	if at.Starting {
		return b, nil // of what the table began with, the batches tell
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

// untilLoss is in how many seconds something unread may be deleted. While the query reads
// what the table had when it began, any file of that may be unread.
func (g *gauge) untilLoss(starting bool) float64 {
	now, until := g.now(), connector.Unmeasured().UntilLoss
	if starting {
		until = g.kept.FileLeft(g.start, now)
	}
	for i, c := range g.commits {
		until = sooner(until, g.kept.FileLeft(c.gone, now))
		if i == 0 && c.files > 0 {
			until = sooner(until, g.kept.CommitLeft(c.at, now))
		}
	}
	return until
}

// look reads the commits that came since it looked last.
func (g *gauge) look() error {
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
		c.paths = g.kept.Note(version, changes, func(of int64) {
			switch {
			case of < 0 && g.start.IsZero():
				g.start = c.at
			case of >= g.first && g.commits[of-g.first].gone.IsZero():
				g.commits[of-g.first].gone = c.at
			}
		})
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
		return connector.Unmeasured().Rows
	}
	return *stats.NumRecords
}

// sooner is the lesser of two numbers of which either may be unknown.
func sooner(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}
