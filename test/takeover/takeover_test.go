//go:build takeover

package takeover

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/testkit"
)

// filesPerLeg is more than an interval of compaction (10), so that each engine
// compacts what the other one logged.
const filesPerLeg = 12

// leg is one run of the query on one engine, to the end of its input or to its
// death.
type leg struct {
	name string
	run  func(t *testing.T, w *work)
	dies bool
}

var (
	weir  = leg{name: "weir", run: func(t *testing.T, w *work) { w.onWeir(t) }}
	spark = leg{name: "Spark", run: func(t *testing.T, w *work) { w.onSpark(t) }}

	killedSpark = leg{name: "Spark (killed)", run: func(t *testing.T, w *work) { w.killSpark(t) }, dies: true}
)

// killedWeir crashes in the fifth batch of a run.
func killedWeir(step string) leg {
	at := testkit.CrashPoint{Step: step, N: 5}
	return leg{
		name: fmt.Sprintf("weir (killed at %s)", step), dies: true,
		run: func(t *testing.T, w *work) { w.crashWeir(t, at) },
	}
}

func TestAnotherEngineTakesOver(t *testing.T) {
	_, err := exec.LookPath("java")
	testkit.Need(t, err == nil, "Java 17, for Apache Spark")
	want := undisturbed(t, 3)
	for _, legs := range [][]leg{
		{weir, spark, weir},
		{spark, weir, spark},
		{killedWeir(stream.StepAdmitted), spark, weir},
		{killedWeir(stream.StepOffsetsTemp), spark, weir},
		{killedWeir(stream.StepOffsetsDone), spark, weir},
		{killedWeir(stream.StepSinkDone), spark, weir},
		{killedWeir(stream.StepCommitted), spark, weir},
		{killedSpark, weir, spark},
		{killedSpark, killedWeir(stream.StepOffsetsDone), spark},
	} {
		name := ""
		for _, l := range legs {
			name += " → " + l.name
		}
		t.Run(name[len(" → "):], func(t *testing.T) { handOver(t, legs, want) })
	}
}

// undisturbed is the output of Spark alone over the input of so many legs.
func undisturbed(t *testing.T, legs int) []string {
	w := newWork(t)
	for range legs {
		w.feed(t)
	}
	w.onSpark(t)
	w.checkLogs(t, spark.name)
	return w.rows(t)
}

func handOver(t *testing.T, legs []leg, want []string) {
	w := newWork(t)
	id := ""
	for _, l := range legs {
		w.feed(t)
		l.run(t, w)
		if !l.dies {
			w.checkLogs(t, l.name)
		}
		got := w.queryID(t)
		if id != "" && got != id {
			t.Errorf("the query's id was %s and is %s after %s", id, got, l.name)
		}
		id = got
	}
	checkRows(t, w.rows(t), want)
}

// checkRows compares sorted rows.
func checkRows(t *testing.T, got, want []string) {
	t.Helper()
	count := map[string]int{}
	for _, row := range want {
		count[row]++
	}
	for _, row := range got {
		count[row]--
	}
	missing, surplus, example := 0, 0, ""
	for row, n := range count {
		missing, surplus = missing+max(0, n), surplus+max(0, -n)
		if n != 0 {
			example = row
		}
	}
	if missing+surplus > 0 || len(want) == 0 {
		t.Errorf("of %d rows of Spark alone the output lacks %d, and has %d too many, such as %s",
			len(want), missing, surplus, example)
	}
}

// work is the query's input, output and checkpoint, which outlive engines.
type work struct {
	dir, inputs, out, checkpoint string
	files                        int // input files so far
}

func newWork(t *testing.T) *work {
	root := t.TempDir()
	w := &work{
		dir: filepath.Join(root, "data"), inputs: filepath.Join(root, "in put"),
		out: filepath.Join(root, "out"), checkpoint: filepath.Join(root, "checkpoint"),
	}
	if err := os.Mkdir(w.inputs, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}
