package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Limits bound what a fetcher asks for and keeps; zero stands for the default.
type Limits struct {
	Held      int64         // bytes of records that are kept for later; 64 MiB
	Answer    int32         // bytes of one answer of a broker; 50 MiB
	Partition int32         // bytes of one partition in an answer; 1 MiB
	Wait      time.Duration // how long a broker may wait for records to come; 250 ms
	// Empty is how long a broker may answer that there are no records where there
	// should be some; two minutes. Then reading fails with ErrEmpty.
	Empty time.Duration
}

func (l Limits) orDefault() Limits {
	if l.Held == 0 {
		l.Held = 64 << 20
	}
	if l.Answer == 0 {
		l.Answer = 50 << 20
	}
	if l.Partition == 0 {
		l.Partition = 1 << 20
	}
	if l.Empty == 0 {
		l.Empty = 2 * time.Minute
	}
	if l.Wait == 0 {
		l.Wait = 250 * time.Millisecond
	}
	return l
}

// Fetcher reads ranges of partitions as chunks of some columns. One goroutine
// reads at a time.
type Fetcher struct {
	cluster *Cluster
	limits  Limits
	columns []Column
	inflate kgo.Decompressor
	buffers *buffers

	context context.Context // of the goroutines; ended by Close
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	lanes map[Partition]*lane
	busy  map[int32]bool // brokers that a goroutine reads from
	held  int64
	moved chan struct{} // closed and replaced when a lane changed
	// read and bytes are how many offsets were passed by readers, and the size
	// of keys and values there.
	read, bytes int64
}

// NewFetcher prepares to read the given columns, in their order.
func (c *Cluster) NewFetcher(columns []Column, limits Limits) *Fetcher {
	ctx, end := context.WithCancel(context.Background())
	pool := &buffers{}
	return &Fetcher{
		cluster: c, limits: limits.orDefault(), columns: columns,
		inflate: c.decompressor(), buffers: pool, context: ctx, end: end,
		lanes: map[Partition]*lane{}, busy: map[int32]bool{}, moved: make(chan struct{}),
	}
}

// Close ends the goroutines and waits for them.
func (f *Fetcher) Close() {
	f.end()
	f.running.Wait()
}

// Ahead says that there are records up to the given offsets, so that those that
// follow what was read last can be fetched before they are asked for.
func (f *Fetcher) Ahead(to Offsets) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, l := range f.lanes {
		if end, ok := to[at]; ok && end > l.until {
			l.until = end
		}
	}
	f.start()
}

// Begin prepares for Read of some ranges, so that all of them are fetched at
// once. A partition whose position is elsewhere is moved.
func (f *Fetcher) Begin(ranges []Range) {
	f.mu.Lock()
	defer f.mu.Unlock()
	begun := map[Partition]bool{}
	for _, r := range ranges {
		l := f.lane(r.Partition)
		if !begun[r.Partition] {
			begun[r.Partition] = true
			f.moveTo(l, r.From)
		}
		l.until = max(l.until, r.To)
	}
	f.start()
}

func (f *Fetcher) lane(at Partition) *lane {
	l := f.lanes[at]
	if l == nil {
		l = &lane{at: at, first: -1}
		f.lanes[at] = l
	}
	return l
}

// moveTo makes a lane begin at an offset of the topic as it is known now.
func (f *Fetcher) moveTo(l *lane, offset int64) {
	var id [16]byte
	if known := f.cluster.Known(l.at.Topic); known != nil {
		id = known.ID
	}
	if l.first != offset || l.err != nil || l.id != id {
		f.held -= l.seek(offset, id)
	}
}

// Piece is a chunk of records; nil at the end of a range. LastMs is the time of its
// last record, in milliseconds since 1970.
type Piece struct {
	*chunk.Chunk
	LastMs int64
}

// Next is the next chunk of a range that was begun, nil at its end. from is
// where the range was read up to; the answer says up to where it is now.
func (f *Fetcher) Next(ctx context.Context, r Range, from int64) (n Piece, upTo int64, err error) {
	for {
		b, upTo, moved, err := f.step(r, from)
		if b.chunk != nil || err != nil || upTo >= r.To {
			return Piece{b.chunk, b.lastMs}, upTo, err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			f.unwanted(r.Partition)
			return Piece{}, upTo, context.Cause(ctx)
		}
	}
}

// step takes what is there. moved is closed when it makes sense to look again.
func (f *Fetcher) step(r Range, from int64) (b block, upTo int64, moved <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.lane(r.Partition)
	if l.first != from {
		f.moveTo(l, from)
	}
	l.until = max(l.until, r.To)
	b, freed, ok := l.take(r.To)
	f.held -= freed
	f.read += l.first - from
	l.wanted = !ok && l.first < r.To
	if ok {
		b.chunk.Part = r.Part
		f.bytes += content(b.chunk)
	}
	f.start()
	if l.wanted && l.err != nil {
		return b, l.first, nil, l.err
	}
	return b, l.first, f.moved, nil
}

// content is the size of keys and values, as far as they are read.
func content(c *chunk.Chunk) int64 {
	n := int64(0)
	for _, v := range c.Cols {
		if v.Type.Kind == plan.KindBinary {
			n += int64(v.Offsets[v.Len] - v.Offsets[0])
		}
	}
	return n
}

func (f *Fetcher) unwanted(at Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lane(at).wanted = false
}

// Forget drops what is held of partitions that are not in keep.
func (f *Fetcher) Forget(keep Offsets) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, l := range f.lanes {
		if _, ok := keep[at]; !ok && !l.fetching {
			f.held -= l.seek(l.first, l.id)
			delete(f.lanes, at)
		}
	}
}

// PerOffset is the average size of what lies at an offset, by what was read so
// far; 0 when nothing was.
func (f *Fetcher) PerOffset() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read == 0 {
		return 0
	}
	return float64(f.bytes) / float64(f.read)
}

// start has a goroutine for each broker that there is something to fetch from;
// the lock is held.
func (f *Fetcher) start() {
	if f.context.Err() != nil {
		return
	}
	room := f.held < f.limits.Held
	for _, l := range f.lanes {
		if !l.due(room) {
			continue
		}
		leader := f.leader(l.at)
		if f.busy[leader] {
			continue
		}
		f.busy[leader] = true
		f.running.Add(1)
		go func() {
			defer f.running.Done()
			f.fetch(leader)
		}()
	}
}

// leader is the broker that serves a partition, -1 when none is known to.
func (f *Fetcher) leader(at Partition) int32 {
	topic := f.cluster.Known(at.Topic)
	if topic == nil || int(at.Number) >= len(topic.Leaders) {
		return -1
	}
	return topic.Leaders[at.Number]
}

// fail ends a lane; the lock is held.
func (f *Fetcher) fail(l *lane, err error) {
	l.err = fmt.Errorf("read partition %s: %w", l.at, err)
}

// changed wakes whoever waits for a lane; the lock is held.
func (f *Fetcher) changed() {
	close(f.moved)
	f.moved = make(chan struct{})
}
