package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/vfs"
)

// modelRow is a row of the table of the model tests; nil is NULL.
type modelRow struct {
	id *int64
	k  *string
	v  *int64
}

func textOf[T int64 | string](x *T) string {
	if x == nil {
		return "NULL"
	}
	if s, ok := any(*x).(string); ok {
		return "'" + s + "'"
	}
	return fmt.Sprint(*x)
}

func (r modelRow) String() string {
	return fmt.Sprintf("(%s, %s, %s)", textOf(r.id), textOf(r.k), textOf(r.v))
}

// json is the row as the rig prints it.
func (r modelRow) json() string {
	return strings.NewReplacer("NULL", "null", "'", `"`, "(", "[", ")", "]", ", ", ",").Replace(r.String())
}

func jsonOf(rows []modelRow) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, r.json())
	}
	slices.Sort(out)
	return out
}

// predicate is a condition as text and as a function of a row; nil is unknown.
type modelPredicate struct {
	text  string
	holds func(modelRow) *bool
}

var (
	yes, no = true, false
)

func truth(b bool) *bool {
	if b {
		return &yes
	}
	return &no
}

func compareWith[T int64 | string](x, y *T, op string) *bool {
	if x == nil || y == nil {
		return nil
	}
	c := cmpOf(*x, *y)
	switch op {
	case "=":
		return truth(c == 0)
	case "<":
		return truth(c < 0)
	case ">=":
		return truth(c >= 0)
	default:
		return truth(c != 0)
	}
}

func cmpOf[T int64 | string](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func genID() *rapid.Generator[*int64] { return orNull(rapid.Int64Range(0, 9)) }

func genKey() *rapid.Generator[*string] { return orNull(rapid.SampledFrom([]string{"a", "b", "c"})) }

func orNull[T any](g *rapid.Generator[T]) *rapid.Generator[*T] {
	return rapid.Custom(func(t *rapid.T) *T {
		if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
			return nil
		}
		x := g.Draw(t, "value")
		return &x
	})
}

func genRow() *rapid.Generator[modelRow] {
	return rapid.Custom(func(t *rapid.T) modelRow {
		return modelRow{genID().Draw(t, "id"), genKey().Draw(t, "k"), genID().Draw(t, "v")}
	})
}

// genPredicate makes conditions over the columns of a table that is called name.
func genPredicate(name string, depth int) *rapid.Generator[modelPredicate] {
	return rapid.Custom(func(t *rapid.T) modelPredicate {
		op := rapid.SampledFrom([]string{"=", "<", ">=", "<>"}).Draw(t, "op")
		kind := rapid.IntRange(0, 4+min(depth, 1)*3).Draw(t, "kind")
		switch kind {
		case 0, 1:
			x := genID().Draw(t, "x")
			return modelPredicate{fmt.Sprintf("%sid %s %s", name, op, textOf(x)),
				func(r modelRow) *bool { return compareWith(r.id, x, op) }}
		case 2:
			x := genKey().Draw(t, "x")
			return modelPredicate{fmt.Sprintf("%sk %s %s", name, op, textOf(x)),
				func(r modelRow) *bool { return compareWith(r.k, x, op) }}
		case 3:
			return modelPredicate{fmt.Sprintf("%sv %s %sid", name, op, name),
				func(r modelRow) *bool { return compareWith(r.v, r.id, op) }}
		case 4:
			return modelPredicate{name + "k IS NULL", func(r modelRow) *bool { return truth(r.k == nil) }}
		}
		a, b := genPredicate(name, depth-1).Draw(t, "a"), genPredicate(name, depth-1).Draw(t, "b")
		switch kind {
		case 5:
			return modelPredicate{"(" + a.text + " AND " + b.text + ")", func(r modelRow) *bool {
				x, y := a.holds(r), b.holds(r)
				switch {
				case x != nil && !*x || y != nil && !*y:
					return &no
				case x == nil || y == nil:
					return nil
				}
				return &yes
			}}
		case 6:
			return modelPredicate{"(" + a.text + " OR " + b.text + ")", func(r modelRow) *bool {
				x, y := a.holds(r), b.holds(r)
				switch {
				case x != nil && *x || y != nil && *y:
					return &yes
				case x == nil || y == nil:
					return nil
				}
				return &no
			}}
		}
		return modelPredicate{"NOT (" + a.text + ")", func(r modelRow) *bool {
			if x := a.holds(r); x != nil {
				return truth(!*x)
			}
			return nil
		}}
	})
}

func (p modelPredicate) is(r modelRow) bool {
	b := p.holds(r)
	return b != nil && *b
}

// modelSet is a value for each of the columns, as text and as a function.
type modelSet struct {
	text string
	of   func(modelRow) modelRow
}

func genSet(name string) *rapid.Generator[modelSet] {
	return rapid.Custom(func(t *rapid.T) modelSet {
		x, k := genID().Draw(t, "x"), genKey().Draw(t, "key")
		switch rapid.IntRange(0, 3).Draw(t, "set") {
		case 0:
			return modelSet{"v = " + textOf(x), func(r modelRow) modelRow { r.v = x; return r }}
		case 1:
			return modelSet{"k = " + textOf(k), func(r modelRow) modelRow { r.k = k; return r }}
		case 2:
			return modelSet{fmt.Sprintf("id = %sv, v = %sid", name, name),
				func(r modelRow) modelRow { r.id, r.v = r.v, r.id; return r }}
		}
		return modelSet{fmt.Sprintf("v = %sv + 1, k = %s", name, textOf(k)), func(r modelRow) modelRow {
			r.k = k
			if r.v != nil {
				v := *r.v + 1
				r.v = &v
			}
			return r
		}}
	})
}

// table is a table of the engine beside the model of it.
type modelTable struct {
	s        *Session
	rows     []modelRow
	versions []modelVersion
}

// modelVersion is the rows of a version.
type modelVersion struct {
	number int64
	rows   []string
	model  []modelRow
}

// step runs a statement and notes the rows that the model has then.
func (m *modelTable) step(t *rapid.T, text string, wantAnswer string, rows []modelRow) {
	answer, err := ask(m.s, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if got := strings.Join(answer, ""); wantAnswer != "" && got != wantAnswer {
		t.Fatalf("%s: answered %s, want %s", text, got, wantAnswer)
	}
	m.rows = rows
	got, err := ask(m.s, "SELECT * FROM t")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if diff := cmp.Diff(jsonOf(rows), got); diff != "" {
		t.Fatalf("%s: rows differ (-model +table):\n%s", text, diff)
	}
	table, err := m.s.table([]string{"t"}, "SELECT")
	if err != nil {
		t.Fatal(err)
	}
	_, last, err := delta.Table{FS: m.s.engine.fs, Dir: table.Location}.Versions()
	if err != nil {
		t.Fatal(err)
	}
	m.versions = append(m.versions, modelVersion{last, got, rows})
}

// ask is the rows that a statement answers.
func ask(s *Session, text string) ([]string, error) {
	ctx := context.Background()
	n, err := s.SQL(ctx, text, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	r, err := s.Query(ctx, n)
	if err != nil {
		return nil, err
	}
	chunks, err := chunk.Collect(r.Rows)
	return rendered(chunks), err
}

func (m *modelTable) insert(t *rapid.T) {
	rows := rapid.SliceOfN(genRow(), 1, 4).Draw(t, "rows")
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = r.String()
	}
	m.step(t, "INSERT INTO t VALUES "+strings.Join(texts, ", "), "", append(slices.Clone(m.rows), rows...))
}

func (m *modelTable) delete(t *rapid.T) {
	p := genPredicate("", 2).Draw(t, "where")
	left := slices.DeleteFunc(slices.Clone(m.rows), p.is)
	m.step(t, "DELETE FROM t WHERE "+p.text, fmt.Sprintf("[%d]", len(m.rows)-len(left)), left)
}

func (m *modelTable) update(t *rapid.T) {
	p, set := genPredicate("", 2).Draw(t, "where"), genSet("").Draw(t, "set")
	rows, n := slices.Clone(m.rows), 0
	for i, r := range rows {
		if p.is(r) {
			rows[i] = set.of(r)
			n++
		}
	}
	m.step(t, "UPDATE t SET "+set.text+" WHERE "+p.text, fmt.Sprintf("[%d]", n), rows)
}

// optimize changes no row.
func (m *modelTable) optimize(t *rapid.T) {
	order := rapid.SampledFrom([]string{"", " ZORDER BY (id)", " ZORDER BY (v, id)"}).Draw(t, "order")
	m.step(t, "OPTIMIZE t"+order, "", m.rows)
}

// vacuum leaves nothing but the last version.
func (m *modelTable) vacuum(t *rapid.T) {
	if _, err := ask(m.s, "SET "+retentionCheckKey+" = false"); err != nil {
		t.Fatal(err)
	}
	m.step(t, "VACUUM t RETAIN 0 HOURS", "", m.rows)
	m.versions = m.versions[len(m.versions)-1:]
}

func (m *modelTable) restore(t *rapid.T) {
	if len(m.versions) == 0 {
		return
	}
	v := rapid.SampledFrom(m.versions).Draw(t, "version")
	m.step(t, fmt.Sprintf("RESTORE TABLE t TO VERSION AS OF %d", v.number), "", v.model)
}

func (m *modelTable) truncate(t *rapid.T) { m.step(t, "TRUNCATE TABLE t", "", nil) }

// modelTables are the shapes of the table that the model is held against.
var modelTables = []string{
	"CREATE TABLE t (id BIGINT, k STRING, v BIGINT)",
	"CREATE TABLE t (id BIGINT, k STRING, v BIGINT) PARTITIONED BY (k)",
	"CREATE TABLE t (id BIGINT, k STRING, v BIGINT) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
}

// A random sequence of statements leaves the rows that a row-at-a-time model has,
// and the versions before stay readable.
func TestStatementsDoWhatTheModelDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e, err := Open(testOptions(vfs.NewMemory()))
		if err != nil {
			rt.Fatal(err)
		}
		defer e.Close(t.Context())
		m := &modelTable{s: e.NewSession("u", "a")}
		must(t, m.s, "USE main", rapid.SampledFrom(modelTables).Draw(rt, "table"))
		steps := []func(*rapid.T){m.insert, m.insert, m.delete, m.update, m.merge, m.merge, m.optimize,
			m.vacuum, m.restore, m.truncate}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			rapid.SampledFrom(steps).Draw(rt, "step")(rt)
		}
		if len(m.versions) == 0 {
			return // every step was a MERGE without clauses
		}
		n := rapid.IntRange(0, len(m.versions)-1).Draw(rt, "version")
		got, err := ask(m.s, fmt.Sprintf("SELECT * FROM t VERSION AS OF %d", m.versions[n].number))
		if err != nil {
			rt.Fatal(err)
		}
		slices.Sort(got)
		if diff := cmp.Diff(m.versions[n].rows, got); diff != "" {
			rt.Fatalf("version %d differs (-model +table):\n%s", m.versions[n].number, diff)
		}
	})
}
