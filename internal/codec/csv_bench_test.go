package codec

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// BenchmarkCSVDecode reads events with a number, a text, a double and a time;
// bar: 5 M rows a second.
func BenchmarkCSVDecode(b *testing.B) {
	const n = 20000
	var data []byte
	for i := range n {
		data = fmt.Appendf(data, "%d,name %d,%d.%02d,2026-01-02T03:04:%02d.678Z\n", i, i%7, i, i%100, i%60)
	}
	file := plan.Struct(plan.Col("id", plan.Long), plan.Col("name", plan.String), plan.Col("x", plan.Double),
		plan.Col("at", plan.Timestamp))
	for name, schema := range map[string]plan.Type{
		"4of4": file, "2of4": plan.Struct(file.Fields[0], file.Fields[3]),
	} {
		b.Run(name, func(b *testing.B) {
			o, err := CSVReadOptionsOf(plan.Options{}, time.UTC, 0)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			rows := 0
			for b.Loop() {
				r, err := NewCSVReader(schema, file, o)
				if err != nil {
					b.Fatal(err)
				}
				chunks, err := chunk.Collect(r.Read(bytes.NewReader(data)))
				if err != nil {
					b.Fatal(err)
				}
				for _, c := range chunks {
					rows += c.Rows
				}
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
