package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// The rows of these tests are times in µs: whole seconds, and a key in the last
// digits. Results are one number again, so that a sink of numbers holds them.

const (
	sec     = int64(1_000_000)
	delayMs = int64(5_000)
	width   = 10 * sec
)

// program is a stateful query and what it must answer, batch by batch, by the
// plainest means.
type program struct {
	name   string
	mode   plan.OutputMode
	plan   func() plan.Node
	model  func() model
	policy string // of several watermarks; "" is min
	nulls  bool   // rows without a time may come
}

// model takes the rows of a batch by source and the watermarks in µs: rows up to
// late come too late, state up to evict is given up.
type model func(rows map[string][]int64, late, evict int64) []int64

func call(t plan.Type, name string, args ...plan.Expr) plan.Expr {
	d, ok := function.Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	env := &function.Env{ANSI: true, Zone: time.UTC, Conf: func(string) string { return "" }}
	e, err := function.BindCall(&function.Binding{Name: name, Def: d, Args: args, Env: env})
	if err != nil {
		panic(err)
	}
	if !e.Type().EqualIgnoringNull(t) {
		panic(fmt.Sprintf("%s is %s, not %s", name, e.Type().Simple(), t.Simple()))
	}
	return e
}

func long(n int64) plan.Expr { return plan.Lit(n, plan.Long) }

func named(e plan.Expr, name string) *plan.Alias {
	return &plan.Alias{Child: e, Names: []string{name}, ID: ids.Next()}
}

// times is a stream of times with a watermark.
func times(name string) (plan.Node, *plan.Attribute) {
	s := scanOf(name)
	s.Attrs[0].Of = plan.Timestamp
	w := plan.NewWatermark(s, s.Attrs[0], "5 seconds")
	w.DelayMs = delayMs
	return w, w.Output()[0]
}

func keyOf(v plan.Expr) plan.Expr {
	return call(plan.Long, "%", call(plan.Long, "unix_micros", v), long(sec))
}

// counted is a count by window and key, as start + key*1000 + count.
func counted() plan.Node {
	in, v := times("a")
	w := plan.NewTimeWindow(in, v, &plan.Attribute{
		Name: "window", ID: ids.Next(), EventTime: v.EventTime,
		Of: plan.Struct(plan.Field{Name: "start", Type: plan.Timestamp, Nullable: true},
			plan.Field{Name: "end", Type: plan.Timestamp, Nullable: true}),
	})
	w.Size, w.Slide = width, width
	key := named(keyOf(v), "k")
	keyed := plan.NewProject(w, w.Attr, key)
	count := named(&plan.AggregateCall{Name: "count", Args: []plan.Expr{long(1)}, Of: plan.Long}, "n")
	k := plan.ToAttribute(key)
	agg := plan.NewAggregate(keyed, []plan.Expr{w.Attr, k}, []plan.Expr{w.Attr, k, count})
	start := call(plan.Long, "unix_micros", &plan.GetField{Child: w.Attr, Ordinal: 0, Name: "start"})
	sum := call(plan.Long, "+", start, call(plan.Long, "+",
		call(plan.Long, "*", k, long(1000)), plan.ToAttribute(count)))
	return plan.NewProject(agg, named(sum, "v"))
}

func floorTo(v, to int64) int64 { return v - ((v%to)+to)%to }

func countModel(mode plan.OutputMode) func() model {
	return func() model {
		counts := map[int64]int64{} // start + key*1000 → count
		return func(rows map[string][]int64, late, evict int64) []int64 {
			touched := map[int64]bool{}
			for _, v := range rows["a"] {
				start := floorTo(v, width)
				if mode != plan.CompleteMode && start+width <= late {
					continue
				}
				group := start + floorKey(v)*1000
				counts[group]++
				touched[group] = true
			}
			var out []int64
			for _, g := range slices.Sorted(maps.Keys(counts)) {
				closed := floorTo(g, width)+width <= evict
				told := map[plan.OutputMode]bool{
					plan.CompleteMode: true, plan.UpdateMode: touched[g], plan.AppendMode: closed,
				}
				if told[mode] {
					out = append(out, g+counts[g])
				}
				if closed && mode != plan.CompleteMode {
					delete(counts, g)
				}
			}
			return out
		}
	}
}

func floorKey(v int64) int64 { return ((v % sec) + sec) % sec }

func deduplicated() plan.Node {
	in, v := times("a")
	d := plan.NewDedup(in, []string{"v"}, false)
	d.Keys = []*plan.Attribute{v}
	return plan.NewProject(d, named(call(plan.Long, "unix_micros", v), "v"))
}

func dedupModel() model {
	seen := map[int64]bool{}
	return func(rows map[string][]int64, late, evict int64) []int64 {
		var out []int64
		for _, v := range rows["a"] {
			if v <= late || seen[v] {
				continue
			}
			seen[v] = true
			out = append(out, v)
		}
		maps.DeleteFunc(seen, func(v int64, _ bool) bool { return v <= evict })
		slices.Sort(out)
		return out
	}
}

// joined is a left outer join of times with equal keys, the right one from the
// left one on and at most ten seconds later. A result is the left time, and the
// seconds to the right one or 99.
func joined() plan.Node {
	left, l := times("a")
	right, r := times("b")
	lk, rk := named(keyOf(l), "lk"), named(keyOf(r), "rk")
	ten := plan.Lit(width, plan.Type{Kind: plan.KindDayTime, End: plan.FieldSecond})
	and := func(a, b plan.Expr) plan.Expr {
		return &plan.Call{Name: "and", Args: []plan.Expr{a, b}, Of: plan.Boolean, Null: true}
	}
	j := &plan.Join{
		Left: plan.NewProject(left, l, lk), Right: plan.NewProject(right, r, rk), Kind: plan.LeftJoin,
		Cond: and(call(plan.Boolean, "=", plan.ToAttribute(lk), plan.ToAttribute(rk)), and(
			call(plan.Boolean, ">=", r, l), call(plan.Boolean, "<=", r, call(plan.Timestamp, "+", l, ten)))),
	}
	lv := call(plan.Long, "unix_micros", l)
	apart := call(plan.Long, "-", call(plan.Long, "unix_micros", r), lv)
	apart = call(plan.Long, "coalesce", apart, long(99*sec))
	return plan.NewProject(j, named(call(plan.Long, "+", call(plan.Long, "*", lv, long(100)),
		call(plan.Long, "div", apart, long(sec))), "v"))
}

func joinModel() model {
	type kept struct {
		v   int64
		met bool
	}
	var left, right []*kept
	return func(rows map[string][]int64, late, evict int64) []int64 {
		var out []int64
		meets := func(l, r *kept) {
			if floorKey(l.v) == floorKey(r.v) && r.v >= l.v && r.v <= l.v+width {
				l.met = true
				out = append(out, l.v*100+(r.v-l.v)/sec)
			}
		}
		for _, v := range rows["a"] {
			if v <= late {
				continue
			}
			l := &kept{v: v}
			for _, r := range right {
				meets(l, r)
			}
			left = append(left, l)
		}
		for _, v := range rows["b"] {
			if v <= late {
				continue
			}
			r := &kept{v: v}
			for _, l := range left {
				meets(l, r)
			}
			right = append(right, r)
		}
		// A left row's last partner is ten seconds later, a right row's at its own
		// time; Spark's bounds take a millisecond off for "at most".
		left = slices.DeleteFunc(left, func(l *kept) bool {
			if l.v > evict-width-1000 {
				return false
			}
			if !l.met {
				out = append(out, l.v*100+99)
			}
			return true
		})
		right = slices.DeleteFunc(right, func(r *kept) bool { return r.v <= evict-1000 })
		slices.Sort(out)
		return out
	}
}

func programs() []program {
	return []program{
		{name: "count append", mode: plan.AppendMode, plan: counted, model: countModel(plan.AppendMode)},
		{name: "count update", mode: plan.UpdateMode, plan: counted, model: countModel(plan.UpdateMode)},
		{name: "count complete", mode: plan.CompleteMode, plan: counted, model: countModel(plan.CompleteMode)},
		{name: "duplicates", mode: plan.AppendMode, plan: deduplicated, model: dedupModel},
		{name: "left join", mode: plan.AppendMode, plan: joined, model: joinModel},
	}
}

// TestStatefulQueriesAnswerAsTheirModels runs random histories: rows in any
// order, batches of any size, stops, power losses, in any program. Each batch
// must hold what the model says of the batches that the offset log tells.
func TestStatefulQueriesAnswerAsTheirModels(t *testing.T) {
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { statefulHistory(t, p) })
		})
	}
}

func statefulHistory(t *rapid.T, p program) {
	m := &machine{
		disk: vfs.NewCrashable(), tapes: map[string]*tape{"a": {}, "b": {}}, plan: p.plan,
		tune: func(c *Config) {
			c.Mode = p.mode
			if p.policy != "" {
				c.Pinned = map[string]string{policyKey: p.policy}
			}
		},
	}
	m.boot()
	now := int64(100)
	steps := rapid.SliceOfN(rapid.SampledFrom([]string{
		"rows", "rows", "rows", "start", "process", "process", "process", "stop", "crash", "crash soon",
	}), 12, 30).Draw(t, "steps")
	for _, step := range steps {
		if step == "process" && m.idle(t) {
			step = "start"
		}
		if step != "rows" {
			m.step(t, step)
			continue
		}
		now += rapid.Int64Range(0, 6).Draw(t, "later")
		m.feed(t, now, p.nulls)
	}
	// Rows that are far ahead bring everything before them to its end.
	for _, ahead := range []int64{100, 200} {
		m.reboot(t)
		for _, tape := range m.tapes {
			tape.put((now + ahead) * sec)
		}
		m.rig.trigger.Kind = plan.AvailableNow
		q, err := m.rig.start()
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Await(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	m.compare(t, p)
}

// idle tells whether no query runs; one that came to its end is let go.
func (m *machine) idle(t *rapid.T) bool {
	if m.query == nil {
		return true
	}
	select {
	case <-m.query.Done():
		m.halt(t)
		return true
	default:
		return false
	}
}

// feed puts some rows on the tapes, up to now and back to some that are too late.
func (m *machine) feed(t *rapid.T, now int64, nulls bool) {
	for range rapid.IntRange(1, 4).Draw(t, "rows") {
		row := (now-rapid.Int64Range(0, 12).Draw(t, "ago"))*sec + rapid.Int64Range(0, 2).Draw(t, "key")
		if nulls && rapid.IntRange(0, 9).Draw(t, "null") == 0 {
			row = null
		}
		m.tapes[rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tape")].put(row)
	}
}

// compare follows the offset log with a model.
func (m *machine) compare(t *rapid.T, p program) {
	answer := p.model()
	offsets := below(m.rig.checkpoint(), offsetsName)
	log, err := openBatchLog(offsets)
	if err != nil {
		t.Fatal(err)
	}
	held := m.rig.batches(t)
	names := inputNames(m.plan())
	from := make([]int64, len(names))
	newest, watermark, before := make([]int64, len(names)), int64(0), int64(0)
	for id := range held {
		data, err := log.read(int64(id))
		if err != nil {
			t.Fatal(err)
		}
		entry, err := parseOffsets("", data)
		if err != nil {
			t.Fatal(err)
		}
		if id > 0 && entry.watermarkMs < watermark {
			t.Fatalf("batch %d has the watermark %d after %d", id, entry.watermarkMs, watermark)
		}
		rows := map[string][]int64{}
		for i, name := range names {
			end := at(entry.sources[i].offset)
			rows[name] = m.tapes[name].values[from[i]:end]
			from[i] = end
		}
		// A restart forgets what the inputs have seen, so the watermark may be
		// behind what all rows say, but never ahead.
		if limit := chosenNewest(newest, p.policy); entry.watermarkMs > max(0, limit) {
			t.Fatalf("batch %d has the watermark %d, the rows say %d", id, entry.watermarkMs, limit)
		}
		before, watermark = watermark, entry.watermarkMs
		want := answer(rows, before*1000, watermark*1000)
		got := slices.Sorted(slices.Values(held[id]))
		if !slices.Equal(got, want) {
			t.Fatalf("%s: batch %d of %v with watermarks %d and %d: %v, want %v",
				p.name, id, rows, before, watermark, got, want)
		}
		for i, name := range names {
			for _, v := range rows[name] {
				newest[i] = max(newest[i], v/1000-delayMs)
			}
		}
	}
	for i, name := range names {
		if from[i] != m.tapes[name].len() {
			t.Fatalf("%d of %d rows of %s were read", from[i], m.tapes[name].len(), name)
		}
	}
}

func inputNames(n plan.Node) []string {
	var names []string
	plan.WalkNodes(n, func(n plan.Node) bool {
		if s, ok := n.(*plan.Scan); ok {
			names = append(names, s.Relation.Format)
		}
		return true
	})
	return names
}

// chosenNewest is how far the watermark may be by what the inputs have seen.
func chosenNewest(newest []int64, policy string) int64 {
	if policy == "max" {
		return slices.Max(newest)
	}
	return slices.Min(newest)
}

// A crash at the steps of the state leaves the answer as it is.
func TestCrashesWhileStateIsWritten(t *testing.T) {
	for _, step := range []string{StepStateSome, StepStateDone, StepSinkDone} {
		for n := 1; n <= 4; n++ {
			t.Run(fmt.Sprintf("%s:%d", step, n), func(t *testing.T) { crashInState(t, step, n) })
		}
	}
}

func crashInState(t *testing.T, step string, n int) {
	disk, times := vfs.NewCrashable(), 0
	rig := func(disk *vfs.Crashable) *rig {
		r := newRig(disk)
		r.plan, r.limit, r.trigger.Kind = counted(), 2, plan.AvailableNow
		r.skips = true
		for _, at := range []int64{100, 101, 112, 113, 114, 131, 132} {
			r.tapes["a"].put(at * sec)
		}
		return r
	}
	r := rig(disk)
	r.crash = func(at string) {
		if at == step {
			times++
		}
		if times == n {
			disk.CrashAfter(0)
		}
	}
	if q, err := r.start(); err == nil {
		_ = q.Await(context.Background())
	}
	if times < n {
		t.Fatalf("step %s was reached %d times", step, times)
	}
	r = rig(disk.Crash(1, uint64(n)))
	q := r.mustStart(t)
	if err := q.Await(context.Background()); err != nil {
		t.Fatal(err)
	}
	got := slices.Concat(contents(t, r.out())...)
	slices.Sort(got)
	if want := []int64{100*sec + 2, 110*sec + 3}; !slices.Equal(got, want) {
		t.Errorf("the sink holds %v, want %v", got, want)
	}
}

// What a damaged or missing state file leads to is a named error, never a count
// that begins anew.
func TestLostStateIsNamed(t *testing.T) {
	for name, harm := range map[string]func(fsys vfs.FS, dir string) error{
		"changes removed": func(fsys vfs.FS, dir string) error { return fsys.Remove(dir + "/0.changes") },
		"changes cut": func(fsys vfs.FS, dir string) error {
			data, err := vfs.ReadFile(fsys, dir+"/0.changes")
			if err != nil {
				return err
			}
			return vfs.WriteReplace(fsys, dir+"/0.changes", data[:len(data)-9])
		},
		"directory removed": func(fsys vfs.FS, dir string) error { return fsys.RemoveAll(dir) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(vfs.NewMemory())
			r.plan, r.trigger.Kind = counted(), plan.AvailableNow
			r.tapes["a"].put(100 * sec)
			if err := r.mustStart(t).Await(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := harm(r.fs, checkpointDir+"/state/0"); err != nil {
				t.Fatal(err)
			}
			r.tapes["a"].put(101 * sec)
			err := r.mustStart(t).Await(context.Background())
			if err == nil || !strings.Contains(err.Error(), "STATE") {
				t.Errorf("the query went on: %v", err)
			}
		})
	}
}

// A batch that adds more to the state of a join than the budget holds stops on the
// way, not when all of it is there.
func TestJoinsStayWithinTheBudgetDuringABatch(t *testing.T) {
	r := newRig(vfs.NewMemory())
	r.plan, r.trigger.Kind = joined(), plan.AvailableNow
	budget := chunk.NewBudget(nil, 256<<10, "weir.query.maxMemory")
	r.tune = func(c *Config) {
		eval := *c.Env.Eval
		eval.Memory = budget
		c.Env.Eval = &eval
	}
	r.tapes["b"] = &tape{}
	for i := range int64(50_000) {
		r.tapes["a"].put(i * sec)
	}
	read := int64(0)
	r.fail = func(_, to int64) error {
		read = to
		return nil
	}
	err := r.mustStart(t).Await(context.Background())
	if err == nil || !strings.Contains(err.Error(), "The join of streams needs") {
		t.Fatalf("after %d rows: %v", read, err)
	}
}

// State beyond the query's budget ends the query by name, before the batch is
// committed.
func TestStateStaysWithinTheBudget(t *testing.T) {
	r := newRig(vfs.NewMemory())
	r.plan, r.trigger.Kind = deduplicated(), plan.AvailableNow
	r.tune = func(c *Config) {
		eval := *c.Env.Eval
		eval.Memory = chunk.NewBudget(nil, 64<<10, "weir.query.maxMemory")
		c.Env.Eval = &eval
	}
	for i := range int64(5000) {
		r.tapes["a"].put(i * sec)
	}
	err := r.mustStart(t).Await(context.Background())
	if err == nil || !strings.Contains(err.Error(), "UNABLE_TO_ACQUIRE_MEMORY") {
		t.Fatalf("no named error: %v", err)
	}
	if got := r.file(checkpointDir + "/commits/0"); !strings.HasPrefix(got, "!") {
		t.Errorf("the batch was committed: %s", got)
	}
}
