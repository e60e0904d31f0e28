package session

import (
	"context"
	"strings"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
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
		zone = s.conf.Base.Defaults[settings.ZoneKey]
	}
	if _, err := codec.Zone(zone); err != nil {
		return nil, settings.CheckZone(zone)
	}
	if err := s.conf.Set(settings.ZoneKey, zone); err != nil {
		return nil, err
	}
	return answer(setSchema(&plan.Set{}), []plan.Value{settings.ZoneKey, zone}), nil
}

// everyKey is what SET -v lists: the keys that Spark documents. The column
// meaning says what values a key takes.
func everyKey(c *settings.Conf) [][]plan.Value {
	var rows [][]plan.Value
	for _, d := range settings.Known().Sorted {
		if d.Kind != settings.KindSQL || !d.Public() {
			continue
		}
		value, ok := c.Lookup(d.Key)
		if !ok {
			value = undefined
		}
		meaning := d.Typ
		if d.Check != "" && d.Check != "requirement" {
			meaning += ", " + strings.Replace(d.Check, ":", ": ", 1)
		}
		rows = append(rows, []plan.Value{d.Key, value, meaning, ""})
	}
	return rows
}

// reset is RESET: one key or all.
func reset(_ context.Context, s *Session, c *plan.Reset) (*Result, error) {
	if c.Key == "" {
		s.conf.Reset()
		return empty(), nil
	}
	return empty(), s.conf.Unset(c.Key)
}
