package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Patience is how long a cluster that does not answer is asked again.
type Patience struct {
	// Within bounds a question, its repetitions included.
	Within time.Duration
	// Waiting is told each time when a question is asked again, from whichever
	// goroutine asked it; nil for nobody.
	Waiting func(why error)
}

// Cluster answers questions about topics. Any goroutine may ask.
type Cluster struct {
	client    *kgo.Client
	config    Config
	patience  Patience
	isolation int8

	mu     sync.Mutex
	topics map[string]*Topic // as of the newest answer
}

// Topic is a topic as the cluster describes it.
type Topic struct {
	Name string
	// ID differs between a topic and another one made later under its name; zero
	// on brokers that do not know it.
	ID [16]byte
	// Leaders are the brokers that serve the partitions, by number; -1 for a
	// partition that has none at the moment.
	Leaders []int32
	// Internal topics are the cluster's own.
	Internal bool
}

// ErrMissing says that a topic or a partition of it does not exist.
var ErrMissing = errors.New("no such topic or partition")

// Open prepares a client. It does not connect yet.
func Open(c Config, patience Patience) (*Cluster, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("open Kafka client: %w", err)
	}
	cl := &Cluster{client: client, config: c, patience: patience, topics: map[string]*Topic{}}
	if c.Committed() {
		cl.isolation = 1
	}
	return cl, nil
}

// Close ends every connection. What is being asked fails.
func (c *Cluster) Close() { c.client.Close() }

// Topics describes the topics of the given names, or every one for nil.
// Topics that do not exist are missing from the answer.
func (c *Cluster) Topics(ctx context.Context, names []string) (map[string]*Topic, error) {
	var found map[string]*Topic
	err := c.persist(ctx, func(ctx context.Context) (err error) {
		found, err = c.describe(ctx, names)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	return found, nil
}

func (c *Cluster) describe(ctx context.Context, names []string) (map[string]*Topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	if names != nil {
		req.Topics = make([]kmsg.MetadataRequestTopic, len(names))
	}
	for i, name := range names {
		req.Topics[i] = kmsg.NewMetadataRequestTopic()
		req.Topics[i].Topic = kmsg.StringPtr(name)
	}
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return nil, err
	}
	found := make(map[string]*Topic, len(resp.Topics))
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || t.ErrorCode == kerr.UnknownTopicOrPartition.Code {
			continue
		}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && t.ErrorCode != kerr.LeaderNotAvailable.Code {
			return nil, fmt.Errorf("topic %s: %w", *t.Topic, err)
		}
		found[*t.Topic] = describedTopic(t)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, t := range found {
		c.topics[name] = t
	}
	for _, name := range names {
		if found[name] == nil {
			delete(c.topics, name)
		}
	}
	return found, nil
}

func describedTopic(t *kmsg.MetadataResponseTopic) *Topic {
	topic := &Topic{Name: *t.Topic, ID: t.TopicID, Internal: t.IsInternal}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		if p.Partition < 0 || int(p.Partition) > len(t.Partitions) {
			continue
		}
		for int(p.Partition) >= len(topic.Leaders) {
			topic.Leaders = append(topic.Leaders, -1)
		}
		topic.Leaders[p.Partition] = p.Leader
		if p.ErrorCode == kerr.LeaderNotAvailable.Code {
			topic.Leaders[p.Partition] = -1
		}
	}
	return topic
}

// Known is a topic as described last, nil when it was not asked about or does
// not exist.
func (c *Cluster) Known(name string) *Topic {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.topics[name]
}

// List resolves places in partitions to offsets: Latest, Earliest, or a time in
// milliseconds, which is the first record of that time or later; -1 when there
// is none. ErrMissing when a partition does not exist.
func (c *Cluster) List(ctx context.Context, places Offsets) (Offsets, error) {
	if len(places) == 0 {
		return Offsets{}, nil
	}
	var found Offsets
	err := c.persist(ctx, func(ctx context.Context) (err error) {
		found, err = c.list(ctx, places)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	return found, nil
}

// ListAll is List with one place for all partitions.
func (c *Cluster) ListAll(ctx context.Context, of []Partition, place int64) (Offsets, error) {
	places := make(Offsets, len(of))
	for _, p := range of {
		places[p] = place
	}
	return c.List(ctx, places)
}

// Peek is ListAll asked once: an outage is an error.
func (c *Cluster) Peek(ctx context.Context, of []Partition, place int64) (Offsets, error) {
	places := make(Offsets, len(of))
	for _, p := range of {
		places[p] = place
	}
	found, err := c.list(ctx, places)
	if err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	return found, nil
}

func (c *Cluster) list(ctx context.Context, places Offsets) (Offsets, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.IsolationLevel = c.isolation
	at := map[string]int{}
	for p, place := range places {
		i, ok := at[p.Topic]
		if !ok {
			i = len(req.Topics)
			at[p.Topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = p.Topic
			req.Topics = append(req.Topics, t)
		}
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp = p.Number, place
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, part)
	}
	resp, err := req.RequestWith(ctx, c.client)
	if missing(err) {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if err != nil {
		return nil, err
	}
	found := make(Offsets, len(places))
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			at := Partition{resp.Topics[i].Topic, p.Partition}
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				if missing(err) {
					err = fmt.Errorf("%w: %w", ErrMissing, err)
				}
				return nil, fmt.Errorf("partition %s: %w", at, err)
			}
			found[at] = p.Offset
		}
	}
	for p := range places {
		if _, ok := found[p]; !ok {
			return nil, fmt.Errorf("partition %s: %w", p, ErrMissing)
		}
	}
	return found, nil
}

const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
	oneAttempt = 10 * time.Second
)

// persist tries until an answer came, the cause is not one that passes, or
// patience has ended.
func (c *Cluster) persist(ctx context.Context, try func(context.Context) error) error {
	deadline := time.Now().Add(c.patience.Within)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		attempt, cancel := context.WithTimeout(ctx, oneAttempt)
		err := try(attempt)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !Passing(err) || time.Now().Add(pause).After(deadline):
			return err
		}
		c.wait(err)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (c *Cluster) wait(why error) {
	if c.patience.Waiting != nil {
		c.patience.Waiting(why)
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// missing tells whether an error says that the partition is not there.
func missing(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) ||
		errors.Is(err, kerr.InconsistentTopicID)
}

// Passing tells whether an error may go by itself: the cluster cannot be
// reached, or is between two leaders.
func Passing(err error) bool {
	if missing(err) || errors.Is(err, ErrMissing) {
		return false
	}
	var kafka *kerr.Error
	if errors.As(err, &kafka) {
		return kafka.Retriable
	}
	var unanswered *unansweredError
	var network net.Error
	return errors.As(err, &unanswered) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || kgo.IsRetryableBrokerErr(err)
}

// CommitGroup stores offsets under the name of a consumer group that has no
// members, for others to see how far a query is.
func (c *Cluster) CommitGroup(ctx context.Context, group string, offsets Offsets) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	at := map[string]int{}
	for _, p := range offsets.Partitions() {
		i, ok := at[p.Topic]
		if !ok {
			i = len(req.Topics)
			at[p.Topic] = i
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = p.Topic
			if known := c.Known(p.Topic); known != nil {
				t.TopicID = known.ID
			}
			req.Topics = append(req.Topics, t)
		}
		part := kmsg.NewOffsetCommitRequestTopicPartition()
		part.Partition, part.Offset, part.LeaderEpoch = p.Number, offsets[p], -1
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, part)
	}
	attempt, cancel := context.WithTimeout(ctx, oneAttempt)
	defer cancel()
	resp, err := req.RequestWith(attempt, c.client)
	if err != nil {
		return fmt.Errorf("commit offsets to group %s: %w", group, err)
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if err := kerr.ErrorForCode(resp.Topics[i].Partitions[j].ErrorCode); err != nil {
				return fmt.Errorf("commit offsets to group %s: %w", group, err)
			}
		}
	}
	return nil
}
