package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
)

// The content types of the two pages of metrics.
const (
	OpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	PlainText   = "text/plain; version=0.0.4; charset=utf-8"
)

// maxLabel is how long a label's value may be, in bytes.
const maxLabel = 200

// AppendOpenMetrics writes the page of weir's own metrics: for each query what
// arrives, what is processed, what waits and for how long, how fresh results are, and
// how it does. At most maxQueries queries are in it. Before them stands what the server
// says of itself.
func AppendOpenMetrics(dst []byte, r *monitor.Registry, own []Own) []byte {
	p := page{dst: dst, subjects: subjects(r)}
	p.families(own)
	return append(p.dst, "# EOF\n"...)
}

// AppendText writes the same samples in Prometheus' older text format, which knows no
// units, no information and no sets of states: these are gauges there.
func AppendText(dst []byte, r *monitor.Registry, own []Own) []byte {
	p := page{dst: dst, subjects: subjects(r), plain: true}
	p.families(own)
	return p.dst
}

func (p *page) families(own []Own) {
	p.own(own)
	for _, f := range families {
		p.family(f)
	}
}

// subjects are the queries that are reported.
func subjects(r *monitor.Registry) []subject {
	queries := r.Queries()
	if len(queries) > maxQueries {
		queries = queries[:maxQueries]
	}
	out := make([]subject, len(queries))
	for i, q := range queries {
		s := q.Snapshot()
		out[i] = subject{s, q.Health(), q.Totals(), q.Reading(), q.Batches(), labels{}}
		out[i].labels = labels{{"query", s.ShownName()}, {"query_id", s.ID}}
	}
	return out
}

// subject is a query on the page.
type subject struct {
	snapshot monitor.Snapshot
	health   health.Assessment
	totals   monitor.Totals
	reading  health.Reading
	batches  []health.Batch
	labels   labels
}

type label struct{ name, value string }

type labels []label

// page takes the samples of families in: as text, or one by one with emit.
type page struct {
	dst      []byte
	plain    bool // Prometheus' text format, not OpenMetrics
	subjects []subject
	emit     func(name string, of labels, value float64)
}

// family is a metric with its samples.
type family struct {
	name, kind, unit, help string
	of                     func(p *page, f *family, s *subject)
}

// gauge is a family of one number a query.
func gauge(name, unit, help string, of func(s *subject) float64) family {
	return family{name, "gauge", unit, help, func(p *page, f *family, s *subject) {
		p.sample(f.name, s.labels, of(s))
	}}
}

// counter is a family of one sum a query.
func counter(name, unit, help string, of func(s *subject) float64) family {
	return family{name, "counter", unit, help, func(p *page, f *family, s *subject) {
		p.sample(f.name+"_total", s.labels, of(s))
	}}
}

// families are the metrics, in the order of the page.
var families = []family{
	{"weir_query_state", "stateset", "", "How the query does; one state is 1.", states},
	gauge("weir_query_health_score", "", "How much the query needs a person: 100 the most.",
		func(s *subject) float64 { return s.health.Score }),
	gauge("weir_query_up", "", "1 while the query runs, 0 when it was stopped or failed.", up),
	gauge("weir_query_not_started_again", "",
		"1 when the query ran as an earlier server ended, and its program has not started it again.", missing),
	gauge("weir_arrival_rows_per_second", "", "Rows that arrive at the sources.",
		func(s *subject) float64 { return s.health.ArrivalRowsPerSecond }),
	gauge("weir_processed_rows_per_second", "", "Rows that are committed.",
		func(s *subject) float64 { return s.health.ProcessedPerSecond }),
	counter("weir_input_rows", "", "Rows that were read and committed.",
		func(s *subject) float64 { return s.totals.Rows }),
	counter("weir_dropped_rows", "", "Rows that came after the watermark and were dropped.",
		func(s *subject) float64 { return s.totals.Dropped }),
	counter("weir_batches", "", "Batches that were committed.",
		func(s *subject) float64 { return float64(s.totals.Batches) }),
	counter("weir_failures", "", "Runs that failed.",
		func(s *subject) float64 { return float64(s.totals.Failures) }),
	{"weir_backlog_rows", "gauge", "", "Rows that wait in a source.", backlog(
		func(a health.Amount) float64 { return a.Rows })},
	{"weir_backlog_bytes", "gauge", "bytes", "Bytes that wait in a source.", backlog(
		func(a health.Amount) float64 { return a.Bytes })},
	{"weir_backlog_files", "gauge", "", "Files that wait in a source.", backlog(
		func(a health.Amount) float64 { return a.Files })},
	{"weir_partition_newest_event_timestamp_seconds", "gauge", "seconds",
		"Newest event time of the rows of a partition, of those furthest behind.", partitions},
	gauge("weir_backlog_seconds", "seconds", "How long ago the oldest unread row came.",
		func(s *subject) float64 { return s.health.BacklogSeconds }),
	gauge("weir_backlog_growth_ratio", "ratio", "How fast the backlog grows, as a share of what arrives.",
		func(s *subject) float64 { return s.health.Growth }),
	gauge("weir_newest_row_age_seconds", "seconds", "Age of the newest committed row.",
		func(s *subject) float64 { return s.health.NewestAge }),
	gauge("weir_watermark_lag_seconds", "seconds", "Watermark behind the last batch, beyond its delay.",
		func(s *subject) float64 { return s.health.WatermarkLag }),
	gauge("weir_busy_ratio", "ratio", "Share of what the query can take that it has to.",
		func(s *subject) float64 { return s.health.Busy }),
	gauge("weir_state_bytes", "bytes", "Memory of stateful operators.",
		func(s *subject) float64 { return s.health.StateBytes }),
	gauge("weir_last_commit_timestamp_seconds", "seconds", "When the last batch was committed.", committedAt),
	{"weir_phase_seconds", "counter", "seconds", "Time of batches by phase.", phases},
	{"weir_batch_duration_seconds", "histogram", "seconds", "How long batches take.",
		histogram(func(s *subject) *monitor.Histogram { return &s.totals.BatchSeconds })},
	{"weir_delivery_seconds", "histogram", "seconds", "How old rows were when they were committed.",
		histogram(func(s *subject) *monitor.Histogram { return &s.totals.DeliverySeconds })},
}

// mostPartitions is of how many partitions of a query there are samples.
const mostPartitions = 16

// partitions samples the partitions whose event times are furthest behind.
func partitions(p *page, f *family, s *subject) {
	type one struct {
		source, name string
		seconds      float64 // of its newest event time since 1970
	}
	var all []one
	seen := map[string]bool{}
	for _, source := range s.reading.Sources {
		if seen[source.Name] { // two of one name would be one series
			continue
		}
		seen[source.Name] = true
		for _, part := range source.Partitions {
			if !part.Newest.IsZero() {
				all = append(all, one{source.Name, part.Name, float64(part.Newest.UnixMilli()) / 1000})
			}
		}
	}
	slices.SortFunc(all, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.name,
			b.name))
	})
	for _, o := range all[:min(len(all), mostPartitions)] {
		of := append(s.labels[:len(s.labels):len(s.labels)], label{"source", o.source}, label{"partition", o.name})
		p.sample(f.name, of, o.seconds)
	}
}

var allStates = []health.State{
	health.Failed, health.Stalled, health.Breach, health.Behind, health.Lagging, health.CatchingUp,
	health.Restarting, health.Starting, health.Healthy, health.Idle, health.Stopped,
}

func states(p *page, f *family, s *subject) {
	for _, state := range allStates {
		value := 0.0
		if s.health.State == state {
			value = 1
		}
		p.sample(f.name, append(s.labels[:len(s.labels):len(s.labels)], label{f.name, string(state)}), value)
	}
}

func up(s *subject) float64 {
	if s.snapshot.State == monitor.Stopped || s.snapshot.State == monitor.Failed {
		return 0
	}
	return 1
}

func missing(s *subject) float64 {
	if s.snapshot.Left {
		return 1
	}
	return 0
}

func committedAt(s *subject) float64 {
	if s.health.LastCommit.IsZero() {
		return math.NaN()
	}
	return float64(s.health.LastCommit.UnixMilli()) / 1000
}

func backlog(of func(health.Amount) float64) func(p *page, f *family, s *subject) {
	return func(p *page, f *family, s *subject) {
		seen := map[string]bool{}
		for _, source := range s.reading.Sources {
			if seen[source.Name] { // two of one name would be one series
				continue
			}
			seen[source.Name] = true
			p.sample(f.name, append(s.labels[:len(s.labels):len(s.labels)], label{"source", source.Name}),
				of(source.Unread))
		}
	}
}

func phases(p *page, f *family, s *subject) {
	for phase, seconds := range s.totals.Phases {
		p.sample(f.name+"_total",
			append(s.labels[:len(s.labels):len(s.labels)], label{"phase", health.Phase(phase).String()}), seconds)
	}
}

func histogram(of func(s *subject) *monitor.Histogram) func(p *page, f *family, s *subject) {
	return func(p *page, f *family, s *subject) {
		h := of(s)
		sum := 0.0
		for i, n := range h.Counts {
			sum += n
			bound := "+Inf"
			if i < len(monitor.HistogramBounds) {
				bound = strconv.FormatFloat(monitor.HistogramBounds[i], 'g', -1, 64)
			}
			p.sample(f.name+"_bucket", append(s.labels[:len(s.labels):len(s.labels)], label{"le", bound}), sum)
		}
		p.sample(f.name+"_count", s.labels, sum)
		p.sample(f.name+"_sum", s.labels, h.Sum)
	}
}

func (p *page) family(f family) {
	p.head(&f)
	seen := map[string]bool{}
	for i := range p.subjects {
		s := &p.subjects[i]
		if seen[s.snapshot.ID] {
			continue
		}
		seen[s.snapshot.ID] = true
		f.of(p, &f, s)
	}
}

// head says what a family is.
func (p *page) head(f *family) {
	name, kind := f.name, f.kind
	if p.plain {
		name += suffixes[kind]
		if kind == "info" || kind == "stateset" {
			kind = "gauge"
		}
	}
	p.dst = append(p.dst, "# TYPE "+name+" "+kind+"\n"...)
	if f.unit != "" && !p.plain {
		p.dst = append(p.dst, "# UNIT "+name+" "+f.unit+"\n"...)
	}
	p.dst = append(p.dst, "# HELP "+name+" "+f.help+"\n"...)
}

// sample writes one line; what is not known has none.
func (p *page) sample(name string, of labels, value float64) {
	if !health.Known(value) {
		return
	}
	if p.emit != nil {
		if !math.IsInf(value, 0) { // which JSON cannot say
			p.emit(name, of, value)
		}
		return
	}
	p.dst = append(p.dst, name...)
	for i, l := range of {
		p.dst = append(p.dst, "{,"[min(i, 1)])
		p.dst = append(append(append(p.dst, l.name...), `="`...), escape(l.value)...)
		p.dst = append(p.dst, '"')
	}
	if len(of) > 0 {
		p.dst = append(p.dst, '}')
	}
	p.dst = append(p.dst, ' ')
	p.dst = append(strconv.AppendFloat(p.dst, value, 'g', -1, 64), '\n')
}

// cutBytes shortens a text to so many bytes, and cuts no letter in two.
func cutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// escape makes a text a label's value.
func escape(text string) []byte {
	text = cutBytes(text, maxLabel)
	out := make([]byte, 0, len(text))
	for _, r := range text {
		switch {
		case r == '\\' || r == '"':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, '\\', 'n')
		case r == utf8.RuneError || r < ' ' || r == 0x7f:
			out = append(out, '?')
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}
