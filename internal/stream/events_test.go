package stream

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

func second(s int64) int64 { return (1_704_067_200 + s) * 1_000_000 } // of 2024-01-01

// marked is a tape of timestamps with a watermark.
func marked(name string, delayMs int64) *plan.Watermark {
	s := scanOf(name)
	s.Attrs[0].Of, s.Attrs[0].Null = plan.Timestamp, true
	w := plan.NewWatermark(s, s.Attrs[0], "")
	w.DelayMs = delayMs
	return w
}

func eventTimes(p *monitor.Progress) string {
	text := "watermark " + clock(p.EventTime.WatermarkMs)
	if rows := p.EventTime.Rows; rows != nil {
		text += " min " + clock(rows.MinMs) + " avg " + clock(rows.AvgMs) + " max " + clock(rows.MaxMs)
	}
	return text
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// The numbers are those that Spark 4.3 reports for the same batches.
func TestEventTimesAreThoseOfSpark(t *testing.T) {
	cases := []struct {
		name    string
		delayMs int64
		batches [][]int64
		want    []string
		next    []string // nextBatchWatermarkMs
	}{
		{
			name: "a watermark without a stateful operator", delayMs: 10_000,
			batches: [][]int64{{second(30)}, {second(1)}},
			want: []string{
				"watermark 1970-01-01T00:00:00.000Z min 2024-01-01T00:00:30.000Z " +
					"avg 2024-01-01T00:00:30.000Z max 2024-01-01T00:00:30.000Z",
				"watermark 2024-01-01T00:00:20.000Z min 2024-01-01T00:00:01.000Z " +
					"avg 2024-01-01T00:00:01.000Z max 2024-01-01T00:00:01.000Z",
			},
			next: []string{"1704067220000", "1704067220000"},
		},
		{
			name: "NULL counts as 1970", delayMs: 10_000,
			batches: [][]int64{{null, second(5)}, {null, second(40)}, {null}},
			want: []string{
				"watermark 1970-01-01T00:00:00.000Z min 1970-01-01T00:00:00.000Z " +
					"avg 1996-12-31T12:00:02.500Z max 2024-01-01T00:00:05.000Z",
				"watermark 2023-12-31T23:59:55.000Z min 1970-01-01T00:00:00.000Z " +
					"avg 1996-12-31T12:00:20.000Z max 2024-01-01T00:00:40.000Z",
				"watermark 2024-01-01T00:00:30.000Z min 1970-01-01T00:00:00.000Z " +
					"avg 1970-01-01T00:00:00.000Z max 1970-01-01T00:00:00.000Z",
			},
			next: []string{"1704067195000", "1704067230000", "1704067230000"},
		},
		{
			name:    "rows before 1970",
			batches: [][]int64{{-1_000_000, 0, 1_000}},
			want: []string{"watermark 1970-01-01T00:00:00.000Z min 1969-12-31T23:59:59.000Z " +
				"avg 1969-12-31T23:59:59.667Z max 1970-01-01T00:00:00.001Z"},
			next: []string{"1"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.plan = marked("a", c.delayMs)
				q := r.mustStart(t)
				for i, batch := range c.batches {
					r.tapes["a"].put(batch...)
					process(t, q)
					testkit.Diff(t, "event times", eventTimes(q.Record().Last()), c.want[i])
					want := "v1\n{\"nextBatchWatermarkMs\":" + c.next[i] + "}"
					testkit.Diff(t, "commit", r.file(fmt.Sprintf("/ck/commits/%d", i)), want)
				}
				stop(t, q)
			})
		})
	}
}

func TestWatermarkSurvivesARestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.plan = marked("a", 0)
		for i, value := range []int64{second(30), second(1), second(40)} {
			r.tapes["a"].put(value)
			q := r.mustStart(t)
			process(t, q)
			want := []int64{0, second(30) / 1000, second(30) / 1000}[i]
			if got := q.Record().Last().EventTime.WatermarkMs; got != want {
				t.Errorf("run %d: %s, want %s", i, clock(got), clock(want))
			}
			stop(t, q)
		}
	})
}

// As in Spark, a watermark over a watermark runs until it has something to say.
func TestAWatermarkOverAWatermarkFailsLater(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		inner := marked("a", 0)
		outer := plan.NewWatermark(inner, inner.Column, "")
		r.plan = outer
		r.tapes["a"].put(second(1))
		err := r.mustStart(t).Await(t.Context())
		cause := failedWith(t, err, "_LEGACY_ERROR_TEMP_3076")
		if cause.Args["config"] != "spark.sql.streaming.statefulOperator.allowMultiple" {
			t.Errorf("parameters %v", cause.Args)
		}
		if diff := cmp.Diff(contents(t, r.out()), [][]int64{{second(1)}}); diff != "" {
			t.Error(diff)
		}
	})
}

// aggregate binds an aggregate function of the shelf.
func aggregate(t *testing.T, name string, args ...plan.Expr) plan.Expr {
	t.Helper()
	e, err := function.BindCall(&function.Binding{Name: name, Args: args, Env: &function.Env{Zone: time.UTC}})
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Alias{Child: e, Names: []string{name}, ID: ids.Next()}
}

// A replay has the watermark and the time of the first attempt.
func TestReplaysMeetTheOldWatermark(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.plan = marked("a", 0)
		r.trigger.Kind = plan.AvailableNow
		run := func(values ...int64) *monitor.Progress {
			r.tapes["a"].put(values...)
			q := r.mustStart(t)
			if err := q.Await(t.Context()); err != nil {
				t.Fatal(err)
			}
			return q.Record().Snapshot().LastBatch
		}
		run(second(1))
		first := run(second(2))
		if err := vfs.RemoveFile(r.fs, "/ck/commits/1"); err != nil {
			t.Fatal(err)
		}
		testkit.Diff(t, "event times of the replay", eventTimes(run()), eventTimes(first))
	})
}

func TestReplaysHaveTheOldTime(t *testing.T) {
	r := &run{Query: &Query{config: newRig(vfs.NewMemory()).config()}, inputs: &inputs{}}
	if err := r.startFrom(resumption{batch: 3, replay: true, timestampMs: 1_700_000_000_123}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.eval(r.replay).Now, int64(1_700_000_000_123_000); got != want {
		t.Errorf("current_timestamp is %d, want %d", got, want)
	}
}

func TestObservedMetricsAreInProgress(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		s := scanOf("a")
		r.plan = plan.NewObserve(s, "m", []plan.Expr{
			aggregate(t, "max", s.Attrs[0]), aggregate(t, "sum", s.Attrs[0]),
		})
		q := r.mustStart(t)
		for _, c := range []struct {
			values []int64
			want   string
		}{
			{[]int64{1, 7}, `{"max":7,"sum":8}`}, {[]int64{3}, `{"max":3,"sum":3}`},
		} {
			r.tapes["a"].put(c.values...)
			process(t, q)
			p := q.Record().Last()
			text := string(p.AppendJSON(nil))
			if len(p.Observed) != 1 || !strings.Contains(text, `"observedMetrics":{"m":`+c.want+`}`) {
				t.Errorf("progress %s, want %s", text, c.want)
			}
		}
		stop(t, q)
	})
}

// A static side is read anew for every batch.
func TestStaticSidesAreReadForEachBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		static := scanOf("names")
		static.Streaming = false
		r.tapes["names"] = &tape{values: []int64{1}}
		s := scanOf("a")
		join := &plan.Join{Left: s, Right: static, Kind: plan.SemiJoin}
		equal, err := function.BindCall(&function.Binding{
			Name: "=", Args: []plan.Expr{s.Attrs[0], static.Attrs[0]}, Env: &function.Env{Zone: time.UTC},
		})
		if err != nil {
			t.Fatal(err)
		}
		join.Cond = equal
		r.plan = join
		q := r.mustStart(t)
		r.tapes["a"].put(1, 2)
		process(t, q)
		r.tapes["names"].put(2)
		r.tapes["a"].put(1, 2, 3)
		process(t, q)
		if diff := cmp.Diff(contents(t, r.out()), [][]int64{{1}, {1, 2}}); diff != "" {
			t.Error(diff)
		}
		if got := q.Record().Last().NumInputRows(); got != 3 {
			t.Errorf("static rows are no input: %d", got)
		}
		stop(t, q)
	})
}

func TestObservedValues(t *testing.T) {
	oneEntry := plan.MapValue{Keys: []plan.Value{"k"}, Values: []plan.Value{int64(1)}}
	berlin := time.FixedZone("", 3600)
	at := second(0) + 123_000
	cases := []struct {
		of    plan.Type
		value plan.Value
		event string
		dump  string
	}{
		{plan.Long, nil, `null`, `null`},
		{plan.Boolean, true, `true`, `true`},
		{plan.Int, int64(7), `7`, `7`},
		{plan.Double, 2.5, `2.5`, `2.5`},
		{plan.String, `a" é`, `"a\" é"`, `"a\" é"`},
		{plan.Binary, []byte{0, 255}, `"AP8="`, `"AP8="`},
		{plan.Timestamp, at, `"2024-01-01 01:00:00"`, `1704067200123`},
		{plan.Date, int32(19723), `"2024-01-01"`, `1704063600000`},
		{plan.Array(plan.Int, true), []plan.Value{int64(7), nil}, `[7,null]`, `[7,null]`},
		{plan.Map(plan.String, plan.Int, true), oneEntry, `{"k":1}`, `{"k":1}`},
	}
	for _, c := range cases {
		schema := plan.Struct(plan.Col("x", c.of))
		p := &monitor.Progress{Observed: []monitor.Observation{
			{Name: "m", Row: observedRow(schema, []plan.Value{c.value}, berlin)},
		}}
		if got := string(p.AppendJSON(nil)); !strings.Contains(got, `{"m":{"x":`+c.event+`}}`) {
			t.Errorf("%s: event %s, want %s", c.of.Simple(), got, c.event)
		}
		if got := string(p.AppendCommandJSON(nil)); !strings.Contains(got, `{"values":[`+c.dump+`]`) {
			t.Errorf("%s: command form %s, want %s", c.of.Simple(), got, c.dump)
		}
	}
}
