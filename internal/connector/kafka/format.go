package kafka

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
)

func Format() *connector.Format {
	return &connector.Format{
		Name:    "kafka",
		Aliases: []string{"org.apache.spark.sql.kafka010.KafkaSourceProvider"},
		Doc:     "topics of a Kafka cluster",
		Options: options(),
		Describe: func(_ context.Context, _ *connector.Env, r *plan.Read) (*plan.Relation, error) {
			return describe(r)
		},
		Source: openSource,
		Scan:   scan,
		Sink:   openSink,
		Write:  write,
	}
}

func options() []connector.Option {
	return connector.Options([][3]string{
		{"kafka.bootstrap.servers", "", "host:port of some brokers, with commas between them; required"},
		{"kafka.*", "", "settings of Kafka's own clients: security, isolation.level, fetch and batch sizes"},
		{"subscribe", "", "topics to read, with commas between them; this, subscribePattern or assign is required"},
		{"subscribePattern", "", "regular expression of Java that the names of the topics match"},
		{"assign", "", `partitions to read: {"topic":[0,1]}`},
		{"startingOffsets", "latest", `where a new query begins: earliest, latest or {"topic":{"0":23,"1":-2}}; ` +
			"a batch read begins with earliest"},
		{"startingTimestamp", "", "begin with the records of this time, in milliseconds since 1970"},
		{"startingOffsetsByTimestamp", "", "the same for each partition, in the form of startingOffsets"},
		{"startingOffsetsByTimestampStrategy", "error", "latest begins at the end where no record is that late"},
		{"endingOffsets", "latest", "where a batch read ends"},
		{"endingTimestamp", "", "end a batch read before the records of this time"},
		{"endingOffsetsByTimestamp", "", "the same for each partition"},
		{"failOnDataLoss", "true", "whether records that the cluster does not have any more end the query"},
		{"maxOffsetsPerTrigger", "", "about how many offsets a batch takes, shared by backlog"},
		{"minOffsetsPerTrigger", "", "how many offsets a batch waits for"},
		{"maxTriggerDelay", "15m", "how long it waits for them"},
		{"minPartitions", "", "split large partitions so that a batch has about so many"},
		{"maxRecordsPerPartition", "", "split partitions of a batch that have more offsets"},
		{"includeHeaders", "false", "whether there is a column headers"},
		{"groupIdPrefix", "spark-kafka-source", "begins the group id that errors show"},
		{"kafkaConsumer.pollTimeoutMs", "120000", "how long to wait for records that should be there"},
		{"fetchOffset.numRetries", "3", "how often to ask when the ends of topics look wrong"},
		{"fetchOffset.retryIntervalMs", "1000", "pause between two of these questions"},
		{commitGroupKey, "", "consumer group that is told after each batch how far the query is"},
		{"topic", "", "topic to write to; otherwise the rows have a column topic"},
		{transactionalKey, "false", "write each batch of a stream in a transaction, exactly once"},
	})
}

func schema(headers bool) plan.Type {
	fields := []plan.Field{
		plan.Col("key", plan.Binary), plan.Col("value", plan.Binary), plan.Col("topic", plan.String),
		plan.Col("partition", plan.Int), plan.Col("offset", plan.Long), plan.Col("timestamp", plan.Timestamp),
		plan.Col("timestampType", plan.Int),
	}
	if headers {
		fields = append(fields, plan.Col("headers", client.HeadersType()))
	}
	return plan.Struct(fields...)
}

func describe(r *plan.Read) (*plan.Relation, error) {
	if err := checkRead(r.Options, r.Streaming); err != nil {
		return nil, err
	}
	if r.Schema != nil {
		return nil, plan.IllegalArgument(
			"requirement failed: Kafka source has a fixed schema and cannot be set with a custom one")
	}
	headers, err := headers(r.Options)
	if err != nil {
		return nil, err
	}
	return &plan.Relation{Format: "kafka", Schema: schema(headers), Options: r.Options, Paths: r.Paths}, nil
}

// scan reads topics once, as they are now.
func scan(ctx context.Context, env *connector.Env, s *plan.Scan) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		settings, err := settingsOf(env, s.Relation.Options, false)
		if err != nil {
			yield(nil, failed(err))
			return
		}
		columns, err := connector.ColumnsOf(s)
		if err != nil {
			yield(nil, err)
			return
		}
		cluster, err := client.Open(settings.config, client.Patience{Within: settings.patience()})
		if err != nil {
			yield(nil, failed(err))
			return
		}
		defer cluster.Close()
		fetcher := cluster.NewFetcher(columnsFor(columns), settings.limits())
		defer fetcher.Close()
		ranges, err := settings.batchRanges(ctx, cluster)
		if err != nil {
			yield(nil, failed(err))
			return
		}
		settings.batchReader(env, cluster, fetcher).all(ctx, ranges, yield)
	}
}

func (s *settings) batchReader(env *connector.Env, c *client.Cluster, f *client.Fetcher) *reader {
	group := s.group
	if group == "" {
		group = fmt.Sprintf("%s-%s-%d", s.groupPrefix, uuid.NewString(), 0)
	}
	return &reader{
		cluster: c, fetcher: f, group: group + "-executor", timeout: s.pollTimeout, failOnLoss: s.failOnDataLoss,
		lose: func(loss *plan.Error) error {
			if s.failOnDataLoss {
				return loss
			}
			env.Warnf("KafkaRelation(%s): %s", s.topics.Describe(), loss.Msg)
			return nil
		},
		dates: &connector.Arrivals{},
	}
}

// batchRanges finds what a batch read covers.
func (s *settings) batchRanges(ctx context.Context, c *client.Cluster) ([]client.Range, error) {
	partitions, err := s.topics.find(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, place := range []place{s.starting, s.ending} {
		if err := place.matches(partitions); err != nil {
			return nil, err
		}
	}
	start, err := s.starting.resolve(ctx, c, partitions, true)
	if err != nil {
		return nil, err
	}
	end, err := s.ending.resolve(ctx, c, partitions, false)
	if err != nil {
		return nil, err
	}
	var ranges []client.Range
	for _, p := range partitions {
		from, to := start[p], end[p]
		if from > to {
			return nil, startAfterEnd(p, from, to)
		}
		if from < to {
			ranges = append(ranges, client.Range{Partition: p, From: from, To: to})
		}
	}
	return splitRanges(ranges, s.minPartitions, s.maxRecords), nil
}

// matches refuses places of a batch read that are about other partitions.
func (p *place) matches(in []client.Partition) error {
	places, condition := p.offsets, "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"
	if p.times != nil {
		places, condition = p.times, "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED"
	}
	assigned := client.Offsets{}
	for _, at := range in {
		assigned[at] = 0
	}
	if places == nil || samePartitions(places, assigned) {
		return nil
	}
	return stateError(condition, "Offsets must be given for all partitions that are read and for no others: "+
		"given for "+setText(places.Partitions())+", read are "+setText(in)+".",
		"specifiedPartitions", setText(places.Partitions()), "assignedPartitions", setText(in))
}
