package stream

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
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

// StartedWith are the settings that tell a run from others of the query: how and where it
// runs, the options of its sources, and those of sink and session, which the caller knows.
func (c *Config) StartedWith(sink plan.Options, more []monitor.Setting) []monitor.Setting {
	trigger := triggerNames[c.Trigger.Kind]
	if c.Trigger.Kind == plan.ProcessingTime {
		trigger = c.Trigger.Every.String()
	}
	checkpoint := c.Checkpoint.Dir
	if c.Temporary { // a new one at each start, which tells nothing
		checkpoint = monitor.NoCheckpoint
	}
	out := []monitor.Setting{
		{Name: "trigger", Value: trigger}, {Name: "outputMode", Value: c.Mode.String()},
		{Name: "checkpoint", Value: checkpoint},
	}
	out = append(out, optionsOf("sink.", sink)...)
	seen := map[int]bool{}
	for _, s := range streamingScans(c.Plan) {
		if !seen[s.Source] {
			seen[s.Source] = true
			out = append(out, optionsOf(fmt.Sprintf("source%d.", len(seen)-1), s.Relation.Options)...)
		}
	}
	out = append(out, more...)
	out = out[:min(len(out), mostTold)]
	for i := range out {
		out[i] = out[i].Redacted()
		if v := out[i].Value; len(v) > mostToldText {
			out[i].Value = v[:mostToldText] + "…"
		}
	}
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

// NoApplication is the setting spark.app.name of a program that sets none: Spark itself
// always has one.
const NoApplication = "weir"

// applicationOf is the program's name, "" when it has none.
func applicationOf(name string) string {
	if name == NoApplication {
		return ""
	}
	return name
}
