package report

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var graphiteSink = kind{
	class: "GraphiteSink", doc: "Lines of name, value and time over TCP or UDP.",
	keys: map[string]string{"host": "-", "port": "-", "period": "10", "unit": "seconds", "prefix": "",
		"protocol": "tcp", "regex": ""},
	spell: graphiteName, open: openGraphite,
}

type graphite struct {
	options
	network string
	only    *regexp.Regexp // nil for all
}

func openGraphite(_ *Env, o options) (reporter, error) {
	g := &graphite{options: o, network: strings.ToLower(o["protocol"])}
	if g.network != "tcp" && g.network != "udp" {
		return nil, fmt.Errorf("invalid Graphite protocol: %s", o["protocol"])
	}
	if o["regex"] != "" {
		var err error
		if g.only, err = regexp.Compile(o["regex"]); err != nil {
			return nil, fmt.Errorf("regex: %w", err)
		}
	}
	return g, o.checkPort()
}

func (g *graphite) report(ctx context.Context, now time.Time, gauges []Gauge) error {
	var lines []byte
	var each [][]byte
	for _, one := range gauges {
		if g.only != nil && !g.only.MatchString(one.Name) {
			continue
		}
		line := graphiteLine(g.options["prefix"], one, now)
		lines, each = append(lines, line...), append(each, line)
	}
	if len(lines) == 0 {
		return nil
	}
	conn, err := g.dial(ctx, g.network)
	if err != nil {
		return fmt.Errorf("open Graphite: %w", err)
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return fmt.Errorf("open Graphite: %w", err)
		}
	}
	if g.network == "tcp" {
		each = [][]byte{lines}
	}
	for _, data := range each {
		if _, err := conn.Write(data); err != nil {
			return fmt.Errorf("send to Graphite: %w", err)
		}
	}
	return nil
}

// graphiteName writes dashes for blanks, and for the sign that begins a tag.
func graphiteName(name string) string { return dashed(name, ";") }

// graphiteLine is a gauge as Graphite reads it.
func graphiteLine(prefix string, g Gauge, now time.Time) []byte {
	name := g.Name
	if prefix != "" {
		name = prefix + "." + name
	}
	line := []byte(graphiteName(name))
	line = append(line, ' ')
	if g.Whole {
		line = strconv.AppendInt(line, int64(g.Value), 10)
	} else {
		line = strconv.AppendFloat(line, finite(g.Value), 'f', 2, 64)
	}
	return append(strconv.AppendInt(append(line, ' '), now.Unix(), 10), '\n')
}

func (g *graphite) close() error { return nil }
