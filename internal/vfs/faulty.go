package vfs

import (
	"path"
	"sync"
	"sync/atomic"
)

// Faulty is a file system that fails on purpose.
type Faulty struct {
	hooked
	inject Inject
	mu     sync.Mutex
	counts map[Op]int
}

// NewFaulty wraps a file system. Every operation asks inject first.
func NewFaulty(inner FS, inject Inject) *Faulty {
	f := &Faulty{inject: inject, counts: map[Op]int{}}
	f.hooked = hooked{inner: inner, before: f.count}
	return f
}

func (f *Faulty) count(c Call) Fault {
	f.mu.Lock()
	f.counts[c.Op]++
	c.N = f.counts[c.Op]
	f.mu.Unlock()
	return f.inject(c)
}

// FailNth fails the n-th call of an operation, counted from 1.
func FailNth(op Op, n int, err error) Inject {
	return func(c Call) Fault {
		if c.Op != op || c.N != n {
			return Fault{}
		}
		return Fault{Err: err}
	}
}

// FailMatch fails every call of an operation on a path whose last element
// matches the pattern of path.Match.
func FailMatch(op Op, pattern string, err error) Inject {
	return func(c Call) Fault {
		if ok, _ := path.Match(pattern, path.Base(c.Path)); !ok || c.Op != op {
			return Fault{}
		}
		return Fault{Err: err}
	}
}

// DiskFull lets a number of bytes through. The write that would exceed it is
// short, and it and every later one fails with err (a real disk says ENOSPC).
func DiskFull(bytes int, err error) Inject {
	var used atomic.Int64
	return func(c Call) Fault {
		if c.Op != OpWrite {
			return Fault{}
		}
		before := int(used.Add(int64(c.Size))) - c.Size
		if before+c.Size <= bytes {
			return Fault{}
		}
		return Fault{Err: err, Short: max(0, bytes-before)}
	}
}
