package spool

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

var spoolSchema = plan.Struct(
	plan.Field{Name: "id", Type: plan.Long},
	plan.Field{Name: "text", Type: plan.String, Nullable: true},
	plan.Field{Name: "tags", Type: plan.Array(plan.Int, true), Nullable: true},
)

func spoolChunk(part int, from int64) *chunk.Chunk {
	c := chunk.FromRows(spoolSchema,
		[]plan.Value{from, "a", []plan.Value{int64(1), nil}},
		[]plan.Value{from + 1, nil, nil})
	c.Part = part
	return c
}

func TestBatchIsReadAgainFromMemoryAndDisk(t *testing.T) {
	fs := vfs.NewMemory()
	place := Place{fs, func() string { return "/spool" }}
	chunks := []*chunk.Chunk{spoolChunk(0, 1), spoolChunk(3, 3), chunk.Empty(spoolSchema), spoolChunk(3, 5)}
	for _, test := range []struct {
		name   string
		limit  int64
		onDisk bool
	}{{"memory", 0, false}, {"disk", 100, true}} {
		t.Run(test.name, func(t *testing.T) {
			budget := chunk.NewBudget(nil, test.limit, "key")
			s, err := Keep(place, spoolSchema, chunk.One(chunks...), budget)
			if err != nil {
				t.Fatal(err)
			}
			if (s.file != "") != test.onDisk {
				t.Errorf("the file is %q", s.file)
			}
			for range 2 {
				compareSpool(t, s, chunks)
			}
			file := s.file
			if err := s.Remove(); err != nil {
				t.Error(err)
			}
			if budget.Used() != 0 {
				t.Errorf("%d bytes are still held", budget.Used())
			}
			if _, err := fs.Stat(file); file != "" && !vfs.NotFound(err) {
				t.Errorf("the file is still there: %v", err)
			}
		})
	}
}

func valuesOf(chunks []*chunk.Chunk) (rows [][]plan.Value) {
	for _, c := range chunks {
		for i := range c.Rows {
			rows = append(rows, c.Row(i))
		}
	}
	return rows
}

func compareSpool(t *testing.T, s *Spool, want []*chunk.Chunk) {
	t.Helper()
	got, err := chunk.Collect(s.Rows())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(valuesOf(want), valuesOf(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var parts []int
	for _, c := range got {
		parts = append(parts, c.Part)
	}
	if diff := cmp.Diff([]int{0, 3, 3}, parts); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
}

func TestFailingBatchLeavesNoFile(t *testing.T) {
	fs := vfs.NewMemory()
	place := Place{fs, func() string { return "/spool" }}
	budget := chunk.NewBudget(nil, 100, "key")
	failing := func(yield func(*chunk.Chunk, error) bool) {
		_ = yield(spoolChunk(0, 1), nil) && yield(spoolChunk(0, 3), nil) && yield(nil, errors.New("poison"))
	}
	_, err := Keep(place, spoolSchema, failing, budget)
	if err == nil || !strings.Contains(err.Error(), "poison") {
		t.Errorf("got %v, want the error of the rows", err)
	}
	left, err := fs.List("/")
	if err != nil || len(left) != 0 || budget.Used() != 0 {
		t.Errorf("left behind: %v, %d bytes, %v", left, budget.Used(), err)
	}
}
