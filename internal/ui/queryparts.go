package ui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// queryPage is what query.qtpl shows.
type queryPage struct {
	detail   *detail
	batches  *batchList
	logs     *logList
	series   *seriesJSON
	runs     []told // of the query, newest first
	progress string // Spark's JSON of the last batch, "" before the first
}

// ended tells whether the query has come to its end.
func (q *detail) ended() bool { return q.State == health.Failed || q.State == health.Stopped }

// road is where rows come from and go to.
func (q *detail) road() string {
	names := make([]string, len(q.Sources))
	for i := range q.Sources {
		names[i] = q.Sources[i].Description
	}
	from, to := strings.Join(names, " + "), string(q.Sink)
	if from == "" && to == "" {
		return ""
	}
	return orUnknown(from) + " → " + orUnknown(to)
}

func orUnknown(text string) string {
	if text == "" {
		return unknownFig
	}
	return text
}

func (q *detail) every() string {
	switch {
	case q.Bounded:
		return "until its input ends"
	case q.TriggerMs > 0:
		return "every " + span(q.TriggerMs)
	default:
		return "as fast as possible"
	}
}

func (q *detail) sinceText() string {
	if q.SinceAtMs.since(q.NowAtMs) > 864e5 {
		return q.SinceAtMs.text("2006-01-02")
	}
	return q.SinceAtMs.text("15:04:05") + " UTC"
}

// bigFigure is one of the figures that answer how a query does.
type bigFigure struct {
	name, value, unit, text string
	red                     bool
}

func (q *detail) figures() []bigFigure {
	arriving := bigFigure{name: "Arriving", text: "at the source, last 2 min"}
	arriving.value, arriving.unit = perSecond(q.ArrivalRowsPerSecond)
	switch {
	case isKnown(q.ArrivalRowsPerSecond):
	case q.ended():
		arriving.text = "not running"
	default:
		arriving.text = "not measured"
	}
	processed := bigFigure{
		name: "Processed", text: "committed, last 2 min", red: isKnown(q.ShortPercent) || q.State == health.Stalled,
	}
	processed.value, processed.unit = perSecond(q.ProcessedRowsPerSecond)
	switch {
	case q.ended():
		processed.text = "not running"
	case isKnown(q.CapRows) && q.TriggerMs > 0:
		processed.text = "cap " + rowFigure(q.CapRows/q.TriggerMs*1000) + " rows/s"
	}
	backlog := bigFigure{name: "Backlog", text: "oldest unread row", red: q.over(q.BacklogMs)}
	backlog.value, backlog.unit = parts(q.BacklogMs, inMs)
	switch {
	case isKnown(q.BacklogRows):
		backlog.text = rowFigure(q.BacklogRows) + " rows unread"
	case !isKnown(q.BacklogMs):
		backlog.text = "not measured"
	}
	return []bigFigure{arriving, processed, q.freshness(), backlog, q.headroom()}
}

// headroom is how much of what arrives the query could take.
func (q *detail) headroom() bigFigure {
	h := bigFigure{name: "Headroom", value: unknownFig, text: "not known"}
	switch {
	case q.ended():
	case isKnown(q.HeadroomRatio):
		h.value, h.text = times(q.HeadroomRatio), "of what arrives"
		h.red = q.HeadroomRatio < 1 && isKnown(q.ShortPercent)
	case isKnown(q.BatchRatio) && q.BatchRatio < 0.05:
		h.text = "batches hardly run"
	}
	return h
}

func (q *detail) freshness() bigFigure {
	f := bigFigure{name: "Freshness p95", value: unknownFig, text: "not measured"}
	switch {
	case isKnown(q.FreshnessP95Ms):
		f.text, f.red = "no objective set", q.over(q.FreshnessP95Ms)
		f.value, f.unit = parts(q.FreshnessP95Ms, inMs)
		if isKnown(q.FreshnessSloMs) {
			f.text = "objective " + span(q.FreshnessSloMs)
		}
	case isKnown(q.NewestAgeMs):
		f.name, f.text, f.red = "Newest result", "old, by its event time", q.over(q.NewestAgeMs)
		f.value, f.unit = parts(q.NewestAgeMs, inMs)
	}
	return f
}

// quiet says why no batch runs.
func (q *detail) quiet() string {
	switch {
	case q.ended():
		return "No batch is running."
	case q.State == health.Idle:
		return "No batch is running: waiting for rows."
	case q.State == health.Restarting:
		return "No batch is running yet."
	case q.Engine != "weir":
		return "Running batches are not visible in an event log."
	case isKnown(q.NextTriggerInMs):
		return "Between batches: next trigger in " + span(q.NextTriggerInMs) + "."
	default:
		return "Between batches."
	}
}

// ran is how long the batch runs, of what it may take.
func (q *detail) ran() string {
	text := span(q.InFlight.StartedAtMs.since(q.NowAtMs))
	if q.TriggerMs > 0 {
		text += " of " + span(q.TriggerMs)
	}
	return text
}

// waits is what the running batch waits for.
func (q *detail) waits() string {
	text := "waits"
	if still := q.InFlight.LastProgressAtMs; isKnown(still.at()) {
		text += " for " + span(still.since(q.NowAtMs))
	}
	return text + ": " + string(q.InFlight.WaitsFor)
}

func (f *flightJSON) rows() string {
	if f.TotalRows > 0 {
		return whole(f.ReadRows) + " of " + whole(f.TotalRows) + " rows read"
	}
	return whole(f.ReadRows) + " rows read"
}

// sessionMark is how a worker's error begins: whose it is, which is no news here.
var sessionMark = regexp.MustCompile(`\[session: [^\]]*\] \[userId: [^\]]*\] ?`)

// text is the message for people.
func (f *failure) text() string { return sessionMark.ReplaceAllString(f.Message, "") }

// traced tells whether the trace says no more than the message.
func (f *failure) traced() bool { return strings.HasSuffix(f.Trace, f.Message) || f.Trace == "" }

// share is a part of a whole, 0 where either is unknown.
func share(part, of number) number { return known(part) / of }

func mostShare(list []operator) number {
	most := number(0)
	for i := range list {
		most = max(most, known(list[i].ShareRatio))
	}
	if most == 0 {
		return 1
	}
	return most
}

// tasks is how evenly an operator's work lies on its partitions.
type tasks struct{ typical, longest, skew number }

func newTasks(o *operator) tasks {
	t := tasks{typical: middle(o.PartitionMs)}
	for _, x := range o.PartitionMs {
		t.longest = max(t.longest, known(x))
	}
	if t.typical > 0 {
		t.skew = t.longest / t.typical
	}
	return t
}

// shade is a time from 0 to 9.
func (t tasks) shade(x number) string {
	if !(t.typical > 0) {
		return "0"
	}
	return fixed(9*min(1, float64(x/(t.typical*3))), 0)
}

// phaseTime is what a phase takes.
type phaseTime struct {
	key, word   string
	time, share number
}

// means are the phases of the newest batches, and of how many.
func (l *batchList) means() (times []phaseTime, n int) {
	recent := l.first()
	sum := number(0)
	for p := range health.PhaseCount {
		var values []number
		for i := range recent {
			values = append(values, recent[i].Phases[p])
		}
		t := phaseTime{key: p.String(), word: phaseWords[p].long, time: mean(values)}
		if isKnown(t.time) {
			sum += t.time
			times = append(times, t)
		}
	}
	apart := func(t phaseTime) bool {
		return t.key == health.Read.String() || t.key == health.SinkWrite.String()
	}
	for i := range times {
		times[i].share = unknown()
		if sum > 0 {
			times[i].share = times[i].time / sum
		}
		if times[i].key == health.Compute.String() && !slices.ContainsFunc(times, apart) {
			times[i].word = "read, compute, write"
		}
	}
	return times, len(recent)
}

// mean is that of the known values, unknown for none.
func mean(values []number) number {
	sum, n := number(0), number(0)
	for _, v := range values {
		if isKnown(v) {
			sum += v
			n++
		}
	}
	if n == 0 {
		return unknown()
	}
	return sum / n
}

func meanNote(n int) string {
	if n == 1 {
		return "of one batch"
	}
	return "mean of " + whole(number(n)) + " batches"
}

// fact is a line about a query: a value, or how long ago something was.
type fact struct {
	name, value string
	at          instant
	code        bool
}

func (q *detail) facts() []fact {
	var out []fact
	add := func(isThere bool, f fact) {
		if isThere {
			out = append(out, f)
		}
	}
	if q.LastBatchID != nil {
		add(true, fact{name: "Last batch", value: whole(number(*q.LastBatchID))})
	}
	add(isKnown(q.LastCommitAtMs.at()), fact{
		name: "Last commit", value: span(q.LastCommitAtMs.since(q.NowAtMs)) + " ago", at: q.LastCommitAtMs,
	})
	add(isKnown(q.FreshnessFloorMs), fact{
		name: "Trigger and batch time alone make a row wait", value: span(q.FreshnessFloorMs),
	})
	watermark := isKnown(q.WatermarkDelayMs)
	add(watermark, fact{name: "Late rows allowed", value: span(q.WatermarkDelayMs)})
	add(watermark, fact{
		name: "Late rows dropped", value: whole(q.DroppedRows) + " of " + whole(q.DroppedOfRows),
	})
	state := sizeFigure(q.StateBytes)
	if isKnown(q.StateLimitBytes) {
		state += " of " + sizeFigure(q.StateLimitBytes)
	}
	add(isKnown(q.StateBytes), fact{name: "State", value: state})
	add(true, fact{name: "Failures, 24 h", value: whole(number(q.RestartsLastDay))})
	add(true, fact{name: "Id", value: q.ID, code: true})
	add(true, fact{name: "Run", value: q.RunID, code: true})
	return out
}

// shownBatches is how many batches are seen at once, shownEvents how many events.
const (
	shownBatches = 12
	shownEvents  = 30
)

func (l *batchList) first() []batch { return l.Batches[:min(len(l.Batches), shownBatches)] }
func (l *batchList) rest() []batch  { return l.Batches[len(l.first()):] }

// longest is how long the longest batch took.
func (l *batchList) longest() number {
	longest := number(0)
	for i := range l.Batches {
		longest = max(longest, known(l.Batches[i].BatchMs))
	}
	if longest == 0 {
		return 1
	}
	return longest
}

// against tells whether bars stand against the trigger: where batches take a small
// part of its interval there would be nothing to see.
func (l *batchList) against() bool { return l.TriggerMs > 0 && l.TriggerMs <= 4*l.longest() }

// scale is how long the longest bar lasts.
func (l *batchList) scale() number {
	if l.against() {
		return max(l.TriggerMs, l.longest())
	}
	return l.longest()
}

func (l *batchList) note() string {
	if l.against() {
		return "bar: batch time against the " + span(l.TriggerMs) + " trigger"
	}
	return "bar: batch time against the longest shown"
}

// due is where the next trigger stands on a bar of 100.
func (l *batchList) due(scale number) string {
	if !l.against() {
		return ""
	}
	return fixed(float64(l.TriggerMs/scale*100), 1)
}

// rect is a phase on a bar of 100.
type rect struct{ key, x, width string }

func (b *batch) rects(scale number) []rect {
	var out []rect
	x := number(0)
	for p := range health.PhaseCount {
		width := known(b.Phases[p]) / scale * 100
		if width > 0 {
			out = append(out, rect{p.String(), fixed(float64(x), 1), fixed(float64(width), 1)})
		}
		x += width
	}
	return out
}

// waiting is how much of a source is unread.
func (s *source) waiting(q *detail) string {
	var some []string
	if isKnown(s.BehindRows) {
		some = append(some, counted(s.BehindRows, rowFigure, "row"))
	}
	if isKnown(s.BehindFiles) {
		some = append(some, counted(s.BehindFiles, whole, "file"))
	}
	if isKnown(s.BehindBytes) {
		some = append(some, sizeFigure(s.BehindBytes))
	}
	if len(some) == 0 {
		return "How much waits is not known."
	}
	if q.ended() {
		return "Unread when it ended: " + strings.Join(some, ", ") + "."
	}
	text := "Unread: " + strings.Join(some, ", ")
	if isKnown(s.OldestAtMs.at()) {
		text += ", the oldest since " + span(s.OldestAtMs.since(q.NowAtMs))
	}
	return text + "."
}

// counted is so many of something.
func counted(n number, figure func(number) string, what string) string {
	if n == 1 {
		return figure(n) + " " + what
	}
	return figure(n) + " " + what + "s"
}

// shownPartitions is how many partitions of a source are shown.
const shownPartitions = 50

// partitions are those of a source with the most unread rows.
type partitions struct {
	shown         []partition
	more          int
	most, typical number
	timed         bool // event times are known of some
}

func newPartitions(s *source) *partitions {
	all := slices.Clone(s.Partitions)
	slices.SortStableFunc(all, func(a, b partition) int {
		return cmp.Or(lateFirst(b)-lateFirst(a), cmp.Compare(known(b.BehindRows), known(a.BehindRows)))
	})
	t := &partitions{shown: all[:min(len(all), shownPartitions)], most: 1}
	t.more = len(all) - len(t.shown)
	var behind []number
	for i := range all {
		t.timed = t.timed || isKnown(all[i].NewestAtMs.at())
		behind = append(behind, known(all[i].BehindRows))
		t.most = max(t.most, known(all[i].BehindRows))
	}
	t.typical = middle(behind)
	return t
}

// lateFirst orders partitions whose rows are dropped before others.
func lateFirst(p partition) int {
	if p.Late {
		return 1
	}
	return 0
}

// late is how many partitions' rows are dropped.
func (s *source) late() (n int) {
	for _, p := range s.Partitions {
		n += lateFirst(p)
	}
	return n
}

func lateText(n int) string {
	if n == 1 {
		return "1 partition is older than the watermark: its rows are dropped."
	}
	return strconv.Itoa(n) + " partitions are older than the watermark: their rows are dropped."
}

func (t *partitions) share(p *partition) number { return share(p.BehindRows, t.most) }

// skewed marks a partition that has far more unread rows than others.
func (t *partitions) skewed(p *partition) string {
	if t.typical > 0 && known(p.BehindRows) > 3*t.typical {
		return "full"
	}
	return ""
}

// when is the time of something, with its day when that is not today's.
func when(at, now instant) string {
	if at.since(now) > 432e5 {
		return at.text("01-02 15:04")
	}
	return at.text("15:04:05")
}

// jsonLines sets a JSON text out in escaped lines; its tokens stay as they are.
func jsonLines(text string) []string {
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		return []string{html.EscapeString(text)}
	}
	escaped := strings.ReplaceAll(html.EscapeString(out.String()), "&#34;", "&quot;")
	return strings.Split(escaped, "\n")
}
