package avro

import (
	"encoding/binary"
	"io"
	"math/big"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// blockBytes is how many bytes of records make a block, as in Java's library.
const blockBytes = 64_000

// FileOptions say how a file is written.
type FileOptions struct {
	WriteOptions
	Schema *Schema // nil: that of the columns
	// Name and Space are of the records when Schema is nil; topLevelRecord and none.
	Name, Space string
	Codec       string // Spark's name; snappy when empty
	// Level is the compression's; 0 stands for its default.
	Level int
	Sync  [syncSize]byte
}

// FileWriter writes a container file.
type FileWriter struct {
	w      io.Writer
	fields []fieldPut
	codec  compressor
	sync   [syncSize]byte

	rows   int64
	plain  []byte
	packed []byte
}

// NewFileWriter checks the schema and writes the header.
func NewFileWriter(w io.Writer, columns plan.Type, o FileOptions) (*FileWriter, error) {
	if o.Codec == "" {
		o.Codec = "snappy"
	}
	name, err := codecName(o.Codec)
	if err != nil {
		return nil, err
	}
	s := o.Schema
	if s == nil {
		if s, err = SchemaOf(columns, false, o.Name, o.Space); err != nil {
			return nil, err
		}
	}
	if s.root.kind != kindRecord {
		return nil, noWrite(s.root, columns, nil)
	}
	f := &FileWriter{w: w, sync: o.Sync}
	if f.fields, err = o.fields(s.root, columns, nil); err != nil {
		return nil, err
	}
	if o.Level == 0 {
		o.Level = map[string]int{"deflate": -1, "zstandard": 3}[name]
	}
	if f.codec, err = compressorOf(name, o.Level); err != nil {
		return nil, err
	}
	head := append([]byte(magic), 6) // three entries
	for _, text := range []string{"avro.schema", s.text, "org.apache.spark.version", "4.3.0",
		"avro.codec", name} {
		head = append(binary.AppendVarint(head, int64(len(text))), text...)
	}
	head = append(append(head, 0), f.sync[:]...)
	_, err = w.Write(head)
	return f, err
}

// Write adds rows.
func (f *FileWriter) Write(c *chunk.Chunk) error {
	for i := range c.Rows {
		grown, err := putRow(f.plain, f.fields, c.Cols, i)
		if err != nil {
			return err
		}
		f.plain = grown
		f.rows++
		if len(f.plain) >= blockBytes {
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close writes the last block; the file stays the caller's.
func (f *FileWriter) Close() error { return f.flush() }

func (f *FileWriter) flush() error {
	if f.rows == 0 {
		return nil
	}
	const room = 2 * binary.MaxVarintLen64
	if f.packed == nil {
		f.packed = make([]byte, room)
	}
	packed, err := f.codec(f.packed[:room], f.plain)
	if err != nil {
		return err
	}
	head := binary.AppendVarint(binary.AppendVarint(nil, f.rows), int64(len(packed)-room))
	from := room - len(head)
	copy(packed[from:], head)
	packed = append(packed, f.sync[:]...)
	f.packed, f.plain, f.rows = packed, f.plain[:0], 0
	_, err = f.w.Write(packed[from:])
	return err
}

// SchemaOf is the schema that Spark gives values of a type. name is of the
// record at the top, topLevelRecord when it is empty.
func SchemaOf(t plan.Type, null bool, name, space string) (*Schema, error) {
	if name == "" {
		name = "topLevelRecord"
	}
	text, err := appendSchema(nil, t, null, name, space)
	if err != nil {
		return nil, err
	}
	return ParseSchema(string(text))
}

func appendSchema(dst []byte, t plan.Type, null bool, name, space string) ([]byte, error) {
	if null && t.Kind != plan.KindNull {
		dst, err := appendSchema(append(dst, '['), t, false, name, space)
		return append(dst, `,"null"]`...), err
	}
	switch t.Kind {
	case plan.KindNull:
		return append(dst, `"null"`...), nil
	case plan.KindBoolean:
		return append(dst, `"boolean"`...), nil
	case plan.KindByte, plan.KindShort, plan.KindInt:
		return append(dst, `"int"`...), nil
	case plan.KindLong:
		return append(dst, `"long"`...), nil
	case plan.KindFloat:
		return append(dst, `"float"`...), nil
	case plan.KindDouble:
		return append(dst, `"double"`...), nil
	case plan.KindString, plan.KindChar, plan.KindVarChar:
		if t.Collation != "" {
			break
		}
		return append(dst, `"string"`...), nil
	case plan.KindBinary:
		return append(dst, `"bytes"`...), nil
	case plan.KindDate:
		return append(dst, `{"type":"int","logicalType":"date"}`...), nil
	case plan.KindTimestamp:
		return append(dst, `{"type":"long","logicalType":"timestamp-micros"}`...), nil
	case plan.KindTimestampNTZ:
		return append(dst, `{"type":"long","logicalType":"local-timestamp-micros"}`...), nil
	case plan.KindYearMonth:
		return append(dst, `{"type":"int","spark.sql.catalyst.type":"`+t.Simple()+`"}`...), nil
	case plan.KindDayTime:
		return append(dst, `{"type":"long","spark.sql.catalyst.type":"`+t.Simple()+`"}`...), nil
	case plan.KindDecimal:
		return appendDecimal(dst, t, inside(space, name)), nil
	}
	return appendNested(dst, t, name, space)
}

func inside(space, name string) string {
	if space == "" {
		return name
	}
	return space + "." + name
}

func appendDecimal(dst []byte, t plan.Type, space string) []byte {
	// As many bytes as hold the largest number of the precision and a sign.
	most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
	size := (most.Sub(most, big.NewInt(1)).BitLen() + 1 + 7) / 8
	dst = append(dst, `{"type":"fixed","name":"fixed","namespace":`...)
	dst = strconv.AppendQuote(dst, space)
	dst = append(dst, `,"size":`...)
	dst = strconv.AppendInt(dst, int64(size), 10)
	dst = append(dst, `,"logicalType":"decimal","precision":`...)
	dst = strconv.AppendInt(dst, int64(t.Precision), 10)
	dst = append(dst, `,"scale":`...)
	return append(strconv.AppendInt(dst, int64(t.Scale), 10), '}')
}

func appendNested(dst []byte, t plan.Type, name, space string) ([]byte, error) {
	var err error
	switch {
	case t.Kind == plan.KindArray:
		dst, err = appendSchema(append(dst, `{"type":"array","items":`...), *t.Elem, t.ContainsNull, name, space)
		return append(dst, '}'), err
	case t.Kind == plan.KindMap && t.Key.IsString() && t.Key.Collation == "":
		dst, err = appendSchema(append(dst, `{"type":"map","values":`...), *t.Elem, t.ContainsNull, name, space)
		return append(dst, '}'), err
	case t.Kind != plan.KindStruct:
		return nil, incompatible("Avro has no type for %s.", t.SQL())
	}
	dst = strconv.AppendQuote(append(dst, `{"type":"record","name":`...), name)
	if space != "" {
		dst = strconv.AppendQuote(append(dst, `,"namespace":`...), space)
	}
	dst = append(dst, `,"fields":[`...)
	for i, f := range t.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendQuote(append(dst, `{"name":`...), f.Name)
		dst = append(dst, `,"type":`...)
		if dst, err = appendSchema(dst, f.Type, f.Nullable, f.Name, inside(space, name)); err != nil {
			return nil, err
		}
		dst = append(dst, '}')
	}
	return append(dst, `]}`...), nil
}
