package exec

import (
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
	"github.com/weir-dev/weir/internal/state"
)

const (
	// DedupName is the operator of dropDuplicates.
	DedupName       = "dedupe"
	dedupWithinName = "dedupeWithinWatermark"
)

// streamDedup lets the first row of each key through and remembers the key: as
// long as the watermark has not passed its event time, if that is part of the
// key; within a watermark as long as the row is not older than the delay; else
// for ever.
type streamDedup struct {
	in     operator
	id     int
	keys   []int // ordinals
	keep   []int
	timeAt int // the event time among the input, -1 without
	// delay is how long a key is remembered behind its row, in µs; -1 when its
	// time is in the key or it has none.
	delay  int64
	expire bool
	placer placer
}

func (p *planner) buildStreamDedup(n *plan.Dedup, want need) (input, error) {
	name := DedupName
	if n.WithinWatermark {
		name = dedupWithinName
	}
	id, op := p.operator(n, name)
	op.evicts = true
	keys := n.Keys
	if len(keys) == 0 && len(n.Columns) == 0 {
		keys = n.Input.Output()
	}
	reads := want.with(exprsOf(keys)...)
	source, err := eventColumn(n.Input.Output())
	if err != nil {
		return input{}, err
	}
	if source >= 0 && !n.WithinWatermark && !reads.has(n.Input.Output()[source]) {
		source = -1 // Spark has pruned it: no row comes too late
	}
	if source >= 0 {
		reads = reads.with(n.Input.Output()[source])
	}
	in, err := p.build(n.Input, reads)
	if err != nil {
		return input{}, err
	}
	attrs := want.only(in.attrs)
	shape := state.Shape{Name: "default", Key: keyColumns(keys)}
	o := &streamDedup{
		in: in.op, id: id, timeAt: -1, delay: -1,
		keys: ordinalsOf(in.attrs, keys), keep: ordinalsOf(in.attrs, attrs),
	}
	for _, k := range keys {
		if err := rowkey.Comparable(k.Of); err != nil {
			return input{}, err
		}
	}
	if source >= 0 {
		time := n.Input.Output()[source]
		o.timeAt = position(in.attrs, time.ID)
		if n.WithinWatermark {
			o.delay, o.expire = *time.EventTime*1000, true
			shape.Value, shape.Expiry = []state.Column{{Name: "expiresAtMicros", Type: plan.Long}}, 1
		} else if at := slices.IndexFunc(keys, (*plan.Attribute).IsEventTime); at >= 0 {
			o.expire, shape.ExpiryKey = true, at+1
		}
	}
	op.Tables = []state.Shape{shape}
	o.placer = placer{how: p.placements.of(n), attrs: attrs}
	o.placer.spread, err = p.spreadBy(shape.Key)
	return input{op: o, attrs: attrs}, err
}

func (o *streamDedup) parts(r *running) int { return r.partitions() }

func (o *streamDedup) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		b := &batchOfKeys{working: r.working(o.id), of: o, r: r, out: o.placer.start(r, yield)}
		defer b.out.release()
		if err := b.run(); err != nil {
			yield(nil, err)
		}
	}
}

// batchOfKeys is a streamDedup in one batch.
type batchOfKeys struct {
	working
	of    *streamDedup
	r     *running
	rows  []int32   // of the state, for the rows of a chunk
	added chunk.Sel // the rows of the chunk whose keys were not there
	total int64     // rows that were added
	out   *placing
}

func (b *batchOfKeys) run() error {
	held := b.r.lease("removal of duplicates")
	defer held.End()
	for c, err := range b.of.in.rows(b.r) {
		if err == nil {
			err = held.Hold(b.total * b.table(0).RowBytes())
		}
		if err == nil {
			err = b.add(c)
		}
		if err != nil {
			return err
		}
	}
	b.out.end()
	b.updated()
	if b.of.expire {
		due := b.table(0).Due(b.evictMicros())
		b.table(0).Remove(due)
		b.work().Removed += int64(len(due))
	}
	b.removed()
	return nil
}

// add takes the rows of a chunk whose key is new.
func (b *batchOfKeys) add(c *chunk.Chunk) error {
	if b.of.timeAt >= 0 {
		onTime, late := splitLate(c.Cols[b.of.timeAt], b.lateMicros())
		if len(late) > 0 {
			b.work().Dropped += int64(len(late))
			c = c.Take(onTime)
		}
	}
	if c.Rows == 0 {
		return nil
	}
	rows := c.Rows
	if cap(b.rows) < rows {
		b.rows = make([]int32, max(rows, chunk.MaxRows))
	}
	var err error
	if b.added, err = b.table(0).Claim(b.keysOf(c), b.rows[:rows], b.added[:0]); err != nil {
		return err
	}
	b.work().Duplicates += int64(rows - len(b.added))
	if len(b.added) == 0 {
		return nil
	}
	if len(b.added) < rows {
		c = c.Take(b.added)
	}
	b.remember(c)
	return b.out.add(pick(c, b.of.keep), func() ([]*chunk.Vector, error) { return b.keysOf(c), nil })
}

// keysOf is the keys of rows, normal; the rows themselves stay as they came.
func (b *batchOfKeys) keysOf(c *chunk.Chunk) []*chunk.Vector {
	keys := pick(c, b.of.keys).Cols
	for i, v := range keys {
		keys[i] = rowkey.Normal(v)
	}
	return keys
}

// remember writes down what the state is to know of rows whose keys were added.
func (b *batchOfKeys) remember(c *chunk.Chunk) {
	b.work().Updated += int64(c.Rows)
	b.total += int64(c.Rows)
	if b.of.delay < 0 {
		return
	}
	at, until := make([]int32, c.Rows), chunk.Make(plan.Long, c.Rows)
	times, valid := timesOf(c.Cols[b.of.timeAt])
	for i, t := range times {
		// Spark reads the time of NULL as 0.
		if !valid.Get(i) {
			t = 0
		}
		chunk.Values[int64](until)[i] = t + b.of.delay
		at[i] = b.rows[b.added[i]]
	}
	b.table(0).Fill(at, []*chunk.Vector{until})
}
