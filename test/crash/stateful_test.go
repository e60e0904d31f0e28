package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/testkit"
)

// statefulKinds are the programs of stateful.py and where they write.
var statefulKinds = []struct{ kind, sink string }{
	{"windows", "files"}, {"distinct", "delta"}, {"pairs", "table"},
	{"chained", "files"}, {"totals", "delta"}, {"applied", "delta"}, {"processed", "files"}, {"updates", "foreach"},
}

// statefulSteps are the points of a batch of a stateful query.
var statefulSteps = []struct {
	name   string
	again  bool // in a later batch too
	stored bool // in the files of a sink
}{
	{stream.StepStart, false, false}, {stream.StepMetadataTemp, false, false},
	{stream.StepAdmitted, true, false}, {stream.StepOffsetsTemp, true, false},
	{stream.StepOffsetsSynced, true, false}, {stream.StepOffsetsNamed, true, false},
	{stream.StepOffsetsDone, true, false}, {stream.StepAdvancing, true, false},
	{stream.StepSourceRead, true, false}, {stream.StepOperatorDone, true, false},
	{stream.StepStateSome, true, false}, {stream.StepStateDone, true, false},
	{stream.StepSinkHalf, true, true}, {stream.StepSinkWhole, true, true}, {stream.StepSinkLogged, true, true},
	{stream.StepSinkDone, true, false}, {stream.StepCommitted, true, false}, {stream.StepPurging, true, false},
	{stream.StepProgress, true, false}, {stream.StepStopping, false, false},
}

// beforehand is how many files of a side there are when a query starts.
const beforehand = 6

// functionSteps are where a function of foreachBatch kills the server: S18.
var functionSteps = []string{"before", "between", "after"}

// statefulRound is one crash of one stateful query.
type statefulRound struct {
	kind string
	at   testkit.CrashPoint // a step of the engine, or
	die  string             // a step of the function
	big  bool               // with so much state that it is snapshotted
}

func (r statefulRound) name() string {
	if r.die != "" {
		return r.kind + " S18 " + r.die
	}
	return r.kind + " " + r.at.Step + " " + fmt.Sprint(r.at.N)
}

// statefulRounds are all of them, or with few a choice in which every step, every
// program and every sink occurs.
func statefulRounds(few bool) []statefulRound {
	rounds := []statefulRound{
		{kind: "distinct", at: testkit.CrashPoint{Step: stream.StepSnapshotHalf, N: 1}, big: true},
	}
	for _, die := range functionSteps {
		rounds = append(rounds, statefulRound{kind: "updates", die: die})
	}
	for s, step := range statefulSteps {
		for k, q := range statefulKinds {
			if few && k != s%(len(statefulKinds)-1) || step.stored && q.sink == "foreach" {
				continue
			}
			rounds = append(rounds, statefulRound{kind: q.kind, at: testkit.CrashPoint{Step: step.name, N: 1}})
			if step.again && !few {
				rounds = append(rounds, statefulRound{kind: q.kind, at: testkit.CrashPoint{Step: step.name, N: 2}})
			}
		}
	}
	return rounds
}

// TestStatefulQueriesAfterKillAtEveryStep crashes a server at a step of a stateful
// query, and lets another one go on. What was written must be what the batch query
// over the input gives, and the state that of a query that nobody disturbed.
func TestStatefulQueriesAfterKillAtEveryStep(t *testing.T) {
	c := startClient(t)
	calm := &undisturbed{client: c, states: map[string]func() (kept, error){}}
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, r := range statefulRounds(!slow()) {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(r.name(), func(t *testing.T) { r.play(t, c, calm) })
		})
	}
	wg.Wait()
}

func slow() bool { return os.Getenv("WEIR_SLOW") != "" }

func (r statefulRound) play(t *testing.T, c *client, calm *undisturbed) {
	w := newStateful(t, c, r.kind)
	w.big, w.die = r.big, r.die
	w.feed(t, beforehand)
	var env []string
	if r.die == "" {
		env = append(env, r.at.Env())
	}
	first := w.serve(t, env...)
	if err := w.runOnce(first); err == nil {
		t.Fatalf("the query came to its end")
	} else if r.die == "" && !first.Crashed(crashWait) {
		t.Fatalf("the query failed before the step: %v", err)
	}
	if r.die != "" && !first.Crashed(crashWait) {
		t.Fatal("the function did not kill the server")
	}
	w.check(t, false)
	state, err := w.finish(t)
	if err != nil {
		t.Fatalf("after the crash: %v", err)
	}
	repeats := w.check(t, true)
	if r.die != "" && repeats < 1 && r.die != "before" {
		t.Error("the batch that was cut off did not come again")
	}
	want, err := calm.state(t, r.kind, r.big)
	if err != nil {
		t.Fatal(err)
	}
	if state.Rows == 0 || state != want {
		t.Errorf("the state has %d rows:\n%s\nundisturbed %d:\n%s", state.Rows, state.First, want.Rows, want.First)
	}
}

// kept is what the operators of a query keep.
type kept struct {
	Rows   int    `json:"rows"`
	Digest string `json:"digest"` // of all rows
	First  string `json:"first"`  // rows
}

// undisturbed knows the states of queries that ran without a crash.
type undisturbed struct {
	client *client
	mu     sync.Mutex
	states map[string]func() (kept, error)
}

func (u *undisturbed) state(t *testing.T, kind string, big bool) (kept, error) {
	u.mu.Lock()
	key := fmt.Sprint(kind, big)
	if u.states[key] == nil {
		u.states[key] = sync.OnceValues(func() (kept, error) {
			w := newStateful(t, u.client, kind)
			w.big = big
			w.feed(t, beforehand)
			return w.finish(t)
		})
	}
	ask := u.states[key]
	u.mu.Unlock()
	return ask()
}

// statefulWork is what a program of stateful.py reads and writes.
type statefulWork struct {
	work
	kind string
	die  string
	big  bool // with long keys
}

func newStateful(t *testing.T, c *client, kind string) *statefulWork {
	t.Helper()
	w := &statefulWork{work: *newWork(t, c), kind: kind}
	w.makeSides(t)
	return w
}

func (w *statefulWork) makeSides(t *testing.T) {
	t.Helper()
	for _, side := range []string{"left", "right"} {
		if err := os.MkdirAll(filepath.Join(w.inputs, side), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// rowsPerSide is the size of an input file of a side.
const rowsPerSide = 40

// span is how many seconds further each file begins; it reaches back for half as
// many, so that windows and keys meet rows of more than one batch.
const span = 10

// feed writes the next files of both sides.
func (w *statefulWork) feed(t *testing.T, files int) {
	t.Helper()
	for range files {
		for side, name := range []string{"left", "right"} {
			var text strings.Builder
			for i := range rowsPerSide {
				at := max(0, w.files*span-span/2+(i*7+side)%(span*3/2))
				key := fmt.Sprintf("k%d", (i/15+i+side)%3)
				if w.big {
					key = longKey(w.files, i)
				}
				writeRow(&text, at, key, i)
			}
			w.put(t, name, text.String())
		}
		w.files++
	}
}

// longKey is a text that does not compress well, so that the changes of the state
// soon weigh enough for a snapshot.
func longKey(file, row int) string {
	random := rand.New(rand.NewPCG(uint64(file), uint64(row)))
	text := make([]byte, 20_000)
	for i := range text {
		text[i] = 'A' + byte(random.Uint32N(26))
	}
	return string(text)
}

// closing writes one row to each side, so late that everything before is over.
func (w *statefulWork) closing(t *testing.T) {
	t.Helper()
	for _, name := range []string{"left", "right"} {
		var text strings.Builder
		writeRow(&text, 50_000, "end of "+name, 0)
		w.put(t, name, text.String())
	}
	w.files++
}

func writeRow(b *strings.Builder, second int, key string, value int) {
	at := time.Date(2024, 1, 1, 0, 0, second, 0, time.UTC).Format("2006-01-02T15:04:05")
	fmt.Fprintf(b, "{\"ts\":%q,\"k\":%q,\"v\":%d}\n", at, key, value)
}

// put writes a file under its name at once, younger than those before it.
func (w *statefulWork) put(t *testing.T, side, text string) {
	t.Helper()
	writeAtOnce(t, filepath.Join(w.inputs, side), w.files, text)
}

func (w *statefulWork) arguments(s *testkit.Server) arguments {
	return arguments{
		Remote: s.Remote(), Kind: w.kind, Inputs: w.inputs, Out: w.out, Checkpoint: w.checkpoint(), Die: w.die,
	}
}

func (w *statefulWork) checkpoint() string { return w.out + "-checkpoint" }

func (w *statefulWork) start(s *testkit.Server) (number int, err error) {
	return call[int](w.client, "start", w.arguments(s))
}

// runOnce starts the query, lets it do its input, and stops it.
func (w *statefulWork) runOnce(s *testkit.Server) error {
	number, err := w.start(s)
	if err != nil {
		return err
	}
	_, err = call[string](w.client, "drain", arguments{Query: number})
	return err
}

// finish runs the query over the rest of its input on a new server: first two
// files, after which it returns the state, then those that close everything.
func (w *statefulWork) finish(t *testing.T) (kept, error) {
	t.Helper()
	s := w.serve(t)
	number, err := w.start(s)
	if err != nil {
		return kept{}, err
	}
	if _, err := call[string](w.client, "process", arguments{Query: number}); err != nil {
		return kept{}, err
	}
	w.feed(t, 2)
	if _, err := call[string](w.client, "process", arguments{Query: number}); err != nil {
		return kept{}, err
	}
	state, err := call[kept](w.client, "read_state",
		arguments{Remote: s.Remote(), Kind: w.kind, Checkpoint: w.checkpoint()})
	if err != nil {
		return kept{}, err
	}
	w.closing(t)
	if _, err := call[string](w.client, "drain", arguments{Query: number}); err != nil {
		return kept{}, err
	}
	s.Stop(t)
	return state, nil
}

// check compares what was written with the answer over the input. It returns how
// many batches came more than once to a function.
func (w *statefulWork) check(t *testing.T, end bool) (repeats int) {
	t.Helper()
	type content struct {
		Rows    int      `json:"rows"`
		Repeats int      `json:"repeats"`
		Wrong   []string `json:"wrong"`
	}
	got, err := call[content](w.client, "read_answer", arguments{
		Kind: w.kind, Inputs: w.inputs, Out: w.out, Warehouse: filepath.Join(w.dir, "warehouse"), End: end,
	})
	if err != nil {
		t.Fatalf("read the output: %v", err)
	}
	if len(got.Wrong) > 0 || end && got.Rows == 0 {
		t.Errorf("at the end %v: the output of %d rows: %s", end, got.Rows, strings.Join(got.Wrong, "; "))
	}
	return got.Repeats
}
