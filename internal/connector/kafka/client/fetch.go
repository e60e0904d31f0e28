package client

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// decompressor is the client's, which refuses what becomes too large.
func (c *Cluster) decompressor() kgo.Decompressor {
	return c.client.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
}

// asked is a lane in a request.
type asked struct {
	lane   *lane
	at     Partition
	id     [16]byte
	from   int64
	seeks  int
	answer *kmsg.FetchResponseTopicPartition
	blocks []block
	next   int64
	err    error
}

// fetch reads from one broker until there is nothing more to fetch from it.
// Leader -1 stands for the partitions that have no leader: it looks for one.
func (f *Fetcher) fetch(leader int32) {
	decode := &decoder{
		columns: f.columns, committed: f.cluster.isolation == 1, inflate: f.inflate, buffers: f.buffers,
	}
	for {
		list := f.choose(leader)
		if len(list) == 0 {
			return
		}
		err := error(nil)
		if leader >= 0 {
			err = f.ask(leader, list)
		} else {
			err = kerr.LeaderNotAvailable
		}
		for i := range list {
			list[i].settle(decode, err)
		}
		if !f.keep(list) {
			continue
		}
		// Somebody else may be the leader now.
		f.look(list)
	}
}

// choose picks the lanes of a broker that are due and marks them. With none the
// broker is not busy any more.
func (f *Fetcher) choose(leader int32) []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []asked
	room := f.held < f.limits.Held
	for _, l := range f.lanes {
		if f.context.Err() == nil && l.due(room) && f.leader(l.at) == leader {
			l.fetching = true
			list = append(list, asked{lane: l, at: l.at, id: l.id, from: l.next, seeks: l.seeks})
		}
	}
	if len(list) == 0 {
		delete(f.busy, leader)
		f.start() // lanes may have moved to another broker
		return nil
	}
	// A broker sends at least one record batch of the first partition only.
	slices.SortFunc(list, func(a, b asked) int {
		if a.lane.wanted != b.lane.wanted {
			if a.lane.wanted {
				return -1
			}
			return 1
		}
		return Compare(a.at, b.at)
	})
	return list
}

// ask sends one fetch request and hands out its answer.
func (f *Fetcher) ask(leader int32, list []asked) error {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(f.limits.Wait.Milliseconds())
	req.MinBytes = 1
	req.MaxBytes = f.limits.Answer
	req.IsolationLevel = f.cluster.isolation
	for _, a := range list {
		i := slices.IndexFunc(req.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == a.at.Topic })
		if i < 0 {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = a.at.Topic, a.id
			i = len(req.Topics)
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = a.at.Number, a.from, f.limits.Partition
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	attempt, cancel := context.WithTimeout(f.context, oneAttempt+f.limits.Wait)
	defer cancel()
	got, err := f.cluster.client.Broker(int(leader)).Request(attempt, req)
	if err != nil {
		return &unansweredError{leader, err}
	}
	resp := got.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			hand(list, t, &t.Partitions[j])
		}
	}
	return nil
}

// unansweredError says that a request got no answer: the broker is gone, even from the
// client's list of them, or cannot be reached. Another one may serve its partitions soon.
type unansweredError struct {
	broker int32
	cause  error
}

// Error names the broker.
func (e *unansweredError) Error() string { return fmt.Sprintf("broker %d: %v", e.broker, e.cause) }

// Unwrap gives the cause.
func (e *unansweredError) Unwrap() error { return e.cause }

func hand(list []asked, t *kmsg.FetchResponseTopic, p *kmsg.FetchResponseTopicPartition) {
	for i := range list {
		a := &list[i]
		named := a.at.Topic == t.Topic || t.Topic == "" && a.id == t.TopicID
		if named && a.at.Number == p.Partition {
			a.answer = p
		}
	}
}

// settle finds out what an answer means.
func (a *asked) settle(d *decoder, err error) {
	a.next = a.from
	switch {
	case err != nil:
		a.err = err
	case a.answer == nil:
		a.err = fmt.Errorf("the broker did not answer for partition %s", a.at)
	case a.answer.ErrorCode != 0:
		a.err = kerr.ErrorForCode(a.answer.ErrorCode)
	default:
		a.blocks, a.next, a.err = d.decode(a.at, a.from, a.answer)
	}
}

// keep stores what was fetched and tells whether the cluster should be asked
// again who serves what.
func (f *Fetcher) keep(list []asked) (look bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range list {
		a := &list[i]
		l := a.lane
		if l.seeks != a.seeks {
			continue // K3
		}
		l.fetching = false
		if a.err != nil {
			look = f.failed(a) || look
			continue
		}
		l.failing, l.gone = time.Time{}, 0
		f.progressed(l, a.next)
		l.blocks = append(l.blocks, a.blocks...)
		for _, b := range a.blocks {
			f.held += b.bytes
		}
	}
	f.changed()
	return look
}

// progressed moves a lane on. Answers that do not move it for long end it.
func (f *Fetcher) progressed(l *lane, next int64) {
	switch {
	case next > l.next:
		l.empty = time.Time{}
	case l.empty.IsZero():
		l.empty = time.Now()
	case time.Since(l.empty) > f.limits.Empty:
		f.fail(l, ErrEmpty)
	}
	l.next = next
}

// A partition that the cluster does not know so many times in a row is gone;
// a topic that was just made is not known to every broker yet.
const goneAfter = 10

// failed notes an error. It tells whether asking the cluster may help.
func (f *Fetcher) failed(a *asked) (look bool) {
	l := a.lane
	switch {
	case a.err == kerr.OffsetOutOfRange:
		f.fail(l, &OutOfRangeError{a.at, a.from})
		return false
	case missing(a.err):
		return !f.vanishing(l)
	case !Passing(a.err):
		f.fail(l, a.err)
		return false
	}
	if l.failing.IsZero() {
		l.failing = time.Now()
	}
	if time.Since(l.failing) > f.cluster.patience.Within {
		f.fail(l, a.err)
		return false
	}
	f.cluster.wait(a.err)
	return true
}

// vanishing counts how often a partition was not known, and ends its lane when
// it is gone.
func (f *Fetcher) vanishing(l *lane) (gone bool) {
	if l.gone++; l.gone < goneAfter {
		return false
	}
	f.fail(l, ErrMissing)
	return true
}

// look asks the cluster again about the topics of a request that failed.
func (f *Fetcher) look(list []asked) {
	const pause = 100 * time.Millisecond
	if sleep(f.context, pause) != nil {
		return
	}
	names := map[string]bool{}
	for _, a := range list {
		names[a.at.Topic] = true
	}
	asking := make([]string, 0, len(names))
	for name := range names {
		asking = append(asking, name)
	}
	attempt, cancel := context.WithTimeout(f.context, oneAttempt)
	defer cancel()
	found, err := f.cluster.describe(attempt, asking)
	if err != nil {
		return // the next round asks again
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.changed()
	for _, a := range list {
		topic := found[a.at.Topic]
		switch {
		case a.lane.seeks != a.seeks:
		case topic == nil:
			f.vanishing(a.lane)
		case topic.ID != a.id:
			f.fail(a.lane, ErrRecreated) // K4
		}
	}
}
