package shelf

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

var formats = conform.Formats(Formats())

func TestMemorySinkConforms(t *testing.T) {
	env := conform.NewEnv(t, vfs.NewMemory())
	s := formats.OpenSink(t, env, "memory", connector.SinkSpec{Schema: conform.IDSchema, QueryName: "q"})
	conform.CheckSink(t, func() connector.Sink { return s },
		func() []int64 { return conform.IDsOf(s.(connector.Readable).Contents()) })
}

func TestMemorySinkReplacesItsRowsInCompleteMode(t *testing.T) {
	env := conform.NewEnv(t, vfs.NewMemory())
	s := formats.OpenSink(t, env, "memory", connector.SinkSpec{Schema: conform.IDSchema, QueryName: "q",
		Mode: plan.CompleteMode})
	for id, c := range []*chunk.Chunk{conform.IDChunk(0, 1, 2), conform.IDChunk(0, 3)} {
		n, err := s.Write(t.Context(), connector.Batch{ID: int64(id), Rows: chunk.One(c)})
		if err != nil || n != int64(c.Rows) {
			t.Fatalf("batch %d: %d rows, %v", id, n, err)
		}
	}
	testkit.Diff(t, "contents", conform.IDsOf(s.(connector.Readable).Contents()), []int64{3})
	f, _ := Lookup("memory")
	_, err := f.Sink(t.Context(), env, connector.SinkSpec{Schema: conform.IDSchema})
	if e, ok := err.(*plan.Error); !ok || e.Condition != "_LEGACY_ERROR_TEMP_1194" {
		t.Errorf("a memory sink without a name: %v", err)
	}
}

func TestNoopCountsAndDrops(t *testing.T) {
	s := formats.OpenSink(t, conform.NewEnv(t, vfs.NewMemory()), "noop",
		connector.SinkSpec{Schema: conform.IDSchema})
	if n, err := s.Write(t.Context(), connector.Batch{ID: 0, Rows: chunk.One(conform.IDChunk(0, 1, 2),
		conform.IDChunk(1, 3))}); n != 3 ||
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
			env := conform.NewEnv(t, vfs.NewMemory())
			var out strings.Builder
			env.Console = &out
			schema, rows := consoleRows()
			sink := formats.OpenSink(t, env, "console", connector.SinkSpec{Schema: schema, Options: options,
				QueryName: "q"})
			if n, err := sink.Write(t.Context(), connector.Batch{ID: 0, Rows: chunk.One(rows)}); err != nil || n != 4 {
				t.Fatalf("%d rows, %v", n, err)
			}
			testkit.Diff(t, "printed", out.String(), want)
			_, err := sink.Write(t.Context(), connector.Batch{ID: 1, Rows: conform.CutOff(rows)})
			if err == nil || out.String() != want {
				t.Errorf("a batch that failed (%v) printed something", err)
			}
		})
	}
}

func TestConsoleOptionsAreReadInTheQuery(t *testing.T) {
	for _, options := range []plan.Options{{"numRows": "many"}, {"truncate": "20"}} {
		sink := formats.OpenSink(t, conform.NewEnv(t, vfs.NewMemory()), "console",
			connector.SinkSpec{Schema: conform.IDSchema, Options: options})
		if _, err := sink.Write(t.Context(), connector.Batch{ID: 0, Rows: chunk.One()}); err == nil {
			t.Errorf("options %v were accepted", options)
		}
	}
}

// Power is lost at every file operation of three batches; afterwards the query
// repeats the batch that it has no commit for. Every row must be there once.
func TestSinksSurviveAPowerLoss(t *testing.T) {
	for _, format := range []string{"json", "delta"} {
		t.Run(format, func(t *testing.T) { testkit.CrashDisk(t, sinkProgram(t, format)) })
	}
}

func sinkProgram(t *testing.T, format string) testkit.DiskProgram {
	committed := int64(-1)
	batch := func(id int64) connector.Batch {
		return connector.Batch{ID: id, Rows: chunk.One(conform.IDChunk(0, 2*id), conform.IDChunk(1, 2*id+1))}
	}
	open := func(t testing.TB, disk vfs.FS) (*connector.Env, connector.Sink, error) {
		env := conform.NewEnv(t, disk)
		f, _ := formats.Lookup(format)
		s, err := f.Sink(t.Context(), env, connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out",
			QueryID: "q"})
		return env, s, err
	}
	return testkit.DiskProgram{
		Run: func(disk *vfs.Crashable) error {
			committed = -1
			_, s, err := open(t, disk)
			for id := int64(0); id < 3 && err == nil; id++ {
				if _, err = s.Write(t.Context(), batch(id)); err == nil {
					committed = id
				}
			}
			return err
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			env, s, err := open(t, disk)
			conform.Must(t, err)
			for id := committed + 1; id < 4; id++ {
				_, err := s.Write(t.Context(), batch(id))
				conform.Must(t, err)
			}
			testkit.Diff(t, "ids", formats.VisibleIDs(t, env, format), []int64{0, 1, 2, 3, 4, 5, 6, 7})
		},
		Points: 25,
	}
}
