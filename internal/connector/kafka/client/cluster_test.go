package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-dev/weir/internal/testkit"
)

// broker is a cluster in this process.
type broker struct {
	t testing.TB
	*kfake.Cluster
	client *kgo.Client
}

func newBroker(t testing.TB, opts ...kfake.Opt) *broker {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); c.Close() })
	return &broker{t, c, client}
}

// fill writes count records into a partition, in record batches of size.
func (b *broker) fill(topic string, partition int32, count, size int) {
	b.t.Helper()
	for from := 0; from < count; from += size {
		var records []*kgo.Record
		for i := from; i < min(from+size, count); i++ {
			value := fmt.Appendf(nil, "v%d", i)
			records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: value})
		}
		if err := b.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *broker) config(more ...string) Config {
	settings := map[string]string{"bootstrap.servers": strings.Join(b.ListenAddrs(), ",")}
	for i := 0; i+1 < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return Config{Settings: settings}
}

func (b *broker) open(patience Patience, more ...string) *Cluster {
	b.t.Helper()
	c, err := Open(b.config(more...), patience)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

// reading is a fetcher of values that knows the topics.
func (b *broker) reading(c *Cluster, limits Limits, topics ...string) *Fetcher {
	b.t.Helper()
	if _, err := c.Topics(context.Background(), topics); err != nil {
		b.t.Fatal(err)
	}
	f := c.NewFetcher([]Column{ColumnValue}, limits)
	b.t.Cleanup(f.Close)
	return f
}

// read reads a range to its end.
func read(t testing.TB, f *Fetcher, r Range) ([]string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	values := []string{}
	for at := r.From; at < r.To; {
		c, upTo, err := f.Next(ctx, r, at)
		if err != nil {
			return values, err
		}
		for i := 0; c.Chunk != nil && i < c.Rows; i++ {
			values = append(values, c.Cols[0].Text(i))
		}
		at = upTo
	}
	return values, nil
}

// await waits until a condition on a fetcher holds, which it looks at when a
// lane has changed.
func await(t testing.TB, f *Fetcher, holds func() bool) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		f.mu.Lock()
		ok, moved := holds(), f.moved
		f.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-moved:
		case <-limit:
			t.Fatal("it does not come to hold")
		}
	}
}

func sequence(from, to int) []string {
	out := []string{}
	for i := from; i < to; i++ {
		out = append(out, "v"+strconv.Itoa(i))
	}
	return out
}

func check(t *testing.T, f *Fetcher, p Partition, from, to int) {
	t.Helper()
	r := Range{Partition: p, From: int64(from), To: int64(to)}
	f.Begin([]Range{r})
	got, err := read(t, f, r)
	if err != nil {
		t.Fatalf("[%d, %d): %v", from, to, err)
	}
	testkit.Diff(t, fmt.Sprintf("values of [%d, %d)", from, to), got, sequence(from, to))
}

// fetches counts the fetch requests that reach the cluster.
func (b *broker) fetches() *kfake.FaultHandle {
	return b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
}

func TestRangesAreCutOutOfRecordBatches(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	b.fill("t", 0, 5000, 2500)
	f := b.reading(b.open(Patience{}), Limits{}, "t")
	p := Partition{"t", 0}
	check(t, f, p, 0, 10)
	check(t, f, p, 10, 2600) // over the border of record batches and of chunks
	check(t, f, p, 5, 6)     // back
	check(t, f, p, 4000, 5000)
	check(t, f, p, 0, 5000)
}

// What was fetched too early is kept: small ranges of a large record batch cost
// one request.
func TestSmallRangesCostNoRequests(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	b.fill("t", 0, 1000, 1000)
	f := b.reading(b.open(Patience{}), Limits{}, "t")
	count := b.fetches()
	defer count.Remove()
	for from := 0; from < 1000; from += 10 {
		check(t, f, Partition{"t", 0}, from, from+10)
	}
	if n := count.Hits(); n > 2 {
		t.Errorf("100 ranges cost %d requests", n)
	}
}

func TestRecordsAreFetchedBeforeTheyAreAskedFor(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	b.fill("t", 0, 20, 10)
	f := b.reading(b.open(Patience{}), Limits{}, "t")
	p := Partition{"t", 0}
	check(t, f, p, 0, 10)
	f.Ahead(Offsets{p: 20, {"other", 0}: 5})
	count := b.fetches()
	defer count.Remove()
	await(t, f, func() bool { return f.lane(p).next == 20 })
	before := count.Hits()
	check(t, f, p, 10, 20)
	if n := count.Hits() - before; n != 0 {
		t.Errorf("%d requests after it was there", n)
	}
}

// What is held for later is bounded, and the partition that is read goes on all
// the same.
func TestWhatIsHeldIsBounded(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(3, "t"))
	const records = 3000
	var ranges []Range
	for p := range int32(3) {
		b.fill("t", p, records, 500)
		ranges = append(ranges, Range{Partition: Partition{"t", p}, To: records, Part: int(p)})
	}
	limits := Limits{Held: 30_000, Partition: 4000}
	f := b.reading(b.open(Patience{}), limits, "t")
	f.Begin(ranges)
	most := int64(0)
	for _, r := range ranges {
		for at := int64(0); at < r.To; {
			f.mu.Lock()
			most = max(most, f.held)
			f.mu.Unlock()
			c, upTo, err := f.Next(t.Context(), r, at)
			if err != nil {
				t.Fatal(err)
			}
			if c.Chunk != nil && c.Part != r.Part {
				t.Errorf("part is %d, want %d", c.Part, r.Part)
			}
			at = upTo
		}
	}
	// One answer may come on top for each partition.
	if bound := limits.Held + 3*40_000; most > bound {
		t.Errorf("%d bytes were held, the bound is %d", most, bound)
	}
	if f.held != 0 {
		t.Errorf("%d bytes are held though all is read", f.held)
	}
}

// A last record that is a marker, and records that were aborted, end no range too
// early and hold none up.
func TestTransactions(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	tx, err := OpenProducer(b.config(), "tx")
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	send := func(commit bool, values ...string) {
		t.Helper()
		must(t, tx.Begin())
		for _, v := range values {
			must(t, tx.Send(t.Context(), []Message{{Topic: "t", Value: []byte(v)}}))
		}
		must(t, tx.Flush(t.Context()))
		if commit {
			must(t, tx.Commit(t.Context(), "", 0))
		} else {
			must(t, tx.Abort(t.Context()))
		}
	}
	send(true, "c1", "c2")
	send(false, "x1", "x2", "x3")
	send(true, "c3")
	r := Range{Partition: Partition{"t", 0}, To: 9}
	for level, want := range map[string][]string{
		"read_committed": {"c1", "c2", "c3"}, "read_uncommitted": {"c1", "c2", "x1", "x2", "x3", "c3"},
	} {
		c := b.open(Patience{}, "isolation.level", level)
		end, err := c.ListAll(t.Context(), []Partition{r.Partition}, Latest)
		if err != nil || end[r.Partition] != 9 {
			t.Fatalf("%s: the end is %v (%v)", level, end, err)
		}
		f := b.reading(c, Limits{}, "t")
		f.Begin([]Range{r})
		got, err := read(t, f, r)
		must(t, err)
		testkit.Diff(t, level, got, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOffsetsOfPlaces(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(2, "t"))
	for i := range 5 {
		r := &kgo.Record{Topic: "t", Timestamp: time.UnixMilli(1_000_000 + int64(i)*1000)}
		must(t, b.client.ProduceSync(t.Context(), r).FirstErr())
	}
	must(t, b.DeleteRecords("t", 0, 1))
	c := b.open(Patience{})
	zero, one := Partition{"t", 0}, Partition{"t", 1}
	for _, test := range []struct{ places, want Offsets }{
		{Offsets{zero: Latest, one: Latest}, Offsets{zero: 5, one: 0}},
		{Offsets{zero: Earliest, one: Earliest}, Offsets{zero: 1, one: 0}},
		{Offsets{zero: 1_002_500, one: 0}, Offsets{zero: 3, one: -1}},
		{Offsets{zero: 2_000_000}, Offsets{zero: -1}},
		{Offsets{}, Offsets{}},
	} {
		got, err := c.List(t.Context(), test.places)
		must(t, err)
		testkit.Diff(t, "offsets", got, test.want)
	}
	if _, err := c.ListAll(t.Context(), []Partition{{"t", 9}}, Latest); !errors.Is(err, ErrMissing) {
		t.Errorf("a partition that is none: %v", err)
	}
	found, err := c.Topics(t.Context(), []string{"t", "nope"})
	if err != nil || len(found) != 1 || len(found["t"].Leaders) != 2 {
		t.Errorf("topics %v (%v)", found, err)
	}
}

func TestRangesThatAreNotThere(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t", "gone", "again", "short"))
	for _, topic := range []string{"t", "gone", "again", "short"} {
		b.fill(topic, 0, 10, 10)
	}
	must(t, b.DeleteRecords("t", 0, 5))
	f := b.reading(b.open(Patience{Within: time.Minute}), Limits{Empty: time.Nanosecond, Wait: time.Millisecond},
		"t", "gone", "again", "short")
	must(t, b.DeleteTopic("gone"))
	must(t, b.DeleteTopic("again"))
	must(t, b.CreateTopic("again", 1, nil))
	var outOfRange *OutOfRangeError
	tests := []struct {
		topic    string
		from, to int64
		is       func(error) bool
	}{
		{"t", 2, 10, func(err error) bool { return errors.As(err, &outOfRange) && outOfRange.Offset == 2 }},
		{"t", 20, 30, func(err error) bool { return errors.As(err, &outOfRange) }},
		{"gone", 0, 10, func(err error) bool { return errors.Is(err, ErrMissing) }},
		{"again", 0, 10, func(err error) bool { return errors.Is(err, ErrRecreated) }},
		{"short", 5, 15, func(err error) bool { return errors.Is(err, ErrEmpty) }},
	}
	for _, test := range tests {
		r := Range{Partition: Partition{test.topic, 0}, From: test.from, To: test.to}
		f.Begin([]Range{r})
		got, err := read(t, f, r)
		if !test.is(err) {
			t.Errorf("%s [%d, %d): got %v, %v", test.topic, test.from, test.to, got, err)
		}
	}
	check(t, f, Partition{"t", 0}, 5, 10) // where it begins now
}

// An outage is waited for and told, and nothing is lost by it.
func TestOutagesAreWaitedFor(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	b.fill("t", 0, 10, 10)
	told := make(chan error, 100)
	c := b.open(Patience{Within: time.Minute, Waiting: func(why error) {
		select {
		case told <- why:
		default:
		}
	}})
	f := b.reading(c, Limits{}, "t")
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata} {
		b.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.NotLeaderForPartition, Count: 3})
	}
	end, err := c.ListAll(t.Context(), []Partition{{"t", 0}}, Latest)
	if err != nil || end[Partition{"t", 0}] != 10 {
		t.Errorf("the end is %v (%v)", end, err)
	}
	check(t, f, Partition{"t", 0}, 0, 10)
	if len(told) == 0 {
		t.Error("nobody was told")
	}
}

func TestALeaderMovesWhileItIsReadFrom(t *testing.T) {
	b := newBroker(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "t"))
	b.fill("t", 0, 100, 10)
	f := b.reading(b.open(Patience{Within: time.Minute}), Limits{}, "t")
	p := Partition{"t", 0}
	for from := 0; from < 100; from += 10 {
		must(t, b.MoveTopicPartition("t", 0, int32(from/10%3)))
		check(t, f, p, from, from+10)
	}
}

// A broker that is gone is not even in the client's list any more, while what was
// learnt of leaders still names it.
func TestALeaderGoesAwayWhileItIsReadFrom(t *testing.T) {
	b := newBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"))
	must(t, b.MoveTopicPartition("t", 0, 1))
	c := b.open(Patience{Within: time.Minute})
	f := b.reading(c, Limits{}, "t")
	must(t, b.RemoveNode(1))
	_, err := kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), c.client)
	must(t, err)
	b.fill("t", 0, 10, 10)
	check(t, f, Partition{"t", 0}, 0, 10)
}

// A stop does not wait for a broker that hangs.
func TestClosingDoesNotWaitForBrokers(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	b.fill("t", 0, 10, 10)
	f := b.reading(b.open(Patience{Within: time.Hour}), Limits{}, "t")
	hung := make(chan struct{})
	reached := make(chan struct{}, 10)
	b.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		reached <- struct{}{}
		b.SleepControl(func() { <-hung })
		return nil, nil, false
	})
	defer close(hung)
	r := Range{Partition: Partition{"t", 0}, To: 10}
	f.Begin([]Range{r})
	<-reached
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped")
	cancel(why)
	if _, _, err := f.Next(ctx, r, 0); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	f.Close()
}

func TestQuestionsEndWhenTheirAskerDoes(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	c := b.open(Patience{Within: time.Hour})
	hung, reached := make(chan struct{}), make(chan struct{}, 10)
	defer close(hung)
	b.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		reached <- struct{}{}
		b.SleepControl(func() { <-hung })
		return nil, nil, false
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped")
	go func() { <-reached; cancel(why) }()
	if _, err := c.ListAll(ctx, []Partition{{"t", 0}}, Latest); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestOffsetsAreCommittedToAGroup(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(2, "t"))
	c := b.open(Patience{})
	if _, err := c.Topics(t.Context(), []string{"t"}); err != nil {
		t.Fatal(err)
	}
	must(t, c.CommitGroup(t.Context(), "lag", Offsets{{"t", 0}: 7, {"t", 1}: 9}))
	got := map[int32]int64{}
	for number, commit := range b.GroupInfo("lag").Commits["t"] {
		got[number] = commit.Offset
	}
	testkit.Diff(t, "offsets of the group", got, map[int32]int64{0: 7, 1: 9})
}
