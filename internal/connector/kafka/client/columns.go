package client

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Column is a column that records are turned into.
type Column int

// The columns of a record; ColumnTypes has their types.
const (
	ColumnKey Column = iota
	ColumnValue
	ColumnTopic
	ColumnPartition
	ColumnOffset
	ColumnTimestamp
	ColumnTimestampType
	ColumnHeaders
)

// HeadersType is the type of headers: array<struct<key:string,value:binary>>.
func HeadersType() plan.Type {
	return plan.Array(plan.Struct(plan.Col("key", plan.String), plan.Col("value", plan.Binary)), true)
}

// A chunk ends at chunk.MaxRows rows or at this many bytes of records, so that
// large records do not overflow the offsets of a vector.
const maxChunkBytes = 8 << 20

// block is a chunk of records of one partition.
type block struct {
	chunk   *chunk.Chunk
	offsets []int64 // of the rows, ascending
	bytes   int64
	lastMs  int64 // the time of the last row, in milliseconds since 1970
}

// span is where bytes lie in the data of a segment; from is negative for NULL.
type span struct{ from, to int32 }

func (s span) size() int {
	if s.from < 0 {
		return 0
	}
	return int(s.to - s.from)
}

// rows are records that were found in record batches and are not copied yet: first
// it is learned where everything lies, then each column is made at once, with
// memory of the size it needs. Nothing here points anywhere, which spares the
// collector work.
type rows struct {
	n          int
	offset     [chunk.MaxRows]int64
	timeMs     [chunk.MaxRows]int64
	key, value [chunk.MaxRows]span
	headers    [chunk.MaxRows]span // encoded
	headerN    [chunk.MaxRows]int32
	appended   [chunk.MaxRows]bool // the time is the broker's
}

// segment is the data of the rows up to row to, and the buffer to give back when
// they are copied.
type segment struct {
	data []byte
	to   int
	lent []byte
}

// builder makes blocks out of rows.
type builder struct {
	columns []Column
	at      Partition
	rows    *rows
	buffers *buffers
	parts   []segment
	content int // bytes of the open rows
	done    []block
}

// full tells whether the open rows must become a block before the next one.
func (b *builder) full() bool { return b.rows.n == chunk.MaxRows || b.content >= maxChunkBytes }

// flush makes a block of the open rows.
func (b *builder) flush() {
	r := b.rows
	if r.n > 0 {
		c := &chunk.Chunk{Cols: make([]*chunk.Vector, len(b.columns)), Rows: r.n}
		of := block{chunk: c, offsets: append([]int64(nil), r.offset[:r.n]...), bytes: int64(8 * r.n),
			lastMs: r.timeMs[r.n-1]}
		for i, column := range b.columns {
			c.Cols[i] = b.column(column)
			of.bytes += chunk.SizeOf(c.Cols[i])
		}
		b.done = append(b.done, of)
	}
	for _, part := range b.parts {
		if part.lent != nil {
			b.buffers.PutDecompressBytes(part.lent)
		}
	}
	b.parts = b.parts[:0]
	r.n, b.content = 0, 0
}

func (b *builder) column(column Column) *chunk.Vector {
	r := b.rows
	switch column {
	case ColumnKey:
		return b.bytes(&r.key)
	case ColumnValue:
		return b.bytes(&r.value)
	case ColumnHeaders:
		return b.headers()
	case ColumnTopic:
		v := &chunk.Vector{Type: plan.String, Len: r.n, Offsets: make([]int32, r.n+1)}
		v.Data = make([]byte, 0, r.n*len(b.at.Topic))
		for i := range r.n {
			v.Data = append(v.Data, b.at.Topic...)
			v.Offsets[i+1] = int32(len(v.Data))
		}
		return v
	case ColumnOffset:
		v := chunk.Make(plan.Long, r.n)
		copy(chunk.Values[int64](v), r.offset[:])
		return v
	case ColumnTimestamp:
		v := chunk.Make(plan.Timestamp, r.n)
		for i, out := 0, chunk.Values[int64](v); i < r.n; i++ {
			out[i] = r.timeMs[i] * 1000
		}
		return v
	}
	v := chunk.Make(plan.Int, r.n)
	for i, out := 0, chunk.Values[int32](v); i < r.n; i++ {
		switch {
		case column == ColumnPartition:
			out[i] = b.at.Number
		case r.appended[i]:
			out[i] = 1
		}
	}
	return v
}

// bytes copies keys or values.
func (b *builder) bytes(spans *[chunk.MaxRows]span) *chunk.Vector {
	n, size := b.rows.n, 0
	for i := range n {
		size += spans[i].size()
	}
	v := &chunk.Vector{Type: plan.Binary, Len: n, Offsets: make([]int32, n+1), Data: make([]byte, 0, size)}
	row := 0
	for _, part := range b.parts {
		for ; row < part.to; row++ {
			if s := spans[row]; s.from >= 0 {
				v.Data = append(v.Data, part.data[s.from:s.to]...)
			} else {
				v.SetNull(row)
			}
			v.Offsets[row+1] = int32(len(v.Data))
		}
	}
	return v
}

// headers copies the headers of records; those of a record without are NULL. They
// were checked when they were found.
func (b *builder) headers() *chunk.Vector {
	v := chunk.New(HeadersType(), b.rows.n)
	pairs, row := v.Kids[0], 0
	for _, part := range b.parts {
		for ; row < part.to; row++ {
			count := b.rows.headerN[row]
			if count == 0 {
				v.AppendNull()
				continue
			}
			in := reader{data: part.data[:b.rows.headers[row].to], at: int(b.rows.headers[row].from)}
			for range count {
				key, value := in.bytes(), in.bytes()
				pairs.Kids[0].AppendBytes(part.data[max(key.from, 0):key.to])
				if value.from < 0 {
					pairs.Kids[1].AppendNull()
				} else {
					pairs.Kids[1].AppendBytes(part.data[value.from:value.to])
				}
				pairs.AppendRow()
			}
			v.AppendSpan()
		}
	}
	return v
}
