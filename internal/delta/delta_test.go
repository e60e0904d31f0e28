package delta

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

var testTime = time.UnixMilli(1_700_000_000_000)

// idSchema is that of most tables here: a bigint and a string.
var idSchema = plan.Struct(plan.Col("id", plan.Long), plan.Col("k", plan.String))

func idChunk(ids ...int64) *chunk.Chunk {
	c := chunk.NewChunk(idSchema, len(ids))
	for _, id := range ids {
		var k plan.Value
		if id%2 == 0 {
			k = fmt.Sprint("k", id)
		}
		c.AppendValues([]plan.Value{id, k})
	}
	return c
}

// open is the table at its newest version, or as one that is to be made.
func open(t testing.TB, table Table) *Snapshot {
	t.Helper()
	s, err := table.Load(context.Background())
	if IsNotTable(err) {
		s, err = table.New()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// appendRows writes rows as one commit, txn being that of a streaming query.
func appendRows(s *Snapshot, schema plan.Type, parts []string, txn *Txn, rows ...*chunk.Chunk) error {
	ctx := context.Background()
	fit, err := s.Fit(schema, FitOptions{Partitions: parts, Now: testTime})
	if err != nil {
		return err
	}
	spec := DataSpec{Schema: fit.Schema, Partitions: fit.Partitions, Zone: time.UTC}
	for i, c := range rows {
		rows[i] = shaped(c, fit)
	}
	w, err := s.Write(ctx, spec, chunk.One(rows...))
	if err != nil {
		return err
	}
	c := BatchWrite("Append", parts, w, testTime)
	c.Metadata, c.Protocol, c.Txn = fit.Metadata, fit.Protocol, txn
	_, err = s.Commit(ctx, c)
	return err
}

// shaped is a chunk with the columns in the table's order.
func shaped(c *chunk.Chunk, fit *Fit) *chunk.Chunk {
	out := &chunk.Chunk{Rows: c.Rows, Part: c.Part}
	for i, at := range fit.From {
		if at < 0 {
			out.Cols = append(out.Cols, chunk.NullVector(fit.Schema.Fields[i].Type, c.Rows))
			continue
		}
		out.Cols = append(out.Cols, c.Cols[at])
	}
	return out
}

// rowsOf reads the table's columns as lines, sorted.
func rowsOf(t testing.TB, s *Snapshot) []string {
	t.Helper()
	var names []string
	for _, f := range s.Schema.Fields {
		names = append(names, f.Name)
	}
	lines := []string{}
	for c, err := range s.Read(context.Background(), names) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		for i := range c.Rows {
			lines = append(lines, strings.TrimSpace(fmt.Sprintln(c.Row(i)...)))
		}
	}
	slices.Sort(lines)
	return lines
}

func idsOf(t testing.TB, s *Snapshot) []int64 {
	t.Helper()
	var ids []int64
	for c, err := range s.Read(context.Background(), []string{"id"}) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		ids = append(ids, chunk.Values[int64](c.Cols[0])...)
	}
	slices.Sort(ids)
	return ids
}

func TestATableIsMadeAppendedToAndReadBack(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	if ok, err := table.Exists(); ok || err != nil {
		t.Fatalf("exists before it was made: %t, %v", ok, err)
	}
	for i := range int64(25) {
		s := open(t, table)
		if err := appendRows(s, idSchema, nil, nil, idChunk(2*i, 2*i+1)); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckpointError(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, table)
	if s.Version != 24 || s.checkpointed != 20 {
		t.Errorf("version %d, checkpoint %d; want 24 and 20", s.Version, s.checkpointed)
	}
	want := make([]int64, 50)
	for i := range want {
		want[i] = int64(i)
	}
	testkit.Diff(t, "ids", idsOf(t, s), want)
	if err := table.Drop(); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Load(t.Context()); !IsNotTable(err) {
		t.Errorf("load after drop: %v", err)
	}
}

func TestARepeatedTransactionChangesNothing(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	s := open(t, table)
	for _, version := range []int64{0, 1, 1, 0} {
		txn := &Txn{AppID: "query", Version: version}
		if err := appendRows(s, idSchema, nil, txn, idChunk(version)); err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, table)
	testkit.Diff(t, "ids", idsOf(t, again), []int64{0, 1})
	if again.TxnVersion("query") != 1 || again.TxnVersion("other") != -1 || again.Version != 1 {
		t.Errorf("txn %d, version %d", again.TxnVersion("query"), again.Version)
	}
}

func TestAReplacementRemovesWhatIsThere(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	s := open(t, table)
	for id := range int64(3) {
		if err := appendRows(s, idSchema, nil, nil, idChunk(id)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := s.Write(t.Context(), DataSpec{Schema: idSchema, Zone: time.UTC}, chunk.One(idChunk(7)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), StreamUpdate(plan.CompleteMode, "q", 0, w, testTime)); err != nil {
		t.Fatal(err)
	}
	testkit.Diff(t, "ids", idsOf(t, open(t, table)), []int64{7})
}

// Every writer appends its own ids; all must be there, each once, whoever won.
func TestWritersAtTheSameTimeBothWin(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	if err := appendRows(open(t, table), idSchema, nil, nil, idChunk(0)); err != nil {
		t.Fatal(err)
	}
	const writers, commits = 4, 12
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			s, err := table.Load(context.Background())
			for i := 0; i < commits && err == nil; i++ {
				err = appendRows(s, idSchema, nil, nil, idChunk(int64(1+w*commits+i)))
			}
			errs[w] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	want := make([]int64, 1+writers*commits)
	for i := range want {
		want[i] = int64(i)
	}
	testkit.Diff(t, "ids", idsOf(t, open(t, table)), want)
}

func TestOneBatchOfTwoRunsIsWrittenOnce(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	first := open(t, table)
	if err := appendRows(first, idSchema, nil, &Txn{AppID: "q", Version: 0}, idChunk(0)); err != nil {
		t.Fatal(err)
	}
	second := open(t, table)
	for _, s := range []*Snapshot{first, second} {
		if err := appendRows(s, idSchema, nil, &Txn{AppID: "q", Version: 1}, idChunk(1)); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Diff(t, "ids", idsOf(t, open(t, table)), []int64{0, 1})
}

func TestADescriptionThatChangedMeanwhileStopsAWriter(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	if err := appendRows(open(t, table), idSchema, nil, nil, idChunk(0)); err != nil {
		t.Fatal(err)
	}
	slow, fast := open(t, table), open(t, table)
	wide := plan.Struct(append(slices.Clone(idSchema.Fields), plan.Col("more", plan.Int))...)
	fit, err := fast.Fit(wide, FitOptions{MergeSchema: true, Now: testTime})
	if err != nil {
		t.Fatal(err)
	}
	c := BatchWrite("Append", nil, Written{}, testTime)
	c.Metadata = fit.Metadata
	if _, err := fast.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	err = appendRows(slow, idSchema, nil, nil, idChunk(1))
	wantCondition(t, err, "DELTA_METADATA_CHANGED")
	if err := appendRows(slow, idSchema, nil, nil, idChunk(1)); err != nil {
		t.Errorf("after it read the new columns: %v", err)
	}
	testkit.Diff(t, "rows", rowsOf(t, open(t, table)), []string{"0 k0 <nil>", "1 <nil> <nil>"})
}

func wantCondition(t *testing.T, err error, condition string) {
	t.Helper()
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != condition || e.State == "" {
		t.Errorf("got %v, want a %s with an SQLSTATE", err, condition)
	}
}

func TestDataThatDoesNotFitIsRefused(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	schema := plan.Struct(plan.Col("id", plan.Int), plan.Col("k", plan.String), plan.Col("v", plan.Double),
		plan.Col("d", plan.Date))
	s := open(t, table)
	if err := appendRows(s, schema, nil, nil, chunk.FromRows(schema, make([]plan.Value, 4))); err != nil {
		t.Fatal(err)
	}
	cols := func(f ...plan.Field) plan.Type { return plan.Struct(f...) }
	all := func(f ...plan.Field) plan.Type { return plan.Struct(append(slices.Clone(schema.Fields), f...)...) }
	for _, c := range []struct {
		name      string
		data      plan.Type
		options   FitOptions
		condition string // "" when it fits
		from      []int
	}{
		{"the same", schema, FitOptions{}, "", []int{0, 1, 2, 3}},
		{"other order and case", cols(plan.Col("K", plan.String), plan.Col("ID", plan.Int)), FitOptions{}, "",
			[]int{1, 0, -1, -1}},
		{"a column more", all(plan.Col("more", plan.Int)), FitOptions{}, "DELTA_METADATA_MISMATCH", nil},
		{"a column more, merged", all(plan.Col("more", plan.Int)), FitOptions{MergeSchema: true}, "",
			[]int{0, 1, 2, 3, 4}},
		{"another type", cols(plan.Col("v", plan.Date)), FitOptions{}, "DELTA_FAILED_TO_MERGE_FIELDS", nil},
		{"a type that is cast", cols(plan.Col("id", plan.String)),
			FitOptions{Castable: func(from, to plan.Type) bool { return true }}, "", []int{0, -1, -1, -1}},
		{"a column twice", cols(plan.Col("id", plan.Int), plan.Col("ID", plan.Int)), FitOptions{},
			"DELTA_DUPLICATE_COLUMNS_FOUND.DATA", nil},
		{"other partitions", schema, FitOptions{Partitions: []string{"k"}}, "DELTA_METADATA_MISMATCH", nil},
		{"new columns", cols(plan.Col("n", plan.Long)), FitOptions{OverwriteSchema: true}, "", []int{0}},
		{"a name with a blank", cols(plan.Col("a b", plan.Long)), FitOptions{OverwriteSchema: true},
			"DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", nil},
		{"an interval", cols(plan.Col("i", plan.DayTime)), FitOptions{OverwriteSchema: true},
			"DELTA_UNSUPPORTED_DATA_TYPES", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			fit, err := s.Fit(c.data, c.options)
			if c.condition != "" {
				wantCondition(t, err, c.condition)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			testkit.Diff(t, "from", fit.From, c.from)
		})
	}
}

func TestNullsInAColumnThatTakesNoneAreRefused(t *testing.T) {
	table := Table{vfs.NewMemory(), "/data/t"}
	strict := plan.Struct(plan.Field{Name: "id", Type: plan.Long}, plan.Col("k", plan.String))
	s, err := table.Create(t.Context(), CreateSpec{Schema: strict, Now: testTime})
	if err != nil {
		t.Fatal(err)
	}
	err = appendRows(s, idSchema, nil, nil, chunk.FromRows(idSchema, []plan.Value{nil, "a"}))
	wantCondition(t, err, "DELTA_NOT_NULL_CONSTRAINT_VIOLATED")
	_, err = s.Fit(plan.Struct(plan.Col("k", plan.String)), FitOptions{})
	wantCondition(t, err, "DELTA_MISSING_NOT_NULL_COLUMN_VALUE")
	_, err = table.Create(t.Context(), CreateSpec{Schema: strict, Now: testTime})
	wantCondition(t, err, "DELTA_TABLE_ALREADY_EXISTS")
	testkit.Diff(t, "rows", rowsOf(t, open(t, table)), []string{})
}

func TestADamagedLogIsNamed(t *testing.T) {
	commit := func(fsys vfs.FS, version int64) string { return Table{fsys, "/t"}.logPath(commitName(version)) }
	const third = "/t/_delta_log/00000000000000000003.json"
	replace := func(name, text string) func(vfs.FS) error {
		return func(fsys vfs.FS) error { return vfs.WriteReplace(fsys, name, []byte(text)) }
	}
	for _, c := range []struct {
		name, condition string
		damage          func(fsys vfs.FS) error
	}{
		{"a commit in the middle is gone", "DELTA_VERSIONS_NOT_CONTIGUOUS",
			func(fsys vfs.FS) error { return fsys.Remove(commit(fsys, 2)) }},
		{"the beginning is gone", "DELTA_TRUNCATED_TRANSACTION_LOG",
			func(fsys vfs.FS) error { return fsys.Remove(commit(fsys, 0)) }},
		{"a line is cut off", "DELTA_STATE_RECOVER_ERROR", func(fsys vfs.FS) error {
			data, err := vfs.ReadFile(fsys, commit(fsys, 3))
			return errors.Join(err, vfs.WriteReplace(fsys, commit(fsys, 3), data[:len(data)-20]))
		}},
		{"a commit is empty", "DELTA_STATE_RECOVER_ERROR", replace(third, "")},
		{"there is no protocol", "DELTA_STATE_RECOVER_ERROR",
			replace("/t/_delta_log/00000000000000000000.json", "{}\n")},
		{"the schema is no schema", "DELTA_STATE_RECOVER_ERROR", replace(third,
			`{"metaData":{"id":"x","schemaString":"{}","partitionColumns":[]}}`+"\n")},
		{"a feature that is not known", "DELTA_UNSUPPORTED_FEATURES_FOR_READ", replace(third,
			`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["timeMachine"]}}`+"\n")},
		{"a reader version that is not known", "DELTA_UNSUPPORTED_FEATURES_FOR_READ", replace(third,
			`{"protocol":{"minReaderVersion":4,"minWriterVersion":7}}`+"\n")},
		{"columns that are mapped and have no names", "DELTA_STATE_RECOVER_ERROR", replace(third, `{"metaData":{"id":"x",`+
			`"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":\"long\",\"metadata\":{}}]}",`+
			`"partitionColumns":[],"configuration":{"delta.columnMapping.mode":"name"}}}`+"\n")},
		{"columns that are mapped in a new way", "DELTA_UNSUPPORTED_FEATURES_FOR_READ", replace(third, `{"metaData":{"id":"x",`+
			`"schemaString":"{\"type\":\"struct\",\"fields\":[]}",`+
			`"partitionColumns":[],"configuration":{"delta.columnMapping.mode":"smell"}}}`+"\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := Table{vfs.NewMemory(), "/t"}
			s := open(t, table)
			for id := range int64(4) {
				if err := appendRows(s, idSchema, nil, nil, idChunk(id)); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.damage(table.FS); err != nil {
				t.Fatal(err)
			}
			_, err := table.Load(t.Context())
			wantCondition(t, err, c.condition)
		})
	}
}

// DL-08 of test/oracle/reports.tsv: a damaged checkpoint whose commits are all there
// does not make the table unreadable; without them nothing else says what it is.
func TestReportDL08(t *testing.T) {
	table := Table{vfs.NewMemory(), "/t"}
	s := open(t, table)
	for id := range int64(12) {
		if err := appendRows(s, idSchema, nil, nil, idChunk(id)); err != nil {
			t.Fatal(err)
		}
	}
	name := table.logPath("00000000000000000010.checkpoint.parquet")
	data, err := vfs.ReadFile(table.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteReplace(table.FS, name, data[:len(data)/2]); err != nil {
		t.Fatal(err)
	}
	for _, version := range []int64{10, 11} {
		s, err := table.LoadVersion(t.Context(), version)
		if err != nil || s.BrokenCheckpoint() == nil || len(s.Files()) != int(version)+1 {
			t.Fatalf("version %d: %v, %v", version, s, err)
		}
	}
	s, err = table.Load(t.Context())
	if err != nil || len(s.Files()) != 12 {
		t.Fatalf("%v, %v", s, err)
	}
	if err := appendRows(s, idSchema, nil, nil, idChunk(12)); err != nil {
		t.Fatal(err)
	}
	if err := table.FS.Remove(table.logPath(commitName(3))); err != nil {
		t.Fatal(err)
	}
	if _, err = table.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "checkpoint.parquet") {
		t.Errorf("got %v, want the checkpoint that is damaged", err)
	}
}

func TestWhatAWriterMustKnowIsRefusedByName(t *testing.T) {
	metadata := func(fields, conf string) string {
		return `{"metaData":{"id":"x","schemaString":"{\"type\":\"struct\",\"fields\":[` + fields +
			`]}","partitionColumns":[],"configuration":{` + conf + `}}}`
	}
	protocol := func(more string) string {
		return `{"protocol":{"minReaderVersion":1,"minWriterVersion":` + more + `}}`
	}
	generated := `{\"name\":\"a\",\"type\":\"long\",\"metadata\":{\"delta.generationExpression\":\"1\"}}`
	for line, feature := range map[string]string{
		protocol(`7,"writerFeatures":["icebergCompatV2"]`): "icebergCompatV2",
		protocol(`7,"writerFeatures":["timeMachine"]`):     "timeMachine",
		protocol("8"): "writer version 8",
		metadata("", `"delta.constraints.c":"id > 0"`): "constraints",
		metadata(generated, ""):                        "computed columns",
	} {
		table := Table{vfs.NewMemory(), "/t"}
		if err := appendRows(open(t, table), idSchema, nil, nil, idChunk(0)); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteNew(table.FS, table.logPath(commitName(1)), []byte(line+"\n")); err != nil {
			t.Fatal(err)
		}
		s := open(t, table)
		unseen := Written{Adds: []Add{{Path: "x", DataChange: true}}}
		_, err := s.Commit(t.Context(), BatchWrite("Append", nil, unseen, testTime))
		wantCondition(t, err, "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE")
		if err != nil && !strings.Contains(err.Error(), feature) {
			t.Errorf("%v does not name %s", err, feature)
		}
	}
}

// Whatever operation the power fails at, the table has whole commits: those that
// were reported, and perhaps the one that was under way.
func TestCommitsSurviveAPowerLoss(t *testing.T) {
	var reported int64
	testkit.CrashDisk(t, testkit.DiskProgram{
		Run: func(disk *vfs.Crashable) error {
			reported = -1
			table := Table{disk, "/data/t"}
			s, err := table.New()
			for id := int64(0); id < 12 && err == nil; id++ {
				if err = appendRows(s, idSchema, nil, &Txn{AppID: "q", Version: id}, idChunk(id)); err == nil {
					reported = id
				}
			}
			return errors.Join(err, s.unwrittenError())
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			table := Table{disk, "/data/t"}
			s, err := table.Load(t.Context())
			if IsNotTable(err) && reported < 0 {
				s, err = table.New()
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.Version != reported && s.Version != reported+1 {
				t.Fatalf("version %d survived, %d was reported", s.Version, reported)
			}
			// The query goes on with the batch whose fate it does not know.
			for id := reported; id < 13; id++ {
				if id < 0 {
					continue
				}
				if err := appendRows(s, idSchema, nil, &Txn{AppID: "q", Version: id}, idChunk(id)); err != nil {
					t.Fatal(err)
				}
			}
			want := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
			testkit.Diff(t, "ids", idsOf(t, open(t, table)), want)
		},
		Points: 60,
	})
}

func (s *Snapshot) unwrittenError() error {
	if s == nil {
		return nil
	}
	return s.unwritten
}

// allTypes is a table of every type that Delta has.
func allTypes() (plan.Type, *chunk.Chunk) {
	schema := plan.Struct(
		plan.Col("id", plan.Int),
		plan.Col("b", plan.Boolean),
		plan.Col("i8", plan.Byte),
		plan.Col("i16", plan.Short),
		plan.Col("i64", plan.Long),
		plan.Col("f", plan.Float),
		plan.Col("d", plan.Double),
		plan.Col("dec", plan.Decimal(38, 10)),
		plan.Col("dec2", plan.Decimal(5, 2)),
		plan.Col("s", plan.String),
		plan.Col("bin", plan.Binary),
		plan.Col("dt", plan.Date),
		plan.Col("ts", plan.Timestamp),
		plan.Col("ntz", plan.TimestampNTZ),
		plan.Col("a", plan.Array(plan.Int, true)),
		plan.Col("m", plan.Map(plan.String, plan.Int, true)),
		plan.Col("st",
			plan.Struct(plan.Col("x", plan.Int), plan.Col("y", plan.Struct(plan.Col("z", plan.String))))),
	)
	big, err := decimal128.FromString("12345678901234567890.0123456789", 38, 10)
	if err != nil {
		panic(err)
	}
	return schema, chunk.FromRows(schema,
		[]plan.Value{int64(1), true, int64(-128), int64(-32768), int64(-9223372036854775808), float32(1.5), 2.5e300,
			big, decimal128.FromI64(99999), strings.Repeat("x", 50), []byte{0, 255}, int32(-719162), int64(1),
			int64(1709251199999999), []plan.Value{int64(1), nil},
			plan.MapValue{Keys: []plan.Value{"k", "n"}, Values: []plan.Value{int64(1), nil}},
			[]plan.Value{int64(1), []plan.Value{"z"}}},
		append([]plan.Value{int64(2)}, make([]plan.Value, 16)...),
		[]plan.Value{int64(3), false, int64(127), int64(32767), int64(9223372036854775807), float32(0), -1.0,
			decimal128.FromI64(-1), decimal128.FromI64(-1), "é\U0001F600", []byte{}, int32(2932896),
			int64(1719748800000000), int64(-2208988800000000), []plan.Value{}, plan.MapValue{},
			[]plan.Value{nil, nil}})
}
