package delta

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

var nestedRows = []string{
	"0|{x,y=0}|[{e=e}]|{k={v=0}}|p 0", "1|{x,y=1}|[{e=e}]|{k={v=1}}|p 1", "2|{x,y=2}|[{e=e}]|{k={v=2}}|p 2",
}

// foreignTables are tables made here with the rows that every reader must find.
var foreignTables = []struct {
	name string
	make func(t *testing.T, table Table)
	want []string
}{
	{"plain", func(t *testing.T, table Table) {
		must(
			t,
			appendRows(open(t, table), idSchema, nil, nil, idChunk(1, 2),
				chunk.FromRows(idSchema, []plan.Value{nil, ""})),
		)
		must(t, appendRows(open(t, table), idSchema, nil, nil, idChunk(3)))
	}, []string{"1|None", "2|k2", "3|None", "None|"}},

	{"types", func(t *testing.T, table Table) {
		schema, rows := allTypes()
		must(t, appendRows(open(t, table), schema, nil, nil, rows))
	}, []string{
		"1|True|-128|-32768|-9223372036854775808|1.5|2.5e+300|12345678901234567890.0123456789|999.99|" +
			strings.Repeat("x",
				50) + "|00ff|0001-01-01|1970-01-01 00:00:00.000001|2024-02-29 23:59:59.999999|[1,None]|" +
			"{k=1,n=None}|{x=1,y={z=z}}",
		"2|None|None|None|None|None|None|None|None|None|None|None|None|None|None|None|None",
		"3|False|127|32767|9223372036854775807|0.0|-1.0|-0.0000000001|-0.01|é\U0001F600||9999-12-31|" +
			"2024-06-30 12:00:00.000000|1900-01-01 00:00:00.000000|[]|[]|{x=None,y=None}",
	}},

	{"floats", func(t *testing.T, table Table) {
		schema := plan.Struct(plan.Col("d", plan.Double), plan.Col("f", plan.Float),
			plan.Col("n", plan.TimestampNTZ))
		must(t, appendRows(open(t, table), schema, nil, nil, chunk.FromRows(schema,
			[]plan.Value{math.NaN(), float32(1), int64(0)}, []plan.Value{math.Inf(1), float32(math.Inf(-1)), nil},
			[]plan.Value{math.Copysign(0, -1), float32(-0.5), nil})))
	}, []string{"-0.0|-0.5|None", "inf|-inf|None", "nan|1.0|1970-01-01 00:00:00.000000"}},

	{"partitions", func(t *testing.T, table Table) {
		schema := plan.Struct(plan.Col("id", plan.Int), plan.Col("p", plan.String), plan.Col("d", plan.Date),
			plan.Col("t", plan.Timestamp), plan.Col("n", plan.Long))
		values := []plan.Value{"a b", "x/y=z", nil, "", "ü%20", "#?&+:", "quote'd\"", "{[^]}"}
		c := chunk.NewChunk(schema, 8)
		for i, v := range values {
			c.AppendValues([]plan.Value{int64(i), v, int32(19723 + i), int64(1704067200500000 + 1000000*i), int64(-i)})
		}
		must(t, appendRows(open(t, table), schema, []string{"p", "d", "t", "n"}, nil, c))
	}, []string{
		"0|a b|2024-01-01|2024-01-01 00:00:00.500000|0", "1|x/y=z|2024-01-02|2024-01-01 00:00:01.500000|-1",
		"2|None|2024-01-03|2024-01-01 00:00:02.500000|-2", "3|None|2024-01-04|2024-01-01 00:00:03.500000|-3",
		"4|ü%20|2024-01-05|2024-01-01 00:00:04.500000|-4", "5|#?&+:|2024-01-06|2024-01-01 00:00:05.500000|-5",
		"6|quote'd\"|2024-01-07|2024-01-01 00:00:06.500000|-6", "7|{[^]}|2024-01-08|2024-01-01 00:00:07.500000|-7",
	}},

	{"streamed", func(t *testing.T, table Table) {
		s := open(t, table)
		for id := range int64(23) {
			must(t, appendRows(s, idSchema, nil, &Txn{AppID: "q", Version: id}, idChunk(2*id)))
			must(t, appendRows(s, idSchema, nil, &Txn{AppID: "q", Version: id}, idChunk(2*id)))
		}
		must(t, s.CheckpointError())
		// Readers begin with the checkpoint when the commits before it are gone.
		for version := range int64(20) {
			must(t, table.FS.Remove(table.logPath(commitName(version))))
		}
	}, func() (want []string) {
		for id := range 23 {
			want = append(want, fmt.Sprintf("%d|k%d", 2*id, 2*id))
		}
		return want
	}()},

	{"replaced", func(t *testing.T, table Table) {
		s := open(t, table)
		must(t, appendRows(s, idSchema, nil, nil, idChunk(1)))
		fit, err := s.Fit(plan.Struct(plan.Col("n", plan.Int)), FitOptions{OverwriteSchema: true, Now: testTime})
		must(t, err)
		w, err := s.Write(t.Context(), DataSpec{Schema: fit.Schema, Zone: time.UTC},
			chunk.One(chunk.FromRows(fit.Schema, []plan.Value{int64(5)})))
		must(t, err)
		c := BatchWrite("Overwrite", nil, w, testTime)
		c.Metadata, c.Replace = fit.Metadata, true
		_, err = s.Commit(t.Context(), c)
		must(t, err)
	}, []string{"5"}},

	{"empty", func(t *testing.T, table Table) {
		_, err := table.Create(t.Context(), CreateSpec{Schema: idSchema, Partitions: []string{"k"}, Now: testTime,
			Description: "nothing", Properties: map[string]string{"owner.note": "x"}})
		must(t, err)
	}, []string{}},

	{"mapped by name", withProperties(nested, []string{"k"}, nestedChunk,
		map[string]string{"delta.columnMapping.mode": "name", "delta.checkpointInterval": "2"}), nestedRows},

	{"mapped by id", withProperties(nested, []string{"k"}, nestedChunk,
		map[string]string{"delta.columnMapping.mode": "id", "delta.checkpointInterval": "2"}), nestedRows},

	{"every commit has a time", withProperties(idSchema, nil, func(id int64) *chunk.Chunk { return idChunk(id) },
		map[string]string{"delta.enableInCommitTimestamps": "true", "delta.enableRowTracking": "true",
			"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "2",
			"delta.enableChangeDataFeed": "true"}), []string{"0|k0", "1|None", "2|k2"}},

	{"with lengths and without NULL", func(t *testing.T, table Table) {
		schema := plan.Struct(plan.Field{Name: "id", Type: plan.Long},
			plan.Col("s", plan.Struct(plan.Col("v", plan.VarChar(3)), plan.Col("c", plan.Char(2)))))
		s, err := table.Create(t.Context(), CreateSpec{Schema: schema, Now: testTime})
		must(t, err)
		if !s.Schema.Equal(schema) {
			t.Errorf("the schema is read back as %s", s.Schema.JSON())
		}
		rows := plan.Struct(plan.Col("id", plan.Long),
			plan.Col("s", plan.Struct(plan.Col("v", plan.String), plan.Col("c", plan.String))))
		row := []plan.Value{int64(1), []plan.Value{"abc", "x "}}
		must(t, appendRows(s, rows, nil, nil, chunk.FromRows(rows, row)))
	}, []string{"1|{v=abc,c=x }"}},
}

// nested is a schema with structs in every place that one can stand in.
var nested = plan.Struct(plan.Col("id", plan.Long), plan.Col("a b", plan.Struct(plan.Col("x,y", plan.Int))),
	plan.Col("l", plan.Array(plan.Struct(plan.Col("e", plan.String)), true)),
	plan.Col("m", plan.Map(plan.String, plan.Struct(plan.Col("v", plan.Int)), true)), plan.Col("k", plan.String))

func nestedChunk(id int64) *chunk.Chunk {
	return chunk.FromRows(nested, []plan.Value{id, []plan.Value{id}, []plan.Value{[]plan.Value{"e"}},
		plan.MapValue{Keys: []plan.Value{"k"}, Values: []plan.Value{[]plan.Value{id}}}, fmt.Sprint("p ", id)})
}

// withProperties is a table with some properties and two commits of rows.
func withProperties(schema plan.Type, partitions []string, rows func(id int64) *chunk.Chunk,
	properties map[string]string,
) func(t *testing.T, table Table) {
	return func(t *testing.T, table Table) {
		s, err := table.Create(t.Context(), CreateSpec{Schema: schema, Partitions: partitions,
			Properties: properties, Now: testTime})
		must(t, err)
		for id := range int64(3) {
			must(t, appendRows(s, schema, nil, nil, rows(id)))
		}
		must(t, s.CheckpointError())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestForeignReadersFindTheRows(t *testing.T) {
	python := testkit.Python(t)
	dir := t.TempDir()
	args := []string{"testdata/foreign.py"}
	want := map[string][]string{}
	for _, c := range foreignTables {
		table := Table{vfs.NewLocal(), path.Join(dir, c.name)}
		c.make(t, table)
		args = append(args, table.Dir)
		want[c.name] = slices.Sorted(slices.Values(c.want))
		if len(c.want) == 0 {
			want[c.name] = []string{}
		}
	}
	out, err := exec.CommandContext(context.Background(), python, args...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	readers := map[string]int{}
	for line := range strings.Lines(string(out)) {
		var got struct {
			Reader, Table string
			Rows          []string
		}
		must(t, json.Unmarshal([]byte(line), &got))
		readers[got.Reader]++
		slices.Sort(got.Rows)
		testkit.Diff(t, got.Reader+" reads "+got.Table, got.Rows, want[got.Table])
	}
	testkit.Need(t, readers["delta-rs"] > 0, "the Python package deltalake")
	if readers["delta-rs"] != len(foreignTables) {
		t.Errorf("read by %v, want delta-rs to read all %d", readers, len(foreignTables))
	}
	t.Logf("read by %v", readers)
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}

// The same tables, read back here.
func TestWeirFindsTheRowsToo(t *testing.T) {
	for _, c := range foreignTables {
		t.Run(c.name, func(t *testing.T) {
			table := Table{vfs.NewMemory(), "/data/t"}
			c.make(t, table)
			s := open(t, table)
			if got := rowsOf(t, s); len(got) != len(c.want) {
				t.Errorf("%d rows, want %d: %v", len(got), len(c.want), got)
			}
		})
	}
}
