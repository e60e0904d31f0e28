package chunk

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/weir-dev/weir/internal/plan"
)

// ToArrow is a chunk as an Arrow record batch. Memory is shared where the
// layouts agree, so the chunk must not be written while the batch is used.
func (c *Chunk) ToArrow(schema *arrow.Schema) arrow.RecordBatch {
	cols := make([]arrow.Array, len(c.Cols))
	for i, v := range c.Cols {
		data := v.arrowData(schema.Field(i).Type)
		cols[i] = array.MakeFromData(data)
	}
	return array.NewRecordBatch(schema, cols, int64(c.Rows))
}

// arrowData is a vector as the data of an Arrow array of type t.
func (v *Vector) arrowData(t arrow.DataType) arrow.ArrayData {
	if v.Type.Kind == plan.KindNull {
		return array.NewData(t, v.Len, []*memory.Buffer{nil}, nil, v.Len, 0)
	}
	var valid *memory.Buffer
	nulls := v.Valid.CountNulls(v.Len)
	if nulls > 0 {
		valid = memory.NewBufferBytes(v.Valid)
	}
	buffers := []*memory.Buffer{valid}
	var kids []arrow.ArrayData
	switch {
	case v.Type.Kind == plan.KindBoolean:
		buffers = append(buffers, memory.NewBufferBytes(packBits(v)))
	case v.Type.Kind == plan.KindCalendar:
		buffers = append(buffers, memory.NewBufferBytes(intervalNanos(v)))
	case widthOf(v.Type.Kind) > 0:
		buffers = append(buffers, memory.NewBufferBytes(v.Data[:v.Len*widthOf(v.Type.Kind)]))
	case isBytes(v.Type.Kind):
		buffers = append(buffers, v.offsetBuffer(t), memory.NewBufferBytes(v.Data))
	case v.Type.Kind == plan.KindArray:
		buffers = append(buffers, v.offsetBuffer(t))
		kids = append(kids, v.Kids[0].arrowData(t.(*arrow.ListType).Elem()))
	case v.Type.Kind == plan.KindMap:
		buffers = append(buffers, v.offsetBuffer(t))
		entries := t.(*arrow.MapType).Elem()
		n := v.Kids[0].Len
		kids = append(kids, array.NewData(entries, n, []*memory.Buffer{nil},
			structKids(entries, v.Kids), 0, 0))
	default:
		kids = structKids(t, v.Kids)
	}
	return array.NewData(t, v.Len, buffers, kids, nulls, 0)
}

func structKids(t arrow.DataType, vectors []*Vector) []arrow.ArrayData {
	st := t.(*arrow.StructType)
	kids := make([]arrow.ArrayData, len(vectors))
	for i, k := range vectors {
		kids[i] = k.arrowData(st.Field(i).Type)
	}
	return kids
}

// offsetBuffer is the offsets as Arrow wants them: as they are, or widened for
// large strings.
func (v *Vector) offsetBuffer(t arrow.DataType) *memory.Buffer {
	if id := t.ID(); id != arrow.LARGE_STRING && id != arrow.LARGE_BINARY {
		return memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(&v.Offsets[0])), 4*len(v.Offsets)))
	}
	wide := make([]int64, len(v.Offsets))
	for i, o := range v.Offsets {
		wide[i] = int64(o)
	}
	return memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(&wide[0])), 8*len(wide)))
}

func packBits(v *Vector) []byte {
	out := make([]byte, (v.Len+7)/8)
	for i, b := range Values[uint8](v) {
		out[i>>3] |= (b & 1) << (i & 7)
	}
	return out
}

func intervalNanos(v *Vector) []byte {
	out := make([]arrow.MonthDayNanoInterval, v.Len)
	for i, x := range Values[plan.Interval](v) {
		out[i] = arrow.MonthDayNanoInterval{Months: x.Months, Days: x.Days, Nanoseconds: x.Micros * 1000}
	}
	if len(out) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), 16*len(out))
}

// Concat is several chunks as one; it copies unless there is only one.
func Concat(schema plan.Type, chunks ...*Chunk) *Chunk {
	if len(chunks) == 1 {
		return chunks[0]
	}
	rows := 0
	for _, c := range chunks {
		rows += c.Rows
	}
	out := NewChunk(schema, rows)
	for _, c := range chunks {
		for k, col := range out.Cols {
			col.AppendRange(c.Cols[k], 0, c.Rows)
		}
	}
	out.Rows = rows
	return out
}
