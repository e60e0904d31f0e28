package stream

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// sparkCheckpoint copies a checkpoint that Spark wrote into memory.
func sparkCheckpoint(t *testing.T, name string) vfs.FS {
	t.Helper()
	fsys := vfs.NewMemory()
	root := filepath.Join("testdata/spark", name)
	err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		to := path.Join(checkpointDir, filepath.ToSlash(strings.TrimPrefix(file, root)))
		if err := fsys.MkdirAll(path.Dir(to)); err != nil {
			return err
		}
		w, err := fsys.CreateNew(to)
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
		return w.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

var sparkCheckpoints = []string{
	"4.3.0-stateless", "4.3.0-watermark_only", "4.3.0-pending_batch",
	"3.5.9-stateless", "3.5.9-watermark_only", "3.5.9-pending_batch",
}

// What Spark wrote is read, and written again byte for byte; so is Hadoop's
// checksum of it. Spark 3.5 recorded fewer settings, so its offsets differ.
func TestFilesOfSparkAreWrittenTheSame(t *testing.T) {
	for _, name := range sparkCheckpoints {
		fsys := sparkCheckpoint(t, name)
		for _, file := range tree(t, fsys, checkpointDir) {
			full := path.Join(checkpointDir, file)
			data, err := connector.ReadChecked(fsys, full)
			if err != nil {
				t.Fatalf("%s/%s: %v", name, file, err)
			}
			sum, err := vfs.ReadFile(fsys, vfs.ChecksumName(full))
			if err != nil {
				t.Fatal(err)
			}
			if string(connector.Checksums(data, 512)) != string(sum) {
				t.Errorf("%s/%s: another checksum", name, file)
			}
			again, err := rewritten(file, data)
			if err != nil {
				t.Fatalf("%s/%s: %v", name, file, err)
			}
			if strings.HasPrefix(name, "3") && strings.HasPrefix(file, offsetsName) {
				continue
			}
			if diff := cmp.Diff(string(again), string(data)); diff != "" {
				t.Errorf("%s/%s: %s", name, file, diff)
			}
		}
	}
}

func rewritten(file string, data []byte) ([]byte, error) {
	switch path.Dir(file) {
	case offsetsName:
		e, err := parseOffsets(file, data)
		if err != nil {
			return nil, err
		}
		return e.encode(), nil
	case commitsName:
		e, err := parseCommit(file, data)
		return e.encode(), err
	default:
		id, err := parseMetadata(file, data)
		return []byte(`{"id":"` + id + `"}`), err
	}
}

// fileOffsets is a source with the offsets of Spark's file source, one row a
// file.
type fileOffsets struct{ countSource }

func (s *fileOffsets) Latest(
	ctx context.Context, start connector.Offset, l connector.Limit,
) (connector.Offset, error) {
	end, err := s.countSource.Latest(ctx, position(int64(logOffset(start))+1), l)
	if err != nil || end == "" {
		return "", err
	}
	return connector.Offset(`{"logOffset":` + strconv.FormatInt(at(end)-1, 10) + `}`), nil
}

func (s *fileOffsets) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	return s.countSource.Read(ctx, position(int64(logOffset(from))+1), position(int64(logOffset(to))+1))
}

func (s *fileOffsets) Advance(context.Context, connector.Offset) error { return nil }

// A run takes over where Spark stopped, under Spark's id.
func TestRunsGoOnFromSpark(t *testing.T) {
	cases := []struct {
		name  string
		first int64 // batch that runs
	}{
		{"4.3.0-stateless", 2}, {"4.3.0-watermark_only", 2}, {"4.3.0-pending_batch", 1},
		{"3.5.9-stateless", 2}, {"3.5.9-watermark_only", 2}, {"3.5.9-pending_batch", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(sparkCheckpoint(t, c.name))
			r.trigger.Kind = plan.Once
			r.tapes["a"].put(1, 2, 3)
			r.open = func(s countSource) connector.Source { return &fileOffsets{s} }
			var got []wrote
			r.wrote = &got
			id := r.file("/ck/metadata")
			q := r.mustStart(t)
			if err := q.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := []wrote{{c.first, "\n" + strconv.FormatInt(c.first+1, 10)}}
			if diff := cmp.Diff(got, want, cmp.AllowUnexported(wrote{})); diff != "" {
				t.Error(diff)
			}
			if want := `{"id":"` + q.ID() + `"}`; id != want {
				t.Errorf("the query is %s, the checkpoint's %s", want, id)
			}
		})
	}
}

// A checksum without its file would condemn the next file of the name.
func TestChecksumsOfMissingFilesGo(t *testing.T) {
	place := connector.Place{FS: sparkCheckpoint(t, "4.3.0-stateless"), Dir: "/ck/commits"}
	if err := place.FS.Remove("/ck/commits/1"); err != nil {
		t.Fatal(err)
	}
	log, err := openBatchLog(place)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.FS.Stat("/ck/commits/.1.crc"); err == nil {
		t.Error("the orphan stays")
	}
	if _, err := place.FS.Stat("/ck/commits/.0.crc"); err != nil {
		t.Error("another file's checksum is gone")
	}
	if err := log.add(1, commitEntry{}.encode()); err != nil {
		t.Fatal(err)
	}
	if _, err := log.read(1); err != nil {
		t.Error(err)
	}
}

// sparkError is an error as PySpark received it.
type sparkError struct {
	Class, Condition, SQLState, Message string
	Parameters                          map[string]string
}

var bracketed = regexp.MustCompile(`\[[A-Z][A-Z_.]+\]`)

// Each damage gives the error that Spark gives, in the place where Spark gives
// it: class, condition, SQLSTATE and the conditions inside the text.
func TestDamageIsNamedAsInSpark(t *testing.T) {
	data, err := os.ReadFile("testdata/spark/errors.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]sparkError
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	edit := func(fn func(string) string) func(*testing.T, *rig) {
		return func(t *testing.T, r *rig) {
			err := vfs.WriteReplace(r.fs, "/ck/offsets/0", []byte(fn(r.file("/ck/offsets/0"))))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	drop := func(name string) func(*testing.T, *rig) {
		return func(t *testing.T, r *rig) {
			if err := r.fs.RemoveAll("/ck/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	newer := func(s string) string { return strings.Replace(s, "v1", "v9", 1) }
	two := func(_ *testing.T, r *rig) { r.plan = unionOf(scanOf("a"), scanOf("b")) }
	cases := []struct {
		name   string
		before func(*testing.T, *rig)
		damage func(*testing.T, *rig)
	}{
		{name: "ck_metadata_deleted", damage: drop("metadata")},
		{name: "ck_offsets_all_deleted", damage: drop("offsets")},
		{name: "ck_offsets_bad_json", damage: edit(func(s string) string { return s[:len(s)-3] })},
		{name: "ck_offsets_bad_version", damage: edit(newer)},
		{name: "ck_offsets_empty", damage: edit(func(string) string { return "" })},
		{name: "ck_offsets_no_version", damage: edit(func(s string) string { return "hello\n" + s })},
		{name: "ck_second_source", damage: two},
		{name: "ck_source_removed", before: two,
			damage: func(_ *testing.T, r *rig) { r.plan = scanOf("a") }},
		{name: "ck_source_log_deleted", damage: drop("sources")},
		{name: "ck_operator_removed", damage: addState},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(vfs.NewMemory())
			r.tapes["b"] = &tape{}
			r.logged, r.trigger.Kind = true, plan.AvailableNow
			r.tapes["a"].put(1)
			if c.before != nil {
				c.before(t, r)
			}
			if err := r.mustStart(t).Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.damage(t, r)
			q, err := r.start()
			if err == nil {
				err = q.Await(t.Context())
			}
			checkSparkError(t, err, recorded[c.name])
		})
	}
}

// addState leaves what Spark 4.3 says of the operator of a count, and a row for
// the query to stumble over it.
func addState(t *testing.T, r *rig) {
	r.tapes["a"].put(2)
	if err := r.fs.MkdirAll("/ck/state/0/_metadata"); err != nil {
		t.Fatal(err)
	}
	text := "v1\n" + `{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},"stateStoreInfo":` +
		`[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}]}`
	if err := vfs.WriteNew(r.fs, "/ck/state/0/_metadata/metadata", []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func checkSparkError(t *testing.T, err error, want sparkError) {
	t.Helper()
	got, ok := err.(*plan.Error)
	if !ok {
		t.Fatalf("got %v, want %s", err, want.Condition)
	}
	class := got.Class[strings.LastIndexByte(got.Class, '.')+1:]
	if class != want.Class || got.Condition != want.Condition || got.State != want.SQLState {
		t.Errorf("got %s %s %s, want %s %s %s", class, got.Condition, got.State,
			want.Class, want.Condition, want.SQLState)
	}
	for key := range want.Parameters {
		if _, ok := got.Args[key]; !ok {
			t.Errorf("parameter %s is missing in %v", key, got.Args)
		}
	}
	inside := bracketed.FindAllString(want.Message, -1)
	if diff := cmp.Diff(bracketed.FindAllString(got.Error(), -1), inside); diff != "" {
		t.Error(diff)
	}
}
