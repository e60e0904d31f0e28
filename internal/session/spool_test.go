package session

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
	e := openEngine(t, vfs.NewMemory())
	chunks := []*chunk.Chunk{spoolChunk(0, 1), spoolChunk(3, 3), chunk.Empty(spoolSchema), spoolChunk(3, 5)}
	for _, test := range []struct {
		name   string
		limit  int64
		onDisk bool
	}{{"memory", 0, false}, {"disk", 100, true}} {
		t.Run(test.name, func(t *testing.T) {
			budget := chunk.NewBudget(nil, test.limit, "key")
			s, err := e.spooled(spoolSchema, chunk.One(chunks...), budget)
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
			if err := s.remove(); err != nil {
				t.Error(err)
			}
			if budget.Used() != 0 {
				t.Errorf("%d bytes are still held", budget.Used())
			}
			if _, err := e.fs.Stat(file); file != "" && !vfs.NotFound(err) {
				t.Errorf("the file is still there: %v", err)
			}
		})
	}
}

func compareSpool(t *testing.T, s *spool, want []*chunk.Chunk) {
	t.Helper()
	got, err := chunk.Collect(s.rows())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rendered(want), rendered(got)); diff != "" {
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
	e := openEngine(t, vfs.NewMemory())
	budget := chunk.NewBudget(nil, 100, "key")
	failing := func(yield func(*chunk.Chunk, error) bool) {
		_ = yield(spoolChunk(0, 1), nil) && yield(spoolChunk(0, 3), nil) && yield(nil, errors.New("poison"))
	}
	_, err := e.spooled(spoolSchema, failing, budget)
	if err == nil || !strings.Contains(err.Error(), "poison") {
		t.Errorf("got %v, want the error of the rows", err)
	}
	left, err := e.fs.List(e.dir + "/" + tempName)
	if err != nil || len(left) != 0 || budget.Used() != 0 {
		t.Errorf("left behind: %v, %d bytes, %v", left, budget.Used(), err)
	}
}

func TestFrameOfABatchIsReadByItsID(t *testing.T) {
	e := openEngine(t, vfs.NewMemory())
	s := e.NewSession("u", "s")
	rows, err := e.spooled(spoolSchema, chunk.One(spoolChunk(0, 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := s.putSpool(rows, 7)
	n := plan.NewProject(&plan.CachedRemote{ID: frame}, &plan.UnresolvedAttribute{Parts: []string{"id"}})
	for range 2 {
		_, chunks, err := execute(t, s, n)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"[1]", "[2]"}, rendered(chunks)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	err = s.CreateView(t.Context(), &plan.CreateView{Name: []string{"v"}, Query: n, Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	s.dropSpool(frame)
	if e := mistakeOf(t, s, n); e.Condition != "CONNECT_INVALID_PLAN.DATAFRAME_NOT_FOUND" {
		t.Errorf("a frame that is over: %v", e)
	}
	if e := mistake(t, s, "SELECT * FROM v"); e.Condition != "CONNECT_INVALID_PLAN.DATAFRAME_NOT_FOUND" {
		t.Errorf("a view of a frame that is over: %v", e)
	}
}

func mistakeOf(t *testing.T, s *Session, n plan.Node) *plan.Error {
	t.Helper()
	_, _, err := execute(t, s, n)
	var e *plan.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a mistake", err)
	}
	return e
}
