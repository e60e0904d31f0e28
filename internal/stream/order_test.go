package stream

import "testing"

// Entries of the offset log that may follow each other, and those that may not.
func TestOrderOfOffsets(t *testing.T) {
	at := func(timestampMs int64, e *offsetEntry) *offsetEntry { e.timestampMs = timestampMs; return e }
	watermark := func(ms int64, e *offsetEntry) *offsetEntry { e.watermarkMs = ms; return e }
	const kafka, kafkaLater = `{"t":{"0":5,"1":3}}`, `{"t":{"0":5,"1":4}}`
	const delta, deltaLater = `{"reservoirVersion":3,"index":7}`, `{"reservoirVersion":4,"index":-1}`
	cases := []struct {
		name          string
		before, after *offsetEntry
		refused       bool
	}{
		{"the first batch", nil, entry("1"), false},
		{"a later batch", at(900, entry("1")), entry("2"), false},
		{"a batch without data", at(900, entry("1")), entry("1"), false},
		{"a batch without data, for the watermark", entry("1"), watermark(8, entry("1")), false},
		{"the clock was set back", entry(kafka), at(900, entry(kafkaLater)), false},
		{"the clock was set back, one part goes down as another goes up", entry(delta),
			at(900, entry(deltaLater)), false},
		{"the clock was set back before a batch without data", entry("1"), at(900, entry("1")), false},
		{"the clock was set back and a partition is new", entry(`{"t":{"0":5}}`), at(900, entry(kafka)), false},
		{"a topic was made anew", at(900, entry(kafkaLater)), entry(kafka), false},
		{"one of two sources goes on", entry("1", "5"), at(900, entry("1", "6")), false},
		{"a source has its first rows", entry(""), at(900, entry("1")), false},

		{"a copy of the entry before", entry(kafka), entry(kafka), true},
		{"a copy of the entry before with two sources", entry("1", "5"), entry("1", "5"), true},
		{"a copy of an older entry", entry(kafkaLater), at(900, entry(kafka)), true},
		{"a copy of one with a partition less", entry(kafka), at(900, entry(`{"t":{"0":5}}`)), true},
		{"a copy of one when a source had nothing", entry("1", "5"), at(900, entry("1", "")), true},
		{"a copy of an older version of a table", entry(deltaLater), at(900, entry(`{"reservoirVersion":3,"index":-1}`)),
			true},
	}
	for _, c := range cases {
		if err := checkOrder(c.before, c.after, 8); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The entry before the newest is where a batch that runs again begins.
func TestOrderOfTheEntryBefore(t *testing.T) {
	older := entry("1")
	older.timestampMs = 900
	f := found{newest: 9, offsets: entry("3"), before: older, earlier: entry("2"), commits: 8}
	_, err := resume(f, []string{""})
	const want = "offsets/8 is a copy of an older batch's: nothing in it is later than offsets/7, and what batch 8 " +
		"read is lost. Restore the file from a copy of the checkpoint, or start with a new checkpoint."
	if text := errorText(err); text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
