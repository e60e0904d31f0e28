package health

import (
	"strings"
	"testing"
)

const pythonFailure = "[PYTHON_EXCEPTION] [session: 1b-2c] [userId: ] Found error inside foreachBatch Python process: " +
	"Traceback (most recent call last):\n" +
	"  File \"/home/ann/jobs/fail.py\", line 7, in boom\n    raise ValueError(\"bad batch\")\n" +
	"  File \"/usr/lib/python3.11/site-packages/pandas/core/frame.py\", line 99, in merge\n    pass\n" +
	"ValueError: bad batch\n SQLSTATE: 38000"

func TestHeadlinesSayWhatFailedInALine(t *testing.T) {
	for failure, want := range map[string]string{
		"":              "",
		"boom":          "boom",
		"boom\nat 7":    "boom",
		pythonFailure:   "ValueError: bad batch (fail.py:7, in boom)",
		"[X] no":        "X: no",
		"[X_Y.Z_W] no.": "X_Y: no",
		"pyspark.errors.exceptions.connect.AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] no column is " +
			"called `nope`. Near are `value`, `timestamp`. SQLSTATE: 42703": "UNRESOLVED_COLUMN: no column is called `nope`",
		"java.lang.IllegalStateException: it is so": "IllegalStateException: it is so",
		"[_LEGACY_ERROR_TEMP_1299] this sink cannot go on from a checkpoint. Delete /a/b/c to start over.": "" +
			"this sink cannot go on from a checkpoint",
		"Failed to read log file file:/data/ck/commits/3. Incomplete log file": "Checkpoint damaged: commits/3",
		"Failed to read log file file:/data/ck/offsets/12. [MALFORMED_LOG_FILE] the log begins with \"x\".": "" +
			"Checkpoint damaged: offsets/12",
		"/data/ck/metadata is damaged: unexpected end of JSON input": "Checkpoint damaged: metadata",
		"open /very/long/way/to/in/part-7.json: permission denied":   "open in/part-7.json: permission denied",
		"Python: Traceback (most recent call last):\n  File \"a\", line 3, in f\n    x\nmy.mod.Bad: so": "" +
			"Bad: so (a:3, in f)",
	} {
		if got := Headline(failure); got != want {
			t.Errorf("%q: %q, want %q", failure, got, want)
		}
	}
	if got := []rune(Headline(strings.Repeat("ж", 10_000))); len(got) != mostHeadline {
		t.Errorf("a long one has %d characters", len(got))
	}
	const one = "UNRESOLVED_COLUMN: no column is called `nope`"
	if Headline(one) != one {
		t.Errorf("a headline of a headline is %q", Headline(one))
	}
}

// failedQuery committed a batch, and failed in the next one or after it.
func failedQuery(c Config, in Phase, batches int, message string) Assessment {
	w := New(c, at(0))
	for id := range batches {
		w.Begin(int64(id), at(float64(id)))
		if id == batches-1 && in < PhaseCount {
			w.Move(at(float64(id)), in, 10, unknown(), "")
			break
		}
		w.Commit(Batch{ID: int64(id), Start: at(float64(id)), End: at(float64(id) + 0.5), Rows: 10,
			Phases: noPhases(), StateBytes: unknown()})
	}
	w.End(at(60), message)
	return w.Assess(at(61))
}

// A run that fails before its first batch says what earlier runs have committed.
func TestAFailureOfAResumedRunKnowsWhatIsCommitted(t *testing.T) {
	w := New(Config{}, at(0))
	w.Resume(41)
	w.End(at(1), "boom")
	a := w.Assess(at(2))
	if a.Sentence != "Failed before the first batch of this run." || len(a.Why) != 1 ||
		!strings.HasPrefix(a.Why[0], "Batch"+nbsp+"41 and those before it are committed") {
		t.Errorf("%s %q", a.Sentence, a.Why)
	}
}

func TestAFailureSaysWhichBatchFailedInWhatAndWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		got            Assessment
		sentence       string
		why, todo, not string
	}{
		"foreachBatch": {failedQuery(Config{Sink: "foreachBatch"}, Compute, 3, pythonFailure),
			"Failed in batch 2, its foreachBatch function.", "may have acted in part", "goes on with batch 2", "lost:"},
		"before foreachBatch": {failedQuery(Config{Sink: "foreachBatch"}, Compute, 3, "boom"),
			"Failed in batch 2, computing.", "same batch id and the same rows", "with the same checkpoint", "lost:"},
		"kafka": {failedQuery(Config{Sink: "kafka"}, SinkWrite, 2, "boom"),
			"Failed in batch 1, writing to the sink.", "may be in the topic", "goes on with batch 1", "lost:"},
		"in one piece": {failedQuery(Config{}, Compute, 2, "boom"),
			"Failed in batch 1, computing.", "Batch 0 and those before it are committed", "goes on with batch 1", "in part"},
		"first batch": {failedQuery(Config{}, QueryPlanning, 1, "boom"),
			"Failed in batch 0, planning.", "", "goes on with batch 0", "committed"},
		"between batches": {failedQuery(Config{}, PhaseCount, 2, "boom"),
			"Failed between batches, after batch 1.", "Batch 1 and those", "same checkpoint", "in part"},
		"before the first": {failedQuery(Config{}, PhaseCount, 0, "boom"),
			"Failed before the first batch of this run.", "", "start the program again", "checkpoint"},
	} {
		text := func(parts ...string) string {
			return strings.ReplaceAll(strings.Join(parts, " "), nbsp, " ")
		}
		why, todo := text(c.got.Why...), text(c.got.Todo...)
		if text(c.got.Sentence) != c.sentence || !strings.Contains(why, c.why) || !strings.Contains(todo, c.todo) ||
			strings.Contains(why+todo, c.not) {
			t.Errorf("%s: %s\nwhy %s\ntodo %s", name, text(c.got.Sentence), why, todo)
		}
	}
}

// Sentences that are put together end once, and say nothing twice.
func TestSentencesEndOnce(t *testing.T) {
	for _, c := range [][3]string{
		{"Failed in batch 1.", "X: it broke", "Failed in batch 1. X: it broke."},
		{"Failed.", "Cannot continue...", "Failed. Cannot continue..."},
		{"Failed.", "names the column or the…", "Failed. names the column or the…"},
		{"Failed.", "Why?", "Failed. Why?"},
		{"Started 46 s ago: too early to judge.", "Too early to judge", "Started 46 s ago: too early to judge."},
		{"Stopped.", "", "Stopped."},
	} {
		if got := Say(c[0], c[1]); got != c[2] {
			t.Errorf("got %q, want %q", got, c[2])
		}
	}
	for message, want := range map[string]string{
		"[X] Cannot continue... SQLSTATE: 42000": "X: Cannot continue...",
		"[X] Cannot continue... Really.":         "X: Cannot continue...",
		"[X] It broke. Really.":                  "X: It broke",
	} {
		if got := Headline(message); got != want {
			t.Errorf("the headline of %q is %q, want %q", message, got, want)
		}
	}
}
