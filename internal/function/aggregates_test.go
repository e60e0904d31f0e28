package function_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// TestAggregatesOfManyRows compares aggregates over up to 130,000 rows with what
// Spark gives for the same; tools/sparkdata/aggregates.py recorded it. As in Spark, the rows
// are folded into partial results, and the result comes from those.
func TestAggregatesOfManyRows(t *testing.T) {
	text, err := os.ReadFile("testdata/aggregates.tsv")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]*chunk.Chunk{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows, expression, of, want := cells[0], cells[1], cells[2], cells[3]
		if tables[rows] == nil {
			n, err := strconv.Atoi(rows)
			if err != nil {
				t.Fatal(err)
			}
			tables[rows] = madeUp(n)
		}
		got, gotType, err := foldedText(expression, tables[rows])
		if err != nil {
			t.Errorf("%s over %s rows: %v", expression, rows, err)
			continue
		}
		if gotType != of || got != want {
			t.Errorf("%s over %s rows is %s (%s), not %s (%s)", expression, rows, short(got), gotType, short(want), of)
		}
	}
}

func short(s string) string { return s[:min(len(s), 200)] }

// madeUpSchema are the columns of the recorded rows.
var madeUpSchema = plan.Struct(plan.Field{Name: "id", Type: plan.Long}, plan.Col("i", plan.Int),
	plan.Col("d", plan.Double), plan.Col("m", plan.Decimal(9, 2)), plan.Field{Name: "s", Type: plan.String},
	plan.Field{Name: "dt", Type: plan.Date}, plan.Field{Name: "ts", Type: plan.Timestamp},
	plan.Field{Name: "gap", Type: plan.DayTime})

// madeUp are the first n of the recorded rows.
func madeUp(n int) []*chunk.Chunk {
	const firstDay = 19723 // 2024-01-01
	var chunks []*chunk.Chunk
	for id := range int64(n) {
		if id%chunk.MaxRows == 0 {
			chunks = append(chunks, chunk.Empty(madeUpSchema))
		}
		row := []plan.Value{id, (id * 7919) % 1009, float64((id*31)%97) / 8,
			chunk.Dec(decimalFromUint(uint64((id * 17) % 501 * 100))), fmt.Sprintf("k%d", (id*id)%50),
			int32(firstDay + (id*37)%400), (firstDay*86_400 + (id*61)%5000) * 1_000_000, (id * 3) % 40 * 3_600_000_000}
		if id%13 == 5 {
			row[1] = nil
		}
		if id%11 == 3 {
			row[2] = nil
		}
		if id%7 == 6 {
			row[3] = nil
		}
		chunks[len(chunks)-1].AppendValues(row)
	}
	return chunks
}

// foldedText is an expression of aggregates over all rows as CAST writes it.
func foldedText(expression string, rows []*chunk.Chunk) (text, of string, err error) {
	env := environment(&recorded{})
	e, err := parse(expression)
	if err != nil {
		return "", "", err
	}
	res := &resolver{env: env}
	for i, f := range madeUpSchema.Fields {
		res.cols = append(
			res.cols,
			&plan.Attribute{Name: f.Name, Of: f.Type, Null: f.Nullable, ID: plan.ExprID(i + 1)},
		)
	}
	if e, err = res.resolve(e); err != nil {
		return "", "", err
	}
	ev := &evaluator{env: env, aggregates: map[*plan.AggregateCall]*chunk.Vector{}}
	plan.Walk(e, func(p plan.Expr) bool {
		if a, ok := p.(*plan.AggregateCall); ok && err == nil {
			ev.aggregates[a], err = ev.foldAll(a, rows)
			return false
		}
		return err == nil
	})
	if err != nil {
		return "", "", err
	}
	v, err := ev.eval(&plan.Cast{Child: e, To: plan.String, Mode: plan.CastANSI}, nil, 1)
	if err != nil {
		return "", "", err
	}
	if v.IsNull(0) {
		return "NULL", e.Type().Simple(), nil
	}
	return v.Text(0), e.Type().Simple(), nil
}

// foldAll folds all rows into one group, writes the buffers out and merges them
// into others.
func (ev *evaluator) foldAll(a *plan.AggregateCall, rows []*chunk.Chunk) (*chunk.Vector, error) {
	d, _ := function.Lookup(a.Name)
	partial, err := d.Accumulate(a, ev.env)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, c := range rows {
		ev.cols = map[plan.ExprID]*chunk.Vector{}
		for i := range c.Cols {
			ev.cols[plan.ExprID(i+1)] = c.Cols[i]
		}
		args := make([]*chunk.Vector, len(a.Args))
		for i, x := range a.Args {
			if args[i], err = ev.eval(x, nil, c.Rows); err != nil {
				return nil, err
			}
		}
		if err := partial.Update(make([]int32, c.Rows), args, unseen(a, args, c.Rows, seen), 1); err != nil {
			return nil, err
		}
	}
	if err := partial.Update(nil, noRows(a), chunk.Sel{}, 1); err != nil {
		return nil, err
	}
	final, err := d.Accumulate(a, ev.env)
	if err != nil {
		return nil, err
	}
	if err := final.Merge([]int32{0}, partial.Buffers(), 1); err != nil {
		return nil, err
	}
	return final.Result()
}

// unseen is the rows that DISTINCT lets through.
func unseen(a *plan.AggregateCall, args []*chunk.Vector, n int, seen map[string]bool) chunk.Sel {
	if !a.Distinct {
		return nil
	}
	sel := chunk.Sel{}
	for i := range n {
		key := fmt.Sprint(args[0].Value(i))
		if !seen[key] {
			seen[key] = true
			sel = append(sel, uint16(i))
		}
	}
	return sel
}

func noRows(a *plan.AggregateCall) []*chunk.Vector {
	args := make([]*chunk.Vector, len(a.Args))
	for i, x := range a.Args {
		args[i] = chunk.Empty(plan.Struct(plan.Col("x", x.Type()))).Cols[0]
	}
	return args
}
