package kafka

import (
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/test/conform"
)

func TestHowLongUntilDeletionReachesWhatIsUnread(t *testing.T) {
	// Every minute: what is deleted, what is read, what arrives; in the end what is kept.
	for name, c := range map[string]struct {
		deleted, read, arrived int64 // a minute
		behind, kept           int64 // unread, and kept, at the beginning
		want                   float64
	}{
		"nothing is deleted":          {0, 0, 600, 6000, 10_000, math.NaN()},
		"a query that keeps up":       {600, 600, 600, 10, 36_000, math.NaN()},
		"one that is a little behind": {600, 590, 600, 1000, 36_000, math.NaN()},
		"one that stands still":       {600, 0, 600, 18_000, 36_000, 60 * (18_000.0 - 600*30) / 600},
		"one that is slower":          {600, 300, 600, 18_000, 36_000, 60 * (18_000.0 - 300*30) / 300},
		"one that is faster":          {600, 900, 600, 30_000, 36_000, math.NaN()},
		"one whose rows are gone":     {600, 0, 600, 35_000, 36_000, 0},
		"one that has caught up":      {600, 700, 600, 0, 36_000, math.NaN()},
	} {
		r := newRetention()
		p := client.Partition{Topic: "t"}
		at := time.Unix(0, 0)
		first, end := int64(0), c.kept
		committed := end - c.behind
		for minute := range 31 {
			if minute > 0 {
				first, committed, end = first+c.deleted, min(committed+c.read, end+c.arrived), end+c.arrived
			}
			now := at.Add(time.Duration(minute) * time.Minute)
			r.note(now, client.Offsets{p: first}, client.Offsets{p: committed}, client.Offsets{p: end})
		}
		if math.IsNaN(c.want) != math.IsNaN(r.until) || !math.IsNaN(c.want) && math.Abs(r.until-c.want) > 1 {
			t.Errorf("%s: %v s, want %v", name, r.until, c.want)
		}
		if n := len(r.parts[p]); n > retentionPoints {
			t.Errorf("%s: %d points", name, n)
		}
	}
}

func TestATopicThatIsMadeAgainIsMeasuredAnew(t *testing.T) {
	r := newRetention()
	p := client.Partition{Topic: "t"}
	note := func(second, first, committed, end int64) float64 {
		r.note(time.Unix(second, 0), client.Offsets{p: first}, client.Offsets{p: committed}, client.Offsets{p: end})
		return r.until
	}
	note(0, 1000, 5000, 9000)
	if left := note(60, 2000, 5000, 9000); math.Abs(left-180) > 1 {
		t.Errorf("%v s", left)
	}
	if left := note(120, 0, 0, 100); !math.IsNaN(left) {
		t.Errorf("%v s, of a topic that was made again", left)
	}
	// The slowest partition tells.
	q := client.Partition{Topic: "t", Number: 1}
	for second := range int64(3) {
		r.note(time.Unix(200+60*second, 0), client.Offsets{p: 100 * second, q: 100 * second},
			client.Offsets{p: 1000, q: 600}, client.Offsets{p: 2000, q: 2000})
	}
	if math.Abs(r.until-4*60) > 1 {
		t.Errorf("%v s, want that of the partition that loses first", r.until)
	}
}

func TestKafkaTellsWhenUnreadRecordsAreDeleted(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	k.env.Now = func() time.Time { return now }
	k.put("t", 0, 0, 100)
	s := k.open("t", "startingOffsets", "earliest", "maxOffsetsPerTrigger", "20")
	g := s.Gauge()
	committed := connector.Offset(`{"t":{"0":20}}`)
	ask := func() float64 {
		t.Helper()
		b, err := g.Backlog(t.Context(), committed)
		conform.Must(t, err)
		return b.UntilLoss
	}
	if left := ask(); !math.IsNaN(left) {
		t.Errorf("%v s before anything was deleted", left)
	}
	conform.Must(t, k.DeleteRecords("t", 0, 10))
	now = now.Add(time.Second)
	if left := ask(); !math.IsNaN(left) {
		t.Errorf("%v s: the cluster was asked again a second later", left)
	}
	now = now.Add(time.Minute)
	if left := ask(); math.Abs(left-61) > 1 {
		t.Errorf("%v s, want 10 records at 10 a minute", left)
	}
}

// A source that rests reads nothing ahead, and still says what waits in it.
func TestKafkaTellsWhatWaitsWhileItRests(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	k.put("t", 0, 0, 5)
	s := k.open("t")
	to := k.latest(s, "")
	k.want(s.Read(t.Context(), "", to), "0 v0", "0 v1", "0 v2", "0 v3", "0 v4")
	g := s.Gauge()
	s.Rest()
	k.put("t", 0, 5, 12)
	for range 2 {
		b, err := g.Backlog(t.Context(), to)
		conform.Must(t, err)
		if b.Rows != 7 || !(b.Bytes > 0) {
			t.Errorf("%v rows and %v bytes wait, want 7 rows", b.Rows, b.Bytes)
		}
	}
}
