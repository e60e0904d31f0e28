package kafka

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// source is a streaming source. Its log holds the offsets that the query
// began with, as Spark's. Beside it are kept the ids of the topics, so that a
// topic that was made again is not taken for the one that was read.
type source struct {
	env      *connector.Env
	settings settings
	cluster  *client.Cluster
	log      connector.Place
	keep     connector.Place // of the ids; not set when nothing is to be remembered
	group    string          // of the errors about lost records
	waiting  func(why string)

	views   []*view
	main    *view
	initial client.Offsets           // where the query began; nil until it is known
	latest  client.Offsets           // as of the last trigger; nil before the first
	parts   atomic.Pointer[[]string] // names of the partitions that were read last, by Part
	connector.Arrivals
	limited bool      // the last batch did not reach latest
	batchAt time.Time // when a batch was let through last

	mu    sync.Mutex          // guards what follows while views are read, several at once
	ids   map[string]string   // of the topics, by name
	known []client.Partition  // as of the newest answer of the cluster
	asked time.Time           // when that was
	told  map[string]struct{} // losses that were reported
}

func openSource(
	_ context.Context, env *connector.Env, s *plan.Scan, log connector.Place,
) (connector.Source, error) {
	settings, err := settingsOf(env, s.Relation.Options, true)
	if err != nil {
		return nil, failed(err)
	}
	k := &source{env: env, settings: settings, log: log, told: map[string]struct{}{}}
	k.group = settings.group
	if k.group == "" {
		k.group = fmt.Sprintf("%s-%s-%d", settings.groupPrefix, uuid.NewString(), uint32(javaStringHash(log.Dir)))
	}
	k.group += "-executor"
	k.cluster, err = client.Open(settings.config, client.Patience{Within: settings.patience(), Waiting: k.waits})
	if err != nil {
		return nil, failed(err)
	}
	k.main, err = k.view(s)
	if err != nil {
		k.cluster.Close()
		return nil, err
	}
	return k, nil
}

// patience is how long an outage of the cluster may last: so often as Spark asks
// again, each time for as long as Kafka's clients do.
func (s *settings) patience() time.Duration {
	one := time.Minute
	if ms, err := strconv.ParseInt(s.config.Settings["default.api.timeout.ms"], 10, 64); err == nil {
		one = milliseconds(ms)
	}
	return time.Duration(max(1, s.attempts)) * one
}

// Describe is Spark's text.
func (k *source) Describe() string { return "KafkaV2[" + k.settings.topics.Describe() + "]" }

// OnWait has the reasons told for which the source waits.
func (k *source) OnWait(waiting func(why string)) { k.waiting = waiting }

func (k *source) waits(why error) {
	if k.waiting != nil {
		k.waiting(why.Error())
	}
}

// Close ends everything that reads.
func (k *source) Close() error {
	k.Rest()
	k.cluster.Close()
	return nil
}

// Rest ends the reading ahead; the connections by which the cluster is asked stay.
func (k *source) Rest() {
	for _, v := range k.views {
		v.fetcher.Close()
	}
}

// Advance has nothing to do: the cluster keeps records by rules of its own.
func (k *source) Advance(context.Context, connector.Offset) error { return nil }

// Finished tells a consumer group how far the query is, if one was named.
func (k *source) Finished(ctx context.Context, upTo connector.Offset) error {
	if k.settings.commitGroup == "" || upTo == "" {
		return nil
	}
	offsets, err := parseOffsets(string(upTo))
	if err != nil {
		return err
	}
	return k.cluster.CommitGroup(ctx, k.settings.commitGroup, offsets)
}

// Pin is where the topics end now.
func (k *source) Pin(ctx context.Context) (connector.Offset, error) {
	initial, err := k.begin(ctx)
	if err != nil {
		return "", err
	}
	k.latest, err = k.ends(ctx, initial, true)
	if err != nil || len(k.latest) == 0 {
		return "", err
	}
	return offsetText(k.latest), nil
}

// Latest is where a batch may end.
func (k *source) Latest(
	ctx context.Context, start connector.Offset, limit connector.Limit,
) (connector.Offset, error) {
	from, err := k.from(ctx, start)
	if err != nil {
		return "", err
	}
	if limit.End != "" {
		k.latest, err = parseOffsets(string(limit.End))
	} else {
		k.latest, err = k.ends(ctx, from, false)
	}
	if err != nil {
		return "", err
	}
	end, err := k.admit(ctx, from, limit)
	if err != nil {
		return "", err
	}
	k.limited = !maps.Equal(end, k.latest)
	if len(end) == 0 || start != "" && maps.Equal(end, from) {
		return start, nil
	}
	for _, v := range k.views {
		v.fetcher.Ahead(end)
	}
	return offsetText(end), nil
}

// admit applies the limits of a batch.
func (k *source) admit(
	ctx context.Context, from client.Offsets, limit connector.Limit,
) (client.Offsets, error) {
	if limit.All {
		return k.latest, nil
	}
	if least := k.settings.minOffsets; least != nil && limit.End == "" {
		now := k.env.Now()
		passed := time.Duration(math.MaxInt64)
		if !k.batchAt.IsZero() {
			passed = now.Sub(k.batchAt)
		}
		if holdBack(*least, from, k.latest, passed, k.settings.maxDelay) {
			return from, nil
		}
		k.batchAt = now
	}
	if k.settings.maxOffsets == nil {
		return k.latest, nil
	}
	first, err := k.firstOf(ctx, from, k.latest)
	if err != nil {
		return nil, err
	}
	return shareLimit(*k.settings.maxOffsets, from, first, k.latest), nil
}

// Limited tells whether maxOffsetsPerTrigger kept records back.
func (k *source) Limited() bool { return k.limited }

// ReportLatest is where the topics ended at the last trigger.
func (k *source) ReportLatest(context.Context) (connector.Offset, error) {
	if len(k.latest) == 0 {
		return "", nil
	}
	return offsetText(k.latest), nil
}

// Metrics is how far behind the end of the topics the query is.
func (k *source) Metrics(consumed connector.Offset) map[string]string {
	at, err := parseOffsets(string(consumed))
	if err != nil || len(k.latest) == 0 {
		return nil
	}
	least, most, sum := int64(math.MaxInt64), int64(math.MinInt64), int64(0)
	for p, end := range k.latest {
		behind := end - at[p]
		least, most, sum = min(least, behind), max(most, behind), sum+behind
	}
	metrics := map[string]string{
		"minOffsetsBehindLatest": strconv.FormatInt(least, 10),
		"maxOffsetsBehindLatest": strconv.FormatInt(most, 10),
		"avgOffsetsBehindLatest": string(codec.AppendDouble(nil, float64(sum)/float64(len(k.latest)))),
	}
	if size := k.main.fetcher.PerOffset(); size > 0 || sum == 0 {
		metrics["estimatedTotalBytesBehindLatest"] = string(codec.AppendDouble(nil, float64(sum)*size))
	}
	return metrics
}

// from are the offsets of a start; "" is the beginning of the query.
func (k *source) from(ctx context.Context, start connector.Offset) (client.Offsets, error) {
	if start == "" {
		return k.begin(ctx)
	}
	return parseOffsets(string(start))
}

// begin finds where the query begins, once: the log remembers it.
func (k *source) begin(ctx context.Context) (client.Offsets, error) {
	if k.initial != nil {
		return k.initial, nil
	}
	name := path.Join(k.log.Dir, "0")
	data, err := vfs.ReadFile(k.log.FS, name)
	switch {
	case err == nil:
		k.initial, err = parseInitial(name, data)
		return k.initial, err
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read log %s: %w", name, err)
	}
	partitions, err := k.partitions(ctx)
	if err != nil {
		return nil, err
	}
	initial, err := k.settings.starting.resolve(ctx, k.cluster, partitions, true)
	if err != nil {
		return nil, failed(err)
	}
	if err := vfs.MkdirDurable(k.log.FS, k.log.Dir); err != nil {
		return nil, err
	}
	// The zero byte is Spark's, for its version 2.1.
	text := fmt.Sprintf("\x00v%d\n%s", connector.LogVersion, offsetText(initial))
	if err := vfs.WriteNew(k.log.FS, name, []byte(text)); err != nil {
		return nil, err
	}
	k.initial = initial
	return initial, nil
}

// partitions asks the cluster which partitions are to be read.
func (k *source) partitions(ctx context.Context) ([]client.Partition, error) {
	found, err := k.settings.topics.find(ctx, k.cluster)
	if err != nil {
		return nil, failed(err)
	}
	k.known, k.asked = found, time.Now()
	return found, nil
}

// A query that is busy looks for new partitions only so often.
const lookEvery = 100 * time.Millisecond

// ends are where the partitions end now. Partitions that vanished or went back
// since start are asked about again for a while: clusters answer so for a
// moment when a leader changes.
func (k *source) ends(ctx context.Context, start client.Offsets, look bool) (client.Offsets, error) {
	for attempt := 1; ; attempt++ {
		end, err := k.endsNow(ctx, start, look || attempt > 1)
		retry := err != nil && errors.Is(err, client.ErrMissing) || err == nil && wentBack(start, end)
		if !retry || attempt >= k.settings.attempts {
			return end, failed(err)
		}
		if err == nil {
			err = fmt.Errorf("the ends of %s went back", k.settings.topics.Describe())
		}
		k.waits(err)
		if err := rest(ctx, k.settings.attemptPause); err != nil {
			return nil, err
		}
	}
}

// endsNow asks once. An idle query looks for new partitions each time, a busy
// one now and then.
func (k *source) endsNow(ctx context.Context, start client.Offsets, look bool) (client.Offsets, error) {
	fresh := look || time.Since(k.asked) > lookEvery
	if fresh {
		if _, err := k.partitions(ctx); err != nil {
			return nil, err
		}
	}
	end, err := k.cluster.ListAll(ctx, k.known, client.Latest)
	if err != nil || fresh || !maps.Equal(end, start) {
		return end, err
	}
	before := k.known
	if now, err := k.partitions(ctx); err != nil || slices.Equal(before, now) {
		return end, err
	}
	return k.cluster.ListAll(ctx, k.known, client.Latest)
}

// wentBack tells whether the cluster knows less than a query has read.
func wentBack(start, end client.Offsets) bool {
	for p, from := range start {
		if to, ok := end[p]; !ok || to < from {
			return true
		}
	}
	return false
}

func rest(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// firstOf are the earliest offsets of the partitions of end that start lacks.
// Those that do not exist any more are missing.
func (k *source) firstOf(ctx context.Context, start, end client.Offsets) (client.Offsets, error) {
	fresh := client.Offsets{}
	for p := range end {
		if _, ok := start[p]; !ok {
			fresh[p] = client.Earliest
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	there, err := k.partitions(ctx)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(fresh, func(p client.Partition, _ int64) bool {
		_, ok := slices.BinarySearchFunc(there, p, client.Compare)
		return !ok
	})
	first, err := k.cluster.List(ctx, fresh)
	return first, failed(err)
}

// Read yields the records of a range of the query's first scan.
func (k *source) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	return k.main.Read(ctx, from, to)
}

// View is the source with other columns and a position of its own.
func (k *source) View(s *plan.Scan) (connector.View, error) { return k.view(s) }

func (k *source) view(s *plan.Scan) (*view, error) {
	columns, err := connector.ColumnsOf(s)
	if err != nil {
		return nil, err
	}
	v := &view{source: k, fetcher: k.cluster.NewFetcher(columnsFor(columns), k.settings.limits())}
	k.views = append(k.views, v)
	return v, nil
}

func columnsFor(columns []int) []client.Column {
	out := make([]client.Column, len(columns))
	for i, c := range columns {
		out[i] = client.Column(c)
	}
	return out
}

// limits are those that the settings of Kafka's consumer ask for.
func (s *settings) limits() client.Limits {
	bytes := func(name string) int32 {
		n, err := strconv.ParseInt(s.config.Settings[name], 10, 32)
		if err != nil {
			return 0
		}
		return int32(n)
	}
	return client.Limits{
		Answer: bytes("fetch.max.bytes"), Partition: bytes("max.partition.fetch.bytes"), Empty: s.pollTimeout,
	}
}

// view is the source as one scan reads it.
type view struct {
	source  *source
	fetcher *client.Fetcher
}

// Read yields the records of [from, to), partition by partition.
func (v *view) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		ranges, err := v.source.ranges(ctx, from, to)
		if err != nil {
			yield(nil, err)
			return
		}
		r := v.source.reader(v.fetcher)
		if v == v.source.main {
			r.dates = &v.source.Arrivals
			r.dates.Reset()
		}
		r.all(ctx, ranges, yield)
	}
}

func (k *source) reader(f *client.Fetcher) *reader {
	return &reader{
		cluster: k.cluster, fetcher: f, lose: k.lose, group: k.group, timeout: k.settings.pollTimeout,
		failOnLoss: k.settings.failOnDataLoss, dates: &connector.Arrivals{},
	}
}

// ranges finds what a batch reads and refuses or reports what is lost.
func (k *source) ranges(ctx context.Context, from, to connector.Offset) ([]client.Range, error) {
	start, err := k.from(ctx, from)
	if err != nil {
		return nil, err
	}
	end, err := parseOffsets(string(to))
	if err != nil {
		return nil, err
	}
	for _, v := range k.views {
		v.fetcher.Forget(end)
	}
	ranges, losses, err := k.judge(ctx, start, end)
	if err != nil {
		return nil, err
	}
	for _, loss := range losses {
		if err := k.lose(loss); err != nil {
			return nil, err
		}
	}
	ranges = splitRanges(ranges, k.settings.minPartitions, k.settings.maxRecords)
	names := make([]string, len(ranges))
	for i, r := range ranges {
		names[i] = r.Partition.String()
	}
	k.parts.Store(&names)
	return ranges, nil
}

// PartNames are the partitions of the batch that was read last.
func (k *source) PartNames() []string {
	if names := k.parts.Load(); names != nil {
		return *names
	}
	return nil
}

// judge finds the ranges between two offsets and what of them is lost.
func (k *source) judge(ctx context.Context, start, end client.Offsets,
) ([]client.Range, []*plan.Error, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	first, err := k.firstOf(ctx, start, end)
	if err != nil {
		return nil, nil, err
	}
	ranges, losses := ranges(facts{start: start, end: end, first: first, group: k.settings.group})
	remade, err := k.remade(ctx, ranges)
	return ranges, append(losses, remade...), err
}

// lose fails for records that are lost, or reports them once where the query is
// to go on.
func (k *source) lose(loss *plan.Error) error {
	if k.settings.failOnDataLoss {
		return loss
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	text := loss.Msg
	if _, ok := k.told[text]; !ok {
		k.told[text] = struct{}{}
		k.env.Losef("%s: %s", k.Describe(), text)
	}
	return nil
}
