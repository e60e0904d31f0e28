package codec

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// withID is a column with the id of its Parquet field, as Spark's schemas have it.
func withID(name string, t plan.Type, id int) plan.Field {
	f := plan.Col(name, t)
	f.Metadata = fmt.Sprintf(`{%q:%d,"comment":"x"}`, FieldIDMark, id)
	return f
}

func TestColumnsAreFoundByTheirIDs(t *testing.T) {
	inner := plan.Struct(withID("x", plan.Int, 3), withID("y", plan.String, 4))
	written := plan.Struct(withID("a", plan.Int, 1), withID("s", inner, 2),
		withID("l", plan.Array(plan.Struct(withID("e", plan.Int, 6)), true), 5),
		withID("m", plan.Map(plan.String, plan.Struct(withID("v", plan.Int, 8)), true), 7))
	row := []plan.Value{int64(1), []plan.Value{int64(2), "b"}, []plan.Value{[]plan.Value{int64(3)}},
		plan.MapValue{Keys: []plan.Value{"k"}, Values: []plan.Value{[]plan.Value{int64(4)}}}}
	file, _ := write(t, written, ParquetOptions{}, chunk.FromRows(written, row))
	f, err := OpenParquet(bytes.NewReader(file), int64(len(file)), "file.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The names are others by now, the order too, x is gone and a z came.
	want := plan.Struct(
		withID("mm", plan.Map(plan.String, plan.Struct(withID("vv", plan.Int, 8)), true), 7),
		withID("ss", plan.Struct(withID("z", plan.Int, 9), withID("yy", plan.String, 4)), 2),
		withID("ll", plan.Array(plan.Struct(withID("ee", plan.Int, 6)), true), 5),
		withID("a", plan.Int, 10), withID("aa", plan.Int, 1))
	named, ok := f.NamesByID(want)
	if !ok {
		t.Error("the file has no ids")
	}
	got := readBack(t, file, named)
	expected := [][]plan.Value{{row[3], []plan.Value{nil, "b"}, row[2], nil, int64(1)}}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Error(diff)
	}
	plain, _ := write(t, plan.Struct(plan.Col("a", plan.Int)), ParquetOptions{})
	p, err := OpenParquet(bytes.NewReader(plain), int64(len(plain)), "file.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, ok := p.NamesByID(want); ok {
		t.Error("a file without ids is said to have some")
	}
}
