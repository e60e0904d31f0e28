package stream

import (
	"strconv"
	"strings"
	"time"
)

// settings are the session's settings that a run reads, as they were when it
// started; later changes concern later starts.
type settings struct {
	pollEvery  time.Duration // between looks at idle sources
	stopWithin time.Duration // 0: stop waits as long as it takes
	idleEvery  time.Duration // between idle events
	retain     int64         // batches kept in the logs
	recent     int           // progress entries kept
	// replace lets a start stop an active run of the same query.
	replace bool
	// verify refuses a checkpoint with logs but without its metadata file.
	verify bool
	// noData allows batches without new data, which close windows.
	noData bool
	// metrics asks for gauges under Spark's names.
	metrics bool
	// objective is how old the oldest unread row may get; 0: nobody said.
	objective time.Duration
}

// objectiveKey is weir's own: how fresh a query has to be.
const objectiveKey = "weir.query.freshnessObjective"

const streamingPrefix = "spark.sql.streaming."

func readSettings(conf func(key string) string) settings {
	get := func(key string) string { return strings.TrimSpace(conf(streamingPrefix + key)) }
	return settings{
		pollEvery:  Millis(get("pollingDelay"), 10*time.Millisecond),
		stopWithin: Millis(get("stopTimeout"), 0),
		idleEvery:  Millis(get("noDataProgressEventInterval"), 10*time.Second),
		retain:     wholeNumber(get("minBatchesToRetain"), 100),
		recent:     int(wholeNumber(get("numRecentProgressUpdates"), 100)),
		replace:    get("stopActiveRunOnRestart") != "false",
		metrics:    get("metricsEnabled") == "true",
		noData:     get("noDataMicroBatches.enabled") != "false",
		objective:  Millis(strings.TrimSpace(conf(objectiveKey)), 0),
		verify:     get("checkpoint.verifyMetadataExists.enabled") != "false",
	}
}

func wholeNumber(text string, def int64) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return def
	}
	return n
}

// javaUnits are the suffixes of Spark's time settings.
var javaUnits = []struct {
	suffix string
	unit   time.Duration
}{
	{"us", time.Microsecond}, {"ms", time.Millisecond}, {"min", time.Minute},
	{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
}

// Millis reads a time setting: a number of milliseconds unless it has a
// suffix. What it cannot read, and negative times, become def.
func Millis(text string, def time.Duration) time.Duration {
	text, unit := strings.ToLower(text), time.Millisecond
	for _, u := range javaUnits {
		if digits, ok := strings.CutSuffix(text, u.suffix); ok {
			text, unit = strings.TrimSpace(digits), u.unit
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > int64(1<<63-1)/int64(unit) {
		return def
	}
	return time.Duration(n) * unit
}
