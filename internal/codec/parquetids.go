package codec

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-dev/weir/internal/plan"
)

// FieldIDMark is where Spark keeps the id of a Parquet field in the metadata of a
// column.
const FieldIDMark = "parquet.field.id"

// arrowIDMark is where the Parquet library looks for it.
const arrowIDMark = "PARQUET:field_id"

// noID is the id of a field that has none.
const noID = "-1"

// identified is an Arrow schema without metadata but the ids that the fields of a
// Spark type have, those within structs too.
func identified(s *arrow.Schema, t plan.Type) *arrow.Schema {
	return arrow.NewSchema(identifiedFields(s.Fields(), t.Fields), nil)
}

func identifiedFields(fields []arrow.Field, of []plan.Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		f.Type, f.Metadata = identifiedType(f.Type, of[i].Type), arrow.Metadata{}
		if id, ok := fieldID(of[i]); ok {
			f.Metadata = arrow.NewMetadata([]string{arrowIDMark}, []string{strconv.Itoa(id)})
		}
		out[i] = f
	}
	return out
}

func identifiedType(a arrow.DataType, t plan.Type) arrow.DataType {
	inner := func(f arrow.Field, t plan.Type) arrow.Field {
		f.Type = identifiedType(f.Type, t)
		return f
	}
	switch a := a.(type) {
	case *arrow.StructType:
		if t.Kind == plan.KindStruct {
			return arrow.StructOf(identifiedFields(a.Fields(), t.Fields)...)
		}
	case *arrow.ListType:
		return arrow.ListOfField(inner(a.ElemField(), *t.Elem))
	case *arrow.MapType:
		return arrow.MapOfFields(inner(a.KeyField(), *t.Key), inner(a.ItemField(), *t.Elem))
	}
	return a
}

// fieldID is the id in a field's metadata.
func fieldID(f plan.Field) (int, bool) {
	_, after, ok := strings.Cut(f.Metadata, `"`+FieldIDMark+`":`)
	if !ok {
		return 0, false
	}
	end := strings.IndexAny(after, ",}")
	if end < 0 {
		return 0, false
	}
	id, err := strconv.Atoi(strings.TrimSpace(after[:end]))
	return id, err == nil
}

// notInFile is the name of a field that a file lacks: no file has a field of it.
const notInFile = "\x00"

// NamesByID is the columns of want, which have ids in their metadata, under the
// names that the file gives to the fields of these ids. It reports false when the
// file has no ids.
func (f *ParquetFile) NamesByID(want plan.Type) (plan.Type, bool) {
	as, err := f.arrow.Schema()
	if err != nil {
		return want, false
	}
	found := false
	named := namesByID(want.Fields, as.Fields(), &found)
	return plan.Struct(named...), found || len(as.Fields()) == 0
}

func namesByID(want []plan.Field, have []arrow.Field, found *bool) []plan.Field {
	byID := map[string]arrow.Field{}
	for _, h := range have {
		if id, ok := h.Metadata.GetValue(arrowIDMark); ok && id != noID {
			byID[id], *found = h, true
		}
	}
	out := make([]plan.Field, len(want))
	for i, w := range want {
		out[i] = w
		id, ok := fieldID(w)
		if !ok {
			continue // known by its name
		}
		h, inFile := byID[strconv.Itoa(id)]
		if !inFile {
			out[i].Name = notInFile
			continue
		}
		out[i].Name, out[i].Type = h.Name, typeByID(w.Type, h.Type, found)
	}
	return out
}

func typeByID(t plan.Type, a arrow.DataType, found *bool) plan.Type {
	switch a := a.(type) {
	case *arrow.StructType:
		if t.Kind == plan.KindStruct {
			return plan.Struct(namesByID(t.Fields, a.Fields(), found)...)
		}
	case *arrow.ListType:
		if t.Kind == plan.KindArray {
			return plan.Array(typeByID(*t.Elem, a.Elem(), found), t.ContainsNull)
		}
	case *arrow.MapType:
		if t.Kind == plan.KindMap {
			key, elem := typeByID(*t.Key, a.KeyType(), found), typeByID(*t.Elem, a.ItemType(), found)
			return plan.Map(key, elem, t.ContainsNull)
		}
	}
	return t
}
