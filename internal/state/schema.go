package state

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

const schemaName = "schema"

// storedShape is a Shape in the file schema. Columns are a struct type in
// Spark's JSON.
type storedShape struct {
	Name      string          `json:"name"`
	Key       json.RawMessage `json:"key"`
	Value     json.RawMessage `json:"value"`
	Many      bool            `json:"many"`
	Expiry    int             `json:"expiry"`
	ExpiryKey int             `json:"expiryKey"`
	Millis    bool            `json:"millis,omitempty"`
	Prefix    int             `json:"prefix,omitempty"`
}

type storedShapes struct {
	Version int           `json:"version"`
	Tables  []storedShape `json:"tables"`
}

const schemaVersion = 1

func encodeShapes(shapes []Shape) []byte {
	all := storedShapes{Version: schemaVersion}
	for _, s := range shapes {
		all.Tables = append(all.Tables, storedShape{
			Name: s.Name, Key: json.RawMessage(s.KeyType().JSON()), Value: json.RawMessage(s.ValueType().JSON()),
			Many: s.Many, Expiry: s.Expiry, ExpiryKey: s.ExpiryKey, Millis: s.Millis,
			Prefix: s.Prefix,
		})
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		panic(err) // Spark's JSON of a type is JSON
	}
	return append(data, '\n')
}

// KeyType is the key columns as a struct.
func (s Shape) KeyType() plan.Type { return structOf(s.Key) }

// ValueType is the value columns as a struct.
func (s Shape) ValueType() plan.Type { return structOf(s.Value) }

func structOf(columns []Column) plan.Type {
	t := plan.Type{Kind: plan.KindStruct}
	for _, c := range columns {
		t.Fields = append(t.Fields, plan.Field{Name: c.Name, Type: c.Type, Nullable: true})
	}
	return t
}

func parseShapes(data []byte) ([]Shape, error) {
	var all storedShapes
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if all.Version != schemaVersion {
		return nil, fmt.Errorf("its version is %d, this weir reads %d", all.Version, schemaVersion)
	}
	shapes := make([]Shape, len(all.Tables))
	for i, t := range all.Tables {
		s := Shape{
			Name: t.Name, Many: t.Many, Expiry: t.Expiry, ExpiryKey: t.ExpiryKey, Millis: t.Millis, Prefix: t.Prefix,
		}
		var err error
		if s.Key, err = parseColumns(t.Key); err == nil {
			s.Value, err = parseColumns(t.Value)
		}
		if err != nil {
			return nil, err
		}
		if s.Expiry < 0 || s.Expiry > len(s.Value) || s.ExpiryKey < 0 || s.ExpiryKey > len(s.Key) {
			return nil, fmt.Errorf("the table %s expires by a column that it does not have", s.Name)
		}
		if s.Prefix < 0 || s.Prefix > len(s.Key) {
			return nil, fmt.Errorf("the table %s has a prefix of %d columns", s.Name, s.Prefix)
		}
		shapes[i] = s
	}
	return shapes, nil
}

func parseColumns(text json.RawMessage) ([]Column, error) {
	t, err := plan.ParseTypeJSON(string(text))
	if err != nil {
		return nil, err
	}
	if t.Kind != plan.KindStruct {
		return nil, fmt.Errorf("columns are a struct, not %s", t.Simple())
	}
	var out []Column
	for _, f := range t.Fields {
		out = append(out, Column{Name: f.Name, Type: f.Type})
	}
	return out, nil
}

// sameShapes tells whether two lists are the same to the letter.
func sameShapes(a, b []Shape) bool {
	return slices.Equal(encodeShapes(a), encodeShapes(b))
}

// compare finds a column of another type. Names may differ: Spark goes on with
// renamed columns.
func compare(dir string, stored, wanted []Shape) error {
	e := &SchemaError{Dir: dir, Stored: stored, Wanted: wanted}
	for i := range max(len(stored), len(wanted)) {
		e.Table = i
		if i >= len(stored) || i >= len(wanted) {
			e.Key = true
			return e
		}
		if e.Key = !sameTypes(stored[i].Key, wanted[i].Key); e.Key || !sameTypes(stored[i].Value, wanted[i].Value) {
			return e
		}
	}
	return nil
}

func sameTypes(a, b []Column) bool {
	return slices.EqualFunc(a, b, func(a, b Column) bool {
		return nameless(a.Type).JSON() == nameless(b.Type).JSON()
	})
}

// nameless is a type that compares equal when only names and nullability
// differ, within it too.
func nameless(t plan.Type) plan.Type {
	t.ContainsNull = true
	if t.Key != nil {
		key := nameless(*t.Key)
		t.Key = &key
	}
	if t.Elem != nil {
		elem := nameless(*t.Elem)
		t.Elem = &elem
	}
	fields := make([]plan.Field, len(t.Fields))
	for i, f := range t.Fields {
		fields[i] = plan.Field{Name: fmt.Sprint("_", i), Type: nameless(f.Type), Nullable: true}
	}
	t.Fields = fields
	return t
}
