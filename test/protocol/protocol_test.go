package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

// play runs a program of this folder on a server and decodes its lines.
func play[T any](t *testing.T, s *testkit.Server, program string, args ...string) []T {
	t.Helper()
	cmd := exec.Command(testkit.Python(t), append([]string{program}, args...)...)
	cmd.Env = append(os.Environ(), "SPARK_REMOTE="+s.Remote(), "WORKDIR="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, tail(stderr.String()))
	}
	var said []T
	lines := bufio.NewScanner(&stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line T
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v in %q", program, err, lines.Text())
		}
		said = append(said, line)
	}
	return said
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// noPanic fails the test when the server says that it caught one.
func noPanic(t *testing.T, s *testkit.Server) {
	t.Helper()
	for line := range strings.SplitSeq(s.Stderr(), "\n") {
		if strings.Contains(line, "panic") {
			t.Errorf("in the server's log: %s", line[:min(len(line), 600)])
		}
	}
}

// TestListenersGoWithoutHanging removes a listener 100 times right after the
// last event and 20 times in a flood of events, and there the bare stream 100
// times. Of 20 sessions that listen, 19 at least end without a warning: the
// client closes its connection beside the thread that reads its events.
func TestListenersGoWithoutHanging(t *testing.T) {
	s := testkit.Start(t, testkit.ServerOptions{})
	type removals struct {
		Returned, Seen, Flooded int
		Wrong                   []string
	}
	removed := play[removals](t, s, "removal.py")[0]
	if removed.Returned != 100 || removed.Seen != 100 || removed.Flooded != 20 {
		t.Errorf("of 100 removals and terminated events and 20 removals in a flood came: %+v", removed)
	}
	if len(removed.Wrong) > 1 {
		t.Errorf("ends of sessions that went wrong: %q", removed.Wrong)
	}
	type flood struct{ Returned, Late, Complete, Events int }
	got := play[flood](t, s, "flood.py")[0]
	if got.Returned != 100 || got.Complete != 100 || got.Events < 500 {
		t.Errorf("of 100 streams in a flood: %+v", got)
	}
	if got.Late > 1 { // the one that was under way
		t.Errorf("%d events after the answer to the removal", got.Late)
	}
	noPanic(t, s)
}

// TestResultsSurviveCutStreams lets the server cut its streams after a second
// and after 64 KiB.
func TestResultsSurviveCutStreams(t *testing.T) {
	s := testkit.Start(t, testkit.ServerOptions{Args: []string{
		"--conf", "spark.connect.execute.reattachable.senderMaxStreamDuration=1s",
		"--conf", "spark.connect.execute.reattachable.senderMaxStreamSize=64k",
	}})
	type result struct {
		What     string
		Attached int
		Exact    bool
		Ended    bool
		Events   []any
	}
	least := map[string]int{"long": 2, "large": 20, "listener": 4, "stopped": 0}
	for _, r := range play[result](t, s, "cut.py") {
		if n, known := least[r.What]; !known || r.Attached < n {
			t.Errorf("%s: attached again %d times, want at least %d", r.What, r.Attached, n)
		}
		delete(least, r.What)
		switch r.What {
		case "long", "large":
			if !r.Exact {
				t.Errorf("%s: the result is wrong", r.What)
			}
		case "listener":
			if r.Ended || !wholeRun(r.Events) {
				t.Errorf("events %v, ended by itself: %v", r.Events, r.Ended)
			}
		}
	}
	if len(least) != 0 {
		t.Errorf("not said: %v", least)
	}
	noPanic(t, s)
}

// wholeRun reports whether events are started, batches 0, 1, …, terminated.
func wholeRun(events []any) bool {
	n := len(events)
	if n < 5 || events[0] != "started" || events[n-1] != "terminated" {
		return false
	}
	for i, e := range events[1 : n-1] {
		if e != float64(i) {
			return false
		}
	}
	return true
}

type answer struct {
	What, Code, Reason, Condition, Message string
	Answers                                int
}

// classless are the ends of messages that could not even be decoded, which has
// to happen before anything can know about classes.
var classless = []string{"failed to unmarshal the received message", "unmarshalling"}

// TestMalformedRequestsGetAClass sends about a thousand wrong requests.
func TestMalformedRequestsGetAClass(t *testing.T) {
	outside := t.TempDir()
	s := testkit.Start(t, testkit.ServerOptions{Dir: filepath.Join(outside, "a", "b", "data")})
	answers := play[answer](t, s, "malformed.py")
	alive := 0
	for _, a := range answers {
		undecodable := slices.ContainsFunc(classless, func(s string) bool { return strings.Contains(a.Message, s) })
		switch {
		case strings.HasSuffix(a.What, ": alive"):
			alive++
			if a.Code != "OK" {
				t.Errorf("%s: %+v", a.What, a)
			}
		case a.Code == "OK":
		case a.Code == "UNAVAILABLE" || a.Code == "DEADLINE_EXCEEDED" || a.Condition == "INTERNAL_ERROR":
			t.Errorf("%s: %+v", a.What, a)
		case a.Reason == "" && !undecodable:
			t.Errorf("%s: no class: %+v", a.What, a)
		}
	}
	if len(answers) < 800 || alive != 7 {
		t.Errorf("%d answers, alive %d times", len(answers), alive)
	}
	noPanic(t, s)
	nothingOutside(t, outside, s.Dir)
	s.Stop(t)
}

// TestHostileNamesAreOnlyNames uses bad names for everything that has one.
func TestHostileNamesAreOnlyNames(t *testing.T) {
	outside := t.TempDir()
	s := testkit.Start(t, testkit.ServerOptions{Dir: filepath.Join(outside, "a", "b", "data")})
	type use struct {
		Use, Name, Condition, Error string
		Answer                      bool
	}
	worked := map[string]int{}
	for _, u := range play[use](t, s, "names.py", filepath.Join("testdata", "hostile_names.txt")) {
		switch {
		case u.Answer:
			worked[u.Use]++
		case u.Error == "":
			t.Errorf("%s %q: came back changed", u.Use, u.Name)
		case u.Condition == "INTERNAL_ERROR", strings.Contains(u.Error, "has a bug"):
			t.Errorf("%s %q: %s", u.Use, u.Name, u.Error)
		}
	}
	// Backquoted names are names, whatever is in them.
	for _, kind := range []string{"table", "schema", "view", "column", "query", "memory", "conf"} {
		if worked[kind] < 20 {
			t.Errorf("%s: only %d names work", kind, worked[kind])
		}
	}
	noPanic(t, s)
	nothingOutside(t, outside, s.Dir)
	s.Stop(t)
}

// nothingOutside fails the test when there are files beside the data directory.
func nothingOutside(t *testing.T, root, dir string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == dir {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			t.Errorf("%s lies outside the data directory", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
