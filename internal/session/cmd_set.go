package session

import (
	"context"
	"strings"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// undefined is what SET shows for a key without a value.
const undefined = "<undefined>"

func setSchema(c *plan.Set) plan.Type {
	if c.Verbose {
		return plan.Struct(text("key"), text("value"), text("meaning"), text("Since version"))
	}
	return plan.Struct(text("key"), text("value"))
}

// set is SET: all keys, one key, or an assignment.
func set(_ context.Context, s *Session, c *plan.Set) (*Result, error) {
	schema := setSchema(c)
	switch {
	case c.TimeZone:
		return setZone(s, c.Value)
	case c.Verbose:
		return answer(schema, everyKey(s.conf)...), nil
	case c.Key == "":
		var rows [][]plan.Value
		for _, p := range s.conf.All("") {
			rows = append(rows, []plan.Value{p.Key, p.Value})
		}
		return answer(schema, rows...), nil
	case c.HasValue:
		if err := s.conf.Set(c.Key, c.Value); err != nil {
			return nil, err
		}
		return answer(schema, []plan.Value{c.Key, c.Value}), nil
	}
	value, ok := s.conf.Lookup(c.Key)
	if !ok {
		value = undefined
	}
	return answer(schema, []plan.Value{c.Key, value}), nil
}

// setZone is SET TIME ZONE: a zone's name, LOCAL, or an interval as an offset,
// which the parser has made a name of.
func setZone(s *Session, zone string) (*Result, error) {
	if strings.EqualFold(zone, "LOCAL") {
		zone = s.conf.base.defaults[zoneKey]
	}
	if _, err := codec.Zone(zone); err != nil {
		return nil, checkZone(zone)
	}
	if err := s.conf.Set(zoneKey, zone); err != nil {
		return nil, err
	}
	return answer(setSchema(&plan.Set{}), []plan.Value{zoneKey, zone}), nil
}

// everyKey is what SET -v lists: the keys that Spark documents. The column
// meaning says what values a key takes.
func everyKey(c *Conf) [][]plan.Value {
	var rows [][]plan.Value
	for _, d := range confRegistry().sorted {
		if d.kind != kindSQL || !d.public() {
			continue
		}
		value, ok := c.Lookup(d.key)
		if !ok {
			value = undefined
		}
		meaning := d.typ
		if d.check != "" && d.check != "requirement" {
			meaning += ", " + strings.Replace(d.check, ":", ": ", 1)
		}
		rows = append(rows, []plan.Value{d.key, value, meaning, ""})
	}
	return rows
}

// reset is RESET: one key or all.
func reset(_ context.Context, s *Session, c *plan.Reset) (*Result, error) {
	if c.Key == "" {
		s.conf.reset()
		return empty(), nil
	}
	return empty(), s.conf.Unset(c.Key)
}
