package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// Random programs: a source, what is done to its rows, an aggregation or a join, as
// SQL for the engine and as stages for the model, which goes row by row.

// views are the named parts of a program; the last one is the program. A part is
// SQL over those before it.
type views struct {
	names []string
	nodes map[string]func() plan.Node
}

func newViews() *views {
	v := &views{nodes: map[string]func() plan.Node{}}
	for _, tape := range []string{"a", "b"} {
		v.nodes[tape] = func() plan.Node {
			scan := &plan.Scan{Streaming: true, Relation: plan.Relation{
				Format: tape, Schema: plan.Struct(plan.Col("v", plan.Timestamp)),
			}}
			return plan.NewWatermark(scan, &plan.UnresolvedAttribute{Parts: []string{"v"}}, "5 seconds")
		}
	}
	return v
}

func (v *views) add(name string, node func() plan.Node) {
	v.names = append(v.names, name)
	v.nodes[name] = node
}

func (v *views) sql(name, text string, args ...any) {
	text = fmt.Sprintf(text, args...)
	v.add(name, func() plan.Node {
		n, err := sql.Parse(text)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", text, err))
		}
		return n
	})
}

func (v *views) last() string { return v.names[len(v.names)-1] }

// plan resolves the program anew.
func (v *views) plan() plan.Node {
	n, err := v.analyzer().Resolve(context.Background(), &plan.NamedTable{Name: []string{v.last()}})
	if err != nil {
		panic(err)
	}
	return n
}

func (v *views) analyzer() *analyze.Analyzer {
	return &analyze.Analyzer{Names: v, IDs: &ids, Eval: newRig(nil).config().Env.Eval}
}

// Table finds a part of the program.
func (v *views) Table(_ context.Context, t *plan.NamedTable) (plan.Node, error) {
	node, ok := v.nodes[strings.Join(t.Name, ".")]
	if !ok {
		return nil, fmt.Errorf("no view %v", t.Name)
	}
	return plan.NewAlias(node(), t.Name...), nil
}

func (v *views) Relation(context.Context, *plan.Read) (*plan.Relation, error) {
	return nil, fmt.Errorf("no files")
}

func (v *views) Cached(id string) (plan.Node, error) { return nil, fmt.Errorf("no frame %s", id) }

func (v *views) Function(string) *plan.PythonUDF { return nil }

func (v *views) SearchPath() string { return "" }

var _ analyze.Names = (*views)(nil)

// event is a row on its way through the model: a time in µs, a key, a number.
type event struct {
	t, k, n int64
	end     int64 // of a window
}

// stage is an operator of the model. It takes the rows of a batch and the
// watermarks that its input has, and gives its output.
type stage func(in []event, late, evict int64) []event

// prog is a random program.
type prog struct {
	views  *views
	mode   plan.OutputMode
	policy string
	nulls  bool // rows without a time may come
	fresh  func() model
}

func (p *prog) String() string {
	return strings.Join(p.views.names, " → ") + " in " + p.mode.String()
}

const (
	gap  = 5 * sec
	wide = 30 * sec
)

// drawMode draws an output mode in which Spark would run the program.
func (p *prog) drawMode(t *rapid.T) {
	n, legal := p.views.plan(), []plan.OutputMode{}
	for _, mode := range []plan.OutputMode{plan.AppendMode, plan.UpdateMode, plan.CompleteMode} {
		if analyze.CheckStreaming(n, mode) == nil {
			legal = append(legal, mode)
		}
	}
	p.mode = rapid.SampledFrom(legal).Draw(t, "mode")
}

func number(v, w, k, n int64) int64 { return ((v*1009+w)*1009+k)*1009 + n }

// stages builds the model of a program from its mode.
type stages []func(mode plan.OutputMode) stage

// drawAggregation draws a source, a filter, a removal of duplicates and windows.
func drawAggregation(t *rapid.T, kind string) *prog {
	v := newViews()
	p := &prog{views: v, nulls: true}
	both := rapid.Bool().Draw(t, "union")
	read := "SELECT v AS t, unix_micros(v) %% 1000000 AS k FROM "
	if both {
		p.policy = rapid.SampledFrom([]string{"min", "max"}).Draw(t, "policy")
		v.sql("union "+p.policy, read+"a UNION ALL "+read+"b")
	} else {
		v.sql("source", read+"a")
	}
	var all stages
	if rapid.Bool().Draw(t, "filter") {
		v.sql("filter", "SELECT * FROM `%s` WHERE k <> 2", v.last())
		all = append(all, func(plan.OutputMode) stage {
			return func(in []event, _, _ int64) []event {
				return slices.DeleteFunc(in, func(e event) bool { return e.t == null || e.k == 2 })
			}
		})
	}
	switch dedup := rapid.SampledFrom([]string{"", "", "exact", "within"}).Draw(t, "dedup"); dedup {
	case "exact", "within":
		p.nulls = false
		in, keys := v.last(), map[string][]string{"exact": {"t", "k"}, "within": {"k"}}[dedup]
		v.add("duplicates "+dedup, func() plan.Node {
			return plan.NewDedup(&plan.NamedTable{Name: []string{in}}, keys, dedup == "within")
		})
		all = append(all, map[string]func(plan.OutputMode) stage{"exact": exactStage, "within": withinStage}[dedup])
	}
	all = append(all, addWindows(v, kind)...)
	p.nulls = p.nulls && kind != "none" // the sink takes no NULL
	p.fresh = func() model { return all.model(p.mode, both) }
	return p
}

// addWindows adds an aggregation, or two, or none, and the number that is written.
func addWindows(v *views, kind string) stages {
	in := v.last()
	over := map[string]string{"tumbling": "window(t, '10 seconds')", "sliding": "window(t, '10 seconds', '5 seconds')",
		"session": "session_window(t, '5 seconds')", "chained": "window(t, '10 seconds')"}[kind]
	if kind == "none" {
		v.sql("rows", "SELECT ((unix_micros(t) * 1009) * 1009 + k) * 1009 AS v FROM `%s`", in)
		return nil
	}
	v.sql(kind, "SELECT %s AS w, k, count(*) AS n FROM `%s` GROUP BY %s, k", over, in, over)
	all := stages{func(mode plan.OutputMode) stage { return windowStage(kind, mode) }}
	if kind == "chained" {
		v.sql("wider", "SELECT window(window_time(w), '30 seconds') AS w, k, sum(n) AS n FROM chained "+
			"GROUP BY window(window_time(w), '30 seconds'), k")
		all = append(all, func(mode plan.OutputMode) stage { return windowStage("wide", mode) })
	}
	v.sql("numbers", "SELECT ((unix_micros(w.start) * 1009 + unix_micros(w.end)) * 1009 + k) * 1009 + n AS v "+
		"FROM `%s`", v.last())
	return all
}

// model runs the stages over the rows of the tapes.
func (all stages) model(mode plan.OutputMode, both bool) model {
	var run []stage
	for _, s := range all {
		run = append(run, s(mode))
	}
	return func(rows map[string][]int64, late, evict int64) []int64 {
		var in []event
		for _, tape := range []string{"a", "b"}[:1+btoi(both)] {
			for _, v := range rows[tape] {
				in = append(in, event{t: v, k: floorKey(v), n: 1})
			}
		}
		for _, s := range run {
			in = s(in, late, evict)
		}
		out := make([]int64, 0, len(in))
		for _, e := range in {
			if e.end == 0 {
				out = append(out, number(e.t, 0, e.k, 0))
			} else {
				out = append(out, number(e.t, e.end, e.k, e.n))
			}
		}
		slices.Sort(out)
		return out
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func exactStage(plan.OutputMode) stage {
	seen := map[int64]bool{}
	return func(in []event, late, evict int64) []event {
		var out []event
		for _, e := range in {
			if e.t > late && !seen[e.t] {
				seen[e.t] = true
				out = append(out, e)
			}
		}
		maps.DeleteFunc(seen, func(t int64, _ bool) bool { return t <= evict })
		return out
	}
}

func withinStage(plan.OutputMode) stage {
	expires := map[int64]int64{}
	return func(in []event, late, evict int64) []event {
		var out []event
		for _, e := range in {
			if _, found := expires[e.k]; e.t > late && !found {
				expires[e.k] = e.t + delayMs*1000
				out = append(out, e)
			}
		}
		maps.DeleteFunc(expires, func(_, at int64) bool { return at <= evict })
		return out
	}
}

// windowStage counts by window and key; a row's own count is its n.
func windowStage(kind string, mode plan.OutputMode) stage {
	var held []event // t is the start
	return func(in []event, late, evict int64) []event {
		touched := map[event]bool{}
		for _, e := range in {
			for _, w := range windowsOf(kind, e) {
				if mode != plan.CompleteMode && w.end <= late {
					continue
				}
				held = put(held, w, kind == "session", touched)
			}
		}
		var out []event
		keep := held[:0:0]
		for _, w := range held {
			closed := w.end <= evict && mode != plan.CompleteMode
			if mode == plan.CompleteMode || mode == plan.UpdateMode && touched[group(w)] ||
				mode == plan.AppendMode && closed {
				out = append(out, w)
			}
			if !closed {
				keep = append(keep, w)
			}
		}
		held = keep
		return out
	}
}

// windowsOf are the windows of a row, with its count.
func windowsOf(kind string, e event) []event {
	if e.t == null {
		return nil
	}
	size, slide := width, width
	switch kind {
	case "session":
		return []event{{t: e.t, end: e.t + gap, k: e.k, n: e.n}}
	case "sliding":
		slide = width / 2
	case "wide":
		// The time of a window is its last microsecond.
		size, slide, e.t = wide, wide, e.end-1
	}
	var out []event
	for start := floorTo(e.t, slide); start > e.t-size; start -= slide {
		out = append(out, event{t: start, end: start + size, k: e.k, n: e.n})
	}
	return out
}

func group(w event) event { return event{t: w.t, end: w.end, k: w.k} }

// put adds a window to those that are held: to the one that it is, or to the
// sessions that it touches.
func put(held []event, w event, session bool, touched map[event]bool) []event {
	rest := held[:0:0]
	for _, h := range held {
		same := h.k == w.k && h.t == w.t && h.end == w.end
		if same || session && h.k == w.k && h.t <= w.end && w.t <= h.end {
			w = event{t: min(h.t, w.t), end: max(h.end, w.end), k: w.k, n: h.n + w.n}
			continue
		}
		rest = append(rest, h)
	}
	touched[group(w)] = true
	return append(rest, w)
}

// drawJoin draws a join of two streams by key and time.
func drawJoin(t *rapid.T, kind string) *prog {
	v := newViews()
	before := rapid.Int64Range(0, 8).Draw(t, "before")
	after := rapid.Int64Range(0, 8).Draw(t, "after")
	v.sql("left", "SELECT v AS l, unix_micros(v) %% 1000000 AS lk FROM a")
	v.sql("right", "SELECT v AS r, unix_micros(v) %% 1000000 AS rk FROM b")
	columns := "*"
	if kind == "LEFT SEMI" {
		columns = "l, CAST(NULL AS TIMESTAMP) AS r"
	}
	v.sql(fmt.Sprintf("%s join −%d +%d", kind, before, after), "SELECT %s FROM left %s JOIN right ON lk = rk AND "+
		"r >= l - INTERVAL '%d' SECOND AND r <= l + INTERVAL '%d' SECOND", columns, kind, before, after)
	v.sql("numbers", "SELECT coalesce(unix_micros(l), 7) * 1009 + coalesce(unix_micros(r), 13) AS v FROM `%s`", v.last())
	p := &prog{views: v}
	p.fresh = func() model { return pairModel(kind, before*sec, after*sec) }
	return p
}

type half struct {
	v   int64
	met bool
}

// pairModel joins row by row; a row's due time is that of its last partner.
func pairModel(kind string, before, after int64) model {
	var left, right []*half
	var out []int64
	number := func(l, r int64) { out = append(out, l*1009+r) }
	meet := func(l, r *half) {
		if floorKey(l.v) != floorKey(r.v) || r.v < l.v-before || r.v > l.v+after {
			return
		}
		if kind != "LEFT SEMI" {
			number(l.v, r.v)
		} else if !l.met {
			number(l.v, 13)
		}
		l.met, r.met = true, true
	}
	return func(rows map[string][]int64, late, evict int64) []int64 {
		out = []int64{}
		for _, v := range rows["a"] {
			if v > late {
				l := &half{v: v}
				left = append(left, l)
				for _, r := range right {
					meet(l, r)
				}
			}
		}
		for _, v := range rows["b"] {
			if v > late {
				r := &half{v: v}
				right = append(right, r)
				for _, l := range left {
					meet(l, r)
				}
			}
		}
		// Spark's bounds take a millisecond off for "at most".
		left = slices.DeleteFunc(left, func(l *half) bool {
			due := l.v <= evict-after-1000
			if due && !l.met && (kind == "LEFT OUTER" || kind == "FULL OUTER") {
				number(l.v, 13)
			}
			return due
		})
		right = slices.DeleteFunc(right, func(r *half) bool {
			due := r.v <= evict-before-1000
			if due && !r.met && (kind == "RIGHT OUTER" || kind == "FULL OUTER") {
				number(7, r.v)
			}
			return due
		})
		slices.Sort(out)
		return out
	}
}

// TestRandomProgramsAnswerAsTheirModels runs random programs through random
// histories, some of each kind.
func TestRandomProgramsAnswerAsTheirModels(t *testing.T) {
	draw := map[string]func(*rapid.T, string) *prog{}
	for _, windows := range []string{"none", "tumbling", "sliding", "session", "chained"} {
		draw[windows] = drawAggregation
	}
	for _, join := range []string{"INNER", "LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI"} {
		draw[join] = drawJoin
	}
	for kind, f := range draw {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := f(t, kind)
				p.drawMode(t)
				statefulHistory(t, program{name: p.String(), mode: p.mode, plan: p.views.plan, model: p.fresh,
					policy: p.policy, nulls: p.nulls})
			})
		})
	}
}

// A limit is over all batches, and takes the rows as they come.
func TestALimitIsOverAllBatches(t *testing.T) {
	v := newViews()
	v.sql("limited", "SELECT unix_micros(v) AS v FROM a LIMIT 7")
	rapid.Check(t, func(t *rapid.T) {
		statefulHistory(t, program{name: "limit", mode: plan.AppendMode, plan: v.plan, model: func() model {
			left := 7
			return func(rows map[string][]int64, _, _ int64) []int64 {
				out := slices.Clone(rows["a"][:min(left, len(rows["a"]))])
				left -= len(out)
				slices.Sort(out)
				return out
			}
		}})
	})
}
