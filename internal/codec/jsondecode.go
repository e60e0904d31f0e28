package codec

import (
	"bytes"
	"encoding/binary"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// jsonResult says what became of a value.
type jsonResult uint8

const (
	jsonWhole   jsonResult = iota // one value was appended
	jsonPartial                   // one was, but parts of it are NULL because they were wrong
	jsonWrong                     // none was: well-formed, but not of the type
)

// jsonNode is a part of the schema, compiled: a record, a column, an element.
type jsonNode struct {
	typ plan.Type
	// out is where values go; nil for the record itself, whose fields are the
	// columns of a chunk.
	out    *chunk.Vector
	fields []*jsonNode
	byName map[string]int32
	elem   *jsonNode // of an array, and the value of a map

	// learnt are the keys of the last object in their order: most objects have
	// the same, and comparing a whole key at once is much cheaper than reading
	// and looking up a name.
	learnt []learntKey
	index  int // column of a chunk, of fields of the record

	watched uint8 // of a column: the filters about it
	missed  uint8 // of the record: the filters about fields it did not have

	// read decodes a value that is not null and begins at i.
	read func(d *jsonDecoder, n *jsonNode, i int) (int, jsonResult)
}

type learntKey struct {
	// text is the key with what stands around it: from the comma, except for the
	// first key, to the value.
	text  []byte
	field int32 // -1 for a key that nobody wants
	// A text of up to 16 bytes is compared as two words, its first and its last
	// eight bytes; of a shorter one mask picks what counts.
	head, tail, mask uint64
	tailAt           int
}

// set remembers a text.
func (l *learntKey) set(text []byte, field int32) {
	l.text, l.field = append(l.text[:0], text...), field
	l.tailAt, l.mask = max(0, len(text)-8), 1<<(8*min(len(text), 8))-1
	padded := append(make([]byte, 0, len(text)+8), text...)[:len(text)+8]
	l.head = binary.LittleEndian.Uint64(padded) & l.mask
	l.tail = binary.LittleEndian.Uint64(padded[l.tailAt:]) & l.mask
}

// at reports whether the text stands at the beginning of b.
func (l *learntKey) at(b []byte) bool {
	if l.tailAt > 8 || len(b) < l.tailAt+8 {
		return bytes.HasPrefix(b, l.text)
	}
	head := binary.LittleEndian.Uint64(b) ^ l.head
	tail := binary.LittleEndian.Uint64(b[l.tailAt:]) ^ l.tail
	return (head|tail)&l.mask == 0
}

// maxLearntKeys bounds what a node remembers.
const maxLearntKeys = 256

func newJSONNode(t plan.Type) *jsonNode {
	n := &jsonNode{typ: t, read: readers[t.Kind]}
	switch t.Kind {
	case plan.KindStruct:
		n.byName = map[string]int32{}
		for i, f := range t.Fields {
			kid := newJSONNode(f.Type)
			kid.index = i
			n.fields = append(n.fields, kid)
			n.byName[f.Name] = int32(i)
		}
	case plan.KindArray, plan.KindMap:
		n.elem = newJSONNode(*t.Elem)
	}
	return n
}

// bind makes v the place where values of n go.
func (n *jsonNode) bind(v *chunk.Vector) {
	n.out = v
	switch n.typ.Kind {
	case plan.KindStruct:
		for i, f := range n.fields {
			f.bind(v.Kids[i])
		}
	case plan.KindArray:
		n.elem.bind(v.Kids[0])
	case plan.KindMap:
		n.elem.bind(v.Kids[1])
	}
}

// value decodes the value at i.
func (d *jsonDecoder) value(n *jsonNode, i int) (int, jsonResult) {
	if i < len(d.b) && (d.b[i] <= ' ' || d.comments) {
		i = d.space(i)
	}
	if i >= len(d.b) {
		return -1, jsonWrong
	}
	if d.b[i] != 'n' || n.typ.Kind == plan.KindVariant {
		return n.read(d, n, i)
	}
	i = d.word(i, "null")
	if i >= 0 {
		n.out.AppendNull()
	}
	return i, jsonWhole
}

// readers decode the values of each kind; jsonReadable has refused the others.
var readers = [...]func(d *jsonDecoder, n *jsonNode, i int) (int, jsonResult){
	plan.KindNull: (*jsonDecoder).anything, plan.KindBoolean: (*jsonDecoder).boolean,
	plan.KindByte: (*jsonDecoder).integer, plan.KindShort: (*jsonDecoder).integer,
	plan.KindInt: (*jsonDecoder).integer, plan.KindLong: (*jsonDecoder).bigint,
	plan.KindFloat: (*jsonDecoder).float, plan.KindDouble: (*jsonDecoder).float,
	plan.KindDecimal: (*jsonDecoder).decimal, plan.KindString: (*jsonDecoder).text,
	plan.KindChar: (*jsonDecoder).text, plan.KindVarChar: (*jsonDecoder).text,
	plan.KindBinary: (*jsonDecoder).binary, plan.KindDate: (*jsonDecoder).date,
	plan.KindTimestamp: (*jsonDecoder).timestamp, plan.KindTimestampNTZ: (*jsonDecoder).timestampNTZ,
	plan.KindArray: (*jsonDecoder).array, plan.KindMap: (*jsonDecoder).mapping,
	plan.KindStruct: (*jsonDecoder).structure, plan.KindVariant: (*jsonDecoder).variant,
}

func (d *jsonDecoder) anything(n *jsonNode, i int) (int, jsonResult) {
	n.out.AppendNull()
	return d.skip(i), jsonWhole
}

func (d *jsonDecoder) structure(n *jsonNode, i int) (int, jsonResult) {
	if d.b[i] != '{' {
		return d.wrong(i)
	}
	next, result := d.object(n, i, n.out.Len)
	if next >= 0 {
		n.out.AppendRow()
	}
	return next, result
}

// wrong skips a value that is not of the type.
func (d *jsonDecoder) wrong(i int) (int, jsonResult) { return d.skip(i), jsonWrong }

// object decodes the fields of an object into row number row of n's fields.
func (d *jsonDecoder) object(n *jsonNode, i, row int) (int, jsonResult) {
	if d.depth++; d.depth > maxJSONDepth {
		return -1, jsonWrong
	}
	result := jsonWhole
	if i++; i >= len(d.b) || d.b[i] != '"' {
		i = d.space(i)
	}
	if i < len(d.b) && d.b[i] == '}' {
		d.depth--
		n.fill(row)
		return i + 1, result
	}
	for k := 0; ; k++ {
		field := int32(-1)
		if k < len(n.learnt) && n.learnt[k].at(d.b[i:]) {
			field = n.learnt[k].field
			i += len(n.learnt[k].text)
		} else if field, i = d.learn(n, i, k); i < 0 {
			return -1, jsonWrong
		}
		if field < 0 {
			if i < len(d.b) && (d.b[i] <= ' ' || d.comments) {
				i = d.space(i)
			}
			i = d.skip(i)
		} else {
			var r jsonResult
			if i, r = d.field(n.fields[field], i, row); r != jsonWhole {
				result = jsonPartial
			}
		}
		if uint(i) < uint(len(d.b)) && d.b[i] == ',' {
			continue
		}
		if i < 0 {
			return -1, jsonWrong
		}
		if i >= len(d.b) || d.b[i] != '}' {
			i = d.space(i)
		}
		if i >= len(d.b) || d.b[i] != ',' && d.b[i] != '}' {
			return -1, jsonWrong
		}
		if d.b[i] == '}' {
			break
		}
	}
	d.depth--
	n.fill(row)
	return i + 1, result
}

// fill makes the fields that were not in the object NULL.
func (n *jsonNode) fill(row int) {
	for _, f := range n.fields {
		if f.out.Len == row {
			f.out.AppendNull()
			n.missed |= f.watched
		}
	}
}

// learn reads a key the long way, behind a comma unless it is the first, and
// remembers it as number k.
func (d *jsonDecoder) learn(n *jsonNode, i, k int) (field int32, next int) {
	from := i
	if k > 0 {
		i = d.space(i + 1)
	}
	name, next := d.key(i)
	if next < 0 {
		return -1, -1
	}
	next = d.space(next)
	field, ok := n.byName[string(name)]
	if !ok {
		field = -1
	}
	if k == len(n.learnt) && k < maxLearntKeys {
		n.learnt = append(n.learnt, learntKey{})
	}
	if k < len(n.learnt) {
		n.learnt[k].set(d.b[from:next], field)
	}
	return field, next
}

// field decodes one value of a row. A wrong value leaves the field as it is; a
// second value of one name replaces the first.
func (d *jsonDecoder) field(f *jsonNode, i, row int) (int, jsonResult) {
	next, result := d.value(f, i)
	if f.out.Len > row+1 {
		last := chunk.Gather(f.out, []int{row + 1})
		truncate(f.out, row)
		f.out.AppendFrom(last, 0)
	}
	return next, result
}

// array decodes an array. A wrong element makes the whole array wrong, one
// with wrong parts does not.
func (d *jsonDecoder) array(n *jsonNode, i int) (int, jsonResult) {
	if d.b[i] != '[' {
		return d.wrong(i)
	}
	start, before := i, n.elem.out.Len
	if d.depth++; d.depth > maxJSONDepth {
		return -1, jsonWrong
	}
	result := jsonWhole
	i = d.space(i + 1)
	if i < len(d.b) && d.b[i] == ']' {
		d.depth--
		n.out.AppendSpan()
		return i + 1, result
	}
	for {
		var r jsonResult
		if i, r = d.value(n.elem, i); i < 0 {
			return -1, jsonWrong
		}
		if r == jsonWrong {
			truncate(n.elem.out, before)
			d.depth--
			return d.skip(start), jsonWrong
		}
		result = max(result, r)
		i = d.space(i)
		if i < len(d.b) && d.b[i] == ']' {
			break
		}
		if i = d.comma(i); i < 0 {
			return -1, jsonWrong
		}
	}
	d.depth--
	n.out.AppendSpan()
	return i + 1, result
}

// mapping decodes a map; keys may repeat, as in Spark.
func (d *jsonDecoder) mapping(n *jsonNode, i int) (int, jsonResult) {
	if d.b[i] != '{' {
		return d.wrong(i)
	}
	start, before := i, n.elem.out.Len
	keys := n.out.Kids[0]
	if d.depth++; d.depth > maxJSONDepth {
		return -1, jsonWrong
	}
	result := jsonWhole
	i = d.space(i + 1)
	if i < len(d.b) && d.b[i] == '}' {
		d.depth--
		n.out.AppendSpan()
		return i + 1, result
	}
	for {
		name, next := d.key(i)
		if next < 0 {
			return -1, jsonWrong
		}
		keys.AppendBytes(name)
		var r jsonResult
		if i, r = d.value(n.elem, next); i < 0 {
			return -1, jsonWrong
		}
		if r == jsonWrong {
			truncate(keys, before)
			truncate(n.elem.out, before)
			d.depth--
			return d.skip(start), jsonWrong
		}
		result = max(result, r)
		i = d.space(i)
		if i < len(d.b) && d.b[i] == '}' {
			break
		}
		if i = d.comma(i); i < 0 {
			return -1, jsonWrong
		}
	}
	d.depth--
	n.out.AppendSpan()
	return i + 1, result
}

// truncate takes rows from number n on off a vector, and parts of a row that
// was not finished.
func truncate(v *chunk.Vector, n int) {
	v.Len = n
	if w := chunk.Width(v.Type); w > 0 {
		v.Data = v.Data[:n*w]
	}
	kids := n
	if v.Offsets != nil {
		v.Offsets = v.Offsets[:n+1]
		kids = int(v.Offsets[n])
		if chunk.IsBytes(v.Type) {
			v.Data = v.Data[:kids]
		}
	}
	for _, k := range v.Kids {
		truncate(k, kids)
	}
}
