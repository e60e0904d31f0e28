package codec

import (
	"strconv"

	"github.com/weir-dev/weir/internal/codec/variant"
	"github.com/weir-dev/weir/internal/plan"
)

// variant decodes a value of any kind, null too.
func (d *jsonDecoder) variant(n *jsonNode, i int) (int, jsonResult) {
	d.builder.Reset()
	d.refused = false
	depth := d.depth
	next := d.build(i)
	if next < 0 {
		if !d.refused {
			return -1, jsonWrong
		}
		d.depth = depth
		return d.skip(i), jsonWrong // JSON, but no variant
	}
	v, err := d.builder.Value()
	if err != nil {
		return next, jsonWrong
	}
	n.out.Kids[0].AppendBytes(v.Data)
	n.out.Kids[1].AppendBytes(v.Metadata)
	n.out.AppendRow()
	return next, jsonWhole
}

// wholeRecord decodes a record into the column that takes whole ones, if that is asked for.
func (d *jsonDecoder) wholeRecord(i int) (rows int, fault jsonFault) {
	if len(d.root.fields) == 0 {
		if d.skip(i) < 0 {
			return 0, faultRecord
		}
		return 1, faultNone
	}
	if next, result := d.variant(d.root.fields[0], i); next < 0 || result != jsonWhole {
		return 0, faultRecord
	}
	return 1, faultNone
}

// CheckSingleVariant refuses schemas that a column of whole records does not fit: it is the only one, but
// for that of malformed records.
func (o *JSONOptions) CheckSingleVariant(schema plan.Type) error {
	if o.SingleVariant == "" {
		return nil
	}
	variants := 0
	for _, f := range schema.Fields {
		switch {
		case f.Type.Kind == plan.KindVariant && f.Name == o.SingleVariant:
			variants++
		case f.Name != o.CorruptColumn || !f.Type.IsString():
			variants += 2
		}
	}
	if variants == 1 {
		return nil
	}
	return plan.AnalysisError("INVALID_SINGLE_VARIANT_COLUMN",
		"With singleVariantColumn the schema is one variant, beside it at most malformed records, not "+
			schema.SQL()+".", "schema", `"`+schema.SQL()+`"`)
}

// build adds the value at i to the variant, and gives where it ends; -1 for what is no JSON or, with
// d.refused, no variant.
func (d *jsonDecoder) build(i int) int {
	if i >= len(d.b) {
		return -1
	}
	switch c := d.b[i]; c {
	case '{', '[':
		return d.buildNested(i, c+2)
	case '"', '\'':
		content, next := d.str(i)
		if next >= 0 {
			d.builder.Text(content)
		}
		return next
	case 't', 'f', 'n':
		next := d.skip(i)
		switch {
		case next < 0:
		case c == 'n':
			d.builder.Null()
		default:
			d.builder.Bool(c == 't')
		}
		return next
	}
	return d.buildNumber(i)
}

func (d *jsonDecoder) buildNumber(i int) int {
	next, integer := d.number(i)
	if c := d.b[i]; c == 'N' || c == 'I' {
		next = d.nonNumber(i)
	}
	if next < 0 {
		return -1
	}
	text := textOf(d.b[i:next])
	if f, ok := namedFloat(text); ok {
		d.builder.Double(f)
		return next
	}
	if integer {
		if x, err := strconv.ParseInt(text, 10, 64); err == nil {
			d.builder.Long(x)
			return next
		}
	}
	if !variant.ParseDecimal(&d.builder, text) {
		f, _ := strconv.ParseFloat(text, 64) // out of range is an infinity
		d.builder.Double(f)
	}
	return next
}

// buildNested adds an object or array that ends with close.
func (d *jsonDecoder) buildNested(i int, close byte) int {
	if d.depth++; d.depth > maxJSONDepth {
		return -1
	}
	items := d.builder.Open()
	i = d.space(i + 1)
	for first := true; i < len(d.b) && !(first && d.b[i] == close); first = false {
		if close == '}' {
			name, next := d.key(i)
			if next < 0 {
				return -1
			}
			d.builder.Field(&items, string(name))
			i = d.space(next)
		} else {
			d.builder.Next(&items)
		}
		if i = d.build(i); i < 0 {
			return -1
		}
		i = d.space(i)
		if i < len(d.b) && d.b[i] == close {
			break
		}
		if i = d.comma(i); i < 0 {
			return -1
		}
	}
	if i >= len(d.b) {
		return -1
	}
	d.depth--
	if close == ']' {
		d.builder.CloseArray(&items)
	} else if d.builder.CloseObject(&items) != nil {
		d.refused = true
		return -1
	}
	return i + 1
}
