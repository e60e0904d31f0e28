package kafka

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
)

// What Spark's Kafka connector throws. Its conditions are its own: their texts
// do not show them, and their SQLSTATE is not in Spark's table.
const (
	classState    = "org.apache.spark.sql.kafka010.KafkaIllegalStateException"
	classIllegal  = "org.apache.spark.sql.kafka010.KafkaIllegalArgumentException"
	stateDataLoss = "22000"
)

func stateError(condition, msg string, args ...string) *plan.Error {
	return plan.NewError(classState, condition, msg, args...)
}

// dataLoss is a condition of KAFKA_DATA_LOSS: records that should be there are
// not.
func dataLoss(condition, reason string, args ...string) *plan.Error {
	const what = "Records may be lost: the cluster does not have them any more, because they were too old or " +
		"their topic was deleted. "
	e := stateError("KAFKA_DATA_LOSS."+condition, what+reason, args...)
	e.State = stateDataLoss
	e.Hint = "To go on without them, set the option failOnDataLoss to false."
	return e
}

func lostRange(r client.Range, group string) *plan.Error {
	return dataLoss("COULD_NOT_READ_OFFSET_RANGE",
		fmt.Sprintf("Offsets [%d, %d) of partition %s could not be read.", r.From, r.To, r.Partition),
		"startOffset", strconv.FormatInt(r.From, 10), "endOffset", strconv.FormatInt(r.To, 10),
		"topicPartition", r.Partition.String(), "groupId", group)
}

func lostPartitions(of []client.Partition, group string) *plan.Error {
	if group != "" {
		return dataLoss("PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT",
			"The partitions "+setText(of)+" have been deleted, or another query has the same kafka.group.id.",
			"partitions", setText(of), "groupIdConfig", "group.id")
	}
	return dataLoss("PARTITIONS_DELETED", "The partitions "+setText(of)+" have been deleted.",
		"partitions", setText(of))
}

func noEarliest(of []client.Partition) *plan.Error {
	return dataLoss("INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS",
		"The partitions "+setText(of)+" have no first offset: they may have been deleted.",
		"partitions", setText(of))
}

func startsLate(p client.Partition, first int64) *plan.Error {
	return dataLoss("ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
		fmt.Sprintf("The new partition %s begins at offset %d instead of 0.", p, first),
		"topicPartition", p.String(), "startOffset", strconv.FormatInt(first, 10))
}

func offsetChanged(p client.Partition, before, now int64, why string) *plan.Error {
	return dataLoss("PARTITION_OFFSET_CHANGED",
		fmt.Sprintf("The offset of partition %s went from %d to %d: %s.", p, before, now, why),
		"topicPartition", p.String(), "prevOffset", strconv.FormatInt(before, 10),
		"newOffset", strconv.FormatInt(now, 10))
}

func madeAgain(p client.Partition, before int64) *plan.Error {
	return offsetChanged(p, before, 0, "the topic was deleted and made again")
}

// failed gives an error of the cluster the class that Java's clients give
// it. Errors that are known already stay.
func failed(err error) error {
	var known *plan.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	class := plan.ClassSpark
	var config *client.ConfigError
	var unsupported *client.UnsupportedError
	switch {
	case errors.As(err, &config):
		class = "org.apache.kafka.common.config.ConfigException"
	case errors.As(err, &unsupported):
		class = plan.ClassJavaUnsupported
	case errors.Is(err, client.ErrMissing):
		class = "java.util.concurrent.ExecutionException"
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.GroupAuthorizationFailed),
		errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.SaslAuthenticationFailed):
		class = "java.util.concurrent.ExecutionException"
	case client.Passing(err):
		class = "org.apache.kafka.common.errors.TimeoutException"
	default:
		return err
	}
	return &plan.Error{Class: class, Msg: err.Error() + ".", Cause: err}
}

// producerFailed is an error of a task that wrote to Kafka.
func producerFailed(err error) error {
	var known *plan.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &plan.Error{
		Class: plan.ClassSpark, Msg: "Kafka did not take the rows: " + err.Error() + ".", Cause: err,
	}
}

func startAfterEnd(p client.Partition, start, end int64) *plan.Error {
	return stateError("RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET",
		fmt.Sprintf("The start of partition %s is offset %d, and its end is %d.", p, start, end),
		"startOffset", strconv.FormatInt(start, 10), "endOffset", strconv.FormatInt(end, 10),
		"topic", p.Topic, "partition", strconv.Itoa(int(p.Number)))
}
