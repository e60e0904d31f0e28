package function_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

const benchRows = 8192

// benchColumns are columns that expressions of the benchmarks name.
func benchColumns() ([]*plan.Attribute, map[plan.ExprID]*chunk.Vector) {
	fields := []plan.Field{{Name: "i", Type: plan.Int}, {Name: "j", Type: plan.Int, Nullable: true},
		{Name: "l", Type: plan.Long}, {Name: "d", Type: plan.Double}, {Name: "m", Type: plan.Decimal(18, 2)},
		{Name: "s", Type: plan.String}, {Name: "ts", Type: plan.Timestamp}}
	var attrs []*plan.Attribute
	cols := map[plan.ExprID]*chunk.Vector{}
	for k, f := range fields {
		v := chunk.New(f.Type, benchRows)
		for i := range benchRows {
			switch {
			case f.Nullable && i%7 == 0:
				v.AppendNull()
			case f.Type.Kind == plan.KindDouble:
				v.AppendValue(float64(i) * 1.25)
			case f.Type.Kind == plan.KindDecimal:
				v.AppendValue(chunk.Dec(decimal128.FromI64(int64(i) * 101)))
			case f.Type.Kind == plan.KindString:
				v.AppendValue([]string{"12345", "-7", "998", "4021"}[i%4])
			case f.Type.Kind == plan.KindTimestamp:
				v.AppendValue(int64(i) * 1_234_567_891)
			default:
				v.AppendValue(int64(i%1000 + 1))
			}
		}
		attrs = append(attrs, &plan.Attribute{Name: f.Name, Of: f.Type, Null: f.Nullable, ID: plan.ExprID(k + 1)})
		cols[plan.ExprID(k+1)] = v
	}
	return attrs, cols
}

// BenchmarkKernels computes one bound call over a chunk; a row is 1/8192 op.
func BenchmarkKernels(b *testing.B) {
	for _, text := range []string{"i + j", "l * l", "i / j", "d * 2.5D", "m + m", "m * m", "i < j", "d >= 100D",
		"s = '998'", "s LIKE '%9%'", "s RLIKE '^9+'", "CAST(s AS INT)", "CAST(i AS STRING)", "CAST(d AS BIGINT)",
		"upper(s)", "concat(s, s)", "hash(i, s)", "year(ts)", "date_trunc('HOUR', ts)", "isnull(j)"} {
		b.Run(text, func(b *testing.B) { benchKernel(b, text) })
	}
}

func benchKernel(b *testing.B, text string) {
	attrs, cols := benchColumns()
	env := environment(&recorded{})
	parsed, err := parse(text)
	if err != nil {
		b.Fatal(err)
	}
	e, err := (&resolver{env: env, cols: attrs}).resolve(parsed)
	if err != nil {
		b.Fatal(err)
	}
	ev := &evaluator{env: env, cols: cols}
	kids := e.Children()
	args := make([]*chunk.Vector, len(kids))
	for i, kid := range kids {
		if args[i], err = ev.eval(kid, nil, benchRows); err != nil {
			b.Fatal(err)
		}
	}
	kernel, err := kernelOf(e, env)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(benchRows)
	for b.Loop() {
		if _, err := kernel(args, nil, benchRows); err != nil {
			b.Fatal(err)
		}
	}
}

func kernelOf(e plan.Expr, env *function.Env) (function.Kernel, error) {
	if c, ok := e.(*plan.Cast); ok {
		return function.CastKernelOf(c, env)
	}
	c := e.(*plan.Call)
	d, _ := function.Lookup(c.Name)
	return d.Kernel(c, env)
}

// BenchmarkAggregates folds a chunk into 100 groups.
func BenchmarkAggregates(b *testing.B) {
	for _, text := range []string{"count(*)", "sum(i)", "sum(m)", "avg(d)", "min(l)", "max(s)", "stddev(d)"} {
		b.Run(text, func(b *testing.B) {
			attrs, cols := benchColumns()
			env := environment(&recorded{})
			parsed, err := parse(text)
			if err != nil {
				b.Fatal(err)
			}
			e, err := (&resolver{env: env, cols: attrs}).resolve(parsed)
			if err != nil {
				b.Fatal(err)
			}
			call := e.(*plan.AggregateCall)
			d, _ := function.Lookup(call.Name)
			acc, err := d.Accumulate(call, env)
			if err != nil {
				b.Fatal(err)
			}
			ev := &evaluator{env: env, cols: cols}
			args := make([]*chunk.Vector, len(call.Args))
			for i, a := range call.Args {
				if args[i], err = ev.eval(a, nil, benchRows); err != nil {
					b.Fatal(err)
				}
			}
			groups, sel := make([]int32, benchRows), make(chunk.Sel, benchRows)
			for i := range groups {
				groups[i], sel[i] = int32(i%100), uint16(i)
			}
			b.ReportAllocs()
			b.SetBytes(benchRows)
			for b.Loop() {
				if err := acc.Update(groups, args, sel, 100); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
