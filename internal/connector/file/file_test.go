package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

var formats = conform.Formats{Avro(), CSV(), JSON(), Parquet(), Text()}

// trace is a line of files.jsonl, which record_files.py explains.
type trace struct {
	What      string
	Options   plan.Options
	Sizes     []int
	Log       map[string][]string
	Batch     int
	Source    json.RawMessage
	Sink      map[string]int
	Dirs      []string
	User      string
	Values    []*string
	Files     []string
	Condition string
	State     string
	Args      map[string]string
	OK        json.RawMessage
	Path      string
	Text      string
	Cause     string
	Class     string
}

func traces(t *testing.T, what string) []trace {
	t.Helper()
	data, err := os.ReadFile("testdata/files.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var traces []trace
	for line := range strings.Lines(string(data)) {
		var head struct{ What, Batch json.RawMessage }
		conform.Must(t, json.Unmarshal([]byte(line), &head))
		var name string
		conform.Must(t, json.Unmarshal(head.What, &name))
		if !strings.HasPrefix(name, what) || name == "partition types" {
			continue
		}
		var trace trace
		conform.Must(t, json.Unmarshal([]byte(line), &trace))
		traces = append(traces, trace)
	}
	if len(traces) == 0 {
		t.Fatalf("nothing was recorded as %s", what)
	}
	return traces
}

var oneInt = plan.Struct(plan.Col("id", plan.Int))

func jsonSource(
	t testing.TB, env *connector.Env, dir string, o plan.Options, log connector.Place,
) connector.Source {
	t.Helper()
	s := formats.ScanOf(t, env,
		&plan.Read{Format: "json", Schema: &oneInt, Options: o, Paths: []string{dir}, Streaming: true})
	return formats.OpenSource(t, env, s, log)
}

// drainSource makes batches until there is nothing new.
func drainSource(t testing.TB, s connector.Source) connector.Offset {
	t.Helper()
	_, err := s.(connector.Pinner).Pin(t.Context())
	conform.Must(t, err)
	at := connector.Offset("")
	for range 100 {
		next, err := s.Latest(t.Context(), at, connector.Limit{})
		conform.Must(t, err)
		if next == at {
			return at
		}
		at = next
	}
	t.Fatal("the source never came to an end")
	return ""
}

func readLogs(t testing.TB, fsys vfs.FS, dir string) map[string][]string {
	t.Helper()
	infos, err := fsys.List(dir)
	conform.Must(t, err)
	logs := map[string][]string{}
	for _, info := range infos {
		if strings.HasPrefix(info.Name, ".") {
			continue
		}
		data, err := vfs.ReadFile(fsys, path.Join(dir, info.Name))
		conform.Must(t, err)
		logs[info.Name] = strings.Split(strings.ReplaceAll(string(data), "file:///r/", "file:$ROOT/"), "\n")
	}
	return logs
}

var recordedTime = regexp.MustCompile(`"timestamp":\d+,`)

// withoutTimes drops the times of files, which go on counting in the recording.
func withoutTimes(logs map[string][]string) map[string][]string {
	for _, lines := range logs {
		for i := range lines {
			lines[i] = recordedTime.ReplaceAllString(lines[i], "")
		}
	}
	return logs
}

func TestBatchesHaveTheFilesThatSparkTakes(t *testing.T) {
	for _, trace := range traces(t, "admission") {
		t.Run(fmt.Sprint(trace.Sizes, trace.Options), func(t *testing.T) {
			fsys := vfs.NewMemory()
			dir := &conform.Dir{T: t, FS: fsys}
			for i, size := range trace.Sizes {
				text := fmt.Sprintf(`{"id":%d`, i)
				text += strings.Repeat(" ", size-len(text)-2) + "}\n"
				dir.Put(fmt.Sprintf("/r/in/f%d.json", i), text, 0)
			}
			env := conform.NewEnv(t, fsys)
			drainSource(t, jsonSource(t, env, "/r/in", trace.Options, connector.Place{FS: fsys, Dir: "/r/ck"}))
			testkit.Diff(t, "log", withoutTimes(readLogs(t, fsys, "/r/ck")), withoutTimes(trace.Log))
		})
	}
}

func TestPinnedBatchesIgnoreLaterFiles(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/in/a.json", "{\"id\":1}\n", 0)
	s := jsonSource(t, conform.NewEnv(t, fsys), "/r/in", nil, connector.Place{FS: fsys, Dir: "/r/ck"})
	_, err := s.(connector.Pinner).Pin(t.Context())
	conform.Must(t, err)
	dir.Put("/r/in/b.json", "{\"id\":2}\n", 0)
	first, err := s.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	second, err := s.Latest(t.Context(), first, connector.Limit{})
	conform.Must(t, err)
	if second != first {
		t.Errorf("a file that came later made the batch %s", second)
	}
	testkit.Diff(t, "rows", conform.RowsOf(t, s.Read(t.Context(), "", first)), [][]plan.Value{{int64(1)}})
}

func TestFilesOfOneTimeComeByName(t *testing.T) {
	for what, names := range map[string][]string{
		"same time": {"b.json", "a.json", "k=1/c.json", "B.json", "c.json"},
		"same time recursive": {"b.json", "a.json", "x/c.json", "x/a/d.json", "a/z.json", "a/_hidden/z.json",
			"a/.h/z.json"},
	} {
		trace := traces(t, what)[0]
		fsys := vfs.NewMemory()
		dir := &conform.Dir{T: t, FS: fsys}
		for _, name := range names {
			dir.Put("/r/in/"+name, "{\"id\":1}\n", 1717200000)
		}
		options := plan.Options{}
		if strings.HasSuffix(what, "recursive") {
			options["recursiveFileLookup"] = "true"
		}
		drainSource(t, jsonSource(t, conform.NewEnv(t, fsys), "/r/in", options, connector.Place{FS: fsys,
			Dir: "/r/ck"}))
		// Spark lists in the order of the disk; the set of files must be the same.
		got, want := readLogs(t, fsys, "/r/ck")["0"], trace.Log["0"]
		slices.Sort(want)
		sorted := slices.Sorted(slices.Values(got))
		testkit.Diff(t, what, sorted, want)
	}
}

func TestLogsAreCompactedAndCleanedAsSparkDoes(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	env := conform.NewEnv(t, fsys)
	env.Now = func() time.Time { return time.Now().Add(time.Minute) }
	env.Conf = func(key string) string {
		switch {
		case strings.HasSuffix(key, ".log.compactInterval"):
			return "3"
		case strings.HasSuffix(key, ".log.cleanupDelay"):
			return "0"
		case key == "spark.sql.streaming.minBatchesToRetain":
			return "2"
		}
		return ""
	}
	start := connector.Offset("")
	for _, trace := range traces(t, "compaction") {
		dir.Put(fmt.Sprintf("/r/in/f%d.json", trace.Batch), fmt.Sprintf("{\"id\":%d}\n", trace.Batch), 0)
		source := jsonSource(t, env, "/r/in", nil, connector.Place{FS: fsys, Dir: "/r/ck"})
		end, err := source.Latest(t.Context(), start, connector.Limit{})
		conform.Must(t, err)
		sink := formats.OpenSink(t, env, "json", connector.SinkSpec{Schema: oneInt, Path: "/r/out"})
		_, err = sink.Write(t.Context(), connector.Batch{ID: int64(trace.Batch), Rows: source.Read(t.Context(),
			start, end)})
		conform.Must(t, err)
		start = end

		what := fmt.Sprintf("batch %d", trace.Batch)
		logs := readLogs(t, fsys, "/r/ck")
		var names []string
		if json.Unmarshal(trace.Source, &names) == nil {
			testkit.Diff(t, what+" source", sortedNames(logs), names)
		} else {
			var full map[string][]string
			conform.Must(t, json.Unmarshal(trace.Source, &full))
			testkit.Diff(t, what+" source", withoutTimes(logs), withoutTimes(full))
		}
		counts := map[string]int{}
		for name, lines := range readLogs(t, fsys, "/r/out/_spark_metadata") {
			counts[name] = len(lines) - 1
		}
		testkit.Diff(t, what+" sink", counts, trace.Sink)
	}
	// The output is what the log says, whatever else lies there.
	dir.Put("/r/out/part-stray.json", "{\"id\":99}\n", 0)
	got := conform.RowsOf(t, formats.ScanAll(t, env, &plan.Read{Format: "json", Schema: &oneInt,
		Paths: []string{"/r/out"}}))
	if len(got) != 11 {
		t.Errorf("the output has %d rows, want 11: %v", len(got), got)
	}
	// Without all of its log the output is not what was written.
	conform.Must(t, fsys.Remove("/r/out/_spark_metadata/9"))
	tree, err := newTree(env, []string{"/r/out"}, nil)
	conform.Must(t, err)
	_, err = tree.list(true)
	if text := fmt.Sprint(err); !strings.Contains(text, "/r/out/_spark_metadata") ||
		strings.Contains(text, "PATH_NOT_FOUND") {
		t.Errorf("a gap in the log: %v", err)
	}
}

func sortedNames(logs map[string][]string) []string {
	names := make([]string, 0, len(logs))
	for name := range logs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestAReadKeepsToTheFilesThatItFound(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/b/f.json", "{\"id\":1}\n", 0)
	dir.Put("/r/a/f.json", "{\"id\":2}\n", 0)
	env := conform.NewEnv(t, fsys)
	s := formats.ScanOf(t, env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/b", "/r/a"}})
	dir.Put("/r/a/g.json", "{\"id\":3}\n", 0)

	f, _ := formats.Lookup("json")
	want := [][]any{{int64(1)}, {int64(2)}}
	for range 2 {
		if diff := cmp.Diff(want, conform.RowsOf(t, f.Scan(t.Context(), env, s))); diff != "" {
			t.Error(diff)
		}
	}
	conform.Must(t, fsys.Remove("/r/b/f.json"))
	_, err := chunk.Collect(f.Scan(t.Context(), env, s))
	if e := new(plan.Error); !errors.As(err, &e) || e.Condition != "FAILED_READ_FILE.FILE_NOT_EXIST" {
		t.Errorf("a file that went: %v", err)
	}
	// A table has no listing: each read looks anew.
	s.Relation.Listing = nil
	want = [][]any{{int64(2)}, {int64(3)}}
	if diff := cmp.Diff(want, conform.RowsOf(t, f.Scan(t.Context(), env, s))); diff != "" {
		t.Error(diff)
	}
}

func TestPartitionColumnsAreThoseOfSpark(t *testing.T) {
	for _, trace := range traces(t, "partitions") {
		t.Run(strings.Join(trace.Dirs, " "), func(t *testing.T) {
			fsys := vfs.NewMemory()
			dir := &conform.Dir{T: t, FS: fsys}
			for i, d := range trace.Dirs {
				dir.Put(path.Join("/r/in", d, "f.json"), fmt.Sprintf("{\"id\":%d}\n", i), 0)
			}
			env := conform.NewEnv(t, fsys)
			read := &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}}
			f, _ := formats.Lookup("json")
			rel, err := f.Describe(t.Context(), env, read)
			if trace.Condition != "" {
				wantError(t, err, trace)
				return
			}
			conform.Must(t, err)
			var want struct {
				Schema string
				Rows   [][]any
			}
			conform.Must(t, json.Unmarshal(trace.OK, &want))
			if got := rel.Schema.Simple(); got != want.Schema {
				t.Errorf("schema %s, want %s", got, want.Schema)
			}
			if rows := conform.RowsOf(t, formats.ScanAll(t, env, read)); len(rows) != len(want.Rows) {
				t.Errorf("rows %v, want %v", rows, want.Rows)
			}
		})
	}
}

// wantError compares condition, SQLSTATE and parameters.
func wantError(t *testing.T, err error, trace trace) {
	t.Helper()
	var e *plan.Error
	if !errors.As(err, &e) {
		t.Errorf("got %v, want %s", err, trace.Condition)
		return
	}
	if e.Condition != trace.Condition || e.State != trace.State {
		t.Errorf("got %s %s (%v), want %s %s", e.Condition, e.State, err, trace.Condition, trace.State)
	}
	for key, want := range trace.Args {
		got := strings.ReplaceAll(e.Args[key], "file:/r/", "file:$ROOT/")
		got = strings.ReplaceAll(got, "file:///r/", "file:$ROOT/")
		if !sameLines(got, want) {
			t.Errorf("parameter %s is %q, want %q", key, got, want)
		}
	}
}

// sameLines compares texts whose lines Spark puts in the order of a hash map.
func sameLines(a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	slices.Sort(x)
	slices.Sort(y)
	return cmp.Equal(x, y)
}

func TestPartitionDirectoriesAreNamedAsSparkNamesThem(t *testing.T) {
	var trace struct {
		Values, Dirs []*string
		Back         [][]any
	}
	data, err := os.ReadFile("testdata/files.jsonl")
	conform.Must(t, err)
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `"what":"escaping"`) {
			conform.Must(t, json.Unmarshal([]byte(line), &trace))
		}
	}
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	schema := plan.Struct(plan.Col("id", plan.Int), plan.Col("p", plan.String))
	rows := chunk.NewChunk(schema, len(trace.Values))
	for i, v := range trace.Values {
		var x plan.Value
		if v != nil {
			x = *v
		}
		rows.AppendValues([]plan.Value{int64(i), x})
	}
	f, _ := formats.Lookup("json")
	conform.Must(
		t,
		f.Write(t.Context(), env, connector.WriteSpec{Schema: schema, Path: "/r/out", Partitions: []string{"p"}},
			chunk.One(rows)),
	)
	for i, dir := range trace.Dirs {
		infos, err := fsys.List("/r/out/" + *dir)
		if err != nil || len(infos) == 0 {
			t.Errorf("value %d is not in %s: %v", i, *dir, err)
		}
	}
	want := map[string]bool{}
	for _, row := range trace.Back {
		want[fmt.Sprint(row...)] = true
	}
	for _, row := range conform.RowsOf(t, formats.ScanAll(t, env,
		&plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/out"}})) {
		if !want[fmt.Sprint(row...)] {
			t.Errorf("read back %v", row)
		}
		delete(want, fmt.Sprint(row...))
	}
	if len(want) > 0 {
		t.Errorf("not read back: %v", want)
	}
}

var anyUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func filesBelow(t testing.TB, fsys vfs.FS, dir string) []string {
	t.Helper()
	var names []string
	_, err := vfs.Walk(fsys, dir, func(name string, info vfs.Info) error {
		if !info.IsDir() {
			names = append(names, anyUUID.ReplaceAllString(strings.TrimPrefix(name, dir+"/"), "<uuid>"))
		}
		return nil
	})
	conform.Must(t, err)
	slices.Sort(names)
	return names
}

func longs(ids ...int64) *chunk.Chunk {
	c := chunk.NewChunk(plan.Struct(plan.Col("id", plan.Long)), len(ids))
	for _, id := range ids {
		c.AppendValues([]plan.Value{id})
	}
	return c
}

func TestBatchWritesLeaveTheFilesOfSpark(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	schema := plan.Struct(plan.Col("id", plan.Long))
	f, _ := formats.Lookup("json")
	two := func() chunk.Rows { return chunk.One(conform.Part(0, longs(0, 1)), conform.Part(1, longs(2, 3))) }
	for _, c := range []struct {
		what    string
		mode    plan.SaveMode
		options plan.Options
		rows    chunk.Rows
		visible []int64
	}{
		{"write create", plan.SaveError, nil, two(), []int64{0, 1, 2, 3}},
		{"write again", plan.SaveError, nil, two(), []int64{0, 1, 2, 3}},
		{"write ignore", plan.SaveIgnore, nil, two(), []int64{0, 1, 2, 3}},
		{"write append", plan.SaveAppend, nil, two(), []int64{0, 0, 1, 1, 2, 2, 3, 3}},
		{"write overwrite", plan.SaveOverwrite, nil, chunk.One(conform.Part(0, longs(1)), conform.Part(1,
			longs(2, 3))),
			[]int64{1, 2, 3}},
		{"write empty", plan.SaveOverwrite, nil, chunk.One(), nil},
		{"write gzip", plan.SaveOverwrite, plan.Options{"compression": "gzip"}, chunk.One(longs(0, 1, 2, 3)),
			[]int64{0, 1, 2, 3}},
		{"write bad codec", plan.SaveOverwrite, plan.Options{"compression": "nope"}, chunk.One(longs(0, 1)),
			[]int64{0, 1, 2, 3}},
		{"write many records", plan.SaveOverwrite, plan.Options{"maxRecordsPerFile": "3"},
			chunk.One(longs(0, 1, 2, 3)),
			[]int64{0, 1, 2, 3}},
	} {
		trace := traces(t, c.what)[0]
		err := f.Write(t.Context(), env,
			connector.WriteSpec{Schema: schema, Mode: c.mode, Path: "/r/out", Options: c.options}, c.rows)
		if trace.Condition == "" {
			conform.Must(t, err)
		} else if e := (*plan.Error)(nil); !errors.As(err, &e) || e.Condition != trace.Condition ||
			e.State != trace.State {
			t.Errorf("%s: %v, want %s", c.what, err, trace.Condition)
		}
		if got := filesBelow(t, fsys, "/r/out"); len(got) != len(trace.Files) {
			t.Errorf("%s left %v, Spark %d files", c.what, got, len(trace.Files))
		}
		chunks, err := chunk.Collect(
			formats.ScanAll(t, env, &plan.Read{Format: "json", Schema: &schema, Paths: []string{"/r/out"}}))
		conform.Must(t, err)
		testkit.Diff(t, c.what, conform.IDsOf(chunks), c.visible)
	}
	err := f.Write(t.Context(), env, connector.WriteSpec{Schema: schema, Mode: plan.SaveOverwrite,
		Path: "/r/out"},
		conform.CutOff(longs(9)))
	if !errors.Is(err, conform.ErrCutOff) {
		t.Errorf("a write that was cut off: %v", err)
	}
	chunks, err := chunk.Collect(
		formats.ScanAll(t, env, &plan.Read{Format: "json", Schema: &schema, Paths: []string{"/r/out"}}))
	conform.Must(t, err)
	testkit.Diff(t, "after a write that was cut off", conform.IDsOf(chunks), []int64{0, 1, 2, 3})
}

func TestWritesThatCannotBeAreRefused(t *testing.T) {
	two := plan.Struct(plan.Col("id", plan.Int), plan.Col("p", plan.String), plan.Col("q", plan.Int))
	one := func(name string, ty plan.Type) plan.Type { return plan.Struct(plan.Col(name, ty)) }
	for _, c := range []struct {
		what, format string
		schema       plan.Type
		partitions   []string
	}{
		{"write all partitions", "json", two, []string{"id", "p", "q"}},
		{"write missing", "json", two, []string{"nope"}},
		{"write array", "json", plan.Struct(plan.Col("id", plan.Int),
			plan.Col("arr", plan.Array(plan.Int, false))), []string{"arr"}},
		{"write duplicate", "json", two, []string{"p", "p"}},
		{"write text two columns", "text", two, nil},
		{"write text int", "text", oneInt, nil},
		{"write parquet duplicate", "parquet", plan.Struct(plan.Col("id", plan.Int), plan.Col("id", plan.Int)),
			nil},
		{"write parquet no columns", "parquet", plan.Struct(), nil},
		{"write json interval", "json", one("make_interval(1, 0, 0, 0, 0, 0, 0.000000)", plan.Calendar), nil},
		{"write parquet interval", "parquet", one("make_interval(1, 0, 0, 0, 0, 0, 0.000000)", plan.Calendar), nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			f, _ := formats.Lookup(c.format)
			fsys := vfs.NewMemory()
			err := f.Write(t.Context(), conform.NewEnv(t, fsys),
				connector.WriteSpec{Schema: c.schema, Path: "/r/out", Partitions: c.partitions}, chunk.One())
			wantError(t, err, traces(t, c.what)[0])
			if _, err := fsys.Stat("/r/out"); !vfs.NotFound(err) {
				t.Errorf("something was written: %v", err)
			}
		})
	}
}

func TestReadsThatCannotBeAreRefused(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/in/a.json", "{\"id\":1}\n", 0)
	dir.Put("/r/in/b.txt", "x\n", 0)
	dir.Put("/r/in/empty.json", "", 0)
	dir.Put("/r/bad/a.parquet", "no parquet", 0)
	conform.Must(t, vfs.MkdirDurable(fsys, "/r/void"))
	one := func(name string, ty plan.Type) *plan.Type { s := plan.Struct(plan.Col(name, ty)); return &s }
	twice := plan.Struct(plan.Col("id", plan.Int), plan.Col("ID", plan.Int))
	twoTexts := plan.Struct(plan.Col("v", plan.String), plan.Col("w", plan.String))
	for _, c := range []struct {
		what string
		read plan.Read
	}{
		{"read missing", plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/nope"}}},
		{"read missing with scheme", plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"file:///r/nope"}}},
		{"read missing space", plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/no pe"}}},
		{"read glob nothing", plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/nope*/x"}}},
		{"read two paths one missing",
			plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in", "/r/nope"}}},
		{"read infer empty json", plan.Read{Format: "json", Paths: []string{"/r/void"}}},
		{"read infer empty parquet", plan.Read{Format: "parquet", Paths: []string{"/r/void"}}},
		{"read no path", plan.Read{Format: "json", Schema: &oneInt}},
		{"read text int schema", plan.Read{Format: "text", Schema: one("v", plan.Int), Paths: []string{"/r/in"}}},
		{"read text two columns", plan.Read{Format: "text", Schema: &twoTexts, Paths: []string{"/r/in"}}},
		{"read interval column", plan.Read{Format: "json", Schema: one("id", plan.Calendar),
			Paths: []string{"/r/in"}}},
		{"read duplicate column", plan.Read{Format: "json", Schema: &twice, Paths: []string{"/r/in"}}},
		{"read bad parquet infer", plan.Read{Format: "parquet", Paths: []string{"/r/bad"}}},
	} {
		t.Run(c.what, func(t *testing.T) {
			f, _ := formats.Lookup(c.read.Format)
			rel, err := f.Describe(context.Background(), conform.NewEnv(t, fsys), &c.read)
			trace := traces(t, c.what)[0]
			switch {
			case trace.Condition != "":
				wantError(t, err, trace)
			case trace.Class != "":
				if err == nil {
					t.Errorf("accepted, Spark says %s %s", trace.Class, trace.Text)
				}
			default:
				conform.Must(t, err)
				var schema string
				if json.Unmarshal(trace.OK, &schema) == nil && rel.Schema.Simple() != schema {
					t.Errorf("schema %s, want %s", rel.Schema.Simple(), schema)
				}
			}
		})
	}
}

func TestStreamOptionsAreCheckedInTheQuery(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/in/a.json", "{\"id\":1}\n", 0)
	env := conform.NewEnv(t, fsys)
	for _, trace := range traces(t, "stream option") {
		read := &plan.Read{
			Format:    "json",
			Schema:    &oneInt,
			Options:   trace.Options,
			Paths:     []string{"/r/in"},
			Streaming: true,
		}
		f, _ := formats.Lookup("json")
		_, err := f.Source(t.Context(), env, formats.ScanOf(t, env, read), connector.Place{FS: fsys, Dir: "/r/ck"})
		if err == nil {
			t.Errorf("%s %v: accepted, Spark says %s", trace.What, trace.Options, trace.Cause)
		}
	}
}

func TestASourceIsDescribedByItsPath(t *testing.T) {
	fsys := vfs.NewMemory()
	conform.Must(t, vfs.MkdirDurable(fsys, "/r/in"))
	conform.Must(t, vfs.MkdirDurable(fsys, "/r/with space"))
	for _, trace := range traces(t, "description") {
		if trace.Text == "" {
			continue
		}
		from := strings.ReplaceAll(strings.ReplaceAll(trace.Path, "file:$ROOT", "file:/r"), "$ROOT", "/r")
		got := jsonSource(t, conform.NewEnv(t, fsys), from, nil, connector.Place{FS: fsys, Dir: "/r/ck"}).Describe()
		if want := strings.ReplaceAll(trace.Text, "file:$ROOT", "file:/r"); got != want {
			t.Errorf("%s is described as %s, want %s", trace.Path, got, want)
		}
	}
}
