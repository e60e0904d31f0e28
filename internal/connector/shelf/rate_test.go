package shelf

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

// rateTrace is a line of rate.jsonl, which record_rate.py explains.
type rateTrace struct {
	Format, Description string
	Options             plan.Options
	Log                 *string
	Batches             []struct {
		End  string
		Rows map[string][][2]int64
	}
}

func rateTraces(t *testing.T) []rateTrace {
	data, err := os.ReadFile("testdata/rate.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var traces []rateTrace
	for line := range strings.Lines(string(data)) {
		var trace rateTrace
		if err := json.Unmarshal([]byte(line), &trace); err != nil {
			t.Fatal(err)
		}
		traces = append(traces, trace)
	}
	return traces
}

func TestRateYieldsWhatSparkYields(t *testing.T) {
	for _, trace := range rateTraces(t) {
		t.Run(trace.Description, func(t *testing.T) {
			fsys := vfs.NewMemory()
			env := conform.NewEnv(t, fsys)
			log := connector.Place{FS: fsys, Dir: "/ck/sources/0"}
			if trace.Log != nil {
				if err := vfs.MkdirDurable(fsys, log.Dir); err != nil {
					t.Fatal(err)
				}
				if err := vfs.WriteNew(fsys, log.Dir+"/0", []byte(*trace.Log)); err != nil {
					t.Fatal(err)
				}
			}
			s := formats.ScanOf(t, env, &plan.Read{Format: trace.Format, Options: trace.Options, Streaming: true})
			source := formats.OpenSource(t, env, s, log)
			if got := source.Describe(); got != trace.Description {
				t.Errorf("described as %s", got)
			}
			start := connector.Offset("")
			for _, batch := range trace.Batches {
				got := partsOf(t, source.Read(t.Context(), start, connector.Offset(batch.End)))
				testkit.Diff(t, "batch to "+batch.End, got, batch.Rows)
				start = connector.Offset(batch.End)
			}
		})
	}
}

// partsOf is times and values by partition.
func partsOf(t *testing.T, rows chunk.Rows) map[string][][2]int64 {
	parts := map[string][][2]int64{}
	for c, err := range rows {
		conform.Must(t, err)
		for i := range c.Rows {
			at, value := chunk.Values[int64](c.Cols[0])[i], chunk.Values[int64](c.Cols[1])[i]
			part := strconv.Itoa(c.Part)
			parts[part] = append(parts[part], [2]int64{at, value})
		}
	}
	return parts
}

func TestRatePerBatchFollowsTheRecordedOffsets(t *testing.T) {
	for _, trace := range rateTraces(t) {
		if trace.Format != "rate-micro-batch" {
			continue
		}
		fsys := vfs.NewMemory()
		env := conform.NewEnv(t, fsys)
		s := formats.ScanOf(t, env, &plan.Read{Format: trace.Format, Options: trace.Options, Streaming: true})
		source := formats.OpenSource(t, env, s, connector.Place{FS: fsys, Dir: "/ck/sources/0"})
		start := connector.Offset("")
		for _, batch := range trace.Batches {
			end, err := source.Latest(t.Context(), start, connector.Limit{})
			if err != nil || end != connector.Offset(batch.End) {
				t.Fatalf("latest from %q is %q (%v), want %q", start, end, err, batch.End)
			}
			start = end
		}
		if _, err := source.(connector.Pinner).Pin(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, _ := source.Latest(t.Context(), start, connector.Limit{})
		second, _ := source.Latest(t.Context(), first, connector.Limit{})
		if first == start || second != first {
			t.Errorf("availableNow runs from %s to %s to %s, want one batch", start, first, second)
		}
	}
}

func TestRateCountsWholeSecondsAndRemembersItsCreation(t *testing.T) {
	fsys := vfs.NewMemory()
	env := conform.NewEnv(t, fsys)
	now := time.UnixMilli(1_700_000_000_250)
	env.Now = func() time.Time { return now }
	s := formats.ScanOf(t, env,
		&plan.Read{Format: "rate", Options: plan.Options{"rowsPerSecond": "10"}, Streaming: true})
	log := connector.Place{FS: fsys, Dir: "/ck/sources/0"}
	conform.CheckSource(t, conform.SourceCase{
		Steps: 5, Unlimited: true,
		// Another checkpoint would count from another creation.
		Open: func(string, bool) connector.Source { return formats.OpenSource(t, env, s, log) },
		Step: func(int) { now = now.Add(time.Second) },
	})

	data, err := vfs.ReadFile(fsys, "/ck/sources/0/0")
	if err != nil || string(data) != "v1\n1700000000250" {
		t.Errorf("log is %q (%v)", data, err)
	}
	source := formats.OpenSource(t, env, s, log)
	for _, c := range []struct {
		passed, next time.Duration // since creation
		want         connector.Offset
	}{
		{0, time.Second, "0"}, {999 * time.Millisecond, time.Second, "0"}, {time.Second, 2 * time.Second, "1"},
		{61500 * time.Millisecond, 62 * time.Second, "61"},
		{30 * time.Second, 31 * time.Second, "61"}, // the clock was set back
	} {
		now = time.UnixMilli(1_700_000_000_250).Add(c.passed)
		if got, err := source.Latest(t.Context(), "", connector.Limit{}); err != nil || got != c.want {
			t.Errorf("after %s latest is %s (%v), want %s", c.passed, got, err, c.want)
		}
		next := source.(connector.Waker).NextCheck(now).Sub(time.UnixMilli(1_700_000_000_250))
		if next != c.next {
			t.Errorf("after %s asked again after %s, want %s", c.passed, next, c.next)
		}
	}
}

// The texts are those of the recorded scenario er_rate_options.
func TestRateOptionsAreCheckedAtLoad(t *testing.T) {
	micro := func(kv ...string) plan.Options {
		o := plan.Options{"rowsPerBatch": "5"}
		for i := 0; i < len(kv); i += 2 {
			o[kv[i]] = kv[i+1]
		}
		return o
	}
	cases := []struct {
		format  string
		options plan.Options
		class   string
		msg     string
	}{
		{"rate", plan.Options{"rowsPerSecond": "0"}, plan.ClassJavaIllegal,
			"Invalid value '0'. The option 'rowsPerSecond' must be positive"},
		{"rate", plan.Options{"ROWSPERSECOND": "-1"}, plan.ClassJavaIllegal,
			"Invalid value '-1'. The option 'rowsPerSecond' must be positive"},
		{"rate", plan.Options{"rowsPerSecond": "x"}, connector.ClassNumberFormat, `For input string: "x"`},
		{"rate", plan.Options{"rampUpTime": "-1s"}, plan.ClassJavaIllegal,
			"Invalid value '-1'. The option 'rampUpTime' must not be negative"},
		{"rate", plan.Options{"rampUpTime": "x"}, connector.ClassNumberFormat, ""},
		{"rate", plan.Options{"numPartitions": "0"}, plan.ClassJavaIllegal,
			"Invalid value '0'. The option 'numPartitions' must be positive"},
		{"rate-micro-batch", plan.Options{}, plan.ClassJavaIllegal,
			"Invalid value '0'. The option 'rowsPerBatch' must be positive"},
		{"rate-micro-batch", micro("rowsPerBatch", "0"), plan.ClassJavaIllegal,
			"Invalid value '0'. The option 'rowsPerBatch' must be positive"},
		{"rate-micro-batch", micro("numPartitions", "0"), plan.ClassJavaIllegal,
			"Invalid value '0'. The option 'numPartitions' must be positive"},
		{"rate-micro-batch", micro("startTimestamp", "-1"), plan.ClassJavaIllegal,
			"Invalid value '-1'. The option 'startTimestamp' must be non-negative"},
		{"rate-micro-batch", micro("advanceMillisPerBatch", "-1"), plan.ClassJavaIllegal,
			"Invalid value '-1'. The option 'advanceMillisPerBatch' must be non-negative"},
	}
	env := conform.NewEnv(t, vfs.NewMemory())
	for _, c := range cases {
		f, _ := Lookup(c.format)
		_, err := f.Describe(context.Background(), env, &plan.Read{Format: c.format, Options: c.options})
		e, ok := err.(*plan.Error)
		if !ok || e.Class != c.class || c.msg != "" && e.Msg != c.msg {
			t.Errorf("%s %v: %v, want %s %s", c.format, c.options, err, c.class, c.msg)
		}
	}
	f, _ := Lookup("rate")
	_, err := f.Describe(context.Background(), env, &plan.Read{Format: "rate", Schema: &conform.IDSchema})
	if e, ok := err.(*plan.Error); !ok || e.Condition != "_LEGACY_ERROR_TEMP_2242" ||
		e.Args["provider"] != "RateStreamProvider" {
		t.Errorf("a schema for rate: %v", err)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]int64{"5": 5, "5s": 5, "1500ms": 1, "-1500ms": -1, " 2MIN ": 120,
		"1h": 3600, "1d": 86400} {
		if got, err := connector.Duration(text, "s"); err != nil || got != want {
			t.Errorf("%q is %d seconds (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "5 s", "5weeks", "1.5s", "99999999999999999999"} {
		if got, err := connector.Duration(text, "s"); err == nil {
			t.Errorf("%q is %d seconds, want an error", text, got)
		}
	}
}

func TestARateLogThatIsDamagedIsNamed(t *testing.T) {
	for _, text := range []string{"", "1700000000000", "v1\nsoon", "v9\n5", "v1"} {
		fsys := vfs.NewMemory()
		env := conform.NewEnv(t, fsys)
		if err := vfs.MkdirDurable(fsys, "/ck"); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteNew(fsys, "/ck/0", []byte(text)); err != nil {
			t.Fatal(err)
		}
		s := formats.ScanOf(t, env, &plan.Read{Format: "rate", Streaming: true})
		f, _ := Lookup("rate")
		_, err := f.Source(t.Context(), env, s, connector.Place{FS: fsys, Dir: "/ck"})
		if err == nil || !strings.Contains(err.Error(), "/ck/0") {
			t.Errorf("log %q: %v, want an error that names the file", text, err)
		}
	}
}
