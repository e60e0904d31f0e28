package eventlog

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/monitor/health"
)

// planNode is an operator of Spark's physical plan, as an execution tells it.
type planNode struct {
	Name     string      `json:"nodeName"`
	Text     string      `json:"simpleString"`
	Children []*planNode `json:"children"`
	Metrics  []struct {
		Name        string
		Accumulator int64  `json:"accumulatorId"`
		Type        string `json:"metricType"`
	}
}

// planMetric is what a value of an accumulator means: rows, or a time.
type planMetric struct {
	rows, source bool
	unit         float64 // seconds
}

const outputRows = "number of output rows"

// within are the times that have in them what the operators below took, which are run by
// asking the one above for its next row. Others are spent by the operator alone.
var within = []string{
	"duration", "time in aggregation build", "time to update", "time to run Python workers",
	"total time to run Python workers",
}

// parts are times that lie within others of the same operator, or are not spent in the
// task: Python workers are made ready long before.
var parts = []string{
	"time to execute Python code", "time to start Python workers", "time to initialize Python workers",
	"total time to start Python workers", "total time to initialize Python workers",
}

// metricOf tells what a metric measures; false for those that say nothing of time or rows.
func metricOf(name, kind string, leaf bool) (planMetric, bool) {
	switch {
	case name == outputRows:
		return planMetric{rows: true, source: leaf}, true
	case slices.Contains(parts, name):
		return planMetric{}, false
	case kind == "timing":
		return planMetric{unit: 1e-3}, true
	case kind == "nsTiming":
		return planMetric{unit: 1e-9}, true
	}
	return planMetric{}, false
}

// eachMetric adds the metrics of a plan by accumulator.
func (n *planNode) eachMetric(into map[int64]planMetric) {
	for _, m := range n.Metrics {
		if meaning, ok := metricOf(m.Name, m.Type, len(n.Children) == 0); ok {
			into[m.Accumulator] = meaning
		}
	}
	for _, c := range n.Children {
		c.eachMetric(into)
	}
}

// generated tells whether a node only holds operators that are compiled into one piece of
// code: its time is that of the operator at its top.
func (n *planNode) generated() bool {
	return strings.HasPrefix(n.Name, "WholeStageCodegen") && len(n.Children) == 1
}

// accounts gives the time of tasks to operators.
type accounts struct {
	of   *work
	seen map[int64]bool // accumulators whose time was given: executions of a batch share plans
	// own is what an operator took without those below it, by task, in seconds; only of
	// operators that measure a time.
	own   map[*planNode]map[taskKey]float64
	order []*planNode // sources first
}

// operators is what each operator took for the batch, sources first, in seconds of the
// batch: a stage of a second counts as one, however many tasks it had at a time.
func (w *work) operators() []health.Operator {
	a := &accounts{of: w, seen: map[int64]bool{}, own: map[*planNode]map[taskKey]float64{}}
	for _, id := range slices.Sorted(maps.Keys(w.trees)) {
		a.account(w.trees[id])
	}
	scale, rest := a.stages()
	var out []health.Operator
	for _, n := range a.order {
		own, timed := a.own[n]
		if !timed {
			continue
		}
		o := health.Operator{Name: strings.TrimSpace(n.Name), Text: n.detail(), Rows: w.input(n)}
		o.Seconds, o.Partitions = w.onDriver(n), a.partitions(own)
		for key, seconds := range own {
			o.Seconds += seconds * scale[key.stage]
		}
		out = append(out, o)
	}
	if len(out) > 0 {
		out = append(out, health.Operator{Name: "Tasks", Text: "to start them, and what no operator counts",
			Seconds: rest, Rows: math.NaN()})
	}
	return out
}

// account finds what a node took alone, and returns what it took with those below it, by
// task.
func (a *accounts) account(n *planNode) map[taskKey]float64 {
	total := map[taskKey]float64{}
	for _, c := range n.Children {
		for key, seconds := range a.account(c) {
			total[key] += seconds
		}
	}
	all, alone, fresh := a.times(n)
	own := alone
	for key, seconds := range all {
		own[key] += max(0, seconds-total[key])
	}
	for key, seconds := range own {
		total[key] += seconds
	}
	holder := n
	if n.generated() {
		holder = n.Children[0]
	} else {
		a.order = append(a.order, n)
	}
	if !fresh {
		return total
	}
	if a.own[holder] == nil {
		a.own[holder] = map[taskKey]float64{}
	}
	for key, seconds := range own {
		a.own[holder][key] += seconds
	}
	return total
}

// times are the times of a node's metrics by task: those that have in them what is below
// it, and those of its own. It is fresh when no other node told them before.
func (a *accounts) times(n *planNode) (all, alone map[taskKey]float64, fresh bool) {
	all, alone = map[taskKey]float64{}, map[taskKey]float64{}
	for _, m := range n.Metrics {
		if meaning, ok := metricOf(m.Name, m.Type, false); !ok || meaning.rows {
			continue
		}
		if !a.seen[m.Accumulator] {
			a.seen[m.Accumulator], fresh = true, true
		}
		for key, seconds := range a.of.spent[m.Accumulator] {
			if slices.Contains(within, m.Name) {
				all[key] = max(all[key], seconds)
			} else {
				alone[key] += seconds
			}
		}
	}
	return all, alone, fresh
}

// stages tells how many seconds of the batch one of a stage's tasks stands for, and how
// many of them no operator took.
func (a *accounts) stages() (scale map[int64]float64, rest float64) {
	type stage struct {
		first, last    int64   // Unix milliseconds
		spent, counted float64 // seconds of its tasks
	}
	stages := map[int64]*stage{}
	for key, span := range a.of.tasks {
		s := stages[key.stage]
		if s == nil {
			s = &stage{first: span.launched, last: span.finished}
			stages[key.stage] = s
		}
		s.first, s.last = min(s.first, span.launched), max(s.last, span.finished)
		s.spent += max(0, float64(span.finished-span.launched)/1000)
	}
	for _, own := range a.own {
		for key, seconds := range own {
			stages[key.stage].counted += seconds
		}
	}
	scale = map[int64]float64{}
	for id, s := range stages {
		if spent := max(s.spent, s.counted); spent > 0 {
			scale[id] = min(1, float64(s.last-s.first)/1000/spent)
			rest += (spent - s.counted) * scale[id]
		}
	}
	return scale, rest
}

// mostPartitions is up to how many tasks of a stage are told one by one.
const mostPartitions = 1000

// partitions are the seconds of an operator by partition, in the stage in which it took
// most; nil for less than two.
func (a *accounts) partitions(own map[taskKey]float64) []float64 {
	sums, most := map[int64]float64{}, int64(-1)
	for key, seconds := range own {
		sums[key.stage] += seconds
		if most < 0 || sums[key.stage] > sums[most] || sums[key.stage] == sums[most] && key.stage < most {
			most = key.stage
		}
	}
	var keys []taskKey
	for key := range a.of.tasks {
		if key.stage == most {
			keys = append(keys, key)
		}
	}
	if len(keys) < 2 || len(keys) > mostPartitions {
		return nil
	}
	slices.SortFunc(keys, func(a, b taskKey) int { return cmp.Compare(a.partition, b.partition) })
	out := make([]float64, len(keys))
	for i, key := range keys {
		out[i] = own[key]
	}
	return out
}

// onDriver is what the driver took for an operator, in seconds.
func (w *work) onDriver(n *planNode) (seconds float64) {
	for _, m := range n.Metrics {
		seconds += w.driver[m.Accumulator]
	}
	return seconds
}

// input is how many rows an operator took in: what those below put out, and of a source
// what it read. Unknown ones are NaN.
func (w *work) input(n *planNode) float64 {
	if len(n.Children) == 0 {
		return w.output(n)
	}
	rows := 0.0
	for _, c := range n.Children {
		rows += w.output(c)
	}
	return rows
}

func (w *work) output(n *planNode) float64 {
	for _, m := range n.Metrics {
		if m.Name == outputRows {
			return w.rows[m.Accumulator]
		}
	}
	if len(n.Children) == 0 {
		return math.NaN()
	}
	return w.input(n)
}

// changing is what differs from batch to batch and from run to run in the text of an
// operator: numbers of columns, where state is kept, numbers of batches, files.
var changing = regexp.MustCompile(`#\d+L?|, state info \[[^]]*\]( stateStoreCkptIds = None)?|` +
	`, \[?plan_id=\d+\]?|epoch: \d+, |, Location: InMemoryFileIndex\([^)]*\)\[[^]]*\]`)

// mostText is how long the text of an operator may be, mostLines how many a plan has.
const (
	mostText  = 200
	mostLines = 500
)

// detail is what an operator works on, without its name.
func (n *planNode) detail() string {
	text := strings.TrimPrefix(strings.TrimSpace(n.Text), strings.TrimSpace(n.Name))
	return cut(strings.TrimSpace(changing.ReplaceAllString(cut(text, 20*mostText), "")), mostText)
}

// String is the plan as Query.Describe has it: an operator a line, what it reads below it.
func (n *planNode) String() string {
	var lines []string
	n.lines(&lines, 0)
	return strings.Join(lines, "\n")
}

func (n *planNode) lines(into *[]string, depth int) {
	if len(*into) == mostLines {
		return
	}
	if n.generated() || n.Name == "InputAdapter" {
		for _, c := range n.Children {
			c.lines(into, depth)
		}
		return
	}
	line := strings.Repeat("  ", depth) + strings.TrimSpace(n.Name) + " " + n.detail()
	*into = append(*into, strings.TrimRight(line, " "))
	for _, c := range n.Children {
		c.lines(into, depth+1)
	}
}
