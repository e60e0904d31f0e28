package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// joining is a join in progress.
type joining struct {
	op       *joinOp
	run      *running
	held     *lease
	yield    func(*chunk.Chunk, error) bool
	stopped  bool // nobody wants more rows
	single   bool // all rows go to partition 0
	store    *rowStore
	index    *keyIndex
	first    []int32 // the first built row of each key
	last     []int32
	next     []int32 // the next built row of the same key, -1 at the end
	matched  []bool  // of built rows, for a full join
	streamEv *Evaluator
	restEv   *Evaluator
	ids      []int32

	c      *chunk.Chunk // the streamed chunk
	met    []bool       // its rows that found a partner
	left   []int32      // pairs not yet dealt with: streamed rows
	right  []int32      // and built rows, -1 for none
	failed error
}

func (j *joining) end() {
	for _, ev := range []*Evaluator{j.streamEv, j.restEv} {
		if ev != nil {
			ev.release()
		}
	}
	j.held.end()
}

// build reads the built side.
func (j *joining) build() error {
	o := j.op
	j.store = newRowStore(o.built.attrs, j.held)
	if o.residual != nil {
		j.restEv = o.residual.take(j.run)
	}
	if o.keys == nil {
		return j.done(j.store.addAll(o.built.op.rows(j.run)))
	}
	j.streamEv = o.stream.keys.take(j.run)
	j.index = o.keys.index()
	ev := o.built.keys.take(j.run)
	defer ev.release()
	for c, err := range o.built.op.rows(j.run) {
		if err == nil {
			err = j.addBuilt(ev, c)
		}
		if err != nil {
			return err
		}
	}
	return j.done(nil)
}

// done ends the built side: its size decides about partitions.
func (j *joining) done(err error) error {
	j.single = j.op.kind == plan.FullJoin || j.held.bytes > broadcastBytes
	if j.op.kind == plan.FullJoin {
		j.matched = make([]bool, j.store.rows)
	}
	return err
}

func (j *joining) addBuilt(ev *Evaluator, c *chunk.Chunk) error {
	keys, sel, err := j.keysOf(ev, c)
	if err != nil {
		return err
	}
	base := int32(j.store.rows)
	if err := j.store.add(c); err != nil {
		return err
	}
	before := j.index.bytes()
	j.ids = grow(j.ids, c.Rows)
	fresh := j.index.insert(keys, sel, j.ids, nil)
	for range fresh {
		j.first, j.last = append(j.first, -1), append(j.last, -1)
	}
	for range c.Rows {
		j.next = append(j.next, -1)
	}
	eachRow(sel, c.Rows, func(i int) {
		id, row := j.ids[i], base+int32(i)
		if j.first[id] < 0 {
			j.first[id] = row
		} else {
			j.next[j.last[id]] = row
		}
		j.last[id] = row
	})
	return j.held.add(j.index.bytes() - before + int64(8*len(fresh)+4*c.Rows))
}

// keysOf is the keys of a chunk and the rows whose keys can match at all.
func (j *joining) keysOf(ev *Evaluator, c *chunk.Chunk) ([]*chunk.Vector, chunk.Sel, error) {
	keys, err := ev.EvalAll(c, nil)
	if err != nil {
		return nil, nil, err
	}
	var strict []*chunk.Vector
	for k, v := range keys {
		keys[k] = normal(v)
		if !j.op.nullSafe[k] && (v.Valid != nil || v.Type.Kind == plan.KindNull) {
			strict = append(strict, v)
		}
	}
	if len(strict) == 0 {
		return keys, nil, nil
	}
	whole, _ := splitNulls(strict, nil, c.Rows)
	return keys, whole, nil
}

// streamPast joins every chunk of the streamed side.
func (j *joining) streamPast() error {
	for c, err := range j.op.stream.op.rows(j.run) {
		if err == nil {
			err = j.streamed(c)
		}
		if err != nil || j.stopped {
			return err
		}
	}
	return nil
}

func (j *joining) streamed(c *chunk.Chunk) error {
	j.c = c
	j.met = grow(j.met, c.Rows)
	clear(j.met)
	ids, err := j.lookUp(c)
	if err != nil {
		return err
	}
	semi := j.op.kind == plan.SemiJoin || j.op.kind == plan.AntiJoin
	if semi && j.op.residual == nil {
		for i := range j.met {
			j.met[i] = ids == nil && j.store.rows > 0 || ids != nil && ids[i] >= 0
		}
	} else if err := j.pair(ids); err != nil || j.stopped {
		return err
	}
	switch {
	case semi:
		return j.passed(j.op.kind == plan.SemiJoin)
	case j.op.outer && j.op.residual != nil:
		return j.lonely()
	}
	return nil
}

// lookUp is the number of each streamed row's key, -1 when nothing has it; nil
// when there are no keys.
func (j *joining) lookUp(c *chunk.Chunk) ([]int32, error) {
	if j.op.keys == nil {
		return nil, nil
	}
	keys, sel, err := j.keysOf(j.streamEv, c)
	if err != nil {
		return nil, err
	}
	j.ids = grow(j.ids, c.Rows)
	if sel != nil {
		for i := range j.ids {
			j.ids[i] = -1
		}
	}
	j.index.find(keys, sel, j.ids)
	return j.ids, nil
}

// pair makes the pairs of the streamed chunk.
func (j *joining) pair(ids []int32) error {
	for i := range j.c.Rows {
		if ids == nil {
			for row := range j.store.rows {
				j.add(int32(i), int32(row))
				if j.halted() {
					return j.failed
				}
			}
		} else if ids[i] >= 0 {
			for row := j.first[ids[i]]; row >= 0; row = j.next[row] {
				j.add(int32(i), row)
				if j.halted() {
					return j.failed
				}
			}
		}
		if j.op.outer && j.op.residual == nil && !j.partner(ids, i) {
			j.add(int32(i), -1)
		}
	}
	j.flush()
	return j.failed
}

func (j *joining) halted() bool { return j.stopped || j.failed != nil }

func (j *joining) partner(ids []int32, i int) bool {
	return ids == nil && j.store.rows > 0 || ids != nil && ids[i] >= 0
}

// add notes a pair.
func (j *joining) add(left, right int32) {
	j.left, j.right = append(j.left, left), append(j.right, right)
	if len(j.left) == chunk.MaxRows {
		j.flush()
	}
}

// flush tests and yields the pairs noted.
func (j *joining) flush() {
	if len(j.left) == 0 || j.halted() {
		return
	}
	if j.failed = j.run.stopped(); j.failed != nil {
		return
	}
	left, right := j.left, j.right
	j.left, j.right = j.left[:0], j.right[:0]
	if j.restEv != nil {
		if left, right, j.failed = j.passing(left, right); j.failed != nil {
			return
		}
	}
	if j.op.residual != nil || j.matched != nil {
		for k, i := range left {
			j.met[i] = true
			if j.matched != nil && right[k] >= 0 {
				j.matched[right[k]] = true
			}
		}
	}
	if j.op.kind != plan.SemiJoin && j.op.kind != plan.AntiJoin {
		j.emit(left, right)
	}
}

// passing is the pairs for which the residual condition is true.
func (j *joining) passing(left, right []int32) (l, r []int32, err error) {
	pairs := j.columns(j.op.test, left, right)
	ev := j.restEv
	ev.begin(pairs)
	sel, err := ev.filter(j.op.residual.outs[0], nil)
	if err != nil || sel == nil {
		return left, right, err
	}
	for k, i := range sel {
		left[k], right[k] = left[i], right[i]
	}
	return left[:len(sel)], right[:len(sel)], nil
}

// columns is the columns of pairs, the left side's first.
func (j *joining) columns(of pairColumns, left, right []int32) *chunk.Chunk {
	stream := make([]*chunk.Vector, len(of.stream))
	for i, k := range of.stream {
		stream[i] = chunk.Gather(j.c.Cols[k], left)
	}
	built := j.store.gather(of.built, right)
	if j.op.flipped {
		stream, built = built, stream
	}
	return &chunk.Chunk{Cols: append(stream, built...), Rows: len(left), Part: j.part()}
}

func (j *joining) part() int {
	if j.single || j.c == nil {
		return 0
	}
	return j.c.Part
}

func (j *joining) emit(left, right []int32) {
	if len(left) == 0 {
		return
	}
	j.stopped = !j.yield(j.columns(j.op.out, left, right), nil)
}

// lonely yields the streamed rows that met nobody.
func (j *joining) lonely() error {
	for i, met := range j.met {
		if !met {
			j.left, j.right = append(j.left, int32(i)), append(j.right, -1)
		}
	}
	left, right := j.left, j.right
	j.left, j.right = j.left[:0], j.right[:0]
	j.emit(left, right)
	return nil
}

// passed yields the streamed rows that met somebody, or that did not.
func (j *joining) passed(met bool) error {
	sel := make(chunk.Sel, 0, j.c.Rows)
	for i, m := range j.met {
		if m == met {
			sel = append(sel, uint16(i))
		}
	}
	if len(sel) == 0 {
		return nil
	}
	out := *pick(j.c, j.op.out.stream).Take(sel)
	out.Part = j.part()
	j.stopped = !j.yield(&out, nil)
	return nil
}

// unmatched yields the built rows that met nobody, at the end of a full join.
func (j *joining) unmatched() error {
	j.c = chunk.Empty(plan.SchemaOf(j.op.stream.attrs))
	for row, met := range j.matched {
		if met {
			continue
		}
		j.left, j.right = append(j.left, -1), append(j.right, int32(row))
		if len(j.left) == chunk.MaxRows {
			j.emit(j.left, j.right)
			j.left, j.right = j.left[:0], j.right[:0]
			if j.stopped {
				return nil
			}
		}
	}
	j.emit(j.left, j.right)
	return nil
}
