package kafka

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
)

// parseOffsets reads {"topic":{"partition":offset}}.
func parseOffsets(text string) (client.Offsets, error) {
	offsets, ok := partitionNumbers(text)
	if !ok {
		return nil, plan.IllegalArgument(
			`Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got %s`, text)
	}
	return offsets, nil
}

// parseTimes is parseOffsets for times in milliseconds.
func parseTimes(text string) (client.Offsets, error) {
	times, ok := partitionNumbers(text)
	if !ok {
		return nil, plan.IllegalArgument("Expected e.g. {\"topicA\": {\"0\": 123456789, \"1\": 123456789},\n"+
			"\"topicB\": {\"0\": 123456789, \"1\": 123456789}}, got %s", text)
	}
	return times, nil
}

func partitionNumbers(text string) (client.Offsets, bool) {
	var read map[string]map[int32]int64
	if json.Unmarshal([]byte(text), &read) != nil || read == nil {
		return nil, false
	}
	out := client.Offsets{}
	for topic, numbers := range read {
		if numbers == nil {
			return nil, false
		}
		for number, n := range numbers {
			out[client.Partition{Topic: topic, Number: number}] = n
		}
	}
	return out, true
}

// parseAssigned reads {"topic":[partition,…]}.
func parseAssigned(text string) ([]client.Partition, error) {
	var read map[string][]int32
	if json.Unmarshal([]byte(text), &read) != nil || read == nil {
		return nil, plan.IllegalArgument(`Expected e.g. {"topicA":[0,1],"topicB":[0,1]}, got %s`, text)
	}
	var out []client.Partition
	for topic, numbers := range read {
		for _, number := range numbers {
			out = append(out, client.Partition{Topic: topic, Number: number})
		}
	}
	slices.SortFunc(out, client.Compare)
	return slices.Compact(out), nil
}

// offsetText is the offsets as Spark writes them, byte for byte: topics and
// partitions stand in the order of a hash table of Scala, into which they were
// put sorted.
func offsetText(offsets client.Offsets) connector.Offset {
	sorted := offsets.Partitions()
	var topics scalaTable[string]
	parts := map[string]*scalaTable[int32]{}
	for _, p := range sorted {
		t := parts[p.Topic]
		if t == nil {
			t = &scalaTable[int32]{}
			parts[p.Topic] = t
		}
		t.put(p.Number, p.Number)
		topics.put(p.Topic, javaStringHash(p.Topic))
	}
	b := []byte{'{'}
	for i, topic := range topics.keys() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSONName(b, topic), '{')
		for j, number := range parts[topic].keys() {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = strconv.AppendInt(b, int64(number), 10)
			b = append(b, '"', ':')
			b = strconv.AppendInt(b, offsets[client.Partition{Topic: topic, Number: number}], 10)
		}
		b = append(b, '}')
	}
	return connector.Offset(append(b, '}'))
}

// appendJSONName writes a name of an object. Kafka allows letters, digits, dots,
// dashes and underscores in topics.
func appendJSONName(b []byte, name string) []byte {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		quoted, err := json.Marshal(name)
		if err != nil {
			panic(err) // a string always marshals
		}
		return append(append(b, quoted...), ':')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// scalaTable is the order of scala.collection.mutable.HashMap: 16 buckets, twice
// as many when a put finds three quarters full, hashes ascending in a bucket.
type scalaTable[K comparable] struct {
	entries []scalaEntry[K]
	buckets int32
}

type scalaEntry[K comparable] struct {
	key  K
	hash int32
}

func (t *scalaTable[K]) put(key K, hash int32) {
	t.buckets = max(t.buckets, 16)
	if len(t.entries)+1 >= int(t.buckets)*3/4 {
		t.buckets *= 2
	}
	// Keys come sorted: one that is there already came last.
	if n := len(t.entries); n > 0 && t.entries[n-1].key == key {
		return
	}
	t.entries = append(t.entries, scalaEntry[K]{key, hash ^ int32(uint32(hash)>>16)})
}

func (t *scalaTable[K]) keys() []K {
	sorted := slices.Clone(t.entries)
	bucket := func(e scalaEntry[K]) int32 { return e.hash & (t.buckets - 1) }
	slices.SortStableFunc(sorted, func(a, b scalaEntry[K]) int {
		return cmp.Or(cmp.Compare(bucket(a), bucket(b)), cmp.Compare(a.hash, b.hash))
	})
	keys := make([]K, len(sorted))
	for i, e := range sorted {
		keys[i] = e.key
	}
	return keys
}

// javaStringHash is Java's hashCode of a string.
func javaStringHash(s string) int32 {
	h := int32(0)
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(unit)
	}
	return h
}

// setText is a set of partitions as Scala prints it.
func setText(of []client.Partition) string {
	names := make([]string, len(of))
	for i, p := range of {
		names[i] = p.String()
	}
	return "Set(" + strings.Join(names, ", ") + ")"
}

// samePartitions tells whether two maps are about the same partitions.
func samePartitions(a, b client.Offsets) bool {
	if len(a) != len(b) {
		return false
	}
	for p := range a {
		if _, ok := b[p]; !ok {
			return false
		}
	}
	return true
}
