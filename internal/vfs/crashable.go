package vfs

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// ErrCrashed is the error of every operation after the machine stopped.
var ErrCrashed = errors.New("the machine has crashed")

// Crashable is a file system in memory that can lose power: bytes that were not
// synced and names whose directory was not synced may be gone afterwards. A
// rename is kept or lost as a whole, as on a journalling file system.
//
// A crash matrix runs a program once to learn Ops, then for every k up to that
// runs it with CrashAfter(k), calls Crash and starts the program again on what
// is left.
type Crashable struct {
	hooked
	mem   *Memory
	ops   atomic.Int64
	limit atomic.Int64 // mutating operations that succeed; negative: crashed
}

// NewCrashable returns an empty file system that never crashes by itself.
func NewCrashable() *Crashable {
	mem := NewMemory()
	mem.volatile = true
	return newCrashable(mem)
}

func newCrashable(mem *Memory) *Crashable {
	c := &Crashable{mem: mem}
	c.hooked = hooked{inner: mem, before: c.count}
	c.limit.Store(math.MaxInt64)
	return c
}

// Ops counts the mutating operations that succeeded or were refused since the
// file system was made: creating, writing, syncing, naming, locking.
func (c *Crashable) Ops() int { return int(c.ops.Load()) }

// CrashAfter lets k mutating operations pass, counted from the beginning as Ops
// does. The next one, and from then on every operation, fails with ErrCrashed.
func (c *Crashable) CrashAfter(k int) { c.limit.Store(int64(k)) }

// Crashed reports whether the machine has stopped.
func (c *Crashable) Crashed() bool { return c.limit.Load() < 0 }

func (c *Crashable) count(call Call) Fault {
	if c.Crashed() {
		return Fault{Err: ErrCrashed}
	}
	if !call.Op.Mutates() {
		return Fault{}
	}
	if c.ops.Add(1) > c.limit.Load() {
		c.limit.Store(-1)
		return Fault{Err: ErrCrashed}
	}
	return Fault{}
}

// Crash stops the machine and returns the file system found at the next start.
// Every un-synced change of names and every un-synced file content is lost with
// the probability lose. With 0 everything survives, with 1 nothing un-synced
// does; between them a file may also keep a part of its new bytes or zeros in
// their place. One seed gives one outcome, and Crash may be called again with
// another.
func (c *Crashable) Crash(lose float64, seed uint64) *Crashable {
	c.limit.Store(-1)
	c.mem.mu.RLock()
	defer c.mem.mu.RUnlock()
	copied := copier{}
	survivor := NewMemory()
	survivor.volatile = true
	survivor.root = copied.tree(c.mem.root)
	loss := loss{lose, rand.New(rand.NewPCG(seed, 0))}
	for _, change := range c.mem.pending {
		if !loss.strikes() {
			copied.change(change).persist()
		}
	}
	loss.restart(survivor.root)
	return newCrashable(survivor)
}

// copier copies the durable image, one copy for each node.
type copier map[*node]*node

func (c copier) tree(n *node) *node {
	if n == nil {
		return nil
	}
	if done := c[n]; done != nil {
		return done
	}
	copied := *n
	c[n] = &copied
	if n.dir {
		copied.durable = make(map[string]*node, len(n.durable))
		for name, child := range n.durable {
			copied.durable[name] = c.tree(child)
		}
	}
	return &copied
}

func (c copier) change(old change) change {
	links := make([]link, len(old.links))
	for i, l := range old.links {
		links[i] = link{c.tree(l.dir), l.name, c.tree(l.old), c.tree(l.new)}
	}
	return change{links}
}

type loss struct {
	lose float64
	rand *rand.Rand
}

func (l loss) strikes() bool { return l.rand.Float64() < l.lose }

// restart makes the durable names and bytes the visible ones.
func (l loss) restart(n *node) {
	if !n.dir {
		n.data = slices.Clip(l.content(n.data, n.synced))
		n.synced = n.data
		return
	}
	n.names = maps.Clone(n.durable)
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		l.restart(n.names[name])
	}
}

// content returns the bytes of a file after a crash.
func (l loss) content(data, synced []byte) []byte {
	if !l.strikes() {
		return data
	}
	if l.lose >= 1 || !bytes.HasPrefix(data, synced) {
		return synced
	}
	fresh := data[len(synced):]
	switch l.rand.IntN(4) {
	case 0:
		return data[:len(synced)+l.rand.IntN(len(fresh)+1)]
	case 1: // the length was journalled, the blocks were not
		return append(slices.Clone(synced), make([]byte, len(fresh))...)
	}
	return synced
}
