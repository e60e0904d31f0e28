package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// joining is a join in progress.
type joining struct {
	op       *joinOp
	run      *running
	held     *chunk.Lease
	yield    func(*chunk.Chunk, error) bool
	stopped  bool // nobody wants more rows
	single   bool // all rows go to partition 0
	store    *rowStore
	index    *rowkey.Index
	first    []int32 // the first built row of each key
	last     []int32
	next     []int32 // the next built row of the same key, -1 at the end
	matched  []bool  // of built rows, for a full join
	streamEv *eval.Evaluator
	restEv   *eval.Evaluator
	ids      []int32

	c      *chunk.Chunk // the streamed chunk
	met    []bool       // its rows that found a partner
	past   int          // its rows below it are dealt with
	left   []int32      // pairs not yet dealt with: streamed rows
	right  []int32      // and built rows, -1 for none
	failed error
}

func (j *joining) end() {
	for _, ev := range []*eval.Evaluator{j.streamEv, j.restEv} {
		if ev != nil {
			ev.Release()
		}
	}
	j.held.End()
}

// build reads the built side.
func (j *joining) build() error {
	o := j.op
	j.store = newRowStore(o.built.attrs, j.held)
	if o.residual != nil {
		j.restEv = o.residual.Take(j.run.evaluation())
	}
	if o.keys == nil {
		return j.done(j.store.addAll(o.built.op.rows(j.run)))
	}
	j.streamEv = o.stream.keys.Take(j.run.evaluation())
	j.index = o.keys.NewIndex()
	ev := o.built.keys.Take(j.run.evaluation())
	defer ev.Release()
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
	j.single = j.op.kind == plan.FullJoin || j.held.Held() > broadcastBytes
	if j.op.kind == plan.FullJoin {
		j.matched = make([]bool, j.store.rows)
	}
	return err
}

func (j *joining) addBuilt(ev *eval.Evaluator, c *chunk.Chunk) error {
	keys, sel, err := joinKeys(ev, c, j.op.nullSafe)
	if err != nil {
		return err
	}
	base := int32(j.store.rows)
	if err := j.store.add(c); err != nil {
		return err
	}
	before := j.index.Bytes()
	j.ids = grow(j.ids, c.Rows)
	fresh := j.index.Insert(keys, sel, j.ids, nil)
	for range fresh {
		j.first, j.last = append(j.first, -1), append(j.last, -1)
	}
	for range c.Rows {
		j.next = append(j.next, -1)
	}
	sel.Each(c.Rows, func(i int) {
		id, row := j.ids[i], base+int32(i)
		if j.first[id] < 0 {
			j.first[id] = row
		} else {
			j.next[j.last[id]] = row
		}
		j.last[id] = row
	})
	return j.held.Add(j.index.Bytes() - before + int64(8*len(fresh)+4*c.Rows))
}

// joinKeys is the keys of a chunk, normal, and the rows whose keys can match at
// all; nil for all of them. nullSafe says of each key that NULL equals NULL.
func joinKeys(ev *eval.Evaluator, c *chunk.Chunk, nullSafe []bool) ([]*chunk.Vector, chunk.Sel, error) {
	keys, err := ev.EvalAll(c, nil)
	if err != nil {
		return nil, nil, err
	}
	var strict []*chunk.Vector
	for k, v := range keys {
		keys[k] = rowkey.Normal(v)
		if !nullSafe[k] && (v.Valid != nil || v.Type.Kind == plan.KindNull) {
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
	j.c, j.past = c, 0
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
	} else if j.pair(ids); j.halted() {
		return j.failed
	}
	if semi {
		j.passed(j.op.kind == plan.SemiJoin)
	}
	return nil
}

// lookUp is the number of each streamed row's key, -1 when nothing has it; nil
// when there are no keys.
func (j *joining) lookUp(c *chunk.Chunk) ([]int32, error) {
	if j.op.keys == nil {
		return nil, nil
	}
	keys, sel, err := joinKeys(j.streamEv, c, j.op.nullSafe)
	if err != nil {
		return nil, err
	}
	j.ids = grow(j.ids, c.Rows)
	if sel != nil {
		for i := range j.ids {
			j.ids[i] = -1
		}
	}
	j.index.Find(keys, sel, j.ids)
	return j.ids, nil
}

// pair makes the pairs of the streamed chunk.
func (j *joining) pair(ids []int32) {
	for i := range j.c.Rows {
		switch {
		case ids == nil:
			for row := 0; row < j.store.rows && !j.halted(); row++ {
				j.add(i, int32(row))
			}
		case ids[i] >= 0:
			for row := j.first[ids[i]]; row >= 0 && !j.halted(); row = j.next[row] {
				j.add(i, row)
			}
		}
	}
	j.flush(j.c.Rows)
}

func (j *joining) halted() bool { return j.stopped || j.failed != nil }

// add notes a pair.
func (j *joining) add(left int, right int32) {
	j.left, j.right = append(j.left, int32(left)), append(j.right, right)
	if len(j.left) == chunk.MaxRows {
		j.flush(left)
	}
}

// flush tests and yields the pairs noted. All pairs of the streamed rows below
// upTo are among them or were dealt with before.
func (j *joining) flush(upTo int) {
	if j.halted() {
		return
	}
	if j.failed = j.run.stopped(); j.failed != nil {
		return
	}
	left, right := j.left, j.right
	j.left, j.right = j.left[:0], j.right[:0]
	if j.restEv != nil && len(left) > 0 {
		if left, right, j.failed = j.passing(left, right); j.failed != nil {
			return
		}
	}
	for k, i := range left {
		j.met[i] = true
		if j.matched != nil {
			j.matched[right[k]] = true
		}
	}
	if j.op.kind == plan.SemiJoin || j.op.kind == plan.AntiJoin {
		return
	}
	if j.op.outer {
		left, right = j.withLonely(left, right, upTo)
	}
	j.emit(left, right)
}

// withLonely puts the streamed rows below upTo that met nobody among the pairs,
// each in its place.
func (j *joining) withLonely(left, right []int32, upTo int) (l, r []int32) {
	k := 0
	for ; j.past < upTo; j.past++ {
		for k < len(left) && int(left[k]) <= j.past {
			l, r = append(l, left[k]), append(r, right[k])
			k++
		}
		if !j.met[j.past] {
			l, r = append(l, int32(j.past)), append(r, -1)
		}
	}
	return append(l, left[k:]...), append(r, right[k:]...)
}

// passing is the pairs for which the residual condition is true.
func (j *joining) passing(left, right []int32) (l, r []int32, err error) {
	pairs, err := j.columns(j.op.test, left, right)
	if err != nil {
		return nil, nil, err
	}
	ev := j.restEv
	ev.Begin(pairs)
	sel, err := ev.Filter(0, nil)
	if err != nil || sel == nil {
		return left, right, err
	}
	for k, i := range sel {
		left[k], right[k] = left[i], right[i]
	}
	return left[:len(sel)], right[:len(sel)], nil
}

// columns is the columns of pairs, the left side's first.
func (j *joining) columns(of pairColumns, left, right []int32) (*chunk.Chunk, error) {
	stream, err := pickRows("join", j.c.Cols, of.stream, left)
	if err != nil {
		return nil, err
	}
	built, err := pickRows("join", j.store.cols, of.built, right)
	if err != nil {
		return nil, err
	}
	if j.op.flipped {
		stream, built = built, stream
	}
	return &chunk.Chunk{Cols: append(stream, built...), Rows: len(left), Part: j.part()}, nil
}

func (j *joining) part() int {
	if j.single || j.c == nil {
		return 0
	}
	return j.c.Part
}

func (j *joining) emit(left, right []int32) {
	for len(left) > 0 && !j.halted() {
		n := min(len(left), chunk.MaxRows)
		c, err := j.columns(j.op.out, left[:n], right[:n])
		if j.failed = err; err == nil {
			j.stopped = !j.yield(c, nil)
		}
		left, right = left[n:], right[n:]
	}
}

// passed yields the streamed rows that met somebody, or that did not.
func (j *joining) passed(met bool) {
	sel := make(chunk.Sel, 0, j.c.Rows)
	for i, m := range j.met {
		if m == met {
			sel = append(sel, uint16(i))
		}
	}
	if len(sel) == 0 {
		return
	}
	out := *pick(j.c, j.op.out.stream).Take(sel)
	out.Part = j.part()
	j.stopped = !j.yield(&out, nil)
}

// unmatched yields the built rows that met nobody, at the end of a full join.
func (j *joining) unmatched() error {
	j.c = chunk.Empty(plan.SchemaOf(j.op.stream.attrs))
	var left, right []int32
	for row, met := range j.matched {
		if met {
			continue
		}
		left, right = append(left, -1), append(right, int32(row))
		if len(left) == chunk.MaxRows {
			j.emit(left, right)
			left, right = left[:0], right[:0]
		}
		if j.halted() {
			return j.failed
		}
	}
	j.emit(left, right)
	return j.failed
}
