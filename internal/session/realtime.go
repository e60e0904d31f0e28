package session

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/stream"
)

// Settings of the real-time trigger.
const (
	realTimeLeastKey = "spark.sql.streaming.realTimeMode.minBatchDuration"
	realTimeCheckKey = "spark.sql.streaming.realTimeMode.allowlistCheck"
)

// realTime is the trigger of real-time mode. Spark runs batches as long as the
// interval, whose rows go through at once; here batches follow each other back to
// back, each as small as what has arrived. The interval is Spark's to check.
func (sc *scope) realTime(interval string) (stream.Trigger, error) {
	every, err := sql.ParseInterval(interval)
	if err != nil {
		return stream.Trigger{}, err
	}
	if every.Months != 0 {
		return stream.Trigger{}, plan.NewError(plan.ClassIllegal, "_LEGACY_ERROR_TEMP_3262",
			"A trigger's interval has no months or years: "+interval, "interval", interval)
	}
	ms := int64(every.Days)*24*time.Hour.Milliseconds() + every.Micros/1000
	if ms <= 0 {
		return stream.Trigger{}, plan.IllegalArgument(
			"requirement failed: the duration of a batch has to be positive: %s", interval)
	}
	if least := stream.Millis(sc.conf.Value(realTimeLeastKey), 5*time.Second).Milliseconds(); ms < least {
		return stream.Trigger{}, plan.NewError(plan.ClassIllegal,
			"INVALID_STREAMING_REAL_TIME_MODE_TRIGGER_INTERVAL",
			fmt.Sprintf("the interval of a real-time trigger is at least %d ms (%s), and this is %d ms.", least,
				realTimeLeastKey, ms),
			"interval", strconv.FormatInt(ms, 10), "minBatchDuration", strconv.FormatInt(least, 10))
	}
	return stream.Trigger{Kind: plan.ProcessingTime}, nil
}

// realTimeSinks are the sinks that Spark lets stand behind a real-time query.
var realTimeSinks = map[string]bool{"kafka": true, "console": true, foreachFormat: true}

// sinkClasses are Spark's names of the others.
var sinkClasses = map[string]string{
	memoryFormat:       "org.apache.spark.sql.execution.streaming.sources.MemorySink",
	"noop":             "org.apache.spark.sql.execution.datasources.noop.NoopTable$",
	foreachBatchFormat: "org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink",
	"delta":            "org.apache.spark.sql.delta.sources.DeltaSink",
}

// sourceClasses are Spark's names of the sources that it does not read in real time.
var sourceClasses = map[string]string{
	"rate":             "org.apache.spark.sql.execution.streaming.sources.RateStreamMicroBatchStream",
	"rate-micro-batch": "org.apache.spark.sql.execution.streaming.sources.RatePerMicroBatchStream",
	"delta":            "org.apache.spark.sql.delta.sources.DeltaSource",
}

// checkRealTime refuses sinks and output modes as Spark does when a query starts.
func (b *streamStart) checkRealTime(mode plan.OutputMode) error {
	if b.scope.conf.Flag(realTimeCheckKey) && !realTimeSinks[b.format.Name] {
		class := sinkClasses[b.format.Name]
		if class == "" {
			class = "org.apache.spark.sql.execution.streaming.sinks.FileStreamSink"
		}
		return plan.NewError(plan.ClassIllegal, "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
			"the sink "+b.format.Name+" is not for real-time mode; switch "+realTimeCheckKey+" off to try.",
			"errorType", "sink", "message", class+" is")
	}
	if mode == plan.UpdateMode {
		return nil
	}
	return plan.AnalysisError("STREAMING_REAL_TIME_MODE.OUTPUT_MODE_NOT_SUPPORTED",
		"real-time mode is for output mode update, and this is "+mode.String()+".", "outputMode", mode.String())
}

// realTimeSources refuses the sources that Spark does not read in real time, once a
// query runs.
func realTimeSources(n plan.Node) error {
	var refused error
	plan.WalkNodes(n, func(m plan.Node) bool {
		s, ok := m.(*plan.Scan)
		if !ok || !s.Streaming || s.Relation.Format == "kafka" {
			return refused == nil
		}
		class := sourceClasses[s.Relation.Format]
		if class == "" {
			class = "org.apache.spark.sql.execution.streaming.runtime.FileStreamSource"
		}
		refused = plan.NewError(plan.ClassIllegal, "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED",
			"the source "+s.Relation.Format+" is not read in real-time mode.", "className", class)
		return false
	})
	return refused
}
