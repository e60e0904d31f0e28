package monitor

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The three totals are weir's addition to Spark's command form.
var totals = regexp.MustCompile(`,"numInputRows":\d+,"inputRowsPerSecond":[^,]+,` +
	`"processedRowsPerSecond":[^,]+,"durationMs"`)

func withoutTotals(command string) string {
	return totals.ReplaceAllString(command, `,"durationMs"`)
}

// The list of snapshot metrics is a set that Spark writes in hash order.
var snapshotNames = regexp.MustCompile(`"snapshotCustomMetricNames":\[[^\]]*\]`)

func sortSnapshotNames(command string) string {
	return snapshotNames.ReplaceAllStringFunc(command, func(list string) string {
		head, names, _ := strings.Cut(strings.TrimSuffix(list, "]"), "[")
		sorted := strings.Split(names, ",")
		slices.Sort(sorted)
		return head + "[" + strings.Join(sorted, ",") + "]"
	})
}

func TestBothFormsAreWrittenAsSparkWritesThem(t *testing.T) {
	for _, name := range []string{"spark_progress.jsonl", "connect_transcripts.jsonl"} {
		counts := map[string]int{}
		for i, r := range recordings(t, name) {
			var got string
			switch r.form {
			case "event":
				got = Event{Kind: Progressed, Progress: parseProgress(t, r)}.JSON()
			case "command":
				got = withoutTotals(string(parseProgress(t, r).AppendCommandJSON(nil)))
			default:
				continue
			}
			counts[r.form]++
			if got, want := sortSnapshotNames(got), sortSnapshotNames(r.text); got != want {
				t.Errorf("%s:%d\n%s", name, i+1, cmp.Diff(got, want))
			}
		}
		if counts["event"] < 35 || counts["command"] < 40 {
			t.Errorf("%s: only %v", name, counts)
		}
	}
}

// The command form holds everything, so the event of the same batch follows
// from it: rounding, sorting, absences, the other spelling of observed values.
func TestEventFormFollowsFromCommandForm(t *testing.T) {
	events := map[string]string{}
	all := recordings(t, "spark_progress.jsonl")
	for _, r := range all {
		if r.form == "event" {
			p := parseProgress(t, r)
			events[fmt.Sprint(p.RunID, p.BatchID)] = r.text
		}
	}
	compared := 0
	for _, r := range all {
		if r.form != "command" {
			continue
		}
		p := parseProgress(t, r)
		want, ok := events[fmt.Sprint(p.RunID, p.BatchID)]
		if !ok || !strings.Contains(r.text, "addBatch") {
			continue // the listener had gone, or an idle entry, which has no progress event
		}
		compared++
		if got := (Event{Kind: Progressed, Progress: p}).JSON(); got != want {
			t.Errorf("batch %d of %s\n%s", p.BatchID, p.Name, cmp.Diff(got, want))
		}
	}
	if compared < 30 {
		t.Errorf("compared %d batches only", compared)
	}
}

func TestCommandFormHasTheTotalsWhereEventsHaveThem(t *testing.T) {
	p := &Progress{
		ID: "i", RunID: "r", Timestamp: time.UnixMilli(1),
		Sources: []Source{
			{NumInputRows: 3, InputRowsPerSecond: 1.25, ProcessedRowsPerSecond: 2e7},
			{NumInputRows: 4, InputRowsPerSecond: 0.5, ProcessedRowsPerSecond: 1},
		},
	}
	want := `{"id":"i","runId":"r","name":null,"timestamp":"1970-01-01T00:00:00.001Z","batchId":0,` +
		`"batchDuration":0,"numInputRows":7,"inputRowsPerSecond":1.75,` +
		`"processedRowsPerSecond":2.0000001E7,"durationMs":{},"eventTime":{},`
	if got := string(p.AppendCommandJSON(nil)); !strings.HasPrefix(got, want) {
		t.Errorf("got %s\nwant prefix %s", got, want)
	}
}

func TestRatesThatAreNoNumbersAreLeftOutOfEvents(t *testing.T) {
	p := &Progress{Sources: []Source{{InputRowsPerSecond: math.Inf(1), ProcessedRowsPerSecond: math.NaN()}}}
	if got := string(p.AppendJSON(nil)); strings.Contains(got, "PerSecond") {
		t.Errorf("got %s", got)
	}
}

func TestObservedMetricsThatEventsCannotHoldAreLeftOutWhole(t *testing.T) {
	p := &Progress{Observed: []Observation{
		{Name: "a", Row: Row{Schema: "{}", Fields: []Field{{"n", Int(1)}}}},
		{Name: "b", Row: Row{Schema: "{}", Fields: []Field{{"d", Array(Opaque("PT1S"))}}}},
	}}
	if got := string(p.AppendJSON(nil)); strings.Contains(got, "observed") {
		t.Errorf("event has %s", got)
	}
	if got := string(p.AppendCommandJSON(nil)); !strings.HasSuffix(got,
		`"observedMetrics":{"a":{"values":[1],"schema":{}},"b":{"values":[["PT1S"]],"schema":{}}}}`) {
		t.Errorf("command has %s", got)
	}
}

func TestLifeEventsAreWrittenAsSparkWritesThem(t *testing.T) {
	seen := 0
	for _, r := range recordings(t, "connect_transcripts.jsonl") {
		if r.form != "started" && r.form != "terminated" {
			continue
		}
		seen++
		var e Event
		if r.form == "terminated" {
			e.Kind = Terminated
		}
		for _, m := range members(t, []byte(r.text)) {
			switch m.key {
			case "id":
				e.ID = text(t, m.raw)
			case "runId":
				e.RunID = text(t, m.raw)
			case "name":
				e.Name = text(t, m.raw)
			case "timestamp":
				e.At = instant(t, m.raw)
			case "jobTags":
				for _, tag := range elements(t, m.raw) {
					e.JobTags = append(e.JobTags, text(t, tag))
				}
			case "exception":
				if trace := text(t, m.raw); trace != "" {
					e.Failure = &Failure{Trace: trace}
				}
			case "errorClassOnException":
				if e.Failure != nil {
					e.Failure.Condition = text(t, m.raw)
				}
			}
		}
		if got := e.JSON(); got != r.text {
			t.Error(cmp.Diff(got, r.text))
		}
	}
	if seen < 9 {
		t.Errorf("%d recordings only", seen)
	}
	idle := Event{Kind: Idle, ID: "i", RunID: "r", At: time.UnixMilli(1767323045006)}
	if got, want := idle.JSON(), `{"id":"i","runId":"r","timestamp":"2026-01-02T03:04:05.006Z"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The expected texts are those of java.math.BigDecimal, scale 1, HALF_UP, on
// Double.toString; 64285714.3 is also in the recordings.
func TestRatesAreRoundedHalfUpOnTheirShortestText(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 0.04: "0.0", 0.05: "0.1", 0.25: "0.3", 0.35: "0.4", 4.85: "4.9", 4.849999: "4.8",
		0.95: "1.0", 9.95: "10.0", 99.99: "100.0", 999999.96: "1000000.0", 1: "1.0", 1e7: "10000000.0",
		6.428571428571428e7: "64285714.3", 6.92e7: "69200000.0", 1.5e300: "15" + strings.Repeat("0", 299) + ".0",
		5e-324: "0.0", 2.5: "2.5", 2.05: "2.1", 1.0499999999999998: "1.0", 123.45: "123.5",
	} {
		if got := string(appendRate([]byte("x"), f)); got != "x"+want {
			t.Errorf("rate %v is %s, want x%s", f, got, want)
		}
	}
}

// The expected texts are those of Java's Double.toString and Float.toString.
func TestDoublesAreSpelledAsJavaSpellsThem(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", -1.5: "-1.5", 1e10: "1.0E10", 1e7: "1.0E7", 9999999: "9999999.0",
		0.001: "0.001", 0.00099: "9.9E-4", 1e-5: "1.0E-5", 6.39386189258312: "6.39386189258312",
		math.MaxFloat64: "1.7976931348623157E308", 1e100: "1.0E100", -1.25e-7: "-1.25E-7",
		math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`,
	} {
		if got := string(appendDouble(nil, f)); got != want {
			t.Errorf("double %v is %s, want %s", f, got, want)
		}
	}
	if got := string(appendDouble(nil, math.NaN())); got != `"NaN"` {
		t.Errorf("NaN is %s", got)
	}
	if got := string(appendDouble(nil, math.Copysign(0, -1))); got != "-0.0" {
		t.Errorf("-0.0 is %s", got)
	}
	if got := string(appendFloat(nil, float64(float32(7)/3), 32)); got != "2.3333333" {
		t.Errorf("float is %s", got)
	}
}

func TestOffsetsAreEmbeddedWhenTheyAreJSON(t *testing.T) {
	for offset, want := range map[string]string{
		"":                           "null",
		"0":                          "0",
		"-1":                         "-1",
		"007":                        `"007"`,
		"abc":                        `"abc"`,
		`{"a": {"0" :50},"b":" x "}`: `{"a":{"0":50},"b":" x "}`,
		`["a\" ,b" , 1]`:             `["a\" ,b",1]`,
		`{"a":`:                      `"{\"a\":"`,
		"null":                       "null",
	} {
		if got := string(appendEmbedded(nil, offset)); got != want {
			t.Errorf("offset %s is %s, want %s", offset, got, want)
		}
	}
}

func TestBytesThatAreNoTextAreReplaced(t *testing.T) {
	got := string(appendString(nil, "a\xff\u00e9\uFFFD\x00z"))
	if want := "\"a\uFFFD\u00e9\uFFFD\\u0000z\""; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkEventJSON(b *testing.B) {
	p := parseProgress(b, recordings(b, "spark_progress.jsonl")[0])
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = p.AppendJSON(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}
