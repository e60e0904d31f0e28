package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

var formats = conform.Formats{Format()}

// rig is a cluster in this process and a place for a checkpoint.
type rig struct {
	t testing.TB
	*kfake.Cluster
	client *kgo.Client
	env    *connector.Env
	fsys   vfs.FS
	warned []string
	lost   []string
}

func newRig(t testing.TB, opts ...kfake.Opt) *rig {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	conform.Must(t, err)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite())
	conform.Must(t, err)
	t.Cleanup(func() { client.Close(); cluster.Close() })
	k := &rig{t: t, Cluster: cluster, client: client, fsys: vfs.NewMemory()}
	k.env = conform.NewEnv(t, k.fsys)
	k.env.Warn = func(text string) { k.warned = append(k.warned, text) }
	k.env.Lost = func(text string) { k.lost = append(k.lost, text) }
	return k
}

// put appends records v<from> to v<to-1> to a partition.
func (k *rig) put(topic string, partition int32, from, to int) {
	k.t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		value := fmt.Appendf(nil, "v%d", i)
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: value})
	}
	conform.Must(k.t, k.client.ProduceSync(context.Background(), records...).FirstErr())
}

func (k *rig) read(topics string, options ...string) *plan.Read {
	o := plan.Options{
		"kafka.bootstrap.servers": strings.Join(k.ListenAddrs(), ","), "subscribe": topics,
		"startingOffsets": "earliest", "fetchOffset.retryIntervalMs": "1",
	}
	for i := 0; i+1 < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	return &plan.Read{Format: "kafka", Options: o, Streaming: true}
}

// open opens the source as a start or a restart of one query finds it.
func (k *rig) open(topics string, options ...string) *source {
	k.t.Helper()
	s := formats.OpenSource(k.t, k.env, formats.ScanOf(k.t, k.env, k.read(topics, options...)),
		connector.Place{FS: k.fsys, Dir: "/ck/sources/0"}).(*source)
	conform.Must(k.t, s.KeepIn(connector.Place{FS: k.fsys, Dir: "/ck/state/sources/0"}))
	k.t.Cleanup(func() { conform.Must(k.t, s.Close()) })
	return s
}

func (k *rig) latest(s connector.Source, start connector.Offset) connector.Offset {
	k.t.Helper()
	to, err := s.Latest(k.t.Context(), start, connector.Limit{})
	conform.Must(k.t, err)
	return to
}

// values reads a range as "topic-partition value" each.
func (k *rig) values(rows chunk.Rows) ([]string, error) {
	out := []string{}
	for c, err := range rows {
		if err != nil {
			return out, err
		}
		for i := range c.Rows {
			out = append(out, fmt.Sprintf("%d %s", chunk.Values[int32](c.Cols[3])[i], c.Cols[1].Text(i)))
		}
	}
	return out, nil
}

func (k *rig) want(rows chunk.Rows, want ...string) {
	k.t.Helper()
	got, err := k.values(rows)
	conform.Must(k.t, err)
	testkit.Diff(k.t, "rows", got, want)
}

func condition(err error) string {
	return strings.TrimPrefix(conform.Condition(err), "KAFKA_DATA_LOSS.")
}

func TestKafkaSourceConforms(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(3, "t"))
	conform.CheckSource(t, conform.SourceCase{
		Steps: 5,
		Open: func(checkpoint string, limited bool) connector.Source {
			r := k.read("t")
			if limited {
				r.Options["maxOffsetsPerTrigger"] = "1"
			}
			s := formats.OpenSource(t, k.env, formats.ScanOf(t, k.env, r), connector.Place{FS: k.fsys,
				Dir: "/" + checkpoint + "/sources/0"})
			conform.Must(t, s.(connector.Keeper).KeepIn(connector.Place{FS: k.fsys,
				Dir: "/" + checkpoint + "/state/sources/0"}))
			return s
		},
		Step: func(n int) {
			if n != 3 {
				k.put("t", int32(n%3), n*10, n*10+4)
			}
		},
	})
}

func TestReportsOfKafkaInTheSource(t *testing.T) {
	for id, test := range map[string]func(*testing.T){
		"KF-01": recreatedTopics, "KF-02": endsGoBackForAMoment, "KF-03": listingsAreEmptyForAMoment,
		"KF-05": startsByTime, "KF-07": markersAtTheEnd, "KF-11": newPartitions, "KF-13": pinnedEnds,
		"CK-04": replayAfterGrowth,
	} {
		t.Run(id, test)
	}
}

// A topic that was made again is another one, though its offsets look right.
func recreatedTopics(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	k.put("t", 0, 0, 5)
	s := k.open("t")
	first := k.latest(s, "")
	k.want(s.Read(t.Context(), "", first), "0 v0", "0 v1", "0 v2", "0 v3", "0 v4")
	conform.Must(t, k.DeleteTopic("t"))
	conform.Must(t, k.CreateTopic("t", 1, nil))
	k.client.PurgeTopicsFromClient("t")
	k.put("t", 0, 100, 108)
	for name, s := range map[string]*source{"running": s, "restarted": k.open("t")} {
		second := k.latest(s, first)
		if _, err := k.values(s.Read(t.Context(), first, second)); condition(err) != "PARTITION_OFFSET_CHANGED" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	tolerant := k.open("t", "failOnDataLoss", "false")
	second := k.latest(tolerant, first)
	k.want(tolerant.Read(t.Context(), first, second), "0 v105", "0 v106", "0 v107")
	if len(k.warned) != 1 || !strings.Contains(k.warned[0], "made again") {
		t.Errorf("warned %q", k.warned)
	}
	third := k.open("t") // the new topic is the known one now
	k.want(third.Read(t.Context(), first, second), "0 v105", "0 v106", "0 v107")
}

func endsGoBackForAMoment(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	k.put("t", 0, 0, 5)
	s := k.open("t")
	start := k.latest(s, "")
	k.lie(kmsg.ListOffsets, 2, func(resp kmsg.Response) {
		resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset = 3
	})
	if to := k.latest(s, start); to != start {
		t.Errorf("the end went to %s", to)
	}
}

// lie has the next answers to requests of a kind changed.
func (k *rig) lie(key kmsg.Key, times int, change func(kmsg.Response)) {
	k.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if times == 0 {
			return nil, nil, false
		}
		times--
		if times > 0 {
			k.KeepControl()
		}
		if key == kmsg.Metadata {
			return emptyMetadata(req), nil, true
		}
		resp := listOffsets(req.(*kmsg.ListOffsetsRequest))
		change(resp)
		return resp, nil, true
	})
}

func listOffsets(req *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, t := range req.Topics {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			part := kmsg.NewListOffsetsResponseTopicPartition()
			part.Partition = p.Partition
			topic.Partitions = append(topic.Partitions, part)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// emptyMetadata says that the topics exist and have no partitions.
func emptyMetadata(req kmsg.Request) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	for _, t := range req.(*kmsg.MetadataRequest).Topics {
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = t.Topic
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func listingsAreEmptyForAMoment(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(2, "t"))
	k.put("t", 0, 0, 5)
	k.put("t", 1, 0, 5)
	s := k.open("t")
	start := k.latest(s, "")
	s.asked = time.Time{}
	k.lie(kmsg.Metadata, 1, nil)
	if to := k.latest(s, start); to != start {
		t.Errorf("the end went to %s", to)
	}
}

func startsByTime(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(2, "t"))
	for i := range int64(4) {
		r := &kgo.Record{Topic: "t", Partition: int32(i % 2), Timestamp: time.UnixMilli(1_000_000 + (i%2)*5000 + i)}
		conform.Must(t, k.client.ProduceSync(t.Context(), r).FirstErr())
	}
	refused := k.open("t", "startingTimestamp", "1002000")
	if _, err := refused.Latest(t.Context(), "", connector.Limit{}); err == nil ||
		!strings.Contains(err.Error(), "No offset matched from request of topic-partition t-0 and timestamp 1002000") {
		t.Errorf("got %v", err)
	}
	s := k.open("t", "startingTimestamp", "1002000", "startingOffsetsByTimestampStrategy", "latest")
	to := k.latest(s, "")
	if want := partitionsOf(2, 0); !maps.Equal(s.initial, want) {
		t.Errorf("begins at %v, want %v, to %s", s.initial, want, to)
	}
}

func markersAtTheEnd(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	tx, err := kgo.NewClient(kgo.SeedBrokers(k.ListenAddrs()...), kgo.TransactionalID("x"),
		kgo.DefaultProduceTopic("t"))
	conform.Must(t, err)
	defer tx.Close()
	for i, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		conform.Must(t, tx.BeginTransaction())
		conform.Must(t, tx.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint("v", i))).FirstErr())
		conform.Must(t, tx.EndTransaction(t.Context(), how))
	}
	s := k.open("t", "kafka.isolation.level", "read_committed")
	to := k.latest(s, "")
	if to != `{"t":{"0":4}}` {
		t.Errorf("the end is %s", to)
	}
	k.want(s.Read(t.Context(), "", to), "0 v0")
}

func newPartitions(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	k.put("t", 0, 0, 2)
	s := k.open("t", "startingOffsets", "latest")
	start := k.latest(s, "")
	k.grow("t", 2)
	k.put("t", 1, 0, 2)
	to := k.latest(s, start)
	k.want(s.Read(t.Context(), start, to), "1 v0", "1 v1")
}

func (k *rig) grow(topic string, count int32) {
	k.t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 5000
	of := kmsg.NewCreatePartitionsRequestTopic()
	of.Topic, of.Count = topic, count
	req.Topics = append(req.Topics, of)
	resp, err := req.RequestWith(context.Background(), k.client)
	conform.Must(k.t, err)
	conform.Must(k.t, kerr.ErrorForCode(resp.Topics[0].ErrorCode))
	k.client.ForceMetadataRefresh()
	k.client.PurgeTopicsFromClient(topic)
}

func pinnedEnds(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	k.put("t", 0, 0, 25)
	s := k.open("t", "maxOffsetsPerTrigger", "10")
	end, err := s.Pin(t.Context())
	conform.Must(t, err)
	k.put("t", 0, 25, 50) // while it runs
	var ends []string
	for at := connector.Offset(""); at != end; {
		at, err = s.Latest(t.Context(), at, connector.Limit{End: end})
		conform.Must(t, err)
		ends = append(ends, string(at))
	}
	testkit.Diff(t, "ends", ends, []string{`{"t":{"0":10}}`, `{"t":{"0":20}}`, `{"t":{"0":25}}`})
}

// A batch that was planned before a partition was added reads what was planned.
func replayAfterGrowth(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	k.put("t", 0, 0, 3)
	planned := k.latest(k.open("t"), "")
	k.grow("t", 2)
	k.put("t", 1, 0, 3)
	k.put("t", 0, 3, 6)
	s := k.open("t")
	k.want(s.Read(t.Context(), "", planned), "0 v0", "0 v1", "0 v2")
	next := k.latest(s, planned)
	k.want(s.Read(t.Context(), planned, next), "0 v3", "0 v4", "0 v5", "1 v0", "1 v1", "1 v2")
}

func TestKafkaLossesEndTheQueryOrAreReported(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(2, "t"))
	k.put("t", 0, 0, 5)
	k.put("t", 1, 0, 5)
	start := k.latest(k.open("t"), "")
	k.put("t", 0, 5, 15)
	conform.Must(t, k.DeleteRecords("t", 0, 12))
	strict := k.open("t")
	to := k.latest(strict, start)
	_, err := k.values(strict.Read(t.Context(), start, to))
	var e *plan.Error
	if !errors.As(err, &e) || condition(err) != "COULD_NOT_READ_OFFSET_RANGE" || e.Args["startOffset"] != "5" ||
		e.Args["endOffset"] != "15" || e.Args["topicPartition"] != "t-0" ||
		!strings.HasPrefix(e.Args["groupId"], "spark-kafka-source-") {
		t.Errorf("got %v %v", err, e)
	}
	tolerant := k.open("t", "failOnDataLoss", "false")
	k.want(tolerant.Read(t.Context(), start, to), "0 v12", "0 v13", "0 v14")
	if len(k.warned) != 1 || !strings.Contains(k.warned[0], "[5, 15)") || !slices.Equal(k.lost, k.warned) {
		t.Errorf("warned %q, lost %q", k.warned, k.lost)
	}
}

func TestKafkaTopicsThatVanish(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "a", "b"))
	k.put("a", 0, 0, 3)
	k.put("b", 0, 0, 3)
	options := []string{"subscribePattern", "[ab]"}
	open := func(more ...string) *source {
		r := k.read("", append(options, more...)...)
		delete(r.Options, "subscribe")
		s := formats.OpenSource(t, k.env, formats.ScanOf(t, k.env, r), connector.Place{FS: k.fsys,
			Dir: "/ck/sources/0"}).(*source)
		t.Cleanup(func() { conform.Must(t, s.Close()) })
		return s
	}
	s := open()
	start := k.latest(s, "")
	conform.Must(t, k.DeleteTopic("b"))
	k.put("a", 0, 3, 4)
	to := k.latest(s, start)
	if _, err := k.values(s.Read(t.Context(), start, to)); condition(err) != "PARTITIONS_DELETED" {
		t.Errorf("got %v", err)
	}
	k.want(open("failOnDataLoss", "false").Read(t.Context(), start, to), "0 v3")
	missing := k.open("nope")
	if _, err := missing.Latest(t.Context(), "", connector.Limit{}); err == nil {
		t.Error("a topic that is none was read")
	}
}

func TestKafkaMetrics(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(2, "t"))
	k.put("t", 0, 0, 20)
	k.put("t", 1, 0, 4)
	s := k.open("t", "maxOffsetsPerTrigger", "6")
	if s.Metrics("") != nil {
		t.Error("metrics before the first trigger")
	}
	to := k.latest(s, "")
	conform.RowsOf(t, s.Read(t.Context(), "", to))
	got := s.Metrics(to)
	if bytes := got["estimatedTotalBytesBehindLatest"]; bytes == "" || bytes == "0.0" {
		t.Errorf("%s bytes are left", bytes)
	}
	delete(got, "estimatedTotalBytesBehindLatest")
	testkit.Diff(t, "metrics", got, map[string]string{
		"minOffsetsBehindLatest": "3", "maxOffsetsBehindLatest": "15", "avgOffsetsBehindLatest": "9.0",
	})
}

func TestKafkaProgressIsToldToAGroup(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	k.put("t", 0, 0, 5)
	s := k.open("t", "weir.kafka.commitGroup", "lag")
	to := k.latest(s, "")
	conform.Must(t, s.Finished(t.Context(), to))
	if got := k.GroupInfo("lag").Commits["t"][0].Offset; got != 5 {
		t.Errorf("the group is at %d", got)
	}
}

// Two scans of one source read the same range, their chunks interleaved.
func TestKafkaViewsAreIndependent(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	k.put("t", 0, 0, 3)
	s := k.open("t")
	to := k.latest(s, "")
	scan := formats.ScanOf(t, k.env, k.read("t"))
	scan.Attrs = []*plan.Attribute{scan.Attrs[4], scan.Attrs[1]}
	view, err := s.View(scan)
	conform.Must(t, err)
	for range s.Read(t.Context(), "", to) {
		testkit.Diff(t, "the view", conform.RowsOf(t, view.Read(t.Context(), "", to)), [][]plan.Value{
			{int64(0), []byte("v0")}, {int64(1), []byte("v1")}, {int64(2), []byte("v2")},
		})
	}
}

func TestKafkaBatchReads(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(2, "t"))
	k.put("t", 0, 0, 5)
	k.put("t", 1, 0, 3)
	scan := func(options ...string) ([]string, error) {
		r := k.read("t", options...)
		r.Streaming = false
		f, _ := formats.Lookup("kafka")
		return k.values(f.Scan(t.Context(), k.env, formats.ScanOf(t, k.env, r)))
	}
	got, err := scan("startingOffsets", `{"t":{"0":3,"1":-2}}`, "endingOffsets", `{"t":{"0":-1,"1":1}}`)
	conform.Must(t, err)
	testkit.Diff(t, "rows", got, []string{"0 v3", "0 v4", "1 v0"})
	if _, err := scan("startingOffsets", `{"t":{"0":3}}`); condition(err) != "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED" {
		t.Errorf("got %v", err)
	}
	if _, err := scan("startingOffsets", `{"t":{"0":9,"1":0}}`); condition(err) != "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET" {
		t.Errorf("got %v", err)
	}
	got, err = scan("endingOffsets", `{"t":{"0":9,"1":1}}`, "failOnDataLoss", "false", "kafkaConsumer.pollTimeoutMs", "1")
	conform.Must(t, err)
	testkit.Diff(t, "rows up to where there are none", got, []string{"0 v0", "0 v1", "0 v2", "0 v3", "0 v4", "1 v0"})
}
