package stream

import "github.com/weir-dev/weir/internal/vfs"

// These are the points of a batch at which Options.Crash is called, in order.
// The numbers are those of the fault matrix; the ones left out lie in the rooms
// of state, sinks and sources.
const (
	StepStart         = "S0"  // before the metadata file
	StepMetadataTemp  = "S1"  // its temporary file is synced
	StepAdmitted      = "S2"  // the batch's ranges are known
	StepOffsetsTemp   = "S3"  // offsets/N is in a temporary file
	StepOffsetsSynced = "S4"  // which is synced
	StepOffsetsNamed  = "S5"  // and has its name
	StepOffsetsDone   = "S6"  // which is durable
	StepSourceRead    = "S7"  // the first rows came from a source
	StepOperatorDone  = "S8"  // the first rows came out of the plan
	StepSinkDone      = "S14" // the sink has the batch, commits/N is missing
	StepCommitted     = "S15" // commits/N is durable
	StepPurging       = "S16" // offsets are purged, commits are not
	StepProgress      = "S19" // the batch is done, no listener knows
	StepStopping      = "S20" // a stop interrupted the query
	StepAdvancing     = "S22" // offsets/N is durable, sources know nothing
)

// steppedFS calls a step when a file is written, synced, named, made durable.
type steppedFS struct {
	vfs.FS
	crash                           func(step string)
	written, synced, named, durable string
}

func (s steppedFS) at(step string) {
	if step != "" {
		s.crash(step)
	}
}

// CreateNew makes the temporary file of vfs.WriteNew.
func (s steppedFS) CreateNew(name string) (vfs.Writer, error) {
	w, err := s.FS.CreateNew(name)
	if err != nil {
		return nil, err
	}
	return steppedWriter{w, s}, nil
}

// RenameNew gives the file its name.
func (s steppedFS) RenameNew(from, to string) error {
	err := s.FS.RenameNew(from, to)
	if err == nil {
		s.at(s.named)
	}
	return err
}

// SyncDir makes the name durable.
func (s steppedFS) SyncDir(dir string) error {
	err := s.FS.SyncDir(dir)
	if err == nil {
		s.at(s.durable)
	}
	return err
}

type steppedWriter struct {
	vfs.Writer
	fs steppedFS
}

// Write writes the file's bytes, all at once.
func (w steppedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err == nil {
		w.fs.at(w.fs.written)
	}
	return n, err
}

// Sync makes the bytes durable.
func (w steppedWriter) Sync() error {
	err := w.Writer.Sync()
	if err == nil {
		w.fs.at(w.fs.synced)
	}
	return err
}
