package avro

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// put appends the value of row i.
type put func(dst []byte, v *chunk.Vector, i int) ([]byte, error)

// WriteOptions say how columns become values.
type WriteOptions struct {
	Positional    bool
	CaseSensitive bool
}

// writer makes the puts of columns of type t, which may be NULL, as n says.
func (o *WriteOptions) writer(n *node, t plan.Type, null bool, at []string) (put, error) {
	if n.kind != kindUnion {
		inner, err := o.plain(n, t, at)
		if err != nil || !null || t.Kind == plan.KindNull {
			return inner, err
		}
		return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
			if v.IsNull(i) {
				return nil, noNull(n, at)
			}
			return inner(dst, v, i)
		}, nil
	}
	members, empty := n.withoutNull(), -1
	for i, b := range n.branches {
		if b.kind == kindNull {
			empty = i
		}
	}
	var inner put
	var err error
	if len(members) == 1 {
		if inner, err = o.plain(members[0], t, at); err == nil {
			inner = numbered(n, members[0], inner)
		}
	} else {
		inner, err = o.union(n, t, at)
	}
	if err != nil {
		return nil, err
	}
	return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
		switch {
		case !v.IsNull(i):
			return inner(dst, v, i)
		case empty < 0:
			return nil, noNull(n, at)
		}
		return binary.AppendVarint(dst, int64(empty)), nil
	}, nil
}

func numbered(n, branch *node, inner put) put {
	for k, b := range n.branches {
		if b == branch {
			return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
				return inner(binary.AppendVarint(dst, int64(k)), v, i)
			}
		}
	}
	return inner
}

func noNull(n *node, at []string) error {
	return plan.NewError(plan.ClassRuntime, "AVRO_CANNOT_WRITE_NULL_FIELD",
		fmt.Sprintf("The column %s has a NULL, where the Avro schema says %s: make it a union with null.",
			path(at), n.shown()), "name", plan.Quote(path(at)), "dataType", n.shown())
}

func noWrite(n *node, t plan.Type, at []string) error {
	return incompatible("The column %s of type %s cannot be written as Avro's %s.", path(at), t.SQL(), n.shown())
}

func (o *WriteOptions) plain(n *node, t plan.Type, at []string) (put, error) {
	switch {
	case n.kind == kindNull && t.Kind == plan.KindNull:
		return func(dst []byte, _ *chunk.Vector, _ int) ([]byte, error) { return dst, nil }, nil
	case n.kind == kindBoolean && t.Kind == plan.KindBoolean:
		return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
			return append(dst, chunk.Values[uint8](v)[i]), nil
		}, nil
	case n.kind == kindInt || n.kind == kindLong:
		if p := integers(n, t); p != nil {
			return p, nil
		}
	case n.kind == kindFloat && t.Kind == plan.KindFloat:
		return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(chunk.Values[float32](v)[i])), nil
		}, nil
	case n.kind == kindDouble && t.Kind == plan.KindDouble:
		return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(chunk.Values[float64](v)[i])), nil
		}, nil
	case n.kind == kindString && t.IsString(), n.kind == kindBytes && t.Kind == plan.KindBinary:
		return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
			b := v.Bytes(i)
			return append(binary.AppendVarint(dst, int64(len(b))), b...), nil
		}, nil
	case t.Kind == plan.KindDecimal && n.logical == "decimal" && n.precision == t.Precision &&
		n.scale == t.Scale:
		return decimals(n), nil
	case n.kind == kindEnum && t.IsString():
		return enum(n, at), nil
	case n.kind == kindFixed && t.Kind == plan.KindBinary:
		return fixed(n, at), nil
	case n.kind == kindArray && t.Kind == plan.KindArray:
		return o.list(n, t, at)
	case n.kind == kindMap && t.Kind == plan.KindMap && t.Key.IsString():
		return o.entries(n, t, at)
	case n.kind == kindRecord && t.Kind == plan.KindStruct:
		return o.record(n, t, at)
	}
	return nil, noWrite(n, t, at)
}

// integers is nil for what is no whole number of the kind of n.
func integers(n *node, t plan.Type) put {
	wide := n.kind == kindLong
	switch {
	case !wide && t.Kind == plan.KindByte:
		return whole[int8]
	case !wide && t.Kind == plan.KindShort:
		return whole[int16]
	case !wide && (t.Kind == plan.KindInt || t.Kind == plan.KindDate || t.Kind == plan.KindYearMonth):
		return whole[int32]
	case wide && (t.Kind == plan.KindLong || t.Kind == plan.KindDayTime):
		return whole[int64]
	case wide && t.Kind == plan.KindTimestamp:
		return moments(n.logical, "timestamp-micros", "timestamp-millis")
	case wide && t.Kind == plan.KindTimestampNTZ:
		return moments(n.logical, "local-timestamp-micros", "local-timestamp-millis")
	}
	return nil
}

func whole[T int8 | int16 | int32 | int64](dst []byte, v *chunk.Vector, i int) ([]byte, error) {
	return binary.AppendVarint(dst, int64(chunk.Values[T](v)[i])), nil
}

// moments writes timestamps; a long of no logical type is of milliseconds, as in Spark.
func moments(logical, micros, millis string) put {
	switch logical {
	case micros:
		return whole[int64]
	case millis, "":
		return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
			return binary.AppendVarint(dst, floor(chunk.Values[int64](v)[i], 1000)), nil
		}
	}
	return nil
}

// decimals writes big-endian two's complement: all bytes of a fixed, else as few as do.
func decimals(n *node) put {
	return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
		d := chunk.Values[chunk.Dec](v)[i]
		var full [16]byte
		binary.BigEndian.PutUint64(full[:8], uint64(d.HighBits()))
		binary.BigEndian.PutUint64(full[8:], d.LowBits())
		if n.kind == kindFixed {
			for k := n.size; k > 16; k-- {
				dst = append(dst, byte(d.HighBits()>>63))
			}
			return append(dst, full[16-min(n.size, 16):]...), nil
		}
		b := full[:]
		for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
			b = b[1:]
		}
		return append(binary.AppendVarint(dst, int64(len(b))), b...), nil
	}
}

func enum(n *node, at []string) put {
	numbers := map[string]int64{}
	for i, s := range n.symbols {
		numbers[s] = int64(i)
	}
	return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
		k, ok := numbers[v.Text(i)]
		if !ok {
			return nil, incompatible("The column %s is %q, which is no symbol of the Avro enum %s (%s).",
				path(at), v.Text(i), n.fullName(), strings.Join(n.symbols, ", "))
		}
		return binary.AppendVarint(dst, k), nil
	}
}

func fixed(n *node, at []string) put {
	return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
		b := v.Bytes(i)
		if len(b) != n.size {
			return nil, incompatible("The column %s has a value of %d bytes, where the Avro schema has %d.",
				path(at), len(b), n.size)
		}
		return append(dst, b...), nil
	}
}

func (o *WriteOptions) list(n *node, t plan.Type, at []string) (put, error) {
	inner, err := o.writer(n.items, *t.Elem, t.ContainsNull, append(at[:len(at):len(at)], "element"))
	return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
		from, to := v.Span(i)
		if to > from {
			dst = binary.AppendVarint(dst, int64(to-from))
		}
		var err error
		for k := from; k < to; k++ {
			if dst, err = inner(dst, v.Kids[0], k); err != nil {
				return nil, err
			}
		}
		return append(dst, 0), nil
	}, err
}

func (o *WriteOptions) entries(n *node, t plan.Type, at []string) (put, error) {
	inner, err := o.writer(n.items, *t.Elem, t.ContainsNull, append(at[:len(at):len(at)], "value"))
	var order entryOrder
	return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
		from, to := v.Span(i)
		entries := order.of(v.Kids[0], from, to, to-from, hashString)
		if len(entries) > 0 {
			dst = binary.AppendVarint(dst, int64(len(entries)))
		}
		var err error
		for _, entry := range entries {
			k := int(entry)
			key := v.Kids[0].Bytes(k)
			dst = append(binary.AppendVarint(dst, int64(len(key))), key...)
			if dst, err = inner(dst, v.Kids[1], k); err != nil {
				return nil, err
			}
		}
		return append(dst, 0), nil
	}, err
}

// fieldPut writes a field of a record: from is its column, -1 for one that the
// rows do not have, which is null.
type fieldPut struct {
	from int
	put  put
}

func (o *WriteOptions) record(n *node, t plan.Type, at []string) (put, error) {
	fields, err := o.fields(n, t, at)
	return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
		return putRow(dst, fields, v.Kids,
			i)
	}, err
}

func putRow(dst []byte, fields []fieldPut, cols []*chunk.Vector, i int) ([]byte, error) {
	var err error
	for k := range fields {
		f := &fields[k]
		var col *chunk.Vector
		if f.from >= 0 {
			col = cols[f.from]
		}
		if dst, err = f.put(dst, col, i); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func (o *WriteOptions) fields(n *node, t plan.Type, at []string) ([]fieldPut, error) {
	read := ReadOptions{Positional: o.Positional, CaseSensitive: o.CaseSensitive}
	column := make([]int, len(n.fields))
	for i := range column {
		column[i] = -1
	}
	for i, f := range t.Fields {
		k, err := read.find(n, i, f.Name, at)
		if err != nil {
			return nil, err
		}
		if k < 0 {
			return nil, incompatible("The Avro schema has no field for the column %s.",
				path(append(at[:len(at):len(at)], f.Name)))
		}
		column[k] = i
	}
	var out []fieldPut
	for i, f := range n.fields {
		inside := append(at[:len(at):len(at)], f.name)
		if column[i] < 0 {
			p, err := absent(f.of, inside)
			if err != nil {
				return nil, err
			}
			out = append(out, fieldPut{-1, p})
			continue
		}
		c := t.Fields[column[i]]
		p, err := o.writer(f.of, c.Type, c.Nullable, inside)
		if err != nil {
			return nil, err
		}
		out = append(out, fieldPut{column[i], p})
	}
	return out, nil
}

// absent writes the null of a field that the rows do not have.
func absent(n *node, at []string) (put, error) {
	for i, b := range n.branches {
		if b.kind == kindNull {
			return func(dst []byte, _ *chunk.Vector, _ int) ([]byte, error) {
				return binary.AppendVarint(dst, int64(i)), nil
			}, nil
		}
	}
	return nil, incompatible("The Avro schema needs the field %s, and there is no such column.", path(at))
}

// union writes a struct of a union's members, of which one is not NULL.
func (o *WriteOptions) union(n *node, t plan.Type, at []string) (put, error) {
	members := n.withoutNull()
	if t.Kind != plan.KindStruct || len(t.Fields) != len(members) {
		return nil, noWrite(n, t, at)
	}
	puts := make([]put, len(members))
	for k, m := range members {
		p, err := o.plain(m, t.Fields[k].Type, append(at[:len(at):len(at)], t.Fields[k].Name))
		if err != nil {
			return nil, err
		}
		puts[k] = numbered(n, m, p)
	}
	return func(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
		for k, kid := range v.Kids {
			if !kid.IsNull(i) {
				return puts[k](dst, kid, i)
			}
		}
		return nil, incompatible("The column %s is a struct of a union's members, and all of them are "+
			"NULL.", path(at))
	}, nil
}

// ValueWriter writes single values, for to_avro.
type ValueWriter struct{ put put }

// NewValueWriter writes values of t as the schema says.
func NewValueWriter(s *Schema, t plan.Type, null bool) (*ValueWriter, error) {
	o := &WriteOptions{}
	p, err := o.writer(s.root, t, null, nil)
	return &ValueWriter{p}, err
}

// AppendValue appends the value of row i.
func (w *ValueWriter) AppendValue(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
	return w.put(dst, v, i)
}
