package delta

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// typeChanges is where a column keeps the types that it had; old files are read by it.
const typeChanges = "delta.typeChanges"

// typeChange is one of them. Path leads from the column to an element, a key or a value.
type typeChange struct {
	To   string `json:"toType"`
	From string `json:"fromType"`
	Path string `json:"fieldPath,omitempty"`
}

// leaf is the end of a column's path: a field of a struct, or what lies within one.
type leaf struct {
	field  *plan.Field // the nearest field of a struct
	inside []string    // from there: element, key, value
	of     plan.Type
	null   bool
}

// atLeaf changes the type that a path leads to.
func atLeaf(t plan.Type, path []string, change func(leaf) (plan.Type, error)) (plan.Type, error) {
	i := columnIndex(t, path[0])
	if i < 0 {
		return t, errNoStruct
	}
	fields := make([]plan.Field, len(t.Fields))
	copy(fields, t.Fields)
	f := &fields[i]
	of, err := below(leaf{field: f, of: f.Type, null: f.Nullable}, path[1:], change)
	f.Type = of
	return plan.Struct(fields...), err
}

func below(l leaf, rest []string, change func(leaf) (plan.Type, error)) (plan.Type, error) {
	if len(rest) == 0 {
		return change(l)
	}
	into := func(of plan.Type, null bool) (plan.Type, error) {
		inner := leaf{field: l.field, of: of, null: null}
		inner.inside = append(append(inner.inside, l.inside...), strings.ToLower(rest[0]))
		return below(inner, rest[1:], change)
	}
	t := l.of
	switch {
	case t.Kind == plan.KindStruct:
		return atLeaf(t, rest, change)
	case t.Kind == plan.KindArray && strings.EqualFold(rest[0], "element"):
		elem, err := into(*t.Elem, t.ContainsNull)
		return plan.Array(elem, t.ContainsNull), err
	case t.Kind == plan.KindMap && strings.EqualFold(rest[0], "key"):
		key, err := into(*t.Key, false)
		return plan.Map(key, *t.Elem, t.ContainsNull), err
	case t.Kind == plan.KindMap && strings.EqualFold(rest[0], "value"):
		value, err := into(*t.Elem, t.ContainsNull)
		return plan.Map(*t.Key, value, t.ContainsNull), err
	}
	return t, errNoStruct
}

// retype gives a column its new type. The field is as the history shows it; nil says
// that the column has the type already.
func (a *altered) retype(c *plan.ColumnChange, table string) (*plan.Field, error) {
	var shown *plan.Field
	schema, err := atLeaf(a.schema, c.Path, func(l leaf) (plan.Type, error) {
		if c.Type.EqualIgnoringNull(l.of) {
			return l.of, nil
		}
		if !a.widens(l.of, *c.Type) {
			return l.of, changedType(c, l.of, table)
		}
		shown = &plan.Field{Name: l.field.Name, Type: *c.Type, Nullable: l.null}
		if len(l.inside) == 0 {
			shown.Metadata = l.field.Metadata
		}
		*l.field = withTypeChange(*l.field, typeChange{storedName(*c.Type), storedName(l.of),
			strings.Join(l.inside, ".")})
		return *c.Type, nil
	})
	if err == errNoStruct {
		err = missingField(c.Path, a.Schema)
	}
	if err == nil && shown != nil {
		err = a.unused(c.Path, "alter")
	}
	if err != nil {
		return nil, err
	}
	if shown != nil {
		a.schema = schema
	}
	return shown, nil
}

func storedName(t plan.Type) string { return strings.Trim(t.JSON(), `"`) }

func withTypeChange(f plan.Field, c typeChange) plan.Field {
	var all []typeChange
	if raw := marksOf(f)[typeChanges]; raw != nil {
		_ = json.Unmarshal(raw, &all) // what is no list is written anew
	}
	text, err := json.Marshal(append(all, c))
	if err != nil {
		panic(err) // strings only
	}
	return f.Without(typeChanges).With(typeChanges, string(text))
}

// widens reports whether the files of the table may keep values of one type while
// the column has another.
func (a *altered) widens(from, to plan.Type) bool {
	if a.Metadata.Configuration["delta.enableTypeWidening"] != "true" {
		return false
	}
	wholeDigits := to.Precision - to.Scale
	switch from.Kind {
	case plan.KindByte, plan.KindShort, plan.KindInt:
		return to.Kind > from.Kind && to.Kind <= plan.KindLong || to.Kind == plan.KindDouble ||
			to.Kind == plan.KindDecimal && wholeDigits >= 10
	case plan.KindLong:
		return to.Kind == plan.KindDecimal && wholeDigits >= 20
	case plan.KindFloat:
		return to.Kind == plan.KindDouble
	case plan.KindDate:
		return to.Kind == plan.KindTimestampNTZ
	case plan.KindDecimal:
		return to.Kind == plan.KindDecimal && to.Scale >= from.Scale && wholeDigits >= from.Precision-from.Scale
	}
	return false
}

// changedType refuses another type: the files that are there have the old one.
func changedType(c *plan.ColumnChange, from plan.Type, table string) error {
	name := strings.Join(c.Path, ".")
	if !plan.CanUpCast(from, *c.Type) {
		return plan.AnalysisError("NOT_SUPPORTED_CHANGE_COLUMN",
			fmt.Sprintf("The column %s of %s holds %s, and not every value of it is a %s.", name, table, from.SQL(),
				c.Type.SQL()),
			"table", table, "originName", plan.QuoteParts(c.Path), "originType", strconv.Quote(from.SQL()),
			"newName", plan.QuoteParts(c.Path), "newType", strconv.Quote(c.Type.SQL()))
	}
	return newError(classAnalysis, "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
		fmt.Sprintf("The type of the column %s cannot become %s from %s: set the table property "+
			"delta.enableTypeWidening to true, if the new type is a wider one.", name, c.Type.SQL(), from.SQL()),
		"fieldPath", name, "oldField", from.SQL(), "newField", c.Type.SQL())
}

// withDefault gives a field its DEFAULT, or none when the text is empty.
func (a *altered) withDefault(f plan.Field, text string) (plan.Field, error) {
	f = f.Without(plan.DefaultMark)
	if text == "" {
		return f, nil
	}
	for _, feature := range a.Protocol.WriterFeatures {
		if feature == "allowColumnDefaults" {
			return f.With(plan.DefaultMark, plan.JSONText(text)), nil
		}
	}
	return f, newError(classAnalysis, "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED",
		fmt.Sprintf("The column %s gets a DEFAULT; set the table property delta.feature.allowColumnDefaults to "+
			"supported first.", f.Name), "commandType", "ALTER TABLE")
}
