package stream

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// batchLog is a directory of small files named by batch id, offsets or
// commits, as Spark keeps them. Its one writer is the run that owns the
// checkpoint; a second one meets a file that exists already.
type batchLog struct {
	place connector.Place
	ids   []int64 // of the files that exist, ascending
}

// openBatchLog lists a log, making its directory, and clears away what a
// crashed writer left. A writer that is still alive loses its unfinished file
// by that and fails, which is right: the later run wins.
func openBatchLog(place connector.Place) (*batchLog, error) {
	if err := vfs.MkdirDurable(place.FS, place.Dir); err != nil {
		return nil, err
	}
	if _, err := vfs.CleanTemps(place.FS, place.Dir); err != nil {
		return nil, fmt.Errorf("clean %s: %w", place.Dir, err)
	}
	ids, err := connector.BatchIDs(place)
	if err != nil {
		return nil, err
	}
	l := &batchLog{place: place, ids: ids}
	return l, l.dropOrphanChecksums()
}

// dropOrphanChecksums removes checksums of files that are gone: a new file of
// the name would not fit them.
func (l *batchLog) dropOrphanChecksums() error {
	infos, err := l.place.FS.List(l.place.Dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", l.place.Dir, err)
	}
	for _, info := range infos {
		name, isSum := strings.CutSuffix(info.Name, ".crc")
		id, ok := connector.BatchID(strings.TrimPrefix(name, "."))
		if !isSum || !ok {
			continue
		}
		if _, found := slices.BinarySearch(l.ids, id); found {
			continue
		}
		if err := vfs.RemoveChecksum(l.place.FS, l.path(id)); err != nil {
			return fmt.Errorf("clean %s: %w", l.place.Dir, err)
		}
	}
	return nil
}

func (l *batchLog) path(id int64) string {
	return path.Join(l.place.Dir, strconv.FormatInt(id, 10))
}

// latest is the newest batch id, -1 when there is none.
func (l *batchLog) latest() int64 {
	if len(l.ids) == 0 {
		return -1
	}
	return l.ids[len(l.ids)-1]
}

func (l *batchLog) has(id int64) bool {
	_, ok := slices.BinarySearch(l.ids, id)
	return ok
}

// read returns the bytes of a batch's file, checked against its checksum.
func (l *batchLog) read(id int64) ([]byte, error) {
	return connector.ReadChecked(l.place.FS, l.path(id))
}

// add makes the file of a batch.
func (l *batchLog) add(id int64, data []byte) error {
	e, err := l.prepare(id, data)
	if err != nil {
		return err
	}
	return e.publish()
}

// logEntry is the file of a batch, whole and durable, that has no name yet.
type logEntry struct {
	log  *batchLog
	id   int64
	data []byte
	file *vfs.Prepared
}

// prepare makes all of a batch's file but its name.
func (l *batchLog) prepare(id int64, data []byte) (*logEntry, error) {
	file, err := vfs.Prepare(l.place.FS, l.path(id), data)
	return &logEntry{l, id, data, file}, err
}

// publish gives the file its name. That the name exists already means that
// another run works on this checkpoint, and so does that the file has gone from its
// directory: a start cleans up what runs before it left.
func (e *logEntry) publish() error {
	err := e.file.Publish()
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := e.log.place.FS.Stat(e.log.place.Dir); there == nil {
			return plan.NewError(plan.ClassSpark, "CONCURRENT_STREAM_LOG_UPDATE",
				fmt.Sprintf("another run began on this checkpoint while this one wrote batch %d; "+
					"one checkpoint serves one query at a time.", e.id),
				"batchId", strconv.FormatInt(e.id, 10))
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return plan.NewError(plan.ClassSpark, "CONCURRENT_STREAM_LOG_UPDATE",
			fmt.Sprintf("another run wrote batch %d of this checkpoint; "+
				"one checkpoint serves one query at a time.", e.id),
			"batchId", strconv.FormatInt(e.id, 10))
	}
	if err != nil {
		return err
	}
	e.log.ids = append(e.log.ids, e.id)
	return connector.WriteChecksum(e.log.place.FS, e.log.path(e.id), e.data)
}

// expired takes the batches before keep off the log and returns their files,
// which the caller removes. A crash may leave some of them; the next run finds
// them again.
func (l *batchLog) expired(keep int64) []string {
	var files []string
	for len(l.ids) > 0 && l.ids[0] < keep {
		files = append(files, l.path(l.ids[0]))
		l.ids = l.ids[1:]
	}
	return files
}

// remove removes files of the log.
func (l *batchLog) remove(files []string) error {
	for _, file := range files {
		if err := vfs.RemoveFile(l.place.FS, file); err != nil {
			return fmt.Errorf("purge %s: %w", l.place.Dir, err)
		}
	}
	return nil
}
