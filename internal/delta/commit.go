package delta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Change is what a commit does to a table.
type Change struct {
	Operation string  // as DESCRIBE HISTORY shows it: WRITE, STREAMING UPDATE
	Params    []Param // of the operation
	Metrics   []Param // numRemovedFiles is filled in when it is among them

	Metadata *Metadata // the description of a new table, or its new one
	Protocol *Protocol // of a new table, or its new one
	Txn      *Txn
	Adds     []Add
	// Replace removes every file that the table has.
	Replace bool
	// Dynamic removes the files of the partitions that Adds have.
	Dynamic bool
	Now     time.Time
}

// maxAttempts bounds how often a commit tries the next version.
const maxAttempts = 100

// Commit makes a change the next version of the table and moves the snapshot
// there. done is false when the table had the change's Txn already (D3).
//
// Others may have committed since the snapshot. Appends commute with
// everything but a new description of the table; a replacement removes what is
// there when it commits.
func (s *Snapshot) Commit(ctx context.Context, c Change) (done bool, err error) {
	described := s.Metadata.ID
	for range maxAttempts {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if c.Txn != nil && s.TxnVersion(c.Txn.AppID) >= c.Txn.Version {
			return false, nil
		}
		if err := s.checkChange(&c); err != nil {
			return false, err
		}
		data, err := s.lines(&c)
		if err != nil {
			return false, err
		}
		err = vfs.WriteNew(s.FS, s.logPath(commitName(s.Version+1)), data)
		if err == nil {
			return true, s.committed(ctx, data)
		}
		if !errors.Is(err, fs.ErrExist) {
			return false, fmt.Errorf("commit: %w", err)
		}
		if err := s.catchUp(ctx, &c, described); err != nil {
			return false, err
		}
	}
	return false, newError(
		classConcurrent+"ConcurrentWriteException",
		"DELTA_CONCURRENT_WRITE",
		fmt.Sprintf("Others committed to %s %d times in a row before this change could; try again.", s.Dir,
			maxAttempts),
	)
}

func (s *Snapshot) checkChange(c *Change) error {
	if s.Version < 0 {
		return nil
	}
	if err := s.checkWritable(); err != nil {
		return err
	}
	if (c.Replace || c.Dynamic) && s.property("delta.appendOnly", "false") == "true" {
		return newError(classUnsupported, "DELTA_CANNOT_MODIFY_APPEND_ONLY",
			fmt.Sprintf("The table in %s is for appending only (delta.appendOnly).", s.Dir),
			"table_name", s.Metadata.Name, "config", "delta.appendOnly")
	}
	return nil
}

// catchUp reads what others committed and refuses the change when it cannot
// follow that.
func (s *Snapshot) catchUp(ctx context.Context, c *Change, described string) error {
	was, metadata := s.Protocol, s.Metadata
	var moved bool
	var err error
	if s.Version < 0 {
		var fresh *Snapshot
		if fresh, err = s.Load(ctx); err == nil {
			*s, moved = *fresh, true
		}
	} else {
		moved, err = s.Refresh(ctx)
	}
	switch {
	case err != nil:
		return err
	case !moved:
		return fmt.Errorf("commit: version %d exists and cannot be read", s.Version+1)
	case described == "" || c.Metadata != nil && metadata.ID != s.Metadata.ID:
		return newError(classConcurrent+"MetadataChangedException", "DELTA_METADATA_CHANGED",
			fmt.Sprintf("Another writer made or described the table in %s meanwhile; try again.", s.Dir))
	case s.Metadata.SchemaString != metadata.SchemaString || s.Metadata.ID != metadata.ID ||
		!slices.Equal(s.Metadata.PartitionColumns, metadata.PartitionColumns):
		return newError(classConcurrent+"MetadataChangedException", "DELTA_METADATA_CHANGED",
			fmt.Sprintf("Another writer changed the columns of the table in %s meanwhile; try again.", s.Dir))
	case s.Protocol.MinReaderVersion != was.MinReaderVersion,
		s.Protocol.MinWriterVersion != was.MinWriterVersion:
		return newError(classConcurrent+"ProtocolChangedException", "DELTA_PROTOCOL_CHANGED",
			fmt.Sprintf("Another writer upgraded the table in %s meanwhile; try again.", s.Dir))
	}
	return nil
}

// lines is the commit's file.
func (s *Snapshot) lines(c *Change) ([]byte, error) {
	removes := s.removes(c)
	info := &commitInfo{
		Timestamp:           c.Now.UnixMilli(),
		Operation:           c.Operation,
		OperationParameters: c.Params,
		IsolationLevel:      "Serializable",
		IsBlindAppend:       !c.Replace && !c.Dynamic,
		OperationMetrics:    withRemoved(c.Metrics, len(removes)),
		EngineInfo:          "weir",
		TxnID:               uuid.NewString(),
	}
	if s.Version >= 0 {
		version := s.Version
		info.ReadVersion = &version
	}
	actions := []action{{CommitInfo: info}}
	if c.Metadata != nil {
		actions = append(actions, action{Metadata: c.Metadata})
	}
	if c.Protocol != nil {
		actions = append(actions, action{Protocol: c.Protocol})
	}
	if c.Txn != nil {
		actions = append(actions, action{Txn: c.Txn})
	}
	for i := range c.Adds {
		actions = append(actions, action{Add: &c.Adds[i]})
	}
	for _, r := range removes {
		actions = append(actions, action{Remove: r})
	}
	var b bytes.Buffer
	for _, a := range actions {
		if err := a.line(&b); err != nil {
			return nil, fmt.Errorf("commit: %w", err)
		}
	}
	return b.Bytes(), nil
}

// withRemoved fills in the number of removed files.
func withRemoved(metrics []Param, removed int) []Param {
	out := make([]Param, len(metrics))
	for i, m := range metrics {
		if m.Name == "numRemovedFiles" {
			m = Number(m.Name, int64(removed))
		}
		out[i] = m
	}
	return out
}

// removes are the files that the change takes out of the table.
func (s *Snapshot) removes(c *Change) []*Remove {
	if !c.Replace && !c.Dynamic {
		return nil
	}
	touched := map[string]bool{}
	for i := range c.Adds {
		touched[s.partitionKey(&c.Adds[i])] = true
	}
	var out []*Remove
	for _, f := range s.Files() {
		if c.Dynamic && !touched[s.partitionKey(f)] {
			continue
		}
		if f.PartitionValues == nil {
			f.PartitionValues = map[string]*string{}
		}
		out = append(out, &Remove{
			Path: f.Path, DeletionTimestamp: c.Now.UnixMilli(), DataChange: true, ExtendedFileMetadata: true,
			PartitionValues: f.PartitionValues, Size: f.Size, DeletionVector: f.DeletionVector,
			BaseRowID: f.BaseRowID, DefaultRowCommitVersion: f.DefaultRowCommitVersion,
		})
	}
	return out
}

func (s *Snapshot) partitionKey(f *Add) string {
	key := ""
	for _, p := range s.Metadata.PartitionColumns {
		if v := s.PartitionValue(f, p); v != nil {
			key += strconv.Quote(*v)
		}
		key += ","
	}
	return key
}

// committed moves the snapshot to the version that was written just now and
// makes a checkpoint when it is time.
func (s *Snapshot) committed(ctx context.Context, data []byte) error {
	actions, err := parseCommit(commitName(s.Version+1), data)
	if err != nil {
		return err
	}
	s.apply(actions)
	s.Version++
	if err := s.settle(); err != nil {
		return err
	}
	s.unwritten = s.checkpointWhenDue(ctx)
	return nil
}

// CheckpointError is why the checkpoint that was due with the last commit was
// not written, nil when all is well. The commit stands in either case.
func (s *Snapshot) CheckpointError() error { return s.unwritten }

// NewMetadata describes a new table.
func NewMetadata(schema plan.Type, partitions []string, now time.Time) (*Metadata, *Protocol, error) {
	if err := checkSchema(schema, partitions); err != nil {
		return nil, nil, err
	}
	protocol := protocolFor(schema)
	if partitions = spelled(schema, partitions); partitions == nil {
		partitions = []string{}
	}
	return &Metadata{
		ID:               uuid.NewString(),
		Format:           Format{Provider: "parquet", Options: map[string]string{}},
		SchemaString:     plan.MarkLengths(schema).JSON(),
		PartitionColumns: partitions,
		Configuration:    map[string]string{},
		CreatedTime:      now.UnixMilli(),
	}, &protocol, nil
}

// New is a table that does not exist yet, as the snapshot for its first commit.
func (t Table) New() (*Snapshot, error) {
	if err := vfs.MkdirDurable(t.FS, t.logPath("")); err != nil {
		return nil, err
	}
	return t.empty(), nil
}
