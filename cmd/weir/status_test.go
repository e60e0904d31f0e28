package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const fleetBody = `{"nowAtMs":1700000100000,"queries":[
{"name":"orders","application":"shop","state":"breach","sinceAtMs":1700000000000,"reason":"Read cap is the limit",
 "freshnessP95Ms":133228,"backlogMs":133646,"backlogRows":1610039,"arrivalRowsPerSecond":12060,
 "processedRowsPerSecond":9948,"busyRatio":0.6,"lastCommitAtMs":1700000099000},
{"name":"evil\u001b[2J\nname\tx","application":"","state":"idle","sinceAtMs":null,"reason":"","freshnessP95Ms":null,
 "backlogMs":null,"backlogRows":null,"arrivalRowsPerSecond":null,"processedRowsPerSecond":null,"busyRatio":null,
 "lastCommitAtMs":null}]}`

func TestStatusPrintsOneLineForAQuery(t *testing.T) {
	var out bytes.Buffer
	if err := printFleet(&out, []byte(fleetBody), 0); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || strings.ContainsAny(out.String(), "\x1b\t") {
		t.Fatalf("%q", out.String())
	}
	for _, want := range []string{
		"Too late", "1 min 40 s", "2 min 13 s", "1.6 M", "12.1 k", "60 %", "Read cap is the limit",
	} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("no %q in %s", want, lines[1])
		}
	}
	if strings.Contains(lines[2], " 0") || !strings.Contains(lines[2], "–") {
		t.Errorf("what is not known is shown as %s", lines[2])
	}
	if err := printFleet(&out, []byte("<html>"), 0); err == nil {
		t.Error("a page was taken for a fleet")
	}
}

func TestStatusAsksTheServerOfADirectory(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/fleet" {
			http.Error(w, "what?", http.StatusTeapot)
			return
		}
		w.Write([]byte(fleetBody))
	}))
	defer server.Close()
	dir := t.TempDir()
	a := asked{dir: dir}
	if _, err := a.fleet(t.Context()); err == nil || !strings.Contains(err.Error(), "no server runs on") {
		t.Errorf("without a server: %v", err)
	}
	address := strings.TrimPrefix(server.URL, "http://")
	file := filepath.Join(dir, addressFile)
	if err := os.WriteFile(file, []byte(`{"http":"`+address+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if body, err := a.fleet(t.Context()); err != nil || string(body) != fleetBody {
		t.Errorf("got %.80s, %v", body, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.top(ctx, &bytes.Buffer{}); err != nil {
		t.Errorf("an interrupt of top: %v", err)
	}
}

// A line is never longer than the terminal, and WHY is what the table is read for.
func TestStatusFitsTheTerminal(t *testing.T) {
	body := strings.Replace(fleetBody, "Read cap is the limit", strings.Repeat("Read cap is the limit, ", 20), 1)
	for width, heads := range map[int][]string{
		0:   {"STATE", "APPLICATION", "UNREAD ROWS", "LAST BATCH AGO", "WHY"},
		300: {"STATE", "APPLICATION", "UNREAD ROWS", "LAST BATCH AGO", "WHY"},
		120: {"STATE", "FOR", "QUERY", "BACKLOG", "WHY"},
		80:  {"STATE", "QUERY", "BACKLOG", "WHY"},
		20:  {"STATE", "QUERY"},
	} {
		var out bytes.Buffer
		if err := printFleet(&out, []byte(body), width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for _, head := range heads {
			if !strings.Contains(lines[0], head) {
				t.Errorf("%d characters: no %s in %s", width, head, lines[0])
			}
		}
		for _, line := range lines {
			if n := len([]rune(line)); width > 0 && n > width {
				t.Errorf("%d characters: a line of %d: %s", width, n, line)
			}
		}
		if width >= 80 && !strings.Contains(lines[1], "Read cap is the limit, ") {
			t.Errorf("%d characters: WHY is cut to nothing: %s", width, lines[1])
		}
		if cut := strings.HasSuffix(lines[1], "…"); cut != (width > 0) {
			t.Errorf("%d characters: cut is %v: %s", width, cut, lines[1])
		}
	}
}

// The exit code is that of the page: what needs somebody there does here.
func TestWhatFailsACheck(t *testing.T) {
	for fleet, fails := range map[string]bool{
		`{"queries":[]}`: false, `{"queries":[{"state":"healthy"},{"state":"stopped"}]}`: false,
		`{"queries":[{"state":"catchingUp"},{"state":"idle"},{"state":"starting"}]}`:   false,
		`{"queries":[{"state":"healthy"},{"state":"stopped","notStartedAgain":true}]}`: true,
		`{"queries":[{"state":"failed"}]}`:                                             true, `{"queries":[{"state":"stalled"}]}`: true,
		`{"queries":[{"state":"breach"}]}`: true, `{"queries":[{"state":"behind"}]}`: true,
		`{"queries":[{"state":"lagging"}]}`: true, `{"queries":[{"state":"restarting"}]}`: true,
	} {
		if got := troubled([]byte(fleet)); (got != nil) != fails {
			t.Errorf("%s ends with %v", fleet, got)
		}
	}
}
