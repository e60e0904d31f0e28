package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/testkit"
)

// ticksPerSecond is high enough for several files in a batch and low enough for
// Python to look at every value.
const ticksPerSecond = 1000

// rowsPerFile is the size of an input file of the lines.
const rowsPerFile = 50

// work is what a query reads and writes. It outlives the server.
type work struct {
	client *client
	dir    string // the server's data directory
	inputs string
	out    string
	files  int // input files written so far
}

func newWork(t *testing.T, c *client) *work {
	t.Helper()
	root := t.TempDir()
	w := &work{
		client: c, dir: filepath.Join(root, "data"),
		inputs: filepath.Join(root, "in"), out: filepath.Join(root, "out"),
	}
	if err := os.MkdirAll(w.inputs, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

// serve starts a server that keeps few batches, so that it purges early.
func (w *work) serve(t *testing.T, env ...string) *testkit.Server {
	t.Helper()
	return testkit.Start(t, testkit.ServerOptions{
		Dir: w.dir, Env: env, Args: []string{"--conf", "spark.sql.streaming.minBatchesToRetain=2"},
	})
}

// feed writes input files, each under its name at once.
func (w *work) feed(t *testing.T, files int) {
	t.Helper()
	for range files {
		var text strings.Builder
		for i := range rowsPerFile {
			fmt.Fprintf(&text, "{\"id\":%d,\"word\":\"w%d\"}\n", w.files*rowsPerFile+i, i%7)
		}
		writeAtOnce(t, w.inputs, w.files, text.String())
		w.files++
	}
}

// writeAtOnce writes a numbered file, younger than those before it, which no reader
// sees in part.
func writeAtOnce(t *testing.T, dir string, number int, text string) {
	t.Helper()
	name := fmt.Sprintf("%06d.json", number)
	hidden := filepath.Join(dir, "."+name)
	if err := os.WriteFile(hidden, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000+int64(number), 0)
	if err := os.Chtimes(hidden, at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// query is one of the two programs.
type query struct {
	kind    string
	prepare func(t *testing.T, w *work)           // before each start
	finish  func(c *client, number int) error     // to its end, then stop
	check   func(t *testing.T, w *work, end bool) // end: everything has to be there
}

func ticks() query {
	return query{
		kind:    "ticks",
		prepare: func(*testing.T, *work) {},
		finish: func(c *client, number int) error {
			_, err := call[string](c, "finish", arguments{Query: number, Batches: 4})
			return err
		},
		check: checkTable,
	}
}

func lines() query {
	return query{
		kind:    "lines",
		prepare: func(t *testing.T, w *work) { w.feed(t, 6) },
		finish: func(c *client, number int) error {
			_, err := call[string](c, "drain", arguments{Query: number})
			return err
		},
		check: checkFiles,
	}
}

// start starts the query on a server.
func (q query) start(w *work, s *testkit.Server) (number int, err error) {
	return call[int](w.client, "start", arguments{
		Remote: s.Remote(), Kind: q.kind, Rate: ticksPerSecond,
		Inputs: w.inputs, Out: w.out, Checkpoint: w.out + "-checkpoint",
	})
}

// run starts the query and lets it go on to its end.
func (q query) run(w *work, s *testkit.Server) error {
	number, err := q.start(w, s)
	if err != nil {
		return err
	}
	return q.finish(w.client, number)
}

// checkTable reads the Delta table with deltalake and DuckDB: 0…n-1, each once.
func checkTable(t *testing.T, w *work, end bool) {
	t.Helper()
	table := filepath.Join(w.dir, "warehouse", "main", "crash", "ticks")
	if _, err := os.Stat(filepath.Join(table, "_delta_log")); os.IsNotExist(err) && !end {
		return
	}
	type content struct {
		Rows  int  `json:"rows"`
		Exact bool `json:"exact"`
	}
	got, err := call[content](w.client, "read_table", arguments{Table: table})
	if err != nil {
		t.Fatalf("read the table: %v", err)
	}
	if !got.Exact || got.Rows%ticksPerSecond != 0 || end && got.Rows == 0 {
		t.Errorf("the table has %d rows, exactly once: %v", got.Rows, got.Exact)
	}
}

// checkFiles reads the files that _spark_metadata names with pyarrow.
func checkFiles(t *testing.T, w *work, end bool) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(w.out, "_spark_metadata")); os.IsNotExist(err) && !end {
		return
	}
	type content struct {
		Rows    int `json:"rows"`
		Missing int `json:"missing"`
		Surplus int `json:"surplus"`
	}
	got, err := call[content](w.client, "read_files", arguments{Inputs: w.inputs, Out: w.out})
	if err != nil {
		t.Fatalf("read the output: %v", err)
	}
	if got.Surplus != 0 || end && (got.Missing != 0 || got.Rows != w.files*rowsPerFile) {
		t.Errorf("of %d rows the output lacks %d, and has %d too many",
			w.files*rowsPerFile, got.Missing, got.Surplus)
	}
}
