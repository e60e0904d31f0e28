package delta

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// Changes is what one commit did to the rows of a table.
type Changes struct {
	Version  int64
	Added    []*Add    // in the order of the commit
	Removed  *Remove   // one of those that were, nil when none was
	Gone     []string  // the paths of all files that were removed, rearranged ones too
	Metadata *Metadata // nil when it stayed
	Protocol *Protocol // likewise
	// Operation is what made the commit, as people are told: WRITE (Map(mode ->
	// "Overwrite")).
	Operation string
}

// ChangesOf reads a commit. A missing one is fs.ErrNotExist.
func (t Table) ChangesOf(version int64) (*Changes, error) {
	actions, err := t.readCommit(version)
	if err != nil {
		return nil, err
	}
	c := &Changes{Version: version}
	for _, a := range actions {
		switch {
		case a.Metadata != nil:
			c.Metadata = a.Metadata
		case a.Protocol != nil:
			c.Protocol = a.Protocol
		case a.Add != nil && a.Add.DataChange:
			c.Added = append(c.Added, a.Add)
		case a.Remove != nil:
			c.Gone = append(c.Gone, a.Remove.Path)
			if a.Remove.DataChange && c.Removed == nil {
				c.Removed = a.Remove
			}
		case a.Info != nil:
			c.Operation = a.Info.text()
		}
	}
	return c, nil
}

// readInfo is what is read of a commitInfo.
type readInfo struct {
	Operation  string          `json:"operation"`
	Parameters json.RawMessage `json:"operationParameters"`
	// InCommitTimestamp is when the commit was made, in ms since 1970, in tables that
	// keep it.
	InCommitTimestamp *int64 `json:"inCommitTimestamp"`
	raw               []byte
}

// UnmarshalJSON keeps the text as well, for history and conflicts.
func (i *readInfo) UnmarshalJSON(data []byte) error {
	type plain readInfo
	i.raw = slices.Clone(data)
	return json.Unmarshal(data, (*plain)(i))
}

// shown is the commit as conflicts show it.
func (i *readInfo) shown() string {
	if len(i.raw) == 0 {
		return ""
	}
	return "\nConflicting commit: " + string(i.raw)
}

// text is the operation with its parameters as Delta shows them: each as JSON.
func (i *readInfo) text() string {
	var b strings.Builder
	b.WriteString(i.Operation + " (Map(")
	in := json.NewDecoder(strings.NewReader(string(i.Parameters)))
	for first := true; ; first = false {
		key, err := in.Token()
		if first && err == nil {
			key, err = in.Token() // behind the opening brace
		}
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || in.Decode(&value) != nil {
			break
		}
		if !first {
			b.WriteString(", ")
		}
		b.WriteString(name + " -> " + string(value))
	}
	b.WriteString("))")
	return b.String()
}

// LoadVersion reads one version of a table.
func (t Table) LoadVersion(ctx context.Context, version int64) (*Snapshot, error) {
	return t.loadVersion(ctx, version, wholeFiles)
}

func (t Table) loadVersion(ctx context.Context, version int64, holds holding) (*Snapshot, error) {
	seg, err := t.segmentUpTo(version, nil)
	if err != nil {
		return nil, err
	}
	if seg.to != version || version < 0 {
		first, last, err := t.Versions()
		if err != nil {
			return nil, err
		}
		return nil, VersionNotFound(version, first, last)
	}
	return t.replayed(ctx, seg, version, holds)
}

// Versions are the first and the last version that can be read.
func (t Table) Versions() (first, last int64, err error) {
	newest, err := t.segment()
	if err != nil {
		return 0, 0, err
	}
	infos, err := t.FS.List(t.logPath(""))
	if err != nil {
		return 0, 0, fmt.Errorf("list log of %s: %w", t.Dir, err)
	}
	first = newest.to
	for _, info := range infos {
		f, ok := logFileOf(info.Name)
		if ok && (f.checkpoint || f.version == 0) {
			first = min(first, f.version)
		}
	}
	return first, newest.to, nil
}

// NoCommit is the error for a version whose commit there is not.
func (t Table) NoCommit(version int64) *plan.Error {
	text := strconv.FormatInt(version, 10)
	return newError(classMissing, "DELTA_LOG_FILE_NOT_FOUND",
		fmt.Sprintf("The log of %s has no version %d.", t.Dir, version),
		"version", text, "checkpointVersion", "-1", "logPath", "file:"+t.logPath(""))
}

// VersionNotFound is the error for a version that there is not, or no longer.
func VersionNotFound(version, first, last int64) *plan.Error {
	return newError(classAnalysis, "DELTA_VERSION_NOT_FOUND",
		fmt.Sprintf("There is no version %d of the table that can be read, there are %d to %d.",
			version, first, last),
		"userVersion", strconv.FormatInt(version, 10), "earliest", strconv.FormatInt(first, 10),
		"latest", strconv.FormatInt(last, 10))
}

// CommittedAt is when a version was committed, by the file of its commit.
func (t Table) CommittedAt(version int64) (time.Time, error) {
	info, err := t.FS.Stat(t.logPath(commitName(version)))
	if err != nil {
		return time.Time{}, fmt.Errorf("read log: %w", err)
	}
	return info.ModTime, nil
}

// Times are when the versions from first on were committed, in milliseconds since
// 1970: what the commit itself says where the table keeps in-commit timestamps, else
// the time of its file, at least a millisecond after that of the one before.
// Versions whose commits are gone have no time.
func (t Table) Times() (first int64, times []int64, err error) {
	seg, err := t.segment()
	if err != nil {
		return 0, nil, err
	}
	return t.timesBetween(0, seg.to)
}

// TimesOf are the times of the versions from one to another.
func (t Table) TimesOf(from, to int64) (map[int64]time.Time, error) {
	first, times, err := t.timesBetween(from, to)
	out := make(map[int64]time.Time, len(times))
	for i, ms := range times {
		out[first+int64(i)] = time.UnixMilli(ms)
	}
	return out, err
}

// timesBetween are the times of the versions from one to another; first is the one
// from which on the commits are there.
func (t Table) timesBetween(from, to int64) (first int64, times []int64, err error) {
	said := true // commits up to here say their time themselves
	for v := to; v >= from; v-- {
		name := t.logPath(commitName(v))
		info, err := t.FS.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return 0, nil, fmt.Errorf("read log: %w", err)
		}
		at := info.ModTime.UnixMilli()
		if said {
			var own int64
			if own, said, err = t.timeInCommit(name); err != nil {
				return 0, nil, err
			}
			if said {
				at = own
			}
		}
		first = v
		times = append(times, at)
	}
	slices.Reverse(times)
	for i := 1; i < len(times); i++ {
		times[i] = max(times[i], times[i-1]+1)
	}
	return first, times, nil
}

// timeInCommit is the in-commit timestamp, which stands in the first line.
func (t Table) timeInCommit(name string) (ms int64, ok bool, err error) {
	file, err := t.FS.Open(name)
	if err != nil {
		return 0, false, fmt.Errorf("read log: %w", err)
	}
	defer file.Close()
	line, err := bufio.NewReader(file).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, false, fmt.Errorf("read log: %w", err)
	}
	var a readAction
	if json.Unmarshal(line, &a) != nil || a.Info == nil || a.Info.InCommitTimestamp == nil {
		return 0, false, nil
	}
	return *a.Info.InCommitTimestamp, true, nil
}
