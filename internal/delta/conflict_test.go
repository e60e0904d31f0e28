package delta

import (
	"context"
	"errors"
	"path"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// twoParts is a table of two files, one for each half of k: id 1 and id 2.
func twoParts(t *testing.T, partitions ...string) Table {
	t.Helper()
	table := Table{vfs.NewMemory(), "/data/t"}
	for id := range int64(2) {
		must(t, appendRows(open(t, table), idSchema, partitions, nil, idChunk(id+1)))
	}
	return table
}

// removing takes the n-th file out of the table.
func removing(s *Snapshot, n int, operation string) Change {
	f := s.Files()[n]
	return Change{Operation: operation, Removes: []*Add{f}, Reads: &Reads{Files: []*Add{f}}, Now: testTime}
}

func adding(t *testing.T, s *Snapshot, id int64) Change {
	t.Helper()
	spec := DataSpec{Schema: s.Schema, Partitions: s.Metadata.PartitionColumns, Zone: time.UTC}
	w, err := s.Write(t.Context(), spec, chunk.One(idChunk(id)))
	must(t, err)
	return BatchWrite("Append", nil, w, testTime)
}

// only is the test of a change that rests on one partition.
func only(k string) func(*Add) (bool, error) {
	return func(f *Add) (bool, error) {
		v := partitionOf(f.PartitionValues, "k")
		return v != nil && *v == k, nil
	}
}

// maker makes a change of a snapshot.
type maker = func(*testing.T, *Snapshot) Change

func add(id int64) maker {
	return func(t *testing.T, s *Snapshot) Change { return adding(t, s, id) }
}

func remove(n int) maker {
	return func(_ *testing.T, s *Snapshot) Change { return removing(s, n, "DELETE") }
}

// with makes a change and alters it.
func with(m maker, alter func(*Change)) maker {
	return func(t *testing.T, s *Snapshot) Change {
		c := m(t, s)
		alter(&c)
		return c
	}
}

func redescribed(_ *testing.T, s *Snapshot) Change {
	m := s.Metadata
	m.Configuration = map[string]string{"a": "b"}
	return Change{Operation: "SET TBLPROPERTIES", Metadata: &m, Now: testTime}
}

func upgraded(*testing.T, *Snapshot) Change {
	return Change{Operation: "UPGRADE PROTOCOL", Protocol: &Protocol{MinReaderVersion: 1, MinWriterVersion: 3},
		Now: testTime}
}

func inPart(k string) maker {
	return with(remove(0), func(c *Change) { c.Reads = &Reads{Matches: only(k)} })
}

func applied(m maker, version int64) maker {
	return with(m, func(c *Change) { c.Txn = &Txn{AppID: "q", Version: version} })
}

// conflicts are what Delta 4.4 says when theirs comes before mine, found out with
// two sessions of Spark.
var conflicts = []struct {
	name         string
	partitioned  bool
	mine, theirs maker
	want         string
}{
	{"rows are added to what a delete read", false, remove(0), add(9), "DELTA_CONCURRENT_APPEND.WITHOUT_HINT"},
	{"rows are added to another partition", true, inPart("k2"), add(4), ""},
	{"rows are added to the partition", true, inPart("k4"), add(4), "DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT"},
	{"the file that was read is deleted", false, remove(0), remove(0),
		"DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT"},
	{"another file is deleted", false, remove(0), remove(1), ""},
	{"the same file is removed unread", false, with(remove(0), func(c *Change) { c.Reads = &Reads{} }),
		remove(0),
		"DELTA_CONCURRENT_DELETE_DELETE.WITHOUT_HINT"},
	{"the whole table was read", false, with(add(8), func(c *Change) { c.Reads = &Reads{Whole: true} }),
		remove(1),
		"DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT"},
	{"an append and a delete", false, add(9), remove(0), ""},
	{"an append and an append", false, add(9), add(8), ""},
	{"the table is described anew", false, add(9), redescribed, "DELTA_METADATA_CHANGED"},
	{"the table is upgraded under an append", false, add(9), upgraded, ""},
	{"both upgrade the table", false, upgraded, upgraded, "DELTA_PROTOCOL_CHANGED"},
	{"an overwrite and an append", false, with(add(8), func(c *Change) { c.Replace = true }), add(9),
		"DELTA_CONCURRENT_APPEND.WITHOUT_HINT"},
	{"files are rearranged under an append", false, with(remove(0), func(c *Change) { c.Rearranges = true }),
		add(9), ""},
	{"another run of the query was slower", false, applied(add(9), 7), applied(add(8), 6),
		"DELTA_CONCURRENT_TRANSACTION"},
}

func TestConcurrentChangesConflictAsInDelta(t *testing.T) {
	for _, c := range conflicts {
		t.Run(c.name, func(t *testing.T) {
			var parts []string
			if c.partitioned {
				parts = []string{"k"}
			}
			table := twoParts(t, parts...)
			slow, fast := open(t, table), open(t, table)
			mine := c.mine(t, slow)
			done, err := fast.Commit(t.Context(), c.theirs(t, fast))
			if err != nil || !done {
				t.Fatal(done, err)
			}
			_, err = slow.Commit(t.Context(), mine)
			if c.want == "" {
				must(t, err)
				return
			}
			wantCondition(t, err, c.want)
			if slow.Version != fast.Version {
				t.Errorf("the loser is at version %d, the table at %d", slow.Version, fast.Version)
			}
		})
	}
}

// A statement that rewrites a file either happened or left the table as it was,
// whatever operation the power fails at.
func TestRewritesSurviveAPowerLoss(t *testing.T) {
	var reported int
	program := func(disk *vfs.Crashable) error {
		reported = 0
		table := Table{disk, "/data/t"}
		s, err := table.New()
		if err == nil {
			err = appendRows(s, idSchema, nil, nil, idChunk(1, 2, 3))
		}
		for i := 1; i < 4 && err == nil; i++ {
			reported = i
			if err = shrink(s); err == nil {
				reported = i + 1
			}
		}
		return err
	}
	check := func(t *testing.T, disk *vfs.Crashable) {
		s, err := Table{disk, "/data/t"}.Load(t.Context())
		if IsNotTable(err) && reported == 0 {
			return
		}
		must(t, err)
		left := 4 - max(1, reported)
		if got := len(idsOf(t, s)); got != left && got != left-1 {
			t.Errorf("%d rows survived, %d were there before the statement that was cut off", got, left)
		}
	}
	testkit.CrashDisk(t, testkit.DiskProgram{Run: program, Check: check, Points: 60})
}

// shrink writes the table's only file anew without its last row.
func shrink(s *Snapshot) error {
	ids := []int64{}
	ctx := context.Background()
	for c, err := range s.Read(ctx, []string{"id"}) {
		if err != nil {
			return err
		}
		ids = append(ids, chunk.Values[int64](c.Cols[0])...)
	}
	w := s.NewRewriter(s.Schema, time.UTC, s.HasFeed())
	if err := w.Keep(idChunk(ids[:len(ids)-1]...)); err != nil {
		return errors.Join(err, w.Abandon())
	}
	made, err := w.Finish()
	if err != nil {
		return err
	}
	c := removing(s, 0, "DELETE")
	c.Adds = made.Adds
	_, err = s.Commit(ctx, c)
	return err
}

func TestAnAbandonedRewriteLeavesNoFiles(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	_, err := table.Create(t.Context(), CreateSpec{Schema: idSchema, Now: testTime,
		Properties: map[string]string{"delta.enableChangeDataFeed": "true"}})
	must(t, err)
	s := open(t, table)
	w := s.NewRewriter(s.Schema, time.UTC, s.HasFeed())
	must(t, w.Keep(idChunk(1)))
	must(t, w.Changed(Deleted, idChunk(2)))
	must(t, w.Abandon())
	for _, dir := range []string{"", changeDir} {
		infos, err := table.FS.List(path.Join(table.Dir, dir))
		must(t, err)
		for _, info := range infos {
			if !info.IsDir() {
				t.Errorf("%s is left in %q", info.Name, dir)
			}
		}
	}
}

func TestFilesAreSkippedByTheirStatistics(t *testing.T) {
	schema := plan.Struct(plan.Col("n", plan.Int), plan.Col("s", plan.String), plan.Col("d", plan.Double),
		plan.Col("ts", plan.Timestamp), plan.Col("dt", plan.Date), plan.Col("dec", plan.Decimal(9, 2)),
		plan.Col("late", plan.Long))
	attrs := map[string]*plan.Attribute{}
	for _, f := range schema.Fields {
		attrs[f.Name] = &plan.Attribute{Name: f.Name, Of: f.Type, Null: true, ID: plan.ExprID(len(attrs) + 1)}
	}
	call := func(name string, args ...plan.Expr) plan.Expr {
		return &plan.Call{Name: name, Args: args, Of: plan.Boolean, Null: true}
	}
	s := &Snapshot{Schema: schema}
	f := &Add{Stats: `{"numRecords":3,"minValues":{"n":2,"s":"b","d":1.5,"ts":"2024-01-01T00:00:00.000Z",
		"dt":"2024-01-05","dec":1.25},"maxValues":{"n":7,"s":"f","d":2.5,"ts":"2024-01-02T00:00:00.123Z",
		"dt":"2024-01-07","dec":9.75},"nullCount":{"n":0,"s":1,"d":0,"ts":3,"dt":0,"dec":0}}`}
	n := func(x int64) plan.Expr { return plan.Lit(x, plan.Int) }
	str := func(x string) plan.Expr { return plan.Lit(x, plan.String) }
	for _, c := range []struct {
		name string
		cond plan.Expr
		want bool
	}{
		{"below", call("=", attrs["n"], n(1)), false}, {"above", call("=", attrs["n"], n(8)), false},
		{"least", call("=", attrs["n"], n(2)), true}, {"within", call("=", attrs["n"], n(5)), true},
		{"less", call("<", attrs["n"], n(2)), false}, {"less or equal", call("<=", attrs["n"], n(2)), true},
		{"greater", call(">", attrs["n"], n(7)), false}, {"greater or equal", call(">=", attrs["n"], n(7)), true},
		{"mirrored", call("<", n(7), attrs["n"]), false}, {"mirrored hit", call(">", n(7), attrs["n"]), true},
		{"NULL", call("=", attrs["n"], plan.Lit(nil, plan.Int)), false},
		{"in", call("in", attrs["n"], n(1), n(9)), false}, {"in hit", call("in", attrs["n"], n(1), n(3)), true},
		{"and", call("and", call("=", attrs["n"], n(3)), call("=", attrs["n"], n(1))), false},
		{"or", call("or", call("=", attrs["n"], n(3)), call("=", attrs["n"], n(1))), true},
		{"or without", call("or", call("=", attrs["n"], n(0)), call("=", attrs["n"], n(1))), false},
		{"not", call("not", call("=", attrs["n"], n(3))), true},
		{"false", plan.Lit(false, plan.Boolean), false}, {"unknown call", call("f", attrs["n"]), true},
		{"text", call("=", attrs["s"], str("g")), false}, {"text hit", call("=", attrs["s"], str("c")), true},
		{"no null", call("isnull", attrs["n"]), false}, {"a null", call("isnull", attrs["s"]), true},
		{"all null", call("isnotnull", attrs["ts"]), false},
		{"comparison with all null", call(">", attrs["ts"], plan.Lit(int64(0), plan.Timestamp)), false},
		{"a double is never skipped: NaN is the greatest", call(">", attrs["d"], plan.Lit(9.0, plan.Double)), true},
		{"date", call("<", attrs["dt"], plan.Lit(int32(19727), plan.Date)), false},
		{"date hit", call("<=", attrs["dt"], plan.Lit(int32(19727), plan.Date)), true},
		{"another type", call("=", attrs["n"], plan.Lit(int64(1), plan.Long)), true},
		{"a column that the file lacks", call("=", attrs["late"], plan.Lit(int64(1), plan.Long)), true},
	} {
		if got := s.MayMatch(f, []plan.Expr{c.cond}); got != c.want {
			t.Errorf("%s: got %t", c.name, got)
		}
	}
	cut := &Add{Stats: `{"numRecords":1,"minValues":{"ts":"2024-01-01T00:00:00.000Z"},
		"maxValues":{"ts":"2024-01-01T00:00:00.000Z"},"nullCount":{"ts":0}}`}
	if !s.MayMatch(cut, []plan.Expr{call(">", attrs["ts"], plan.Lit(int64(1704067200000500), plan.Timestamp))}) {
		t.Error("a timestamp that was cut to milliseconds is skipped")
	}
}
