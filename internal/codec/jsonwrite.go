package codec

import (
	"encoding/base64"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// JSONWriter prints rows and values as JSON. It belongs to one goroutine.
type JSONWriter struct {
	fields []string // names of the columns, quoted, with a colon
	opts   JSONOptions
	zone   *Offsets
	date   *Pattern
	stamp  *Pattern
	ntz    *Pattern

	names map[string]string // of nested fields, as in fields
	style TextStyle
	depth int
	err   error // of a pattern that asks for what a value has not
}

// NewJSONWriter makes the writer of a schema, or of values of any other type.
func NewJSONWriter(schema plan.Type, o JSONOptions) (*JSONWriter, error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	w := &JSONWriter{opts: o, zone: NewOffsets(o.Zone), names: map[string]string{}}
	w.style = TextStyle{Zone: w.zone, ExpDecimal: true}
	for _, f := range schema.Fields {
		w.fields = append(w.fields, w.name(f.Name))
	}
	// As in Spark a wrong pattern of timestamps is found at once, one of dates by a date.
	needed := o.patternsOf(schema)
	needed.stamp, needed.ntz = o.TimestampFormat, o.TimestampNTZFormat
	for _, one := range []struct {
		text string
		to   **Pattern
	}{{needed.date, &w.date}, {needed.stamp, &w.stamp}, {needed.ntz, &w.ntz}} {
		if one.text == "" {
			continue
		}
		p, err := CompilePattern(one.text, PatternUse{NTZ: one.to == &w.ntz})
		if err != nil {
			return nil, err
		}
		*one.to = p
	}
	return w, nil
}

// name is a field's name as it stands in an object.
func (w *JSONWriter) name(name string) string {
	quoted, ok := w.names[name]
	if !ok {
		quoted = string(appendJSONString(nil, []byte(name))) + ":"
		if w.opts.Pretty {
			quoted = quoted[:len(quoted)-1] + " : "
		}
		w.names[name] = quoted
	}
	return quoted
}

// AppendRow prints row i of columns as an object.
func (w *JSONWriter) AppendRow(dst []byte, cols []*chunk.Vector, i int) ([]byte, error) {
	w.err = nil
	dst = w.object(dst, cols, w.fields, i)
	return dst, w.err
}

// AppendValue prints row i of a struct, array, map or variant column.
func (w *JSONWriter) AppendValue(dst []byte, v *chunk.Vector, i int) ([]byte, error) {
	w.err = nil
	dst = w.value(dst, v, i)
	return dst, w.err
}

func (w *JSONWriter) object(dst []byte, cols []*chunk.Vector, names []string, i int) []byte {
	dst = w.open(dst, '{')
	first := true
	for k, v := range cols {
		null := v.IsNull(i)
		if null && !w.opts.KeepNulls {
			continue
		}
		dst = w.separate(dst, first, true)
		first = false
		dst = append(dst, names[k]...)
		if null {
			dst = append(dst, "null"...)
			continue
		}
		dst = w.value(dst, v, i)
	}
	return w.close(dst, '}', first)
}

func (w *JSONWriter) open(dst []byte, c byte) []byte {
	w.depth++
	return append(dst, c)
}

// separate begins an element of an object or an array.
func (w *JSONWriter) separate(dst []byte, first, object bool) []byte {
	if !first {
		dst = append(dst, ',')
	}
	switch {
	case !w.opts.Pretty:
		return dst
	case object:
		return w.indent(dst)
	default:
		return append(dst, ' ')
	}
}

func (w *JSONWriter) indent(dst []byte) []byte {
	dst = append(dst, '\n')
	for range w.depth {
		dst = append(dst, "  "...)
	}
	return dst
}

func (w *JSONWriter) close(dst []byte, c byte, empty bool) []byte {
	if c == '}' {
		w.depth--
		if w.opts.Pretty && !empty {
			return append(w.indent(dst), c)
		}
	}
	if w.opts.Pretty {
		dst = append(dst, ' ')
	}
	return append(dst, c)
}

func (w *JSONWriter) value(dst []byte, v *chunk.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch v.Type.Kind {
	case plan.KindString, plan.KindChar, plan.KindVarChar:
		return appendJSONString(dst, v.Bytes(i))
	case plan.KindByte, plan.KindShort, plan.KindInt, plan.KindLong:
		return appendInt(dst, integer(v, i))
	case plan.KindDouble:
		return appendJSONFloat(dst, AppendDouble, chunk.Values[float64](v)[i])
	case plan.KindFloat:
		return appendJSONFloat(dst, AppendFloat, chunk.Values[float32](v)[i])
	case plan.KindBoolean, plan.KindDecimal, plan.KindVariant:
		return w.style.AppendValue(dst, v, i)
	case plan.KindBinary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, v.Bytes(i))
		return append(dst, '"')
	case plan.KindStruct:
		var room [16]string
		names := room[:0]
		for _, f := range v.Type.Fields {
			names = append(names, w.name(f.Name))
		}
		return w.object(dst, v.Kids, names, i)
	case plan.KindArray:
		return w.array(dst, v, i)
	case plan.KindMap:
		return w.mapping(dst, v, i)
	default:
		dst = append(dst, '"')
		dst = w.temporal(dst, v, i)
		return append(dst, '"')
	}
}

func (w *JSONWriter) array(dst []byte, v *chunk.Vector, i int) []byte {
	from, to := v.Span(i)
	dst = append(dst, '[')
	for e := from; e < to; e++ {
		dst = w.separate(dst, e == from, false)
		dst = w.value(dst, v.Kids[0], e)
	}
	return w.close(dst, ']', from == to)
}

func (w *JSONWriter) mapping(dst []byte, v *chunk.Vector, i int) []byte {
	from, to := v.Span(i)
	dst = w.open(dst, '{')
	for e := from; e < to; e++ {
		dst = w.separate(dst, e == from, true)
		dst = w.key(dst, v.Kids[0], e)
		dst = w.value(dst, v.Kids[1], e)
	}
	return w.close(dst, '}', from == to)
}

// key prints the key of a map. As in Spark it is the text of what Spark holds
// in memory: a number for dates, times and intervals, [a,b] for structs.
func (w *JSONWriter) key(dst []byte, v *chunk.Vector, i int) []byte {
	dst = appendJSONString(dst, w.held(nil, v, i))
	if w.opts.Pretty {
		return append(dst, " : "...)
	}
	return append(dst, ':')
}

func (w *JSONWriter) held(dst []byte, v *chunk.Vector, i int) []byte {
	if v.IsNull(i) {
		return append(dst, "null"...)
	}
	switch v.Type.Kind {
	case plan.KindDate, plan.KindYearMonth:
		return appendInt(dst, int64(chunk.Values[int32](v)[i]))
	case plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindTime:
		return appendInt(dst, chunk.Values[int64](v)[i])
	case plan.KindStruct:
		dst = append(dst, '[')
		for k, kid := range v.Kids {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = w.held(dst, kid, i)
		}
		return append(dst, ']')
	default:
		return w.style.AppendValue(dst, v, i)
	}
}

// temporal prints a date, time or interval, which never needs escapes unless
// a pattern puts some in.
func (w *JSONWriter) temporal(dst []byte, v *chunk.Vector, i int) []byte {
	switch v.Type.Kind {
	case plan.KindDate:
		days := chunk.Values[int32](v)[i]
		if w.date == nil {
			return AppendDate(dst, days)
		}
		return w.patterned(dst, func(b []byte) ([]byte, error) { return w.date.AppendDate(b, days) })
	case plan.KindTimestamp:
		micros := chunk.Values[int64](v)[i]
		if w.stamp == nil {
			return appendISO(dst, micros, w.zone)
		}
		return w.patterned(dst, func(b []byte) ([]byte, error) {
			return w.stamp.AppendTimestamp(b, micros, w.zone)
		})
	case plan.KindTimestampNTZ:
		micros := chunk.Values[int64](v)[i]
		if w.ntz == nil {
			return appendISO(dst, micros, nil)
		}
		return w.patterned(dst, func(b []byte) ([]byte, error) { return w.ntz.AppendTimestampNTZ(b, micros) })
	default:
		return w.style.AppendValue(dst, v, i)
	}
}

func (w *JSONWriter) patterned(dst []byte, print func([]byte) ([]byte, error)) []byte {
	text, err := print(nil)
	if err != nil && w.err == nil {
		w.err = err
	}
	quoted := appendJSONString(nil, text)
	return append(dst, quoted[1:len(quoted)-1]...)
}

// appendISO prints yyyy-MM-dd'T'HH:mm:ss.SSS and, with a zone, its offset: what
// the pattern that is Spark's default prints.
func appendISO(dst []byte, micros int64, zone *Offsets) []byte {
	second := floorDiv(micros, microsPerSecond)
	milli := (micros - second*microsPerSecond) / 1000
	offset := int64(0)
	if zone != nil {
		offset = zone.At(second)
	}
	second += offset
	days := floorDiv(second, secondsPerDay)
	year, month, day := Civil(days)
	dst = appendYMD(dst, year, month, day)
	dst = append(dst, 'T')
	dst = appendClock(dst, (second-days*secondsPerDay)*microsPerSecond)
	dst = append(dst, '.')
	dst = appendPadded(dst, uint64(milli), 3)
	switch {
	case zone == nil:
		return dst
	case offset == 0:
		return append(dst, 'Z')
	default:
		return appendOffset(dst, int(offset), "+HH:MM:ss")
	}
}
