package session

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/stream"
)

const (
	// mostTold is how many settings a run is told by, and mostToldText how long a value
	// may be, in bytes.
	mostTold     = 200
	mostToldText = 1024
)

// triggerNames are the triggers as their settings call them.
var triggerNames = map[plan.TriggerKind]string{
	plan.AvailableNow: "available now", plan.Once: "once", plan.RealTime: "real time",
}

// settings are what tells this run from others of the query: how and where it runs, the
// options of its sources and sink, and what the session has set.
func (b *streamStart) settings(c *stream.Config) []monitor.Setting {
	trigger := triggerNames[c.Trigger.Kind]
	if c.Trigger.Kind == plan.ProcessingTime {
		trigger = c.Trigger.Every.String()
	}
	out := []monitor.Setting{
		{Name: "trigger", Value: trigger}, {Name: "outputMode", Value: c.Mode.String()},
		{Name: "checkpoint", Value: c.Checkpoint.Dir}, {Name: "sink.format", Value: b.format.Name},
		{Name: "sink.path", Value: b.spec.Path},
	}
	out = append(out, optionsOf("sink.", b.spec.Options)...)
	out = append(out, sourceSettings(c.Plan)...)
	for _, p := range b.scope.conf.All("") {
		out = append(out, monitor.Setting{Name: p.Key, Value: p.Value})
	}
	out = out[:min(len(out), mostTold)]
	for i := range out {
		out[i] = out[i].Redacted()
		if v := out[i].Value; len(v) > mostToldText {
			out[i].Value = v[:mostToldText] + "…"
		}
	}
	return out
}

// sourceSettings are the options of the sources, by their numbers in the plan.
func sourceSettings(n plan.Node) []monitor.Setting {
	var out []monitor.Setting
	seen := map[int]bool{}
	plan.WalkNodes(n, func(node plan.Node) bool {
		if s, ok := node.(*plan.Scan); ok && s.Streaming && !seen[s.Source] {
			seen[s.Source] = true
			out = append(out, optionsOf(fmt.Sprintf("source%d.", len(seen)-1), s.Relation.Options)...)
		}
		return true
	})
	return out
}

func optionsOf(prefix string, options plan.Options) []monitor.Setting {
	var out []monitor.Setting
	for key, value := range options {
		out = append(out, monitor.Setting{Name: prefix + key, Value: value})
	}
	slices.SortFunc(out, func(a, b monitor.Setting) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
