package alert

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// Severity is how much an alert needs somebody.
type Severity string

// The severities, worst first.
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

var severities = []string{string(Critical), string(Warning), string(Info)}

// rule says when there is an alert.
type rule struct {
	name     string
	when     string // as it was written
	holds    condition
	wait     time.Duration // how long it must hold
	keep     time.Duration // how long it must not hold until the alert is over
	severity Severity
	labels   []Label
	to       []string // names of notifiers; nil: all of them
	shipped  bool
	// about is what happened in a sentence; nil: what health says, and the numbers.
	about func(f *facts) string
}

// shippedRule is one that needs no file.
func shippedRule(name, when string, wait time.Duration, severity Severity,
	about func(f *facts) string) *rule {
	c, err := parseCondition(when)
	if err != nil { // it stands below
		panic(name + ": " + err.Error())
	}
	return &rule{name: name, when: when, holds: c, wait: wait, severity: severity, shipped: true, about: about}
}

// shippedRules work without any configuration.
func shippedRules() []*rule {
	return []*rule{
		shippedRule("query failed", "state = failed", 0, Critical, verdict),
		shippedRule("query stalled", "state = stalled", 0, Critical, verdict),
		shippedRule("not started again", "leftMs > 5 min and (ranMs > 10 min or checkpoint = yes)", 0, Critical,
			verdict),
		shippedRule("freshness objective missed", "backlogMs > freshnessSloMs", time.Minute, Critical, missed),
		shippedRule("rows lost", "dataLosses > 0", 0, Critical, lost),
		shippedRule("data loss within 24 h", "retentionLeftMs < 24 h", 0, Critical, deleted),
		shippedRule("state almost at its limit", "stateRatio > 90 %", time.Minute, Critical, stateFull),
		shippedRule("behind for 5 min", "state = behind", 5*time.Minute, Warning, verdict),
		shippedRule("restart loop", "restartsIn10Min >= 3", 0, Warning, restarts),
		shippedRule("state limit within 24 h", "stateLimitMs < 24 h", 10*time.Minute, Warning, stateGrows),
		shippedRule("late rows dropped", "droppedRatio > 1 %", 15*time.Minute, Warning, late),
		shippedRule("partition behind the watermark", "latePartitionMs > 0 s", time.Minute, Warning, lagging),
		shippedRule("watermark stuck", "watermarkStuckMs > 5 min", 0, Warning, stuck),
		shippedRule("monitoring events dropped", "droppedEvents > 0", 0, Warning, unheard),
	}
}

// verdict is what the pages say.
func verdict(f *facts) string {
	return health.Say(f.health.Sentence, f.health.Reason)
}

func missed(f *facts) string {
	text := fmt.Sprintf("Unread rows are %s old; the objective is %s.", health.Span(f.health.BacklogSeconds),
		health.Span(f.snapshot.Health.Objective.Seconds()))
	return health.Say(text, f.health.Reason)
}

func lost(f *facts) string {
	if _, text := f.query.Losses(); text != "" {
		return "Rows were gone before they were read, and the query went on without them: " + text
	}
	return "Rows were gone before they were read, and the query went on without them."
}

func deleted(f *facts) string {
	return fmt.Sprintf("The source deletes unread rows in %s. %s",
		health.Span(f.health.UntilLoss), verdict(f))
}

func stateFull(f *facts) string {
	return fmt.Sprintf("State holds %s, %s of the %s that the query may hold.",
		figure(inBytes, f.health.StateBytes), health.Percent(stateShare(f)),
		figure(inBytes, f.snapshot.Health.StateLimit))
}

func stateGrows(f *facts) string {
	return fmt.Sprintf("State grows by %s an hour and reaches %s in %s.", figure(inBytes, f.health.StatePerHour),
		figure(inBytes, f.snapshot.Health.StateLimit), health.Span(f.health.UntilStateLimit))
}

func restarts(f *facts) string {
	text := fmt.Sprintf("%d failures in ten minutes.", f.failures)
	return health.Say(text, f.health.Reason)
}

func late(f *facts) string {
	return health.Percent(f.health.DroppedRatio) +
		" of the rows came after the watermark and were dropped. A longer delay of withWatermark would keep them."
}

func stuck(f *facts) string {
	return fmt.Sprintf("The watermark has not moved for %s while rows came:"+
		" windows do not close, and state grows.",
		health.Span(f.health.WatermarkStuck))
}

func lagging(f *facts) string {
	return fmt.Sprintf("The newest row of partition %s is %s older than the watermark: every row of it is"+
		" dropped. Look at what writes to it; a longer delay of withWatermark would keep its rows.",
		f.health.LateName, health.Span(f.health.LatePartition))
}

func unheard(f *facts) string {
	return health.Figure(f.lately.events) +
		" events for listeners were dropped in ten minutes: a listener is too slow."
}

// says is what happened in a sentence.
func (r *rule) says(f *facts) string {
	if r.about != nil {
		return r.about(f)
	}
	var numbers []string
	each(r.holds, func(c *number) {
		if x := c.of.number(f); health.Known(x) {
			numbers = append(numbers, c.of.name+" is "+figure(c.of.kind, x))
		}
	})
	text := verdict(f)
	if len(numbers) > 0 {
		text = strings.TrimSpace(text + " " + strings.Join(numbers, ", ") + ".")
	}
	return text
}

// A Label is a word about an alert for whoever receives it.
type Label struct{ Name, Value string }
