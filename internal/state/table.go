package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Column names a column of a table.
type Column struct {
	Name string
	Type plan.Type
}

// Shape is what a table holds.
type Shape struct {
	Name       string // of the table within its store
	Key, Value []Column
	// Many says that several rows may have one key.
	Many bool
	// Expiry is the value column, of 64 bits, that says when a row is due (NULL:
	// never); 0 for none, else its number from 1. ExpiryKey is the same for the
	// key columns. A struct, such as a window, counts by its last field.
	Expiry, ExpiryKey int
	// Millis says that times are in ms rather than in µs.
	Millis bool
	// Prefix is how many key columns, the first ones, rows can be found by too.
	Prefix int
}

// Table is rows of one shape; see the package.
type Table struct {
	shape  Shape
	rows   *rows
	index  *index
	expiry *expiry // nil when nothing expires
	groups *index  // of the first rows of each prefix; nil without one
	timeAt int     // where the time stands in a key or value of fixed width, else -1
	timeIf []mask  // its NULL bits there, and that of the struct around it
	// The chain of the rows of one key, if there may be many, or of one prefix.
	next, prev []int32

	dirty   bits
	changed []int32

	keys, values encoded
	prefixes     encoded
	found        [ahead]int32 // by lookUp
	touched      uint64       // keeps warm from being optimized away
	scratch      []int32      // of callers
}

// maxRows is how many rows a table can number.
const maxRows = math.MaxInt32 - 1

func newTable(s Shape) *Table {
	key, value := newForm(typesOf(s.Key)), newForm(typesOf(s.Value))
	if s.Prefix > 0 {
		// Only then the bytes of a key begin with those of its first columns.
		key.fixed = false
	}
	t := &Table{shape: s, rows: newRows(key, value), index: newIndex()}
	t.keys.form, t.values.form = key, value
	if s.Prefix > 0 {
		t.groups = newIndex()
		t.prefixes.form = newForm(typesOf(s.Key[:s.Prefix]))
		t.prefixes.form.fixed = false
	}
	if s.Expiry > 0 || s.ExpiryKey > 0 {
		t.expiry = newExpiry(s.Millis)
		t.timeAt, t.timeIf = timePlace(s, key, value)
	}
	return t
}

func typesOf(columns []Column) []plan.Type {
	out := make([]plan.Type, len(columns))
	for i, c := range columns {
		out[i] = c.Type
	}
	return out
}

// timePlace finds the time in a row, and the bits that say that it is NULL.
func timePlace(s Shape, key, value *form) (at int, nulls []mask) {
	f, column := value, s.Expiry-1
	if s.ExpiryKey > 0 {
		f, column = key, s.ExpiryKey-1
	}
	if !f.fixed {
		return -1, nil
	}
	c := &f.cells[column]
	for nulls = withBit(nulls, c.bit); len(c.kids) > 0; nulls = withBit(nulls, c.bit) {
		c = &c.kids[len(c.kids)-1]
	}
	if c.width != 8 {
		panic(fmt.Sprintf("rows cannot expire by a column of type %s", c.of.Simple()))
	}
	return c.at, nulls
}

// mask is some bits of a byte of a row.
type mask struct {
	at   int
	bits byte
}

// withBit is masks that pick one bit more.
func withBit(masks []mask, bit int) []mask {
	if n := len(masks); n > 0 && masks[n-1].at == bit/8 {
		masks[n-1].bits |= 1 << (bit % 8)
		return masks
	}
	return append(masks, mask{bit / 8, 1 << (bit % 8)})
}

// Shape is what the table holds.
func (t *Table) Shape() Shape { return t.shape }

// Len is the number of rows.
func (t *Table) Len() int { return t.rows.count }

// Bytes is the memory that the table takes.
func (t *Table) Bytes() int64 {
	n := t.rows.memory() + t.index.bytes() + t.groups.bytes()
	n += int64(8*cap(t.dirty) + 4*cap(t.changed) + 4*cap(t.next) + 4*cap(t.prev) + 4*cap(t.scratch))
	if t.expiry != nil {
		n += t.expiry.bytes()
	}
	return n
}

// release says that the table will not grow any more, and hardly be read.
func (t *Table) release() {
	t.index.release()
	t.groups.release()
	t.rows.release()
	advise(t.scratch, false)
}

// RowBytes is about what a row of fixed width takes, with its places in the indexes.
func (t *Table) RowBytes() int64 { return int64(t.rows.width) + 32 }

// Find gives the row of each key, or -1. Of a key with many rows it is the
// first one; Next leads to the others. Keys are at most chunk.MaxRows.
func (t *Table) Find(keys []*chunk.Vector, found []int32) {
	t.keys.encode(keys, len(found))
	t.keys.hash(len(found))
	for from := 0; from < len(found); from += ahead {
		to := min(from+ahead, len(found))
		for k, row := range t.lookUp(from, to) {
			key := t.keys.row(from + k)
			if row >= 0 && !bytes.Equal(t.rows.keyOf(row), key) {
				row, _ = t.search(t.keys.hashes[from+k], key)
			}
			found[from+k] = row
		}
	}
}

// Put writes values under keys, at most chunk.MaxRows. at is what Find gave for
// the keys: rows that are there get the new value, the others are added, and at
// holds their numbers afterwards. Keys to be added are distinct, unless the
// table takes many rows of a key; then every row is added and at is only
// filled.
func (t *Table) Put(keys, values []*chunk.Vector, at []int32) error {
	n := len(at)
	t.keys.encode(keys, n)
	t.keys.hash(n)
	t.values.encode(values, n)
	t.warm(at)
	for i := range n {
		if !t.shape.Many && at[i] >= 0 {
			t.replace(at[i], t.values.row(i))
			continue
		}
		if t.rows.count >= maxRows {
			return fmt.Errorf("a state table holds %d rows, its limit", t.rows.count)
		}
		at[i] = t.insert(t.keys.row(i), t.keys.hashes[i], t.values.row(i))
	}
	t.rows.tidy()
	return nil
}

// warm reads what Put is about to write, in a loop so short that the processor
// waits for many places of memory at once.
func (t *Table) warm(at []int32) {
	sum := t.touched
	for i, row := range at {
		if row < 0 || t.shape.Many {
			sum += t.index.home(t.keys.hashes[i])
		} else if t.rows.width > 0 {
			sum += uint64(t.rows.bytes(row)[0])
		}
	}
	t.touched = sum
}

// Update writes values to rows that are there, at most chunk.MaxRows.
func (t *Table) Update(at []int32, values []*chunk.Vector) {
	t.values.encode(values, len(at))
	for from := 0; from < len(at); from += ahead {
		some := at[from:min(from+ahead, len(at))]
		t.look(some)
		for i, row := range some {
			t.replace(row, t.values.row(from+i))
		}
	}
	t.rows.tidy()
}

// look reads what replace is about to write of rows, as warm does.
func (t *Table) look(at []int32) {
	sum := t.touched + t.rows.look(at)
	for _, row := range at {
		if w := int(row >> 6); w < len(t.dirty) {
			sum += t.dirty[w]
		}
	}
	t.touched = sum
}

func (t *Table) replace(row int32, value []byte) {
	if t.expiry == nil || t.shape.ExpiryKey > 0 {
		t.rows.change(row, value)
		t.touch(row)
		return
	}
	before, _ := t.time(row)
	t.rows.change(row, value)
	t.touch(row)
	if after, _ := t.time(row); after>>t.expiry.bits != before>>t.expiry.bits {
		t.expiry.add(row, after)
	}
}

func (t *Table) insert(key []byte, hash uint32, value []byte) int32 {
	row := t.rows.take()
	t.rows.fill(row, key, value)
	t.expire(row)
	t.enter(row, hash)
	t.touch(row)
	return row
}

// expire puts a row that has its bytes into the index by time.
func (t *Table) expire(row int32) {
	if t.expiry != nil {
		at, _ := t.time(row)
		t.expiry.add(row, at)
	}
}

// enter puts a row that has its key into the index.
func (t *Table) enter(row int32, hash uint32) {
	switch {
	case t.shape.Many:
		t.link(row, hash, t.index, t.rows.keyOf)
	case t.groups != nil:
		t.index.add(hash, row)
		t.link(row, hashOf(t.prefixOf(row)), t.groups, t.prefixOf)
	default:
		t.index.add(hash, row)
	}
}

// link puts a row into the chain of those for which key gives the same bytes.
func (t *Table) link(row int32, hash uint32, heads *index, key func(row int32) []byte) {
	for int(row) >= len(t.next) {
		t.next, t.prev = append(t.next, -1), append(t.prev, -1)
	}
	t.next[row], t.prev[row] = -1, -1
	own := key(row)
	first := heads.find(hash, func(r int32) bool { return bytes.Equal(key(r), own) })
	if first < 0 {
		heads.add(hash, row)
		return
	}
	// Behind the first one, so that the index stays as it is.
	second := t.next[first]
	t.next[row], t.prev[row], t.next[first] = second, first, row
	if second >= 0 {
		t.prev[second] = row
	}
}

// Next is the row after a row of the same key, or of the same prefix, or -1.
func (t *Table) Next(row int32) int32 { return t.next[row] }

// Remove ends rows.
func (t *Table) Remove(rows []int32) {
	for len(rows) > 0 {
		n := min(chunk.MaxRows, len(rows))
		t.remove(rows[:n])
		rows = rows[n:]
	}
	t.rows.tidy()
}

// remove ends some rows, whose slots it looks at first, in a loop so short that the
// processor waits for many of them at once.
func (t *Table) remove(rows []int32) {
	t.keys.hashes = sized(t.keys.hashes, max(len(rows), chunk.MaxRows))[:len(rows)]
	sum := t.touched
	for i, row := range rows {
		hash := hashOf(t.rows.keyOf(row))
		t.keys.hashes[i] = hash
		sum += t.index.home(hash)
	}
	t.touched = sum
	for i, row := range rows {
		hash := t.keys.hashes[i]
		switch {
		case t.shape.Many:
			t.unlink(row, hash, t.index)
		case t.groups != nil:
			t.unlink(row, hashOf(t.prefixOf(row)), t.groups)
			t.index.remove(hash, row)
		default:
			t.index.remove(hash, row)
		}
		t.rows.drop(row)
		t.touch(row)
	}
}

func (t *Table) unlink(row int32, hash uint32, heads *index) {
	before, after := t.prev[row], t.next[row]
	if after >= 0 {
		t.prev[after] = before
	}
	switch {
	case before >= 0:
		t.next[before] = after
	case after >= 0:
		heads.replace(hash, row, after)
	default:
		heads.remove(hash, row)
	}
}

// touch notes that the row differs from what the last version has.
func (t *Table) touch(row int32) {
	if t.dirty.add(row) {
		t.changed = append(t.changed, row)
	}
}

// settle forgets what was changed.
func (t *Table) settle() {
	for _, row := range t.changed {
		t.dirty.clear(row)
	}
	t.changed = t.changed[:0]
}

// Keys is the keys of rows.
func (t *Table) Keys(rows []int32) []*chunk.Vector { return t.rows.decode(t.rows.key, rows) }

// Values is the values of rows.
func (t *Table) Values(rows []int32) []*chunk.Vector { return t.rows.decode(t.rows.value, rows) }

// Each hands over the numbers of all rows in ascending order, at most
// chunk.MaxRows at a time. The table must not change meanwhile.
func (t *Table) Each(visit func(rows []int32) error) error {
	batch := make([]int32, 0, min(chunk.MaxRows, t.rows.count))
	for row := range t.rows.next {
		if !t.rows.live.has(row) {
			continue
		}
		if batch = append(batch, row); len(batch) < chunk.MaxRows {
			continue
		}
		if err := visit(batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	if len(batch) == 0 {
		return nil
	}
	return visit(batch)
}

// Due is the rows whose time is at most until, ascending. They leave the index
// by time and are to be removed, or updated to a later time.
func (t *Table) Due(until int64) []int32 {
	if t.expiry == nil {
		return nil
	}
	return t.expiry.due(until, t.time)
}

// Keep puts rows that were due back into the index by time, wherever they belong
// now; those that are gone are passed over.
func (t *Table) Keep(rows []int32) {
	for _, row := range rows {
		if at, ok := t.time(row); ok {
			t.expiry.add(row, at)
		}
	}
}

// time is when a row expires; false when it is gone.
func (t *Table) time(row int32) (int64, bool) {
	if t.expiry == nil || !t.rows.live.has(row) {
		return 0, false
	}
	b := t.rows.valueOf(row)
	if t.shape.ExpiryKey > 0 {
		b = t.rows.keyOf(row)
	}
	if t.timeAt < 0 {
		return t.timeWithin(b), true
	}
	for _, m := range t.timeIf {
		if b[m.at]&m.bits != 0 {
			return Never, true
		}
	}
	return int64(binary.LittleEndian.Uint64(b[t.timeAt:])), true
}

// timeWithin reads the time out of a row that varies in length.
func (t *Table) timeWithin(b []byte) int64 {
	f, column := t.rows.value, t.shape.Expiry-1
	if t.shape.ExpiryKey > 0 {
		f, column = t.rows.key, t.shape.ExpiryKey-1
	}
	for k := range column {
		b, _ = skipValue(f.shapes[k], b)
	}
	v := f.shapes[column]
	for len(v.Kids) > 0 {
		if b[0] == 0 {
			return Never
		}
		b = b[1:]
		for _, kid := range v.Kids[:len(v.Kids)-1] {
			b, _ = skipValue(kid, b)
		}
		v = v.Kids[len(v.Kids)-1]
	}
	if b[0] == 0 {
		return Never
	}
	return int64(binary.LittleEndian.Uint64(b[1:]))
}
