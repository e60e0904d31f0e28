package state

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

const dir = "/ck/state/0"

var window = plan.Type{Kind: plan.KindStruct, Fields: []plan.Field{
	{Name: "start", Type: plan.Timestamp, Nullable: true}, {Name: "end", Type: plan.Timestamp, Nullable: true},
}}

// shapes are tables of every make: fixed and varying rows, with and without
// time, one and many rows of a key.
var shapes = map[string]Shape{
	"fixed": {
		Name: "fixed", Key: []Column{{"k", plan.Long}}, Expiry: 2,
		Value: []Column{{"n", plan.Long}, {"due", plan.Timestamp}},
	},
	"millis": {
		Name: "millis", Key: []Column{{"k", plan.Long}}, Expiry: 2, Millis: true,
		Value: []Column{{"n", plan.String}, {"due", plan.Long}},
	},
	"text": {
		Name: "text", Key: []Column{{"k", plan.String}}, Expiry: 2,
		Value: []Column{{"v", plan.String}, {"due", plan.Timestamp}},
	},
	"window": {
		Name: "window", Key: []Column{{"w", window}, {"k", plan.Int}}, ExpiryKey: 1,
		Value: []Column{{"n", plan.Long}},
	},
	"many": {
		Name: "many", Many: true, Key: []Column{{"k", plan.String}},
		Value: []Column{{"v", plan.Long}, {"due", plan.Timestamp}}, Expiry: 2,
	},
}

func store(t testing.TB, fsys vfs.FS, version int64, shapes ...Shape) *Store {
	t.Helper()
	s, err := Open(Options{FS: fsys, Dir: dir, Shapes: shapes, Retain: 100}, version)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func columns(of []Column, rows ...[]plan.Value) []*chunk.Vector {
	out := make([]*chunk.Vector, len(of))
	for i, c := range of {
		out[i] = chunk.New(c.Type, len(rows))
		for _, row := range rows {
			out[i].AppendValue(row[i])
		}
	}
	return out
}

// fataler is a test, drawn or not.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// put sets one key.
func put(t fataler, table *Table, key, value []plan.Value) {
	t.Helper()
	at := []int32{0}
	keys := columns(table.Shape().Key, key)
	table.Find(keys, at)
	if err := table.Put(keys, columns(table.Shape().Value, value), at); err != nil {
		t.Fatal(err)
	}
}

// claim is put the other way.
func claim(t fataler, table *Table, key, value []plan.Value) {
	t.Helper()
	rows := []int32{-1, -1}
	added, err := table.Claim(columns(table.Shape().Key, key, key), rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows[0] != rows[1] || len(added) > 1 || len(added) == 1 && added[0] != 0 {
		t.Fatalf("one key has the rows %v, of which %v were added", rows, added)
	}
	values := columns(table.Shape().Value, value)
	if len(added) == 1 {
		table.Fill(rows[:1], values)
	} else {
		table.Update(rows[:1], values)
	}
	table.Scratch()[rows[0]] = -7
}

// contents is all rows as text, sorted.
func contents(table *Table) []string {
	out := []string{}
	err := table.Each(func(rows []int32) error {
		keys, values := table.Keys(rows), table.Values(rows)
		for i := range rows {
			var parts []string
			for _, v := range slices.Concat(keys, values) {
				parts = append(parts, fmt.Sprint(v.Value(i)))
			}
			out = append(out, strings.Join(parts, "|"))
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
	slices.Sort(out)
	return out
}

func TestRowsComeBackAsTheyWerePut(t *testing.T) {
	text, number := plan.String, plan.Int
	array := plan.Type{Kind: plan.KindArray, Elem: &text, ContainsNull: true}
	dict := plan.Type{Kind: plan.KindMap, Key: &text, Elem: &number, ContainsNull: true}
	fixed := []Column{
		{"a", plan.Boolean}, {"b", plan.Type{Kind: plan.KindByte}}, {"c", plan.Type{Kind: plan.KindShort}},
		{"d", plan.Int}, {"e", plan.Long}, {"f", plan.Double}, {"g", window},
		{"h", plan.Type{Kind: plan.KindDecimal, Precision: 38, Scale: 2}},
	}
	varying := append(slices.Clone(fixed), Column{"s", plan.String}, Column{"l", array}, Column{"m", dict})
	for name, cols := range map[string][]Column{"fixed": fixed, "varying": varying} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { putAndGet(t, cols) })
		})
	}
}

func putAndGet(t *rapid.T, cols []Column) {
	table := newTable(Shape{Key: []Column{{"k", plan.Long}}, Value: cols})
	n := rapid.IntRange(0, 40).Draw(t, "rows")
	in := make([]*chunk.Vector, len(cols))
	keys, at := chunk.New(plan.Long, n), make([]int32, n)
	for i := range n {
		keys.AppendValue(int64(i))
	}
	for k, c := range cols {
		in[k] = randomVector(t, c.Type, n)
	}
	table.Find([]*chunk.Vector{keys}, at)
	if err := table.Put([]*chunk.Vector{keys}, in, at); err != nil {
		t.Fatal(err)
	}
	for k, v := range table.Values(at) {
		for i := range n {
			if got, want := fmt.Sprint(v.Value(i)), fmt.Sprint(in[k].Value(i)); got != want {
				t.Fatalf("column %s row %d: %s, want %s", cols[k].Name, i, got, want)
			}
		}
	}
}

func randomVector(t *rapid.T, of plan.Type, n int) *chunk.Vector {
	v := chunk.New(of, n)
	for range n {
		appendRandom(t, v)
	}
	return v
}

func appendRandom(t *rapid.T, v *chunk.Vector) {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		v.AppendNull()
		return
	}
	w := chunk.Width(v.Type)
	switch {
	case v.Type.Kind == plan.KindBoolean:
		v.AppendRaw([]byte{byte(rapid.IntRange(0, 1).Draw(t, "bool"))})
	case v.Type.Kind == plan.KindDecimal:
		chunk.Append(v, decimal128.FromI64(rapid.Int64().Draw(t, "decimal")))
	case w > 0:
		v.AppendRaw(rapid.SliceOfN(rapid.Byte(), w, w).Draw(t, "raw"))
	case chunk.IsBytes(v.Type):
		v.AppendText(rapid.StringN(0, 20, -1).Draw(t, "text"))
	case v.Offsets != nil:
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			for i, kid := range v.Kids {
				if v.Type.Kind == plan.KindMap && i == 0 {
					kid.AppendText(rapid.StringN(0, 5, -1).Draw(t, "key"))
					continue
				}
				appendRandom(t, kid)
			}
		}
		v.AppendSpan()
	default:
		for _, kid := range v.Kids {
			appendRandom(t, kid)
		}
		v.AppendRow()
	}
}

// model is what a table should hold: by key the values with their times.
type model struct {
	many bool
	rows map[string][]entry
}

type entry struct {
	text string
	due  int64
}

func (m *model) all() []string {
	out := []string{}
	for _, rows := range m.rows {
		for _, e := range rows {
			out = append(out, e.text)
		}
	}
	slices.Sort(out)
	return out
}

func (m *model) clone() *model {
	c := &model{m.many, maps.Clone(m.rows)}
	for k, rows := range c.rows {
		c.rows[k] = slices.Clone(rows)
	}
	return c
}

func keyAndValue(s Shape, k, n int, due int64) (key, value []plan.Value) {
	switch s.Name {
	case "fixed":
		return []plan.Value{int64(k)}, []plan.Value{int64(n), due}
	case "millis":
		return []plan.Value{int64(k)}, []plan.Value{strings.Repeat("v", n), due}
	case "text":
		return []plan.Value{strings.Repeat("k", k)}, []plan.Value{strings.Repeat("v", n), due}
	case "window":
		return []plan.Value{[]plan.Value{due - 10, due}, int64(k)}, []plan.Value{int64(n)}
	default:
		return []plan.Value{fmt.Sprint("key", k)}, []plan.Value{int64(n), due}
	}
}

// TestATableIsWhatAModelSays runs random programs of puts, removals, evictions,
// commits, snapshots and restarts at any retained version.
func TestATableIsWhatAModelSays(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) { randomProgram(t, r, shape) })
		})
	}
}

func randomProgram(t *testing.T, r *rapid.T, shape Shape) {
	fsys := vfs.NewMemory()
	s := store(t, fsys, 0, shape)
	m := &model{many: shape.Many, rows: map[string][]entry{}}
	past := map[int64]*model{0: m.clone()}
	defer func() { _ = s.Close() }()
	for range rapid.IntRange(1, 40).Draw(r, "steps") {
		table := s.Table(0)
		switch rapid.IntRange(0, 6).Draw(r, "step") {
		case 0, 1, 2:
			putRandom(r, table, m, shape)
		case 3:
			until := int64(rapid.IntRange(0, 5).Draw(r, "until")) << microsBits
			until += int64(rapid.IntRange(0, 8).Draw(r, "µs"))
			found := table.Due(until)
			if rapid.Bool().Draw(r, "keep") {
				// Those that were found are found again.
				table.Keep(found)
				if again := table.Due(until); !slices.Equal(found, again) {
					r.Fatalf("due %v, kept, then due %v", found, again)
				}
			}
			table.Remove(found)
			m.evict(until)
		case 4, 5:
			if err := s.Commit(); err != nil {
				r.Fatal(err)
			}
			past[s.Version()] = m.clone()
			if !rapid.Bool().Draw(r, "snapshot") {
				break
			}
			s.reap(true)
			if err := s.snapshot(); err != nil {
				r.Fatal(err)
			}
			if rapid.Bool().Draw(r, "wait") {
				s.reap(true)
			}
		case 6:
			_ = s.Close()
			back := int64(rapid.IntRange(0, 3).Draw(r, "back"))
			version := max(0, s.Version()-back)
			s = store(t, fsys, version, shape)
			m = past[version].clone()
		}
		if got, want := contents(s.Table(0)), m.all(); !slices.Equal(got, want) {
			r.Fatal(cmp.Diff(want, got))
		}
	}
	for version, then := range past {
		if version > s.Version() {
			continue
		}
		tables, err := Read(fsys, dir, version)
		if err != nil {
			r.Fatalf("version %d: %v", version, err)
		}
		if got, want := contents(tables[0]), then.all(); !slices.Equal(got, want) {
			r.Fatalf("version %d: %s", version, cmp.Diff(want, got))
		}
	}
}

// putRandom gives a key a value, in one of the ways there are.
func putRandom(r *rapid.T, table *Table, m *model, shape Shape) {
	k, n := rapid.IntRange(0, 8).Draw(r, "k"), rapid.IntRange(0, 30).Draw(r, "n")
	due := int64(rapid.IntRange(0, 5).Draw(r, "due"))<<microsBits + int64(k)
	key, value := keyAndValue(shape, k, n, due)
	write := put
	if !shape.Many && rapid.Bool().Draw(r, "claim") {
		write = claim
	}
	write(r, table, key, value)
	m.put(key, value, due)
}

func (m *model) put(key, value []plan.Value, due int64) {
	name := fmt.Sprint(key)
	e := entry{text: joined(key) + "|" + joined(value), due: due}
	if m.many {
		m.rows[name] = append(m.rows[name], e)
		return
	}
	m.rows[name] = []entry{e}
}

func joined(values []plan.Value) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, "|")
}

func (m *model) evict(until int64) {
	for k, rows := range m.rows {
		m.rows[k] = slices.DeleteFunc(rows, func(e entry) bool { return e.due <= until })
	}
}

func TestRowsOfOneKeyNeedNoNumbersToBeginWith(t *testing.T) {
	table := newTable(shapes["many"])
	key, value := keyAndValue(shapes["many"], 1, 2, 3)
	at := []int32{0} // of a table without rows
	if err := table.Put(columns(table.Shape().Key, key), columns(table.Shape().Value, value), at); err != nil {
		t.Fatal(err)
	}
	if got := contents(table); len(got) != 1 {
		t.Error(got)
	}
}

// TestManyRowsAreFoundAfterARestart has more rows than one block of the index.
func TestManyRowsAreFoundAfterARestart(t *testing.T) {
	const n = 300_000
	fsys := vfs.NewMemory()
	s := store(t, fsys, 0, windowCount)
	fillTable(t, s.Table(0), n)
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	s = store(t, fsys, 1, windowCount)
	defer func() { _ = s.Close() }()
	found := make([]int32, chunk.MaxRows)
	for from := 0; from < n; from += chunk.MaxRows {
		keys, _ := distinct(from, chunk.MaxRows)
		s.Table(0).Find(keys, found)
		for i, row := range found {
			if row != int32(from+i) {
				t.Fatalf("key %d is row %d", from+i, row)
			}
		}
	}
	if due := s.Table(0).Due(Never - 1); len(due) != s.Table(0).Len() {
		t.Errorf("%d of %d rows are due", len(due), s.Table(0).Len())
	}
}

func TestRowsWithoutTimeAreNeverDue(t *testing.T) {
	for _, value := range []Column{{"due", plan.Timestamp}, {"w", window}} {
		for _, other := range []plan.Type{plan.Long, plan.String} {
			s := Shape{Key: []Column{{"k", plan.Long}}, Value: []Column{{"o", other}, value}, Expiry: 2}
			table := newTable(s)
			put(t, table, []plan.Value{int64(1)}, []plan.Value{nil, nil})
			if due := table.Due(Never - 1); len(due) > 0 {
				t.Errorf("%s, %s: a row without time is due", value.Type.Simple(), other.Simple())
			}
		}
	}
}

func TestRowsThatStayAreFoundAmongRemovedOnes(t *testing.T) {
	table := newTable(shapes["fixed"])
	const n = 200_000
	at := make([]int32, chunk.MaxRows)
	var all []int32
	for from := 0; from < n; from += chunk.MaxRows {
		keys := chunk.Make(plan.Long, chunk.MaxRows)
		for i, k := 0, chunk.Values[int64](keys); i < len(k); i++ {
			k[i] = int64(from + i)
		}
		values := []*chunk.Vector{chunk.Make(plan.Long, chunk.MaxRows), chunk.Make(plan.Timestamp, chunk.MaxRows)}
		table.Find([]*chunk.Vector{keys}, at)
		if err := table.Put([]*chunk.Vector{keys}, values, at); err != nil {
			t.Fatal(err)
		}
		all = append(all, at...)
	}
	for i := 0; i < len(all); i += 2 {
		table.Remove(all[i : i+1])
	}
	if table.Len() != len(all)/2 {
		t.Fatalf("%d rows of %d", table.Len(), len(all)/2)
	}
	for from := 0; from < len(all); from += chunk.MaxRows {
		keys := table.Keys(oddOnes(all[from:min(from+chunk.MaxRows, len(all))]))
		found := make([]int32, keys[0].Len)
		table.Find(keys, found)
		if !slices.Equal(found, oddOnes(all[from:min(from+chunk.MaxRows, len(all))])) {
			t.Fatal("rows that stayed are not found")
		}
	}
}

func oddOnes(rows []int32) []int32 {
	var out []int32
	for i := 1; i < len(rows); i += 2 {
		out = append(out, rows[i])
	}
	return out
}

func TestAVersionSurvivesPowerLossOnceCommitted(t *testing.T) {
	committed := int64(0)
	testkit.CrashDisk(t, testkit.DiskProgram{
		Run: func(disk *vfs.Crashable) error {
			committed = 0
			s, err := Open(Options{FS: disk, Dir: dir, Shapes: []Shape{shapes["fixed"], shapes["many"]}, Retain: 2}, 0)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			for batch := range 8 {
				for k := range 3 {
					key, value := keyAndValue(shapes["fixed"], k, batch, 0)
					put(t, s.Table(0), key, value)
					key, value = keyAndValue(shapes["many"], k, batch, 0)
					put(t, s.Table(1), key, value)
				}
				if err := s.Commit(); err != nil {
					return err
				}
				committed = s.Version()
				if batch%3 == 2 {
					if err := s.snapshot(); err != nil {
						return err
					}
					s.reap(true)
				}
			}
			return nil
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			s := store(t, disk, committed, shapes["fixed"], shapes["many"])
			defer func() { _ = s.Close() }()
			if got, want := s.Table(1).Len(), int(3*committed); got != want {
				t.Errorf("version %d has %d rows, want %d", committed, got, want)
			}
			// The batch that was cut off runs again.
			key, value := keyAndValue(shapes["fixed"], 0, 99, 0)
			put(t, s.Table(0), key, value)
			if err := s.Commit(); err != nil {
				t.Fatal(err)
			}
			again := store(t, disk, committed+1, shapes["fixed"], shapes["many"])
			if got, want := contents(again.Table(0)), contents(s.Table(0)); !slices.Equal(got, want) {
				t.Error(cmp.Diff(want, got))
			}
			if again.Table(1).Len() != s.Table(1).Len() {
				t.Error("the voided version came back")
			}
		},
	})
}

// TestEveryDamagedByteIsFound flips each byte of the files in turn.
func TestEveryDamagedByteIsFound(t *testing.T) {
	fsys := vfs.NewMemory()
	s := store(t, fsys, 0, shapes["text"])
	for batch := range 3 {
		key, value := keyAndValue(shapes["text"], batch, 5, 0)
		put(t, s.Table(0), key, value)
		if err := s.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	want := contents(s.Table(0))
	_ = s.Close()
	name := fileName(dir, 0, changesSuffix)
	good, err := vfs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x40
		if err := vfs.WriteReplace(fsys, name, bad); err != nil {
			t.Fatal(err)
		}
		tables, err := Read(fsys, dir, 3)
		if damaged := (*CorruptError)(nil); !errors.As(err, &damaged) || damaged.File != name {
			t.Fatalf("byte %d of %d flipped: %v, %v", i, len(good), tables, err)
		}
	}
	for cut := range len(good) {
		if err := vfs.WriteReplace(fsys, name, good[:cut]); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(fsys, dir, 3); err == nil {
			t.Fatalf("cut to %d bytes: no error", cut)
		}
	}
	if err := vfs.WriteReplace(fsys, name, good); err != nil {
		t.Fatal(err)
	}
	tables, err := Read(fsys, dir, 3)
	if err != nil || !slices.Equal(contents(tables[0]), want) {
		t.Fatal("the undamaged file does not read", err)
	}
}

func TestADamagedSnapshotIsPassedOver(t *testing.T) {
	fsys := vfs.NewMemory()
	s := store(t, fsys, 0, shapes["fixed"])
	for batch := range 4 {
		key, value := keyAndValue(shapes["fixed"], batch, batch, 0)
		put(t, s.Table(0), key, value)
		if err := s.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := s.snapshot(); err != nil {
			t.Fatal(err)
		}
		s.reap(true)
	}
	want := contents(s.Table(0))
	_ = s.Close()
	name := fileName(dir, 4, snapshotSuffix)
	data, _ := vfs.ReadFile(fsys, name)
	data[len(data)/2] ^= 1
	if err := vfs.WriteReplace(fsys, name, data); err != nil {
		t.Fatal(err)
	}
	warned := 0
	o := Options{FS: fsys, Dir: dir, Shapes: []Shape{shapes["fixed"]}, Warn: func(string, error) { warned++ }}
	s, err := Open(o, 4)
	if err != nil {
		t.Fatal(err)
	}
	if warned != 1 || !slices.Equal(contents(s.Table(0)), want) {
		t.Errorf("%d warnings, %s", warned, cmp.Diff(want, contents(s.Table(0))))
	}
}

func TestOldFilesGoWithTheRetention(t *testing.T) {
	fsys := vfs.NewMemory()
	s, err := Open(Options{FS: fsys, Dir: dir, Shapes: []Shape{shapes["fixed"]}, Retain: 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for batch := range 20 {
		key, value := keyAndValue(shapes["fixed"], batch, batch, 0)
		put(t, s.Table(0), key, value)
		if err := s.Commit(); err != nil {
			t.Fatal(err)
		}
		if batch%2 == 0 {
			if err := s.snapshot(); err != nil {
				t.Fatal(err)
			}
			s.reap(true)
		}
	}
	for version := range int64(21) {
		tables, err := Read(fsys, dir, version)
		if version >= 19-3 && (err != nil || tables[0].Len() != int(version)) {
			t.Errorf("version %d is gone: %v", version, err)
		}
		if version > 0 && version < 10 && err == nil {
			t.Errorf("version %d is still there", version)
		}
	}
}

func TestOtherColumnsAreRefused(t *testing.T) {
	fsys := vfs.NewMemory()
	s := store(t, fsys, 0, shapes["fixed"])
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	renamed := shapes["fixed"]
	renamed.Key = []Column{{"other", plan.Long}}
	if _, err := Open(Options{FS: fsys, Dir: dir, Shapes: []Shape{renamed}}, 1); err != nil {
		t.Error("a renamed key is refused:", err)
	}
	changed := shapes["fixed"]
	changed.Key = []Column{{"k", plan.String}}
	_, err := Open(Options{FS: fsys, Dir: dir, Shapes: []Shape{changed}}, 1)
	if e := (*SchemaError)(nil); !errors.As(err, &e) || !e.Key {
		t.Errorf("a key of another type: %v", err)
	}
	_, err = Open(Options{FS: fsys, Dir: "/elsewhere", Shapes: []Shape{changed}}, 1)
	if e := (*MissingError)(nil); !errors.As(err, &e) {
		t.Errorf("no files at all: %v", err)
	}
}

func TestAFullDiskBreaksTheStoreAndLosesNothing(t *testing.T) {
	disk := vfs.NewMemory()
	s := store(t, disk, 0, shapes["text"])
	put(t, s.Table(0), []plan.Value{"a"}, []plan.Value{"first", int64(0)})
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	full := errors.New("no space left on device")
	s = store(t, vfs.NewFaulty(disk, vfs.DiskFull(40, full)), 1, shapes["text"])
	put(t, s.Table(0), []plan.Value{"b"}, []plan.Value{"second", int64(0)})
	for range 2 {
		if err := s.Commit(); !errors.Is(err, full) {
			t.Fatal("not the disk's error:", err)
		}
	}
	_ = s.Close()
	s = store(t, disk, 1, shapes["text"])
	if got := contents(s.Table(0)); len(got) != 1 {
		t.Error(got)
	}
	put(t, s.Table(0), []plan.Value{"b"}, []plan.Value{"second", int64(0)})
	if err := s.Commit(); err != nil {
		t.Error(err)
	}
}
