package stream

import (
	"path"
	"strings"

	"github.com/weir-dev/weir/internal/vfs"
)

// These are the points of a batch at which Options.Crash is called, in order.
// The numbers are those of the fault matrix; S18, in the user's function of
// foreachBatch, is the function's own to make.
const (
	StepStart         = "S0"  // before the metadata file
	StepMetadataTemp  = "S1"  // its temporary file is synced
	StepAdmitted      = "S2"  // the batch's ranges are known
	StepOffsetsTemp   = "S3"  // offsets/N is in a temporary file
	StepOffsetsSynced = "S4"  // which is synced
	StepOffsetsNamed  = "S5"  // and has its name
	StepOffsetsDone   = "S6"  // which is durable
	StepAdvancing     = "S22" // offsets/N is durable, sources know nothing
	StepSourceRead    = "S7"  // the first rows came from a source
	StepOperatorDone  = "S8"  // the first rows came out of the plan
	StepStateSome     = "S9"  // the state of one operator is durable
	StepStateDone     = "S10" // the state of all operators is durable, the sink does not know
	StepSinkHalf      = "S11" // half of a data file of the sink is written
	StepSinkWhole     = "S12" // the data files are whole, the sink's log is not begun
	StepSinkLogged    = "S13" // the entry of the sink's log is synced under a temporary name
	StepSinkDone      = "S14" // the sink has the batch, commits/N is missing
	StepCommitted     = "S15" // commits/N is durable
	StepPurging       = "S16" // offsets are purged, commits are not
	StepSnapshotHalf  = "S17" // half of a snapshot of the state is written
	StepProgress      = "S19" // the batch is done, no listener knows
	StepStopping      = "S20" // a stop interrupted the query
)

// fileSteps are the steps in the life of one file, "" for none.
type fileSteps struct {
	begun, half, written, synced, named string
	durable                             string // of the directory's sync
}

// steppedFS calls a step when a file is begun, written, synced, named, made
// durable.
type steppedFS struct {
	vfs.FS
	crash func(step string)
	steps func(file string) fileSteps
}

// WithSinkSteps calls crash at the steps that lie in the files of sinks: those
// of data and those of the logs that say which data counts.
func WithSinkSteps(fsys vfs.FS, crash func(step string)) vfs.FS {
	return steppedFS{FS: fsys, crash: crash, steps: sinkSteps}
}

func sinkSteps(file string) fileSteps {
	dir, name := path.Split(file)
	switch path.Base(dir) {
	case "_spark_metadata", "_delta_log":
		return fileSteps{begun: StepSinkWhole, synced: StepSinkLogged}
	}
	if strings.HasPrefix(strings.TrimPrefix(name, "."), "part-") {
		return fileSteps{half: StepSinkHalf}
	}
	return fileSteps{}
}

func snapshotSteps(file string) fileSteps {
	if strings.Contains(path.Base(file), ".snapshot") {
		return fileSteps{half: StepSnapshotHalf}
	}
	return fileSteps{}
}

// all gives every file the same steps.
func (s fileSteps) all(string) fileSteps { return s }

func (s steppedFS) at(step string) {
	if step != "" {
		s.crash(step)
	}
}

// CreateNew makes the temporary file of vfs.WriteNew.
func (s steppedFS) CreateNew(name string) (vfs.Writer, error) {
	steps := s.steps(name)
	w, err := s.FS.CreateNew(name)
	if err != nil {
		return nil, err
	}
	s.at(steps.begun)
	return steppedWriter{w, s, steps}, nil
}

// RenameNew gives the file its name.
func (s steppedFS) RenameNew(from, to string) error {
	err := s.FS.RenameNew(from, to)
	if err == nil {
		s.at(s.steps(to).named)
	}
	return err
}

// SyncDir makes the name durable.
func (s steppedFS) SyncDir(dir string) error {
	err := s.FS.SyncDir(dir)
	if err == nil {
		s.at(s.steps(dir).durable)
	}
	return err
}

type steppedWriter struct {
	vfs.Writer
	fs    steppedFS
	steps fileSteps
}

// Write writes the file's bytes.
func (w steppedWriter) Write(p []byte) (int, error) {
	first := 0
	if w.steps.half != "" {
		n, err := w.Writer.Write(p[:len(p)/2])
		if err != nil {
			return n, err
		}
		first = n
		w.fs.at(w.steps.half)
	}
	n, err := w.Writer.Write(p[first:])
	if err == nil {
		w.fs.at(w.steps.written)
	}
	return first + n, err
}

// Sync makes the bytes durable.
func (w steppedWriter) Sync() error {
	err := w.Writer.Sync()
	if err == nil {
		w.fs.at(w.steps.synced)
	}
	return err
}
