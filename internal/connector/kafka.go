package connector

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector/kafka"
	"github.com/weir-dev/weir/internal/plan"
)

func kafkaFormat() *Format {
	return &Format{
		Name:    "kafka",
		Aliases: []string{"org.apache.spark.sql.kafka010.KafkaSourceProvider"},
		Doc:     "topics of a Kafka cluster",
		Options: kafkaOptions(),
		Describe: func(_ context.Context, _ *Env, r *plan.Read) (*plan.Relation, error) {
			return describeKafka(r)
		},
		Source: openKafka,
		Scan:   scanKafka,
		Sink:   openKafkaSink,
		Write:  writeKafka,
	}
}

func kafkaOptions() []Option {
	return []Option{
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
	}
}

func kafkaSchema(headers bool) plan.Type {
	fields := []plan.Field{
		plan.Col("key", plan.Binary), plan.Col("value", plan.Binary), plan.Col("topic", plan.String),
		plan.Col("partition", plan.Int), plan.Col("offset", plan.Long), plan.Col("timestamp", plan.Timestamp),
		plan.Col("timestampType", plan.Int),
	}
	if headers {
		fields = append(fields, plan.Col("headers", kafka.HeadersType()))
	}
	return plan.Struct(fields...)
}

func describeKafka(r *plan.Read) (*plan.Relation, error) {
	if err := checkKafkaRead(r.Options, r.Streaming); err != nil {
		return nil, err
	}
	if r.Schema != nil {
		return nil, plan.IllegalArgument(
			"requirement failed: Kafka source has a fixed schema and cannot be set with a custom one")
	}
	headers, err := kafkaHeaders(r.Options)
	if err != nil {
		return nil, err
	}
	return &plan.Relation{Format: "kafka", Schema: kafkaSchema(headers), Options: r.Options, Paths: r.Paths}, nil
}

// scanKafka reads topics once, as they are now.
func scanKafka(ctx context.Context, env *Env, s *plan.Scan) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		settings, err := kafkaSettingsOf(env, s.Relation.Options, false)
		if err != nil {
			yield(nil, kafkaFailed(err))
			return
		}
		columns, err := columnsOf(s)
		if err != nil {
			yield(nil, err)
			return
		}
		cluster, err := kafka.Open(settings.config, kafka.Patience{Within: settings.patience()})
		if err != nil {
			yield(nil, kafkaFailed(err))
			return
		}
		defer cluster.Close()
		fetcher := cluster.NewFetcher(kafkaColumns(columns), settings.limits())
		defer fetcher.Close()
		ranges, err := settings.batchRanges(ctx, cluster)
		if err != nil {
			yield(nil, kafkaFailed(err))
			return
		}
		settings.batchReader(env, cluster, fetcher).all(ctx, ranges, yield)
	}
}

func (s *kafkaSettings) batchReader(env *Env, c *kafka.Cluster, f *kafka.Fetcher) *kafkaReader {
	group := s.group
	if group == "" {
		group = fmt.Sprintf("%s-%s-%d", s.groupPrefix, uuid.NewString(), 0)
	}
	return &kafkaReader{
		cluster: c, fetcher: f, group: group + "-executor", timeout: s.pollTimeout, failOnLoss: s.failOnDataLoss,
		lose: func(loss *plan.Error) error {
			if s.failOnDataLoss {
				return loss
			}
			env.warn("KafkaRelation(%s): %s", s.topics.Describe(), loss.Msg)
			return nil
		},
		dates: &dates{},
	}
}

// batchRanges finds what a batch read covers.
func (s *kafkaSettings) batchRanges(ctx context.Context, c *kafka.Cluster) ([]kafka.Range, error) {
	partitions, err := s.topics.find(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, place := range []kafkaPlace{s.starting, s.ending} {
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
	var ranges []kafka.Range
	for _, p := range partitions {
		from, to := start[p], end[p]
		if from > to {
			return nil, startAfterEnd(p, from, to)
		}
		if from < to {
			ranges = append(ranges, kafka.Range{Partition: p, From: from, To: to})
		}
	}
	return splitRanges(ranges, s.minPartitions, s.maxRecords), nil
}

// matches refuses places of a batch read that are about other partitions.
func (p *kafkaPlace) matches(in []kafka.Partition) error {
	places, condition := p.offsets, "KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED"
	if p.times != nil {
		places, condition = p.times, "KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED"
	}
	assigned := kafka.Offsets{}
	for _, at := range in {
		assigned[at] = 0
	}
	if places == nil || samePartitions(places, assigned) {
		return nil
	}
	return kafkaState(condition, "Offsets must be given for all partitions that are read and for no others: "+
		"given for "+setText(places.Partitions())+", read are "+setText(in)+".",
		"specifiedPartitions", setText(places.Partitions()), "assignedPartitions", setText(in))
}
