package deltatable

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// load reads the version of a table that the options name, the newest one when
// they name none.
func load(ctx context.Context, env *connector.Env, t delta.Table, o plan.Options) (*delta.Snapshot, error) {
	s, err := loadVersion(ctx, env, t, o)
	return s, warned(env, s, err)
}

// loadHead is the newest version without its files, of which a stream has its own list.
func loadHead(
	ctx context.Context, env *connector.Env, t delta.Table, _ plan.Options,
) (*delta.Snapshot, error) {
	s, err := t.LoadHead(ctx)
	return s, warned(env, s, err)
}

// warned tells of a damaged checkpoint.
func warned(env *connector.Env, s *delta.Snapshot, err error) error {
	if err == nil && s.BrokenCheckpoint() != nil {
		env.Warnf("The table %s is read by its commits, because a checkpoint is damaged: %v", s.Dir,
			s.BrokenCheckpoint())
	}
	return err
}

func loadVersion(
	ctx context.Context, env *connector.Env, t delta.Table, o plan.Options,
) (*delta.Snapshot, error) {
	version, byVersion := o.Get(plan.VersionAsOf)
	timestamp, byTime := o.Get(plan.TimestampAsOf)
	switch {
	case byVersion && byTime:
		return nil, illegal("DELTA_ONEOF_IN_TIMETRAVEL", "42601",
			"A version of a table is named by its number or by a time, not by both.")
	case byVersion:
		n, err := strconv.ParseInt(version, 10, 64)
		if err != nil {
			return nil, illegal("DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE", "42604",
				fmt.Sprintf("%.100q is no version: %s takes a whole number.", version, plan.VersionAsOf),
				"timeTravelKey", plan.VersionAsOf)
		}
		return t.LoadVersion(ctx, n)
	case byTime:
		n, err := VersionAt(env, t, timestamp)
		if err != nil {
			return nil, err
		}
		return t.LoadVersion(ctx, n)
	}
	return env.Snapshots.Load(ctx, t)
}

// pathVersion and pathTime are what a path may end in to name an older version of
// the table: @v and a number, @ and a time to the millisecond.
var (
	pathVersion = regexp.MustCompile(`^(.*)@[vV]([0-9]+)$`)
	pathTime    = regexp.MustCompile(`^(.*)@([0-9]{17})$`)
)

// travelled is the table of a path that may name a version, and the options with
// what it names. A directory that really is called so is no older version.
func travelled(env *connector.Env, text string, o plan.Options) (string, plan.Options, error) {
	version, moment := pathVersion.FindStringSubmatch(text), pathTime.FindStringSubmatch(text)
	if version == nil && moment == nil {
		return text, o, nil
	}
	loc, err := env.Files.Resolve(text)
	if err != nil {
		return text, o, connector.PathError(text, err)
	}
	if _, err := loc.FS.Stat(loc.Path); !vfs.NotFound(err) {
		return text, o, err
	}
	for _, key := range []string{plan.VersionAsOf, plan.TimestampAsOf} {
		if _, both := o.Get(key); both {
			return text, o, analysisError("DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS", "42613",
				fmt.Sprintf("The version of the table is named by its path %s and by %s.", text, key))
		}
	}
	o = maps.Clone(o)
	if o == nil {
		o = plan.Options{}
	}
	if version != nil {
		if _, err := strconv.ParseInt(version[2], 10, 64); err != nil {
			return text, o, connector.NotANumber(version[2])
		}
		o[plan.VersionAsOf] = version[2]
		return version[1], o, nil
	}
	o[plan.TimestampAsOf] = momentText(moment[2])
	return moment[1], o, nil
}

// momentText is yyyyMMddHHmmssSSS as a timestamp. As in Java, what is too big for its
// place is carried over.
func momentText(digits string) string {
	part := func(from, to int) int {
		n, err := strconv.Atoi(digits[from:to])
		if err != nil {
			panic(err) // they are digits
		}
		return n
	}
	t := time.Date(part(0, 4), time.Month(part(4, 6)), part(6, 8), part(8, 10), part(10, 12), part(12, 14),
		part(14, 17)*1e6, time.UTC)
	return t.Format("2006-01-02 15:04:05.000")
}

// VersionAt is the version that a table had at a time.
func VersionAt(env *connector.Env, t delta.Table, text string) (int64, error) {
	at, err := timeOf(env, text)
	if err != nil {
		return 0, err
	}
	first, times, err := t.Times()
	if err != nil {
		return 0, err
	}
	n := len(times)
	if n > 0 && at > times[n-1] {
		return 0, tooLate(env, at, times)
	}
	for n > 0 && times[n-1] > at {
		n--
	}
	if n == 0 {
		shown := "none"
		if len(times) > 0 {
			shown = javaTime(env, times[0])
		}
		return 0, analysisError("DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", "42816",
			fmt.Sprintf("The time %s is before the earliest version that can be read, of %s.",
				javaTime(env, at), shown),
			"userTimestamp", javaTime(env, at), "commitTs", shown, "timestampString", wholeSeconds(shown))
	}
	return first + int64(n) - 1, nil
}

// versionFrom is the first version of a table that was committed at a time or
// later.
func versionFrom(env *connector.Env, t delta.Table, text string) (int64, error) {
	at, err := timeOf(env, text)
	if err != nil {
		return 0, err
	}
	first, times, err := t.Times()
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(times, func(ms int64) bool { return ms >= at })
	if i < 0 {
		return 0, tooLate(env, at, times)
	}
	return first + int64(i), nil
}

// timeOf is the time that a text names, in milliseconds since 1970.
func timeOf(env *connector.Env, text string) (int64, error) {
	micros, ok := codec.ParseTimestamp(text, codec.NewOffsets(env.Eval.Zone), env.Now().UnixMicro())
	if !ok {
		return 0, analysisError("DELTA_TIMESTAMP_INVALID", "42816",
			fmt.Sprintf("%q is no timestamp.", text), "expr", "'"+text+"'")
	}
	return micros / 1000, nil
}

// javaTime is a time as Java prints timestamps.
func javaTime(env *connector.Env, ms int64) string {
	text := time.UnixMilli(ms).In(env.Eval.Zone).Format("2006-01-02 15:04:05.000")
	return text[:len(text)-2] + strings.TrimRight(text[len(text)-2:], "0")
}

func tooLate(env *connector.Env, at int64, times []int64) *plan.Error {
	newest := "none"
	if len(times) > 0 {
		newest = javaTime(env, times[len(times)-1])
	}
	return analysisError("DELTA_TIMESTAMP_GREATER_THAN_COMMIT", "42816",
		fmt.Sprintf("The time %s is after the table's newest version, of %s.", javaTime(env, at), newest),
		"providedTimestamp", javaTime(env, at), "lastCommitTimestamp", newest,
		"maximumTimestamp", wholeSeconds(newest))
}

// wholeSeconds is a time as it is shown, without what is behind the seconds.
func wholeSeconds(shown string) string {
	text, _, _ := strings.Cut(shown, ".")
	return text
}
