package analyze_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// streams has the tables s and r, streams of (id, k, v, ts); w and x, the same
// with a watermark on ts; and b, which is no stream.
func streams() *world {
	schema, err := sql.ParseSchema("id int, k string, v int, ts timestamp")
	if err != nil {
		panic(err)
	}
	read := func(streaming bool) plan.Node {
		return &plan.Read{Format: "json", Schema: &schema, Streaming: streaming}
	}
	ts := &plan.UnresolvedAttribute{Parts: []string{"ts"}}
	w := newWorld()
	w.tables["s"], w.tables["r"], w.tables["b"] = read(true), read(true), read(false)
	w.tables["w"] = plan.NewWatermark(read(true), ts, "10 seconds")
	w.tables["x"] = plan.NewWatermark(read(true), ts, "10 seconds")
	return w
}

func resolve(t testing.TB, w *world, text string) plan.Node {
	t.Helper()
	n, err := sql.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := analyzer(w).Resolve(context.Background(), n)
	if err == nil {
		err = wellFormed(out)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// What Spark 4.3 says when queries of these shapes are started in append,
// update and complete mode: "" starts, otherwise the operation or the sentence.
type streamingCase struct {
	query                    string
	append, update, complete string
}

func streamingCases() []streamingCase {
	const (
		noAgg       = "no streaming aggregations"
		noWatermark = "streaming aggregations without watermark"
		sorting     = "Sorting is not supported"
		distinct    = "Distinct aggregations are not supported"
		join        = "join between two streaming DataFrame/Datasets is not supported without a watermark"
		stat        = "a static DataFrame/Dataset"
	)
	return []streamingCase{
		{"SELECT id FROM s", "", "", noAgg},
		{"SELECT id FROM s WHERE v > 1", "", "", noAgg},
		{"SELECT k, count(*) FROM s GROUP BY k", noWatermark, "", ""},
		{"SELECT ts, count(*) FROM w GROUP BY ts", "", "", ""},
		{"SELECT k, count(*) FROM w GROUP BY k", noWatermark, "", ""},
		{"SELECT k, count(DISTINCT v) FROM s GROUP BY k", noWatermark, distinct, distinct},
		{"SELECT DISTINCT k FROM s", noWatermark, "", ""},
		{"SELECT k FROM s UNION SELECT k FROM r", noWatermark, "", ""},
		{"SELECT k FROM s UNION ALL SELECT k FROM r", "", "", noAgg},
		{"SELECT id FROM s UNION ALL SELECT id FROM b", "Union between streaming", "Union between", noAgg},
		{"SELECT id FROM s ORDER BY id", sorting, sorting, noAgg},
		{"SELECT k, count(*) AS c FROM s GROUP BY k ORDER BY c", noWatermark, sorting, ""},
		{"SELECT id FROM s LIMIT 5", "", "Limits are not supported", noAgg},
		{"SELECT id FROM s LIMIT 5 OFFSET 1", "Offset is not supported", "Offset is not supported", noAgg},
		{"SELECT id FROM s INTERSECT SELECT id FROM b", "Intersect of", "Intersect of", noAgg},
		{"SELECT id FROM s EXCEPT SELECT id FROM b", "", "", noAgg},
		{"SELECT id FROM b EXCEPT SELECT id FROM s", "Except on", "Except on", noAgg},
		{"SELECT id FROM s WHERE id IN (SELECT id FROM b)", "", "", noAgg},
		{"SELECT m, count(*) FROM (SELECT k, max(v) AS m FROM s GROUP BY k) GROUP BY m",
			noWatermark, "correctness", "correctness"},
		{"SELECT s.id FROM s JOIN r ON s.id = r.id", "", "", noAgg},
		{"SELECT s.id FROM s LEFT JOIN r ON s.id = r.id", join, "only in Append", noAgg},
		{"SELECT s.id FROM s RIGHT JOIN r ON s.id = r.id", join, "only in Append", noAgg},
		{"SELECT s.id FROM s FULL JOIN r ON s.id = r.id", join, "only in Append", noAgg},
		{"SELECT s.id FROM s LEFT SEMI JOIN r ON s.id = r.id", join, join, noAgg},
		{"SELECT s.id FROM s LEFT ANTI JOIN r ON s.id = r.id", "LeftAnti joins", "LeftAnti joins", noAgg},
		{"SELECT w.id FROM w LEFT JOIN r ON w.id = r.id", join, "only in Append", noAgg},
		{"SELECT w.id FROM w LEFT JOIN x ON w.id = x.id AND w.ts = x.ts", "", "only in Append", noAgg},
		{"SELECT w.id FROM w LEFT JOIN x ON w.id = x.id AND w.ts > x.ts", "", "only in Append", noAgg},
		{"SELECT w.id FROM w LEFT JOIN x ON w.id = x.id AND w.ts < x.ts", join, "only in Append", noAgg},
		{"SELECT w.id FROM w RIGHT JOIN x ON w.id = x.id AND w.ts < x.ts", "", "only in Append", noAgg},
		{"SELECT s.id FROM s JOIN b ON s.id = b.id", "", "", noAgg},
		{"SELECT s.id FROM s LEFT JOIN b ON s.id = b.id", "", "", noAgg},
		{"SELECT s.id FROM s LEFT ANTI JOIN b ON s.id = b.id", "", "", noAgg},
		{"SELECT s.id FROM s RIGHT JOIN b ON s.id = b.id", "RightOuter join", "RightOuter join", noAgg},
		{"SELECT s.id FROM s FULL JOIN b ON s.id = b.id", stat, stat, noAgg},
		{"SELECT b.id FROM b LEFT JOIN s ON s.id = b.id", stat, stat, noAgg},
		{"SELECT b.id FROM b FULL JOIN s ON s.id = b.id", stat, stat, noAgg},
		{"SELECT b.id FROM b LEFT SEMI JOIN s ON s.id = b.id", stat, stat, noAgg},
		{"SELECT b.id FROM b LEFT ANTI JOIN s ON s.id = b.id", "LeftAnti joins", "LeftAnti joins", noAgg},
		{"SELECT b.id FROM b RIGHT JOIN s ON s.id = b.id", "", "", noAgg},
		{"SELECT id FROM b", "Queries without streaming sources", "Queries without", "Queries without"},
	}
}

func TestCheckStreamingRefusesWhatSparkRefuses(t *testing.T) {
	for _, c := range streamingCases() {
		n := resolve(t, streams(), c.query)
		for mode, want := range map[plan.OutputMode]string{
			plan.AppendMode: c.append, plan.UpdateMode: c.update, plan.CompleteMode: c.complete,
		} {
			err := analyze.CheckStreaming(n, mode)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s in %s mode: %v", c.query, mode, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s in %s mode: got %v, want %s", c.query, mode, err, want)
			}
		}
	}
}

func TestRefusedModesHaveSparksCondition(t *testing.T) {
	n := resolve(t, streams(), "SELECT k, count(*) FROM s GROUP BY k")
	var e *plan.Error
	if err := analyze.CheckStreaming(n, plan.AppendMode); !errors.As(err, &e) {
		t.Fatal(err)
	}
	want := map[string]string{"outputMode": "append", "operation": "streaming aggregations without watermark"}
	if e.Condition != "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION" || e.State != "42KDE" ||
		!cmp.Equal(e.Args, want) {
		t.Errorf("%s %s %v", e.Condition, e.State, e.Args)
	}
	n = resolve(t, streams(), "SELECT id FROM s ORDER BY id")
	if err := analyze.CheckStreaming(n, plan.AppendMode); !errors.As(err, &e) {
		t.Fatal(err)
	}
	if e.Condition != "_LEGACY_ERROR_TEMP_3102" || e.State != "" || e.Args["msg"] != e.Msg {
		t.Errorf("%s %s %v", e.Condition, e.State, e.Args)
	}
}

func TestCheckBatchRefusesStreams(t *testing.T) {
	if err := analyze.CheckBatch(resolve(t, streams(), "SELECT id FROM b")); err != nil {
		t.Error(err)
	}
	err := analyze.CheckBatch(resolve(t, streams(), "SELECT id FROM b WHERE id IN (SELECT id FROM s)"))
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "_LEGACY_ERROR_TEMP_3102" {
		t.Errorf("a stream in a batch: %v", err)
	}
	within := plan.NewDedup(streams().tables["b"], []string{"id"}, true)
	n, err := analyzer(streams()).Resolve(context.Background(), within)
	if err != nil {
		t.Fatal(err)
	}
	if err := analyze.CheckBatch(n); !errors.As(err, &e) || !strings.Contains(e.Msg, "with batch DataFrames") {
		t.Errorf("dropDuplicatesWithinWatermark in a batch: %v", err)
	}
}

func TestParseOutputMode(t *testing.T) {
	for text, want := range map[string]plan.OutputMode{
		"": plan.AppendMode, "append": plan.AppendMode, "Update": plan.UpdateMode, "COMPLETE": plan.CompleteMode,
	} {
		if got, err := analyze.ParseOutputMode(text); err != nil || got != want {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	var e *plan.Error
	if _, err := analyze.ParseOutputMode("upsert"); !errors.As(err, &e) ||
		e.Condition != "STREAMING_OUTPUT_MODE.INVALID" || e.Args["outputMode"] != "upsert" {
		t.Errorf("upsert: %v", err)
	}
}

func TestWatermark(t *testing.T) {
	schema, err := sql.ParseSchema("id int, ts timestamp, d date, n timestamp_ntz, s struct<ts: timestamp>")
	if err != nil {
		t.Fatal(err)
	}
	mark := func(streaming bool, delay string, column ...string) (plan.Node, error) {
		read := &plan.Read{Format: "json", Schema: &schema, Streaming: streaming}
		return analyzer(newWorld()).Resolve(context.Background(),
			plan.NewWatermark(read, &plan.UnresolvedAttribute{Parts: column}, delay))
	}
	for _, c := range []struct {
		streaming bool
		delay     string
		column    []string
		condition string
	}{
		{true, "1 second", []string{"id"}, "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE"},
		{true, "1 second", []string{"d"}, "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE"},
		{true, "1 second", []string{"n"}, "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE"},
		{true, "1 second", []string{"s"}, "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE"},
		{true, "1 second", []string{"s", "ts"}, "EVENT_TIME_MUST_BE_TOP_LEVEL_COLUMN"},
		{true, "1 second", []string{"nope"}, "UNRESOLVED_COLUMN.WITH_SUGGESTION"},
		{true, "soon", []string{"ts"}, "CANNOT_PARSE_INTERVAL"},
		{true, "-1 second", []string{"ts"}, ""},
	} {
		_, err := mark(c.streaming, c.delay, c.column...)
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != c.condition {
			t.Errorf("%v %s: got %v, want %s", c.column, c.delay, err, c.condition)
		}
	}
	n, err := mark(true, "1 minute 30 seconds", "ts")
	if err != nil {
		t.Fatal(err)
	}
	if ts := n.Output()[1]; ts.EventTime == nil || *ts.EventTime != 90_000 {
		t.Errorf("delay of %v", ts)
	}
	// Spark drops watermarks of batch queries before it looks at them.
	if n, err = mark(false, "1 second", "nope"); err != nil || n.Output()[1].EventTime != nil {
		t.Errorf("a watermark on a batch relation: %v", err)
	}
}
