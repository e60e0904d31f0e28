package ui

import (
	"bytes"
	"encoding/json"
	"flag"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/ui"
)

var check = flag.String("check", "", "run only the browser's checks that match `REGEXP`")

// result is what pages.mjs says of a check.
type result struct {
	Name            string
	Problems, Notes []string
}

func TestPagesInABrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	testkit.Need(t, err == nil, "chromium, to look at pages with")
	node, err := exec.LookPath("node")
	testkit.Need(t, err == nil, "node, to drive chromium with")
	_, err = os.Stat(filepath.Join("node_modules", "playwright-core"))
	testkit.Need(t, err == nil, "playwright-core and axe-core (`make browser` installs them)")

	order, err := json.Marshal(map[string]any{
		"executable": chromium, "only": *check, "urls": map[string]string{
			"none": address(t, nil), "one": address(t, stories()[1:2]), "all": address(t, stories()),
			"many": address(t, many(500)), "hostile": address(t, hostile(t)), "changing": address(t, changing()),
			"leaving": leaving(t), "locked": locked(t),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, "pages.mjs", string(order))
	var out, problems bytes.Buffer
	run.Stdout, run.Stderr = &out, &problems
	if err := run.Run(); err != nil {
		t.Errorf("%v\n%s", err, problems.String())
	}
	for line := range strings.Lines(out.String()) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		t.Run(r.Name, func(t *testing.T) {
			for _, note := range r.Notes {
				t.Log(note)
			}
			for _, problem := range r.Problems {
				t.Error(problem)
			}
		})
	}
}

// address serves stories on a port of their own.
func address(t *testing.T, list []story) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t.Context(), t, l, list)
	return "http://" + l.Addr().String()
}

// locked is a server that asks for the token, t0ken.
func locked(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pages := ui.New(monitor.NewRegistry(), ui.Options{
		Version: "test", Remote: "sc://localhost:15002", Now: time.Now, Token: "t0ken",
		SameUser: func(*http.Request) bool { return false },
	})
	server := &http.Server{Handler: pages}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

// leaving is a server that goes away six seconds after somebody came, for six seconds.
func leaving(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serveOn(t.Context(), t, l, stories()[:3])
	s.away = 6 * time.Second
	return "http://" + l.Addr().String()
}

// hostile is a query for each line of the list of names that somebody might not have
// thought of, in every place that takes a text.
func hostile(t *testing.T) []story {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.ModuleRoot(t), "internal", "ui", "testdata", "hostile_names.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := append(strings.Split(strings.TrimSpace(string(data)), "\n"), "<script>globalThis.pwned=1</script>",
		`<img src=x onerror="globalThis.pwned=1">`, "{{constructor.constructor('globalThis.pwned=1')()}}")
	var out []story
	for _, name := range names {
		s := stories()[0]
		s.name, s.application, s.engine, s.tags = name, name, name, []string{name}
		out = append(out, s)
	}
	out[0].end, out[1].end = failing(names[0]), failing(names[len(names)-2])
	return out
}

// changing is a fleet of which one query fails soon.
func changing() []story {
	list := stories()[1:2]
	s := stories()[8]
	s.name, s.failsIn = "soon_to_fail", 4*time.Second
	return append(list, s)
}
