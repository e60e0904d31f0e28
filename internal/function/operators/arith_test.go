package operators

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// TestNarrowDecimalsGiveWhatWideOnesGive compares the 64-bit path with the one
// over 128 bits.
func TestNarrowDecimalsGiveWhatWideOnesGive(t *testing.T) {
	env := &fn.Env{ANSI: true, Zone: time.UTC}
	rapid.Check(t, func(t *rapid.T) {
		side := func(name string) (plan.Type, chunk.Dec) {
			precision := rapid.IntRange(1, 18).Draw(t, name+" precision")
			of := plan.Decimal(precision, rapid.IntRange(0, precision).Draw(t, name+" scale"))
			most := int64(decimal.Pow10[precision].LowBits()) - 1
			return of, decimal128.FromI64(rapid.Int64Range(-most, most).Draw(t, name))
		}
		lt, a := side("a")
		rt, b := side("b")
		name := rapid.SampledFrom([]string{"+", "-", "*"}).Draw(t, "operator")
		op := operator{name: name}
		e, err := fn.NewShelf(arithmeticDefs()).Bind(&fn.Binding{Name: name, Args: []plan.Expr{
			&plan.Attribute{Name: "a", Of: lt, ID: 1}, &plan.Attribute{Name: "b", Of: rt, ID: 2}}, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		c := e.(*plan.Call)
		kernel, ok := narrowDecimals(op, c)
		if !ok {
			return
		}
		v, err := kernel([]*chunk.Vector{chunk.Repeat(a, lt, 1), chunk.Repeat(b, rt, 1)}, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, fits, _ := op.decimals(&decimal.Shape{Left: lt.Scale, Right: rt.Scale, Out: c.Of}, a, b)
		if got := chunk.Values[chunk.Dec](v)[0]; !fits || got != want {
			t.Fatalf("%s %s %s: %v, not %v", a.ToString(int32(lt.Scale)), name, b.ToString(int32(rt.Scale)), got, want)
		}
	})
}
