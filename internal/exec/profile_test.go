package exec

import (
	"context"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// The time of an operator is its own: not that of its input, nor of who takes its rows.
func TestProfileTellsOperatorsApart(t *testing.T) {
	schema := plan.Struct(plan.Col("a", plan.Long))
	scan := &plan.Scan{
		Relation: plan.Relation{Format: "tape", Schema: schema}, Attrs: attributes(schema.Fields), Streaming: true,
	}
	f := &frame{t, sharedIDs, scan}
	f = f.filter(call(t, ">", f.col("a"), long(1)))
	f = f.project(f.as(call(t, "+", f.col("a"), long(1)), "b"))
	p, err := BuildStream(f.node, testEnv(), Streaming{Mode: plan.AppendMode})
	if err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	profile := &Profile{Now: func() int64 { now++; return now }} // a look at the clock takes 1
	run := &Run{Profile: profile, Open: func(context.Context, *plan.Scan) chunk.Rows {
		return func(yield func(*chunk.Chunk, error) bool) {
			for range 3 {
				now += 1000
				if !yield(chunk.FromRows(schema, []plan.Value{int64(1)}, []plan.Value{int64(2)}), nil) {
					return
				}
			}
		}
	}}
	for range 2 { // the second run begins anew
		rows := 0
		for c, err := range p.Run(t.Context(), run) {
			if err != nil {
				t.Fatal(err)
			}
			rows += c.Rows
			now += 1_000_000
		}
		names, spent := "", [3]int64{}
		for i, s := range p.Steps() {
			names += s.Name + " "
			ns, out := profile.Spent(i)
			spent[i] = ns
			if want := []int64{6, 3, 3}[i]; out != want {
				t.Errorf("%s yielded %d rows, want %d", s.Name, out, want)
			}
		}
		if names != "Source Filter Project " || spent[0]/1000 != 3 ||
			spent[1] > 100 || spent[2] > 100 || rows != 3 {
			t.Errorf("%s: %v, %d rows", names, spent, rows)
		}
	}
}
