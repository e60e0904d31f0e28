package bench

import (
	"bufio"
	"context"
	"encoding/binary"
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

	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/testkit"
)

const brokerEnv = "WEIR_BENCH_BROKER"

// TestBroker is no test: it is the broker of the benchmarks below, in a process
// of its own. It ends when its input does.
func TestBroker(t *testing.T) {
	if os.Getenv(brokerEnv) == "" {
		return
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "in", "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Println("broker " + c.ListenAddrs()[0])
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// startBroker starts a broker and returns its address.
func startBroker(b *testing.B) string {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestBroker$")
	cmd.Env = append(os.Environ(), brokerEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "broker "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return address
		}
	}
	b.Fatal("the broker did not start")
	return ""
}

func producer(b *testing.B, address string, opts ...kgo.Opt) *kgo.Client {
	b.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	}, opts...)...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	return client
}

// fill writes JSON events of about 100 bytes into the four partitions of topic in.
func fill(b *testing.B, address string, count int) {
	b.Helper()
	client := producer(b, address, kgo.ProducerLinger(50*time.Millisecond))
	for i := range count {
		value := fmt.Appendf(nil, `{"id":%d,"name":"name %d","at":"2026-01-02T03:04:05.678Z","price":%d.25,"dev":"dev-%06d"}`,
			i, i%7, i%1000, i%100_000)
		client.Produce(context.Background(), &kgo.Record{Topic: "in", Value: value}, nil)
	}
	if err := client.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkKafkaSource reads two million records of 100 bytes into nothing, as
// they are and decoded from JSON; bars: 2 M and 1.2 M records a second of one
// core. The broker is another process.
func BenchmarkKafkaSource(b *testing.B) {
	const records = 2_000_000
	address := startBroker(b)
	fill(b, address, records)
	decoded := []string{"x.id", "x.name", "x.price"}
	const parse = "from_json(cast(value AS string), 'id BIGINT, name STRING, at TIMESTAMP, price DOUBLE, dev STRING') x"
	for _, test := range []struct {
		name   string
		layers [][]string
	}{{"raw", nil}, {"json", [][]string{{parse}, decoded}}} {
		b.Run(test.name, func(b *testing.B) {
			server := testkit.Start(b, testkit.ServerOptions{})
			c := connect(b, server)
			input := source("kafka", "", map[string]string{
				"kafka.bootstrap.servers": address, "subscribe": "in", "startingOffsets": "earliest",
				"maxOffsetsPerTrigger": "100000",
			})
			for _, columns := range test.layers {
				input = project(input, columns)
			}
			before := cpuSeconds(b, server.PID())
			for b.Loop() {
				c.await(b, c.start(b, &pb.WriteStreamOperationStart{
					Input: input, Format: "noop",
					Options: map[string]string{"checkpointLocation": filepath.Join(b.TempDir(), "ck")},
					Trigger: &pb.WriteStreamOperationStart_AvailableNow{AvailableNow: true},
				}))
			}
			total := float64(b.N * records)
			b.ReportMetric(total/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(total/(cpuSeconds(b, server.PID())-before), "records/cpu-s")
		})
	}
}

func project(input *pb.Relation, columns []string) *pb.Relation {
	p := &pb.Project{Input: input}
	for _, text := range columns {
		p.Expressions = append(p.Expressions, &pb.Expression{ExprType: &pb.Expression_ExpressionString_{
			ExpressionString: &pb.Expression_ExpressionString{Expression: text}}})
	}
	return &pb.Relation{RelType: &pb.Relation_Project{Project: p}}
}

// BenchmarkKafkaToKafka is how long a record is on its way from a producer
// through a query to a consumer, at 10,000 records a second with a broker in
// another process; bar: 10 ms for 99 of 100.
func BenchmarkKafkaToKafka(b *testing.B) {
	address := startBroker(b)
	c := connect(b, testkit.Start(b, testkit.ServerOptions{}))
	id := c.start(b, &pb.WriteStreamOperationStart{
		Input: project(source("kafka", "", map[string]string{
			"kafka.bootstrap.servers": address, "subscribe": "in", "startingOffsets": "earliest",
		}), []string{"key", "value"}),
		Format: "kafka", Options: map[string]string{
			"kafka.bootstrap.servers": address, "topic": "out",
			"checkpointLocation": filepath.Join(b.TempDir(), "ck"),
		},
	})
	defer c.stop(b, id)
	consumer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics("out"),
		kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		b.Fatal(err)
	}
	defer consumer.Close()
	const perSecond, tick = 10_000, time.Millisecond
	client := producer(b, address, kgo.ProducerLinger(0))
	var took []float64
	for b.Loop() {
		const seconds = 5
		go produceSteadily(client, perSecond/int(time.Second/tick), tick, seconds*time.Second)
		for seen := 0; seen < perSecond*seconds; {
			now := consumer.PollFetches(b.Context())
			arrived := time.Now().UnixNano()
			for _, r := range now.Records() {
				took = append(took, float64(arrived-int64(binary.BigEndian.Uint64(r.Value)))/1e6)
				seen++
			}
		}
	}
	took = took[min(perSecond, len(took)/2):] // the first second finds the query cold
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "ms-p50")
	b.ReportMetric(took[len(took)*99/100], "ms-p99")
}

// produceSteadily writes so many records each tick, their time in them.
func produceSteadily(client *kgo.Client, each int, tick, during time.Duration) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for range int(during / tick) {
		<-ticker.C
		for range each {
			value := make([]byte, 100)
			binary.BigEndian.PutUint64(value, uint64(time.Now().UnixNano()))
			client.Produce(context.Background(), &kgo.Record{Topic: "in", Value: value}, nil)
		}
	}
}
