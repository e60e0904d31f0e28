package session

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

func TestFrameOfABatchIsReadByItsID(t *testing.T) {
	e := openEngine(t, vfs.NewMemory())
	s := e.NewSession("u", "s")
	schema := plan.Struct(plan.Col("id", plan.Long))
	rows, err := e.spooled(schema, chunk.One(chunk.FromRows(schema, []plan.Value{int64(1)},
		[]plan.Value{int64(2)})), nil)
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
