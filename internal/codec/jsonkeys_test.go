package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// recordNames are keys of all lengths that are compared in different ways; those
// from the fourth on are not in the schema.
var recordNames = []string{"k", "number", "a_key_of_nineteen_ch", "t", "unwanted", "something_nobody_asked_for"}

// drawRecord writes a record with some of the keys in any order and spacing.
func drawRecord(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\t "})
	text := rapid.StringOfN(rapid.SampledFrom([]rune{'x', 'y', '7', '"', '\\', '\t', 'é', '世'}), 0, 40, -1)
	number := rapid.Int64Range(-2e12, 2e12)
	var b strings.Builder
	b.WriteString("{" + space.Draw(t, "s"))
	names := rapid.Permutation(recordNames).Draw(t, "names")[:rapid.IntRange(0, len(recordNames)).Draw(t, "n")]
	for i, name := range names {
		if i > 0 {
			b.WriteString(space.Draw(t, "s") + "," + space.Draw(t, "s"))
		}
		value := fmt.Sprint(number.Draw(t, "v") >> rapid.IntRange(0, 40).Draw(t, "bits"))
		if name == "a_key_of_nineteen_ch" || name == "unwanted" {
			quoted, err := json.Marshal(text.Draw(t, "v"))
			if err != nil {
				t.Fatal(err)
			}
			value = string(quoted)
		}
		fmt.Fprintf(&b, "%q%s:%s%s", name, space.Draw(t, "s"), space.Draw(t, "s"), value)
	}
	b.WriteString(space.Draw(t, "s") + "}")
	return b.String()
}

// TestReadsRecordsAsGoDoes reads records one after the other, so that what was
// learnt of one is tried on the next.
func TestReadsRecordsAsGoDoes(t *testing.T) {
	schema := plan.Struct(plan.Col(recordNames[0], plan.Long), plan.Col(recordNames[1], plan.Long),
		plan.Col(recordNames[2], plan.String))
	rapid.Check(t, func(t *rapid.T) {
		r, err := NewJSONReader(schema, JSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var file strings.Builder
		var want [][]any
		for range rapid.IntRange(1, 5).Draw(t, "shapes") {
			record := drawRecord(t)
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				file.WriteString(record + rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end"))
				want = append(want, readByGo(t, record))
			}
		}
		chunks, err := chunk.Collect(r.Read(bytes.NewReader([]byte(file.String()))))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chunks {
			for i := range c.Rows {
				if got := fmt.Sprint(c.Row(i)); got != fmt.Sprint(want[i]) {
					t.Fatalf("row %d is %s, want %v\n%s", i, got, want[i], file.String())
				}
			}
		}
		if len(chunks) != 1 || chunks[0].Rows != len(want) {
			t.Fatalf("%d chunks instead of %d rows", len(chunks), len(want))
		}
	})
}

func readByGo(t *rapid.T, record string) []any {
	d := json.NewDecoder(strings.NewReader(record))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	return []any{fields[recordNames[0]], fields[recordNames[1]], fields[recordNames[2]]}
}

func TestReadsTimesOfOneMinuteAndOfOthers(t *testing.T) {
	zone, err := Zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	d := jsonDecoder{zone: NewOffsets(zone)}
	for _, text := range []string{
		"2026-01-01T00:00:00Z", "2026-01-01T00:00:59.999Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:5Z",
		"2026-01-01T00:00:07", "2026-01-01 00:00:07", "2026-01-01T00:00", "2026-01-01T00:00:08.1234567Z",
		"2026-01-01T00:00:08+01:00", "2026-01-01T00:00:08 UTC", "2026-01-01T00:01:08Z", "2026-07-01T00:01:08.5",
		"2026-13-01T00:01:08Z", "2026-13-01T00:01:09Z", "", "2026-01-01T00:01:xyZ", "2026-01-01T00:01:09.Z",
		"1969-12-31T23:59:59.5Z", "1969-12-31T23:59:58.5Z", "2026-03-29T02:30:00", "2026-03-29T02:30:01",
	} {
		want, ok := ParseTimestamp(text, d.zone, 0)
		for range 2 {
			if got, gotOK := d.parseTimestamp(text); got != want || gotOK != ok {
				t.Errorf("%q is %v %v, want %v %v", text, time.UnixMicro(got), gotOK, time.UnixMicro(want), ok)
			}
		}
	}
}
