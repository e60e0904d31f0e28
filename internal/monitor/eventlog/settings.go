package eventlog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/monitor"
)

// tellingSettings begin the names of Spark's settings that say how queries run. Others
// differ from run to run, as addresses and times do, or are long, as options of Java.
var tellingSettings = []string{
	"spark.sql.", "spark.executor.cores", "spark.executor.instances", "spark.executor.memory",
	"spark.driver.cores", "spark.driver.memory", "spark.cores.max", "spark.default.parallelism",
	"spark.dynamicAllocation.", "spark.memory.", "spark.shuffle.", "spark.scheduler.mode",
	"spark.speculation", "spark.task.", "spark.locality.",
	"spark.master", "spark.submit.deployMode", "spark.serializer", "spark.python.", "spark.jars.packages",
}

// mostSettings is how many settings of an application are kept, mostValue how long a value
// may be, in bytes.
const (
	mostSettings = 500
	mostValue    = 500
)

// telling are the settings that say how queries run.
func telling(all map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if len(out) < mostSettings && slices.ContainsFunc(tellingSettings, begins) {
			out[cut(name, mostValue)] = cut(all[name], mostValue)
		}
	}
	return out
}

// describe tells the plan of a run and what it was started with, at its first batch.
func (q *spark) describe(plan *planNode, settings, modified map[string]string) {
	all := maps.Clone(settings)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, telling(modified))
	var list []monitor.Setting
	for name, value := range all {
		list = append(list, monitor.Setting{Name: name, Value: value}.Redacted())
	}
	slices.SortFunc(list, func(a, b monitor.Setting) int { return cmp.Compare(a.Name, b.Name) })
	q.Describe(plan.String(), list)
}
