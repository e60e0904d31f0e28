package connector

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

func openSink(t testing.TB, env *Env, format string, spec SinkSpec) Sink {
	t.Helper()
	f, ok := Lookup(format)
	if !ok {
		t.Fatalf("no format %s", format)
	}
	spec.Format = format
	s, err := f.Sink(t.Context(), env, spec)
	if err != nil {
		t.Fatalf("open sink: %v", err)
	}
	return s
}

func idsOf(chunks []*chunk.Chunk) []int64 {
	var ids []int64
	for _, c := range chunks {
		ids = append(ids, chunk.Values[int64](c.Cols[0])...)
	}
	slices.Sort(ids)
	return ids
}

func TestMemorySinkConforms(t *testing.T) {
	env := newEnv(t, vfs.NewMemory())
	s := openSink(t, env, "memory", SinkSpec{Schema: idSchema, QueryName: "q"})
	conformSink(t, func() Sink { return s }, func() []int64 { return idsOf(s.(Readable).Contents()) })
}

func TestMemorySinkReplacesItsRowsInCompleteMode(t *testing.T) {
	env := newEnv(t, vfs.NewMemory())
	s := openSink(t, env, "memory", SinkSpec{Schema: idSchema, QueryName: "q", Mode: plan.CompleteMode})
	for id, c := range []*chunk.Chunk{idChunk(0, 1, 2), idChunk(0, 3)} {
		n, err := s.Write(t.Context(), Batch{ID: int64(id), Rows: chunk.One(c)})
		if err != nil || n != int64(c.Rows) {
			t.Fatalf("batch %d: %d rows, %v", id, n, err)
		}
	}
	testkit.Diff(t, "contents", idsOf(s.(Readable).Contents()), []int64{3})
	f, _ := Lookup("memory")
	_, err := f.Sink(t.Context(), env, SinkSpec{Schema: idSchema})
	if e, ok := err.(*plan.Error); !ok || e.Condition != "_LEGACY_ERROR_TEMP_1194" {
		t.Errorf("a memory sink without a name: %v", err)
	}
}

func TestNoopCountsAndDrops(t *testing.T) {
	s := openSink(t, newEnv(t, vfs.NewMemory()), "noop", SinkSpec{Schema: idSchema})
	if n, err := s.Write(t.Context(), Batch{ID: 0, Rows: chunk.One(idChunk(0, 1, 2), idChunk(1, 3))}); n != 3 ||
		err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	if s.Describe() != "NoopTable" {
		t.Errorf("described as %s", s.Describe())
	}
}

// consoleRows are those of record_console.py.
func consoleRows() (plan.Type, *chunk.Chunk) {
	schema := plan.Struct(plan.Col("id", plan.Int), plan.Col("a\tk", plan.String),
		plan.Col("d", plan.Decimal(5, 2)), plan.Col("ts", plan.Timestamp), plan.Col("b", plan.Binary),
		plan.Col("a", plan.Array(plan.Int, true)),
		plan.Col("s", plan.Struct(plan.Col("x", plan.Int), plan.Col("y", plan.String))))
	micros := func(text string) int64 {
		at, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			panic(err)
		}
		return at.UnixMicro()
	}
	dec := func(n int64) plan.Value { return decimal128.FromI64(n) }
	seven := make([]plan.Value, 12)
	for i := range seven {
		seven[i] = int64(7)
	}
	return schema, chunk.FromRows(schema,
		[]plan.Value{int64(1), "short", dec(150), micros("2024-01-01 00:00:00"), []byte{1, 0xff},
			[]plan.Value{int64(1), nil}, []plan.Value{int64(1), "a"}},
		make([]plan.Value, 7),
		[]plan.Value{int64(-300000), "a text of thirty characters 123", dec(-99999),
			micros("2024-02-29 12:00:00.123"), []byte{}, []plan.Value{}, []plan.Value{nil, nil}},
		[]plan.Value{int64(4), "日本\n\U0001F600 é\a", dec(0), micros("1969-12-31 23:59:59.999999"),
			[]byte("0123456789"), seven, []plan.Value{int64(2), "\\"}})
}

func TestConsolePrintsAsSparkDoes(t *testing.T) {
	recorded, err := os.ReadFile("testdata/console.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range strings.Split(string(recorded), "#### ")[1:] {
		head, want, _ := strings.Cut(query, "\n")
		t.Run(head, func(t *testing.T) {
			var options plan.Options
			if err := json.Unmarshal([]byte(head), &options); err != nil {
				t.Fatal(err)
			}
			env := newEnv(t, vfs.NewMemory())
			var out strings.Builder
			env.Console = &out
			schema, rows := consoleRows()
			sink := openSink(t, env, "console", SinkSpec{Schema: schema, Options: options, QueryName: "q"})
			if n, err := sink.Write(t.Context(), Batch{ID: 0, Rows: chunk.One(rows)}); err != nil || n != 4 {
				t.Fatalf("%d rows, %v", n, err)
			}
			testkit.Diff(t, "printed", out.String(), want)
			_, err := sink.Write(t.Context(), Batch{ID: 1, Rows: cutOff(rows)})
			if err == nil || out.String() != want {
				t.Errorf("a batch that failed (%v) printed something", err)
			}
		})
	}
}

func TestConsoleOptionsAreReadInTheQuery(t *testing.T) {
	for _, options := range []plan.Options{{"numRows": "many"}, {"truncate": "20"}} {
		sink := openSink(t, newEnv(t, vfs.NewMemory()), "console", SinkSpec{Schema: idSchema, Options: options})
		if _, err := sink.Write(t.Context(), Batch{ID: 0, Rows: chunk.One()}); err == nil {
			t.Errorf("options %v were accepted", options)
		}
	}
}
