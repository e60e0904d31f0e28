package report

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

var statsdSink = kind{
	class: "StatsdSink", doc: "Gauges over UDP, one datagram each.",
	keys: map[string]string{
		"host": "127.0.0.1", "port": "8125", "period": "10", "unit": "seconds", "prefix": "",
	},
	spell: statsdName,
	open:  func(_ *Env, o options) (reporter, error) { return &statsd{o}, o.checkPort() },
}

type statsd struct{ options }

func (s *statsd) report(ctx context.Context, _ time.Time, gauges []Gauge) error {
	conn, err := s.dial(ctx, "udp")
	if err != nil {
		return fmt.Errorf("open StatsD: %w", err)
	}
	defer conn.Close()
	for _, g := range gauges {
		if _, err := conn.Write(statsdLine(s.options["prefix"], g)); err != nil {
			return fmt.Errorf("send to StatsD: %w", err)
		}
	}
	return nil
}

// statsdName writes dashes for the signs of the format, and for those with which some
// receivers tell tags from a name.
func statsdName(name string) string { return dashed(name, ":|@#,;=[]") }

// statsdLine is a gauge as StatsD reads it.
func statsdLine(prefix string, g Gauge) []byte {
	name := g.Name
	if prefix != "" {
		name = prefix + "." + name
	}
	name = statsdName(name)
	value := strconv.FormatInt(int64(g.Value), 10)
	if !g.Whole {
		value = strconv.FormatFloat(finite(g.Value), 'f', 2, 64)
	}
	return []byte(name + ":" + value + "|g")
}

func (s *statsd) close() error { return nil }
