package monitor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"
	"unicode/utf8"
)

func texts(lines []OutputLine) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Text)
	}
	return out
}

func TestOutputKeepsTheNewestLines(t *testing.T) {
	o := NewOutput()
	for i := range OutputLines + 3 {
		o.Hear(OutputLine{Text: fmt.Sprint(i)})
	}
	lines, count, dropped := o.Since(0)
	if len(lines) != OutputLines || count != OutputLines+3 || dropped != 3 {
		t.Fatalf("%d lines of %d, %d dropped", len(lines), count, dropped)
	}
	if lines[0].Text != "3" || lines[OutputLines-1].Text != fmt.Sprint(OutputLines+2) {
		t.Errorf("from %q to %q", lines[0].Text, lines[OutputLines-1].Text)
	}
	fresh, _, _ := o.Since(count - 2)
	if got := texts(fresh); len(got) != 2 || got[0] != fmt.Sprint(OutputLines+1) {
		t.Errorf("the last two: %q", got)
	}
	if fresh, _, _ = o.Since(count); len(fresh) != 0 {
		t.Errorf("nothing new: %q", texts(fresh))
	}
}

func TestOutputIsBoundedInBytes(t *testing.T) {
	o := NewOutput()
	for range 5 {
		o.Hear(OutputLine{Text: "small"})
	}
	big := strings.Repeat("x", OutputBytes/3-4)
	for range 7 {
		o.Hear(OutputLine{Text: big})
	}
	o.Hear(OutputLine{Text: "last"})
	lines, count, dropped := o.Since(0)
	total := 0
	for _, l := range lines {
		total += len(l.Text)
	}
	if total > OutputBytes || len(lines) != 3+1 || count != 13 || dropped != 9 || lines[3].Text != "last" {
		t.Errorf("%d bytes in %d lines of %d, %d dropped", total, len(lines), count, dropped)
	}
	o.Hear(OutputLine{Text: strings.Repeat("y", OutputBytes+1)})
	if lines, _, _ := o.Since(0); len(lines) != 1 {
		t.Errorf("a line larger than all: %d lines", len(lines))
	}
}

// TestOutputIsTheEndOfAllLines holds the ring to a list that grows.
func TestOutputIsTheEndOfAllLines(t *testing.T) {
	holds := func(sizes []uint16) bool {
		o, all := NewOutput(), []string{}
		for round := range 40 {
			for i, size := range sizes {
				text := fmt.Sprintf("%d %d %s", round, i, strings.Repeat("x", int(size)%8000))
				all = append(all, text)
				o.Hear(OutputLine{Text: text})
			}
		}
		lines, count, dropped := o.Since(0)
		return count == int64(len(all)) && slices.Equal(texts(lines), all[dropped:])
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 50}); err != nil {
		t.Error(err)
	}
}

func TestLinesKnowTheirBatch(t *testing.T) {
	o := NewOutput()
	q := NewRegistry().Start(Run{ID: "a", RunID: "b", StartedAt: start, Output: o}, NewBus())
	o.Hear(OutputLine{Text: "while it starts", At: start, Error: true, Cut: 7})
	q.Begin(41, start)
	o.Hear(OutputLine{Text: "in a batch"})
	lines, _, _ := q.Output().Since(0)
	want := []OutputLine{
		{At: start, Batch: -1, Error: true, Text: "while it starts", Cut: 7}, {Batch: 41, Text: "in a batch"},
	}
	if len(lines) != 2 || lines[0] != want[0] || lines[1] != want[1] {
		t.Errorf("got %v, want %v", lines, want)
	}
	without := NewRegistry().Start(Run{ID: "a", RunID: "b", StartedAt: start}, NewBus())
	without.Begin(1, start)
	if lines, count, dropped := without.Output().Since(0); lines != nil || count != 0 || dropped != 0 {
		t.Error("a query without functions has output")
	}
}

func TestOutputIsLegible(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"plain", "a\tb <i>&amp;", "a\tb <i>&amp;"},
		{"other alphabets", "кириллица 🙂 é", "кириллица 🙂 é"},
		{"bytes that are no UTF-8", "a\xffb\xe2\x82", "a\uFFFDb\uFFFD\uFFFD"},
		{"colours", "\x1b[1;31mred\x1b[0m!", "red!"},
		{"moves of the cursor", "\x1b[2J\x1b[?25lx\x1b[10;2Hy", "xy"},
		{"a title, ended by a bell", "\x1b]0;title\ax", "x"},
		{"a link", "\x1b]8;;http://h/\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"a title without an end", "x\x1b]0;title", "x"},
		{"a sequence without an end", "x\x1b[12", "x"},
		{"a sequence that breaks off", "x\x1b[1\x00y", "x\uFFFDy"},
		{"two bytes", "\x1bcx\x1b", "x"},
		{"other controls", "a\x00b\x07c\x7fd\u0085e", "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe"},
	}
	for _, c := range cases {
		if got := legible(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnyBytesAreMadeLegible(t *testing.T) {
	holds := func(b []byte) bool {
		text := legible(string(b))
		return utf8.ValidString(text) && !strings.ContainsAny(text, "\x1b\x00\r\n\a") && legible(text) == text
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
}

func FuzzLegible(f *testing.F) {
	f.Add("\x1b]8;;\x1b\\\x1b[31m\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := legible(text)
		if !utf8.ValidString(got) || strings.ContainsRune(got, escape) || legible(got) != got {
			t.Errorf("%q became %q", text, got)
		}
	})
}

var start = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
