package connector

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// loadDelta reads the version of a table that the options name, the newest one when
// they name none.
func loadDelta(ctx context.Context, env *Env, t delta.Table, o plan.Options) (*delta.Snapshot, error) {
	version, byVersion := o.Get(plan.VersionAsOf)
	timestamp, byTime := o.Get(plan.TimestampAsOf)
	switch {
	case byVersion && byTime:
		return nil, plan.AnalysisError("MULTIPLE_TIME_TRAVEL_SPEC",
			"A version of a table is named by its number or by a time, not by both.")
	case byVersion:
		n, err := strconv.ParseInt(version, 10, 64)
		if err != nil || n < 0 {
			return nil, deltaOption(plan.VersionAsOf, version, "must be greater than or equal to zero")
		}
		return t.LoadVersion(ctx, n)
	case byTime:
		n, err := deltaVersionAt(env, t, timestamp)
		if err != nil {
			return nil, err
		}
		return t.LoadVersion(ctx, n)
	}
	return t.Load(ctx)
}

// deltaVersionAt is the version that a table had at a time.
func deltaVersionAt(env *Env, t delta.Table, text string) (int64, error) {
	at, err := deltaTime(env, text)
	if err != nil {
		return 0, err
	}
	first, times, err := t.Times()
	if err != nil {
		return 0, err
	}
	n := len(times)
	if n > 0 && at > times[n-1] {
		return 0, deltaTooLate(env, at, times)
	}
	for n > 0 && times[n-1] > at {
		n--
	}
	if n == 0 {
		shown := "none"
		if len(times) > 0 {
			shown = deltaShown(env, times[0])
		}
		return 0, deltaError("DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", "42816",
			fmt.Sprintf("The time %s is before the earliest version that can be read, of %s.",
				deltaShown(env, at), shown),
			"userTimestamp", deltaShown(env, at), "commitTs", shown, "timestampString", shown)
	}
	return first + int64(n) - 1, nil
}

// deltaTime is the time that a text names, in milliseconds since 1970.
func deltaTime(env *Env, text string) (int64, error) {
	micros, ok := codec.ParseTimestamp(text, codec.NewOffsets(env.Eval.Zone), env.Now().UnixMicro())
	if !ok {
		return 0, deltaError("DELTA_TIMESTAMP_INVALID", "42816",
			fmt.Sprintf("%q is no timestamp.", text), "expr", "'"+text+"'")
	}
	return micros / 1000, nil
}

// deltaShown is a time as Java prints timestamps.
func deltaShown(env *Env, ms int64) string {
	text := time.UnixMilli(ms).In(env.Eval.Zone).Format("2006-01-02 15:04:05.000")
	return text[:len(text)-2] + strings.TrimRight(text[len(text)-2:], "0")
}

func deltaTooLate(env *Env, at int64, times []int64) *plan.Error {
	newest := "none"
	if len(times) > 0 {
		newest = deltaShown(env, times[len(times)-1])
	}
	return deltaError("DELTA_TIMESTAMP_GREATER_THAN_COMMIT", "42816",
		fmt.Sprintf("The time %s is after the table's newest version, of %s.", deltaShown(env, at), newest),
		"providedTimestamp", deltaShown(env, at), "lastCommitTimestamp", newest, "maximumTimestamp", newest)
}
