package connector

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

func TestFileSourcesConform(t *testing.T) {
	for _, format := range []string{"avro", "json", "csv", "parquet", "text"} {
		t.Run(format, func(t *testing.T) {
			fsys := vfs.NewMemory()
			env := newEnv(t, fsys)
			dir := &shelfDir{t: t, fsys: fsys}
			must(t, vfs.MkdirDurable(fsys, "/r/in"))
			schema := idSchema
			if format == "text" {
				schema = plan.Struct(plan.Col("value", plan.String))
			}
			f, _ := Lookup(format)
			open := func(checkpoint string, limited bool) Source {
				r := &plan.Read{Format: format, Schema: &schema, Paths: []string{"/r/in"}, Streaming: true}
				if limited {
					r.Options = plan.Options{"maxFilesPerTrigger": "1"}
				}
				return openSource(t, env, scanOf(t, env, r), Place{fsys, "/r/ck/" + checkpoint})
			}
			conformSource(t, sourceCase{steps: 14, open: open, step: func(n int) {
				if n%3 == 2 {
					return
				}
				var rows *chunk.Chunk
				if format == "text" {
					rows = chunk.FromRows(schema, []plan.Value{fmt.Sprint("line ", n)}, []plan.Value{""})
				} else {
					rows = idChunk(0, int64(2*n), int64(2*n+1))
				}
				must(
					t,
					f.Write(t.Context(), env, WriteSpec{Schema: schema, Mode: plan.SaveAppend, Path: "/r/in"},
						chunk.One(rows)),
				)
				dir.clock++
			}})
		})
	}
}

func TestFileSinksConform(t *testing.T) {
	for _, format := range []string{"avro", "json", "parquet"} {
		for _, parts := range [][]string{nil, {"k"}} {
			t.Run(fmt.Sprint(format, parts), func(t *testing.T) {
				fsys := vfs.NewMemory()
				env := newEnv(t, fsys)
				open := func() Sink {
					return openSink(t, env, format, SinkSpec{Schema: idSchema, Path: "/r/out", Partitions: parts})
				}
				conformSink(t, open, func() []int64 { return visibleIDs(t, env, format) })
				if got := open().Describe(); got != "FileSink[file:/r/out]" {
					t.Errorf("described as %s", got)
				}
			})
		}
	}
}

func visibleIDs(t testing.TB, env *Env, format string) []int64 {
	t.Helper()
	schema := idSchema
	r := &plan.Read{Format: format, Schema: &schema, Paths: []string{"/r/out"}}
	if format == "delta" {
		r.Schema = nil
	}
	s := scanOf(t, env, r)
	s.Attrs = slices.DeleteFunc(s.Attrs, func(a *plan.Attribute) bool { return a.Name != "id" })
	f, _ := Lookup(format)
	chunks, err := chunk.Collect(f.Scan(t.Context(), env, s))
	must(t, err)
	return idsOf(chunks)
}

// The recorded scenarios sk_json, sk_empty_batch_files and sk_partition_two_columns.
func TestFileSinkWritesTheLogOfSpark(t *testing.T) {
	fsys := vfs.NewMemory()
	env := newEnv(t, fsys)
	schema := plan.Struct(plan.Col("id", plan.Int), plan.Col("k", plan.String), plan.Col("ts", plan.Timestamp))
	sink := openSink(t, env, "json", SinkSpec{Schema: schema, Path: "/r/out q"})
	for id, rows := range []chunk.Rows{
		chunk.One(chunk.FromRows(schema, []plan.Value{int64(1), "a", int64(1704067200000000)},
			[]plan.Value{int64(2), nil, nil})),
		chunk.One(),
		chunk.One(part(1, chunk.FromRows(schema, []plan.Value{int64(3), "a", nil}))),
	} {
		n, err := sink.Write(t.Context(), Batch{ID: int64(id), Rows: rows})
		if n != -1 || err != nil {
			t.Fatalf("batch %d: %d, %v", id, n, err)
		}
	}
	var got []string
	logs := readLogs(t, fsys, "/r/out q/_spark_metadata")
	for _, id := range []string{"0", "1", "2"} {
		for _, line := range logs[id] {
			line = anyUUID.ReplaceAllString(line, "<uuid>")
			if at := strings.Index(line, `"modificationTime"`); at >= 0 {
				line = line[:at] + line[strings.Index(line, `"blockReplication"`):]
			}
			got = append(got, line)
		}
	}
	file := func(part, size int) string {
		return fmt.Sprintf(`{"path":"file:$ROOT/out%%20q/part-0000%d-<uuid>-c000.json","size":%d,"isDir":false,`+
			`"blockReplication":1,"blockSize":33554432,"action":"add"}`, part, size)
	}
	testkit.Diff(t, "log", got, []string{"v1", file(0, 58), "v1", file(0, 0), "v1", file(0, 0), file(1, 17)})

	names := filesBelow(t, fsys, "/r/out q")
	for _, name := range names {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("a temporary file stayed: %s", name)
		}
	}
	infos, err := fsys.List("/r/out q")
	must(t, err)
	var text string
	for _, info := range infos {
		if info.Size == 58 {
			data, err := vfs.ReadFile(fsys, path.Join("/r/out q", info.Name))
			must(t, err)
			text = string(data)
		}
	}
	want := `{"id":1,"k":"a","ts":"2024-01-01T00:00:00.000Z"}` + "\n" + `{"id":2}` + "\n"
	testkit.Diff(t, "file", text, want)
}

func TestAFileSinkOnlyAppends(t *testing.T) {
	f, _ := Lookup("json")
	env := newEnv(t, vfs.NewMemory())
	for _, c := range []struct {
		spec      SinkSpec
		condition string
	}{
		{SinkSpec{Schema: idSchema, Path: "/r/out", Mode: plan.UpdateMode},
			"STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE"},
		{SinkSpec{Schema: idSchema, Path: "/r/out", Mode: plan.CompleteMode},
			"STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE"},
		{SinkSpec{Schema: idSchema}, "_LEGACY_ERROR_TEMP_2047"},
		{SinkSpec{Schema: idSchema, Path: "/r/out", Partitions: []string{"nope"}}, "_LEGACY_ERROR_TEMP_1196"},
	} {
		err := f.SinkMode(c.spec.Mode)
		if err == nil {
			_, err = f.Sink(t.Context(), env, c.spec)
		}
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != c.condition {
			t.Errorf("%v, want %s", err, c.condition)
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
	batch := func(id int64) Batch { return Batch{ID: id, Rows: chunk.One(idChunk(0, 2*id), idChunk(1, 2*id+1))} }
	open := func(t testing.TB, disk vfs.FS) (*Env, Sink, error) {
		env := newEnv(t, disk)
		f, _ := Lookup(format)
		s, err := f.Sink(t.Context(), env, SinkSpec{Schema: idSchema, Path: "/r/out", QueryID: "q"})
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
			must(t, err)
			for id := committed + 1; id < 4; id++ {
				_, err := s.Write(t.Context(), batch(id))
				must(t, err)
			}
			testkit.Diff(t, "ids", visibleIDs(t, env, format), []int64{0, 1, 2, 3, 4, 5, 6, 7})
		},
		Points: 25,
	}
}

// A source whose offset was lost with the power gives the files of its log again.
func TestAFileSourceSurvivesAPowerLoss(t *testing.T) {
	offsets := []Offset{""}
	testkit.CrashDisk(t, testkit.DiskProgram{
		Run: func(disk *vfs.Crashable) error {
			offsets = []Offset{""}
			err := vfs.MkdirDurable(disk, "/r/in")
			var s Source
			for n := 0; n < 3 && err == nil; n++ {
				err = vfs.WriteNew(disk, fmt.Sprintf("/r/in/f%d.json", n), fmt.Appendf(nil, "{\"id\":%d}\n", n))
				if err == nil && s == nil {
					env := newEnv(t, disk)
					f, _ := Lookup("json")
					scan := scanOf(t, env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}})
					s, err = f.Source(t.Context(), env, scan, Place{disk, "/r/ck"})
				}
				if err == nil {
					var end Offset
					if end, err = s.Latest(t.Context(), offsets[len(offsets)-1], Limit{}); err == nil {
						offsets = append(offsets, end)
					}
				}
			}
			return err
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			env := newEnv(t, disk)
			must(t, vfs.MkdirDurable(disk, "/r/in"))
			f, _ := Lookup("json")
			scan := scanOf(t, env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}})
			s, err := f.Source(t.Context(), env, scan, Place{disk, "/r/ck"})
			must(t, err)
			// The last offset that was handed out may not have reached a log of the query.
			for _, known := range offsets[max(0, len(offsets)-2):] {
				end, err := s.Latest(t.Context(), known, Limit{})
				must(t, err)
				rows := rowsOf(t, s.Read(t.Context(), "", end))
				files, err := disk.List("/r/in")
				must(t, err)
				whole := slices.DeleteFunc(files, func(i vfs.Info) bool { return strings.HasPrefix(i.Name, ".") })
				if len(rows) != len(whole) {
					t.Errorf("%d rows of %d files after %s", len(rows), len(whole), known)
				}
			}
		},
		Points: 25,
	})
}

func TestAStreamReadsTheOutputOfAnother(t *testing.T) {
	fsys := vfs.NewMemory()
	env := newEnv(t, fsys)
	sink := openSink(t, env, "json", SinkSpec{Schema: idSchema, Path: "/r/out"})
	source := openSource(t, env,
		scanOf(t, env, &plan.Read{Format: "json", Schema: &idSchema, Paths: []string{"/r/out"}, Streaming: true}),
		Place{fsys, "/r/ck"})
	at := Offset("")
	var got []int64
	for id := range int64(12) {
		_, err := sink.Write(t.Context(), Batch{ID: id, Rows: chunk.One(idChunk(0, id))})
		must(t, err)
		must(t, vfs.WriteNew(fsys, fmt.Sprintf("/r/out/stray-%d.json", id), []byte("{\"id\":77}\n")))
		end, err := source.Latest(t.Context(), at, Limit{})
		must(t, err)
		chunks, err := chunk.Collect(source.Read(t.Context(), at, end))
		must(t, err)
		got, at = append(got, idsOf(chunks)...), end
	}
	testkit.Diff(t, "ids", got, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
}

// The recorded scenarios fs_ignored_names, fs_same_name_twice, fs_max_file_age and
// fs_folder_removed, batch by batch.
func TestAFileSourceTakesAndLeavesFilesAsRecorded(t *testing.T) {
	const day = 86400
	type step struct {
		name  string
		mtime int64
		want  []int64 // ids of the batch, nil for none
	}
	for name, c := range map[string]struct {
		options plan.Options
		steps   []step
	}{
		"ignored names": {nil, []step{{"plain", 0, []int64{0}}, {"_hidden.json", 0, nil}, {".dot.json", 0, nil},
			{"a_b.json", 0, []int64{3}}, {"x.json._COPYING_", 0, nil}, {"_id=1.json", 0, []int64{5}}}},
		"same name twice": {nil, []step{{"x.json", 0, []int64{0}}, {"x.json", 0, nil}}},
		"age": {plan.Options{"maxFileAge": "2d"},
			[]step{{"a", 1717200000, []int64{0}}, {"b", 1717200000 + 10*day, []int64{1}},
				{"c", 1717200000 + 7*day, nil}, {"d", 1717200000 + 9*day, []int64{3}}}},
		"glob filter": {plan.Options{"pathGlobFilter": "*.ok"},
			[]step{{"x.json", 0, nil}, {"x.ok", 0, []int64{1}}}},
		"glob in a name": {nil, []step{{"a[1].json", 0, []int64{0}}, {"b{x}.json", 0, []int64{1}},
			{"c*.json", 0, []int64{2}}}},
		"recursive": {plan.Options{"recursiveFileLookup": "true"},
			[]step{{"top.json", 0, []int64{0}}, {"x/y/deep.json", 0, []int64{1}}}},
		"folders without it": {nil, []step{{"top.json", 0, []int64{0}}, {"x/y/deep.json", 0, nil}}},
		"file name only": {plan.Options{"fileNameOnly": "true", "recursiveFileLookup": "true"},
			[]step{{"x/a.json", 0, []int64{0}}, {"y/a.json", 0, nil}, {"y/b.json", 0, []int64{2}}}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := vfs.NewMemory()
			env := newEnv(t, fsys)
			dir := &shelfDir{t: t, fsys: fsys}
			must(t, vfs.MkdirDurable(fsys, "/r/in"))
			source, at := jsonSource(t, env, "/r/in", c.options, Place{fsys, "/r/ck"}), Offset("")
			for id, step := range c.steps {
				dir.put("/r/in/"+step.name, fmt.Sprintf("{\"id\":%d}\n", id), step.mtime)
				end, err := source.Latest(t.Context(), at, Limit{})
				must(t, err)
				testkit.Diff(t, step.name, idsBetween(t, source, at, end), step.want)
				at = end
			}
			must(t, fsys.Rename("/r/in", "/r/gone"))
			if end, err := source.Latest(t.Context(), at, Limit{}); end != at || err != nil {
				t.Errorf("without the folder: %s, %v", end, err)
			}
		})
	}
}

// idsBetween are the ids of a batch, none when nothing is new.
func idsBetween(t *testing.T, s Source, from, to Offset) []int64 {
	if from == to {
		return nil
	}
	var ids []int64
	for _, row := range rowsOf(t, s.Read(t.Context(), from, to)) {
		ids = append(ids, row[0].(int64))
	}
	return ids
}

func TestAMissingLogEntryIsNamed(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &shelfDir{t: t, fsys: fsys}
	dir.put("/r/in/a.json", "{\"id\":1}\n", 0)
	source := jsonSource(t, newEnv(t, fsys), "/r/in", nil, Place{fsys, "/r/ck"})
	end, err := source.Latest(t.Context(), "", Limit{})
	must(t, err)
	must(t, fsys.Remove("/r/ck/0"))
	_, err = chunk.Collect(source.Read(t.Context(), "", end))
	if err == nil || err.Error() != "batch 0 doesn't exist: its file is gone from /r/ck" {
		t.Errorf("got %v", err)
	}
	restarted := jsonSource(t, newEnv(t, fsys), "/r/in", nil, Place{fsys, "/r/ck"})
	if _, err := restarted.Latest(t.Context(), end, Limit{}); err == nil ||
		err.Error() != "batch 0 doesn't exist: its file is gone from /r/ck" {
		t.Errorf("after a restart: %v", err)
	}
	other := jsonSource(t, newEnv(t, fsys), "/r", nil, Place{fsys, "/r/ck"})
	must(
		t,
		vfs.WriteNew(fsys, "/r/ck/0",
			[]byte(`v1`+"\n"+`{"path":"file:///elsewhere/f.json","timestamp":1,"batchId":0}`)),
	)
	_, err = chunk.Collect(other.Read(t.Context(), "", end))
	if err == nil || err.Error() != "Wrong basePath /r for the root path: file:/elsewhere/f.json" {
		t.Errorf("got %v", err)
	}
}

func TestALogEntryOfAnotherBatchIsNamed(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &shelfDir{t: t, fsys: fsys}
	for i, name := range []string{"/r/in/a.json", "/r/in/b.json", "/r/in/c.json"} {
		dir.put(name, "{\"id\":1}\n", int64(i))
	}
	one := plan.Options{"maxFilesPerTrigger": "1"}
	source := jsonSource(t, newEnv(t, fsys), "/r/in", one, Place{fsys, "/r/ck"})
	end := Offset("")
	for range 3 {
		var err error
		end, err = source.Latest(t.Context(), end, Limit{})
		must(t, err)
	}
	first, err := vfs.ReadFile(fsys, "/r/ck/0")
	must(t, err)
	must(t, fsys.Remove("/r/ck/1"))
	must(t, vfs.WriteNew(fsys, "/r/ck/1", first))
	const want = "Failed to read log file file:/r/ck/1. an entry of batch 0 stands in the file of batch 1"
	if _, err := chunk.Collect(source.Read(t.Context(), `{"logOffset":0}`, `{"logOffset":1}`)); err == nil ||
		err.Error() != want {
		t.Errorf("read: %v", err)
	}
	env := newEnv(t, fsys)
	scan := scanOf(t, env,
		&plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}, Streaming: true})
	f, _ := Lookup("json")
	if _, err := f.Source(t.Context(), env, scan, Place{fsys, "/r/ck"}); err == nil || err.Error() != want {
		t.Errorf("after a restart: %v", err)
	}
}

func TestASinkLogOfAnotherBatchIsNamed(t *testing.T) {
	fsys := vfs.NewMemory()
	env := newEnv(t, fsys)
	sink := openSink(t, env, "json", SinkSpec{Schema: oneInt, Path: "/r/out"})
	for id := range 3 {
		rows := chunk.One(chunk.FromRows(oneInt, []plan.Value{int64(id)}))
		if _, err := sink.Write(t.Context(), Batch{ID: int64(id), Rows: rows}); err != nil {
			t.Fatal(err)
		}
	}
	first, err := vfs.ReadFile(fsys, "/r/out/_spark_metadata/0")
	must(t, err)
	must(t, fsys.Remove("/r/out/_spark_metadata/1"))
	must(t, vfs.WriteNew(fsys, "/r/out/_spark_metadata/1", first))
	f, _ := Lookup("json")
	_, err = f.Describe(t.Context(), env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/out"}})
	if err == nil || !strings.Contains(err.Error(), "stands in it twice") {
		t.Errorf("got %v", err)
	}
}

func TestSourcesCleanUpWhenAsked(t *testing.T) {
	for mode, where := range map[string]string{"delete": "", "archive": "/r/old/r/in/f0.json"} {
		fsys := vfs.NewMemory()
		dir := &shelfDir{t: t, fsys: fsys}
		dir.put("/r/in/f0.json", "{\"id\":1}\n", 0)
		options := plan.Options{"cleanSource": mode, "sourceArchiveDir": "/r/old"}
		source := jsonSource(t, newEnv(t, fsys), "/r/in", options, Place{fsys, "/r/ck"})
		end, err := source.Latest(t.Context(), "", Limit{})
		must(t, err)
		for range 2 {
			must(t, source.Advance(t.Context(), end))
		}
		if _, err := fsys.Stat("/r/in/f0.json"); !vfs.NotFound(err) {
			t.Errorf("%s left the file: %v", mode, err)
		}
		if where != "" {
			_, err := fsys.Stat(where)
			must(t, err)
		}
	}
	fsys := vfs.NewMemory()
	must(t, vfs.MkdirDurable(fsys, "/r/in"))
	for _, inside := range []string{"/r/in", "/r/in/sub", "/r"} {
		f, _ := Lookup("json")
		env := newEnv(t, fsys)
		options := plan.Options{"cleanSource": "archive", "sourceArchiveDir": inside}
		scan := scanOf(t, env,
			&plan.Read{Format: "json", Schema: &oneInt, Options: options, Paths: []string{"/r/in"}})
		if _, err := f.Source(t.Context(), env, scan, Place{fsys, "/r/ck"}); err == nil {
			t.Errorf("archive %s was accepted", inside)
		}
	}
}

func TestHiddenColumnsTellAboutTheFile(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &shelfDir{t: t, fsys: fsys}
	dir.put("/r/in/f 1.json", "{\"id\":1}\n{\"id\":2}\n", 1717200001)
	env := newEnv(t, fsys)
	s := scanOf(t, env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}})
	f, _ := Lookup("json")
	hidden := f.Metadata[0]
	s.Attrs = []*plan.Attribute{{Name: hidden.Name, Of: hidden.Type}}
	row := []plan.Value{
		[]plan.Value{
			"file:///r/in/f%201.json",
			"f 1.json",
			int64(18),
			int64(0),
			int64(18),
			int64(1717200001000000),
		},
	}
	testkit.Diff(t, "rows", rowsOf(t, f.Scan(t.Context(), env, s)), [][]plan.Value{row, row})
}

func TestBrokenFilesAreNamedOrSkipped(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &shelfDir{t: t, fsys: fsys}
	dir.put("/r/gz/plain.json.gz", "{\"id\":4}\n", 0)
	dir.put("/r/pq/bad.parquet", "this is no parquet", 0)
	dir.put("/r/pq/zero.parquet", "", 0)
	env := newEnv(t, fsys)
	for format, name := range map[string]string{"json": "/r/gz/plain.json.gz", "parquet": "/r/pq/bad.parquet"} {
		read := &plan.Read{Format: format, Schema: &oneInt, Paths: []string{path.Dir(name)}}
		_, err := chunk.Collect(scanAll(t, env, read))
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != "FAILED_READ_FILE.NO_HINT" || e.Args["path"] != "file://"+name {
			t.Errorf("%s: %v", name, err)
		}
		read.Options = plan.Options{"ignoreCorruptFiles": "true"}
		if rows := rowsOf(t, scanAll(t, env, read)); len(rows) != 0 {
			t.Errorf("%s has rows %v", name, rows)
		}
	}
}

// The recorded scenarios fs_schema_inference and fs_gzip.
func TestSchemasAreFoundInFiles(t *testing.T) {
	fsys := vfs.NewMemory()
	env := newEnv(t, fsys)
	dir := &shelfDir{t: t, fsys: fsys}
	dir.put("/r/in/a.json", `{"id":1,"k":"a","x":1.5}`+"\n"+`{"id":2,"n":[1]}`+"\n", 0)
	f, _ := Lookup("json")
	read := &plan.Read{Format: "json", Paths: []string{"/r/in"}, Streaming: true}
	_, err := f.Describe(t.Context(), env, read)
	if e := (*plan.Error)(nil); !errors.As(err, &e) || e.Condition != "_LEGACY_ERROR_TEMP_2048" {
		t.Errorf("a stream without schema: %v", err)
	}
	env.Conf = func(key string) string {
		if key == "spark.sql.streaming.schemaInference" {
			return "true"
		}
		return ""
	}
	rel, err := f.Describe(t.Context(), env, read)
	must(t, err)
	if got := rel.Schema.Simple(); got != "struct<id:bigint,k:string,n:array<bigint>,x:double>" {
		t.Errorf("schema %s", got)
	}

	must(t, f.Write(t.Context(), env, WriteSpec{Schema: oneInt, Path: "/r/gz",
		Options: plan.Options{"compression": "gzip"}}, chunk.One(chunk.FromRows(oneInt, []plan.Value{int64(7)}))))
	rows := rowsOf(t, scanAll(t, env, &plan.Read{Format: "json", Paths: []string{"/r/gz"}}))
	testkit.Diff(t, "gzip", rows, [][]plan.Value{{int64(7)}})

	parquet, _ := Lookup("parquet")
	must(t, parquet.Write(t.Context(), env,
		WriteSpec{Schema: idSchema, Path: "/r/pq", Partitions: []string{"k"}},
		chunk.One(idChunk(0, 2))))
	rel, err = parquet.Describe(t.Context(), env, &plan.Read{Format: "parquet", Paths: []string{"/r/pq"}})
	must(t, err)
	if got := rel.Schema.Simple(); got != "struct<id:bigint,k:string>" || len(rel.Partitions) != 1 {
		t.Errorf("schema %s, partitions %v", got, rel.Partitions)
	}
}

func TestCSVIsReadAsItWasWritten(t *testing.T) {
	fsys := vfs.NewMemory()
	f, _ := Lookup("csv")
	env := newEnv(t, fsys)
	must(t, f.Write(t.Context(), env, WriteSpec{Schema: idSchema, Path: "/r/out",
		Options: plan.Options{"header": "true"}}, chunk.One(chunk.FromRows(idSchema,
		[]plan.Value{int64(1), `say "hi"`}, []plan.Value{nil, ""}, []plan.Value{int64(2), nil}))))
	infos, err := fsys.List("/r/out")
	must(t, err)
	data, err := vfs.ReadFile(fsys, "/r/out/"+infos[len(infos)-1].Name)
	must(t, err)
	testkit.Diff(t, "file", string(data), "id,k\n"+`1,"say \"hi\""`+"\n"+`,""`+"\n2,\n")
	for name, want := range map[string][][]plan.Value{
		"":      {{int64(1), `say "hi"`}, {nil, nil}, {int64(2), nil}},
		"EMPTY": {{int64(1), `say "hi"`}, {nil, "EMPTY"}, {int64(2), nil}},
	} {
		got := rowsOf(t, scanAll(t, env, &plan.Read{Format: "csv", Schema: &idSchema, Paths: []string{"/r/out"},
			Options: plan.Options{"header": "true", "emptyValue": name}}))
		testkit.Diff(t, "rows with emptyValue "+name, got, want)
	}
}

func TestEveryFormatIsFoundByItsNames(t *testing.T) {
	last := ""
	for _, f := range Formats() {
		if f.Name <= last {
			t.Errorf("%s comes after %s", f.Name, last)
		}
		last = f.Name
		for _, name := range append([]string{f.Name, strings.ToUpper(f.Name)}, f.Aliases...) {
			if found, ok := Lookup(name); !ok || found != f {
				t.Errorf("%s is not found as %s", f.Name, name)
			}
		}
		if f.Doc == "" {
			t.Errorf("%s is not described", f.Name)
		}
	}
	if _, ok := Lookup("nosuch"); ok {
		t.Error("a format nosuch was found")
	}
}

func TestAViewReadsTheSameFilesForAnotherScan(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &shelfDir{t: t, fsys: fsys}
	dir.put("/r/in/a.json", `{"id":1,"k":"x"}`+"\n"+`{"id":2,"k":"y"}`+"\n", 0)
	env := newEnv(t, fsys)
	schema := plan.Struct(plan.Col("id", plan.Int), plan.Col("k", plan.String))
	read := &plan.Read{Format: "json", Schema: &schema, Paths: []string{"/r/in"}, Streaming: true}
	wide := scanOf(t, env, read)
	source := openSource(t, env, wide, Place{fsys, "/log"})
	end := drainSource(t, source)

	narrow := *wide
	narrow.Attrs = wide.Attrs[1:]
	view, err := source.(Viewer).View(&narrow)
	must(t, err)
	if got := rowsOf(t, view.Read(t.Context(), "", end)); !cmp.Equal(got, [][]plan.Value{{"x"}, {"y"}}) {
		t.Errorf("the view has %v", got)
	}
	want := [][]plan.Value{{int64(1), "x"}, {int64(2), "y"}}
	if got := rowsOf(t, source.Read(t.Context(), "", end)); !cmp.Equal(got, want) {
		t.Errorf("the source has %v", got)
	}
}

// A batch that takes the last file of an earlier listing does not know that more have come
// since: as long as files come faster than they are taken, the limit is what limits.
func TestALimitLimitsWhileFilesComeFasterThanTheyAreTaken(t *testing.T) {
	fsys := vfs.NewMemory()
	d := &shelfDir{t: t, fsys: fsys}
	env := newEnv(t, fsys)
	for _, most := range []plan.Options{{"maxFilesPerTrigger": "1"}, {"maxBytesPerTrigger": "10"}} {
		dir := "/in" + most["maxFilesPerTrigger"]
		put := func(n int) { d.put(fmt.Sprintf("%s/%03d.json", dir, n), `{"id": 1}`, 0) }
		put(0)
		put(1)
		s := jsonSource(t, env, dir, most, Place{fsys, "/log" + dir})
		at := Offset("")
		for i := range 12 {
			put(2 * (i + 1))
			put(2*(i+1) + 1)
			next := latest(t, s, at, Limit{})
			if next == at || !s.(Limited).Limited() {
				t.Fatalf("%v, batch %d: from %s to %s, and no limit keeps files back", most, i, at, next)
			}
			at = next
		}
		must(t, s.Close())
	}
}
