package exec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// The model works on rows of constants, one at a time, by the plainest means.

// table is rows of a schema.
type table struct {
	schema plan.Type
	rows   [][]plan.Value
}

// columnTypes are the types that the model's tables have columns of.
var columnTypes = []plan.Type{
	plan.Long, plan.Int, plan.Double, plan.Float, plan.String, plan.Boolean, plan.Date, plan.Decimal(20, 2),
	plan.Array(plan.Int, true), plan.Struct(plan.Col("x", plan.Double), plan.Col("y", plan.String)), plan.Binary,
}

// valueOf draws a value; few different ones, so that they meet.
func valueOf(t *rapid.T, of plan.Type) plan.Value {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return nil
	}
	n := rapid.IntRange(-2, 3).Draw(t, "n")
	switch of.Kind {
	case plan.KindLong, plan.KindInt:
		return int64(n)
	case plan.KindDouble:
		return []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), -1.5, 2}[n+2]
	case plan.KindFloat:
		return []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(-1)), -1.5, 2}[n+2]
	case plan.KindString:
		return []string{"", "a", "a\x00", "ab", "b", "é"}[n+2]
	case plan.KindBinary:
		return []byte([]string{"", "\x00", "\x00\x00", "\xff", "b", "\x00\x01"}[n+2])
	case plan.KindBoolean:
		return n > 0
	case plan.KindDate:
		return int32(n)
	case plan.KindDecimal:
		return decimal128.FromI64(int64(n) * 150)
	case plan.KindArray:
		list := []plan.Value{}
		for range (n + 2) % 3 {
			list = append(list, valueOf(t, *of.Elem))
		}
		return list
	default:
		fields := make([]plan.Value, len(of.Fields))
		for i, f := range of.Fields {
			fields[i] = valueOf(t, f.Type)
		}
		return fields
	}
}

// draw is a table of up to n rows.
func draw(t *rapid.T, schema plan.Type, n int) table {
	out := table{schema: schema}
	for range rapid.IntRange(0, n).Draw(t, "rows") {
		row := make([]plan.Value, len(schema.Fields))
		for i, f := range schema.Fields {
			row[i] = valueOf(t, f.Type)
		}
		out.rows = append(out.rows, row)
	}
	return out
}

// drawSchema is a few columns of any types, named c0, c1, ….
func drawSchema(t *rapid.T, most int) plan.Type {
	var fields []plan.Field
	for i := range rapid.IntRange(1, most).Draw(t, "columns") {
		fields = append(fields, plan.Col(fmt.Sprint("c", i), rapid.SampledFrom(columnTypes).Draw(t, "type")))
	}
	return plan.Struct(fields...)
}

func (tb table) frame(t testing.TB) *frame { return relation(t, tb.schema, tb.rows...) }

// keyText is equal for values that are equal in Spark.
func keyText(v plan.Value) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case float64:
		return fmt.Sprint("f", x+0)
	case float32:
		return fmt.Sprint("f", x+0)
	case []plan.Value:
		parts := make([]string, len(x))
		for i, p := range x {
			parts[i] = keyText(p)
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		return fmt.Sprintf("%T%q", v, fmt.Sprint(v))
	}
}

func rowText(row []plan.Value) string {
	parts := make([]string, len(row))
	for i, v := range row {
		parts[i] = keyText(v)
	}
	return strings.Join(parts, "|")
}

// sameBag compares rows without their order.
func sameBag(t testing.TB, want, got [][]plan.Value) {
	t.Helper()
	w, g := texts(want), texts(got)
	slices.Sort(w)
	slices.Sort(g)
	if diff := gocmp.Diff(w, g); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
}

func texts(rows [][]plan.Value) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = rowText(r)
	}
	return out
}

// compareValues is the order of Spark: NULL least, NaN greatest, -0.0 equal to
// 0.0, arrays and structs part by part.
func compareValues(a, b plan.Value) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	switch x := a.(type) {
	case float64:
		return compareFloats(x, b.(float64))
	case float32:
		return compareFloats(float64(x), float64(b.(float32)))
	case int64:
		return cmp.Compare(x, b.(int64))
	case int32:
		return cmp.Compare(x, b.(int32))
	case bool:
		return cmp.Compare(fmt.Sprint(x), fmt.Sprint(b))
	case string:
		return cmp.Compare(x, b.(string))
	case []byte:
		return slices.Compare(x, b.([]byte))
	case chunk.Dec:
		return x.Cmp(b.(chunk.Dec))
	case []plan.Value:
		return slices.CompareFunc(x, b.([]plan.Value), compareValues)
	default:
		panic(fmt.Sprintf("%T", a))
	}
}

// compareBy is the order that ORDER BY asks for.
func compareBy(o *plan.SortOrder, a, b plan.Value) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil == o.NullsFirst && (a == nil || b == nil):
		return -1
	case a == nil || b == nil:
		return 1
	case o.Descending:
		return compareValues(b, a)
	default:
		return compareValues(a, b)
	}
}

func compareFloats(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	case math.IsNaN(b):
		return -1
	}
	return cmp.Compare(a+0, b+0)
}

func TestSortAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := draw(rt, drawSchema(rt, 3), 60)
		f := in.frame(t)
		var orders []*plan.SortOrder
		for i, a := range f.node.Output() {
			orders = append(orders, &plan.SortOrder{
				Child:      a,
				Descending: rapid.Bool().Draw(rt, fmt.Sprint("desc", i)),
				NullsFirst: rapid.Bool().Draw(rt, fmt.Sprint("nulls first", i)),
			})
		}
		orders = orders[:rapid.IntRange(1, len(orders)).Draw(rt, "orders")]
		want := slices.Clone(in.rows)
		slices.SortStableFunc(want, func(a, b []plan.Value) int {
			for i, o := range orders {
				if c := compareBy(o, a[i], b[i]); c != 0 {
					return c
				}
			}
			return 0
		})
		sorted := f.with(plan.NewSort(f.node, true, orders...))
		got, parts := sorted.run()
		if diff := gocmp.Diff(texts(want), texts(got)); diff != "" {
			rt.Fatalf("rows (-want +got):\n%s", diff)
		}
		if n := slices.Max(append(parts, 0)); n != 0 {
			rt.Fatalf("sorted rows are in partition %d", n)
		}
		skip, count := rapid.IntRange(0, 5).Draw(rt, "skip"), rapid.IntRange(0, 9).Draw(rt, "count")
		limited := plan.NewLimit(sorted.node, plan.Lit(int64(count), plan.Int), plan.Lit(int64(skip), plan.Int))
		top, _ := f.with(limited).run()
		want = want[min(skip, len(want)):]
		want = want[:min(count, len(want))]
		if diff := gocmp.Diff(texts(want), texts(top)); diff != "" {
			rt.Fatalf("limited rows (-want +got):\n%s", diff)
		}
	})
}

func TestAggregateAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fields := append(drawSchema(rt, 3).Fields, plan.Col("v", plan.Long), plan.Col("b", plan.Boolean))
		schema := plan.Struct(fields...)
		in := draw(rt, schema, 60)
		f := in.frame(t)
		keys := rapid.IntRange(0, len(schema.Fields)-2).Draw(rt, "keys")
		v := f.col("v")
		calls := []plan.Expr{
			call(t, "count", v), call(t, "sum", v), call(t, "min", v), call(t, "max", v),
			distinctCall(t, "count", v), filtered(t, "count", f.col("b"), v), call(t, "count", long(1)),
		}
		var exprs, groups []plan.Expr
		for _, a := range f.node.Output()[:keys] {
			groups, exprs = append(groups, a), append(exprs, a)
		}
		for i, c := range calls {
			exprs = append(exprs, f.as(c, fmt.Sprint("r", i)))
		}
		got, _ := f.with(plan.NewAggregate(f.node, groups, exprs)).run()
		sameBag(t, modelAggregate(in, keys), got)
	})
}

func modelAggregate(in table, keys int) [][]plan.Value {
	groups := map[string][][]plan.Value{}
	for _, r := range in.rows {
		k := rowText(r[:keys])
		groups[k] = append(groups[k], r)
	}
	if keys == 0 && len(groups) == 0 {
		groups[""] = nil
	}
	vAt, bAt := len(in.schema.Fields)-2, len(in.schema.Fields)-1
	var out [][]plan.Value
	for _, rows := range groups {
		var sum, least, most plan.Value
		count, filtered := int64(0), int64(0)
		distinct := map[int64]bool{}
		for _, r := range rows {
			x, ok := r[vAt].(int64)
			if !ok {
				continue
			}
			count++
			distinct[x] = true
			if r[bAt] == true {
				filtered++
			}
			if sum == nil {
				sum, least, most = int64(0), x, x
			}
			sum, least, most = sum.(int64)+x, min(least.(int64), x), max(most.(int64), x)
		}
		row := []plan.Value{}
		if keys > 0 {
			row = append(row, rows[0][:keys]...)
		}
		out = append(out, append(row, count, sum, least, most, int64(len(distinct)), filtered, int64(len(rows))))
	}
	return out
}

func TestJoinAgreesWithTheModel(t *testing.T) {
	kinds := []plan.JoinType{
		plan.InnerJoin, plan.LeftJoin, plan.RightJoin, plan.FullJoin, plan.SemiJoin, plan.AntiJoin,
	}
	rapid.Check(t, func(rt *rapid.T) {
		keys := drawSchema(rt, 2)
		ls := plan.Struct(append(slices.Clone(keys.Fields), plan.Col("n", plan.Long))...)
		size := rapid.SampledFrom([]int{5, 30, 80}).Draw(rt, "size")
		left, right := draw(rt, ls, size), draw(rt, ls, size)
		kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
		keyCount := rapid.IntRange(0, len(keys.Fields)).Draw(rt, "keys")
		nullSafe, residual := rapid.Bool().Draw(rt, "null safe"), rapid.Bool().Draw(rt, "residual")
		l, r := left.frame(t), right.frame(t)
		var conds []plan.Expr
		for k := range keyCount {
			op := "="
			if nullSafe {
				op = "<=>"
			}
			conds = append(conds, call(t, op, l.node.Output()[k], r.node.Output()[k]))
		}
		if residual {
			conds = append(conds, call(t, "<", l.col("n"), r.col("n")))
		}
		j := &plan.Join{Left: l.node, Right: r.node, Kind: kind}
		if len(conds) > 0 {
			j.Cond = conds[0]
			for _, c := range conds[1:] {
				j.Cond = call(t, "and", j.Cond, c)
			}
		}
		match := func(a, b []plan.Value) bool {
			for k := range keyCount {
				if !nullSafe && (a[k] == nil || b[k] == nil) || keyText(a[k]) != keyText(b[k]) {
					return false
				}
			}
			x, okX := a[len(a)-1].(int64)
			y, okY := b[len(b)-1].(int64)
			return !residual || okX && okY && x < y
		}
		got, _ := l.with(j).run()
		if diff := gocmp.Diff(texts(modelJoin(left, right, kind, match)), texts(got)); diff != "" {
			rt.Fatalf("%s rows (-want +got):\n%s", kind, diff)
		}
	})
}

// modelJoin pairs rows in the order of the side that Spark streams: the left
// one, but the right one of a right join.
func modelJoin(left, right table, kind plan.JoinType, match func(a, b []plan.Value) bool) [][]plan.Value {
	if kind == plan.RightJoin {
		swapped := modelJoin(right, left, plan.LeftJoin, func(a, b []plan.Value) bool { return match(b, a) })
		for i, r := range swapped {
			swapped[i] = append(slices.Clone(r[len(r)/2:]), r[:len(r)/2]...)
		}
		return swapped
	}
	var out [][]plan.Value
	nulls := make([]plan.Value, len(left.schema.Fields))
	met := make([]bool, len(right.rows))
	pair := func(a, b []plan.Value) { out = append(out, append(slices.Clone(a), b...)) }
	for _, a := range left.rows {
		found := false
		for k, b := range right.rows {
			if !match(a, b) {
				continue
			}
			found, met[k] = true, true
			if kind != plan.SemiJoin && kind != plan.AntiJoin {
				pair(a, b)
			}
		}
		switch {
		case kind == plan.SemiJoin && found, kind == plan.AntiJoin && !found:
			out = append(out, a)
		case !found && (kind == plan.LeftJoin || kind == plan.FullJoin):
			pair(a, nulls)
		}
	}
	for k, b := range right.rows {
		if !met[k] && kind == plan.FullJoin {
			pair(nulls, b)
		}
	}
	return out
}

func TestSetOperationsAgreeWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		schema := drawSchema(rt, 2)
		left, right := draw(rt, schema, 20), draw(rt, schema, 20)
		kind := rapid.SampledFrom([]plan.SetKind{plan.Union, plan.Intersect, plan.Except}).Draw(rt, "kind")
		all := rapid.Bool().Draw(rt, "all")
		l, r := left.frame(t), right.frame(t)
		op := &plan.SetOp{Kind: kind, All: all, Inputs: []plan.Node{l.node, r.node}}
		for _, a := range l.node.Output() {
			b := *a
			b.ID = sharedIDs.Next()
			op.Attrs = append(op.Attrs, &b)
		}
		got, _ := l.with(op).run()
		sameBag(t, modelSet(left.rows, right.rows, kind, all), got)
	})
}

func modelSet(left, right [][]plan.Value, kind plan.SetKind, all bool) [][]plan.Value {
	times := map[string]int{}
	for _, r := range right {
		times[rowText(r)]++
	}
	if kind == plan.Union {
		left = append(slices.Clone(left), right...)
	}
	var out [][]plan.Value
	seen := map[string]bool{}
	for _, r := range left {
		k := rowText(r)
		if !all && seen[k] {
			continue
		}
		seen[k] = true
		has := times[k] > 0
		if all {
			times[k]--
		}
		if kind == plan.Union || has == (kind == plan.Intersect) {
			out = append(out, r)
		}
	}
	return out
}

func TestDedupKeepsTheFirstOfEachKey(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := draw(rt, drawSchema(rt, 3), 40)
		f := in.frame(t)
		d := plan.NewDedup(f.node, []string{"c0"}, false)
		d.Keys = f.node.Output()[:1]
		var want [][]plan.Value
		seen := map[string]bool{}
		for _, r := range in.rows {
			if k := keyText(r[0]); !seen[k] {
				seen[k] = true
				want = append(want, r)
			}
		}
		got, _ := f.with(d).run()
		if diff := gocmp.Diff(texts(want), texts(got)); diff != "" {
			rt.Fatalf("rows (-want +got):\n%s", diff)
		}
	})
}
