package exec

import (
	"context"
	"fmt"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// benchRows is the rows of an input that a benchmark's run reads.
const benchRows = 1 << 20

// scanned is a relation whose rows come from chunks.
func scanned(b *testing.B, schema plan.Type) *frame {
	return &frame{b, sharedIDs, &plan.Scan{Attrs: attributes(schema.Fields)}}
}

// longs is n rows of bigints, cell (i, k) made by value.
func longs(schema plan.Type, n int, value func(i, k int) int64) []*chunk.Chunk {
	var out []*chunk.Chunk
	for from := 0; from < n; from += chunk.MaxRows {
		rows := min(chunk.MaxRows, n-from)
		c := &chunk.Chunk{Rows: rows}
		for k := range schema.Fields {
			v := chunk.Make(plan.Long, rows)
			for i, values := 0, chunk.Values[int64](v); i < rows; i++ {
				values[i] = value(from+i, k)
			}
			c.Cols = append(c.Cols, v)
		}
		out = append(out, c)
	}
	return out
}

// scramble spreads numbers over all 64 bits.
func scramble(i int) uint64 {
	x := uint64(i) * 0x9e3779b97f4a7c15
	return (x ^ x>>29) * 0xbf58476d1ce4e5b9
}

// measure runs a plan over inputs by scan and reports the time of a row.
func measure(b *testing.B, f *frame, rows int, inputs map[*plan.Scan][]*chunk.Chunk) {
	p, err := Build(f.node, testEnv(), nil)
	if err != nil {
		b.Fatal(err)
	}
	run := &Run{Open: func(_ context.Context, s *plan.Scan) chunk.Rows { return chunk.One(inputs[s]...) }}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range p.Run(context.Background(), run) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows*b.N), "ns/row")
}

func columnsOf(names ...string) plan.Type {
	var fields []plan.Field
	for _, n := range names {
		fields = append(fields, plan.Col(n, plan.Long))
	}
	return plan.Struct(fields...)
}

func BenchmarkFilterProject(b *testing.B) {
	schema := columnsOf("a", "b", "c", "d")
	for _, rows := range []int{10, benchRows} {
		b.Run(fmt.Sprint(rows, " rows"), func(b *testing.B) {
			f := scanned(b, schema)
			scan := f.node.(*plan.Scan)
			cond := call(b, "and", call(b, ">", f.col("a"), long(1<<29)), call(b, "<", f.col("b"), long(1<<29)))
			f = f.filter(cond).project(f.as(call(b, "+", f.col("a"), f.col("b")), "x"),
				f.as(call(b, "*", f.col("c"), long(3)), "y"), f.col("d"))
			in := longs(schema, rows, func(i, k int) int64 { return int64(scramble(4*i+k) >> 34) })
			measure(b, f, rows, map[*plan.Scan][]*chunk.Chunk{scan: in})
		})
	}
}

func BenchmarkAggregate(b *testing.B) {
	schema := columnsOf("k", "v")
	for _, keys := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(keys, " keys"), func(b *testing.B) {
			f := scanned(b, schema)
			scan := f.node.(*plan.Scan)
			exprs := []plan.Expr{f.col("k"), f.as(count(b), "n"), f.as(call(b, "sum", f.col("v")), "s")}
			f = f.with(plan.NewAggregate(f.node, []plan.Expr{f.col("k")}, exprs))
			rows := 4 * benchRows
			in := longs(schema, rows, func(i, k int) int64 { return int64(scramble(2*i+k) % uint64(keys)) })
			measure(b, f, rows, map[*plan.Scan][]*chunk.Chunk{scan: in})
		})
	}
}

func BenchmarkJoin(b *testing.B) {
	left, right := columnsOf("k", "v"), columnsOf("k", "w")
	for _, keys := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(keys, " keys"), func(b *testing.B) {
			l, r := scanned(b, left), scanned(b, right)
			ls, rs := l.node.(*plan.Scan), r.node.(*plan.Scan)
			j := &plan.Join{Left: ls, Right: rs, Kind: plan.InnerJoin, Cond: call(b, "=", l.col("k"), r.col("k"))}
			in := map[*plan.Scan][]*chunk.Chunk{
				ls: longs(left, benchRows, func(i, k int) int64 { return int64(scramble(2*i+k) % uint64(keys)) }),
				rs: longs(right, keys, func(i, k int) int64 { return int64(i) }),
			}
			measure(b, l.with(j), benchRows+keys, in)
		})
	}
}

func BenchmarkSort(b *testing.B) {
	schema := columnsOf("k", "v")
	f := scanned(b, schema)
	scan := f.node.(*plan.Scan)
	in := longs(schema, benchRows, func(i, k int) int64 { return int64(scramble(2*i + k)) })
	sorted := f.with(plan.NewSort(f.node, true, &plan.SortOrder{Child: f.col("k"), NullsFirst: true}))
	measure(b, sorted, benchRows, map[*plan.Scan][]*chunk.Chunk{scan: in})
}
