package crash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/testkit"
)

// The matrix: every source into every sink.
var (
	pairSources = []string{"rate", "files", "kafka", "delta"}
	pairSinks   = []string{"files", "delta", "kafka", "transactions", "function"}
)

// pairSteps are the points that every pair comes by. In transactions S8 is one that is
// open, S14 one that is committed while the query does not know.
var pairSteps = []struct {
	name  string
	again bool
}{
	{stream.StepStart, false}, {stream.StepMetadataTemp, false}, {stream.StepAdmitted, true},
	{stream.StepOffsetsTemp, true}, {stream.StepOffsetsSynced, true}, {stream.StepOffsetsNamed, true},
	{stream.StepOffsetsDone, true}, {stream.StepAdvancing, true}, {stream.StepSourceRead, true},
	{stream.StepOperatorDone, true}, {stream.StepSinkDone, true}, {stream.StepCommitted, true},
	{stream.StepPurging, false}, {stream.StepProgress, true},
}

// storedSteps are those of sinks that write files and a log.
var storedSteps = []string{stream.StepSinkHalf, stream.StepSinkWhole, stream.StepSinkLogged}

// pairBatch is how many rows a batch of a pair has, but of the rate source.
const pairBatch = 50

// pair is a source and a sink whose server dies at a point.
type pair struct {
	source, sink string
	at           testkit.CrashPoint
}

func (p pair) name() string { return p.source + " to " + p.sink + " " + p.at.Env() }

// pairs is the whole matrix, and where there is no time for it one pair of each
// source and each sink, each at the point that is the hardest for the sink.
func pairs() []pair {
	if !slow() {
		at := func(step string) testkit.CrashPoint { return testkit.CrashPoint{Step: step, N: 2} }
		return []pair{
			{"kafka", "delta", at(stream.StepSinkLogged)}, {"kafka", "files", at(stream.StepSinkWhole)},
			{"files", "kafka", at(stream.StepSinkDone)}, {"delta", "transactions", at(stream.StepSinkDone)},
			{"kafka", "transactions", at(stream.StepOperatorDone)}, {"rate", "function", at(stream.StepSinkDone)},
			{"kafka", "kafka", at(stream.StepSourceRead)},
		}
	}
	var all []pair
	for _, source := range pairSources {
		for _, sink := range pairSinks {
			for _, step := range pairSteps {
				all = append(all, pair{source, sink, testkit.CrashPoint{Step: step.name, N: 1}})
				if step.again {
					all = append(all, pair{source, sink, testkit.CrashPoint{Step: step.name, N: 3}})
				}
			}
			if sink == "files" || sink == "delta" {
				for _, step := range storedSteps {
					all = append(all, pair{source, sink, testkit.CrashPoint{Step: step, N: 1}},
						pair{source, sink, testkit.CrashPoint{Step: step, N: 3}})
				}
			}
			if source == "rate" {
				all = append(all, pair{source, sink, testkit.CrashPoint{Step: stream.StepStopping, N: 1}})
			}
		}
	}
	return all
}

// TestEverySourceIntoEverySinkAfterKill lets servers die in the middle of a batch and
// looks at the sink when another one has gone on: nothing is missing, and what is
// promised to be there once is.
func TestEverySourceIntoEverySinkAfterKill(t *testing.T) {
	b := newTopics(t)
	all := pairs()
	for from := 0; from < len(all); from += roundsOfClient {
		some := all[from:min(from+roundsOfClient, len(all))]
		t.Run(fmt.Sprint("from ", from), func(t *testing.T) { playAll(t, b, some, from) })
	}
}

// roundsOfClient is how many rounds a client serves: gRPC in Python ends its process
// after a few hundred channels to servers that died.
const roundsOfClient = 25

func playAll(t *testing.T, b *topics, rounds []pair, from int) {
	c := startClient(t)
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, p := range rounds {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(p.name(), func(t *testing.T) { p.play(t, c, b, from+i) })
		})
	}
	wg.Wait()
}

// topics is a broker in this process.
type topics struct {
	address string
	client  *kgo.Client
}

func newTopics(t *testing.T) *topics {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DefaultNumPartitions(2), kfake.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	b := &topics{address: broker.ListenAddrs()[0]}
	b.client, err = kgo.NewClient(kgo.SeedBrokers(b.address), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	return b
}

func (b *topics) write(t *testing.T, topic string, first, rows int) {
	t.Helper()
	var records []*kgo.Record
	for i := range rows {
		records = append(records, &kgo.Record{Topic: topic, Value: strconv.AppendInt(nil, int64(first+i), 10)})
	}
	if err := b.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// committed are the numbers that a consumer of committed records finds in a topic.
func (b *topics) committed(t *testing.T, topic string) []int {
	t.Helper()
	reader, err := kgo.NewClient(kgo.SeedBrokers(b.address), kgo.ConsumeTopics(topic), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), answerWait)
	defer cancel()
	ends := 2 // one at the end of each partition
	for p := range int32(ends) {
		end := &kgo.Record{Topic: topic, Partition: p, Value: []byte("end")}
		if err := b.ends(t).ProduceSync(ctx, end).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for ends > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("%v after %d records", err, len(got))
		}
		for _, r := range fetches.Records() {
			switch n, err := strconv.Atoi(string(r.Value)); {
			case r.Attrs.IsControl():
			case string(r.Value) == "end":
				ends--
			case err != nil:
				t.Fatal(err)
			default:
				got = append(got, n)
			}
		}
	}
	return got
}

// ends is a producer that picks no partitions.
func (b *topics) ends(t *testing.T) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func (p pair) play(t *testing.T, c *client, b *topics, number int) {
	root := t.TempDir()
	a := arguments{
		Source: p.source, Sink: p.sink, Broker: b.address, Rate: ticksPerSecond, Batches: 4,
		Inputs: filepath.Join(root, "in"), Out: filepath.Join(root, "out"), Checkpoint: filepath.Join(root, "ck"),
	}
	if p.source == "kafka" {
		a.Inputs = fmt.Sprint("in-", number)
	}
	if p.sink == "kafka" || p.sink == "transactions" {
		a.Out = fmt.Sprint("out-", number)
	}
	rows := 0
	feed := func(batches int) {
		t.Helper()
		p.feed(t, c, b, a.Inputs, rows, batches)
		rows += batches * pairBatch
	}
	dir := filepath.Join(root, "data")
	run := func(env ...string) (*testkit.Server, error) {
		s := testkit.Start(t, testkit.ServerOptions{
			Dir: dir, Env: env, Args: []string{"--conf", "spark.sql.streaming.minBatchesToRetain=2"},
		})
		at := a
		at.Remote = s.Remote()
		_, err := call[string](c, "pair", at)
		return s, err
	}
	feed(6)
	first, err := run(p.at.Env())
	if err == nil {
		t.Fatalf("the query came to its end without step %s", p.at.Step)
	}
	if !first.Crashed(crashWait) {
		t.Fatalf("the query failed before step %s: %v", p.at.Step, err)
	}
	feed(3)
	second, err := run()
	if err != nil {
		t.Fatalf("after the crash: %v", err)
	}
	second.Stop(t)
	p.check(t, c, b, a, rows)
}

// feed makes batches of input, of ids from first on.
func (p pair) feed(t *testing.T, c *client, b *topics, inputs string, first, batches int) {
	t.Helper()
	switch p.source {
	case "kafka":
		b.write(t, inputs, first, batches*pairBatch)
	case "delta":
		a := arguments{Inputs: inputs, First: &first, Rows: pairBatch, Commits: batches}
		if _, err := call[string](c, "seed", a); err != nil {
			t.Fatal(err)
		}
	case "files":
		if err := os.MkdirAll(inputs, 0o755); err != nil {
			t.Fatal(err)
		}
		for n := range batches {
			var text strings.Builder
			for i := range pairBatch {
				fmt.Fprintf(&text, "{\"id\":%d}\n", first+n*pairBatch+i)
			}
			writeAtOnce(t, inputs, first/pairBatch+n, text.String())
		}
	}
}

// check holds the sink to the promises: nothing is missing anywhere, and only plain
// Kafka may have rows twice, those of the batch that was cut off.
func (p pair) check(t *testing.T, c *client, b *topics, a arguments, rows int) {
	t.Helper()
	var got []int
	if p.sink == "kafka" || p.sink == "transactions" {
		got = b.committed(t, a.Out)
	} else {
		var err error
		if got, err = call[[]int](c, "read_pair", arguments{Sink: p.sink, Out: a.Out}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(got)
	once := slices.Compact(slices.Clone(got))
	twice := len(got) - len(once)
	if p.source == "rate" {
		rows = len(once)
	}
	if len(once) == 0 || len(once) != rows || once[len(once)-1] != rows-1 || once[0] != 0 {
		t.Errorf("%d different rows of %d", len(once), rows)
	}
	most := 0
	if p.sink == "kafka" {
		most = pairBatch
		if p.source == "rate" {
			most = rows // a batch is of as many seconds as have passed
		}
	}
	if twice > most {
		t.Errorf("%d rows are there twice, %d may be", twice, most)
	}
}
