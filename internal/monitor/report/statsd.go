package report

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var statsdSink = kind{
	class: "StatsdSink", doc: "Gauges over UDP, one datagram each.",
	keys: map[string]string{
		"host": "127.0.0.1", "port": "8125", "period": "10", "unit": "seconds", "prefix": "",
	},
	open: func(_ *Env, o options) (reporter, error) { return &statsd{o}, o.checkPort() },
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

// statsdLine is a gauge as StatsD reads it. Blanks and the signs that the format
// itself uses become dashes, or a name could say something of its own.
func statsdLine(prefix string, g Gauge) []byte {
	name := g.Name
	if prefix != "" {
		name = prefix + "." + name
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(":|@#", r) {
			return '-'
		}
		return r
	}, name)
	value := strconv.FormatInt(int64(g.Value), 10)
	if !g.Whole {
		value = strconv.FormatFloat(finite(g.Value), 'f', 2, 64)
	}
	return []byte(name + ":" + value + "|g")
}

func (s *statsd) close() error { return nil }
