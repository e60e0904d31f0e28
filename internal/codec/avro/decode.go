package avro

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// ReadOptions say how values become columns. The zero value reads a file by its
// own schema, columns found by their names in any case.
type ReadOptions struct {
	// Schema is that of the option avroSchema, nil for the writer's own.
	Schema *Schema
	// Positional finds fields by their place, not by their names.
	Positional    bool
	CaseSensitive bool
	// Rebase is for the dates of files that do not say which calendar they are of.
	Rebase Rebase
	Zone   *time.Location // UTC when nil
}

// op reads the next value into a column.
type op func(c *cursor, v *chunk.Vector)

// compiler makes the ops of a schema and its columns.
type compiler struct {
	o     *ReadOptions
	dates *calendar // nil when dates are what they say
}

// value reads what was written as w and is seen as r (Avro's rules) into a
// column of type t, which fits r.
func (k *compiler) value(w, r *node, t plan.Type) op {
	if w.kind == kindUnion {
		return k.branches(w, r, t)
	}
	if r.kind == kindUnion {
		at := match(w, r)
		if at < 0 {
			return raise(found(w, r))
		}
		return k.member(w, r, at, t)
	}
	if !promotes(w, r) {
		return raise(found(w, r))
	}
	switch r.kind {
	case kindNull:
		return func(_ *cursor, v *chunk.Vector) { v.AppendNull() }
	case kindBoolean:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, c.boolean()) }
	case kindInt, kindLong:
		return k.integer(r, t)
	case kindFloat, kindDouble:
		return fraction(w, r, t)
	case kindBytes, kindString, kindFixed:
		return octets(w, r, t)
	case kindEnum:
		return symbols(w, r)
	case kindArray:
		return k.list(w, r, t)
	case kindMap:
		return k.mapping(w, r, t)
	}
	return k.record(w, r, t)
}

func raise(err error) op {
	return func(c *cursor, v *chunk.Vector) {
		c.fail(err)
		v.AppendNull()
	}
}

func null(_ *cursor, v *chunk.Vector) { v.AppendNull() }

// branches reads a union: the number of a branch, then its value.
func (k *compiler) branches(w, r *node, t plan.Type) op {
	ops := make([]op, len(w.branches))
	for i, b := range w.branches {
		switch {
		case w == r:
			ops[i] = k.member(b, r, i, t)
		case r.kind == kindUnion:
			if at := match(b, r); at >= 0 {
				ops[i] = k.member(b, r, at, t)
			} else {
				ops[i] = raise(found(b, r))
			}
		default:
			ops[i] = k.value(b, r, t)
		}
	}
	return func(c *cursor, v *chunk.Vector) { ops[c.index("branch", len(ops))](c, v) }
}

// member reads a value of w that is branch at of the union r.
func (k *compiler) member(w, r *node, at int, t plan.Type) op {
	b, members := r.branches[at], r.withoutNull()
	switch {
	case b.kind == kindNull:
		return null
	case len(members) == 1:
		return k.value(w, b, t)
	case t.Kind == plan.KindLong:
		return k.integer(b, t)
	case t.Kind == plan.KindDouble:
		return fraction(w, b, t)
	}
	place := 0
	for i := range at {
		if r.branches[i].kind != kindNull {
			place++
		}
	}
	inner := k.value(w, b, t.Fields[place].Type)
	return func(c *cursor, v *chunk.Vector) {
		for i, kid := range v.Kids {
			if i == place {
				inner(c, kid)
			} else {
				kid.AppendNull()
			}
		}
		v.AppendRow()
	}
}

// integer reads numbers of one encoding, seen as r.
func (k *compiler) integer(r *node, t plan.Type) op {
	switch {
	case r.kind == kindInt && t.Kind == plan.KindDate && k.dates != nil:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, k.dates.day(c, c.int())) }
	case r.kind == kindInt && t.Kind == plan.KindLong:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, int64(c.int())) }
	case r.kind == kindInt && t.Kind == plan.KindDouble:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, float64(c.int())) }
	case r.kind == kindInt:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, c.int()) }
	case t.Kind == plan.KindDate:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, int32(c.varint()/86_400_000)) }
	case t.Kind == plan.KindTimestamp || t.Kind == plan.KindTimestampNTZ:
		return k.timestamp(r, t)
	}
	return func(c *cursor, v *chunk.Vector) { chunk.Append(v, c.varint()) }
}

func (k *compiler) timestamp(r *node, t plan.Type) op {
	factor := int64(1000)
	if r.logical == "timestamp-micros" || r.logical == "local-timestamp-micros" {
		factor = 1
	}
	var dates *calendar
	if t.Kind == plan.KindTimestamp {
		dates = k.dates
	}
	return func(c *cursor, v *chunk.Vector) {
		x := c.varint()
		micros := x * factor
		if micros/factor != x {
			c.fail(fmt.Errorf("%d milliseconds are no timestamp", x))
		}
		if dates != nil {
			micros = dates.micros(c, micros)
		}
		chunk.Append(v, micros)
	}
}

// fraction reads numbers of w, seen as the float or double r.
func fraction(w, r *node, t plan.Type) op {
	switch {
	case w.kind == kindDouble:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, c.double()) }
	case w.kind == kindFloat && t.Kind == plan.KindFloat:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, c.float()) }
	case w.kind == kindFloat:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, float64(c.float())) }
	case t.Kind == plan.KindFloat:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, float32(c.varint())) }
	case r.kind == kindFloat:
		return func(c *cursor, v *chunk.Vector) { chunk.Append(v, float64(float32(c.varint()))) }
	}
	return func(c *cursor, v *chunk.Vector) { chunk.Append(v, float64(c.varint())) }
}

func octets(w, r *node, t plan.Type) op {
	next := (*cursor).bytes
	if w.kind == kindFixed {
		size := int64(w.size)
		next = func(c *cursor) []byte { return c.take(size) }
	}
	if t.Kind == plan.KindDecimal {
		return func(c *cursor, v *chunk.Vector) {
			d, err := decimal(next(c), r.scale, t)
			if err != nil {
				c.fail(err)
			}
			chunk.Append(v, d)
		}
	}
	if w.kind == kindFixed {
		return func(c *cursor, v *chunk.Vector) { v.AppendBytes(next(c)) }
	}
	return func(c *cursor, v *chunk.Vector) { v.AppendBytes(c.take(c.varint())) }
}

func symbols(w, r *node) op {
	texts := make([][]byte, len(w.symbols))
	for i, s := range w.symbols {
		texts[i] = []byte(r.otherwise)
		for _, known := range r.symbols {
			if known == s {
				texts[i] = []byte(s)
			}
		}
	}
	return func(c *cursor, v *chunk.Vector) {
		i := c.index("symbol", len(texts))
		if c.err == nil && len(texts[i]) == 0 {
			c.fail(fmt.Errorf("the symbol %s is none of %s in the option avroSchema", w.symbols[i], r.fullName()))
		}
		if c.err != nil {
			v.AppendNull()
			return
		}
		v.AppendBytes(texts[i])
	}
}

func (k *compiler) list(w, r *node, t plan.Type) op {
	inner, least := k.value(w.items, r.items, *t.Elem), w.items.min
	return func(c *cursor, v *chunk.Vector) {
		for n := c.items(least); n > 0 && c.err == nil; n = c.items(least) {
			for ; n > 0 && c.err == nil; n-- {
				inner(c, v.Kids[0])
			}
		}
		v.AppendSpan()
	}
}

func (k *compiler) mapping(w, r *node, t plan.Type) op {
	inner := k.value(w.items, r.items, *t.Elem)
	keys, values := chunk.New(*t.Key, 0), chunk.New(*t.Elem, 0)
	var order entryOrder
	return func(c *cursor, v *chunk.Vector) {
		keys.Reset()
		values.Reset()
		size := c.items(1)
		for n := size; n > 0 && c.err == nil; n = c.items(1) {
			for ; n > 0 && c.err == nil; n-- {
				keys.AppendBytes(c.bytes())
				inner(c, values)
			}
		}
		if c.err != nil {
			return
		}
		for _, i := range order.of(keys, 0, keys.Len, size, hashUtf8) {
			v.Kids[0].AppendFrom(keys, int(i))
			v.Kids[1].AppendFrom(values, int(i))
		}
		v.AppendSpan()
	}
}

// step reads one of the written fields, into column to or nowhere.
type step struct {
	to   int // -1: skip it
	read op
	skip *node
}

// row reads a record into columns. filled are the columns that it does not have.
type row struct {
	steps  []step
	filled []step
}

func (k *compiler) row(w, r *node, t plan.Type) (row, error) {
	column := make([]int, len(r.fields)) // of a reader's field, -1 for none
	for i := range column {
		column[i] = -1
	}
	var out row
	for i, f := range t.Fields {
		at, err := k.o.find(r, i, f.Name, nil)
		if err != nil {
			return out, err
		}
		if at < 0 {
			out.filled = append(out.filled, step{to: i, read: null})
			continue
		}
		column[at] = i
	}
	of := make([]int, len(w.fields)) // the reader's field of a writer's
	for i := range of {
		of[i] = -1
	}
	for i := range r.fields {
		f := &r.fields[i]
		at := i
		if w != r {
			at = fieldOf(w, f)
		}
		if at >= 0 {
			of[at] = i
			continue
		}
		fill, err := k.fill(f, column[i], t)
		if err != nil {
			return out, err
		}
		if column[i] >= 0 {
			out.filled = append(out.filled, step{to: column[i], read: fill})
		}
	}
	for i, f := range w.fields {
		s := step{to: -1, skip: f.of}
		if of[i] >= 0 && column[of[i]] >= 0 {
			s.to = column[of[i]]
			s.read = k.value(f.of, r.fields[of[i]].of, t.Fields[s.to].Type)
		}
		out.steps = append(out.steps, s)
	}
	return out, nil
}

// fill is how a field that was not written gets its default.
func (k *compiler) fill(f *field, to int, t plan.Type) (op, error) {
	if !f.hasDefault {
		return nil, fmt.Errorf("the records lack the field %s, for which the option avroSchema has no "+
			"default", f.name)
	}
	if to < 0 {
		return nil, nil
	}
	value, err := encodeDefault(nil, f.of, f.value)
	if err != nil {
		return nil, err
	}
	read := k.value(f.of, f.of, t.Fields[to].Type)
	return func(c *cursor, v *chunk.Vector) {
		of := cursor{b: value}
		read(&of, v)
		if of.err != nil {
			c.fail(of.err)
		}
	}, nil
}

func (r *row) read(c *cursor, cols []*chunk.Vector) {
	for i := range r.steps {
		s := &r.steps[i]
		if s.to < 0 {
			c.skip(s.skip, 0)
		} else {
			s.read(c, cols[s.to])
		}
	}
	for i := range r.filled {
		s := &r.filled[i]
		s.read(c, cols[s.to])
	}
}

func (k *compiler) record(w, r *node, t plan.Type) op {
	fields, err := k.row(w, r, t)
	if err != nil {
		return raise(err)
	}
	return func(c *cursor, v *chunk.Vector) {
		fields.read(c, v.Kids)
		v.AppendRow()
	}
}

// ValueReader reads single values, for from_avro.
type ValueReader struct{ read op }

// NewValueReader reads what was written by a schema into a column of type t.
func NewValueReader(s *Schema, t plan.Type, o ReadOptions) (*ValueReader, error) {
	seen := s
	if o.Schema != nil {
		seen = o.Schema
	}
	if t.Kind == plan.KindStruct && seen.root.kind != kindRecord {
		// So does Spark: a union is read within a record only.
		return &ValueReader{raise(misfit(seen.root, t, nil))}, nil
	}
	if err := o.fit(seen.root, t, nil); err != nil {
		return nil, err
	}
	dates, err := o.calendar(nil)
	if err != nil {
		return nil, err
	}
	k := &compiler{o: &o, dates: dates}
	return &ValueReader{k.value(s.root, seen.root, t)}, nil
}

// AppendValue reads a value; what stands behind it in b is nobody's. On an
// error v holds one more row or part of it: read into a column of its own.
func (r *ValueReader) AppendValue(b []byte, v *chunk.Vector) error {
	c := cursor{b: b}
	r.read(&c, v)
	return c.err
}

var errWide = errors.New("a decimal is out of the range of its type")

// decimal is a number of big-endian bytes in two's complement, at the scale of t.
func decimal(b []byte, scale int, t plan.Type) (chunk.Dec, error) {
	for len(b) > 16 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	if len(b) > 16 {
		return chunk.Dec{}, errWide
	}
	var full [16]byte
	if len(b) > 0 && b[0] >= 0x80 {
		copy(full[:], bytes.Repeat([]byte{0xff}, 16))
	}
	copy(full[16-len(b):], b)
	d := decOf(full)
	if t.Scale > scale {
		wide, err := d.Rescale(int32(scale), int32(t.Scale))
		if err != nil {
			return chunk.Dec{}, errWide
		}
		d = wide
	}
	if !d.FitsInPrecision(int32(t.Precision)) {
		return chunk.Dec{}, errWide
	}
	return d, nil
}
