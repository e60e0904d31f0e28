package delta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// Under column mapping a column has a name of its own in data files, and an id.
// Both stand in its metadata; the fields of structs have them too.
const (
	mappingMode  = "delta.columnMapping.mode"
	maxColumnID  = "delta.columnMapping.maxColumnId"
	columnID     = "delta.columnMapping.id"
	physicalMark = "delta.columnMapping.physicalName"
)

// hiddenMarks are what Delta keeps in the metadata of columns and shows to no
// reader.
var hiddenMarks = []string{
	columnID, physicalMark, "delta.columnMapping.nested.ids", codec.FieldIDMark, generationMark,
	"delta.invariants", typeChanges, identityStart, identityStep, identityHigh, identityExplicit,
}

const (
	generationMark   = "delta.generationExpression"
	identityStart    = "delta.identity.start"
	identityStep     = "delta.identity.step"
	identityHigh     = "delta.identity.highWaterMark"
	identityExplicit = "delta.identity.allowExplicitInsert"
)

// marks are the entries of a column's metadata.
type marks map[string]json.RawMessage

func marksOf(f plan.Field) marks {
	m := marks{}
	if f.Metadata != "" && json.Unmarshal([]byte(f.Metadata), &m) != nil {
		return marks{}
	}
	return m
}

// text is an entry that is a string, "" when there is none.
func (m marks) text(key string) string {
	var s string
	if json.Unmarshal(m[key], &s) != nil {
		return ""
	}
	return s
}

// number is an entry that is a whole number.
func (m marks) number(key string) (int64, bool) {
	var n int64
	raw, ok := m[key]
	return n, ok && json.Unmarshal(raw, &n) == nil
}

// set puts an entry in; the value is a string, a number or a truth value.
func (m marks) set(key string, value plan.Value) {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	m[key] = raw
}

// on is the field with these entries.
func (m marks) on(f plan.Field) plan.Field {
	f.Metadata = ""
	if len(m) == 0 {
		return f
	}
	parts := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, plan.JSONText(key)+":"+string(m[key]))
	}
	f.Metadata = "{" + strings.Join(parts, ",") + "}"
	return f
}

// eachField is a type with every field of it, those of structs in it too,
// replaced by what change makes of it.
func eachField(t plan.Type, change func(plan.Field) plan.Field) plan.Type {
	switch t.Kind {
	case plan.KindArray:
		return plan.Array(eachField(*t.Elem, change), t.ContainsNull)
	case plan.KindMap:
		return plan.Map(eachField(*t.Key, change), eachField(*t.Elem, change), t.ContainsNull)
	case plan.KindStruct:
		fields := make([]plan.Field, len(t.Fields))
		for i, f := range t.Fields {
			f = change(f)
			f.Type = eachField(f.Type, change)
			fields[i] = f
		}
		return plan.Struct(fields...)
	}
	return t
}

// without is the field without some entries of its metadata.
func without(f plan.Field, keys ...string) plan.Field {
	if f.Metadata == "" {
		return f
	}
	m := marksOf(f)
	before := len(m)
	for _, key := range keys {
		delete(m, key)
	}
	if len(m) == before {
		return f
	}
	return m.on(f)
}

// Visible is a table's schema as its readers see it: without what Delta keeps for
// itself in the metadata of columns.
func Visible(schema plan.Type) plan.Type {
	return eachField(schema, func(f plan.Field) plan.Field { return without(f, hiddenMarks...) })
}

// physicalName is what a column is called in data files and in the log.
func physicalName(f plan.Field) string {
	if f.Metadata == "" || !strings.Contains(f.Metadata, physicalMark) {
		return f.Name
	}
	if name := marksOf(f).text(physicalMark); name != "" {
		return name
	}
	return f.Name
}

// physical is a type as it stands in data files: names of their own and, as Spark
// has it, ids in the metadata.
func physical(t plan.Type) plan.Type {
	return eachField(t, func(f plan.Field) plan.Field {
		m, name := marksOf(f), physicalName(f)
		id, ok := m.number(columnID)
		f.Name, f.Metadata = name, ""
		if ok {
			kept := marks{}
			kept.set(codec.FieldIDMark, id)
			f = kept.on(f)
		}
		return f
	})
}

// mapped is the table's way of finding columns in files: none, name or id.
func (m *Metadata) mapping() string {
	mode := strings.ToLower(m.Configuration[mappingMode])
	if mode == "" {
		return "none"
	}
	return mode
}

// Mapped reports whether columns have names of their own in data files.
func (s *Snapshot) Mapped() bool { return s.Metadata.Mapped() }

// Mapped reports whether a table of this description maps its columns.
func (m *Metadata) Mapped() bool { return m.mapping() != "none" }

// Reads reports whether files that were written under another description of the table
// are read whole with the columns of this version: each of their columns is one of its
// own, of the same type and, in files, of the same name.
func (s *Snapshot) Reads(m *Metadata) (bool, error) {
	if m.SchemaString == s.Metadata.SchemaString {
		return true, nil
	}
	schema, err := m.schema()
	return err == nil && covers(s.Schema, schema), err
}

// covers reports whether every field of a type is in another one, at the same place.
func covers(wide, t plan.Type) bool {
	switch {
	case wide.Kind != t.Kind:
		return false
	case t.Kind == plan.KindArray:
		return covers(*wide.Elem, *t.Elem)
	case t.Kind == plan.KindMap:
		return covers(*wide.Key, *t.Key) && covers(*wide.Elem, *t.Elem)
	case t.Kind != plan.KindStruct:
		return wide.EqualIgnoringNull(t)
	}
	for _, f := range t.Fields {
		at := columnIndex(wide, f.Name)
		if at < 0 || physicalName(wide.Fields[at]) != physicalName(f) || !covers(wide.Fields[at].Type, f.Type) {
			return false
		}
	}
	return true
}

// checkMapping refuses modes that there are not, and columns without the marks
// that the mode rests on.
func (s *Snapshot) checkMapping(schema plan.Type) error {
	mode := s.Metadata.mapping()
	if mode != "name" && mode != "id" {
		return s.refuse("READ", []string{"columnMapping mode " + mode})
	}
	var lacking string
	eachField(schema, func(f plan.Field) plan.Field {
		m := marksOf(f)
		if _, ok := m.number(columnID); !ok || m.text(physicalMark) == "" {
			lacking = f.Name
		}
		return f
	})
	if lacking != "" {
		return damaged(s.logPath(commitName(s.Version)),
			fmt.Sprintf("the column %s has no physical name or id, though columns are mapped by %s", lacking, mode))
	}
	return nil
}

// MapColumns is a schema whose fields all have an id, and a name in files. Fields that
// have none get the next ids, and names that nothing else has; keepNames lets them be
// called in files as they are now, for the files that are there.
func (m *Metadata) MapColumns(schema plan.Type, keepNames bool) plan.Type {
	last, _ := strconv.ParseInt(m.Configuration[maxColumnID], 10, 64)
	eachField(schema, func(f plan.Field) plan.Field {
		if id, ok := marksOf(f).number(columnID); ok {
			last = max(last, id)
		}
		return f
	})
	schema = eachField(schema, func(f plan.Field) plan.Field {
		own := marksOf(f)
		if _, ok := own.number(columnID); ok && own.text(physicalMark) != "" {
			return f
		}
		last++
		own.set(columnID, last)
		name := f.Name
		if !keepNames {
			name = "col-" + uuid.NewString()
		}
		own.set(physicalMark, name)
		return own.on(f)
	})
	m.Configuration[maxColumnID] = strconv.FormatInt(last, 10)
	return schema
}

// describe puts a schema into the description, with names and ids for files if the
// table maps its columns, and gives it as it stands there.
func (m *Metadata) describe(schema plan.Type) plan.Type {
	if m.mapping() != "none" {
		schema = m.MapColumns(schema, false)
	}
	m.SchemaString = plan.MarkLengths(schema).JSON()
	return schema
}

// keepMarks gives the fields of a schema that takes the place of another what those of
// the same name and type have in files.
func keepMarks(schema, old plan.Type) plan.Type {
	if old.Kind != schema.Kind {
		return schema
	}
	switch schema.Kind {
	case plan.KindArray:
		return plan.Array(keepMarks(*schema.Elem, *old.Elem), schema.ContainsNull)
	case plan.KindMap:
		return plan.Map(keepMarks(*schema.Key, *old.Key), keepMarks(*schema.Elem, *old.Elem), schema.ContainsNull)
	case plan.KindStruct:
		fields := slices.Clone(schema.Fields)
		for i, f := range fields {
			at := columnIndex(old, f.Name)
			if at < 0 || f.Type.IsAtomic() && !f.Type.EqualIgnoringNull(old.Fields[at].Type) ||
				f.Type.Kind != old.Fields[at].Type.Kind {
				continue
			}
			own, before := marksOf(f), marksOf(old.Fields[at])
			for _, key := range []string{columnID, physicalMark} {
				if raw, ok := before[key]; ok {
					own[key] = raw
				}
			}
			f.Type = keepMarks(f.Type, old.Fields[at].Type)
			fields[i] = own.on(f)
		}
		return plan.Struct(fields...)
	}
	return schema
}

// relabel is a column under the type that the table gives it; the memory is the
// same.
func relabel(v *chunk.Vector, t plan.Type) *chunk.Vector {
	kinds := []plan.Type{}
	switch t.Kind {
	case plan.KindStruct:
		for _, f := range t.Fields {
			kinds = append(kinds, f.Type)
		}
	case plan.KindArray:
		kinds = []plan.Type{*t.Elem}
	case plan.KindMap:
		kinds = []plan.Type{*t.Key, *t.Elem}
	default:
		return v
	}
	n := *v
	n.Type, n.Kids = t, make([]*chunk.Vector, len(kinds))
	for i, kind := range kinds {
		n.Kids[i] = relabel(v.Kids[i], kind)
	}
	return &n
}

// ColumnChanges are columns and fields that one description of a table has otherwise than
// another.
type ColumnChanges struct{ Renamed, Dropped, Retyped []string }

// ChangedColumns compares two schemas as the log has them: what the second lacks, calls by
// another name, or has with another type. Columns that it adds are no such change.
func ChangedColumns(before, after string) (ColumnChanges, error) {
	var c ColumnChanges
	from, err := plan.ParseTypeJSON(before)
	if err != nil {
		return c, err
	}
	to, err := plan.ParseTypeJSON(after)
	if err == nil {
		c.compare("", from, to)
	}
	return c, err
}

func (c *ColumnChanges) compare(name string, from, to plan.Type) {
	switch {
	case from.Kind != to.Kind:
		c.Retyped = append(c.Retyped, name)
	case from.Kind == plan.KindStruct:
		c.fields(name, from, to)
	case from.Kind == plan.KindArray:
		c.compare(name+".element", *from.Elem, *to.Elem)
	case from.Kind == plan.KindMap:
		c.compare(name+".key", *from.Key, *to.Key)
		c.compare(name+".value", *from.Elem, *to.Elem)
	case !from.EqualIgnoringNull(to):
		c.Retyped = append(c.Retyped, name)
	}
}

func (c *ColumnChanges) fields(name string, from, to plan.Type) {
	for _, f := range from.Fields {
		full := strings.TrimPrefix(name+"."+f.Name, ".")
		at := slices.IndexFunc(to.Fields, func(g plan.Field) bool { return physicalName(g) == physicalName(f) })
		if at < 0 {
			c.Dropped = append(c.Dropped, full)
			continue
		}
		if to.Fields[at].Name != f.Name {
			c.Renamed = append(c.Renamed, full)
		}
		c.compare(full, f.Type, to.Fields[at].Type)
	}
}
