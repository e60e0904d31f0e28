package kafka

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-dev/weir/internal/testkit"
)

// troubled is a query from the topic in to the topic out over brokers that the test
// gives trouble: those of this process, or real ones.
type troubled struct {
	t       *testing.T
	brokers *kfake.Cluster // nil: real ones
	at      []string
	client  *kgo.Client
	program *exec.Cmd
	orders  io.Writer
	says    *bufio.Scanner
	errs    bytes.Buffer
	rows    int
}

func newTroubled(t *testing.T) *troubled {
	t.Helper()
	testkit.Python(t)
	brokers, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(2, "in", "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(brokers.Close)
	q := &troubled{t: t, brokers: brokers, at: brokers.ListenAddrs()}
	q.start()
	return q
}

// start starts the query, and a client that feeds it.
func (q *troubled) start() {
	t := q.t
	t.Helper()
	var err error
	if q.client, err = kgo.NewClient(kgo.SeedBrokers(q.at...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.client.Close)
	server := serve(t, testkit.ServerOptions{})
	q.run(exec.Command(testkit.Python(t), "faults.py", strings.Join(q.at, ","), "in", "out",
		filepath.Join(t.TempDir(), "ck")), server)
}

// run starts a program that talks to a server.
func (q *troubled) run(program *exec.Cmd, server *testkit.Server) {
	t := q.t
	t.Helper()
	var err error
	q.program = program
	q.program.Env = append(os.Environ(), "SPARK_REMOTE="+server.Remote(), "SPARK_CONNECT_MODE_ENABLED=1",
		"PYTHONDONTWRITEBYTECODE=1")
	q.program.Stderr = &q.errs
	if q.orders, err = q.program.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := q.program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.program.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = q.program.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		_ = q.program.Process.Kill()
		_ = q.program.Wait()
	})
	q.says = bufio.NewScanner(out)
	q.hears("ready")
}

func (q *troubled) hears(word string) {
	q.t.Helper()
	if !q.says.Scan() || q.says.Text() != word {
		q.t.Fatalf("the query said %q instead of %q\n%s", q.says.Text(), word, q.errs.String())
	}
}

// order tells the program what to do and waits until it is done.
func (q *troubled) order(word string) {
	q.t.Helper()
	if _, err := io.WriteString(q.orders, word+"\n"); err != nil {
		q.t.Fatalf("%v\n%s", err, q.errs.String())
	}
	q.hears(word)
}

// feed writes ten records.
func (q *troubled) feed() {
	q.t.Helper()
	for range 10 {
		r := &kgo.Record{Topic: "in", Value: fmt.Appendf(nil, "%06d", q.rows)}
		if err := q.client.ProduceSync(q.t.Context(), r).FirstErr(); err != nil {
			q.t.Fatal(err)
		}
		q.rows++
	}
}

// check stops the query and compares the topics: every record is there once.
func (q *troubled) check() {
	q.t.Helper()
	q.order("drained")
	q.order("stopped")
	reader, err := kgo.NewClient(kgo.SeedBrokers(q.at...), kgo.ConsumeTopics("out"))
	if err != nil {
		q.t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	var got []string
	for len(got) < q.rows {
		fetches := reader.PollFetches(ctx)
		// Its connections may be cut, too.
		if err := fetches.Err0(); err != nil && !errors.Is(err, io.EOF) {
			q.t.Fatalf("%v after %d of %d records", err, len(got), q.rows)
		}
		for _, r := range fetches.Records() {
			got = append(got, string(r.Value))
		}
	}
	slices.Sort(got)
	for i, value := range got {
		if value != fmt.Sprintf("%06d", i) {
			q.t.Fatalf("record %d is %s, of %d for %d", i, value, len(got), q.rows)
		}
	}
}

// The leaders of both topics move again and again while the query runs.
func TestLeaderChangesLoseNothing(t *testing.T) {
	q := newTroubled(t)
	for round := range 12 {
		for p := range int32(2) {
			for topic, shift := range map[string]int{"in": 0, "out": 1} {
				if err := q.brokers.MoveTopicPartition(topic, p, int32((round+shift)%3)); err != nil {
					t.Fatal(err)
				}
			}
		}
		q.feed()
	}
	q.check()
}

// Brokers cut the connections of the query, again and again, as when they are started
// anew: while it asks how far the topic reaches, while it reads and while it writes.
func TestRestartsOfBrokersLoseNothing(t *testing.T) {
	q := newTroubled(t)
	out := q.brokers.TopicInfo("out").TopicID
	writes := func(r kmsg.Request) bool {
		p, ok := r.(*kmsg.ProduceRequest)
		return !ok || len(p.Topics) > 0 && (p.Topics[0].Topic == "out" || p.Topics[0].TopicID == out)
	}
	cuts := map[kmsg.Key]int{}
	for _, key := range []kmsg.Key{kmsg.ListOffsets, kmsg.Fetch, kmsg.Produce} {
		seen := 0
		q.brokers.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
			q.brokers.KeepControl()
			if writes(r) {
				seen++
			}
			if !writes(r) || seen%4 != 2 {
				return nil, nil, false
			}
			cuts[key]++
			return nil, errors.New("the connection is cut"), true
		})
	}
	for range 5 {
		q.feed()
		q.order("drained")
	}
	q.check()
	q.brokers.Close()
	if len(cuts) != 3 {
		t.Errorf("connections were cut in %v only", cuts)
	}
}

// No broker answers for three seconds, for half a minute where WEIR_SLOW is set; the
// query says that it waits, and goes on by itself.
func TestAnOutageIsSeenAndLosesNothing(t *testing.T) {
	lasts := 3 * time.Second
	if os.Getenv("WEIR_SLOW") != "" {
		lasts = 30 * time.Second
	}
	q := newTroubled(t)
	q.feed()
	q.order("drained")
	back := make(chan struct{})
	q.brokers.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		select {
		case <-back:
			return nil, nil, false
		default:
			q.brokers.KeepControl()
			return nil, errors.New("the broker is gone"), true
		}
	})
	over := time.After(lasts)
	q.order("waiting")
	<-over
	close(back)
	q.feed()
	q.check()
}
