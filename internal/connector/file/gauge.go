package file

import (
	"context"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/connector"
)

// gauge counts the files that no committed batch has had.
type gauge struct {
	source *source
	tree   *tree

	mu     sync.Mutex
	flying []batch // admitted and not known to be committed, oldest first
	read   batch   // the sum of those that were committed
}

// batch sums up the files of a batch.
type batch struct {
	id           int64
	files, bytes float64
	oldestMs     int64 // 0 for none
}

func (b *batch) add(size, mtime int64) {
	b.files++
	b.bytes += float64(size)
	if b.oldestMs == 0 || mtime < b.oldestMs {
		b.oldestMs = mtime
	}
}

func (b *batch) plus(other batch) {
	b.files += other.files
	b.bytes += other.bytes
	if b.oldestMs == 0 || other.oldestMs != 0 && other.oldestMs < b.oldestMs {
		b.oldestMs = other.oldestMs
	}
}

// Gauge lists by itself, for between batches the source does not.
func (f *source) Gauge() connector.Gauge {
	tree := *f.tree
	f.gauge = &gauge{source: f, tree: &tree}
	return f.gauge
}

// admitted is told of a batch before its files count as seen, so that no file is
// in neither.
func (g *gauge) admitted(id int64, files []dataFile) {
	b := batch{id: id}
	for _, d := range files {
		b.add(d.size, d.mtime)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flying = append(g.flying, b)
}

// settle moves what was committed from flying to read, and sums up the rest.
func (g *gauge) settle(committed int64) (waits batch, read batch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.flying) > 0 && g.flying[0].id <= committed {
		g.read.plus(g.flying[0])
		g.flying = g.flying[1:]
	}
	for _, b := range g.flying {
		waits.plus(b)
	}
	return waits, g.read
}

func (g *gauge) Backlog(_ context.Context, committed connector.Offset) (connector.Backlog, error) {
	b := connector.Unmeasured()
	id, err := logOffset(committed)
	if err != nil {
		return b, err
	}
	// Listed before what flies is summed up: a file that is admitted in between is
	// counted twice for a moment, never not at all.
	fresh, err := g.list()
	if err != nil {
		return b, err
	}
	waits, read := g.settle(id)
	waits.plus(fresh)
	b.Files, b.Bytes, b.ReadFiles, b.ReadBytes = waits.files, waits.bytes, read.files, read.bytes
	if waits.oldestMs > 0 {
		b.Oldest = time.UnixMilli(waits.oldestMs)
	}
	return b, nil
}

// list sums up the files that were not admitted.
func (g *gauge) list() (fresh batch, err error) {
	files, err := g.tree.list(false)
	if err != nil {
		return fresh, err
	}
	seen := &g.source.seen
	for _, d := range files {
		if seen.isNew(g.source.key(d.uri()), d.mtime) {
			fresh.add(d.size, d.mtime)
		}
	}
	return fresh, nil
}
