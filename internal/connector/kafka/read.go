package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
)

// find asks the cluster which partitions are to be read, sorted.
func (t *topics) find(ctx context.Context, c *client.Cluster) ([]client.Partition, error) {
	names := t.names
	if t.kind == patternKey {
		names = nil
	}
	found, err := c.Topics(ctx, names)
	if err != nil {
		return nil, err
	}
	var out []client.Partition
	switch t.kind {
	case assignKey:
		return t.assigned, nil
	case subscribeKey:
		for _, name := range t.names {
			if found[name] == nil {
				return nil, missingTopic(name)
			}
		}
	}
	for name, topic := range found {
		if t.pattern != nil {
			matches, err := t.pattern.Match(name)
			if err != nil {
				return nil, err
			}
			if !matches || topic.Internal {
				continue
			}
		}
		for number := range topic.Leaders {
			out = append(out, client.Partition{Topic: name, Number: int32(number)})
		}
	}
	sortPartitions(out)
	return out, nil
}

func missingTopic(name string) error {
	return errors.Join(client.ErrMissing, errors.New("topic "+name))
}

// resolve turns a place into an offset for each of some partitions. starting
// says that it is a start, where a time after the last record is refused.
func (p *place) resolve(ctx context.Context, c *client.Cluster, in []client.Partition, starting bool,
) (client.Offsets, error) {
	switch {
	case p.timeMs != nil:
		times := client.Offsets{}
		for _, at := range in {
			times[at] = *p.timeMs
		}
		return p.byTime(ctx, c, times, starting)
	case p.times != nil:
		if err := p.assigned(p.times, in, starting); err != nil {
			return nil, err
		}
		return p.byTime(ctx, c, p.times, starting)
	case p.offsets != nil:
		if err := p.assigned(p.offsets, in, starting); err != nil {
			return nil, err
		}
		return named(ctx, c, p.offsets)
	default:
		return c.ListAll(ctx, in, p.all)
	}
}

// assigned refuses places that are about other partitions than those read.
func (p *place) assigned(places client.Offsets, in []client.Partition, starting bool) error {
	assigned := client.Offsets{}
	for _, at := range in {
		assigned[at] = 0
	}
	if samePartitions(places, assigned) {
		return nil
	}
	side := "ending"
	if starting {
		side = "starting"
	}
	return &plan.Error{Class: "java.lang.AssertionError", Msg: "assertion failed: the " + side +
		" offsets must name all partitions that are read, with -1 for latest and -2 for earliest. " +
		"Specified: " + setText(places.Partitions()) + " Assigned: " + setText(in)}
}

// named resolves -1 and -2 among offsets.
func named(ctx context.Context, c *client.Cluster, offsets client.Offsets) (client.Offsets, error) {
	places := client.Offsets{}
	for at, o := range offsets {
		if o == client.Latest || o == client.Earliest {
			places[at] = o
		}
	}
	found, err := c.List(ctx, places)
	if err != nil {
		return nil, err
	}
	out := client.Offsets{}
	for at, o := range offsets {
		out[at] = o
		if place, ok := found[at]; ok {
			out[at] = place
		}
	}
	return out, nil
}

// byTime finds the first records of a time or later. Where there is none the end
// is taken, which a start must allow. A negative time has no records.
func (p *place) byTime(ctx context.Context, c *client.Cluster, times client.Offsets, starting bool,
) (client.Offsets, error) {
	asked := client.Offsets{}
	for at, ms := range times {
		if ms >= 0 {
			asked[at] = ms
		}
	}
	found, err := c.List(ctx, asked)
	if err != nil {
		return nil, err
	}
	for _, at := range times.Partitions() {
		offset, ok := found[at]
		if ok && offset >= 0 {
			continue
		}
		if starting && !p.latestIfNone {
			return nil, plan.IllegalArgument(
				"No offset matched from request of topic-partition %s and timestamp %d.", at, times[at])
		}
		found[at] = client.Latest
	}
	return named(ctx, c, found)
}

// reader reads ranges, streaming or not, and decides about what is not
// there.
type reader struct {
	cluster    *client.Cluster
	fetcher    *client.Fetcher
	lose       func(*plan.Error) error
	group      string
	timeout    time.Duration // after which missing records are given up
	failOnLoss bool
	dates      *connector.Arrivals // of the records
}

// all yields the records of ranges, one range after the other.
func (r *reader) all(ctx context.Context, ranges []client.Range, yield func(*chunk.Chunk, error) bool) {
	r.fetcher.Begin(ranges)
	if len(ranges) == 0 || !yield(chunk.Partitions(len(ranges)), nil) {
		return
	}
	for _, one := range ranges {
		if !r.one(ctx, one, yield) {
			return
		}
	}
}

func (r *reader) one(ctx context.Context, of client.Range, yield func(*chunk.Chunk, error) bool) bool {
	for at := of.From; at < of.To; {
		c, upTo, err := r.fetcher.Next(ctx, of, at)
		if err != nil {
			upTo, err = r.past(ctx, of, upTo, err)
		}
		if err != nil {
			yield(nil, failed(err))
			return false
		}
		if c.Chunk != nil {
			r.dates.Add(time.UnixMilli(c.LastMs), float64(c.Rows))
			if !yield(c.Chunk, nil) {
				return false
			}
		}
		at = upTo
	}
	return true
}

// past finds out what an error means for the rest of a range. Without one it
// says where the range goes on.
func (r *reader) past(ctx context.Context, of client.Range, at int64, cause error) (int64, error) {
	rest := of
	rest.From = at
	var outOfRange *client.OutOfRangeError
	switch {
	case errors.As(cause, &outOfRange):
	case errors.Is(cause, client.ErrMissing):
	case errors.Is(cause, client.ErrRecreated):
		if err := r.lose(madeAgain(of.Partition, at)); err != nil {
			return at, err
		}
		// What the new topic has at these offsets is read, as Spark would.
		_, err := r.cluster.Topics(ctx, []string{of.Topic})
		return at, err
	case errors.Is(cause, client.ErrEmpty):
		if r.failOnLoss {
			return at, &plan.Error{Class: "java.util.concurrent.TimeoutException", Cause: cause,
				Msg: "No record of partition " + of.String() + " came within " + r.timeout.String() +
					"; the option kafkaConsumer.pollTimeoutMs says how long to wait."}
		}
		return of.To, r.lose(lostRange(rest, r.group))
	default:
		return at, cause
	}
	if err := r.lose(lostRange(rest, r.group)); err != nil {
		return at, err
	}
	return r.resume(ctx, of, at)
}

// resume is where a partition still has records of a range whose beginning is
// lost: its end when it has none.
func (r *reader) resume(ctx context.Context, of client.Range, at int64) (int64, error) {
	if _, err := r.cluster.Topics(ctx, []string{of.Topic}); err != nil {
		return at, err
	}
	first, err := r.cluster.ListAll(ctx, []client.Partition{of.Partition}, client.Earliest)
	if errors.Is(err, client.ErrMissing) {
		return of.To, nil
	}
	if err != nil {
		return at, err
	}
	if from := first[of.Partition]; from > at {
		return min(from, of.To), nil
	}
	return of.To, nil // past the end of the partition
}
