package report

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// dogstatsd sends weir's own metrics to an agent of Datadog, with tags.
var dogstatsd = kind{
	class: "dogstatsd", doc: "weir's metrics over UDP with tags, for a Datadog Agent.",
	keys: map[string]string{
		"host": "127.0.0.1", "port": "8125", "period": "10", "unit": "seconds", "prefix": "", "tags": "",
		"statsigNames": "false",
	},
	open: func(e *Env, o options) (reporter, error) {
		d := &dog{options: o, env: e, sums: map[string]float64{}}
		switch o["statsigNames"] {
		case "true":
			d.statsig = true
		case "false":
		default:
			return nil, fmt.Errorf("statsigNames is true or false, not %q", o["statsigNames"])
		}
		for tag := range strings.SplitSeq(o["tags"], ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				d.tags = append(d.tags, dogWord(tag, ":"))
			}
		}
		return d, o.checkPort()
	},
}

// dogDatagram is how large a datagram may be to pass every network.
const dogDatagram = 1432

type dog struct {
	options
	env     *Env
	tags    []string
	statsig bool
	sums    map[string]float64 // of counters at the last report, by series
}

func (d *dog) report(ctx context.Context, _ time.Time, _ []Gauge) error {
	conn, err := d.dial(ctx, "udp")
	if err != nil {
		return fmt.Errorf("open DogStatsD: %w", err)
	}
	defer conn.Close()
	var packet []byte
	for _, line := range d.lines(subjects(d.env.Registry)) {
		if len(packet)+len(line)+1 > dogDatagram {
			if err := sendPacket(conn, packet); err != nil {
				return err
			}
			packet = packet[:0]
		}
		if len(packet) > 0 {
			packet = append(packet, '\n')
		}
		packet = append(packet, line...)
	}
	return sendPacket(conn, packet)
}

func sendPacket(conn net.Conn, packet []byte) error {
	if len(packet) == 0 {
		return nil
	}
	if _, err := conn.Write(packet); err != nil {
		return fmt.Errorf("send to DogStatsD: %w", err)
	}
	return nil
}

func (d *dog) close() error { return nil }

// lines are the samples of queries: gauges as they are, counters as what came on top
// since the last report. Histograms stay with OpenMetrics and OTLP; their percentiles
// are gauges here.
func (d *dog) lines(of []subject) []string {
	var out []string
	seen := map[string]bool{}
	sums := map[string]float64{}
	p := page{subjects: of}
	for i := range families {
		f := &families[i]
		if f.kind == "histogram" {
			continue
		}
		p.emit = func(name string, of labels, value float64) {
			name = "weir." + strings.TrimPrefix(strings.TrimSuffix(name, "_total"), "weir_")
			tags := d.tagged(of, f.name)
			series := name + "|#" + tags
			kind := "g"
			if f.kind == "counter" {
				kind = "c"
				sums[series] = value
				value -= d.sums[series]
			}
			if !seen[series] {
				seen[series] = true
				out = append(out, d.line(name, value, kind, tags))
			}
		}
		p.family(*f)
	}
	d.sums = sums
	for i := range of {
		out = append(out, d.freshness(&of[i])...)
	}
	return out
}

// freshness are the ages of rows, and the name that Statsig's dashboards have.
func (d *dog) freshness(s *subject) []string {
	var out []string
	tags := d.tagged(s.labels, "")
	for _, one := range []struct {
		name  string
		value float64
	}{
		{"weir.freshness_seconds", s.health.NewestAge}, {"weir.delivery_seconds.p50", s.health.DeliveryP50},
		{"weir.delivery_seconds.p95", s.health.DeliveryP95}, {"weir.delivery_seconds.p99", s.health.DeliveryP99},
		{"streaming.freshness_seconds", s.health.NewestAge},
	} {
		own := strings.HasPrefix(one.name, "weir.")
		if one.value == one.value && (own || d.statsig) {
			out = append(out, d.line(one.name, one.value, "g", tags))
		}
	}
	return out
}

// tagged are labels in the words of Datadog's own check: query is query_name.
func (d *dog) tagged(of labels, family string) string {
	tags := append([]string{}, d.tags...)
	for _, l := range of {
		name := l.name
		switch name {
		case "query":
			name = "query_name"
		case family: // the state of a stateset bears the family's name
			name = "state"
		}
		tags = append(tags, dogWord(name, "")+":"+dogWord(cutLabel(l.value), ":"))
	}
	return strings.Join(tags, ",")
}

func (d *dog) line(name string, value float64, kind, tags string) string {
	if prefix := d.options["prefix"]; prefix != "" {
		name = prefix + "." + name
	}
	return dogWord(name, "") + ":" + strconv.FormatFloat(value, 'f', -1, 64) + "|" + kind + "|#" + tags
}

// dogWord keeps what a line uses itself out of a name, or of a tag, where keep is the
// colon between name and value.
func dogWord(text, keep string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(keep, r):
			return r
		case strings.ContainsRune(":|@#,", r), unicode.IsSpace(r), unicode.IsControl(r),
			r == unicode.ReplacementChar:
			return '_'
		}
		return r
	}, text)
}

// cutLabel shortens a label's value (R4).
func cutLabel(text string) string { return cutBytes(text, maxLabel) }
