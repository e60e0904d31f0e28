package exec

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/rowkey"
)

// Of lists and maps a group's elements go along when there are at most so many,
// and so many in a turn. Else the worker asks for them.
const (
	alongGroup = 32
	alongTurn  = 8192
)

// notAlong says that a group has elements that do not go along.
const notAlong = -1

// What happened to a variable of a group. Clearing comes before the rest.
const (
	variablePut = iota // a value, an entry of a map; a list gets one more element
	variableRemoved
	variableCleared
)

// alive leaves the rows that have not lived their time.
func (b *batchOfTransform) alive(i int, rows []int32) []int32 {
	if b.of.vars[i].TTL <= 0 || len(rows) == 0 {
		return rows
	}
	out, values := rows[:0:0], b.table(i).Values(rows)
	until := chunk.Values[int64](values[1])
	for k, row := range rows {
		if until[k] > b.now() {
			out = append(out, row)
		}
	}
	return out
}

// fetch is what goes along of a variable: a column over the groups, the value or
// the number of elements, and the elements.
func (b *batchOfTransform) fetch(i int, turn transformTurn) (*chunk.Vector, *chunk.Chunk) {
	v := &b.of.vars[i]
	if v.Kind == ValueState {
		return b.values(i, turn), nil
	}
	first := make([]int32, turn.n)
	b.table(i).FindPrefix(turn.keys, first)
	counts := make([]int32, turn.n)
	var all []int32
	for g, row := range first {
		rows := b.chain(i, row, alongGroup+1)
		if len(rows) > alongGroup || len(all)+len(rows) > alongTurn {
			counts[g] = notAlong
			continue
		}
		rows = b.inOrder(i, b.alive(i, rows))
		counts[g] = int32(len(rows))
		all = append(all, rows...)
	}
	return chunk.Of(plan.Int, counts), b.elements(i, all)
}

// values is the values of groups, NULL where there is none.
func (b *batchOfTransform) values(i int, turn transformTurn) *chunk.Vector {
	found := make([]int32, turn.n)
	b.table(i).Find(turn.keys, found)
	there := make([]int32, 0, turn.n)
	for _, row := range found {
		if row >= 0 {
			there = append(there, row)
		}
	}
	there = b.alive(i, there)
	if len(there) == 0 {
		return chunk.NullVector(b.of.vars[i].Value, turn.n)
	}
	place, next := make([]int32, turn.n), int32(0)
	for g, row := range found {
		place[g] = -1
		if int(next) < len(there) && row == there[next] {
			place[g] = next
			next++
		}
	}
	return chunk.Gather(b.table(i).Values(there)[0], place)
}

// chain is the rows of a group from its first one on, at most n.
func (b *batchOfTransform) chain(i int, row int32, n int) []int32 {
	var rows []int32
	for ; row >= 0 && len(rows) < n; row = b.table(i).Next(row) {
		rows = append(rows, row)
	}
	return rows
}

// inOrder sorts the elements of a list.
func (b *batchOfTransform) inOrder(i int, rows []int32) []int32 {
	if b.of.vars[i].Kind != ListState || len(rows) < 2 {
		return rows
	}
	keys := b.table(i).Keys(rows)
	at := chunk.Values[int64](keys[len(b.of.keys)])
	order := make([]int32, len(rows))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(x, y int32) int { return cmp.Compare(at[x], at[y]) })
	for k, from := range order {
		order[k] = rows[from]
	}
	return order
}

// elements is rows of a list, a map or the timers as the worker gets them.
func (b *batchOfTransform) elements(i int, rows []int32) *chunk.Chunk {
	v, table := &b.of.vars[i], b.table(i)
	c := &chunk.Chunk{Rows: len(rows)}
	switch {
	case v.Name == timersName:
		c.Cols = table.Keys(rows)[len(b.of.keys):]
	case v.Kind == MapState:
		c.Cols = []*chunk.Vector{table.Keys(rows)[len(b.of.keys)], table.Values(rows)[0]}
	default:
		c.Cols = table.Values(rows)[:1]
	}
	return c
}

// question is what the worker asks: all elements of a group, or the entry of a
// map under a key, which follows as an Arrow stream.
type question struct {
	Variable int
	Group    int32
	Key      bool
}

// asked answers a question: the length of its JSON, the JSON, and the key.
func (b *batchOfTransform) asked(payload []byte) (pyworker.Turn, error) {
	if len(payload) < 4 || int(binary.BigEndian.Uint32(payload)) > len(payload)-4 {
		return pyworker.Turn{}, errors.New("a question that is cut off")
	}
	n := 4 + int(binary.BigEndian.Uint32(payload))
	var q question
	if err := json.Unmarshal(payload[4:n], &q); err != nil {
		return pyworker.Turn{}, err
	}
	group := gatherAll(b.turn.keys, []int32{q.Group})
	rows := []int32{-1}
	if q.Key {
		key, err := pyworker.ReadRows(payload[n:], plan.Struct(plan.Col("key", b.of.vars[q.Variable].Key)))
		if err != nil {
			return pyworker.Turn{}, err
		}
		b.table(q.Variable).Find(append(group, rowkey.Normal(key.Cols[0])), rows)
		rows = slices.DeleteFunc(rows, func(row int32) bool { return row < 0 })
	} else {
		b.table(q.Variable).FindPrefix(group, rows)
		rows = b.chain(q.Variable, rows[0], b.table(q.Variable).Len())
	}
	rows = b.inOrder(q.Variable, b.alive(q.Variable, rows))
	var turn pyworker.Turn
	stateRows(rows, func(some []int32) bool {
		turn.Parts = append(turn.Parts, pyworker.Part{
			Name: "elements", Of: b.of.vars[q.Variable].element(), Rows: b.elements(q.Variable, some),
		})
		return true
	})
	return turn, b.r.stopped()
}

// changed puts what became of a variable into the store.
func (b *batchOfTransform) changed(i int, c *chunk.Chunk) error {
	if i == len(b.of.vars) {
		for k := range c.Rows {
			b.work().Updated += chunk.Values[int64](c.Cols[0])[k]
			b.work().Removed += chunk.Values[int64](c.Cols[1])[k]
		}
		return nil
	}
	groups, what := chunk.Values[int32](c.Cols[0]), chunk.Values[int32](c.Cols[1])
	var some [variableCleared + 1][]int32
	for k, w := range what {
		some[w] = append(some[w], int32(k))
	}
	of := func(rows []int32) []*chunk.Vector {
		at := make([]int32, len(rows))
		for k, row := range rows {
			at[k] = groups[row]
		}
		return gatherAll(b.turn.keys, at)
	}
	if rows := some[variableCleared]; len(rows) > 0 {
		b.clear(i, of(rows), len(rows))
	}
	if rows := some[variableRemoved]; len(rows) > 0 {
		found := make([]int32, len(rows))
		b.table(i).Find(b.elementKeys(i, of(rows), c, rows), found)
		b.table(i).Remove(slices.DeleteFunc(found, func(row int32) bool { return row < 0 }))
	}
	rows := some[variablePut]
	if len(rows) == 0 {
		return b.r.stopped()
	}
	return b.put(i, b.elementKeys(i, of(rows), c, rows), c, rows)
}

// clear removes all that groups have of a variable.
func (b *batchOfTransform) clear(i int, groups []*chunk.Vector, n int) {
	found, table := make([]int32, n), b.table(i)
	if b.of.vars[i].Kind == ValueState {
		table.Find(groups, found)
		table.Remove(slices.DeleteFunc(found, func(row int32) bool { return row < 0 }))
		return
	}
	table.FindPrefix(groups, found)
	for _, row := range found {
		table.Remove(b.chain(i, row, table.Len()))
	}
}

// elementKeys are the keys in the table of a variable. An element that is added to
// a list gets a place behind all others.
func (b *batchOfTransform) elementKeys(i int, groups []*chunk.Vector, c *chunk.Chunk, rows []int32,
) []*chunk.Vector {
	v := &b.of.vars[i]
	switch {
	case v.Kind == ValueState:
		return groups
	case v.Kind == MapState || v.Name == timersName:
		return append(groups, rowkey.Normal(chunk.Gather(c.Cols[2], rows)))
	}
	at := make([]int64, len(rows))
	for k := range at {
		at[k] = b.store().Version()<<32 | b.order
		b.order++
	}
	return append(groups, chunk.Of(plan.Long, at))
}

// put writes values under keys.
func (b *batchOfTransform) put(i int, keys []*chunk.Vector, c *chunk.Chunk, rows []int32) error {
	v, table := &b.of.vars[i], b.table(i)
	var values []*chunk.Vector
	if v.Name != timersName {
		values = append(values, chunk.Gather(c.Cols[len(c.Cols)-1], rows))
	}
	if v.TTL > 0 {
		values = append(values, chunk.Repeat(b.now()+v.TTL, plan.Long, len(rows)))
	}
	at := make([]int32, len(rows))
	table.Find(keys, at)
	if err := table.Put(keys, values, at); err != nil {
		return err
	}
	return b.r.stopped()
}
