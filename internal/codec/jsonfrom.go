package codec

import (
	"bytes"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// AppendValue appends what from_json makes of a text to a column of the
// reader's schema, a struct, an array or a map: NULL for blank text, and for
// malformed text a struct of what could be read, else NULL, or an error with
// FAILFAST.
func (r *JSONReader) AppendValue(text []byte, into *chunk.Vector) error {
	if r.schema.Kind == plan.KindStruct {
		return r.appendStruct(text, into)
	}
	if r.d.root.out != into {
		r.d.root.bind(into)
	}
	whole := r.d.rootValue(text, into)
	if whole || r.opts.Mode != FailFast {
		return nil
	}
	truncate(into, into.Len-1)
	return failFastError("[null]", faultRecord)
}

func (r *JSONReader) appendStruct(text []byte, into *chunk.Vector) error {
	if r.bound == nil || len(into.Kids) > 0 && r.bound.Cols[0] != into.Kids[0] {
		r.bound = nil
		r.record = chunk.Chunk{Cols: into.Kids}
	}
	r.record.Rows = into.Len
	if err := r.Decode(text, &r.record); err != nil {
		return err
	}
	if r.record.Rows > into.Len {
		into.AppendRow()
	} else {
		into.AppendNull()
	}
	return nil
}

// rootValue appends a text that is an array or a map as a whole, and reports
// whether all of it was as the schema says.
func (d *jsonDecoder) rootValue(text []byte, into *chunk.Vector) bool {
	d.b, d.depth = bytes.TrimPrefix(text, byteOrderMark), 0
	row := into.Len
	i := d.space(0)
	if i >= len(d.b) {
		into.AppendNull()
		return true
	}
	next, result := -1, jsonWrong
	switch c := d.b[i]; {
	case d.root.typ.Kind == plan.KindVariant:
		if next, result = d.variant(d.root, i); next < 0 || result == jsonWrong {
			into.AppendNull()
			return false
		}
	case c == '[' && d.root.typ.Kind == plan.KindArray:
		next, result = d.array(d.root, i)
	case c == '{' && d.root.typ.Kind == plan.KindMap:
		next, result = d.mapping(d.root, i)
	case c == '{' && d.root.elem.typ.Kind == plan.KindStruct:
		// An object where an array of them is asked for is its only element.
		if next, result = d.value(d.root.elem, i); next >= 0 && result != jsonWrong {
			into.AppendSpan()
		}
	}
	if next < 0 || result == jsonWrong {
		into.AppendNull()
		undoKids(into, row)
		return false
	}
	return result == jsonWhole
}

// undoKids takes elements off that belong to no row up to row.
func undoKids(v *chunk.Vector, row int) {
	end := int(v.Offsets[row])
	for _, k := range v.Kids {
		truncate(k, end)
	}
	v.Offsets[row+1] = v.Offsets[row]
}
