package exec

import (
	"cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
)

// batchOfPairs is a streamJoin in one batch.
type batchOfPairs struct {
	working
	of     *streamJoin
	r      *running
	out    *placing
	rest   *eval.Evaluator
	held   *chunk.Lease // what the batch adds to the state, until the state itself is charged
	before int64        // bytes of the state when the batch began
}

func (j *batchOfPairs) run() error {
	j.held, j.before = j.r.lease("join of streams"), j.stateBytes()
	defer j.held.End()
	if j.of.residual != nil {
		j.rest = j.of.residual.Take(j.r.evaluation())
		defer j.rest.Release()
	}
	order := []int{leftSide, rightSide}
	if j.of.kind == plan.SemiJoin {
		// Left rows that meet a row of their own batch need not be kept.
		order = []int{rightSide, leftSide}
	}
	for _, s := range order {
		if err := j.take(s); err != nil {
			return err
		}
	}
	j.updated()
	for s := range j.of.sides {
		if err := j.giveUp(s); err != nil {
			return err
		}
	}
	j.out.end()
	j.removed()
	return nil
}

// take reads the rows of a side, joins them with the other side and keeps them.
func (j *batchOfPairs) take(s int) error {
	side := &j.of.sides[s]
	keys := side.keys.Take(j.r.evaluation())
	defer keys.Release()
	var before *eval.Evaluator
	if side.before != nil {
		before = side.before.Take(j.r.evaluation())
		defer before.Release()
	}
	for c, err := range side.in.rows(j.r) {
		if err == nil {
			c = j.onTime(s, c)
			c, err = j.alone(s, before, c)
		}
		if err == nil && c.Rows > 0 {
			err = j.join(s, keys, c)
		}
		if err == nil {
			err = j.held.Hold(max(0, j.stateBytes()-j.before))
		}
		if err == nil {
			err = j.r.stopped()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *batchOfPairs) stateBytes() int64 {
	return j.table(leftSide).Bytes() + j.table(rightSide).Bytes()
}

// onTime takes out the rows that come too late.
func (j *batchOfPairs) onTime(s int, c *chunk.Chunk) *chunk.Chunk {
	at := j.of.sides[s].timeAt
	if at < 0 {
		return c
	}
	onTime, late := splitLate(c.Cols[at], j.lateMicros())
	if len(late) == 0 {
		return c
	}
	j.work().Dropped += int64(len(late))
	return c.Take(onTime)
}

// alone takes out the rows that a condition on this side rules out: they are
// unmatched at once.
func (j *batchOfPairs) alone(s int, before *eval.Evaluator, c *chunk.Chunk) (*chunk.Chunk, error) {
	if before == nil || c.Rows == 0 {
		return c, nil
	}
	before.Begin(c)
	pass, err := before.Filter(0, nil)
	if err != nil || pass == nil {
		return c, err
	}
	if j.of.sides[s].padded {
		err = j.pad(s, c.Take(others(pass, c.Rows)))
	}
	return c.Take(pass), err
}

// others is the rows that a selection leaves out.
func others(sel chunk.Sel, n int) chunk.Sel {
	out, k := chunk.Sel{}, 0
	for i := range n {
		if k < len(sel) && int(sel[k]) == i {
			k++
			continue
		}
		out = append(out, uint16(i))
	}
	return out
}

// join joins rows of a side with what the other one has kept, and keeps them.
func (j *batchOfPairs) join(s int, ev *eval.Evaluator, c *chunk.Chunk) error {
	keys, whole, err := joinKeys(ev, c, j.of.nullSafe)
	if err != nil {
		return err
	}
	if len(whole) == c.Rows {
		whole = nil
	}
	if whole != nil && !j.of.sides[s].padded {
		// Rows with a NULL key meet nobody.
		if c = c.Take(whole); c.Rows == 0 {
			return nil
		}
		for k, v := range keys {
			keys[k] = (&chunk.Chunk{Cols: []*chunk.Vector{v}, Rows: v.Len}).Take(whole).Cols[0]
		}
		whole = nil
	}
	found := make([]int32, c.Rows)
	j.table(1-s).Find(keys, found)
	if whole != nil {
		for _, i := range others(whole, c.Rows) {
			found[i] = -1
		}
	}
	met := make([]bool, c.Rows)
	if err := j.meet(s, c, found, met); err != nil {
		return err
	}
	return j.keep(s, c, keys, met)
}

// meet yields the pairs of rows with the rows of the other side that have their
// keys, and notes who met somebody.
func (j *batchOfPairs) meet(s int, c *chunk.Chunk, found []int32, met []bool) error {
	other := j.table(1 - s)
	var mine, theirs []int32
	for i, row := range found {
		for ; row >= 0; row = other.Next(row) {
			mine, theirs = append(mine, int32(i)), append(theirs, row)
			if len(mine) < chunk.MaxRows {
				continue
			}
			if err := j.pairs(s, c, mine, theirs, met); err != nil {
				return err
			}
			mine, theirs = mine[:0], theirs[:0]
		}
	}
	if len(mine) == 0 {
		return nil
	}
	return j.pairs(s, c, mine, theirs, met)
}

// pairs tests pairs and yields those that pass. For a left row of a semi join
// its first partner is enough.
func (j *batchOfPairs) pairs(s int, c *chunk.Chunk, mine, theirs []int32, met []bool) error {
	mine, theirs = append([]int32(nil), mine...), append([]int32(nil), theirs...)
	values := j.table(1 - s).Values(theirs)
	cols := [2][]*chunk.Vector{}
	for _, v := range c.Cols {
		cols[s] = append(cols[s], chunk.Gather(v, mine))
	}
	cols[1-s] = values[:len(j.of.sides[1-s].attrs)]
	both := &chunk.Chunk{Cols: append(append([]*chunk.Vector(nil), cols[0]...), cols[1]...), Rows: len(mine)}
	if j.rest != nil {
		j.rest.Begin(both)
		pass, err := j.rest.Filter(0, nil)
		if err != nil {
			return err
		}
		if pass != nil {
			both = both.Take(pass)
			for k, i := range pass {
				mine[k], theirs[k] = mine[i], theirs[i]
			}
			mine, theirs = mine[:len(pass)], theirs[:len(pass)]
		}
	}
	if len(mine) == 0 {
		return nil
	}
	if j.of.kind == plan.SemiJoin {
		return j.semi(s, c, mine, theirs, met)
	}
	for _, i := range mine {
		met[i] = true
	}
	if j.of.sides[1-s].marked {
		j.mark(1-s, theirs)
	}
	left := len(j.of.sides[leftSide].attrs)
	return j.emit(leftSide, [2][]*chunk.Vector{both.Cols[:left], both.Cols[left:]}, both.Rows)
}

// semi yields left rows that met somebody for the first time. Kept ones are
// given up by that.
func (j *batchOfPairs) semi(s int, c *chunk.Chunk, mine, theirs []int32, met []bool) error {
	if s == leftSide {
		var first chunk.Sel
		for _, i := range mine {
			if !met[i] {
				met[i] = true
				first = append(first, uint16(i))
			}
		}
		if len(first) == 0 {
			return nil
		}
		return j.emit(leftSide, [2][]*chunk.Vector{leftSide: c.Take(first).Cols}, len(first))
	}
	table := j.table(leftSide)
	rows := distinctRows(theirs)
	err := j.emit(leftSide, [2][]*chunk.Vector{leftSide: table.Values(rows)}, len(rows))
	table.Remove(rows)
	j.work().Removed += int64(len(rows))
	return err
}

func distinctRows(rows []int32) []int32 {
	seen := make(map[int32]bool, len(rows))
	out := make([]int32, 0, len(rows))
	for _, row := range rows {
		if !seen[row] {
			seen[row] = true
			out = append(out, row)
		}
	}
	return out
}

// mark notes in kept rows that they met somebody.
func (j *batchOfPairs) mark(s int, rows []int32) {
	table, n := j.table(s), len(j.of.sides[s].attrs)
	rows = distinctRows(rows)
	flags := chunk.Values[uint8](table.Values(rows)[n+metColumn])
	fresh := rows[:0]
	for i, row := range rows {
		if flags[i] == 0 {
			fresh = append(fresh, row)
		}
	}
	if len(fresh) == 0 {
		return
	}
	values := table.Values(fresh)
	for i := range fresh {
		chunk.Values[uint8](values[n+metColumn])[i] = 1
	}
	table.Update(fresh, values)
}

// keep puts rows into the side's table.
func (j *batchOfPairs) keep(s int, c *chunk.Chunk, keys []*chunk.Vector, met []bool) error {
	if s == leftSide && j.of.kind == plan.SemiJoin {
		var alone chunk.Sel
		for i, m := range met {
			if !m {
				alone = append(alone, uint16(i))
			}
		}
		if len(alone) == 0 {
			return nil
		}
		if len(alone) < c.Rows {
			keys = (&chunk.Chunk{Cols: keys, Rows: c.Rows}).Take(alone).Cols
			c, met = c.Take(alone), make([]bool, len(alone))
		}
	}
	flags := chunk.Make(plan.Boolean, c.Rows)
	for i, m := range met {
		if m {
			chunk.Values[uint8](flags)[i] = 1
		}
	}
	side := &j.of.sides[s]
	values := append(append([]*chunk.Vector(nil), c.Cols...), flags, side.due.micros(c, keys, side.attrs))
	j.work().Updated += int64(c.Rows)
	return j.table(s).Put(keys, values, make([]int32, c.Rows))
}

// giveUp removes the rows of a side for which no partner can come any more, and
// yields those that never met one, if the join tells of them.
func (j *batchOfPairs) giveUp(s int) error {
	side, table := &j.of.sides[s], j.table(s)
	if side.due == nil {
		return nil
	}
	due := table.Due(j.evictMicros())
	var err error
	stateRows(due, func(rows []int32) bool {
		if side.padded {
			err = j.padAlone(s, table, rows)
		}
		return err == nil
	})
	table.Remove(due)
	j.work().Removed += int64(len(due))
	return cmp.Or(err, j.r.stopped())
}

func (j *batchOfPairs) padAlone(s int, table *state.Table, rows []int32) error {
	n := len(j.of.sides[s].attrs)
	values := table.Values(rows)
	flags := chunk.Values[uint8](values[n+metColumn])
	var alone chunk.Sel
	for i := range rows {
		if flags[i] == 0 {
			alone = append(alone, uint16(i))
		}
	}
	if len(alone) == 0 {
		return nil
	}
	return j.pad(s, (&chunk.Chunk{Cols: values[:n], Rows: len(rows)}).Take(alone))
}

// pad yields rows of a side with NULLs for the other.
func (j *batchOfPairs) pad(s int, c *chunk.Chunk) error {
	if c.Rows == 0 {
		return nil
	}
	var cols [2][]*chunk.Vector
	cols[s] = c.Cols
	for _, a := range j.of.sides[1-s].attrs {
		cols[1-s] = append(cols[1-s], chunk.NullVector(a.Of, c.Rows))
	}
	return j.emit(s, cols, c.Rows)
}

// emit yields rows made of columns of both sides. The keys of side s are theirs.
func (j *batchOfPairs) emit(s int, cols [2][]*chunk.Vector, n int) error {
	out := &chunk.Chunk{Rows: n}
	for side, columns := range j.of.out {
		for _, k := range columns {
			out.Cols = append(out.Cols, cols[side][k])
		}
	}
	return j.out.add(out, func() ([]*chunk.Vector, error) {
		ev := j.of.sides[s].keys.Take(j.r.evaluation())
		defer ev.Release()
		keys, err := ev.EvalAll(&chunk.Chunk{Cols: cols[s], Rows: n}, nil)
		return normals(keys), err
	})
}
