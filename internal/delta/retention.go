package delta

import (
	"math"
	"time"

	"github.com/zeebo/xxh3"
)

const (
	// watchedFiles bounds how many unread files are followed, the oldest of them: 16 MiB.
	// Those are the ones that OPTIMIZE and DELETE take first.
	watchedFiles = 1 << 19
	// keptUsed is the share of what a table keeps that has to be used up before there is
	// anything to tell: a reader that is a little late is in no danger, however short
	// the time is.
	keptUsed = 0.5
)

// Retention follows which unread files a table has given up since: VACUUM may take
// them when the time of the table is over. Commits that are as old as the log is kept
// may go as well.
type Retention struct {
	files, log time.Duration    // how long the table keeps both
	unread     map[uint64]int64 // hashes of paths, with the version that added them
}

// Keeps hears of the table's properties.
func (r *Retention) Keeps(m *Metadata) { r.files, r.log = m.Kept() }

// Note takes a commit in; added is what it adds, gone hears of the version whose file
// it gives up, -1 for a file that was there before all commits that are unread.
func (r *Retention) Note(version int64, changes *Changes, gone func(version int64)) []uint64 {
	var added []uint64
	if changes.Metadata != nil {
		r.Keeps(changes.Metadata)
	}
	for _, path := range changes.Gone {
		hash := xxh3.HashString(path)
		if of, ok := r.unread[hash]; ok {
			delete(r.unread, hash)
			gone(of)
			continue
		}
		gone(-1)
	}
	for _, add := range changes.Added {
		if len(r.unread) >= watchedFiles {
			break
		}
		hash := xxh3.HashString(add.Path)
		r.unread[hash] = version
		added = append(added, hash)
	}
	return added
}

// Read forgets files.
func (r *Retention) Read(files []uint64) {
	for _, hash := range files {
		delete(r.unread, hash)
	}
}

// Anew is for a reader that begins somewhere else.
func (r *Retention) Anew() { r.unread = map[uint64]int64{} }

// FileLeft and CommitLeft are in how many seconds a file that was given up at some time, or
// a commit that is of it, may go; NaN while there is plenty of time, or no such time.
func (r *Retention) FileLeft(from, now time.Time) float64 { return left(from, r.files, now) }

// CommitLeft is FileLeft of commits.
func (r *Retention) CommitLeft(from, now time.Time) float64 { return left(from, r.log, now) }

// left is in how many seconds what began at some time is no longer kept; NaN while there
// is plenty of time, or nothing began.
func left(from time.Time, kept time.Duration, now time.Time) float64 {
	used := now.Sub(from)
	if from.IsZero() || used.Seconds() < keptUsed*kept.Seconds() {
		return math.NaN()
	}
	return max(0, (kept - used).Seconds())
}
