package delta

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/vfs"
)

const (
	logDir         = "_delta_log"
	lastCheckpoint = "_last_checkpoint"
)

// Table is where a Delta table is.
type Table struct {
	FS  vfs.FS
	Dir string
}

func (t Table) logPath(name string) string { return path.Join(t.Dir, logDir, name) }

func commitName(version int64) string { return fmt.Sprintf("%020d.json", version) }

// Exists reports whether there is a Delta table, by a look for its log.
func (t Table) Exists() (bool, error) {
	infos, err := t.FS.List(t.logPath(""))
	if vfs.NotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("list log of %s: %w", t.Dir, err)
	}
	return slices.ContainsFunc(infos, func(i vfs.Info) bool { _, ok := logFileOf(i.Name); return ok }), nil
}

// Encloses reports whether the directory is a Delta table or lies in one, as a
// folder of a partition does. A log is no part of its table.
func (t Table) Encloses() (bool, error) {
	if slices.Contains(strings.Split(t.Dir, "/"), logDir) {
		return false, nil
	}
	for dir := path.Clean(t.Dir); ; dir = path.Dir(dir) {
		there, err := Table{FS: t.FS, Dir: dir}.Exists()
		if there || err != nil || dir == path.Dir(dir) {
			return there, err
		}
	}
}

// logFile is what the name of a file in the log says.
type logFile struct {
	version    int64
	name       string
	checkpoint bool
	part       int // of a checkpoint in several files, from 1
	parts      int // 0 for a commit, 1 for a checkpoint in one file
}

// logFileOf reads names of commits and of checkpoints, those with an id in their
// name too; others are not needed to read the table.
func logFileOf(name string) (logFile, bool) {
	cells := strings.Split(name, ".")
	version, err := strconv.ParseInt(cells[0], 10, 64)
	if err != nil || len(cells[0]) < 20 || version < 0 {
		return logFile{}, false
	}
	f := logFile{version: version, name: name}
	switch {
	case len(cells) == 2 && cells[1] == "json":
		return f, true
	case len(cells) == 3 && cells[1] == "checkpoint" && cells[2] == "parquet":
		f.checkpoint, f.part, f.parts = true, 1, 1
		return f, true
	case len(cells) == 4 && cells[1] == "checkpoint" && (cells[3] == "parquet" || cells[3] == "json"):
		f.checkpoint, f.part, f.parts = true, 1, 1
		return f, uuid.Validate(cells[2]) == nil
	case len(cells) == 5 && cells[1] == "checkpoint" && cells[4] == "parquet":
		f.checkpoint = true
		var errs [2]error
		f.part, errs[0] = strconv.Atoi(cells[2])
		f.parts, errs[1] = strconv.Atoi(cells[3])
		return f, errors.Join(errs[:]...) == nil && f.part >= 1 && f.part <= f.parts
	}
	return f, false
}

// segment is the part of the log that makes a version: a checkpoint, if there
// is one, and the commits behind it.
type segment struct {
	checkpoint []string // the files of it, nil without one
	from       int64    // the checkpoint's version, -1 without one
	to         int64
}

// segment lists the log and finds what the newest version is made of.
func (t Table) segment() (segment, error) { return t.segmentUpTo(math.MaxInt64, nil) }

// segmentUpTo is segment of the newest version up to one, without the checkpoints of
// some versions.
func (t Table) segmentUpTo(version int64, without map[int64]bool) (segment, error) {
	infos, err := t.FS.List(t.logPath(""))
	if vfs.NotFound(err) {
		return segment{}, notATable(t.Dir)
	}
	if err != nil {
		return segment{}, fmt.Errorf("list log of %s: %w", t.Dir, err)
	}
	later := false
	var commits []int64
	checkpoints := map[int64][]logFile{}
	for _, info := range infos {
		switch f, ok := logFileOf(info.Name); {
		case !ok:
		case f.version > version:
			later = true
		case f.checkpoint && without[f.version]:
		case f.checkpoint:
			checkpoints[f.version] = append(checkpoints[f.version], f)
		default:
			commits = append(commits, f.version)
		}
	}
	if len(commits) == 0 && len(checkpoints) == 0 {
		if later {
			return segment{from: -1, to: -1}, nil
		}
		return segment{}, notATable(t.Dir)
	}
	slices.Sort(commits)
	s := segment{from: -1}
	for version, files := range checkpoints {
		if names := wholeCheckpoint(files); names != nil && version > s.from {
			s.from, s.checkpoint = version, names
		}
	}
	return s, s.follow(t, commits)
}

// wholeCheckpoint are the files of a checkpoint, nil when some are missing.
func wholeCheckpoint(files []logFile) []string {
	byParts := map[int][]logFile{}
	for _, f := range files {
		byParts[f.parts] = append(byParts[f.parts], f)
	}
	for parts, files := range byParts {
		if parts == 1 {
			return []string{files[0].name} // any one of them says it all
		}
		if len(files) != parts {
			continue
		}
		slices.SortFunc(files, func(a, b logFile) int { return a.part - b.part })
		names := make([]string, parts)
		for i, f := range files {
			names[i] = f.name
		}
		return names
	}
	return nil
}

// follow finds the newest version and refuses a log with a gap.
func (s *segment) follow(t Table, commits []int64) error {
	s.to = s.from
	for _, version := range commits {
		switch {
		case version <= s.from:
		case version == s.to+1:
			s.to = version
		case s.to < 0:
			return newError(classState, "DELTA_TRUNCATED_TRANSACTION_LOG",
				fmt.Sprintf("The log of %s begins with version %d and has no checkpoint to begin with; "+
					"earlier files were removed.", t.Dir, version),
				"path", t.logPath(""), "version", strconv.FormatInt(commits[len(commits)-1], 10),
				"logRetentionKey", "delta.logRetentionDuration", "checkpointRetentionKey",
				"delta.checkpointRetentionDuration")
		default:
			return newError(classState, "DELTA_VERSIONS_NOT_CONTIGUOUS",
				fmt.Sprintf("The log of %s lacks version %d, though it has version %d.", t.Dir, s.to+1, version),
				"versionList", fmt.Sprintf("(%d, %d)", s.to, version),
				"startVersion", strconv.FormatInt(s.to, 10), "endVersion", strconv.FormatInt(version, 10),
				"versionToLoad", "-1")
		}
	}
	return nil
}

// readCommit is the actions of a version; a missing one is fs.ErrNotExist.
func (t Table) readCommit(version int64) ([]readAction, error) {
	name := t.logPath(commitName(version))
	data, err := vfs.ReadFile(t.FS, name)
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	return parseCommit(name, data)
}

// eachAction reads a commit action by action, however long it is.
func (t Table) eachAction(version int64, take func(*readAction)) error {
	name := t.logPath(commitName(version))
	file, err := t.FS.Open(name)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer file.Close()
	return eachAction(name, file, take)
}

// checkpointHint is the content of _last_checkpoint.
type checkpointHint struct {
	Version       int64 `json:"version"`
	Size          int64 `json:"size"`
	SizeInBytes   int64 `json:"sizeInBytes,omitempty"`
	NumOfAddFiles int64 `json:"numOfAddFiles,omitempty"`
}

// hinted is the version of the newest checkpoint as _last_checkpoint has it, -1
// when that file is missing or not to be understood: it is only a hint.
func (t Table) hinted() (int64, error) {
	data, err := vfs.ReadFile(t.FS, t.logPath(lastCheckpoint))
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("read log: %w", err)
	}
	h := checkpointHint{Version: -1}
	if json.Unmarshal(data, &h) != nil {
		return -1, nil
	}
	return h.Version, nil
}

// Drop removes the table with everything in its directory.
func (t Table) Drop() error {
	if err := t.FS.RemoveAll(t.Dir); err != nil {
		return fmt.Errorf("drop %s: %w", t.Dir, err)
	}
	return t.FS.SyncDir(path.Dir(t.Dir))
}
