package file

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// compactLog is the log in which Spark's file sources and file sinks write down
// the files of each batch, one JSON object a line. Every interval-th batch is
// written to N.compact together with all that came before it.
type compactLog struct {
	place    connector.Place
	interval int64
	delayMs  int64 // how old a file must be to be removed
	retain   int64 // how many batches stay in any case
	delete   bool
	now      func() time.Time
	latest   int64 // the newest batch, -1 for none
	// files are the log's files that exist, oldest batch first: a long log is
	// not listed again for every batch.
	files []logFile
	// owner is the batch that a line belongs to; nil where lines do not say.
	owner func(line string) (int64, *plan.Error)
	// squeeze drops lines that a compaction need not keep; nil keeps all.
	squeeze func(lines []string) ([]string, error)
}

const compactSuffix = ".compact"

// logFile is a file of a log.
type logFile struct {
	batch   int64
	name    string
	mtimeMs int64
}

// compactBatch is the batch id of a log file's name.
func compactBatch(name string) (id int64, compact, ok bool) {
	digits, compact := strings.CutSuffix(name, compactSuffix)
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, compact, err == nil && id >= 0 && strconv.FormatInt(id, 10) == digits
}

// openCompactLog opens a log, kind being source or sink. A log that is
// only read is not cleaned and may be missing.
func openCompactLog(env *connector.Env, place connector.Place, kind string) (*compactLog, error) {
	conf := "spark.sql.streaming." + kind + ".log."
	l := &compactLog{
		place:   place,
		delayMs: connector.ConfMillis(env, conf+"cleanupDelay", 10*60*1000),
		delete:  connector.ConfBool(env, conf+"deletion", true),
		retain:  connector.ConfInt(env, "spark.sql.streaming.minBatchesToRetain", 100),
		now:     env.Now,
	}
	return l, l.refresh(connector.ConfInt(env, conf+"compactInterval", 10))
}

// refresh lists the log and finds its interval: that of the compactions it has,
// else usual.
func (l *compactLog) refresh(usual int64) error {
	infos, err := l.place.FS.List(l.place.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list %s: %w", l.place.Dir, err)
	}
	l.latest, l.files = -1, nil
	var compacted []int64
	for _, info := range infos {
		id, compact, ok := compactBatch(info.Name)
		if !ok {
			continue
		}
		l.latest = max(l.latest, id)
		l.files = append(l.files, logFile{id, info.Name, info.ModTime.UnixMilli()})
		if compact {
			compacted = append(compacted, id)
		}
	}
	slices.SortFunc(l.files, func(a, b logFile) int { return cmp.Compare(a.batch, b.batch) })
	slices.Sort(compacted)
	switch n := len(compacted); n {
	case 0:
		l.interval = max(1, usual)
	case 1:
		l.interval = deriveInterval(max(1, usual), compacted[0]+1)
	default:
		l.interval = compacted[n-1] - compacted[n-2]
	}
	return nil
}

// deriveInterval is the interval of a log with one compaction, of so many
// batches, whose own interval is not known: the usual one must go into them.
// Spark's rule prefers all of them to just two halves.
func deriveInterval(usual, batches int64) int64 {
	if usual < batches/2 {
		for d := usual; d <= batches/2; d++ {
			if batches%d == 0 {
				return d
			}
		}
	}
	return batches
}

func (l *compactLog) compacts(id int64) bool { return (id+1)%l.interval == 0 }

func (l *compactLog) path(id int64) string {
	name := strconv.FormatInt(id, 10)
	if l.compacts(id) {
		name += compactSuffix
	}
	return path.Join(l.place.Dir, name)
}

// read is the lines of one batch's file.
func (l *compactLog) read(id int64) ([]string, error) {
	return connector.ReadLog(l.place.FS, l.path(id))
}

// upTo is the lines of all batches up to one: those since the last compaction,
// which holds the others.
func (l *compactLog) upTo(id int64) ([]string, error) {
	var all []string
	for b := max(0, (id+1)/l.interval*l.interval-1); b <= id; b++ {
		lines, err := l.read(b)
		if err != nil {
			return nil, err
		}
		if err := l.own(b, lines); err != nil {
			return nil, err
		}
		all = append(all, lines...)
	}
	return all, nil
}

// own makes sure that lines in the file of a batch are that batch's, or those of
// batches before it in a compaction: a file may have been put in another's place.
func (l *compactLog) own(id int64, lines []string) error {
	if l.owner == nil {
		return nil
	}
	for _, line := range lines {
		batch, err := l.owner(line)
		if err == nil && (batch > id || batch != id && !l.compacts(id)) {
			err = connector.IllegalState("an entry of batch %d stands in the file of batch %d", batch, id)
		}
		if err != nil {
			return connector.UnreadableLog(l.path(id), err)
		}
	}
	return nil
}

// all is the lines of every batch. The writer may compact and clean meanwhile;
// then reading starts again, a few times.
func (l *compactLog) all(usual int64) ([]string, error) {
	const attempts = 10
	for n := 1; ; n++ {
		if l.latest < 0 {
			return nil, nil
		}
		before := l.latest
		lines, err := l.upTo(before)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || n == attempts {
			return lines, err
		}
		if err := l.refresh(usual); err != nil {
			return nil, err
		}
		if l.latest == before {
			return nil, err
		}
	}
}

// add writes the lines of the next batch. That its file exists already is an
// error that is fs.ErrExist.
func (l *compactLog) add(id int64, lines []string) error {
	if l.compacts(id) && id > 0 {
		before, err := l.upTo(id - 1)
		if err != nil {
			return fmt.Errorf("compact log: %w", err)
		}
		lines = append(before, lines...)
		if l.squeeze != nil {
			if lines, err = l.squeeze(lines); err != nil {
				return fmt.Errorf("compact log: %w", err)
			}
		}
	}
	name := l.path(id)
	if err := connector.WriteLog(l.place.FS, name, lines); err != nil {
		return err
	}
	l.latest = id
	l.files = append(l.files, logFile{id, path.Base(name), l.now().UnixMilli()})
	return l.expire(id)
}

// begin makes an empty log that goes on behind a batch: with a compaction that holds nothing.
func (l *compactLog) begin(behind int64) error {
	for id := max(0, (behind+1)/l.interval*l.interval-1); id <= behind; id++ {
		if err := connector.WriteLog(l.place.FS, l.path(id), nil); err != nil {
			return err
		}
		l.latest = id
		l.files = append(l.files, logFile{id, path.Base(l.path(id)), l.now().UnixMilli()})
	}
	return nil
}

// expire removes files that later compactions have made superfluous.
func (l *compactLog) expire(id int64) error {
	if !l.delete || l.interval > id+1 || l.retain > id {
		return nil
	}
	first := id + 1 - l.retain
	keep := first - first%l.interval - 1
	if keep < 0 {
		return nil
	}
	old := l.now().UnixMilli() - l.delayMs
	for len(l.files) > 0 && l.files[0].batch < keep && l.files[0].mtimeMs <= old {
		if err := vfs.RemoveFile(l.place.FS, path.Join(l.place.Dir, l.files[0].name)); err != nil {
			return fmt.Errorf("clean log: %w", err)
		}
		l.files = l.files[1:]
	}
	return nil
}
