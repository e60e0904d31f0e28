package chunk

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/plan"
)

var atoms = []plan.Type{
	plan.Null, plan.Boolean, plan.Byte, plan.Short, plan.Int, plan.Long, plan.Float, plan.Double,
	plan.Decimal(10, 2), plan.Decimal(38, 0), plan.String, plan.VarChar(5), plan.Binary, plan.Date,
	plan.Time(6), plan.Timestamp, plan.TimestampNTZ, plan.YearMonth, plan.DayTime, plan.Calendar,
}

func drawType(t *rapid.T, depth int) plan.Type {
	kinds := 4
	if depth == 0 {
		kinds = 0
	}
	switch rapid.IntRange(0, kinds).Draw(t, "shape") {
	case 1:
		return plan.Array(drawType(t, depth-1), true)
	case 2:
		return plan.Map(plan.String, drawType(t, depth-1), true)
	case 3:
		return plan.Struct(plan.Col("a", drawType(t, depth-1)), plan.Col("b", drawType(t, depth-1)))
	case 4:
		return plan.Variant
	default:
		return rapid.SampledFrom(atoms).Draw(t, "atom")
	}
}

func drawValue(t *rapid.T, typ plan.Type, nullable bool) plan.Value {
	if typ.Kind == plan.KindNull || nullable && rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return nil
	}
	switch typ.Kind {
	case plan.KindBoolean:
		return rapid.Bool().Draw(t, "v")
	case plan.KindByte:
		return int64(rapid.Int8().Draw(t, "v"))
	case plan.KindShort:
		return int64(rapid.Int16().Draw(t, "v"))
	case plan.KindInt:
		return int64(rapid.Int32().Draw(t, "v"))
	case plan.KindDate, plan.KindYearMonth:
		return rapid.Int32().Draw(t, "v")
	case plan.KindFloat:
		return rapid.Float32().Draw(t, "v")
	case plan.KindDouble:
		return rapid.Float64().Draw(t, "v")
	case plan.KindDecimal:
		return decimal128.FromI64(rapid.Int64Range(-1e9, 1e9).Draw(t, "v"))
	case plan.KindString, plan.KindVarChar:
		return rapid.StringN(0, 5, -1).Draw(t, "v")
	case plan.KindBinary:
		return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "v")...)
	case plan.KindCalendar:
		return plan.Interval{Months: rapid.Int32().Draw(t, "m"), Micros: int64(rapid.Int32().Draw(t, "us"))}
	case plan.KindTime:
		return rapid.Int64Range(0, 86399_999999).Draw(t, "v") * 1000
	case plan.KindArray:
		return drawList(t, *typ.Elem, true)
	case plan.KindMap:
		keys := drawList(t, *typ.Key, false)
		values := make([]plan.Value, len(keys))
		for i := range values {
			values[i] = drawValue(t, *typ.Elem, true)
		}
		return plan.MapValue{Keys: keys, Values: values}
	case plan.KindStruct:
		return []plan.Value{drawValue(t, typ.Fields[0].Type, true), drawValue(t, typ.Fields[1].Type, true)}
	case plan.KindVariant:
		return []plan.Value{drawValue(t, plan.Binary, false), drawValue(t, plan.Binary, false)}
	default:
		return rapid.Int64().Draw(t, "v")
	}
}

func drawList(t *rapid.T, elem plan.Type, nullable bool) []plan.Value {
	list := []plan.Value{}
	for range rapid.IntRange(0, 3).Draw(t, "n") {
		list = append(list, drawValue(t, elem, nullable))
	}
	return list
}

func values(v *Vector) []plan.Value {
	out := []plan.Value{}
	for i := range v.Len {
		out = append(out, v.Value(i))
	}
	return out
}

// sameValues compares by bits, so that NaN equals itself.
func sameValues(a, b []plan.Value) string {
	return cmp.Diff(a, b, cmp.Comparer(func(x, y float64) bool { return x == y || x != x && y != y }),
		cmp.Comparer(func(x, y float32) bool { return x == y || x != x && y != y }),
		cmp.Comparer(func(x, y Dec) bool { return x == y }))
}

func draw(t *rapid.T) (plan.Type, []plan.Value, *Vector) {
	typ := drawType(t, 2)
	v := New(typ, 0)
	var want []plan.Value
	for range rapid.IntRange(0, 40).Draw(t, "rows") {
		x := drawValue(t, typ, true)
		want = append(want, x)
		v.AppendValue(x)
	}
	if want == nil {
		want = []plan.Value{}
	}
	return typ, want, v
}

func TestVectorGivesBackWhatWasAppended(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, want, v := draw(t)
		if diff := sameValues(want, values(v)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSliceAndGatherPickRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, want, v := draw(t)
		from := rapid.IntRange(0, v.Len).Draw(t, "from")
		to := rapid.IntRange(from, v.Len).Draw(t, "to")
		part := v.Slice(from, to)
		if diff := sameValues(want[from:to], values(part)); diff != "" {
			t.Fatal("slice: " + diff)
		}
		rows := []int32{}
		picked := []plan.Value{}
		for range rapid.IntRange(0, 20).Draw(t, "picks") {
			r := rapid.IntRange(-1, part.Len-1).Draw(t, "row")
			rows = append(rows, int32(r))
			if r < 0 {
				picked = append(picked, nil)
			} else {
				picked = append(picked, want[from+r])
			}
		}
		if diff := sameValues(picked, values(Gather(part, rows))); diff != "" {
			t.Fatal("gather: " + diff)
		}
		both := New(v.Type, 0)
		both.AppendRange(part, 0, part.Len)
		both.AppendRange(v, 0, v.Len)
		if diff := sameValues(append(append([]plan.Value{}, want[from:to]...), want...), values(both)); diff != "" {
			t.Fatal("append: " + diff)
		}
	})
}

// TestArrowStreamGivesBackTheRows sends slices through a real IPC stream, as a
// client does.
func TestArrowStreamGivesBackTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ, want, v := draw(t)
		from := rapid.IntRange(0, v.Len).Draw(t, "from")
		schema := plan.Struct(plan.Col("c", typ))
		opts := ArrowOptions{Zone: "UTC", LargeVar: rapid.Bool().Draw(t, "large")}
		c := &Chunk{Cols: []*Vector{v.Slice(from, v.Len)}, Rows: v.Len - from}

		var buf bytes.Buffer
		as := ArrowSchema(schema, opts)
		w := ipc.NewWriter(&buf, ipc.WithSchema(as))
		rec := c.ToArrow(as)
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := ipc.NewReader(&buf)
		if err != nil {
			t.Fatal(err)
		}
		back, err := FromArrowSchema(r.Schema())
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() {
			t.Fatalf("no batch: %v", r.Err())
		}
		got, err := FromArrow(r.RecordBatch(), schema)
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameValues(want[from:], values(got.Cols[0])); diff != "" {
			t.Fatal(diff)
		}
		if len(back.Fields) != 1 {
			t.Fatalf("schema read back: %s", back.Simple())
		}
	})
}

func TestArrowNumbersThatDoNotFitAreErrors(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1, 300}, nil)
	field := arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64}
	rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field}, nil),
		[]arrow.Array{b.NewArray()}, 2)
	if _, err := FromArrow(rec, plan.Struct(plan.Col("x", plan.Byte))); err == nil {
		t.Error("300 was read as a tinyint")
	}
	got, err := FromArrow(rec, plan.Struct(plan.Col("x", plan.Short)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]plan.Value{int64(1), int64(300)}, values(got.Cols[0])); diff != "" {
		t.Error(diff)
	}
	if _, err := FromArrow(rec, plan.Struct(plan.Col("x", plan.String))); err == nil {
		t.Error("a number was read as a string")
	}
}

func TestBitmapSliceAgreesBitByBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		b := NewBitmap(n)
		for i := range n {
			if rapid.Bool().Draw(t, "clear") {
				b.Clear(i)
			}
		}
		from := rapid.IntRange(0, n).Draw(t, "from")
		to := rapid.IntRange(from, n).Draw(t, "to")
		s := b.Slice(from, to)
		nulls := 0
		for i := from; i < to; i++ {
			if s.Get(i-from) != b.Get(i) {
				t.Fatalf("bit %d of [%d, %d)", i, from, to)
			}
			if !b.Get(i) {
				nulls++
			}
		}
		if got := s.CountNulls(to - from); got != nulls {
			t.Fatalf("counted %d nulls, want %d", got, nulls)
		}
	})
}
