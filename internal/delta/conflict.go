package delta

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

// Reads is what a change rests on: what others do to it between the snapshot and
// the commit stops the change.
type Reads struct {
	// Whole says that every row of the table counted.
	Whole bool
	// Files are the data files that were read.
	Files []*Add
	// Matches reports whether the rows of a file that others added are among those
	// that the change would have read. As in Delta it knows the file's partition and
	// nothing of its rows. Nil stands for every file.
	Matches func(*Add) (bool, error)
}

// winner is a commit that came first.
type winner struct {
	version  int64
	info     *readInfo
	metadata *Metadata
	protocol *Protocol
	added    []*Add
	removed  []*Remove
	txns     []*Txn
}

func winnerOf(version int64, actions []readAction) *winner {
	w := &winner{version: version, info: &readInfo{}}
	for _, a := range actions {
		switch {
		case a.Info != nil:
			w.info = a.Info
		case a.Metadata != nil:
			w.metadata = a.Metadata
		case a.Protocol != nil:
			w.protocol = a.Protocol
		case a.Add != nil:
			w.added = append(w.added, a.Add)
		case a.Remove != nil:
			w.removed = append(w.removed, a.Remove)
		case a.Txn != nil:
			w.txns = append(w.txns, a.Txn)
		}
	}
	return w
}

// catchUp reads what others committed, commit after commit, and says which of
// them the change cannot follow. The snapshot is the newest then in either case.
func (s *Snapshot) catchUp(ctx context.Context, c *Change, described string) error {
	if described == "" {
		return s.madeMeanwhile(ctx)
	}
	before := s.Version
	var lost error
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		actions, err := s.readCommit(s.Version + 1)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		if lost == nil {
			lost = s.checkWinner(c, winnerOf(s.Version+1, actions))
		}
		for i := range actions {
			s.apply(&actions[i])
		}
		s.Version++
	}
	if s.Version == before {
		return fmt.Errorf("commit: version %d exists and cannot be read", s.Version+1)
	}
	if err := s.settle(); err != nil {
		return err
	}
	return lost
}

// madeMeanwhile: the table that the change should make is there.
func (s *Snapshot) madeMeanwhile(ctx context.Context) error {
	fresh, err := s.Load(ctx)
	if err != nil {
		return err
	}
	*s = *fresh
	return newError(classConcurrent+"MetadataChangedException", "DELTA_METADATA_CHANGED",
		fmt.Sprintf("Another writer made the table in %s meanwhile; try again.", s.Dir), s.conflict("")...)
}

// checkWinner is Delta's check for conflicts: the snapshot is that before the
// winner.
func (s *Snapshot) checkWinner(c *Change, w *winner) error {
	switch {
	case w.protocol != nil && c.Protocol != nil:
		return newError(classConcurrent+"ProtocolChangedException", "DELTA_PROTOCOL_CHANGED",
			fmt.Sprintf("Another writer upgraded the table in %s meanwhile; try again.", s.Dir),
			"additionalInfo", "", "conflictingCommit", w.info.shown(), "docLink", concurrencyPage)
	case w.metadata != nil:
		return newError(classConcurrent+"MetadataChangedException", "DELTA_METADATA_CHANGED",
			fmt.Sprintf("Another writer changed the description of the table in %s meanwhile (%s, version %d); "+
				"try again.", s.Dir, w.info.Operation, w.version), s.conflict(w.info.shown())...)
	}
	for _, check := range []func(*Change, *winner) error{s.checkTxn, s.checkAdded, s.checkRead, s.checkRemoved} {
		if err := check(c, w); err != nil {
			return err
		}
	}
	return nil
}

const concurrencyPage = "https://docs.delta.io/latest/concurrency-control.html"

func (s *Snapshot) conflict(info string) []string {
	return []string{"tableName", s.shown(), "conflictingCommit", info, "docLink", concurrencyPage}
}

// shown is the table as Delta's errors call it.
func (s *Snapshot) shown() string { return "delta.`file:" + s.Dir + "`" }

// checkTxn: another run of the application committed something older meanwhile.
// What is not older makes the change needless (D3).
func (s *Snapshot) checkTxn(c *Change, w *winner) error {
	if c.Txn == nil || !slices.ContainsFunc(w.txns, func(t *Txn) bool {
		return t.AppID == c.Txn.AppID && t.Version < c.Txn.Version
	}) {
		return nil
	}
	return newError(classConcurrent+"ConcurrentTransactionException", "DELTA_CONCURRENT_TRANSACTION",
		fmt.Sprintf("Another run of the same query committed to %s meanwhile, with version %d. Two queries must "+
			"not share a checkpoint.", s.Dir, w.version),
		"conflictingCommit", w.info.shown(), "docLink", concurrencyPage)
}

// checkAdded: files came whose rows the change should have read.
func (s *Snapshot) checkAdded(c *Change, w *winner) error {
	if c.Rearranges {
		return nil
	}
	for _, f := range w.added {
		hit := c.Replace || c.Dynamic && s.touches(c, f) || c.Reads != nil && c.Reads.Whole
		if !hit && c.Reads != nil {
			var err error
			if hit, err = c.Reads.matches(f); err != nil {
				return err
			}
		}
		if hit {
			return s.lost(concurrentAppend, w, f.PartitionValues)
		}
	}
	return nil
}

func (r *Reads) matches(f *Add) (bool, error) {
	if r.Matches == nil {
		return true, nil
	}
	return r.Matches(f)
}

// touches reports whether a dynamic overwrite replaces the partition of a file.
func (s *Snapshot) touches(c *Change, f *Add) bool {
	key := s.partitionKey(f)
	return slices.ContainsFunc(c.Adds, func(a Add) bool { return s.partitionKey(&a) == key })
}

// checkRead: files that were read are gone.
func (s *Snapshot) checkRead(c *Change, w *winner) error {
	if c.Reads == nil {
		return nil
	}
	read := map[string]bool{}
	for _, f := range c.Reads.Files {
		read[f.Path] = true
	}
	for _, r := range w.removed {
		if read[r.Path] || c.Reads.Whole {
			return s.lost(concurrentDeleteRead, w, r.PartitionValues)
		}
	}
	return nil
}

// checkRemoved: both remove the same file.
func (s *Snapshot) checkRemoved(c *Change, w *winner) error {
	gone := map[string]bool{}
	for _, f := range c.Removes {
		gone[f.Path] = true
	}
	for _, r := range w.removed {
		if gone[r.Path] {
			return s.lost(concurrentDeleteDelete, w, r.PartitionValues)
		}
	}
	return nil
}

// conflictKind is a way in which others can get ahead of a change.
type conflictKind struct{ class, condition, did string }

var (
	concurrentAppend = conflictKind{"ConcurrentAppendException", "DELTA_CONCURRENT_APPEND", "added rows to"}

	concurrentDeleteRead = conflictKind{
		"ConcurrentDeleteReadException", "DELTA_CONCURRENT_DELETE_READ", "deleted rows of",
	}
	concurrentDeleteDelete = conflictKind{
		"ConcurrentDeleteDeleteException", "DELTA_CONCURRENT_DELETE_DELETE", "deleted rows of",
	}
)

// lost is the error of a change that others got ahead of.
func (s *Snapshot) lost(kind conflictKind, w *winner, values map[string]*string) *plan.Error {
	args := []string{"operation", w.info.Operation, "tableName", s.shown(),
		"version", strconv.FormatInt(w.version, 10), "docLink", concurrencyPage}
	sub, where := ".WITHOUT_HINT", ""
	if len(s.Metadata.PartitionColumns) > 0 {
		sub, where = ".WITH_PARTITION_HINT", "["
		for i, p := range s.Metadata.PartitionColumns {
			if i > 0 {
				where += ", "
			}
			text := "null"
			if v := s.PartitionValue(&Add{PartitionValues: values}, p); v != nil {
				text = *v
			}
			where += p + "=" + text
		}
		where += "]"
		args = append(args, "partitionValues", where)
	}
	return newError(classConcurrent+kind.class, kind.condition+sub,
		fmt.Sprintf("A concurrent %s %s the table in %s, with version %d, that this statement should have read. "+
			"Run it again.", w.info.Operation, kind.did, s.Dir, w.version), args...)
}

// outrun is the error of a commit that never got its turn.
func (s *Snapshot) outrun() *plan.Error {
	return newError(classConcurrent+"ConcurrentWriteException", "DELTA_CONCURRENT_WRITE",
		fmt.Sprintf("Others committed to %s %d times in a row before this change could; try again.", s.Dir,
			maxAttempts), "conflictingCommit", "", "docLink", concurrencyPage)
}
