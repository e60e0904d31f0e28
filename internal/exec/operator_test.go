package exec

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// people is the table of the recorded scripts.
func people(t testing.TB) *frame {
	schema := plan.Struct(plan.Col("id", plan.Long), plan.Col("name", plan.String), plan.Col("dept", plan.Long))
	return relation(t, schema,
		row(int64(1), "ann", int64(10)), row(int64(2), "bob", int64(20)), row(int64(3), "cat", int64(10)),
		row(int64(4), nil, int64(30)), row(int64(5), "eve", nil))
}

func count(t testing.TB) plan.Expr { return call(t, "count", long(1)) }

func groupMark(name string, of plan.Type, args ...plan.Expr) plan.Expr {
	return &plan.Call{Name: name, Args: args, Of: of}
}

// Recorded from Spark 4.3.0: … WHERE id < 3 GROUP BY dept, name GROUPING SETS
// ((dept), (name), ()).
func TestGroupingSets(t *testing.T) {
	f := people(t)
	f = f.filter(call(t, "<", f.col("id"), long(3)))
	dept, name := f.col("dept"), f.col("name")
	agg := plan.NewAggregate(f.node, []plan.Expr{dept, name}, []plan.Expr{dept, name, f.as(count(t), "n")})
	agg.Kind, agg.Sets = plan.GroupSets, [][]plan.Expr{{dept}, {name}, {}}
	got, _ := f.with(agg).run()
	sameBag(t, [][]plan.Value{{nil, nil, int64(2)}, {nil, "ann", int64(1)}, {nil, "bob", int64(1)},
		{int64(10), nil, int64(1)}, {int64(20), nil, int64(1)}}, got)
}

// Recorded from Spark 4.3.0.
func TestRollupAndCube(t *testing.T) {
	f := relation(t, plan.Struct(plan.Col("a", plan.Long), plan.Col("b", plan.String)),
		row(int64(1), "x"), row(int64(1), nil), row(int64(2), "x"))
	a, b := f.col("a"), f.col("b")
	build := func(kind plan.GroupKind) *frame {
		agg := plan.NewAggregate(f.node, []plan.Expr{a, b}, []plan.Expr{a, b, f.as(count(t), "n"),
			f.as(groupMark("grouping_id", plan.Long), "g"), f.as(groupMark("grouping", plan.Byte, b), "gb")})
		agg.Kind = kind
		return f.with(agg)
	}
	rollup := [][]plan.Value{
		{nil, nil, int64(3), int64(3), int64(1)}, {int64(1), nil, int64(2), int64(1), int64(1)},
		{int64(1), nil, int64(1), int64(0), int64(0)}, {int64(1), "x", int64(1), int64(0), int64(0)},
		{int64(2), nil, int64(1), int64(1), int64(1)}, {int64(2), "x", int64(1), int64(0), int64(0)}}
	got, _ := build(plan.GroupRollup).run()
	sameBag(t, rollup, got)
	got, _ = build(plan.GroupCube).run()
	more := [][]plan.Value{{nil, "x", int64(2), int64(2), int64(0)}, {nil, nil, int64(1), int64(2), int64(0)}}
	sameBag(t, append(rollup, more...), got)
}

// Recorded from Spark 4.3.0: without rows only a global aggregation has a
// group, and GROUPING SETS (()) is one.
func TestAggregatesWithoutRows(t *testing.T) {
	f := ints(t, 1)
	f = f.filter(call(t, ">", f.col("a"), long(5)))
	a := f.col("a")
	distinct := distinctCall(t, "count", a)
	exprs := []plan.Expr{f.as(count(t), "n"), f.as(call(t, "sum", a), "s"), f.as(distinct, "d")}
	f.with(plan.NewAggregate(f.node, nil, exprs)).want(row(int64(0), nil, int64(0)))
	f.with(plan.NewAggregate(f.node, []plan.Expr{a}, exprs)).want()
	rollup := plan.NewAggregate(f.node, []plan.Expr{a}, exprs)
	rollup.Kind = plan.GroupRollup
	f.with(rollup).want()
	empty := plan.NewAggregate(f.node, nil, exprs)
	empty.Kind, empty.Sets = plan.GroupSets, [][]plan.Expr{{}}
	f.with(empty).want(row(int64(0), nil, int64(0)))
}

// Recorded from Spark 4.3.0.
func TestFloatsGroupAsSparkSays(t *testing.T) {
	negative := math.Copysign(0, -1)
	f := relation(t, plan.Struct(plan.Col("a", plan.Double), plan.Col("l", plan.Array(plan.Double, true))),
		row(negative, row(negative)), row(0.0, row(0.0)), row(math.NaN(), nil), row(math.NaN(), nil))
	a, l := f.col("a"), f.col("l")
	got, _ := f.with(plan.NewAggregate(f.node, []plan.Expr{a}, []plan.Expr{a, f.as(count(t), "n")})).run()
	sameBag(t, [][]plan.Value{{0.0, int64(2)}, {math.NaN(), int64(2)}}, got)
	if math.Signbit(got[0][0].(float64)) {
		t.Error("the group of -0.0 and 0.0 is shown as -0.0")
	}
	got, _ = f.with(plan.NewAggregate(f.node, []plan.Expr{l}, []plan.Expr{l, f.as(count(t), "n")})).run()
	sameBag(t, [][]plan.Value{{row(0.0), int64(2)}, {nil, int64(2)}}, got)
}

// Recorded from Spark 4.3.0: maps group whatever the order of their entries.
func TestMapsGroup(t *testing.T) {
	of := plan.Map(plan.Int, plan.Int, false)
	m := func(kv ...plan.Value) plan.MapValue { return plan.MapValue{Keys: kv[:2], Values: kv[2:]} }
	f := relation(t, plan.Struct(plan.Col("m", of)),
		row(m(int64(1), int64(3), int64(2), int64(4))), row(m(int64(3), int64(1), int64(4), int64(2))))
	k := f.col("m")
	got, _ := f.with(plan.NewAggregate(f.node, []plan.Expr{k}, []plan.Expr{f.as(count(t), "n")})).run()
	sameBag(t, [][]plan.Value{{int64(2)}}, got)
}

func TestGroupingExpressionsAreFoundAgain(t *testing.T) {
	f := people(t)
	odd := func() plan.Expr { return call(t, "%", f.col("id"), long(2)) }
	sum := call(t, "sum", f.col("id"))
	agg := plan.NewAggregate(f.node, []plan.Expr{odd()}, []plan.Expr{
		f.as(call(t, "+", odd(), long(100)), "k"), f.as(call(t, "+", sum, sum), "twice")})
	got, _ := f.with(agg).run()
	sameBag(t, [][]plan.Value{{int64(101), int64(18)}, {int64(100), int64(12)}}, got)
}

// Recorded from Spark 4.3.0.
func TestSortOfNestedValues(t *testing.T) {
	pair := plan.Struct(plan.Col("x", plan.Long), plan.Col("y", plan.Long))
	f := relation(t, plan.Struct(plan.Col("a", plan.Array(plan.Long, true))), row(row(int64(1), nil)),
		row(row(int64(1))), row(row(nil, int64(1))), row(row()), row(nil))
	f.with(plan.NewSort(f.node, true, &plan.SortOrder{Child: f.col("a"), NullsFirst: true})).want(
		row(nil), row(row()), row(row(nil, int64(1))), row(row(int64(1))), row(row(int64(1), nil)))
	f = relation(t, plan.Struct(plan.Col("a", pair)), row(row(int64(1), nil)), row(row(nil, int64(5))),
		row(row(int64(1), int64(2))), row(nil))
	f.with(plan.NewSort(f.node, true, &plan.SortOrder{Child: f.col("a"), Descending: true})).want(
		row(row(int64(1), int64(2))), row(row(int64(1), nil)), row(row(nil, int64(5))), row(nil))
}

func TestTail(t *testing.T) {
	f := numbers(t, 0, 3000, 1, 4)
	n := plan.NewLimit(f.node, plan.Lit(int64(3), plan.Int), nil)
	n.Tail = true
	f.with(n).want(row(int64(2997)), row(int64(2998)), row(int64(2999)))
	n = plan.NewLimit(f.node, plan.Lit(int64(5000), plan.Int), nil)
	n.Tail = true
	if rows, _ := f.with(n).run(); len(rows) != 3000 {
		t.Errorf("got %d rows, want all 3000", len(rows))
	}
}

func asked(kind plan.SubqueryKind, f *frame, values ...plan.Expr) *plan.Subquery {
	return &plan.Subquery{Kind: kind, Plan: f.node, Values: values}
}

// Recorded from Spark 4.3.0.
func TestSubqueries(t *testing.T) {
	f := people(t)
	other := people(t)
	late := other.filter(call(t, ">", other.col("id"), long(3)))
	depts := late.project(late.col("dept"))
	in := asked(plan.InSubquery, depts, f.col("dept"))
	out := *in
	out.Negated = true
	f.filter(call(t, "not", &out)).project(f.col("id")).want()
	f.project(f.as(in, "r")).want(row(false), row(false), row(false), row(true), row(false))
	none := asked(plan.InSubquery, depts.filter(call(t, "<", depts.col("dept"), long(0))), f.col("dept"))
	f.project(f.as(none, "r")).want(row(false), row(false), row(false), row(false), row(false))
	agg := plan.NewAggregate(other.node, []plan.Expr{other.col("dept")},
		[]plan.Expr{other.col("dept"), other.as(call(t, "max", other.col("id")), "m")})
	last := asked(plan.InSubquery, other.with(agg), f.col("dept"), f.col("id"))
	f.filter(last).project(f.col("id")).want(row(int64(2)), row(int64(3)), row(int64(4)))
	f.project(f.as(last, "r")).want(row(false), row(true), row(true), row(true), row(false))
	least := plan.NewAggregate(other.node, nil, []plan.Expr{other.as(call(t, "min", other.col("id")), "m")})
	f.filter(call(t, "=", f.col("id"), asked(plan.ScalarSubquery, other.with(least)))).
		project(f.col("id")).want(row(int64(1)))
	f.filter(asked(plan.ExistsSubquery, depts)).project(f.col("id")).
		want(row(int64(1)), row(int64(2)), row(int64(3)), row(int64(4)), row(int64(5)))
	empty := other.filter(call(t, ">", other.col("id"), long(9))).project(other.col("id"))
	f.filter(asked(plan.ExistsSubquery, empty)).project(f.col("id")).want()
	f.project(f.as(asked(plan.ScalarSubquery, empty), "r")).
		want(row(nil), row(nil), row(nil), row(nil), row(nil))
	_, _, err := f.project(f.as(asked(plan.ScalarSubquery, other.project(other.col("id"))), "r")).try(&Run{})
	var mistake *plan.Error
	if !errors.As(err, &mistake) || mistake.Condition != "SCALAR_SUBQUERY_TOO_MANY_ROWS" {
		t.Errorf("got %v", err)
	}
}

func generated(f *frame, name string, outer bool, fields []plan.Field, args ...plan.Expr) *frame {
	e := &plan.Call{Name: name, Args: args, Of: plan.Array(plan.Struct(fields...), false)}
	g := plan.NewGenerate(f.node, e, outer)
	g.Attrs = attributes(fields)
	return f.with(g)
}

// Recorded from Spark 4.3.0.
func TestGenerators(t *testing.T) {
	item := plan.Struct(plan.Col("col1", plan.Long), plan.Col("col2", plan.String))
	f := relation(t, plan.Struct(plan.Col("a", plan.Array(plan.Long, true)),
		plan.Col("m", plan.Map(plan.Long, plan.String, true)), plan.Col("s", plan.Array(item, true))),
		row(row(int64(1), int64(2)), plan.MapValue{Keys: row(int64(1), int64(2)), Values: row("x", nil)},
			row(row(int64(1), "a"), nil, row(int64(2), nil))),
		row(row(), plan.MapValue{}, row()), row(nil, nil, nil))
	col, pos := plan.Col("col", plan.Long), plan.Col("pos", plan.Int)
	kv := []plan.Field{plan.Col("key", plan.Long), plan.Col("value", plan.String)}
	made := func(g *frame, n int) *frame { return g.project(exprsOf(g.node.Output()[3 : 3+n])...) }
	made(generated(f, "explode", false, []plan.Field{col}, f.col("a")), 1).want(row(int64(1)), row(int64(2)))
	outer := generated(f, "explode", true, []plan.Field{col}, f.col("a"))
	outer.project(outer.col("a"), outer.col("col")).want(row(row(int64(1), int64(2)), int64(1)),
		row(row(int64(1), int64(2)), int64(2)), row(row(), nil), row(nil, nil))
	made(generated(f, "posexplode", false, []plan.Field{pos, col}, f.col("a")), 2).
		want(row(int64(0), int64(1)), row(int64(1), int64(2)))
	made(generated(f, "explode", false, kv, f.col("m")), 2).want(row(int64(1), "x"), row(int64(2), nil))
	made(generated(f, "posexplode_outer", false, append([]plan.Field{pos}, kv...), f.col("m")), 3).
		want(row(int64(0), int64(1), "x"), row(int64(1), int64(2), nil), row(nil, nil, nil), row(nil, nil, nil))
	made(generated(f, "inline", false, item.Fields, f.col("s")), 2).
		want(row(int64(1), "a"), row(nil, nil), row(int64(2), nil))
	made(generated(f, "inline", true, item.Fields, f.col("s")), 2).
		want(row(int64(1), "a"), row(nil, nil), row(int64(2), nil), row(nil, nil), row(nil, nil))
	one := relation(t, plan.Struct(plan.Col("z", plan.Long)), row(int64(9)))
	columns := []plan.Field{plan.Col("col0", plan.Long), plan.Col("col1", plan.String)}
	two := plan.Lit(int64(2), plan.Int)
	stacked := generated(one, "stack", false, columns, two, long(1), text("a"), one.col("z"))
	stacked.project(exprsOf(stacked.node.Output()[1:])...).want(row(int64(1), "a"), row(int64(9), nil))
}

func TestGeneratorsMayMakeManyRows(t *testing.T) {
	list := make([]plan.Value, 5000)
	for i := range list {
		list[i] = int64(i)
	}
	f := relation(t, plan.Struct(plan.Col("a", plan.Array(plan.Long, true))), row(list), row(list[:10]))
	g := generated(f, "explode", false, []plan.Field{plan.Col("col", plan.Long)}, f.col("a"))
	rows, _ := g.project(g.col("col")).run()
	if len(rows) != 5010 || rows[4999][0] != int64(4999) || rows[5000][0] != int64(0) {
		t.Errorf("got %d rows", len(rows))
	}
}

func TestObserveReportsWhatPassed(t *testing.T) {
	f := numbers(t, 0, 5000, 1, 2)
	metrics := []plan.Expr{f.as(count(t), "n"), f.as(call(t, "max", f.col("a")), "m")}
	o := plan.NewObserve(f.node, "stats", metrics)
	got := map[string][]plan.Value{}
	run := &Run{Observe: func(name string, schema plan.Type, row []plan.Value) {
		got[name+" "+schema.Fields[0].Name+" "+schema.Fields[1].Name] = row
	}}
	rows, _, err := f.with(o).try(run)
	if err != nil || len(rows) != 5000 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if diff := cmp.Diff(map[string][]plan.Value{"stats n m": row(int64(5000), int64(4999))}, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// Recorded from Spark 4.3.0 (oracle scenario wm_null_event_time): NULL counts
// as 1970.
func TestWatermarkSeesEventTimes(t *testing.T) {
	f := relation(t, plan.Struct(plan.Col("ts", plan.Timestamp), plan.Col("n", plan.Long)),
		row(int64(1704067205000999), int64(1)), row(nil, int64(2)))
	w := plan.NewWatermark(f.node, f.col("ts"), "10 seconds")
	var seen EventTimes
	run := &Run{EventTimes: func(_ *plan.Watermark, _ int, t EventTimes) { seen = seen.Merge(t) }}
	rows, _, err := f.with(w).try(run)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := EventTimes{Count: 2, Min: 0, Max: 1704067205000, Mean: 1704067205000 / 2.0}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("event times (-want +got):\n%s", diff)
	}
	var before EventTimes
	before.add(chunk.Of(plan.Timestamp, []int64{-1, -1000}))
	if diff := cmp.Diff(EventTimes{Count: 2, Min: -1, Max: -1, Mean: -1}, before); diff != "" {
		t.Errorf("before 1970 (-want +got):\n%s", diff)
	}
}

// Spark tells of many rows of one time that time, whatever a sum of theirs would round to.
func TestMeanOfEqualTimesIsThatTime(t *testing.T) {
	const ms = 1789000000123
	var few, many EventTimes
	for range 100_000 {
		few.add(chunk.Of(plan.Timestamp, []int64{ms * 1000}))
	}
	for range 1000 {
		many = many.Merge(few)
	}
	if many.Count != 100_000_000 || many.Mean != ms {
		t.Errorf("the mean of %d rows is %f, want %d", many.Count, many.Mean, ms)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	wide := numbers(t, 0, 200_000, 1, 2)
	keys := exprsOf(wide.node.Output())
	other := numbers(t, 0, 200_000, 1, 2)
	dedup := plan.NewDedup(wide.node, []string{"a"}, false)
	dedup.Keys = wide.node.Output()
	tests := map[string]*frame{
		"sort":                  wide.with(plan.NewSort(wide.node, true, desc(wide))),
		"aggregation":           wide.with(plan.NewAggregate(wide.node, keys, keys)),
		"join":                  joined(wide, other, plan.InnerJoin),
		"removal of duplicates": wide.with(dedup),
		"repartition":           wide.with(plan.NewRepartition(wide.node, 3, nil)),
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := f.try(bounded(1 << 20))
			var mistake *plan.Error
			if !errors.As(err, &mistake) || mistake.Condition != "UNABLE_TO_ACQUIRE_MEMORY" {
				t.Fatalf("got %v", err)
			}
			args := mistake.Args
			if args["requestedBytes"] == "" || args["receivedBytes"] == "" || !strings.Contains(mistake.Msg, name) ||
				!strings.Contains(mistake.Msg, "the.key") {
				t.Errorf("error does not say enough: %v %v", mistake, mistake.Args)
			}
			if rows, _, err := f.try(&Run{}); err != nil || len(rows) != 200_000 {
				t.Errorf("with the default budget: %d rows, %v", len(rows), err)
			}
		})
	}
}

// bounded is a run that may hold so many bytes.
func bounded(bytes int64) *Run {
	env := testEnv()
	env.Memory = chunk.NewBudget(nil, bytes, "the.key")
	return &Run{Eval: env}
}

func TestTopRowsNeedLittleMemory(t *testing.T) {
	f := numbers(t, 0, 500_000, 1, 2)
	f = f.with(plan.NewSort(f.node, true, desc(f)))
	rows, _, err := limited(f, plan.Lit(int64(2), plan.Int), nil).try(bounded(1 << 20))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]plan.Value{{int64(499_999)}, {int64(499_998)}}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestCancelledRunsEnd(t *testing.T) {
	f := numbers(t, 0, math.MaxInt64, 1, 2)
	p, err := Build(f.filter(call(t, "<", f.col("a"), long(0))).node, testEnv(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("the user said so")
	cancel(why)
	if _, err := chunk.Collect(p.Run(ctx, &Run{})); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

func TestProgramsRunAtTheSameTime(t *testing.T) {
	f := numbers(t, 0, 20_000, 1, 2)
	k := call(t, "%", f.col("a"), long(7))
	exprs := []plan.Expr{f.as(k, "k"), f.as(call(t, "sum", f.col("a")), "s")}
	agg := plan.NewAggregate(f.node, []plan.Expr{k}, exprs)
	p, err := Build(agg, testEnv(), nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan [][]plan.Value)
	for range 4 {
		go func() {
			var rows [][]plan.Value
			for c, err := range p.Run(context.Background(), &Run{}) {
				if err != nil {
					t.Error(err)
				}
				for i := range c.Rows {
					rows = append(rows, c.Row(i))
				}
			}
			done <- rows
		}()
	}
	first := <-done
	for range 3 {
		sameBag(t, first, <-done)
	}
}

func TestScansYieldWhatRunOpens(t *testing.T) {
	schema := plan.Struct(plan.Col("a", plan.Long), plan.Col("b", plan.String))
	scan := &plan.Scan{Attrs: attributes(schema.Fields)}
	big := chunk.NewChunk(schema, 3000)
	for i := range 3000 {
		big.AppendValues(row(int64(i), "x"))
	}
	big.Part = 3
	broken := errors.New("the disk is gone")
	open := func(_ context.Context, s *plan.Scan) chunk.Rows {
		if s != scan {
			t.Error("another scan was opened")
		}
		return func(yield func(*chunk.Chunk, error) bool) {
			_ = yield(chunk.Empty(schema), nil) && yield(big, nil) && yield(nil, broken)
		}
	}
	f := &frame{t, sharedIDs, scan}
	rows, parts, err := f.project(f.col("b"), f.col("a")).try(&Run{Open: open})
	if !errors.Is(err, broken) || len(rows) != 3000 || parts[0] != 3 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if diff := cmp.Diff(row("x", int64(2999)), rows[2999]); diff != "" {
		t.Errorf("last row (-want +got):\n%s", diff)
	}
	rows, _, err = limited(f, plan.Lit(int64(5), plan.Int), nil).try(&Run{Open: open})
	if err != nil || len(rows) != 5 {
		t.Errorf("a limit reads too far: %d rows, %v", len(rows), err)
	}
}

// Offsets count in 32 bits; what does not fit is refused, not cut.
func TestTooLongTextIsRefused(t *testing.T) {
	f := numbers(t, 0, 1024, 1, 1)
	long := f.as(text(strings.Repeat("x", 4<<20)), "s")
	one := relation(t, plan.Struct(plan.Col("s", plan.String)), row(strings.Repeat("y", 4<<20)))
	cross := f.with(&plan.Join{Left: f.node, Right: one.node, Kind: plan.CrossJoin})
	for name, g := range map[string]*frame{"constant": f.project(long), "join": cross} {
		_, _, err := g.try(&Run{})
		var mistake *plan.Error
		if !errors.As(err, &mistake) || mistake.Condition != "UNABLE_TO_ACQUIRE_MEMORY" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
