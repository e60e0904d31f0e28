package weir

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// floors lists every room from the ground up. A room may import only rooms of lower floors, so this list
// is the dependency diagram. A room that does not exist yet keeps its place free.
var floors = []string{
	"sparkpb check peer",
	"vfs plan",
	"chunk",
	"monitor codec testkit",
	". sql function state queue delta pyworker",
	"eval rowkey",
	"analyze exec connector catalog history",
	"stream",
	"session",
	"sparkconnect ui",
	"embed cmd",
}

// only names the rooms that may import a package, or one below it, at all. The longest entry decides.
var only = map[string]string{
	module + "/internal/sparkpb": ". sparkconnect",
	module + "/internal/testkit": "", // tests, which are not looked at here
	"google.golang.org/grpc":     ". sparkpb sparkconnect",
	"github.com/twmb/franz-go":   "connector",
	"os":                         "vfs peer pyworker testkit cmd",
	"os/exec":                    "monitor pyworker testkit cmd",
	"syscall":                    "vfs peer pyworker testkit cmd state",
	"golang.org/x/sys":           "vfs peer pyworker testkit cmd",

	// The kernels are ours; Arrow is layout, IPC and Parquet.
	"github.com/apache/arrow-go/v18/arrow/compute": "",
}

// atMost narrows the floors for rooms that everybody's tests lean on.
var atMost = map[string]string{
	"testkit": "vfs plan",
}

func TestImportsPointDown(t *testing.T) {
	for _, problem := range misdirected(repository(t)) {
		t.Error(problem)
	}
}

func TestEveryRoomHasOneFloor(t *testing.T) {
	seen := map[string]bool{}
	for _, room := range strings.Fields(strings.Join(floors, " ")) {
		if seen[room] {
			t.Errorf("room %q stands on two floors", room)
		}
		seen[room] = true
	}
}

func TestWrongImportsAreFound(t *testing.T) {
	cases := []struct {
		name, file, imports string
		want                string // part of the only problem; empty when there is none
	}{
		{"down", "internal/stream/a.go", module + "/internal/exec", ""},
		{"own subfolder", "internal/delta/a.go", module + "/internal/delta/log", ""},
		{"up", "internal/plan/a.go", module + "/internal/sql", "sql (floor 4)"},
		{"sideways", "internal/sql/a.go", module + "/internal/delta", "delta (floor 4)"},
		{"root below engine", "weir.go", module + "/internal/stream", "stream (floor 7)"},
		{"engine imports root", "internal/exec/a.go", module, ""},
		{"room without floor", "internal/misplaced/a.go", "fmt", `room "misplaced" has no floor`},
		{"target without floor", "cmd/weir/a.go", module + "/internal/misplaced", `"misplaced" has no floor`},
		{"bindings in the engine", "internal/plan/a.go", module + "/internal/sparkpb", "which only . sparkconnect"},
		{"grpc below", "internal/session/a.go", "google.golang.org/grpc/codes", "only . sparkpb sparkconnect"},
		{"files by os", "internal/stream/a.go", "os", "which only vfs"},
		{"signals", "cmd/weir/a.go", "os/signal", ""},
		{"processes in vfs", "internal/vfs/a.go", "os/exec", "only monitor"},
		{"processes in monitor", "internal/monitor/a.go", "os/exec", ""},
		{"testkit in a product file", "internal/stream/a.go", module + "/internal/testkit", "no room may"},
		{"testkit in a test", "internal/vfs/a_test.go", module + "/internal/testkit", ""},
		{"testkit looks at columns", "internal/testkit/a.go", module + "/internal/chunk", "at most vfs plan"},
		{"arrow kernels", "internal/exec/a.go", "github.com/apache/arrow-go/v18/arrow/compute", "no room may"},
		{"arrow arrays", "internal/exec/a.go", "github.com/apache/arrow-go/v18/arrow/array", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text := fmt.Sprintf("package a\n\nimport %q\n", c.imports)
			sources, err := readSources(fstest.MapFS{c.file: {Data: []byte(text)}})
			if err != nil {
				t.Fatal(err)
			}
			wantOne(t, misdirected(sources), c.want)
		})
	}
}

// wantOne fails unless exactly one problem was found that contains part, or none when part is empty.
func wantOne(t *testing.T, problems []string, part string) {
	t.Helper()
	switch {
	case part == "" && len(problems) > 0:
		t.Errorf("got %q, want no problem", problems)
	case part != "" && (len(problems) != 1 || !strings.Contains(problems[0], part)):
		t.Errorf("got %q, want one problem with %q", problems, part)
	}
}

// misdirected checks the product files against floors, only and atMost.
func misdirected(sources []source) []string {
	var problems []string
	floor := map[string]int{}
	for i, names := range floors {
		for _, room := range strings.Fields(names) {
			floor[room] = i
		}
	}
	for _, s := range sources {
		if s.test {
			continue
		}
		if _, ok := floor[s.room]; !ok {
			problems = append(problems, fmt.Sprintf("%s: room %q has no floor; add it to floors", s.path, s.room))
			continue
		}
		for target := range s.imports() {
			if why := refuse(s.room, target, floor); why != "" {
				problems = append(problems, s.path+": "+why)
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// refuse tells why a room may not import the package; empty when it may.
func refuse(from, target string, floor map[string]int) string {
	to, ours := "", target == module || strings.HasPrefix(target, module+"/")
	if ours {
		to = roomOf(strings.TrimPrefix(strings.TrimPrefix(target, module), "/"))
		if to == "" {
			to = "."
		}
	}
	if ours && to == from {
		return ""
	}
	if rooms, ok := allowedRooms(target); ok && !slices.Contains(strings.Fields(rooms), from) {
		if rooms == "" {
			return fmt.Sprintf("%s imports %s, which no room may", from, target)
		}
		return fmt.Sprintf("%s imports %s, which only %s may", from, target, rooms)
	}
	if !ours {
		return ""
	}
	below, ok := floor[to]
	if !ok {
		return fmt.Sprintf("imports %s, but room %q has no floor", target, to)
	}
	if below >= floor[from] {
		return fmt.Sprintf("%s (floor %d) imports %s (floor %d)", from, floor[from], to, below)
	}
	if few, ok := atMost[from]; ok && !slices.Contains(strings.Fields(few), to) {
		return fmt.Sprintf("%s imports %s; it may import at most %s", from, to, few)
	}
	return ""
}

// allowedRooms finds the longest entry of only that covers the package.
func allowedRooms(target string) (rooms string, found bool) {
	longest := ""
	for pkg := range only {
		covers := target == pkg || strings.HasPrefix(target, pkg+"/")
		if covers && len(pkg) > len(longest) {
			longest = pkg
		}
	}
	return only[longest], longest != ""
}
