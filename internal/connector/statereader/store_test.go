package statereader

import (
	"context"
	"errors"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

// deduplicated is a checkpoint as Spark 4.3 left one of dropDuplicates("k", "ts")
// over five rows, with the state in weir's form.
func deduplicated(t *testing.T, dir string) {
	t.Helper()
	fsys := vfs.NewLocal()
	shape := state.Shape{Key: []state.Column{{Name: "k", Type: plan.String}, {Name: "ts", Type: plan.Timestamp}}}
	at := path.Join(dir, "state/0")
	s, err := state.Open(state.Options{FS: fsys, Dir: at, Shapes: []state.Shape{shape}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	const start = int64(1_704_067_200_000_000)
	for i, k := range []string{"x", "y", "x", "y", "x"} {
		keys := chunk.FromRows(structOf(shape.Key), []plan.Value{k, start + int64(i)*1_000_000}).Cols
		if err := s.Table(0).Put(keys, nil, []int32{-1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Commit(), s.Close()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"commits/0": "v1\n{\"nextBatchWatermarkMs\":0}",
		"state/0/_metadata/metadata": "v1\n" + `{"operatorInfo":{"operatorId":0,"operatorName":"dedupe"},` +
			`"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":4}]}`,
	} {
		file := path.Join(dir, name)
		made := vfs.MkdirDurable(fsys, path.Dir(file))
		if err := errors.Join(made, vfs.WriteNew(fsys, file, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string, o plan.Options) ([][]plan.Value, error) {
	t.Helper()
	env, format := conform.NewEnv(t, vfs.NewLocal()), Store()
	read := &plan.Read{Format: "statestore", Options: o, Paths: []string{dir}}
	r, err := format.Describe(context.Background(), env, read)
	if err != nil {
		return nil, err
	}
	s := &plan.Scan{Relation: *r}
	for i, f := range r.Schema.Fields {
		s.Attrs = append(s.Attrs, &plan.Attribute{Name: f.Name, Of: f.Type, ID: plan.ExprID(i + 1)})
	}
	chunks, err := chunk.Collect(format.Scan(context.Background(), env, s))
	var rows [][]plan.Value
	for _, c := range chunks {
		for i := range c.Rows {
			rows = append(rows, c.Row(i))
		}
	}
	return rows, err
}

// The partitions are those in which Spark kept the same keys.
func TestStateIsReadAsSparkShowsIt(t *testing.T) {
	dir := t.TempDir()
	deduplicated(t, dir)
	rows, err := read(t, dir, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, row := range rows {
		got = append(got, row[2].(int64))
	}
	// x at 0, y at 1, x at 2, y at 3, x at 4 seconds.
	if diff := cmp.Diff([]int64{0, 0, 0, 2, 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadingStateRefusesWhatSparkRefuses(t *testing.T) {
	dir := t.TempDir()
	deduplicated(t, dir)
	for _, c := range []struct {
		dir  string
		o    plan.Options
		want string
	}{
		{dir, plan.Options{"batchId": "7"}, "STDS_COMMITTED_BATCH_UNAVAILABLE"},
		{dir, plan.Options{"batchId": "-1"}, "STDS_INVALID_OPTION_VALUE.IS_NEGATIVE"},
		{dir, plan.Options{"operatorId": "3"}, "STDS_FAILED_TO_READ_STATE_SCHEMA"},
		{dir, plan.Options{"joinSide": "up"}, "STDS_INVALID_OPTION_VALUE.WITH_MESSAGE"},
		{dir, plan.Options{"joinSide": "right"}, "STDS_FAILED_TO_READ_STATE_SCHEMA"},
		{dir + "/none", plan.Options{}, "STDS_COMMITTED_BATCH_UNAVAILABLE"},
	} {
		_, err := read(t, c.dir, c.o)
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != c.want {
			t.Errorf("%v: %v, want %s", c.o, err, c.want)
		}
	}
}
