package kafka

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/test/conform"
)

func recordedLines(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	conform.Must(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func TestOffsetsAreSparksByteForByte(t *testing.T) {
	for _, line := range recordedLines(t, "offsets.txt") {
		offsets, err := parseOffsets(line)
		if got := string(offsetText(offsets)); err != nil || got != line {
			t.Errorf("got  %.200s (%v)\nwant %.200s", got, err, line)
		}
	}
}

// KF-06: an offset with very many partitions reads back as it was.
func TestReportKF06(t *testing.T) {
	many := client.Offsets{}
	for p := range int32(10_000) {
		many[client.Partition{Topic: "t", Number: p}] = int64(p) * 1_000_003
	}
	back, err := parseOffsets(string(offsetText(many)))
	if err != nil || !maps.Equal(back, many) {
		t.Errorf("%d offsets came back as %d (%v)", len(many), len(back), err)
	}
	rapid.Check(t, func(t *rapid.T) {
		offsets := client.Offsets(rapid.MapOf(rapid.Custom(func(t *rapid.T) client.Partition {
			return client.Partition{Topic: rapid.String().Draw(t, "topic"), Number: rapid.Int32Min(0).Draw(t,
				"number")}
		}), rapid.Int64()).Draw(t, "offsets"))
		back, err := parseOffsets(string(offsetText(offsets)))
		// JSON has no place for bytes that are no text.
		same := maps.EqualFunc(back, offsets, func(a, b int64) bool { return a == b })
		if err != nil || !same {
			t.Fatalf("%v came back as %v (%v)", offsets, back, err)
		}
	})
}

func TestRangesAreSplitAsSparkDoes(t *testing.T) {
	for _, line := range recordedLines(t, "ranges.jsonl") {
		var c struct {
			Ranges, Want [][3]int64
			Least        int
			Most         int64
		}
		conform.Must(t, json.NewDecoder(bytes.NewReader([]byte(line))).Decode(&c))
		var ranges []client.Range
		for _, r := range c.Ranges {
			if r[1] < r[2] {
				p := client.Partition{Topic: "t", Number: int32(r[0])}
				ranges = append(ranges, client.Range{Partition: p, From: r[1], To: r[2]})
			}
		}
		got := [][3]int64{}
		for i, r := range splitRanges(ranges, c.Least, c.Most) {
			if r.Part != i {
				t.Errorf("part %d stands at %d", r.Part, i)
			}
			got = append(got, [3]int64{int64(r.Number), r.From, r.To})
		}
		testkit.Diff(t, fmt.Sprintf("%v, at least %d of at most %d", c.Ranges, c.Least, c.Most), got, c.Want)
	}
}

// partitionsOf is offsets of the partitions 0, 1, … of one topic; -1 leaves one
// out.
func partitionsOf(offsets ...int64) client.Offsets {
	out := client.Offsets{}
	for p, o := range offsets {
		if o >= 0 {
			out[client.Partition{Topic: "t", Number: int32(p)}] = o
		}
	}
	return out
}

// The ends are those of a recorded run of Spark over 50, 9 and 1 records.
func TestALimitIsSharedByBacklog(t *testing.T) {
	end := partitionsOf(50, 9, 1)
	for limit, batches := range map[int64][]client.Offsets{
		10: {partitionsOf(8, 1, 1), partitionsOf(16, 2, 1), partitionsOf(24, 3, 1), partitionsOf(32, 4, 1)},
		7:  {partitionsOf(5, 1, 1), partitionsOf(10, 2, 1), partitionsOf(15, 3, 1)},
	} {
		at := partitionsOf(0, 0, 0)
		for n, want := range batches {
			at = shareLimit(limit, at, nil, end)
			testkit.Diff(t, fmt.Sprintf("limit %d, batch %d", limit, n), at, want)
		}
	}
	testkit.Diff(t, "a limit of zero", shareLimit(0, partitionsOf(0, 3), nil, partitionsOf(5, 5)),
		partitionsOf(0, 3))
	testkit.Diff(t, "a new partition", shareLimit(100, partitionsOf(0), partitionsOf(-1, 2), partitionsOf(9, 9)),
		partitionsOf(9, 9))
	testkit.Diff(t, "nothing new", shareLimit(1, partitionsOf(5), nil, partitionsOf(5)), partitionsOf(5))
	testkit.Diff(t, "an end below the start", shareLimit(1, partitionsOf(5, 0), nil, partitionsOf(2, 9)),
		partitionsOf(2, 1))
}

func TestABatchWaitsForMoreRecords(t *testing.T) {
	start, end := partitionsOf(3), partitionsOf(7)
	for _, test := range []struct {
		least  int64
		passed time.Duration
		want   bool
	}{{5, time.Second, true}, {4, time.Second, false}, {5, time.Hour, false}, {0, 0, false}} {
		if got := holdBack(test.least, start, end, test.passed, time.Hour); got != test.want {
			t.Errorf("at least %d after %s: %t", test.least, test.passed, got)
		}
	}
}

func TestLossesAreFound(t *testing.T) {
	tests := []struct {
		name              string
		start, end, first client.Offsets
		ranges            int
		losses            []string
	}{
		{"nothing lost", partitionsOf(0, 5), partitionsOf(3, 5), nil, 1, nil},
		{"a new partition from its beginning", partitionsOf(0), partitionsOf(1, 4), partitionsOf(-1, 0), 2, nil},
		{"a new partition that lost its beginning", partitionsOf(0), partitionsOf(1, 4), partitionsOf(-1, 2), 2,
			[]string{"ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO"}},
		{"a new partition that is gone", partitionsOf(0), partitionsOf(1, 4), nil, 1,
			[]string{"INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS"}},
		{"an old partition that is gone", partitionsOf(0, 3), partitionsOf(1), nil, 1,
			[]string{"PARTITIONS_DELETED"}},
		{"an end before the start", partitionsOf(6), partitionsOf(2), nil, 0, []string{"PARTITION_OFFSET_CHANGED"}},
	}
	for _, test := range tests {
		ranges, losses := ranges(facts{start: test.start, end: test.end, first: test.first})
		var got []string
		for _, loss := range losses {
			got = append(got, strings.TrimPrefix(loss.Condition, "KAFKA_DATA_LOSS."))
			if loss.State != "22000" || strings.Contains(loss.Error(), "22000") {
				t.Errorf("%s: %v", test.name, loss)
			}
		}
		testkit.Diff(t, test.name, got, test.losses)
		if len(ranges) != test.ranges {
			t.Errorf("%s: ranges %v", test.name, ranges)
		}
	}
}

// The options and their refusals are those of a recorded run; test/kafka has it
// whole.
func TestKafkaOptionsThatAreRefused(t *testing.T) {
	ok := plan.Options{"kafka.bootstrap.servers": "localhost:1", "subscribe": "t"}
	with := func(pairs ...string) plan.Options {
		o := maps.Clone(ok)
		for i := 0; i+1 < len(pairs); i += 2 {
			o[pairs[i]] = pairs[i+1]
		}
		return o
	}
	type refusal struct {
		options          plan.Options
		streaming        bool
		class, condition string
	}
	illegal, number := plan.ClassJavaIllegal, connector.ClassNumberFormat
	for name, test := range map[string]refusal{
		"taken":             {ok, true, "", ""},
		"nothing to read":   {plan.Options{"kafka.bootstrap.servers": "x:1"}, true, illegal, ""},
		"no servers":        {plan.Options{"subscribe": "t"}, true, illegal, ""},
		"two ways":          {with("subscribePattern", "a"), true, illegal, ""},
		"no topics":         {with("subscribe", " , "), true, illegal, ""},
		"partitions":        {with("minPartitions", "0"), true, illegal, ""},
		"partitions word":   {with("minPartitions", "x"), true, number, ""},
		"records":           {with("maxRecordsPerPartition", "-1"), true, illegal, ""},
		"an end":            {with("endingOffsets", "latest"), true, illegal, ""},
		"an end in a batch": {with("endingOffsets", "earliest"), false, illegal, ""},
		"start in a batch":  {with("startingOffsets", "LATEST"), false, illegal, ""},
		"order": {with("startingOffsets", `{"t":{"0":3}}`, "endingOffsets", `{"t":{"0":1}}`), false,
			classIllegal, "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET"},
		"order of times": {with("startingOffsetsByTimestamp", `{"t":{"0":3}}`,
			"endingOffsetsByTimestamp", `{"t":{"0":1}}`), false,
			classIllegal, "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET"},
		"other partitions": {with("startingOffsets", `{"t":{"0":3}}`, "endingOffsets", `{"t":{"1":1}}`), false,
			classState, "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET"},
		"limits": {with("minOffsetsPerTrigger", "9", "maxOffsetsPerTrigger", "3"), true, illegal, ""},
		"a slip": {with("weir.kafka.commitgrp", "g"), true, illegal, ""},
		"strategy": {with("startingOffsetsByTimestampStrategy", "guess"), false,
			"java.util.NoSuchElementException", ""},
		"forbidden, in another case": {with("KAFKA.Enable.Auto.Commit", "true"), true, illegal, ""},
	} {
		_, err := describe(&plan.Read{Format: "kafka", Options: test.options, Streaming: test.streaming})
		e, _ := err.(*plan.Error)
		refused := test.class != ""
		if refused != (err != nil) || refused && (e.Class != test.class || e.Condition != test.condition) {
			t.Errorf("%s: got %#v", name, err)
		}
	}
}
