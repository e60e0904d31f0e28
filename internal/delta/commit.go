package delta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/google/uuid"

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
	// Removes are files of the snapshot that go.
	Removes []*Add
	Layout  Layout
	// ChangeData are the files of the change feed.
	ChangeData []CDC
	// Reads is what the change rests on; nil when it would be the same whatever the
	// table holds.
	Reads *Reads
	// Rearranges says that no row changes, only the files that hold them.
	Rearranges bool
	// Ruled says that the rows of Adds are what constraints and computed columns ask
	// for (D7).
	Ruled bool
	// Domains are texts that features keep with the table.
	Domains []DomainMetadata
	Tags    map[string]string // of the commit
	Now     time.Time
}

// Layout is how a commit names the files that come and go. Readers do not care,
// people who read logs do: it is Delta's for each operation.
type Layout struct {
	RemovesFirst bool // before the adds
	RemovesAt    int  // behind so many adds, if not 0
	RemovedRows  bool // removes tell their number of rows
	ProtocolLast bool // behind the files
}

// blind reports whether a change only adds rows, without a look at those that
// the table has.
func (c *Change) blind() bool {
	return !c.Replace && !c.Dynamic && len(c.Removes) == 0 && c.Reads == nil
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
		if c.Txn.Done(s) {
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
	return false, s.outrun()
}

func (s *Snapshot) checkChange(c *Change) error {
	if c.Protocol != nil {
		if err := s.checkProtocol(*c.Protocol); err != nil {
			return err
		}
	}
	if s.Version < 0 {
		return nil
	}
	if err := s.checkWritable(); err != nil {
		return err
	}
	if err := s.checkRuled(c); err != nil {
		return err
	}
	if c.Replace || c.Dynamic || len(c.Removes) > 0 && !c.Rearranges {
		return s.CheckRemovable()
	}
	return nil
}

// CheckRemovable refuses to take rows out of a table that is for appending only.
func (s *Snapshot) CheckRemovable() error {
	if s.property("delta.appendOnly", "false") != "true" {
		return nil
	}
	name := s.Metadata.Name
	if name == "" {
		name = "null"
	}
	return newError(classUnsupported, "DELTA_CANNOT_MODIFY_APPEND_ONLY",
		fmt.Sprintf("The table in %s is for appending only (delta.appendOnly).", s.Dir),
		"table_name", name, "config", "delta.appendOnly")
}

// lines is the commit's file.
func (s *Snapshot) lines(c *Change) ([]byte, error) {
	removes := s.removes(c)
	stamp, err := s.stamp(c)
	if err != nil {
		return nil, err
	}
	info := &commitInfo{
		InCommitTimestamp:   stamp.time,
		Tags:                stamp.tags,
		Timestamp:           c.Now.UnixMilli(),
		Operation:           c.Operation,
		OperationParameters: c.Params,
		IsolationLevel:      c.isolation(),
		IsBlindAppend:       c.blind(),
		OperationMetrics:    withRemoved(c.Metrics, len(removes)),
		EngineInfo:          "weir",
		TxnID:               uuid.NewString(),
	}
	if s.Version >= 0 {
		version := s.Version
		info.ReadVersion = &version
	}
	actions := []action{{CommitInfo: info}}
	if stamp.metadata != nil {
		actions = append(actions, action{Metadata: stamp.metadata})
	}
	if c.Protocol != nil && !c.Layout.ProtocolLast {
		actions = append(actions, action{Protocol: c.Protocol})
	}
	if c.Txn != nil {
		actions = append(actions, action{Txn: c.Txn})
	}
	for i := range stamp.domains {
		actions = append(actions, action{Domain: &stamp.domains[i]})
	}
	actions = append(actions, c.fileActions(stamp.adds, removes)...)
	if c.Protocol != nil && c.Layout.ProtocolLast {
		actions = append(actions, action{Protocol: c.Protocol})
	}
	var b bytes.Buffer
	for _, a := range actions {
		if err := a.line(&b); err != nil {
			return nil, fmt.Errorf("commit: %w", err)
		}
	}
	return b.Bytes(), nil
}

// fileActions are the files that come and go.
func (c *Change) fileActions(adds []Add, removes []*Remove) []action {
	var out, gone []action
	for _, r := range removes {
		gone = append(gone, action{Remove: r})
	}
	if c.Layout.RemovesFirst {
		out, gone = gone, nil
	}
	for i := range adds {
		out = append(out, action{Add: &adds[i]})
		if i+1 == c.Layout.RemovesAt {
			out, gone = append(out, gone...), nil
		}
	}
	for i := range c.ChangeData {
		out = append(out, action{CDC: &c.ChangeData[i]})
	}
	return append(out, gone...)
}

// isolation is how far the change was checked against those of others.
func (c *Change) isolation() string {
	if c.Rearranges {
		return "SnapshotIsolation"
	}
	return "Serializable"
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
	var out []*Remove
	for _, f := range c.Removes {
		out = append(out, removal(f, c))
	}
	if !c.Replace && !c.Dynamic {
		return out
	}
	touched := map[string]bool{}
	for i := range c.Adds {
		touched[s.partitionKey(&c.Adds[i])] = true
	}
	for _, f := range s.Files() {
		if c.Replace || touched[s.partitionKey(f)] {
			out = append(out, removal(f, c))
		}
	}
	return out
}

// removal takes a file out of the table.
func removal(f *Add, c *Change) *Remove {
	r := &Remove{
		Path: f.Path, DeletionTimestamp: c.Now.UnixMilli(), DataChange: !c.Rearranges, ExtendedFileMetadata: true,
		PartitionValues: f.PartitionValues, Size: f.Size, DeletionVector: f.DeletionVector,
		BaseRowID: f.BaseRowID, DefaultRowCommitVersion: f.DefaultRowCommitVersion,
	}
	if r.PartitionValues == nil {
		r.PartitionValues = map[string]*string{}
	}
	if n, ok := f.NumRecords(); ok && c.Layout.RemovedRows {
		r.Stats = fmt.Sprintf(`{"numRecords":%d}`, n)
	}
	return r
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
	for i := range actions {
		s.apply(&actions[i])
	}
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

// New is a table that does not exist yet, as the snapshot for its first commit.
func (t Table) New() (*Snapshot, error) {
	if err := vfs.MkdirDurable(t.FS, t.logPath("")); err != nil {
		return nil, err
	}
	return t.empty(), nil
}
