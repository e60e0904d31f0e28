package delta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Snapshot is a table at one version.
type Snapshot struct {
	Table
	Version  int64 // -1 for a table that is about to be made
	Protocol Protocol
	Metadata Metadata
	Schema   plan.Type // all columns, partition columns where the user put them

	holds        holding
	checkpointed int64 // version of the newest checkpoint that is known
	files        map[string]*Add
	removed      map[string]*Remove // files that vacuum may still have to know
	txns         map[string]*Txn
	domains      map[string]*DomainMetadata
	unwritten    error // of the last checkpoint
	broken       error // of a checkpoint that was passed over
}

// holding is how much of its files a snapshot holds.
type holding uint8

const (
	wholeFiles holding = iota
	bareFiles          // without statistics and without removed ones, which readers of all files do not need
	noFiles            // the table as such: schema, properties, protocol
)

// LoadHead reads the newest version of a table without its files. Such a snapshot reads
// files that it is given, and cannot be changed.
func (t Table) LoadHead(ctx context.Context) (*Snapshot, error) { return t.loadNewest(ctx, noFiles) }

// LoadHeadOf is LoadHead of a version.
func (t Table) LoadHeadOf(ctx context.Context, version int64) (*Snapshot, error) {
	return t.loadVersion(ctx, version, noFiles)
}

// As is a snapshot of the same table that reads files as another description and a
// protocol say, which is as Protocol.Text gives it. It has no files of its own.
func (s *Snapshot) As(m Metadata, protocol string) (*Snapshot, error) {
	out := s.Table.empty()
	out.holds, out.Version, out.Metadata, out.Protocol = noFiles, s.Version, m, s.Protocol
	var wrapped struct {
		Protocol *Protocol `json:"protocol"`
	}
	if json.Unmarshal([]byte(protocol), &wrapped) == nil && wrapped.Protocol != nil {
		out.Protocol = *wrapped.Protocol
	}
	return out, out.settle()
}

// LoadBare reads a version for somebody who reads all its files: the snapshot has no
// statistics, and cannot be changed.
func (t Table) LoadBare(ctx context.Context, version int64) (*Snapshot, error) {
	return t.loadVersion(ctx, version, bareFiles)
}

// Load reads the newest version of a table. Where there is none the error is
// one for IsNotTable.
func (t Table) Load(ctx context.Context) (*Snapshot, error) { return t.loadNewest(ctx, wholeFiles) }

func (t Table) loadNewest(ctx context.Context, holds holding) (*Snapshot, error) {
	for attempt := 1; ; attempt++ {
		s, err := t.load(ctx, holds)
		// The log may be cleaned up between listing and reading.
		if err == nil || !errors.Is(err, fs.ErrNotExist) || attempt == 3 {
			return s, err
		}
	}
}

func (t Table) load(ctx context.Context, holds holding) (*Snapshot, error) {
	seg, err := t.segment()
	if err != nil {
		return nil, err
	}
	return t.replayed(ctx, seg, math.MaxInt64, holds)
}

// replayed is replay, which does without checkpoints that cannot be read where the
// commits before them are still there. The snapshot keeps why.
func (t Table) replayed(ctx context.Context, seg segment, upTo int64, holds holding) (*Snapshot, error) {
	broken := map[int64]bool{}
	var why error
	for {
		s, err := t.replay(ctx, seg, holds)
		var bad *brokenCheckpoint
		switch {
		case err == nil:
			s.broken = why
			return s, nil
		case !errors.As(err, &bad):
			return nil, err
		case errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil:
			return nil, bad.error
		case why == nil:
			why = bad.error
		}
		broken[seg.from] = true
		older, err := t.segmentUpTo(upTo, broken)
		if err != nil || older.to != seg.to {
			return nil, why // nothing else says what the table is
		}
		seg = older
	}
}

// brokenCheckpoint is why a checkpoint cannot be read.
type brokenCheckpoint struct{ error }

func (b *brokenCheckpoint) Unwrap() error { return b.error }

// BrokenCheckpoint is why a checkpoint was passed over for the commits before it, nil
// when none was.
func (s *Snapshot) BrokenCheckpoint() error { return s.broken }

func (t Table) replay(ctx context.Context, seg segment, holds holding) (*Snapshot, error) {
	s := t.empty()
	s.holds = holds
	s.Version, s.checkpointed = seg.from, seg.from
	for _, name := range seg.checkpoint {
		if err := s.readCheckpoint(ctx, name); err != nil {
			return nil, &brokenCheckpoint{err}
		}
	}
	for s.Version < seg.to {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := s.next(); err != nil {
			return nil, err
		}
	}
	return s, s.settle()
}

// empty is a table without a version.
func (t Table) empty() *Snapshot {
	return &Snapshot{Table: t, Version: -1, checkpointed: -1,
		files: map[string]*Add{}, removed: map[string]*Remove{}, txns: map[string]*Txn{},
		domains: map[string]*DomainMetadata{}}
}

// next applies the commit after the snapshot's version.
func (s *Snapshot) next() error {
	if err := s.eachAction(s.Version+1, s.apply); err != nil {
		return err
	}
	s.Version++
	return nil
}

func (s *Snapshot) apply(a *readAction) {
	switch {
	case a.Protocol != nil:
		s.Protocol = *a.Protocol
	case a.Metadata != nil:
		s.Metadata = *a.Metadata
	case a.Txn != nil:
		s.txns[a.Txn.AppID] = a.Txn
	case a.Domain != nil && a.Domain.Removed:
		delete(s.domains, a.Domain.Domain)
	case a.Domain != nil:
		s.domains[a.Domain.Domain] = a.Domain
	case s.holds == noFiles:
	case a.Add != nil:
		s.add(a.Add)
	case a.Remove != nil:
		key := a.Remove.DeletionVector.key(a.Remove.Path)
		delete(s.files, key)
		if s.holds == wholeFiles {
			s.removed[key] = a.Remove
		}
	}
}

func (s *Snapshot) add(a *Add) {
	key := a.DeletionVector.key(a.Path)
	delete(s.removed, key)
	if s.holds == bareFiles {
		a.Stats, a.Tags = "", nil
		if len(a.PartitionValues) == 0 {
			a.PartitionValues = nil
		}
	}
	s.files[key] = a
}

// settle checks what was read and parses the schema.
func (s *Snapshot) settle() error {
	name := s.logPath(commitName(s.Version))
	if s.Protocol.MinReaderVersion == 0 {
		return damaged(name, "no commit up to it has a protocol")
	}
	if s.Metadata.ID == "" {
		return damaged(name, "no commit up to it has a metaData")
	}
	if err := s.checkReadable(); err != nil {
		return err
	}
	schema, err := plan.ParseTypeJSON(s.Metadata.SchemaString)
	if err != nil {
		return damaged(name, fmt.Sprintf("the schema cannot be read: %v", err))
	}
	if schema.Kind != plan.KindStruct {
		return damaged(name, "the schema is no struct")
	}
	if s.Schema, err = s.tableSchema(schema); err != nil {
		return err
	}
	for _, p := range s.Metadata.PartitionColumns {
		if columnIndex(schema, p) < 0 {
			return damaged(name, fmt.Sprintf("the partition column %s is not in the schema", p))
		}
	}
	return nil
}

// tableSchema is the schema of the log with CHAR and VARCHAR, and with the names
// and ids that columns have in files if the table maps its columns.
func (s *Snapshot) tableSchema(schema plan.Type) (plan.Type, error) {
	schema = plan.RestoreLengths(schema)
	if s.Metadata.mapping() != "none" {
		return schema, s.checkMapping(schema)
	}
	return eachField(schema, func(f plan.Field) plan.Field { return without(f, columnID, physicalMark) }), nil
}

// Refresh moves the snapshot to the newest version and reports whether it moved.
func (s *Snapshot) Refresh(ctx context.Context) (bool, error) {
	hint, err := s.hinted()
	if err != nil {
		return false, err
	}
	if hint > s.Version {
		// The commits in between may be gone; the checkpoint has them.
		fresh, err := s.loadNewest(ctx, s.holds)
		if err == nil {
			*s = *fresh
		}
		return err == nil, err
	}
	before := s.Version
	for {
		err := s.next()
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	if s.Version == before {
		return false, nil
	}
	s.checkpointed = max(s.checkpointed, hint)
	return true, s.settle()
}

// Files are the data files, ordered by path.
func (s *Snapshot) Files() []*Add {
	files := make([]*Add, 0, len(s.files))
	for _, f := range s.files {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b *Add) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// NumFiles is how many data files there are, and their bytes.
func (s *Snapshot) NumFiles() (files int, bytes int64) {
	for _, f := range s.files {
		bytes += f.Size
	}
	return len(s.files), bytes
}

// TxnVersion is how far an application has come, -1 when it never wrote.
func (s *Snapshot) TxnVersion(appID string) int64 {
	if t := s.txns[appID]; t != nil {
		return t.Version
	}
	return -1
}

// Partitioned reports whether a column is a partition column.
func (s *Snapshot) Partitioned(name string) bool {
	return slices.ContainsFunc(s.Metadata.PartitionColumns,
		func(p string) bool { return strings.EqualFold(p, name) })
}

// columnIndex is the place of a column, whatever its case; -1 for none.
func columnIndex(schema plan.Type, name string) int {
	return slices.IndexFunc(schema.Fields, func(f plan.Field) bool { return strings.EqualFold(f.Name, name) })
}
