package exec

import (
	"cmp"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
)

// The partitions of this file were recorded from Spark 4.3.0 with local[2] and
// four shuffle partitions, as spark_partition_id beside the rows.

func ints(t testing.TB, values ...int64) *frame {
	rows := make([][]plan.Value, len(values))
	for i, v := range values {
		rows[i] = row(v)
	}
	return relation(t, plan.Struct(plan.Col("a", plan.Long)), rows...)
}

func numbers(t testing.TB, start, end, step int64, parts int) *frame {
	id := &plan.Attribute{Name: "a", Of: plan.Long, ID: sharedIDs.Next()}
	return &frame{t, sharedIDs, &plan.Range{Start: start, End: end, Step: step, Partitions: parts, Attr: id}}
}

// placed is value and partition of each row.
func placed(f *frame) [][2]int64 {
	f.t.Helper()
	rows, parts := f.run()
	out := make([][2]int64, len(rows))
	for i, r := range rows {
		out[i] = [2]int64{r[0].(int64), int64(parts[i])}
	}
	return out
}

func joined(l, r *frame, kind plan.JoinType) *frame {
	cond := call(l.t, "=", l.col("a"), r.col("a"))
	return l.with(&plan.Join{Left: l.node, Right: r.node, Kind: kind, Cond: cond})
}

func union(fs ...*frame) *frame {
	op := &plan.SetOp{Kind: plan.Union, All: true}
	for _, f := range fs {
		op.Inputs = append(op.Inputs, f.node)
	}
	for _, a := range fs[0].node.Output() {
		b := *a
		b.ID = sharedIDs.Next()
		op.Attrs = append(op.Attrs, &b)
	}
	return fs[0].with(op)
}

func limited(f *frame, count, skip plan.Expr) *frame {
	return f.with(plan.NewLimit(f.node, count, skip))
}

func desc(f *frame) *plan.SortOrder { return &plan.SortOrder{Child: f.col("a"), Descending: true} }

func TestPartitionsAreSparks(t *testing.T) {
	five, three := ints(t, 0, 1, 2, 3, 4), ints(t, 0, 1, 2)
	keyed := numbers(t, 0, 10, 1, 4)
	keyed = keyed.project(keyed.as(call(t, "%", keyed.col("a"), long(3)), "a"))
	keys := exprsOf(keyed.node.Output())
	dedup := plan.NewDedup(keyed.node, []string{"a"}, false)
	dedup.Keys = keyed.node.Output()
	ten := numbers(t, 0, 10, 1, 4)
	within := numbers(t, 0, 10, 1, 3)
	tests := []struct {
		name string
		f    *frame
		want [][2]int64
	}{
		{"local data", five, [][2]int64{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 1}}},
		{"local data in a projection", five.project(five.as(call(t, "+", five.col("a"), long(1)), "a")),
			[][2]int64{{1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 1}}},
		{"fewer rows than the parallelism", ints(t, 7), [][2]int64{{7, 0}}},
		{"inner join", joined(five, three, plan.InnerJoin), [][2]int64{{0, 0}, {1, 0}, {2, 1}}},
		{"left join", joined(five, three, plan.LeftJoin), [][2]int64{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 1}}},
		{"right join", joined(five, three, plan.RightJoin), [][2]int64{{0, 0}, {1, 1}, {2, 1}}},
		{"full join", joined(five, three, plan.FullJoin), [][2]int64{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}},
		{"union", union(five, numbers(t, 0, 6, 1, 3), three), [][2]int64{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 1},
			{0, 2}, {1, 2}, {2, 3}, {3, 3}, {4, 4}, {5, 4}, {0, 5}, {1, 6}, {2, 6}}},
		{"union after a filter that empties a partition",
			union(five.filter(call(t, "<", five.col("a"), long(1))), three),
			[][2]int64{{0, 0}, {0, 1}, {1, 2}, {2, 2}}},
		{"limited local data", union(limited(five, plan.Lit(int64(3), plan.Int), nil), three),
			[][2]int64{{0, 0}, {1, 1}, {2, 1}, {0, 2}, {1, 3}, {2, 3}}},
		{"local data after an offset", union(limited(five, nil, plan.Lit(int64(3), plan.Int)), three),
			[][2]int64{{3, 0}, {4, 0}, {0, 1}, {1, 2}, {2, 2}}},
		{"limit", limited(ten, plan.Lit(int64(6), plan.Int), nil),
			[][2]int64{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}}},
		{"offset", limited(ten, nil, plan.Lit(int64(6), plan.Int)), [][2]int64{{6, 0}, {7, 0}, {8, 0}, {9, 0}}},
		{"offset and limit", limited(ten, plan.Lit(int64(5), plan.Int), plan.Lit(int64(2), plan.Int)),
			[][2]int64{{2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}}},
		{"sort within partitions", within.with(plan.NewSort(within.node, false, desc(within))), [][2]int64{
			{2, 0}, {1, 0}, {0, 0}, {5, 1}, {4, 1}, {3, 1}, {9, 2}, {8, 2}, {7, 2}, {6, 2}}},
		{"aggregate", keyed.with(plan.NewAggregate(keyed.node, keys, keys)), [][2]int64{{0, 0}, {1, 0}, {2, 0}}},
		{"dedup", keyed.with(dedup), [][2]int64{{0, 0}, {1, 0}, {2, 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := placed(tt.f)
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("value and partition (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepartitionByHash(t *testing.T) {
	f := numbers(t, 0, 10, 1, 2)
	got := placed(f.with(plan.NewRepartition(f.node, 5, []plan.Expr{f.col("a")})))
	slices.SortFunc(got, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	want := [][2]int64{{0, 0}, {1, 4}, {2, 3}, {3, 2}, {4, 0}, {5, 3}, {6, 0}, {7, 1}, {8, 1}, {9, 4}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("value and partition (-want +got):\n%s", diff)
	}
}

// Recorded from Spark 4.3.0: adaptive execution joins the four partitions and
// reads them input by input.
func TestRepartitionWithoutCount(t *testing.T) {
	f := numbers(t, 0, 10, 1, 2)
	got := placed(f.with(plan.NewRepartition(f.node, 0, []plan.Expr{f.col("a")})))
	want := [][2]int64{{2, 0}, {4, 0}, {0, 0}, {1, 0}, {3, 0}, {5, 0}, {8, 0}, {6, 0}, {9, 0}, {7, 0}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("value and partition (-want +got):\n%s", diff)
	}
}

func TestRoundRobinFillsPartitionsAsSpark(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rows     int64
		from, to int
		sizes    []int
	}{
		{"three to three", 20, 3, 3, []int{6, 7, 7}},
		{"two to four", 20, 2, 4, []int{4, 6, 6, 4}},
		{"one to seven", 20, 1, 7, []int{3, 3, 2, 3, 3, 3, 3}},
		{"five to sixteen", 20, 5, 16, []int{1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 1, 1, 2, 2, 1, 1}},
		{"nine to five", 20, 9, 5, []int{4, 5, 4, 2, 5}},
	} {
		f := numbers(t, 0, tt.rows, 1, tt.from)
		_, parts := f.with(plan.NewRepartition(f.node, tt.to, nil)).run()
		sizes := make([]int, tt.to)
		for _, p := range parts {
			sizes[p]++
		}
		if diff := gocmp.Diff(tt.sizes, sizes); diff != "" {
			t.Errorf("%s: rows of each partition (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRange(t *testing.T) {
	const big, small = math.MaxInt64, math.MinInt64
	tests := []struct {
		name             string
		start, end, step int64
		parts            int
		want             [][2]int64
	}{
		{"steps", 1, 10, 3, 2, [][2]int64{{1, 0}, {4, 1}, {7, 1}}},
		{"backwards", 3, 0, -1, 2, [][2]int64{{3, 0}, {2, 1}, {1, 1}}},
		{"empty", 5, 5, 1, 2, [][2]int64{}},
		{"wrong way", 0, 5, -1, 2, [][2]int64{}},
		{"to the largest", big - 3, big, 2, 1, [][2]int64{{big - 3, 0}, {big - 1, 0}}},
		{"down to the smallest", small + 3, small, -2, 1, [][2]int64{{small + 3, 0}, {small + 1, 0}}},
		{"widest", small, big, big, 3, [][2]int64{{small, 0}, {-1, 1}, {big - 1, 2}}},
		{"more partitions than rows", 0, 2, 1, 5, [][2]int64{{0, 2}, {1, 4}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := gocmp.Diff(tt.want, placed(numbers(t, tt.start, tt.end, tt.step, tt.parts))); diff != "" {
				t.Errorf("value and partition (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRangeIsReadAsFarAsAsked(t *testing.T) {
	f := numbers(t, math.MinInt64, math.MaxInt64, 1, 2)
	got := placed(limited(f, plan.Lit(int64(2), plan.Int), nil))
	if diff := gocmp.Diff([][2]int64{{math.MinInt64, 0}, {math.MinInt64 + 1, 0}}, got); diff != "" {
		t.Errorf("value and partition (-want +got):\n%s", diff)
	}
}

// As recorded in fe_repartition of test/oracle.
func TestCoalesceJoinsNeighbours(t *testing.T) {
	for _, tt := range []struct {
		of, count int
		want      []int
	}{{3, 2, []int{0, 1, 1}}, {2, 3, []int{0, 1}}, {5, 2, []int{0, 0, 1, 1, 1}}, {1, 1, []int{0}}} {
		var got []int
		for part := range tt.of {
			got = append(got, coalesced(part, tt.of, tt.count))
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%d into %d (-want +got):\n%s", tt.of, tt.count, diff)
		}
	}
}

// As recorded in fe_sorted of test/oracle.
func TestRangesKeepEqualKeysTogether(t *testing.T) {
	for _, tt := range []struct {
		keys  string
		parts int
		want  []int
	}{
		{"abcdefg", 4, []int{2, 4, 6, 7}}, {"", 4, []int{0}}, {"a", 4, []int{1}}, {"aaaa", 4, []int{4, 4}},
		{"ab", 4, []int{1, 2}},
	} {
		got := rangesOf(len(tt.keys), tt.parts, func(i, j int) bool { return tt.keys[i] == tt.keys[j] })
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q into %d (-want +got):\n%s", tt.keys, tt.parts, diff)
		}
	}
}
