package stream

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"sync"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/vfs"
)

// A small batch costs what its logs cost, and those cost their syncs. Naively
// there are six of them, one after the other: the bytes and then the name of
// sources/0/N, of offsets/N, of commits/N. Two can be saved.
//
// A name in a source's own log need not be durable before offsets/N, which
// alone refers to it, has one too: its directory is synced when the bytes of
// offsets/N were. A journalling file system writes both with one commit.
//
// And what commits/N says is known before the batch runs where no watermark can
// move. Its bytes are then written beside those of offsets/N, and only its name
// waits for the sink.

// advanceLogs makes offsets/N durable, and with it what sources logged.
func (r *run) advanceLogs(data []byte) error {
	ahead := r.prepareCommit()
	offsets, err := r.offsets.prepare(r.batch, data)
	commit := <-ahead
	r.committal = commit.entry
	if err == nil {
		if err = r.sourceLogs.settle(); err != nil {
			err = errors.Join(err, offsets.file.Discard())
		} else {
			err = offsets.publish()
		}
	}
	if err != nil {
		return logWriteError("OFFSET_LOG", r.batch, r.config.Checkpoint, err)
	}
	if commit.err != nil {
		return logWriteError("COMMIT_LOG", r.batch, r.config.Checkpoint, commit.err)
	}
	return nil
}

// preparation is what came of preparing commits/N; without an entry and an error
// that was not tried.
type preparation struct {
	entry *logEntry
	err   error
}

// prepareCommit prepares commits/N on the side if what it says is known.
func (r *run) prepareCommit() <-chan preparation {
	done := make(chan preparation, 1)
	if len(r.marks) > 0 {
		done <- preparation{}
		return done
	}
	id, data := r.batch, commitEntry{r.watermark.ms}.encode()
	go func() {
		entry, err := r.commits.prepare(id, data)
		if err != nil {
			entry = nil
		}
		done <- preparation{entry, err}
	}()
	return done
}

// logCommit makes commits/N durable.
func (r *run) logCommit() error {
	entry := r.committal
	r.committal = nil
	var err error
	if entry == nil {
		entry, err = r.commits.prepare(r.batch, commitEntry{r.watermark.ms}.encode())
	}
	if err == nil {
		err = entry.publish()
	}
	if err != nil {
		return logWriteError("COMMIT_LOG", r.batch, r.config.Checkpoint, err)
	}
	return nil
}

// dropCommittal removes what was prepared for a batch that did not end.
func (r *run) dropCommittal() {
	if r.committal == nil {
		return
	}
	if err := r.committal.file.Discard(); err != nil {
		r.log.Warn("a temporary file stays until the next start", "err", err)
	}
	r.committal = nil
}

// lateDirs is a file system that syncs directories late, all at once and before
// it removes anything. From the start it owes those that an earlier run, which
// may have ended at any point, left behind.
type lateDirs struct {
	vfs.FS
	mu   sync.Mutex
	owed []string
}

// logDirs are the directories in which n sources of a checkpoint keep names.
func logDirs(checkpoint connector.Place, n int) []string {
	sources := below(checkpoint, sourcesName)
	dirs := []string{checkpoint.Dir, sources.Dir}
	for i := range n {
		dirs = append(dirs, below(sources, strconv.Itoa(i)).Dir)
	}
	return dirs
}

// SyncDir notes the directory for settle.
func (l *lateDirs) SyncDir(dir string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.owed, dir) {
		l.owed = append(l.owed, dir)
	}
	return nil
}

// Remove removes a file once the names that may stand for it are durable.
func (l *lateDirs) Remove(name string) error {
	if err := l.settle(); err != nil {
		return err
	}
	return l.FS.Remove(name)
}

// settle makes every name durable that was given so far.
func (l *lateDirs) settle() error {
	l.mu.Lock()
	owed := l.owed
	l.owed = nil
	l.mu.Unlock()
	for i, dir := range owed {
		if err := l.FS.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.mu.Lock()
			l.owed = append(l.owed, owed[i:]...)
			l.mu.Unlock()
			return err
		}
	}
	return nil
}
