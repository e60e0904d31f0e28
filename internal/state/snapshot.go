package state

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/weir-dev/weir/internal/vfs"
)

// snapshot is one being written.
type snapshot struct {
	version int64
	done    chan error // gets one value
}

// snapshotIfDue begins a snapshot of the version just committed when the
// changes since the last one have become long.
func (s *Store) snapshotIfDue() error {
	due := s.grown > max(snapshotBytes, s.Payload()) || s.version-s.since >= snapshotVersions
	if !due || s.writing != nil {
		return nil
	}
	return s.snapshot()
}

// snapshot begins to write one in the background. The changes that follow go
// into a file of their own.
func (s *Store) snapshot() error {
	tables := make([]*frozen, len(s.tables))
	for i, t := range s.tables {
		tables[i] = t.rows.freeze()
	}
	s.writing = &snapshot{version: s.version, done: make(chan error, 1)}
	s.since, s.grown = s.version, 0
	if s.file != nil {
		err := s.file.Close()
		s.file = nil
		if err != nil {
			return err
		}
	}
	go func(o Options, version int64, done chan<- error) {
		err := writeSnapshot(o, version, tables)
		if err == nil {
			err = purge(o, version-o.Retain)
		}
		done <- err
	}(s.o, s.version, s.writing.done)
	return nil
}

// reap takes note of a snapshot that is done; with wait, of the one that will
// be.
func (s *Store) reap(wait bool) {
	if s.writing == nil {
		return
	}
	var err error
	if wait {
		err = <-s.writing.done
	} else {
		select {
		case err = <-s.writing.done:
		default:
			return
		}
	}
	if err != nil {
		s.o.Warn(fmt.Sprintf("the state snapshot of version %d was not written", s.writing.version), err)
	}
	s.writing = nil
	for _, t := range s.tables {
		t.rows.thaw()
	}
}

func writeSnapshot(o Options, version int64, tables []*frozen) error {
	name := fileName(o.Dir, version, snapshotSuffix)
	temp := vfs.TempName(name)
	f, err := o.FS.CreateNew(temp)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	err = writeTables(&frames{out: out, version: version}, tables)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = o.FS.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, vfs.RemoveFile(o.FS, temp))
	}
	return o.FS.SyncDir(o.Dir)
}

// readAtOnce is about how many bytes of pages a snapshot copies before it writes them.
const readAtOnce = 1 << 20

func writeTables(w *frames, tables []*frozen) error {
	puts := make([]int32, 0, pageRows)
	for k, f := range tables {
		pages := min(max(readAtOnce/(pageRows*max(f.width, 1)), 1), 64)
		for page := 0; page < len(f.pages); page += pages {
			to := min(page+pages, len(f.pages))
			f.read(to)
			puts = puts[:0]
			for row := page << pageBits; row < min(int(f.next), to<<pageBits); row++ {
				if f.live.has(int32(row)) {
					puts = append(puts, int32(row))
				}
			}
			if err := w.rows(k, &f.rows, puts, nil); err != nil {
				return err
			}
		}
	}
	return w.end()
}

// purge removes the files that no version from floor on needs.
func purge(o Options, floor int64) error {
	f, err := list(o.FS, o.Dir)
	if err != nil {
		return err
	}
	base := int64(-1)
	for _, v := range f.snapshots {
		if v <= floor {
			base = v
		}
	}
	for _, v := range f.snapshots {
		if v >= base {
			break
		}
		if err := vfs.RemoveFile(o.FS, fileName(o.Dir, v, snapshotSuffix)); err != nil {
			return err
		}
	}
	for k, v := range f.changes {
		if k+1 == len(f.changes) || f.changes[k+1] > base {
			break
		}
		if err := vfs.RemoveFile(o.FS, fileName(o.Dir, v, changesSuffix)); err != nil {
			return err
		}
	}
	return nil
}
