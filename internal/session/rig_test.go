package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/vfs"
)

// openEngine opens an engine on a file system of its own, in the zone that the
// recordings were made in, and closes it with the test.
func openEngine(t testing.TB, fsys vfs.FS) *Engine {
	t.Helper()
	e, err := Open(testOptions(fsys))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil && !errors.Is(err, vfs.ErrCrashed) {
			t.Error(err)
		}
	})
	return e
}

func testOptions(fsys vfs.FS) Options {
	return Options{
		Dir: "/data", WorkDir: "/here", Files: fsys, Parallelism: 2,
		Confs: map[string]string{settings.ZoneKey: "UTC", settings.PartitionsKey: "2"},
	}
}

// run executes a statement and reads its rows.
func run(t testing.TB, s *Session, text string) (*Result, []*chunk.Chunk, error) {
	t.Helper()
	n, err := s.SQL(t.Context(), text, nil, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	return execute(t, s, n)
}

func execute(t testing.TB, s *Session, n plan.Node) (*Result, []*chunk.Chunk, error) {
	t.Helper()
	r, err := s.Query(t.Context(), n)
	if err != nil {
		return nil, nil, err
	}
	chunks, err := chunk.Collect(r.Rows)
	return r, chunks, err
}

// must executes statements that have to succeed and gives the rows of the last.
func must(t testing.TB, s *Session, texts ...string) []string {
	t.Helper()
	var rows []string
	for _, text := range texts {
		_, chunks, err := run(t, s, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rows = rendered(chunks)
	}
	return rows
}

// mistake is the error of a statement that has to fail as users' mistakes do.
func mistake(t testing.TB, s *Session, text string) *plan.Error {
	t.Helper()
	_, _, err := run(t, s, text)
	var e *plan.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: got %v, want a mistake", text, err)
	}
	return e
}

// rendered is rows as the recordings write them.
func rendered(chunks []*chunk.Chunk) []string {
	out := []string{}
	for _, c := range chunks {
		for i := range c.Rows {
			cells := make([]any, len(c.Cols))
			for k, v := range c.Cols {
				cells[k] = cell(v.Value(i), v.Type)
			}
			out = append(out, marshal(cells))
		}
	}
	return out
}

func marshal(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// cell is a value as the recordings write it.
func cell(v plan.Value, t plan.Type) any {
	switch x := v.(type) {
	case nil:
		return nil
	case []plan.Value:
		if t.Kind == plan.KindStruct {
			m := map[string]any{}
			for i, f := range t.Fields {
				m[f.Name] = cell(x[i], f.Type)
			}
			return m
		}
		list := []any{}
		for _, e := range x {
			list = append(list, cell(e, *t.Elem))
		}
		return list
	case plan.MapValue:
		list := []any{}
		for i := range x.Keys {
			list = append(list, []any{cell(x.Keys[i], *t.Key), cell(x.Values[i], *t.Elem)})
		}
		return list
	}
	return scalar(v, t)
}

func scalar(v plan.Value, t plan.Type) any {
	switch x := v.(type) {
	case bool, string:
		return x
	case []byte:
		return fmt.Sprintf("%x", x)
	case float32:
		return string(codec.AppendFloat(nil, x))
	case float64:
		return string(codec.AppendDouble(nil, x))
	case chunk.Dec:
		return string(codec.AppendDecimal(nil, x, t.Scale))
	case plan.Interval:
		return map[string]any{"months": x.Months, "days": x.Days, "micros": x.Micros}
	}
	var n int64
	if _, err := fmt.Sscan(fmt.Sprint(v), &n); err != nil {
		return fmt.Sprint(v)
	}
	switch t.Kind {
	case plan.KindDate:
		return time.Unix(n*86400, 0).UTC().Format(time.DateOnly)
	case plan.KindTimestamp:
		return time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.999999-07:00")
	case plan.KindTimestampNTZ:
		return time.UnixMicro(n).UTC().Format("2006-01-02T15:04:05.999999")
	case plan.KindDayTime:
		return map[string]any{"micros": n}
	default:
		return n
	}
}
