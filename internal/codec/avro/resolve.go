package avro

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// match is the branch of a reader's union that takes values of w, -1 for none:
// one of the same type if there is one, else one that w can become.
func match(w, r *node) int {
	for i, b := range r.branches {
		if b.kind == w.kind && sameName(w, b) {
			return i
		}
	}
	for i, b := range r.branches {
		if promotes(w, b) {
			return i
		}
	}
	return -1
}

// promotes reports whether a value of w may be read as r, by Avro's rules.
// What is inside of records, arrays, maps and unions is looked at later.
func promotes(w, r *node) bool {
	switch {
	case w.kind == r.kind:
		return w.kind == kindRecord || sameName(w, r)
	case w.kind == kindInt:
		return r.kind == kindLong || r.kind == kindFloat || r.kind == kindDouble
	case w.kind == kindLong:
		return r.kind == kindFloat || r.kind == kindDouble
	case w.kind == kindFloat:
		return r.kind == kindDouble
	}
	return w.kind == kindString && r.kind == kindBytes || w.kind == kindBytes && r.kind == kindString
}

func sameName(w, r *node) bool {
	switch w.kind {
	case kindFixed:
		return w.size == r.size && (w.fullName() == r.fullName() || r.called(w))
	case kindRecord, kindEnum:
		return w.fullName() == r.fullName() || r.called(w)
	}
	return true
}

// called reports whether an alias of r is the name of w.
func (n *node) called(w *node) bool {
	full := w.fullName()
	return slices.ContainsFunc(n.aliases, func(a string) bool {
		return a == full || n.space != "" && n.space+"."+a == full
	})
}

// fieldOf is the writer's field that a reader's field reads, -1 for none.
func fieldOf(w *node, f *field) int {
	at := slices.IndexFunc(w.fields, func(x field) bool { return x.name == f.name })
	if at < 0 {
		at = slices.IndexFunc(w.fields, func(x field) bool { return slices.Contains(f.aliases, x.name) })
	}
	return at
}

func found(w, r *node) error {
	return fmt.Errorf("found %s where the schema of the option avroSchema has %s", w.shown(), r.shown())
}

// encodeDefault appends the default of a field as it would have been written.
func encodeDefault(dst []byte, n *node, x any) ([]byte, error) {
	bad := func() ([]byte, error) {
		return nil, fmt.Errorf("the default %v is not of the type %s", x, n.shown())
	}
	switch v := x.(type) {
	case nil:
		if n.kind == kindNull {
			return dst, nil
		}
	case bool:
		if n.kind == kindBoolean {
			b := byte(0)
			if v {
				b = 1
			}
			return append(dst, b), nil
		}
	case int32:
		if n.kind == kindInt || n.kind == kindLong {
			return binary.AppendVarint(dst, int64(v)), nil
		}
	case int64:
		if n.kind == kindInt || n.kind == kindLong {
			return binary.AppendVarint(dst, v), nil
		}
	case float32:
		if n.kind == kindFloat {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v)), nil
		}
	case float64:
		if n.kind == kindDouble {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)), nil
		}
	case []byte:
		if n.kind == kindFixed && len(v) == n.size {
			return append(dst, v...), nil
		}
		if n.kind == kindBytes {
			return append(binary.AppendVarint(dst, int64(len(v))), v...), nil
		}
	case string:
		if n.kind == kindString {
			return append(binary.AppendVarint(dst, int64(len(v))), v...), nil
		}
		if at := slices.Index(n.symbols, v); n.kind == kindEnum && at >= 0 {
			return binary.AppendVarint(dst, int64(at)), nil
		}
	}
	if n.kind == kindUnion {
		return encodeBranch(dst, n, x)
	}
	if out, err := encodeNested(dst, n, x); out != nil || err != nil {
		return out, err
	}
	return bad()
}

func encodeBranch(dst []byte, n *node, x any) ([]byte, error) {
	for i, b := range n.branches {
		if out, err := encodeDefault(binary.AppendVarint(dst, int64(i)), b, x); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("the default %v is of no branch of %s", x, n.shown())
}

// encodeNested is nil when x is not of the nested kind of n.
func encodeNested(dst []byte, n *node, x any) ([]byte, error) {
	list, isList := x.([]any)
	object, isObject := x.(map[string]any)
	var err error
	switch {
	case isList && n.kind == kindArray:
		if len(list) > 0 {
			dst = binary.AppendVarint(dst, int64(len(list)))
		}
		for _, e := range list {
			if dst, err = encodeDefault(dst, n.items, e); err != nil {
				return nil, err
			}
		}
		return append(dst, 0), nil
	case isObject && n.kind == kindMap:
		keys := make([]string, 0, len(object))
		for k := range object {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		if len(keys) > 0 {
			dst = binary.AppendVarint(dst, int64(len(keys)))
		}
		for _, k := range keys {
			dst = append(binary.AppendVarint(dst, int64(len(k))), k...)
			if dst, err = encodeDefault(dst, n.items, object[k]); err != nil {
				return nil, err
			}
		}
		return append(dst, 0), nil
	case isObject && n.kind == kindRecord:
		return encodeRecord(dst, n, object)
	}
	return nil, nil
}

func encodeRecord(dst []byte, n *node, object map[string]any) ([]byte, error) {
	var err error
	if dst == nil {
		dst = []byte{}
	}
	for _, f := range n.fields {
		v, ok := object[f.name]
		if !ok {
			if !f.hasDefault {
				return nil, fmt.Errorf("the default lacks the field %s", f.name)
			}
			v = f.value
		}
		if dst, err = encodeDefault(dst, f.of, v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
