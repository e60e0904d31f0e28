package file

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

func TestFileSourcesConform(t *testing.T) {
	for _, format := range []string{"avro", "json", "csv", "parquet", "text"} {
		t.Run(format, func(t *testing.T) {
			fsys := vfs.NewMemory()
			env := conform.NewEnv(t, fsys)
			dir := &conform.Dir{T: t, FS: fsys}
			conform.Must(t, vfs.MkdirDurable(fsys, "/r/in"))
			schema := conform.IDSchema
			if format == "text" {
				schema = plan.Struct(plan.Col("value", plan.String))
			}
			f, _ := formats.Lookup(format)
			open := func(checkpoint string, limited bool) connector.Source {
				r := &plan.Read{Format: format, Schema: &schema, Paths: []string{"/r/in"}, Streaming: true}
				if limited {
					r.Options = plan.Options{"maxFilesPerTrigger": "1"}
				}
				return formats.OpenSource(t, env, formats.ScanOf(t, env, r), connector.Place{FS: fsys,
					Dir: "/r/ck/" + checkpoint})
			}
			conform.CheckSource(t, conform.SourceCase{Steps: 14, Open: open, Step: func(n int) {
				if n%3 == 2 {
					return
				}
				var rows *chunk.Chunk
				if format == "text" {
					rows = chunk.FromRows(schema, []plan.Value{fmt.Sprint("line ", n)}, []plan.Value{""})
				} else {
					rows = conform.IDChunk(0, int64(2*n), int64(2*n+1))
				}
				conform.Must(
					t,
					f.Write(t.Context(), env, connector.WriteSpec{Schema: schema, Mode: plan.SaveAppend, Path: "/r/in"},
						chunk.One(rows)),
				)
				dir.Clock++
			}})
		})
	}
}

func TestFileSinksConform(t *testing.T) {
	for _, format := range []string{"avro", "json", "parquet"} {
		for _, parts := range [][]string{nil, {"k"}} {
			t.Run(fmt.Sprint(format, parts), func(t *testing.T) {
				fsys := vfs.NewMemory()
				env := conform.NewEnv(t, fsys)
				open := func() connector.Sink {
					return formats.OpenSink(t, env, format, connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out",
						Partitions: parts})
				}
				conform.CheckSink(t, open, func() []int64 { return formats.VisibleIDs(t, env, format) })
				if got := open().Describe(); got != "FileSink[file:/r/out]" {
					t.Errorf("described as %s", got)
				}
			})
		}
	}
}

// The recorded scenarios sk_json, sk_empty_batch_files and sk_partition_two_columns.
func TestFileSinkWritesTheLogOfSpark(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	schema := plan.Struct(plan.Col("id", plan.Int), plan.Col("k", plan.String), plan.Col("ts", plan.Timestamp))
	sink := formats.OpenSink(t, env, "json", connector.SinkSpec{Schema: schema, Path: "/r/out q"})
	for id, rows := range []chunk.Rows{
		chunk.One(chunk.FromRows(schema, []plan.Value{int64(1), "a", int64(1704067200000000)},
			[]plan.Value{int64(2), nil, nil})),
		chunk.One(),
		chunk.One(conform.Part(1, chunk.FromRows(schema, []plan.Value{int64(3), "a", nil}))),
	} {
		n, err := sink.Write(t.Context(), connector.Batch{ID: int64(id), Rows: rows})
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
	conform.Must(t, err)
	var text string
	for _, info := range infos {
		if info.Size == 58 {
			data, err := vfs.ReadFile(fsys, path.Join("/r/out q", info.Name))
			conform.Must(t, err)
			text = string(data)
		}
	}
	want := `{"id":1,"k":"a","ts":"2024-01-01T00:00:00.000Z"}` + "\n" + `{"id":2}` + "\n"
	testkit.Diff(t, "file", text, want)
}

func TestAFileSinkOnlyAppends(t *testing.T) {
	f, _ := formats.Lookup("json")
	env := conform.NewEnv(t, vfs.NewMemory())
	for _, c := range []struct {
		spec      connector.SinkSpec
		condition string
	}{
		{connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out", Mode: plan.UpdateMode},
			"STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE"},
		{connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out", Mode: plan.CompleteMode},
			"STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE"},
		{connector.SinkSpec{Schema: conform.IDSchema}, "_LEGACY_ERROR_TEMP_2047"},
		{connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out", Partitions: []string{"nope"}},
			"_LEGACY_ERROR_TEMP_1196"},
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

// A source whose offset was lost with the power gives the files of its log again.
func TestAFileSourceSurvivesAPowerLoss(t *testing.T) {
	offsets := []connector.Offset{""}
	testkit.CrashDisk(t, testkit.DiskProgram{
		Run: func(disk *vfs.Crashable) error {
			offsets = []connector.Offset{""}
			err := vfs.MkdirDurable(disk, "/r/in")
			var s connector.Source
			for n := 0; n < 3 && err == nil; n++ {
				err = vfs.WriteNew(disk, fmt.Sprintf("/r/in/f%d.json", n), fmt.Appendf(nil, "{\"id\":%d}\n", n))
				if err == nil && s == nil {
					env := conform.NewEnv(t, disk)
					f, _ := formats.Lookup("json")
					scan := formats.ScanOf(t, env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}})
					s, err = f.Source(t.Context(), env, scan, connector.Place{FS: disk, Dir: "/r/ck"})
				}
				if err == nil {
					var end connector.Offset
					if end, err = s.Latest(t.Context(), offsets[len(offsets)-1], connector.Limit{}); err == nil {
						offsets = append(offsets, end)
					}
				}
			}
			return err
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			env := conform.NewEnv(t, disk)
			conform.Must(t, vfs.MkdirDurable(disk, "/r/in"))
			f, _ := formats.Lookup("json")
			scan := formats.ScanOf(t, env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}})
			s, err := f.Source(t.Context(), env, scan, connector.Place{FS: disk, Dir: "/r/ck"})
			conform.Must(t, err)
			// The last offset that was handed out may not have reached a log of the query.
			for _, known := range offsets[max(0, len(offsets)-2):] {
				end, err := s.Latest(t.Context(), known, connector.Limit{})
				conform.Must(t, err)
				rows := conform.RowsOf(t, s.Read(t.Context(), "", end))
				files, err := disk.List("/r/in")
				conform.Must(t, err)
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
	env := conform.NewEnv(t, fsys)
	sink := formats.OpenSink(t, env, "json", connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out"})
	source := formats.OpenSource(t, env,
		formats.ScanOf(t, env, &plan.Read{Format: "json", Schema: &conform.IDSchema, Paths: []string{"/r/out"},
			Streaming: true}),
		connector.Place{FS: fsys, Dir: "/r/ck"})
	at := connector.Offset("")
	var got []int64
	for id := range int64(12) {
		_, err := sink.Write(t.Context(), connector.Batch{ID: id, Rows: chunk.One(conform.IDChunk(0, id))})
		conform.Must(t, err)
		conform.Must(t, vfs.WriteNew(fsys, fmt.Sprintf("/r/out/stray-%d.json", id), []byte("{\"id\":77}\n")))
		end, err := source.Latest(t.Context(), at, connector.Limit{})
		conform.Must(t, err)
		chunks, err := chunk.Collect(source.Read(t.Context(), at, end))
		conform.Must(t, err)
		got, at = append(got, conform.IDsOf(chunks)...), end
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
			env := conform.NewEnv(t, fsys)
			dir := &conform.Dir{T: t, FS: fsys}
			conform.Must(t, vfs.MkdirDurable(fsys, "/r/in"))
			source, at := jsonSource(t, env, "/r/in", c.options, connector.Place{FS: fsys, Dir: "/r/ck"}),
				connector.Offset("")
			for id, step := range c.steps {
				dir.Put("/r/in/"+step.name, fmt.Sprintf("{\"id\":%d}\n", id), step.mtime)
				end, err := source.Latest(t.Context(), at, connector.Limit{})
				conform.Must(t, err)
				testkit.Diff(t, step.name, idsBetween(t, source, at, end), step.want)
				at = end
			}
			conform.Must(t, fsys.Rename("/r/in", "/r/gone"))
			if end, err := source.Latest(t.Context(), at, connector.Limit{}); end != at || err != nil {
				t.Errorf("without the folder: %s, %v", end, err)
			}
		})
	}
}

// idsBetween are the ids of a batch, none when nothing is new.
func idsBetween(t *testing.T, s connector.Source, from, to connector.Offset) []int64 {
	if from == to {
		return nil
	}
	var ids []int64
	for _, row := range conform.RowsOf(t, s.Read(t.Context(), from, to)) {
		ids = append(ids, row[0].(int64))
	}
	return ids
}

func TestAMissingLogEntryIsNamed(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/in/a.json", "{\"id\":1}\n", 0)
	source := jsonSource(t, conform.NewEnv(t, fsys), "/r/in", nil, connector.Place{FS: fsys, Dir: "/r/ck"})
	end, err := source.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	conform.Must(t, vfs.RemoveFile(fsys, "/r/ck/0"))
	_, err = chunk.Collect(source.Read(t.Context(), "", end))
	if err == nil || err.Error() != "batch 0 doesn't exist: its file is gone from /r/ck" {
		t.Errorf("got %v", err)
	}
	restarted := jsonSource(t, conform.NewEnv(t, fsys), "/r/in", nil, connector.Place{FS: fsys, Dir: "/r/ck"})
	if _, err := restarted.Latest(t.Context(), end, connector.Limit{}); err == nil ||
		err.Error() != "batch 0 doesn't exist: its file is gone from /r/ck" {
		t.Errorf("after a restart: %v", err)
	}
	other := jsonSource(t, conform.NewEnv(t, fsys), "/r", nil, connector.Place{FS: fsys, Dir: "/r/ck"})
	conform.Must(
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
	dir := &conform.Dir{T: t, FS: fsys}
	for i, name := range []string{"/r/in/a.json", "/r/in/b.json", "/r/in/c.json"} {
		dir.Put(name, "{\"id\":1}\n", int64(i))
	}
	one := plan.Options{"maxFilesPerTrigger": "1"}
	source := jsonSource(t, conform.NewEnv(t, fsys), "/r/in", one, connector.Place{FS: fsys, Dir: "/r/ck"})
	end := connector.Offset("")
	for range 3 {
		var err error
		end, err = source.Latest(t.Context(), end, connector.Limit{})
		conform.Must(t, err)
	}
	first, err := vfs.ReadFile(fsys, "/r/ck/0")
	conform.Must(t, err)
	conform.Must(t, vfs.RemoveFile(fsys, "/r/ck/1"))
	conform.Must(t, vfs.WriteNew(fsys, "/r/ck/1", first))
	const want = "Failed to read log file file:/r/ck/1. an entry of batch 0 stands in the file of batch 1"
	if _, err := chunk.Collect(source.Read(t.Context(), `{"logOffset":0}`, `{"logOffset":1}`)); err == nil ||
		err.Error() != want {
		t.Errorf("read: %v", err)
	}
	env := conform.NewEnv(t, fsys)
	scan := formats.ScanOf(t, env,
		&plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}, Streaming: true})
	f, _ := formats.Lookup("json")
	if _, err := f.Source(t.Context(), env, scan, connector.Place{FS: fsys, Dir: "/r/ck"}); err == nil ||
		err.Error() != want {
		t.Errorf("after a restart: %v", err)
	}
}

// A flipped bit in the log of a source is another path or another batch: the file would be read
// twice, or another one never. Its checksum tells, in the files of batches and in compactions.
func TestADamagedLogIsNamed(t *testing.T) {
	one := plan.Options{"maxFilesPerTrigger": "1"}
	fill := func() (vfs.FS, connector.Offset) {
		fsys := vfs.NewMemory()
		dir := &conform.Dir{T: t, FS: fsys}
		for i := range 12 {
			dir.Put(fmt.Sprintf("/r/in/%02d.json", i), "{\"id\":1}\n", int64(i))
		}
		source := jsonSource(t, conform.NewEnv(t, fsys), "/r/in", one, connector.Place{FS: fsys, Dir: "/r/ck"})
		end := connector.Offset("")
		for range 12 {
			var err error
			end, err = source.Latest(t.Context(), end, connector.Limit{})
			conform.Must(t, err)
		}
		return fsys, end
	}
	for _, name := range []string{"/r/ck/9.compact", "/r/ck/10", "/r/ck/11"} {
		for label, damage := range map[string]func([]byte) []byte{
			"a flipped bit":     func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
			"the last line cut": func(b []byte) []byte { return b[:bytes.LastIndexByte(b, '\n')] },
		} {
			fsys, end := fill()
			data, err := vfs.ReadFile(fsys, name)
			conform.Must(t, err)
			conform.Must(t, fsys.Remove(name))
			conform.Must(t, vfs.WriteNew(fsys, name, damage(data)))
			env := conform.NewEnv(t, fsys)
			scan := formats.ScanOf(t, env,
				&plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}, Streaming: true, Options: one})
			f, _ := formats.Lookup("json")
			s, err := f.Source(t.Context(), env, scan, connector.Place{FS: fsys, Dir: "/r/ck"})
			if err == nil {
				_, err = s.Latest(t.Context(), end, connector.Limit{})
			}
			if err == nil || !strings.Contains(err.Error(), name+" does not fit its checksum file") {
				t.Errorf("%s in %s: %v", label, name, err)
			}
		}
	}
}

func TestASinkLogOfAnotherBatchIsNamed(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	sink := formats.OpenSink(t, env, "json", connector.SinkSpec{Schema: oneInt, Path: "/r/out"})
	for id := range 3 {
		rows := chunk.One(chunk.FromRows(oneInt, []plan.Value{int64(id)}))
		if _, err := sink.Write(t.Context(), connector.Batch{ID: int64(id), Rows: rows}); err != nil {
			t.Fatal(err)
		}
	}
	first, err := vfs.ReadFile(fsys, "/r/out/_spark_metadata/0")
	conform.Must(t, err)
	conform.Must(t, vfs.RemoveFile(fsys, "/r/out/_spark_metadata/1"))
	conform.Must(t, vfs.WriteNew(fsys, "/r/out/_spark_metadata/1", first))
	f, _ := formats.Lookup("json")
	_, err = f.Describe(t.Context(), env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/out"}})
	if err == nil || !strings.Contains(err.Error(), "stands in it twice") {
		t.Errorf("got %v", err)
	}
}

func TestSourcesCleanUpWhenAsked(t *testing.T) {
	for mode, where := range map[string]string{"delete": "", "archive": "/r/old/r/in/f0.json"} {
		fsys := vfs.NewMemory()
		dir := &conform.Dir{T: t, FS: fsys}
		dir.Put("/r/in/f0.json", "{\"id\":1}\n", 0)
		options := plan.Options{"cleanSource": mode, "sourceArchiveDir": "/r/old"}
		source := jsonSource(t, conform.NewEnv(t, fsys), "/r/in", options, connector.Place{FS: fsys, Dir: "/r/ck"})
		end, err := source.Latest(t.Context(), "", connector.Limit{})
		conform.Must(t, err)
		for range 2 {
			conform.Must(t, source.Advance(t.Context(), end))
		}
		if _, err := fsys.Stat("/r/in/f0.json"); !vfs.NotFound(err) {
			t.Errorf("%s left the file: %v", mode, err)
		}
		if where != "" {
			_, err := fsys.Stat(where)
			conform.Must(t, err)
		}
	}
	fsys := vfs.NewMemory()
	conform.Must(t, vfs.MkdirDurable(fsys, "/r/in"))
	for _, inside := range []string{"/r/in", "/r/in/sub", "/r"} {
		f, _ := formats.Lookup("json")
		env := conform.NewEnv(t, fsys)
		options := plan.Options{"cleanSource": "archive", "sourceArchiveDir": inside}
		scan := formats.ScanOf(t, env,
			&plan.Read{Format: "json", Schema: &oneInt, Options: options, Paths: []string{"/r/in"}})
		if _, err := f.Source(t.Context(), env, scan, connector.Place{FS: fsys, Dir: "/r/ck"}); err == nil {
			t.Errorf("archive %s was accepted", inside)
		}
	}
}

func TestHiddenColumnsTellAboutTheFile(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/in/f 1.json", "{\"id\":1}\n{\"id\":2}\n", 1717200001)
	env := conform.NewEnv(t, fsys)
	s := formats.ScanOf(t, env, &plan.Read{Format: "json", Schema: &oneInt, Paths: []string{"/r/in"}})
	f, _ := formats.Lookup("json")
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
	testkit.Diff(t, "rows", conform.RowsOf(t, f.Scan(t.Context(), env, s)), [][]plan.Value{row, row})
}

func TestBrokenFilesAreNamedOrSkipped(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/gz/plain.json.gz", "{\"id\":4}\n", 0)
	dir.Put("/r/pq/bad.parquet", "this is no parquet", 0)
	dir.Put("/r/pq/zero.parquet", "", 0)
	env := conform.NewEnv(t, fsys)
	for format, name := range map[string]string{"json": "/r/gz/plain.json.gz", "parquet": "/r/pq/bad.parquet"} {
		read := &plan.Read{Format: format, Schema: &oneInt, Paths: []string{path.Dir(name)}}
		_, err := chunk.Collect(formats.ScanAll(t, env, read))
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != "FAILED_READ_FILE.NO_HINT" || e.Args["path"] != "file://"+name {
			t.Errorf("%s: %v", name, err)
		}
		read.Options = plan.Options{"ignoreCorruptFiles": "true"}
		if rows := conform.RowsOf(t, formats.ScanAll(t, env, read)); len(rows) != 0 {
			t.Errorf("%s has rows %v", name, rows)
		}
	}
}

// The recorded scenarios fs_schema_inference and fs_gzip.
func TestSchemasAreFoundInFiles(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/in/a.json", `{"id":1,"k":"a","x":1.5}`+"\n"+`{"id":2,"n":[1]}`+"\n", 0)
	f, _ := formats.Lookup("json")
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
	conform.Must(t, err)
	if got := rel.Schema.Simple(); got != "struct<id:bigint,k:string,n:array<bigint>,x:double>" {
		t.Errorf("schema %s", got)
	}

	conform.Must(t, f.Write(t.Context(), env, connector.WriteSpec{Schema: oneInt, Path: "/r/gz",
		Options: plan.Options{"compression": "gzip"}}, chunk.One(chunk.FromRows(oneInt, []plan.Value{int64(7)}))))
	rows := conform.RowsOf(t, formats.ScanAll(t, env, &plan.Read{Format: "json", Paths: []string{"/r/gz"}}))
	testkit.Diff(t, "gzip", rows, [][]plan.Value{{int64(7)}})

	parquet, _ := formats.Lookup("parquet")
	conform.Must(t, parquet.Write(t.Context(), env,
		connector.WriteSpec{Schema: conform.IDSchema, Path: "/r/pq", Partitions: []string{"k"}},
		chunk.One(conform.IDChunk(0, 2))))
	rel, err = parquet.Describe(t.Context(), env, &plan.Read{Format: "parquet", Paths: []string{"/r/pq"}})
	conform.Must(t, err)
	if got := rel.Schema.Simple(); got != "struct<id:bigint,k:string>" || len(rel.Partitions) != 1 {
		t.Errorf("schema %s, partitions %v", got, rel.Partitions)
	}
}

func TestCSVIsReadAsItWasWritten(t *testing.T) {
	fsys := vfs.NewMemory()
	f, _ := formats.Lookup("csv")
	env := conform.NewEnv(t, fsys)
	conform.Must(t, f.Write(t.Context(), env, connector.WriteSpec{Schema: conform.IDSchema, Path: "/r/out",
		Options: plan.Options{"header": "true"}}, chunk.One(chunk.FromRows(conform.IDSchema,
		[]plan.Value{int64(1), `say "hi"`}, []plan.Value{nil, ""}, []plan.Value{int64(2), nil}))))
	infos, err := fsys.List("/r/out")
	conform.Must(t, err)
	data, err := vfs.ReadFile(fsys, "/r/out/"+infos[len(infos)-1].Name)
	conform.Must(t, err)
	testkit.Diff(t, "file", string(data), "id,k\n"+`1,"say \"hi\""`+"\n"+`,""`+"\n2,\n")
	for name, want := range map[string][][]plan.Value{
		"":      {{int64(1), `say "hi"`}, {nil, nil}, {int64(2), nil}},
		"EMPTY": {{int64(1), `say "hi"`}, {nil, "EMPTY"}, {int64(2), nil}},
	} {
		got := conform.RowsOf(t, formats.ScanAll(t, env, &plan.Read{Format: "csv", Schema: &conform.IDSchema,
			Paths:   []string{"/r/out"},
			Options: plan.Options{"header": "true", "emptyValue": name}}))
		testkit.Diff(t, "rows with emptyValue "+name, got, want)
	}
}

func TestAViewReadsTheSameFilesForAnotherScan(t *testing.T) {
	fsys := vfs.NewMemory()
	dir := &conform.Dir{T: t, FS: fsys}
	dir.Put("/r/in/a.json", `{"id":1,"k":"x"}`+"\n"+`{"id":2,"k":"y"}`+"\n", 0)
	env := conform.NewEnv(t, fsys)
	schema := plan.Struct(plan.Col("id", plan.Int), plan.Col("k", plan.String))
	read := &plan.Read{Format: "json", Schema: &schema, Paths: []string{"/r/in"}, Streaming: true}
	wide := formats.ScanOf(t, env, read)
	source := formats.OpenSource(t, env, wide, connector.Place{FS: fsys, Dir: "/log"})
	end := drainSource(t, source)

	narrow := *wide
	narrow.Attrs = wide.Attrs[1:]
	view, err := source.(connector.Viewer).View(&narrow)
	conform.Must(t, err)
	if got := conform.RowsOf(t, view.Read(t.Context(), "", end)); !cmp.Equal(got, [][]plan.Value{{"x"}, {"y"}}) {
		t.Errorf("the view has %v", got)
	}
	want := [][]plan.Value{{int64(1), "x"}, {int64(2), "y"}}
	if got := conform.RowsOf(t, source.Read(t.Context(), "", end)); !cmp.Equal(got, want) {
		t.Errorf("the source has %v", got)
	}
}

// A batch that takes the last file of an earlier listing does not know that more have come
// since: as long as files come faster than they are taken, the limit is what limits.
func TestALimitLimitsWhileFilesComeFasterThanTheyAreTaken(t *testing.T) {
	fsys := vfs.NewMemory()
	d := &conform.Dir{T: t, FS: fsys}
	env := conform.NewEnv(t, fsys)
	for _, most := range []plan.Options{{"maxFilesPerTrigger": "1"}, {"maxBytesPerTrigger": "10"}} {
		dir := "/in" + most["maxFilesPerTrigger"]
		put := func(n int) { d.Put(fmt.Sprintf("%s/%03d.json", dir, n), `{"id": 1}`, 0) }
		put(0)
		put(1)
		s := jsonSource(t, env, dir, most, connector.Place{FS: fsys, Dir: "/log" + dir})
		at := connector.Offset("")
		for i := range 12 {
			put(2 * (i + 1))
			put(2*(i+1) + 1)
			next := conform.Latest(t, s, at, connector.Limit{})
			if next == at || !s.(connector.Limited).Limited() {
				t.Fatalf("%v, batch %d: from %s to %s, and no limit keeps files back", most, i, at, next)
			}
			at = next
		}
		conform.Must(t, s.Close())
	}
}

// A reset of a checkpoint goes on some batches later: what it passed over reads nothing. A log
// that lacks what was committed was put back or lost, and is refused.
func TestASinkLogGoesOnBehindAReset(t *testing.T) {
	for name, of := range map[string]struct {
		written   int64 // batches
		committed int64
		resets    []int64
		refused   bool
		next      int64
	}{
		"as it was":                     {13, 12, nil, false, 13},
		"one batch is not committed":    {13, 11, nil, false, 12},
		"behind a reset":                {13, 14, []int64{15}, false, 15},
		"behind one that lost a batch":  {13, 15, []int64{16}, false, 16},
		"over a compaction":             {18, 19, []int64{20}, false, 20},
		"behind two in turn":            {13, 16, []int64{15, 17}, false, 17},
		"behind one of long ago":        {30, 29, []int64{15}, false, 30},
		"the newest batch is gone":      {12, 12, nil, true, 0},
		"all but some are gone":         {5, 12, nil, true, 0},
		"some are gone behind a reset":  {20, 30, []int64{15}, true, 0},
		"some were gone before a reset": {8, 14, []int64{15}, true, 0},
		"another output":                {0, 12, nil, false, 13},
		"another output, a compaction":  {0, 19, nil, false, 20},
		"another output, a young query": {0, 3, nil, false, 4},
		"another output behind a reset": {0, 14, []int64{15}, false, 15},
		"nothing is committed":          {0, -1, nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			env := conform.NewEnv(t, vfs.NewMemory())
			spec := connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out"}
			sink := formats.OpenSink(t, env, "json", spec)
			write := func(id int64) error {
				_, err := sink.Write(t.Context(), connector.Batch{ID: id, Rows: chunk.One(conform.IDChunk(0, id))})
				return err
			}
			for id := range of.written {
				conform.Must(t, write(id))
			}
			sink = formats.OpenSink(t, env, "json", spec)
			err := sink.(connector.Following).Follow(of.committed, of.resets)
			if of.refused {
				if err == nil || !strings.Contains(err.Error(), "would not be written again") {
					t.Errorf("got %v", err)
				}
				return
			}
			conform.Must(t, err)
			want := []int64{}
			for id := range of.written {
				want = append(want, id)
			}
			for id := max(of.next, of.written); id < of.next+12; id++ { // a compaction is among them
				conform.Must(t, write(id))
				want = append(want, id)
			}
			testkit.Diff(t, "ids", formats.VisibleIDs(t, env, "json"), want)
		})
	}
}

// Files without a log are the output of a query whose log was lost.
func TestASinkWhoseLogIsGoneIsRefused(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	spec := connector.SinkSpec{Schema: conform.IDSchema, Path: "/r/out"}
	sink := formats.OpenSink(t, env, "json", spec)
	_, err := sink.Write(t.Context(), connector.Batch{ID: 0, Rows: chunk.One(conform.IDChunk(0, 1))})
	conform.Must(t, err)
	conform.Must(t, fsys.RemoveAll("/r/out/_spark_metadata"))
	err = formats.OpenSink(t, env, "json", spec).(connector.Following).Follow(0, nil)
	if err == nil || !strings.Contains(err.Error(), "the log of the output file:/r/out is empty") {
		t.Errorf("got %v", err)
	}
}
