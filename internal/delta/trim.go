package delta

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// TrimLog removes the files of the log that nobody needs who reads the table as it has
// been since a time: all before the newest checkpoint that is older than that. It says
// how many it was. The oldest go first, so that a crash leaves no gap (D5).
func (t Table) TrimLog(before time.Time) (int, error) {
	infos, err := t.FS.List(t.logPath(""))
	if err != nil {
		return 0, fmt.Errorf("trim the log of %s: %w", t.Dir, err)
	}
	from := int64(-1)
	for _, i := range infos {
		if f, ok := logFileOf(i.Name); ok && f.checkpoint && f.parts == 1 && i.ModTime.Before(before) {
			from = max(from, f.version)
		}
	}
	removed := 0
	for _, i := range infos { // in the order of versions, which their names begin with
		f, ok := logFileOf(i.Name)
		if !ok || f.version >= from {
			continue
		}
		if err := t.FS.Remove(t.logPath(i.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("trim the log of %s: %w", t.Dir, err)
		}
		removed++
	}
	return removed, nil
}
