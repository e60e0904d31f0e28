package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-dev/weir/internal/testkit"
)

func (b *broker) producer(id string, more ...string) *Producer {
	b.t.Helper()
	p, err := OpenProducer(b.config(more...), id)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(p.Close)
	return p
}

// content is what the library's consumer reads of a topic.
func (b *broker) content(topic string, level kgo.IsolationLevel, partitions int) []*kgo.Record {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.ListenAddrs()...), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(level), kgo.KeepControlRecords())
	must(b.t, err)
	defer client.Close()
	left := map[int32]int64{}
	for p := range int32(partitions) {
		if end := b.PartitionInfo(topic, p).HighWatermark; end > 0 {
			left[p] = end
		}
	}
	var records []*kgo.Record
	for len(left) > 0 {
		fetches := client.PollFetches(context.Background())
		for _, r := range fetches.Records() {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				records = append(records, r)
			}
		}
	}
	slices.SortStableFunc(records, func(x, y *kgo.Record) int {
		return Compare(Partition{Number: x.Partition}, Partition{Number: y.Partition})
	})
	return records
}

func (b *broker) values(topic string) []string {
	var values []string
	for _, r := range b.content(topic, kgo.ReadCommitted(), 1) {
		values = append(values, string(r.Value))
	}
	return values
}

func TestMessagesGoWhereTheySay(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(3, "t"))
	p := b.producer("")
	must(t, p.Send(t.Context(), []Message{
		{Topic: "t", Partition: 2, Key: []byte("k"), Value: []byte("a")},
		{Topic: "t", Partition: 0, Key: []byte("k"), Headers: []Header{{"h", []byte("1")}, {"h", nil}}},
		// By kafka-clients' Utils.murmur2 these belong to partitions 1 and 2 of 3.
		{Topic: "t", Partition: AnyPartition, Key: []byte("key"), Value: []byte{}},
		{Topic: "t", Partition: AnyPartition, Key: []byte("ключ"), Value: []byte("b")},
	}))
	must(t, p.Flush(t.Context()))
	var got []string
	for _, r := range b.content("t", kgo.ReadUncommitted(), 3) {
		got = append(got, fmt.Sprintf("%d %q %#v %d", r.Partition, r.Key, r.Value, len(r.Headers)))
	}
	testkit.Diff(t, "records", got, []string{
		`0 "k" []byte(nil) 2`, `1 "key" []byte{} 0`, `2 "k" []byte{0x61} 0`, `2 "ключ" []byte{0x62} 0`,
	})
}

func TestMessagesThatAreNotTaken(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	for name, m := range map[string]Message{
		"a partition that is none": {Topic: "t", Partition: 9},
		"a topic that is none":     {Topic: "nope", Partition: AnyPartition},
		"too large":                {Topic: "t", Value: make([]byte, 2<<20)},
	} {
		p := b.producer("")
		err := p.Send(t.Context(), []Message{m})
		if err == nil {
			err = p.Flush(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), "write to topic "+m.Topic) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A transaction and its mark are there together, and another producer of the
// same id takes over.
func TestTransactionsAreMarked(t *testing.T) {
	b := newBroker(t, kfake.SeedTopics(1, "t"))
	send := func(p *Producer, value string) {
		t.Helper()
		must(t, p.Begin())
		must(t, p.Send(t.Context(), []Message{{Topic: "t", Value: []byte(value)}}))
	}
	claim := func(p *Producer, want int64) {
		t.Helper()
		if mark, err := p.Claim(t.Context()); err != nil || mark != want {
			t.Fatalf("the mark is %d (%v), want %d", mark, err, want)
		}
	}
	first := b.producer("weir-q")
	claim(first, -1)
	send(first, "a")
	must(t, first.Commit(t.Context(), "t", 0))
	send(first, "aborted")
	must(t, first.Abort(t.Context()))
	send(first, "b")
	must(t, first.Commit(t.Context(), "t", 1))
	must(t, first.Begin()) // a batch without rows
	must(t, first.Commit(t.Context(), "", 2))
	send(first, "left open")
	must(t, first.Flush(t.Context()))

	second := b.producer("weir-q")
	claim(second, 1)
	send(second, "c")
	must(t, second.Commit(t.Context(), "t", 2))
	claim(second, 2)

	err := first.Commit(t.Context(), "t", 2)
	if !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.ProducerFenced) {
		t.Errorf("the older producer: %v", err)
	}
	testkit.Diff(t, "committed", b.values("t"), []string{"a", "b", "c"})
}

// A stop does not wait for a broker that took a record and says nothing.
func TestProducersCloseWhileABrokerHangs(t *testing.T) {
	for _, id := range []string{"", "weir-hung"} {
		b := newBroker(t, kfake.SeedTopics(1, "t"))
		p := b.producer(id)
		hung, reached := make(chan struct{}), make(chan struct{}, 10)
		defer close(hung)
		b.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			reached <- struct{}{}
			b.SleepControl(func() { <-hung })
			return nil, nil, false
		})
		if id != "" {
			must(t, p.Begin())
		}
		ctx, cancel := context.WithCancel(t.Context())
		must(t, p.Send(ctx, []Message{{Topic: "t", Value: []byte("v")}}))
		<-reached
		cancel()
		if err := p.Flush(ctx); err == nil {
			t.Error("nothing came and nothing is wrong")
		}
		closed := make(chan struct{})
		go func() { p.Close(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(5 * time.Second):
			t.Errorf("%q: closing waits for the broker", id)
		}
	}
}
