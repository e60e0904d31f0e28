package pyworker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collected is what functions print.
type collected struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *collected) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *collected) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func newTestHost(t *testing.T, out *collected) *Host {
	t.Helper()
	o := Options{Mode: Trusted, Python: testkit.Python(t)}
	if out != nil {
		o.Output = out
	}
	h := NewHost(o)
	t.Cleanup(h.Close)
	return h
}

// pickled is Python expressions as PySpark pickles them, made together because
// an interpreter takes a second to start.
func pickled(t *testing.T, setup string, exprs ...string) [][]byte {
	t.Helper()
	program := "import sys, struct\nfrom pyspark import cloudpickle\n" +
		"from pyspark.sql.types import *\n" + setup + "\n"
	for _, e := range exprs {
		program += fmt.Sprintf("b = cloudpickle.dumps(%s)\n", e) +
			"sys.stdout.buffer.write(struct.pack('>I', len(b)) + b)\n"
	}
	cmd := exec.Command(testkit.Python(t), "-c", program)
	cmd.Stderr = os.Stderr
	all, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for range exprs {
		n := int(all[0])<<24 | int(all[1])<<16 | int(all[2])<<8 | int(all[3])
		out = append(out, all[4:4+n])
		all = all[4+n:]
	}
	return out
}

func oneField(name string, of plan.Type) plan.Type {
	return plan.Struct(plan.Field{Name: name, Type: of, Nullable: true})
}

func longs(values ...plan.Value) *chunk.Chunk {
	rows := make([][]plan.Value, len(values))
	for i, v := range values {
		rows[i] = []plan.Value{v}
	}
	return chunk.FromRows(oneField("x", plan.Long), rows...)
}

func scalarCall(pickle []byte, eval int, returns plan.Type) *Call {
	return &Call{
		Shape: Scalar, Functions: []Function{{Pickle: pickle, Eval: eval, Args: []Argument{{Column: 0}}}},
		Input: oneField("x", plan.Long), Output: oneField("_0", returns),
		Settings: Settings{Zone: "UTC", Safe: true, ByName: true},
	}
}

// results runs a call over groups and gives its rows.
func results(ctx context.Context, h *Host, c *Call, groups ...[]*chunk.Chunk) ([][]plan.Value, error) {
	var rows [][]plan.Value
	take := func(c *chunk.Chunk) bool {
		for i := range c.Rows {
			rows = append(rows, c.Row(i))
		}
		return true
	}
	x, err := h.Begin(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		more, err := x.Put(take, g...)
		if err != nil {
			return rows, err
		}
		if !more {
			break
		}
	}
	return rows, x.End(take)
}

func TestFunctionsOfRows(t *testing.T) {
	h := newTestHost(t, nil)
	setup := "import pandas as pd\ndef boom(x):\n    raise ValueError('boom %s' % x)"
	p := pickled(t, setup,
		"(lambda x: None if x is None else x + 100, LongType())",
		"(lambda x: '<%s>' % x, StringType())",
		"(lambda s: s.fillna(0) * 2, DoubleType())",
		"(lambda x: 'text', LongType())",
		"(boom, LongType())")
	cases := []struct {
		name   string
		pickle []byte
		eval   int
		of     plan.Type
		want   [][]plan.Value
	}{
		{"arrow", p[0], EvalArrowBatched, plan.Long, [][]plan.Value{{int64(101)}, {nil}}},
		{"pickle", p[0], EvalBatched, plan.Long, [][]plan.Value{{int64(101)}, {nil}}},
		{"text", p[1], EvalArrowBatched, plan.String, [][]plan.Value{{"<1>"}, {"<None>"}}},
		{"pandas", p[2], EvalScalarPandas, plan.Double, [][]plan.Value{{2.0}, {0.0}}},
		{"no number without Arrow", p[3], EvalBatched, plan.Long, [][]plan.Value{{nil}, {nil}}},
	}
	for _, c := range cases {
		call := scalarCall(c.pickle, c.eval, c.of)
		got, err := results(t.Context(), h, call, []*chunk.Chunk{longs(int64(1), nil)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	call := scalarCall(p[4], EvalArrowBatched, plan.Long)
	_, err := results(t.Context(), h, call, []*chunk.Chunk{longs(int64(7))})
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "PYTHON_EXCEPTION" || e.Class != plan.ClassPython {
		t.Fatalf("got %v, want PYTHON_EXCEPTION", err)
	}
	want := "Traceback (most recent call last):\n  File \"<string>\", line 6, in boom\nValueError: boom 7\n"
	if diff := cmp.Diff(want, e.Args["traceback"]); diff != "" {
		t.Errorf("traceback (-want +got):\n%s", diff)
	}
	if len(h.live) != 1 {
		t.Errorf("%d workers for calls one after the other, want 1", len(h.live))
	}
}

func TestFunctionsSeeResultsOfThoseBefore(t *testing.T) {
	h := newTestHost(t, nil)
	p := pickled(t, "", "(lambda x: x + 1, LongType())", "(lambda a, b=0: a * 10 + b, LongType())")
	call := scalarCall(p[0], EvalArrowBatched, plan.Long)
	call.Functions = append(call.Functions, Function{
		Pickle: p[1], Eval: EvalArrowBatched, Args: []Argument{{Column: 1}, {Column: 0, Name: "b"}},
	})
	call.Output = plan.Struct(plan.Field{Name: "_0", Type: plan.Long, Nullable: true},
		plan.Field{Name: "_1", Type: plan.Long, Nullable: true})
	got, err := results(t.Context(), h, call, []*chunk.Chunk{longs(int64(1))}, []*chunk.Chunk{longs(int64(2))})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]plan.Value{{int64(2), int64(21)}, {int64(3), int64(32)}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMapOverPartition(t *testing.T) {
	h := newTestHost(t, nil)
	setup := `
import pandas as pd
def total(frames):
    yield pd.DataFrame({"x": [sum(int(f["x"].sum()) for f in frames)]})
def endless(frames):
    while True:
        yield pd.DataFrame({"x": [1]})
def wrong(frames):
    for f in frames:
        yield f.rename(columns={"x": "y"})`
	p := pickled(t, setup, "(total, None)", "(endless, None)", "(wrong, None)")
	call := scalarCall(p[0], EvalMapPandas, plan.Long)
	call.Shape, call.Output = MapPandas, oneField("x", plan.Long)
	groups := [][]*chunk.Chunk{{longs(int64(1), int64(2))}, {longs(int64(3))}}
	got, err := results(t.Context(), h, call, groups...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]plan.Value{{int64(6)}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = results(t.Context(), h, call)
	if diff := cmp.Diff([][]plan.Value{{int64(0)}}, got); diff != "" || err != nil {
		t.Errorf("an empty partition: %v (-want +got):\n%s", err, diff)
	}
	call.Functions = []Function{{Pickle: p[2]}}
	_, err = results(t.Context(), h, call, []*chunk.Chunk{longs(int64(1))})
	if err == nil || !strings.Contains(err.Error(), "RESULT_COLUMN_NAMES_MISMATCH") {
		t.Errorf("got %v, want RESULT_COLUMN_NAMES_MISMATCH", err)
	}

	call.Functions = []Function{{Pickle: p[1]}}
	x, err := h.Begin(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	more, err := x.Put(func(*chunk.Chunk) bool { taken++; return taken < 3 }, longs(int64(1)))
	if more || err != nil || taken != 3 {
		t.Errorf("an endless function: more %v, err %v, %d results", more, err, taken)
	}
}

func TestForeachTellsEpochAndPartition(t *testing.T) {
	out := &collected{}
	h := newTestHost(t, out)
	setup := `
from pyspark import TaskContext
def writer(part, rows):
    epoch = TaskContext.get().getLocalProperty("streaming.sql.batchId")
    print("open", part)
    for r in rows:
        print("part", part, "epoch", epoch, r)
    return iter([])`
	call := &Call{
		Shape: Foreach, Functions: []Function{{Pickle: pickled(t, setup, "(writer, None, None, None)")[0]}},
		Input: oneField("x", plan.Long), Partitions: []int{3},
		Properties: map[string]string{"streaming.sql.batchId": "7"},
	}
	if _, err := results(t.Context(), h, call, []*chunk.Chunk{longs(int64(1), nil)}); err != nil {
		t.Fatal(err)
	}
	call.Partitions = []int{1, 4} // without rows
	if _, err := results(t.Context(), h, call); err != nil {
		t.Fatal(err)
	}
	want := "open 3\npart 3 epoch 7 Row(x=1)\npart 3 epoch 7 Row(x=None)\nopen 1\nopen 4\n"
	for range 100 {
		if out.String() == want {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("got %q, want %q", out.String(), want)
}

func TestVersionOfPythonMustAgree(t *testing.T) {
	h := newTestHost(t, nil)
	call := scalarCall(pickled(t, "", "(lambda x: x, LongType())")[0], EvalArrowBatched, plan.Long)
	call.Version = "2.7"
	_, err := results(t.Context(), h, call, []*chunk.Chunk{longs(int64(1))})
	if err == nil || !strings.Contains(err.Error(), "PYTHON_VERSION_MISMATCH") {
		t.Errorf("got %v, want PYTHON_VERSION_MISMATCH", err)
	}
}

func TestCancelledCallEnds(t *testing.T) {
	h := newTestHost(t, nil)
	setup := `
import signal, time
def stuck(x):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(3600)`
	call := scalarCall(pickled(t, setup, "(stuck, LongType())")[0], EvalArrowBatched, plan.Long)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := results(ctx, h, call, []*chunk.Chunk{longs(int64(1))})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if len(h.live) != 0 {
		t.Errorf("%d workers are left", len(h.live))
	}
}

func TestDyingWorkerIsReported(t *testing.T) {
	h := newTestHost(t, nil)
	setup := "import os, sys\ndef die(x):\n    print('last words', file=sys.stderr)\n    os._exit(9)"
	call := scalarCall(pickled(t, setup, "(die, LongType())")[0], EvalArrowBatched, plan.Long)
	_, err := results(t.Context(), h, call, []*chunk.Chunk{longs(int64(1))})
	if err == nil || !strings.Contains(err.Error(), "crashed") || !strings.Contains(err.Error(), "last words") {
		t.Errorf("got %v, want the end of the worker and its last words", err)
	}
}

// TestWorkerEndsWithItsPipe stands for a weir that was killed: nothing is left of
// it but closed descriptors.
func TestWorkerEndsWithItsPipe(t *testing.T) {
	h := newTestHost(t, nil)
	setup := "import time\ndef stuck(x):\n    time.sleep(3600)"
	call := scalarCall(pickled(t, setup, "(stuck, LongType())")[0], EvalArrowBatched, plan.Long)
	x, err := h.Begin(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Put(func(*chunk.Chunk) bool { return true }, longs(int64(1))); err != nil {
		t.Fatal(err)
	}
	x.worker.alive.Close()
	select {
	case <-x.worker.ended:
	case <-time.After(10 * time.Second):
		t.Error("the worker outlived the pipe")
	}
	x.Kill()
}

func TestPythonWithoutPySparkIsExplained(t *testing.T) {
	h := NewHost(Options{Mode: Trusted, Python: "/nonexistent/python"})
	defer h.Close()
	_, err := h.Begin(t.Context(), scalarCall(nil, EvalArrowBatched, plan.Long))
	if err == nil || !strings.Contains(err.Error(), "PYSPARK_PYTHON") {
		t.Errorf("got %v, want a hint at PYSPARK_PYTHON", err)
	}
}

func TestModes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Mode
		ok   bool
	}{
		{"", Trusted, true}, {"trusted", Trusted, true}, {"off", Off, true},
		{"sandboxed", "", false}, {"x", "", false},
	} {
		if got, err := ParseMode(c.text); got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
	}
	var none *Host
	if none.Allowed("f") == nil || NewHost(Options{Mode: Off}).Allowed("f") == nil {
		t.Error("functions are allowed where Python is off")
	}
}

func TestEnvironmentLeadsToNoOtherServer(t *testing.T) {
	got := environment([]string{"SPARK_REMOTE=sc://elsewhere", "HOME=/h"}, Launch{Files: "/f"})
	if diff := cmp.Diff([]string{"HOME=/h", "PYTHONUNBUFFERED=1", "WEIR_FILES=/f"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProcessGroupDiesWithTheWorker(t *testing.T) {
	out := &collected{}
	h := newTestHost(t, out)
	setup := "import subprocess, sys\ndef fork(x):\n    p = subprocess.Popen(['sleep', '3600'])\n" +
		"    print(p.pid)\n    return 1"
	call := scalarCall(pickled(t, setup, "(fork, LongType())")[0], EvalArrowBatched, plan.Long)
	if _, err := results(t.Context(), h, call, []*chunk.Chunk{longs(int64(1))}); err != nil {
		t.Fatal(err)
	}
	h.Close()
	var child int
	if _, err := fmt.Sscan(out.String(), &child); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	for range 100 {
		if syscall.Kill(child, 0) != nil || zombie(child) {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("process %d outlived its worker", child)
}

// zombie tells a process that has ended and was not waited for.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
