package connector

import (
	"context"
	"sync"
	"time"
)

// fileGauge counts the files that no committed batch has had.
type fileGauge struct {
	source *fileSource
	tree   *fileTree

	mu     sync.Mutex
	flying []fileBatch // admitted and not known to be committed, oldest first
	read   fileBatch   // the sum of those that were committed
}

// fileBatch sums up the files of a batch.
type fileBatch struct {
	id           int64
	files, bytes float64
	oldestMs     int64 // 0 for none
}

func (b *fileBatch) add(size, mtime int64) {
	b.files++
	b.bytes += float64(size)
	if b.oldestMs == 0 || mtime < b.oldestMs {
		b.oldestMs = mtime
	}
}

func (b *fileBatch) plus(other fileBatch) {
	b.files += other.files
	b.bytes += other.bytes
	if b.oldestMs == 0 || other.oldestMs != 0 && other.oldestMs < b.oldestMs {
		b.oldestMs = other.oldestMs
	}
}

// Gauge lists by itself, for between batches the source does not.
func (f *fileSource) Gauge() Gauge {
	tree := *f.tree
	f.gauge = &fileGauge{source: f, tree: &tree}
	return f.gauge
}

// admitted is told of a batch before its files count as seen, so that no file is
// in neither.
func (g *fileGauge) admitted(id int64, files []dataFile) {
	b := fileBatch{id: id}
	for _, d := range files {
		b.add(d.size, d.mtime)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flying = append(g.flying, b)
}

// settle moves what was committed from flying to read, and sums up the rest.
func (g *fileGauge) settle(committed int64) (waits fileBatch, read fileBatch) {
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

func (g *fileGauge) Backlog(_ context.Context, committed Offset) (Backlog, error) {
	b := unmeasured()
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
func (g *fileGauge) list() (fresh fileBatch, err error) {
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
