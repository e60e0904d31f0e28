package delta

import (
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
)

// The protocols are those that Delta Lake 4.4 writes.
func TestATableGetsTheLeastProtocol(t *testing.T) {
	named := func(reader int, readers []string, writers ...string) Protocol {
		return Protocol{MinReaderVersion: reader, MinWriterVersion: 7, ReaderFeatures: readers,
			WriterFeatures: writers}
	}
	for _, c := range []struct {
		properties map[string]string
		want       Protocol
	}{
		{nil, Protocol{MinReaderVersion: 1, MinWriterVersion: 2}},
		{map[string]string{"delta.constraints.c": "a > 0"}, Protocol{MinReaderVersion: 1, MinWriterVersion: 3}},
		{map[string]string{"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"},
			Protocol{MinReaderVersion: 2, MinWriterVersion: 5}},
		{map[string]string{"delta.minWriterVersion": "5"}, Protocol{MinReaderVersion: 1, MinWriterVersion: 4}},
		{map[string]string{"delta.minWriterVersion": "7"}, Protocol{MinReaderVersion: 1, MinWriterVersion: 1}},
		{map[string]string{"delta.enableChangeDataFeed": "true"},
			named(1, nil, "changeDataFeed", "invariants", "appendOnly")},
		{map[string]string{"delta.columnMapping.mode": "id"}, named(2, nil, "columnMapping", "invariants", "appendOnly")},
		{map[string]string{"delta.columnMapping.mode": "id", "delta.enableDeletionVectors": "true"},
			named(3, []string{"columnMapping", "deletionVectors"}, "columnMapping", "deletionVectors", "invariants",
				"appendOnly")},
		{map[string]string{"delta.enableRowTracking": "TRUE"},
			named(1, nil, "domainMetadata", "rowTracking", "invariants", "appendOnly")},
		{map[string]string{"delta.feature.V2CHECKPOINT": "enabled"},
			named(3, []string{"v2Checkpoint"}, "v2Checkpoint", "invariants", "appendOnly")},
	} {
		_, p, err := NewMetadata(CreateSpec{Schema: idSchema, Properties: c.properties, Now: testTime})
		must(t, err)
		testkit.Diff(t, "protocol of "+jsonMap(c.properties), *p, c.want)
	}
}

func TestAProtocolTakesOnFeatures(t *testing.T) {
	s := &Snapshot{Protocol: Protocol{MinReaderVersion: 1, MinWriterVersion: 4}}
	ntz := protocolWith([]string{"timestampNtz"})
	testkit.Diff(t, "joined", *s.joined(ntz), Protocol{MinReaderVersion: 3, MinWriterVersion: 7,
		ReaderFeatures: []string{"timestampNtz"},
		WriterFeatures: []string{"changeDataFeed", "checkConstraints", "generatedColumns", "timestampNtz",
			"invariants", "appendOnly"}})
	if more := s.joined(Protocol{MinReaderVersion: 1, MinWriterVersion: 2}); more != nil {
		t.Errorf("nothing new made %v", *more)
	}
}

func TestTimesToKeepSomethingAreRead(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"interval 1 day": 24 * time.Hour, "40 days": 960 * time.Hour, "INTERVAL 1 week 2 hours": 170 * time.Hour,
		"3 milliseconds": 3 * time.Millisecond, "": -1, "x": -1, "interval": -1, "1 month": -1, "-1 days": -1,
		"1 day soon": -1, "99999999999 days": -1,
	} {
		got, ok := parseRetention(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestWhatColumnsKeepIsHiddenFromReaders(t *testing.T) {
	m := &Metadata{Configuration: map[string]string{mappingMode: "name"}}
	f := plan.Col("a", plan.Struct(plan.Col("b", plan.Int))).WithComment("c").With(plan.DefaultMark, `"1"`)
	mapped := m.MapColumns(plan.Struct(f), true)
	testkit.Diff(t, "last id", m.Configuration[maxColumnID], "2")
	if got := Visible(mapped).Fields[0]; got.Comment() != "c" || got.Entry(plan.DefaultMark) != "1" ||
		got.Has(columnID) || got.Type.Fields[0].Metadata != "" {
		t.Errorf("readers see %s", Visible(mapped).JSON())
	}
	again := m.MapColumns(mapped, false)
	testkit.Diff(t, "mapped twice", again.JSON(), mapped.JSON())
}
