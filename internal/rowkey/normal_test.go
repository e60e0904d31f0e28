package rowkey

import (
	"fmt"
	"math"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

func TestNormalMakesEqualValuesEqual(t *testing.T) {
	odd := math.Float64frombits(math.Float64bits(math.NaN()) ^ 1<<63)
	v := chunk.Of(plan.Double, []float64{math.Copysign(0, -1), 0, odd, math.NaN(), 1})
	n := chunk.Values[int64](Normal(v))
	if n[0] != n[1] || n[2] != n[3] || n[4] == n[0] {
		t.Errorf("bits are %x", n)
	}
	if same := chunk.Of(plan.Double, []float64{1, 2}); Normal(same) != same {
		t.Error("a normal vector was copied")
	}
	schema := plan.Struct(plan.Col("l", plan.Array(plan.Double, true)))
	list := chunk.FromRows(schema, []plan.Value{[]plan.Value{math.Copysign(0, -1)}})
	if got := Normal(list.Cols[0]).Value(0); math.Signbit(got.([]plan.Value)[0].(float64)) {
		t.Errorf("got %v", got)
	}
}

func TestNormalMapsHaveTheirEntriesInOrder(t *testing.T) {
	schema := plan.Struct(plan.Col("m", plan.Map(plan.String, plan.Long, true)))
	maps := chunk.FromRows(schema,
		[]plan.Value{plan.MapValue{Keys: []plan.Value{"b", "a"}, Values: []plan.Value{int64(1), int64(2)}}},
		[]plan.Value{nil},
		[]plan.Value{plan.MapValue{Keys: []plan.Value{"a", "b"}, Values: []plan.Value{int64(2), nil}}},
	).Cols[0]
	n := Normal(maps)
	for i, want := range []string{"{[a b] [2 1]}", "<nil>", "{[a b] [2 <nil>]}"} {
		if got := fmt.Sprint(n.Value(i)); got != want {
			t.Errorf("row %d is %s, want %s", i, got, want)
		}
	}
	if Normal(n) != n {
		t.Error("maps in order were copied")
	}
}
