package stream

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/plan"
)

type offsets = []connector.Offset

func entry(of ...connector.Offset) *offsetEntry {
	e := &offsetEntry{watermarkMs: 7, timestampMs: 1000, confs: map[string]string{"k": "v"}}
	for _, o := range of {
		e.sources = append(e.sources, sourceOffset{offset: o})
	}
	return e
}

// What was found on disk in, where to begin out.
func TestResume(t *testing.T) {
	confs := map[string]string{"k": "v"}
	one, two := entry("1"), entry("2")
	cases := []struct {
		name  string
		found found
		names []string
		want  resumption
		err   string
	}{
		{name: "a new query", found: found{newest: -1, commits: -1},
			want: resumption{start: offsets{""}, end: offsets{""}}},
		{name: "a crash in the first batch", found: found{newest: 0, offsets: one, commits: -1},
			want: resumption{replay: true, start: offsets{""}, end: offsets{"1"},
				watermarkMs: 7, timestampMs: 1000, confs: confs}},
		{name: "all done", found: found{newest: 0, offsets: one, commits: 0, commit: commitEntry{9}},
			want: resumption{batch: 1, start: offsets{"1"}, end: offsets{"1"},
				watermarkMs: 9, beforeMs: 7, timestampMs: 1000, confs: confs}},
		{name: "the commit has the older watermark", found: found{newest: 0, offsets: one, commits: 0},
			want: resumption{batch: 1, start: offsets{"1"}, end: offsets{"1"},
				watermarkMs: 7, beforeMs: 7, timestampMs: 1000, confs: confs}},
		{name: "a crash before the commit", found: found{newest: 8, offsets: two, before: one, commits: 7},
			want: resumption{batch: 8, replay: true, start: offsets{"1"}, end: offsets{"2"},
				watermarkMs: 7, beforeMs: 7, timestampMs: 1000, confs: confs}},
		{name: "all commits are gone", found: found{newest: 2, offsets: two, before: one, commits: -1},
			want: resumption{batch: 2, replay: true, start: offsets{"1"}, end: offsets{"2"},
				watermarkMs: 7, beforeMs: 7, timestampMs: 1000, confs: confs,
				warn: "commits end at batch -1, but offsets/2 proves that batch 1 was done"}},
		{name: "a source that had nothing", found: found{newest: 0, offsets: entry("1", ""), commits: 0},
			names: []string{"", ""},
			want: resumption{batch: 1, start: offsets{"1", ""}, end: offsets{"1", ""},
				watermarkMs: 7, beforeMs: 7, timestampMs: 1000, confs: confs}},
		{name: "offsets are gone", found: found{newest: -1, commits: 0},
			err: "assertion failed: the checkpoint has commits up to batch 0 but no offsets."},
		{name: "state without offsets", found: found{newest: -1, commits: -1, state: true},
			err: "assertion failed: the checkpoint has state but no offsets."},
		{name: "commits ahead of offsets", found: found{newest: 3, offsets: two, before: one, commits: 4},
			err: "assertion failed: commits reach batch 4, but offsets end at batch 3."},
		{name: "a gap below the newest", found: found{newest: 8, offsets: two, commits: 8},
			err: "batch 7 doesn't exist: the checkpoint has offsets/8, but the file before it is gone"},
		{name: "a source was added", found: found{newest: 0, offsets: one, commits: 0}, names: []string{"", ""},
			err: "assertion failed: There are [1] sources in the checkpoint offsets and now there are " +
				"[2] sources requested by the query. Cannot continue."},
		{name: "a source was removed", found: found{newest: 0, offsets: entry("1", "2"), commits: 0},
			err: "assertion failed: There are [2] sources in the checkpoint offsets and now there are " +
				"[1] sources requested by the query. Cannot continue."},
	}
	for _, c := range cases {
		if c.names == nil {
			c.names = []string{""}
		}
		got, err := resume(c.found, c.names)
		if text := errorText(err); text != c.err {
			t.Errorf("%s: error %q, want %q", c.name, text, c.err)
		}
		if diff := cmp.Diff(got, c.want, cmp.AllowUnexported(resumption{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func errorText(err *plan.Error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNamedSourcesFindTheirOffsets(t *testing.T) {
	log := "v2\n{}\norders:{\"a\":1}\nclicks:-"
	e, err := parseOffsets("offsets/0", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	got, refused := e.arrange([]string{"clicks", "orders"})
	if refused != nil {
		t.Fatal(refused)
	}
	if diff := cmp.Diff(got, offsets{"", `{"a":1}`}); diff != "" {
		t.Error(diff)
	}
	if _, refused := e.arrange([]string{"clicks", "views"}); refused == nil {
		t.Error("a source of another name took an offset")
	}
	e, err = parseOffsets("offsets/0", []byte("v2\n{}\n0:5\n1:6"))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ = e.arrange([]string{"", ""}); !cmp.Equal(got, offsets{"5", "6"}) {
		t.Errorf("unnamed sources: %v", got)
	}
}

// Spark fails over each of these, with whatever exception it runs into.
func TestOffsetsWithoutMetadataAreNotTrusted(t *testing.T) {
	for _, log := range []string{
		"", "v1", "v1\n", "v1\n\n{\"logOffset\":2}", "v1\nnull\n{\"logOffset\":0}", "v1\n{\"batchWatermarkMs\":0", "x",
		"v9\n{}\n0",
	} {
		if _, err := parseOffsets("/ck/offsets/0", []byte(log)); err == nil ||
			!strings.Contains(err.Error(), "/ck/offsets/0") {
			t.Errorf("%q: got %v, want an error that names the file", log, err)
		}
	}
}

func TestAdmit(t *testing.T) {
	cases := []struct {
		name          string
		start, latest offsets
		another       bool
		want          admission
	}{
		{name: "nothing ever", start: offsets{""}, latest: offsets{""},
			want: admission{end: offsets{""}, lost: -1}},
		{name: "nothing new", start: offsets{"5"}, latest: offsets{"5"},
			want: admission{end: offsets{"5"}, lost: -1}},
		{name: "the first rows", start: offsets{""}, latest: offsets{"5"},
			want: admission{end: offsets{"5"}, newData: true, run: true, lost: -1}},
		{name: "one of two sources", start: offsets{"5", ""}, latest: offsets{"6", ""},
			want: admission{end: offsets{"6", ""}, newData: true, run: true, lost: -1}},
		{name: "a batch without data", start: offsets{"5"}, latest: offsets{"5"}, another: true,
			want: admission{end: offsets{"5"}, run: true, lost: -1}},
		{name: "a source that lost all", start: offsets{"1", "5"}, latest: offsets{"2", ""},
			want: admission{end: offsets{"2", ""}, newData: true, run: true, lost: 1}},
	}
	for _, c := range cases {
		got := admit(c.start, c.latest, c.another)
		if diff := cmp.Diff(got, c.want, cmp.AllowUnexported(admission{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func seenUpTo(ms int64) exec.EventTimes {
	return exec.EventTimes{Count: 1, Min: ms, Max: ms, Mean: float64(ms)}
}

func TestWatermarkAdvances(t *testing.T) {
	none := exec.EventTimes{}
	type step struct {
		seen []exec.EventTimes
		want int64
	}
	cases := []struct {
		name   string
		policy string
		from   int64
		delays []int64
		steps  []step
	}{
		{name: "it trails by the delay", policy: "min", delays: []int64{10}, steps: []step{
			{[]exec.EventTimes{seenUpTo(100)}, 90}, {[]exec.EventTimes{seenUpTo(130)}, 120}}},
		{name: "it never moves back", policy: "min", delays: []int64{10}, steps: []step{
			{[]exec.EventTimes{seenUpTo(100)}, 90}, {[]exec.EventTimes{seenUpTo(50)}, 90},
			{[]exec.EventTimes{none}, 90}}},
		{name: "it is never below 1970", policy: "min", delays: []int64{10}, steps: []step{
			{[]exec.EventTimes{seenUpTo(-5000)}, 0}, {[]exec.EventTimes{seenUpTo(5)}, 0}}},
		{name: "min waits for every input", policy: "min", delays: []int64{0, 20}, steps: []step{
			{[]exec.EventTimes{seenUpTo(100), none}, 0}, {[]exec.EventTimes{none, seenUpTo(90)}, 70},
			{[]exec.EventTimes{none, seenUpTo(300)}, 100}, {[]exec.EventTimes{seenUpTo(400), none}, 280}}},
		{name: "max follows the first", policy: "max", delays: []int64{0, 20}, steps: []step{
			{[]exec.EventTimes{seenUpTo(100), none}, 100}, {[]exec.EventTimes{none, seenUpTo(90)}, 100},
			{[]exec.EventTimes{none, seenUpTo(300)}, 280}}},
		{name: "a restart keeps it and forgets the nodes", policy: "min", from: 60, delays: []int64{0, 0},
			steps: []step{{[]exec.EventTimes{seenUpTo(100), none}, 60},
				{[]exec.EventTimes{none, seenUpTo(80)}, 80}}},
		{name: "a plan without event time", policy: "min", from: 60, steps: []step{{nil, 60}}},
	}
	for _, c := range cases {
		w := newWatermark(c.policy, len(c.delays), c.from)
		for i, s := range c.steps {
			if w = w.advance(s.seen, c.delays); w.ms != s.want {
				t.Errorf("%s: step %d: %d, want %d", c.name, i, w.ms, s.want)
			}
		}
	}
}

func TestTriggerGrid(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	cases := []struct {
		name    string
		every   time.Duration
		started int64
		want    int64
	}{
		{"the next multiple", 5 * time.Second, 12_345, 15_000},
		{"from a multiple to the next", 5 * time.Second, 15_000, 20_000},
		{"just before one", 5 * time.Second, 14_999, 15_000},
		{"milliseconds", 100 * time.Millisecond, 12_345, 12_400},
		{"back to back", 0, 12_345, 12_345},
		{"too short to have a grid", time.Microsecond, 12_345, 12_345},
	}
	for _, c := range cases {
		if got := (Trigger{Every: c.every}).due(at(c.started)); !got.Equal(at(c.want)) {
			t.Errorf("%s: %d, want %d", c.name, got.UnixMilli(), c.want)
		}
	}
}

func TestTriggerEnds(t *testing.T) {
	cases := []struct {
		kind   plan.TriggerKind
		pinned bool
		o      outcome
		want   bool
	}{
		{plan.ProcessingTime, false, outcome{}, false},
		{plan.ProcessingTime, false, outcome{ran: true}, false},
		{plan.Once, false, outcome{}, true},
		{plan.Once, false, outcome{ran: true}, true},
		{plan.Once, false, outcome{ran: true, replay: true}, true},
		{plan.AvailableNow, true, outcome{ran: true}, false},
		{plan.AvailableNow, true, outcome{ran: true, replay: true}, false},
		{plan.AvailableNow, true, outcome{}, true},
		{plan.AvailableNow, false, outcome{ran: true}, true},
		{plan.AvailableNow, false, outcome{}, true},
	}
	for _, c := range cases {
		if got := (Trigger{Kind: c.kind}).finished(c.o, c.pinned); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestPinnedSettings(t *testing.T) {
	session := map[string]string{partitionsKey: "7", policyKey: "max"}
	fresh := pin(session, nil)
	if fresh[partitionsKey] != "7" || fresh[policyKey] != "max" {
		t.Errorf("a new query takes the session's: %v", fresh)
	}
	if got := fresh["spark.sql.streaming.join.stateFormatVersion"]; got != "2" {
		t.Errorf("else the default: %q", got)
	}
	logged := pin(session, map[string]string{partitionsKey: "4"})
	if logged[partitionsKey] != "4" {
		t.Errorf("the log wins: %v", logged)
	}
	if logged[policyKey] != "min" || logged["spark.sql.streaming.join.stateFormatVersion"] != "1" {
		t.Errorf("a key that the log's Spark did not know has its old meaning: %v", logged)
	}
}

func TestTimeSettings(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": time.Hour, "250": 250 * time.Millisecond, "10ms": 10 * time.Millisecond, "10s": 10 * time.Second,
		"2 min": 2 * time.Minute, "1m": time.Minute, "1h": time.Hour,
		"2d": 48 * time.Hour, "5US": 5 * time.Microsecond,
		"-1": time.Hour, "x": time.Hour, "9999999999d": time.Hour, "0": 0,
	} {
		if got := Millis(text, time.Hour); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
