package connector

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// LogVersion is the first line of the log files that Spark's sources and sinks
// keep, and the newest one known here.
const LogVersion = 1

func IllegalState(format string, args ...any) *plan.Error {
	return &plan.Error{Class: plan.ClassJavaState, Msg: fmt.Sprintf(format, args...)}
}

// UnreadableLog says which log file cannot be read and why.
func UnreadableLog(name string, why *plan.Error) *plan.Error {
	e := IllegalState("Failed to read log file file:%s. %s", name, why.Error())
	e.Cause = why
	return e
}

// ReadLog returns the lines below the version line of a log file. A missing
// file is an error that is fs.ErrNotExist.
func ReadLog(fsys vfs.FS, name string) ([]string, error) {
	data, err := ReadChecked(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", name, err)
	}
	if len(data) == 0 {
		return nil, UnreadableLog(name, IllegalState("Incomplete log file"))
	}
	return LogLines(name, string(data))
}

// LogLines checks the version line of a log and returns the lines below it.
func LogLines(name, text string) ([]string, error) {
	head, body, more := strings.Cut(text, "\n")
	version, err := strconv.Atoi(strings.TrimPrefix(head, "v"))
	if !strings.HasPrefix(head, "v") || err != nil || version < 1 {
		return nil, UnreadableLog(name, plan.NewError(plan.ClassJavaState, "MALFORMED_LOG_FILE",
			fmt.Sprintf("the log begins with %.40q where its version should stand.", head), "text", head))
	}
	if version > LogVersion {
		newest := fmt.Sprintf("v%d", LogVersion)
		return nil, UnreadableLog(name, plan.NewError(plan.ClassJavaState,
			"INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION",
			fmt.Sprintf("the log has version %s, and %s is the newest that is known.", head, newest),
			"maxSupportedVersion", newest, "version", head))
	}
	if !more {
		return nil, nil
	}
	return strings.Split(body, "\n"), nil
}

// WriteLog makes a log file, durable and whole; one that exists already is an
// error that is fs.ErrExist.
func WriteLog(fsys vfs.FS, name string, lines []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "v%d", LogVersion)
	for _, line := range lines {
		b.WriteByte('\n')
		b.WriteString(line)
	}
	if err := vfs.RemoveChecksum(fsys, name); err != nil {
		return fmt.Errorf("write log %s: %w", name, err)
	}
	data := []byte(b.String())
	if err := vfs.WriteNew(fsys, name, data); err != nil {
		return err
	}
	return WriteChecksum(fsys, name, data)
}

// RememberOnce returns what batch 0 of a source's log holds, having written
// fresh there when there was nothing yet.
func RememberOnce(log Place, fresh string) (string, error) {
	name := path.Join(log.Dir, "0")
	lines, err := ReadLog(log.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := vfs.MkdirDurable(log.FS, log.Dir); err != nil {
			return "", err
		}
		return fresh, WriteLog(log.FS, name, []string{fresh})
	}
	if err != nil {
		return "", err
	}
	return strings.Join(lines, "\n"), nil
}
