package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Message is a record to be written. Its bytes are not copied and must not
// change until the next Flush or Commit.
type Message struct {
	Topic      string
	Partition  int32 // AnyPartition unless the writer chose one
	Key, Value []byte
	Headers    []Header
}

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// AnyPartition leaves the choice to the hash of the key, or, without a key, to
// the producer.
const AnyPartition int32 = -1

// Producer writes messages. One goroutine uses it.
type Producer struct {
	client *kgo.Client
	id     string // of its transactions; "" for none

	mu     sync.Mutex
	failed error // of the first message that was not taken
}

// CheckProducer refuses what Kafka's producers refuse.
func (c Config) CheckProducer() error {
	if err := c.check(numbers, nil); err != nil {
		return err
	}
	if err := c.check(producerNumbers, producerChoices); err != nil {
		return err
	}
	if acks := c.Settings["acks"]; acks == "0" || acks == "1" {
		if strings.EqualFold(c.Settings["enable.idempotence"], "true") {
			return &ConfigError{"acks", acks, "Must set acks to all in order to use the idempotent producer"}
		}
	}
	return nil
}

// OpenProducer prepares a producer; it does not connect yet. A transactional one
// writes only between Begin and Commit.
func OpenProducer(c Config, transactionalID string) (*Producer, error) {
	if err := c.CheckProducer(); err != nil {
		return nil, err
	}
	opts, err := c.connection()
	if err != nil {
		return nil, err
	}
	opts = append(opts, c.producing()...)
	if transactionalID != "" {
		opts = append(opts, c.transactional(transactionalID)...)
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("open Kafka producer: %w", err)
	}
	return &Producer{client: client, id: transactionalID}, nil
}

// producing are the settings of Kafka's producer with its defaults.
func (c Config) producing() []kgo.Opt {
	const (
		maxRequest = 1 << 20
		buffered   = 32 << 20
		records    = 1 << 17
	)
	opts := []kgo.Opt{
		kgo.AllowAutoTopicCreation(),
		kgo.RecordPartitioner(chosen{kgo.StickyKeyPartitioner(nil)}),
		kgo.ProducerLinger(c.millis("linger.ms", 0)),
		kgo.ProducerBatchMaxBytes(int32(min(c.number("max.request.size", maxRequest), maxAnswer))),
		kgo.BrokerMaxWriteBytes(maxAnswer),
		kgo.MaxBufferedRecords(records),
		kgo.MaxBufferedBytes(int(max(c.number("buffer.memory", buffered), 1))),
		kgo.RecordDeliveryTimeout(max(c.millis("delivery.timeout.ms", 2*time.Minute), time.Second)),
		kgo.ProducerBatchCompression(c.compression()...),
	}
	if _, set := c.Settings["retries"]; set {
		opts = append(opts, kgo.RecordRetries(int(c.number("retries", 0))))
	}
	acks := kgo.AllISRAcks()
	switch c.Settings["acks"] {
	case "0":
		acks = kgo.NoAck()
	case "1":
		acks = kgo.LeaderAck()
	}
	weak := acks != kgo.AllISRAcks()
	opts = append(opts, kgo.RequiredAcks(acks))
	if weak || strings.EqualFold(c.Settings["enable.idempotence"], "false") {
		opts = append(opts, kgo.DisableIdempotentWrite(),
			kgo.MaxProduceRequestsInflightPerBroker(int(c.number("max.in.flight.requests.per.connection", 1))))
	}
	return opts
}

func (c Config) compression() []kgo.CompressionCodec {
	switch strings.ToLower(c.Settings["compression.type"]) {
	case "gzip":
		return []kgo.CompressionCodec{kgo.GzipCompression()}
	case "snappy":
		return []kgo.CompressionCodec{kgo.SnappyCompression()}
	case "lz4":
		return []kgo.CompressionCodec{kgo.Lz4Compression()}
	case "zstd":
		return []kgo.CompressionCodec{kgo.ZstdCompression()}
	default:
		return []kgo.CompressionCodec{kgo.NoCompression()}
	}
}

// chosen is a partitioner that takes the partition a message names.
type chosen struct{ otherwise kgo.Partitioner }

// ForTopic implements kgo.Partitioner.
func (c chosen) ForTopic(topic string) kgo.TopicPartitioner {
	return chosenOfTopic{c.otherwise.ForTopic(topic)}
}

type chosenOfTopic struct{ kgo.TopicPartitioner }

// RequiresConsistency implements kgo.TopicPartitioner.
func (c chosenOfTopic) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition != AnyPartition || c.TopicPartitioner.RequiresConsistency(r)
}

// Partition implements kgo.TopicPartitioner.
func (c chosenOfTopic) Partition(r *kgo.Record, n int) int {
	if r.Partition != AnyPartition {
		return int(r.Partition)
	}
	return c.TopicPartitioner.Partition(r, n)
}

// Close gives up what is not written and ends every connection.
func (p *Producer) Close() { p.client.Close() }

// Send hands messages to the cluster, in order for each partition. It waits when
// too many are on their way; what became of them Flush says.
func (p *Producer) Send(ctx context.Context, messages []Message) error {
	records := make([]kgo.Record, len(messages))
	for i := range messages {
		m := &messages[i]
		r := &records[i]
		r.Topic, r.Partition, r.Key, r.Value = m.Topic, m.Partition, m.Key, m.Value
		for _, h := range m.Headers {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		p.client.Produce(ctx, r, p.done)
	}
	return p.failure()
}

func (p *Producer) done(r *kgo.Record, err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = fmt.Errorf("write to topic %s: %w", r.Topic, err)
	}
}

func (p *Producer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Flush waits until the cluster has every message, or one was not taken.
func (p *Producer) Flush(ctx context.Context) error {
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return p.failure()
}

// The time a transaction may stay open, and a coordinator waits for one that was
// left open by a process that does not come back.
const transactionTimeout = 5 * time.Minute

// transactional is a producer of transactions of the older protocol, which every
// broker since 2.5 speaks and in which offsets are added by hand.
func (c Config) transactional(id string) []kgo.Opt {
	return []kgo.Opt{
		kgo.TransactionalID(id),
		kgo.TransactionTimeout(c.millis("transaction.timeout.ms", transactionTimeout)),
		kgo.MaxVersions(kversion.V3_7_0()),
	}
}

// The mark of a transaction is an offset that is committed with it: the number
// of the batch, in a group named after the transactional id. Marks are kept as
// long as the cluster keeps offsets of groups without members.

// Claim makes this the only producer of its transactional id: transactions that
// another one left open are aborted, and that one can write no more. It returns
// the mark of the last transaction that was committed, -1 when there is none.
func (p *Producer) Claim(ctx context.Context) (int64, error) {
	if _, _, err := p.client.ProducerID(ctx); err != nil {
		return 0, fmt.Errorf("claim transactional id %s: %w", p.id, err)
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		mark, err := p.mark(ctx)
		if err == nil || !errors.Is(err, kerr.UnstableOffsetCommit) {
			return mark, err
		}
		// A transaction is about to end.
		if err := sleep(ctx, pause); err != nil {
			return 0, err
		}
	}
}

func (p *Producer) mark(ctx context.Context) (int64, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = p.id
	req.Groups = append(req.Groups, group)
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return 0, fmt.Errorf("read offsets of group %s: %w", p.id, err)
	}
	last := int64(-1)
	for i := range resp.Groups {
		err := kerr.ErrorForCode(resp.Groups[i].ErrorCode)
		if errors.Is(err, kerr.GroupIDNotFound) {
			return -1, nil
		}
		if err != nil {
			return 0, fmt.Errorf("read offsets of group %s: %w", p.id, err)
		}
		for j := range resp.Groups[i].Topics {
			for _, part := range resp.Groups[i].Topics[j].Partitions {
				if err := kerr.ErrorForCode(part.ErrorCode); err != nil {
					return 0, fmt.Errorf("read offsets of group %s: %w", p.id, err)
				}
				last = max(last, part.Offset)
			}
		}
	}
	return last, nil
}

// Begin begins a transaction.
func (p *Producer) Begin() error {
	if err := p.client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	return nil
}

// Commit makes what was sent since Begin visible, and the mark with it: both or
// neither. topic is one that was written to; with "" nothing was.
func (p *Producer) Commit(ctx context.Context, topic string, mark int64) error {
	err := p.Flush(ctx)
	if err == nil && topic != "" {
		err = p.commitMark(ctx, topic, mark)
	}
	if err != nil {
		return err
	}
	if err := p.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	return nil
}

// Abort ends the transaction, and nothing of it will be seen.
func (p *Producer) Abort(ctx context.Context) error {
	if err := p.client.AbortBufferedRecords(ctx); err != nil {
		return fmt.Errorf("abort transaction: %w", err)
	}
	if err := p.client.EndTransaction(ctx, kgo.TryAbort); err != nil {
		return fmt.Errorf("abort transaction: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = nil
	return nil
}

func (p *Producer) commitMark(ctx context.Context, topic string, mark int64) error {
	id, epoch, err := p.client.ProducerID(ctx)
	if err != nil {
		return fmt.Errorf("mark transaction: %w", err)
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = p.id, id, epoch, p.id
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group, commit.ProducerID, commit.ProducerEpoch = p.id, p.id, id, epoch
	commit.Generation = -1
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic = topic
	part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	part.Offset, part.LeaderEpoch = mark, -1
	part.Metadata = kmsg.StringPtr("batch " + strconv.FormatInt(mark, 10))
	t.Partitions = append(t.Partitions, part)
	commit.Topics = append(commit.Topics, t)

	err = retried(ctx, func() error {
		resp, err := add.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	if err != nil {
		return fmt.Errorf("mark transaction: %w", err)
	}
	err = retried(ctx, func() error {
		resp, err := commit.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		for i := range resp.Topics {
			for _, part := range resp.Topics[i].Partitions {
				if err := kerr.ErrorForCode(part.ErrorCode); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("mark transaction: %w", err)
	}
	return nil
}

// retried repeats what the coordinator cannot do at the moment.
func retried(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(time.Minute)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := try()
		if err == nil || !Passing(err) || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}
