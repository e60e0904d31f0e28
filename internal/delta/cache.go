package delta

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

const (
	// cachedTables and cachedFiles bound what a Cache keeps: the snapshots of some
	// tables, all of them with no more files than these, of about a kilobyte each.
	cachedTables = 16
	cachedFiles  = 100_000
)

// Cache keeps the newest snapshots of tables, so that the next one costs what was
// committed since. What it gives out is its caller's. Any goroutine may ask; the zero
// value is empty, and a nil Cache reads every table anew.
type Cache struct {
	mu   sync.Mutex
	kept []*kept // that of the table asked for last is the last
}

type kept struct {
	snapshot *Snapshot // nobody changes it
	commit   uint64    // a hash of the commit of its version
}

// Load is Table.Load. A table that was made anew in the same place is known by its
// last commit, which is another one.
func (c *Cache) Load(ctx context.Context, t Table) (*Snapshot, error) {
	if c == nil || !reflect.TypeOf(t.FS).Comparable() {
		return t.Load(ctx)
	}
	old := c.find(t)
	if old == nil {
		s, err := t.Load(ctx)
		if err == nil {
			c.keep(s)
		}
		return s, err
	}
	s, err := old.snapshot.advanced(ctx, old.commit)
	if err != nil || s == nil {
		if s, err = t.Load(ctx); err != nil {
			c.drop(t)
			return nil, err
		}
	}
	if s.Version != old.snapshot.Version || s.broken != nil {
		c.keep(s)
	}
	return s, nil
}

// advanced is a copy of the snapshot at the newest version; nil when the log does not
// go on from it.
func (s *Snapshot) advanced(ctx context.Context, commit uint64) (*Snapshot, error) {
	seg, err := s.segment()
	if err != nil || seg.to < s.Version {
		return nil, err
	}
	if hash, err := s.hashOf(s.Version); err != nil || hash != commit {
		return nil, err
	}
	next := s.clone()
	next.checkpointed = max(seg.from, s.checkpointed)
	for next.Version < seg.to {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := next.next(); err != nil {
			return nil, err
		}
	}
	if next.Version == s.Version {
		return next, nil
	}
	return next, next.settle()
}

func (s *Snapshot) clone() *Snapshot {
	out := *s
	out.files, out.removed = maps.Clone(s.files), maps.Clone(s.removed)
	out.txns, out.domains = maps.Clone(s.txns), maps.Clone(s.domains)
	out.Metadata.Configuration = maps.Clone(s.Metadata.Configuration)
	out.Metadata.PartitionColumns = slices.Clone(s.Metadata.PartitionColumns)
	out.Schema = plan.Struct(slices.Clone(s.Schema.Fields)...)
	out.unwritten = nil
	return &out
}

// hashOf tells commits apart.
func (t Table) hashOf(version int64) (uint64, error) {
	data, err := vfs.ReadFile(t.FS, t.logPath(commitName(version)))
	return xxh3.Hash(data), err
}

func (c *Cache) find(t Table) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(t)
	if i < 0 {
		return nil
	}
	k := c.kept[i]
	c.kept = append(slices.Delete(c.kept, i, i+1), k)
	return k
}

func (c *Cache) index(t Table) int {
	return slices.IndexFunc(c.kept, func(k *kept) bool { return k.snapshot.Table == t })
}

// keep remembers a copy of a snapshot, unless it is too large or was not read whole.
func (c *Cache) keep(s *Snapshot) {
	hash, err := s.hashOf(s.Version)
	if err != nil || s.broken != nil || len(s.files)+len(s.removed) > cachedFiles {
		c.drop(s.Table)
		return
	}
	k := &kept{snapshot: s.clone(), commit: hash}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.index(s.Table); i >= 0 {
		c.kept = slices.Delete(c.kept, i, i+1)
	}
	c.kept = append(c.kept, k)
	files, from := 0, len(c.kept)
	for from > 0 && len(c.kept)-from < cachedTables {
		s := c.kept[from-1].snapshot
		if files += len(s.files) + len(s.removed); files > cachedFiles {
			break
		}
		from--
	}
	c.kept = slices.Delete(c.kept, 0, from)
}

func (c *Cache) drop(t Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.index(t); i >= 0 {
		c.kept = slices.Delete(c.kept, i, i+1)
	}
}
