package pyworker

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

func TestOutputIsCutIntoLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	cases := []struct {
		name   string
		pieces []string
		want   []Line
	}{
		{"nothing", []string{"", ""}, nil},
		{"lines in pieces", []string{"one\ntw", "o\nth", "ree"},
			[]Line{{Text: "one"}, {Text: "two"}, {Text: "three"}}},
		{"empty lines", []string{"\n\na\n"}, []Line{{}, {}, {Text: "a"}}},
		{"ends of Windows", []string{"a\r\nb\r", "\nc"}, []Line{{Text: "a"}, {Text: "b"}, {Text: "c"}}},
		{"a progress bar", []string{" 10%\r", " 50%\r", "100%\n", "next"}, []Line{{Text: "100%"}, {Text: "next"}}},
		{"a progress bar that stands", []string{"\r10%\r20%\r"}, []Line{{Text: "20%"}}},
		{"bytes that are no text", []string{"\xff\x00\n"}, []Line{{Text: "\xff\x00"}}},
		{"a line as long as may be", []string{long, "\n"}, []Line{{Text: long}}},
		{"a longer one", []string{long[1:], "yz", "more\n", "b"},
			[]Line{{Text: long[1:] + "y", Cut: 5}, {Text: "b"}}},
		{"a long one that is written over", []string{long, "z\rshort\n"}, []Line{{Text: "short"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, linesOf(c.pieces...)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func linesOf(pieces ...string) []Line {
	var l lines
	var got []Line
	emit := func(text []byte, cut int) { got = append(got, Line{Text: string(text), Cut: cut}) }
	for _, p := range pieces {
		l.add([]byte(p), emit)
	}
	l.flush(emit)
	return got
}

// FuzzLines holds the cutting to what splitting the whole at once gives, wherever the
// output comes apart.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb\rc\n\xff\x1b[31m"), 3)
	f.Fuzz(func(t *testing.T, all []byte, at int) {
		if len(all) > maxLine {
			return // lines that are cut have their cases
		}
		at = min(max(0, at), len(all))
		var want []Line
		rows := strings.Split(string(all), "\n")
		for i, row := range rows {
			row = strings.TrimRight(row, "\r")
			row = row[strings.LastIndex(row, "\r")+1:]
			if i < len(rows)-1 || row != "" {
				want = append(want, Line{Text: row})
			}
		}
		if diff := cmp.Diff(want, linesOf(string(all[:at]), string(all[at:]))); diff != "" {
			t.Errorf("%q cut at %d, want -, got +:\n%s", all, at, diff)
		}
	})
}

// heard are the lines that a call printed.
type heard struct {
	mu  sync.Mutex
	got []Line
}

func (h *heard) hear(l Line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, l)
}

func (h *heard) lines(fromError bool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, l := range h.got {
		if l.Error == fromError {
			out = append(out, l.Text)
		}
	}
	return out
}

const printing = `
import os, sys, subprocess
def says(x):
    print("row", x)
    print("trouble", x, file=sys.stderr)
    sys.stdout.write("no end")
    return x
def child(x):
    subprocess.run(["sh", "-c", "echo from below; echo and wrong >&2"])
    return x
def closes(x):
    sys.stdout.close()
    return x
def floods(x):
    for i in range(200000): os.write(1, b"%07d\n" % i)
    return x
def long(x):
    os.write(1, b"\xff\x1b[31m<b>" + b"x" * 10000000)
    return x
def dies(x):
    os.write(2, b"the last words")
    os._exit(3)
`

func TestWhatAFunctionPrintsIsItsCalls(t *testing.T) {
	h := newTestHost(t, nil)
	pickles := pickled(t, printing, "(says, LongType())", "(child, LongType())", "(closes, LongType())",
		"(floods, LongType())", "(long, LongType())", "(dies, LongType())")
	run := func(pickle []byte) (*heard, error) {
		of := &heard{}
		c := scalarCall(pickle, EvalBatched, plan.Long)
		c.Launch.Hear = of.hear
		_, err := results(t.Context(), h, c, []*chunk.Chunk{longs(int64(1))})
		return of, err
	}
	of, err := run(pickles[0])
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "standard output", of.lines(false), []string{"row 1", "no end"})
	wantLines(t, "standard error", of.lines(true), []string{"trouble 1"})

	// The same worker, for another call: what it printed before is not there again.
	if of, err = run(pickles[1]); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "a child's standard output", of.lines(false), []string{"from below"})
	wantLines(t, "a child's standard error", of.lines(true), []string{"and wrong"})

	if of, err = run(pickles[3]); err != nil {
		t.Fatal(err)
	}
	if got := of.lines(false); len(got) != 200000 || got[0] != "0000000" || got[199999] != "0199999" {
		t.Errorf("%d lines of a flood", len(got))
	}
	if of, err = run(pickles[4]); err != nil {
		t.Fatal(err)
	}
	if len(of.got) != 1 || of.got[0].Cut != 10000000+9-maxLine ||
		!strings.HasPrefix(of.got[0].Text, "\xff\x1b[31m<b>x") {
		t.Errorf("a line of ten megabytes: %d lines, %d bytes cut", len(of.got), of.got[0].Cut)
	}
	if _, err = run(pickles[2]); err != nil {
		t.Errorf("a function that closes its output: %v", err)
	}

	of, err = run(pickles[5])
	var e *plan.Error
	if !errors.As(err, &e) || !strings.Contains(e.Msg, "the last words") || strings.Contains(e.Msg, "xxxx") {
		t.Errorf("a dying worker: %v", err)
	}
	wantLines(t, "last words", of.lines(true), []string{"the last words"})
}

func wantLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestAThreadThatFloodsHoldsUpNobody: what goes on printing after its call has ended
// neither keeps the call from ending nor counts to the next one.
func TestAThreadThatFloodsHoldsUpNobody(t *testing.T) {
	console := &bytes.Buffer{}
	var mu sync.Mutex
	o := Options{Mode: Trusted, Python: newTestHost(t, nil).options.Python, Output: locked{&mu, console}}
	h := NewHost(o)
	t.Cleanup(h.Close)
	pickle := pickled(t, `
import os, threading
def floods():
    while True: os.write(1, b"noise\n")
def starts(x):
    threading.Thread(target=floods, daemon=True).start()
    return x
`, "(starts, LongType())")[0]
	for i := range 3 {
		of := &heard{}
		c := scalarCall(pickle, EvalBatched, plan.Long)
		c.Launch.Hear = of.hear
		if _, err := results(t.Context(), h, c, []*chunk.Chunk{longs(int64(1))}); err != nil {
			t.Fatal(i, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(console.String(), "noise\n") {
		t.Error(fmt.Sprint("the console heard nothing: ", console.Len()))
	}
}

// locked is a writer that the test reads too.
type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 1<<20 {
		return len(b), nil
	}
	return l.b.Write(b)
}
