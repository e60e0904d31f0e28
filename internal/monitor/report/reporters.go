package report

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/vfs"
)

// Env is what reporters may use.
type Env struct {
	Registry    *monitor.Registry
	Application string // of the names of gauges
	Files       vfs.FS // where CsvSink writes
	Console     io.Writer
	Log         *slog.Logger
}

// kind is a kind of reporter: what Spark calls a metrics sink.
type kind struct {
	class string // below org.apache.spark.metrics.sink.
	doc   string
	keys  map[string]string // with their defaults; "-" has none and is asked for
	spell Spelling          // of the gauges that it is given; nil: it takes none
	open  func(e *Env, o options) (reporter, error)
}

// kinds are the sinks of Spark that send on their own. MetricsServlet and
// PrometheusServlet are pages, which are always there.
var kinds = []kind{consoleSink, csvSink, graphiteSink, slf4jSink, statsdSink}

// ownKinds are weir's own, with settings below weir.metrics. and their class.
var ownKinds = []kind{dogstatsd, otlp}

// pages are the sinks that need no reporter.
var pages = []string{"MetricsServlet", "PrometheusServlet"}

// reporter sends gauges once.
type reporter interface {
	report(ctx context.Context, now time.Time, gauges []Gauge) error
	close() error
}

// options are the settings of one sink, with their defaults.
type options map[string]string

const (
	packageName = "org.apache.spark.metrics.sink."
	confPrefix  = "spark.metrics.conf."
	ownPrefix   = "weir.metrics."
)

// OwnKeys are the keys of weir's own reporters, with their defaults.
func OwnKeys() map[string]string {
	keys := map[string]string{}
	for _, k := range ownKinds {
		for key, value := range k.keys {
			keys[ownPrefix+k.class+"."+key] = value
		}
	}
	return keys
}

// Settings finds the settings of Spark's metrics system among confs: those below
// spark.metrics.conf. and the lines of a metrics.properties, of which the confs win.
func Settings(confs map[string]string, properties string) (map[string]string, error) {
	out := map[string]string{}
	n := 0
	for line := range strings.Lines(properties) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d of metrics.properties is no KEY=VALUE: %.80q", n, line)
		}
		// People put settings of programs here, which would do nothing.
		key = strings.TrimPrefix(strings.TrimSpace(key), confPrefix)
		if strings.HasPrefix(key, "spark.") {
			return nil, fmt.Errorf("line %d of metrics.properties: %s is a setting of programs; "+
				"give it with --conf or in a --properties-file", n, key)
		}
		out[key] = strings.TrimSpace(value)
	}
	for key, value := range confs {
		if name, ok := strings.CutPrefix(key, confPrefix); ok {
			out[name] = value
		} else if strings.HasPrefix(key, ownPrefix) {
			out[key] = value
		}
	}
	return out, nil
}

// sinkSettings groups settings by the name that users gave the sink: those of the
// driver win over those of every instance.
func sinkSettings(settings map[string]string) map[string]options {
	sinks := map[string]options{}
	for _, instance := range []string{"*", "driver"} {
		for key, value := range settings {
			rest, ok := strings.CutPrefix(key, instance+".sink.")
			name, option, ok2 := strings.Cut(rest, ".")
			if !ok || !ok2 {
				continue
			}
			if sinks[name] == nil {
				sinks[name] = options{}
			}
			sinks[name][option] = value
		}
	}
	return sinks
}

// Reporters are those that send.
type Reporters struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	dropped atomic.Int64
}

// Dropped is how many reports could not be sent.
func (r *Reporters) Dropped() int64 { return r.dropped.Load() }

// Close ends every reporter.
func (r *Reporters) Close() {
	r.cancel()
	r.running.Wait()
}

// Start starts the reporters that settings name. A class that weir does not have is
// refused by name, but JmxSink, which only Java has: it is warned of.
func Start(e *Env, settings map[string]string) (*Reporters, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Reporters{cancel: cancel}
	sinks := sinkSettings(settings)
	for _, name := range slices.Sorted(maps.Keys(sinks)) {
		if err := r.start(ctx, e, name, sinks[name]); err != nil {
			r.Close()
			return nil, err
		}
	}
	if err := onlyOwnKeys(settings); err != nil {
		r.Close()
		return nil, err
	}
	for _, k := range ownKinds {
		o := options{}
		for key, value := range settings {
			if option, ok := strings.CutPrefix(key, ownPrefix+k.class+"."); ok {
				o[option] = value
			}
		}
		if len(o) == 0 {
			continue
		}
		if err := r.open(ctx, e, k, k.class, o); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// onlyOwnKeys refuses settings of weir's own reporters that do not exist.
func onlyOwnKeys(settings map[string]string) error {
	known := OwnKeys()
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if _, ok := known[key]; !ok && strings.HasPrefix(key, ownPrefix) {
			return fmt.Errorf("there is no setting %s; there are %s", key,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return nil
}

func (r *Reporters) start(ctx context.Context, e *Env, name string, o options) error {
	class := strings.TrimPrefix(o["class"], packageName)
	switch {
	case slices.Contains(pages, class), class == "" && (name == "servlet" || name == "applications"):
		return nil
	case class == "":
		return fmt.Errorf("the metrics sink %s has no class: set %s*.sink.%s.class", name, confPrefix, name)
	case class == "JmxSink":
		e.Log.Warn("JmxSink needs a JVM and does nothing here; GET /metrics has the same numbers", "sink", name)
		return nil
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.class == class })
	if i < 0 {
		return fmt.Errorf("the metrics sink %s has the class %s, which weir does not have; it has %s",
			name, o["class"], known())
	}
	return r.open(ctx, e, kinds[i], name, o)
}

// open starts a reporter with the defaults of what its options leave out.
func (r *Reporters) open(ctx context.Context, e *Env, k kind, name string, o options) error {
	for key, value := range k.keys {
		if _, ok := o[key]; ok {
			continue
		}
		if value == "-" {
			where := confPrefix + "*.sink." + name
			if slices.ContainsFunc(ownKinds, func(own kind) bool { return own.class == k.class }) {
				where = ownPrefix + k.class
			}
			return fmt.Errorf("%s requires '%s' property: set %s.%s", k.class, key, where, key)
		}
		o[key] = value
	}
	every, err := o.period()
	if err != nil {
		return fmt.Errorf("metrics sink %s: %w", name, err)
	}
	sender, err := k.open(e, o)
	if err != nil {
		return fmt.Errorf("metrics sink %s: %w", name, err)
	}
	r.running.Go(func() { r.run(ctx, sink{e, name, k.spell, sender, every}) })
	return nil
}

func known() string {
	names := slices.Clone(pages)
	for _, k := range kinds {
		names = append(names, k.class)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// units are those of a sink's period.
var units = map[string]time.Duration{
	"nanoseconds": time.Nanosecond, "microseconds": time.Microsecond, "milliseconds": time.Millisecond,
	"seconds": time.Second, "minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour,
}

// leastPeriod is the shortest time between reports, as in Spark.
const leastPeriod = time.Second

func (o options) period() (time.Duration, error) {
	n, err := strconv.ParseInt(o["period"], 10, 32)
	unit, ok := units[strings.ToLower(o["unit"])]
	if err != nil || !ok {
		return 0, fmt.Errorf("period %q %q is no time: write a whole number, and a unit such as seconds",
			o["period"], o["unit"])
	}
	every := time.Duration(n) * unit
	if every < leastPeriod {
		return 0, fmt.Errorf("polling period %s is below the minimum of %s", every, leastPeriod)
	}
	return every, nil
}

// sink is a reporter at work.
type sink struct {
	*Env
	name  string
	spell Spelling
	to    reporter
	every time.Duration
}

// run reports until ctx ends, and closes the reporter then.
func (r *Reporters) run(ctx context.Context, s sink) {
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	failing := false
	for {
		var now time.Time
		select {
		case now = <-ticker.C:
		case <-ctx.Done():
			if err := s.to.close(); err != nil {
				s.Log.Warn("close metrics sink", "sink", s.name, "err", err)
			}
			return
		}
		within, cancel := context.WithTimeout(ctx, s.every)
		var gauges []Gauge
		if s.spell != nil {
			gauges = Gauges(s.Registry, s.Application, s.spell)
		}
		err := s.to.report(within, now, gauges)
		cancel()
		if err != nil && ctx.Err() == nil {
			r.dropped.Add(1)
			if !failing { // the same again would only fill the log
				s.Log.Warn("a report of metrics was dropped; the next is tried anew", "sink", s.name, "err", err)
			}
		}
		failing = err != nil
	}
}

// dial connects to a host and a port of a sink.
func (o options) dial(ctx context.Context, network string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, net.JoinHostPort(o["host"], o["port"]))
}

// port checks the port of a sink.
func (o options) checkPort() error {
	if n, err := strconv.ParseUint(o["port"], 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %q is no port", o["port"])
	}
	return nil
}
