package deltatable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

var (
	row = plan.Struct(plan.Col("id", plan.Int), plan.Col("k", plan.String), plan.Col("v", plan.Double),
		plan.Col("d", plan.Date))
	count = plan.Struct(plan.Col("k", plan.String), plan.Col("count", plan.Long))
)

// rows are rows of the recorded cases; k is that of the row, or made from
// its number.
func rows(first int, ks ...plan.Value) *chunk.Chunk {
	c := chunk.NewChunk(row, len(ks))
	for i, k := range ks {
		id := first + i
		c.AppendValues([]plan.Value{int64(id), k, float64(id) / 4, int32(19723 + id)})
	}
	return c
}

func counts(k0, k1 int64) chunk.Rows {
	return chunk.One(conform.Part(0, chunk.FromRows(count, []plan.Value{"k0", k0})),
		conform.Part(1, chunk.FromRows(count, []plan.Value{"k1", k1})))
}

// The logs of testdata are what Spark 4.2 with Delta 4.4 writes.
func TestDeltaSinkWritesTheLogOfDelta(t *testing.T) {
	for name, c := range map[string]struct {
		spec    connector.SinkSpec
		batches []chunk.Rows
	}{
		"append": {connector.SinkSpec{Schema: row},
			[]chunk.Rows{chunk.One(rows(0, "k0", "k1", "k0")), chunk.One(rows(3, "k1"))}},
		"complete": {connector.SinkSpec{Schema: count, Mode: plan.CompleteMode},
			[]chunk.Rows{counts(1, 1), counts(2, 1)}},
		"partitioned": {connector.SinkSpec{Schema: row, Partitions: []string{"k", "d"}}, []chunk.Rows{
			chunk.One(rows(0, "a b", "x/y=z", nil, "k1", "ü%20", "__HIVE_DEFAULT_PARTITION__"))}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := vfs.NewMemory()
			c.spec.Path, c.spec.QueryID = "/r/out", "<query id>"
			sink := formats.OpenSink(t, conform.NewEnv(t, fsys), "delta", c.spec)
			if got := sink.Describe(); got != "DeltaSink[/r/out]" {
				t.Errorf("described as %s", got)
			}
			for id, rows := range c.batches {
				n, err := sink.Write(t.Context(), connector.Batch{ID: int64(id), Rows: rows})
				if n != -1 || err != nil {
					t.Fatalf("batch %d: %d, %v", id, n, err)
				}
			}
			data, err := os.ReadFile("testdata/" + name + ".json")
			conform.Must(t, err)
			var want struct{ Log map[string][]json.RawMessage }
			conform.Must(t, json.Unmarshal(data, &want))
			for file, actions := range want.Log {
				got, err := vfs.ReadFile(fsys, path.Join("/r/out/_delta_log", file))
				conform.Must(t, err)
				testkit.Diff(t, file, maskedActions(t, bytes.Split(bytes.TrimSpace(got), []byte("\n"))),
					maskedActions(t, rawLines(actions)))
			}
		})
	}
}

func rawLines(actions []json.RawMessage) [][]byte {
	lines := make([][]byte, len(actions))
	for i, a := range actions {
		lines[i] = a
	}
	return lines
}

var partName = regexp.MustCompile(`part-(\d{5})-(<id>|[0-9a-f-]{36})(\.c000|-c000)?`)

// maskedActions are the lines of a commit without what differs from run to run,
// neighbouring file actions of one kind sorted.
func maskedActions(t *testing.T, lines [][]byte) []string {
	t.Helper()
	out := make([]string, len(lines))
	for i, line := range lines {
		var action map[string]map[string]any
		conform.Must(t, json.Unmarshal(line, &action))
		for kind, body := range action {
			maskAction(t, kind, body)
		}
		text, err := json.Marshal(action)
		conform.Must(t, err)
		out[i] = string(text)
	}
	for from := 0; from < len(out); {
		to := from
		for to < len(out) && out[to][:8] == out[from][:8] {
			to++
		}
		slices.Sort(out[from:to])
		from = to
	}
	return out
}

func maskAction(t *testing.T, kind string, body map[string]any) {
	for _, key := range []string{"timestamp", "engineInfo", "txnId", "modificationTime", "deletionTimestamp",
		"size",
		"createdTime", "lastUpdated", "appId"} {
		if _, ok := body[key]; ok {
			body[key] = "<" + key + ">"
		}
	}
	if name, ok := body["path"].(string); ok {
		body["path"] = partName.ReplaceAllString(name, "part-$1")
	}
	if kind == "metaData" {
		body["id"] = "<table id>"
	}
	for _, key := range []string{"stats", "schemaString"} {
		if text, ok := body[key].(string); ok {
			var parsed any
			conform.Must(t, json.Unmarshal([]byte(text), &parsed))
			body[key] = parsed
		}
	}
	if metrics, ok := body["operationMetrics"].(map[string]any); ok {
		metrics["numOutputBytes"] = "<n>"
	}
}

func TestDeltaSinkConforms(t *testing.T) {
	for _, parts := range [][]string{nil, {"k"}} {
		env := conform.NewEnv(t, vfs.NewMemory())
		open := func() connector.Sink {
			return formats.OpenSink(t, env, "delta",
				connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out", Partitions: parts, QueryID: "q"})
		}
		conform.CheckSink(t, open, func() []int64 { return formats.VisibleIDs(t, env, "delta") })
	}
}

func TestDeltaRefusesByName(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	f, _ := formats.Lookup("delta")
	conform.Must(t, vfs.MkdirDurable(fsys, "/r/void"))
	conform.Must(t, f.Write(t.Context(), env, connector.WriteSpec{Schema: row, Path: "/r/t"},
		chunk.One(rows(0, "a"))))
	describe := func(r plan.Read) error {
		r.Format = "delta"
		_, err := f.Describe(t.Context(), env, &r)
		return err
	}
	sink := func(spec connector.SinkSpec, rows *chunk.Chunk) error {
		spec.Path, spec.QueryID = "/r/t", fmt.Sprint("q", spec.Schema.DDL())
		s, err := f.Sink(t.Context(), env, spec)
		if err == nil {
			_, err = s.Write(t.Context(), connector.Batch{ID: 0, Rows: chunk.One(rows)})
		}
		return err
	}
	text := plan.Struct(plan.Col("v", plan.Date))
	more := plan.Struct(plan.Col("more", plan.Int))
	for condition, err := range map[string]error{
		"PATH_NOT_FOUND":            describe(plan.Read{Paths: []string{"/r/nope"}}),
		"DELTA_MISSING_DELTA_TABLE": describe(plan.Read{Paths: []string{"/r/void"}}),
		"DELTA_UNSUPPORTED_SCHEMA_DURING_READ": describe(plan.Read{Paths: []string{"/r/t"},
			Schema: &conform.IDSchema}),
		"DELTA_NO_START_FOR_CDC_READ": describe(plan.Read{Paths: []string{"/r/t"},
			Options: plan.Options{"readChangeFeed": "true"}}),
		"DELTA_MISSING_CHANGE_DATA": describe(plan.Read{Paths: []string{"/r/t"},
			Options: plan.Options{"readChangeFeed": "true", "startingVersion": "0"}}),
		"DELTA_UNSUPPORTED_OUTPUT_MODE": sink(connector.SinkSpec{Schema: row, Mode: plan.UpdateMode}, nil),
		"DELTA_METADATA_MISMATCH":       sink(connector.SinkSpec{Schema: more}, chunk.Empty(more)),
		"DELTA_FAILED_TO_MERGE_FIELDS":  sink(connector.SinkSpec{Schema: text}, chunk.Empty(text)),
		"DELTA_PATH_EXISTS": f.Write(t.Context(), env,
			connector.WriteSpec{Schema: row, Path: "/r/t", Mode: plan.SaveError}, chunk.One()),
	} {
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != condition || e.State == "" {
			t.Errorf("got %v, want %s", err, condition)
		}
	}
}

// The recorded case schema_mismatch: missing columns are NULL, names may differ
// in case, strings are cast, mergeSchema adds columns.
func TestDeltaSinkFitsDataIntoTheTable(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	f, _ := formats.Lookup("delta")
	conform.Must(t, f.Write(t.Context(), env, connector.WriteSpec{Schema: row, Path: "/r/t"},
		chunk.One(rows(0, "k0"))))
	write := func(o plan.Options, c *chunk.Chunk, fields ...plan.Field) {
		t.Helper()
		spec := connector.SinkSpec{Schema: plan.Struct(fields...), Path: "/r/t", Options: o,
			QueryID: fmt.Sprint("q", fields)}
		s, err := f.Sink(t.Context(), env, spec)
		conform.Must(t, err)
		_, err = s.Write(t.Context(), connector.Batch{ID: 0, Rows: chunk.One(c)})
		conform.Must(t, err)
	}
	rows := func(x ...plan.Value) func(fields ...plan.Field) *chunk.Chunk {
		return func(fields ...plan.Field) *chunk.Chunk { return chunk.FromRows(plan.Struct(fields...), x) }
	}
	id, upper := plan.Col("id", plan.Int), plan.Col("ID", plan.Int)
	text, more := plan.Col("id", plan.String), plan.Col("more", plan.Int)
	write(nil, rows(int64(1))(id), id)
	write(nil, rows(int64(2))(upper), upper)
	write(nil, rows("3")(text), text)
	write(plan.Options{"mergeSchema": "true"}, rows(int64(4), int64(40))(id, more), id, more)
	got := conform.RowsOf(t, formats.ScanAll(t, env, &plan.Read{Format: "delta", Paths: []string{"/r/t"}}))
	slices.SortFunc(got, func(a, b []plan.Value) int { return int(a[0].(int64) - b[0].(int64)) })
	testkit.Diff(t, "rows", got, [][]plan.Value{
		{int64(0), "k0", 0.0, int32(19723), nil}, {int64(1), nil, nil, nil, nil}, {int64(2), nil, nil, nil, nil},
		{int64(3), nil, nil, nil, nil}, {int64(4), nil, nil, nil, int64(40)}})
}

func TestDeltaBatchWrites(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	f, _ := formats.Lookup("delta")
	for _, c := range []struct {
		mode    plan.SaveMode
		parts   []string
		options plan.Options
		ids     []int64
		visible []int64
	}{
		{plan.SaveError, []string{"k"}, nil, []int64{1, 2, 4}, []int64{1, 2, 4}},
		{plan.SaveIgnore, nil, nil, []int64{9}, []int64{1, 2, 4}},
		{plan.SaveAppend, nil, nil, []int64{6}, []int64{1, 2, 4, 6}},
		{plan.SaveOverwrite, nil, plan.Options{"partitionOverwriteMode": "dynamic"}, []int64{3, 2},
			[]int64{2, 3, 4, 6}},
		{plan.SaveAppend, nil, plan.Options{"txnAppId": "a", "txnVersion": "7"}, []int64{8},
			[]int64{2, 3, 4, 6, 8}},
		{plan.SaveAppend, nil, plan.Options{"txnAppId": "a", "txnVersion": "7"}, []int64{8},
			[]int64{2, 3, 4, 6, 8}},
		{plan.SaveOverwrite, nil, nil, []int64{5}, []int64{5}},
	} {
		conform.Must(t, f.Write(t.Context(), env,
			connector.WriteSpec{Schema: conform.IDSchema, Mode: c.mode, Path: "/r/out", Options: c.options,
				Partitions: c.parts}, chunk.One(conform.IDChunk(0, c.ids...))))
		testkit.Diff(t, fmt.Sprint(c.mode, c.options), formats.VisibleIDs(t, env, "delta"), c.visible)
	}
	err := f.Write(t.Context(), env, connector.WriteSpec{Schema: conform.IDSchema, Mode: plan.SaveOverwrite,
		Path: "/r/out"},
		conform.CutOff(conform.IDChunk(0, 1)))
	if !errors.Is(err, conform.ErrCutOff) {
		t.Errorf("a write that was cut off: %v", err)
	}
	testkit.Diff(t, "after a write that was cut off", formats.VisibleIDs(t, env, "delta"), []int64{5})
}
