package delta

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// altered is a table whose description a statement changes.
type altered struct {
	*Snapshot
	meta   Metadata
	schema plan.Type
	asked  []string // features asked for by name
}

func (s *Snapshot) altered() *altered {
	a := &altered{Snapshot: s, meta: s.Metadata, schema: s.Schema}
	a.meta.Configuration = maps.Clone(s.Metadata.Configuration)
	if a.meta.Configuration == nil {
		a.meta.Configuration = map[string]string{}
	}
	return a
}

// change is the commit of the description.
func (a *altered) change(operation string, now time.Time, params ...Param) (Change, error) {
	if err := a.checkWritable(); err != nil {
		return Change{}, err
	}
	if err := checkSchema(a.schema, &a.meta); err != nil {
		return Change{}, err
	}
	a.schema = a.meta.describe(a.schema)
	c := Change{Operation: operation, Params: params, Metadata: &a.meta, Now: now}
	if wider, ok := widerProtocol(a.Protocol, &a.meta, a.schema, a.asked); ok {
		c.Protocol = &wider
	}
	return c, nil
}

// fieldJSON is a column as the history shows it.
func fieldJSON(f plan.Field) string {
	text := Visible(plan.Struct(f)).JSON()
	return strings.TrimSuffix(strings.TrimPrefix(text, `{"type":"struct","fields":[`), `]}`)
}

// pathJSON is fieldJSON with the whole path for a name, and what the column kept of its types.
func pathJSON(path []string, f plan.Field) string {
	kept := marksOf(f)[typeChanges]
	f.Name = strings.Join(path, ".")
	f = Visible(plan.Struct(f)).Fields[0]
	if kept != nil {
		f = f.With(typeChanges, string(kept))
	}
	text := plan.Struct(f).JSON()
	return strings.TrimSuffix(strings.TrimPrefix(text, `{"type":"struct","fields":[`), `]}`)
}

// AddColumns is ALTER TABLE ADD COLUMNS.
func (s *Snapshot) AddColumns(columns []plan.NewColumn, now time.Time) (Change, error) {
	a := s.altered()
	shown := make([]string, len(columns))
	for i, c := range columns {
		if !c.Field.Nullable {
			return Change{}, newError(classAnalysis, "DELTA_OPERATION_NOT_ALLOWED",
				"A new column cannot be NOT NULL: the rows that are there have no value in it.",
				"operation", "NOT NULL in ALTER TABLE ADD COLUMNS")
		}
		var err error
		a.schema, err = within(a.schema, c.Path[:len(c.Path)-1], func(t plan.Type) (plan.Type, error) {
			if columnIndex(t, c.Field.Name) >= 0 {
				return t, fieldExists("add", c.Path, a.schema)
			}
			return inserted(t, c.Field, c.Place)
		}, s.noColumn)
		if e, ok := err.(*plan.Error); ok && e.Condition == "INVALID_FIELD_NAME" {
			e.Args["fieldName"] = plan.QuoteParts(c.Path)
		}
		if err != nil {
			return Change{}, at(err, c.Origin)
		}
		shown[i] = `{"column":` + fieldJSON(c.Field) + position(c.Place) + "}"
		if len(c.Path) > 1 {
			parent := strings.Join(c.Path[:len(c.Path)-1], ".")
			shown[i] = strings.Replace(shown[i], `{"column":{"name":`+plan.JSONText(c.Field.Name),
				`{"column":{"name":`+plan.JSONText(parent+"."+c.Field.Name), 1)
		}
	}
	return a.change("ADD COLUMNS", now, Text("columns", "["+strings.Join(shown, ",")+"]"))
}

// position is where a column goes as the history shows it.
func position(p plan.Placing) string {
	switch {
	case p.First:
		return `,"position":"FIRST"`
	case p.After != "":
		return `,"position":` + plan.JSONText("AFTER "+p.After)
	}
	return ""
}

// inserted is a struct with one more field.
func inserted(t plan.Type, f plan.Field, p plan.Placing) (plan.Type, error) {
	i := len(t.Fields)
	switch {
	case p.First:
		i = 0
	case p.After != "":
		if i = columnIndex(t, p.After) + 1; i == 0 {
			return t, missingField([]string{p.After}, t)
		}
	}
	return plan.Struct(slices.Insert(slices.Clone(t.Fields), i, f)...), nil
}

// within changes the struct that a path leads to: through fields of structs, the
// element of an array, the key or value of a map.
func within(t plan.Type, path []string, change func(plan.Type) (plan.Type, error),
	missing func(path []string, t plan.Type) error,
) (plan.Type, error) {
	if len(path) == 0 {
		if t.Kind != plan.KindStruct {
			return t, errNoStruct
		}
		return change(t)
	}
	step := func(inner plan.Type) (plan.Type, error) { return within(inner, path[1:], change, missing) }
	switch {
	case t.Kind == plan.KindArray && strings.EqualFold(path[0], "element"):
		elem, err := step(*t.Elem)
		return plan.Array(elem, t.ContainsNull), err
	case t.Kind == plan.KindMap && strings.EqualFold(path[0], "key"):
		key, err := step(*t.Key)
		return plan.Map(key, *t.Elem, t.ContainsNull), err
	case t.Kind == plan.KindMap && strings.EqualFold(path[0], "value"):
		value, err := step(*t.Elem)
		return plan.Map(*t.Key, value, t.ContainsNull), err
	case t.Kind != plan.KindStruct:
		return t, errNoStruct
	}
	i := columnIndex(t, path[0])
	if i < 0 {
		return t, missing(path, t)
	}
	fields := slices.Clone(t.Fields)
	var err error
	fields[i].Type, err = step(fields[i].Type)
	if err == errNoStruct {
		err = plan.AnalysisError("INVALID_FIELD_NAME",
			fmt.Sprintf("%s is no struct, so it has no fields.", plan.QuoteParts(path[:1])),
			"fieldName", plan.QuoteParts(path[:1]), "path", plan.QuoteParts(path[:1]))
	}
	return plan.Struct(fields...), err
}

// errNoStruct says that a path leads to what has no fields.
var errNoStruct = fmt.Errorf("no struct")

// at gives a user's mistake its place.
func at(err error, o *plan.Origin) error {
	if e, ok := err.(*plan.Error); ok {
		return e.At(o)
	}
	return err
}

// noColumn says that the table has no such column.
func (s *Snapshot) noColumn(path []string, _ plan.Type) error {
	return missingField(path[:1], s.Schema)
}

// missingField is the error for a name that no field has.
func missingField(path []string, t plan.Type) *plan.Error {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = plan.Quote(f.Name)
	}
	name := plan.QuoteParts(path)
	return plan.AnalysisError("UNRESOLVED_COLUMN.WITH_SUGGESTION",
		fmt.Sprintf("There is no column %s, only %s.", name, strings.Join(names, ", ")),
		"objectName", name, "proposal", strings.Join(names, ", "))
}

func fieldExists(operation string, path []string, t plan.Type) *plan.Error {
	return plan.AnalysisError("FIELD_ALREADY_EXISTS",
		fmt.Sprintf("There is a column %s already.", plan.QuoteParts(path)),
		"op", operation, "fieldNames", plan.QuoteParts(path), "struct", structText(Visible(t)))
}

// structText is a struct as errors of Spark show it.
func structText(t plan.Type) string {
	parts := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		parts[i] = plan.QuoteIfNeeded(f.Name) + ": " + f.Type.SQL()
		if !f.Nullable {
			parts[i] += " NOT NULL"
		}
		if c := f.Comment(); c != "" {
			parts[i] += " COMMENT '" + strings.ReplaceAll(c, "'", `\'`) + "'"
		}
	}
	return `"STRUCT<` + strings.Join(parts, ", ") + `>"`
}

// changeField changes the field that a path leads to.
func (a *altered) changeField(path []string, change func(t plan.Type, i int) (plan.Type, error)) error {
	var err error
	last := path[len(path)-1]
	a.schema, err = within(a.schema, path[:len(path)-1], func(t plan.Type) (plan.Type, error) {
		i := columnIndex(t, last)
		if i < 0 {
			return t, missingField(path, a.Schema)
		}
		return change(plan.Struct(slices.Clone(t.Fields)...), i)
	}, a.noColumn)
	if err == errNoStruct {
		err = missingField(path, a.Schema)
	}
	return err
}

// HasColumn reports whether there is a column or field of a path.
func (s *Snapshot) HasColumn(path []string) bool {
	return s.altered().changeField(path, func(t plan.Type, _ int) (plan.Type, error) { return t, nil }) == nil
}

const mappingAdvice = "\nPlease enable Column Mapping on your Delta table with mapping mode 'name'.\n" +
	"You can use one of the following commands.\n\n" +
	"ALTER TABLE table_name SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')\n\n" +
	"Note, if your table is not on the required protocol version it will be upgraded.\n" +
	"Column mapping requires at least protocol (2, 5)\n"

// needsMapping refuses what would leave the data files without their columns.
func (a *altered) needsMapping(condition, what string) error {
	if a.Metadata.mapping() != "none" {
		return nil
	}
	return newError(classAnalysis, condition,
		what+" needs column mapping: ALTER TABLE … SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name').",
		"advice", mappingAdvice)
}

// RenameColumn is ALTER TABLE RENAME COLUMN.
func (s *Snapshot) RenameColumn(r *plan.ColumnRename, now time.Time) (Change, error) {
	a := s.altered()
	before := a.schema
	err := a.changeField(r.Path, func(t plan.Type, i int) (plan.Type, error) {
		if other := columnIndex(t, r.To); other >= 0 && other != i {
			return t, fieldExists("rename", append(slices.Clone(r.Path[:len(r.Path)-1]), r.To), before)
		}
		t.Fields[i].Name = r.To
		return t, nil
	})
	if err == nil {
		err = a.needsMapping("DELTA_UNSUPPORTED_RENAME_COLUMN", "Renaming a column")
	}
	if err == nil {
		err = a.unused(r.Path, "rename")
	}
	if err != nil {
		return Change{}, at(err, r.Origin)
	}
	for i, p := range a.meta.PartitionColumns {
		if len(r.Path) == 1 && strings.EqualFold(p, r.Path[0]) {
			a.meta.PartitionColumns = slices.Clone(a.meta.PartitionColumns)
			a.meta.PartitionColumns[i] = r.To
		}
	}
	to := append(slices.Clone(r.Path[:len(r.Path)-1]), r.To)
	return a.change("RENAME COLUMN", now, Text("oldColumnPath", strings.Join(r.Path, ".")),
		Text("newColumnPath", strings.Join(to, ".")))
}

// unused refuses to rename or drop a column that a constraint or a computed column
// speaks of.
func (a *altered) unused(path []string, operation string) error {
	name := strings.ToLower(path[0])
	speaks := func(text string) bool {
		return slices.Contains(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return r != '_' && r != '$' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && r < 0x80
		}), name)
	}
	for _, c := range a.meta.Constraints(a.Schema) {
		if speaks(c.Condition) {
			return newError(classAnalysis, "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE",
				fmt.Sprintf("The constraint %s (%s) speaks of the column %s; drop it first.", c.Name, c.Condition,
					path[0]),
				"columnName", path[0], "constraints", "delta.constraints."+c.Name+" -> "+c.Condition)
		}
	}
	for _, f := range a.Schema.Fields {
		if text := ComputedOf(f).Generated; text != "" && speaks(text) {
			return newError(classAnalysis, "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE",
				fmt.Sprintf("The column %s is generated from %s.", f.Name, path[0]),
				"operation", operation, "columnName", path[0], "generatedColumns", f.Name+" -> "+text)
		}
	}
	return nil
}

// DropColumns is ALTER TABLE DROP COLUMNS.
func (s *Snapshot) DropColumns(paths [][]string, now time.Time) (Change, error) {
	a := s.altered()
	names := make([]string, len(paths))
	for i, path := range paths {
		err := a.changeField(path, func(t plan.Type, i int) (plan.Type, error) {
			t.Fields = slices.Delete(t.Fields, i, i+1)
			return t, nil
		})
		if err == nil {
			err = a.needsMapping("DELTA_UNSUPPORTED_DROP_COLUMN", "Dropping a column")
		}
		if err == nil {
			err = a.unused(path, "drop")
		}
		if err == nil && len(path) == 1 && s.Partitioned(path[0]) {
			err = newError(classAnalysis, "DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN",
				fmt.Sprintf("The table is partitioned by %s.", path[0]), "columnList", path[0])
		}
		if err != nil {
			return Change{}, err
		}
		names[i] = strings.Join(path, ".")
	}
	if len(a.schema.Fields) == 0 {
		return Change{}, newError(classAnalysis, "DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA",
			"A table keeps at least one column.")
	}
	return a.change("DROP COLUMNS", now, Text("columns", jsonList(names)))
}

// ChangeColumn is ALTER TABLE ALTER COLUMN: type, comment, NOT NULL, DEFAULT, place. There
// may be nothing to do: then the change has no operation. table is its name
// in errors.
func (s *Snapshot) ChangeColumn(c *plan.ColumnChange, table string, now time.Time) (Change, error) {
	a := s.altered()
	if c.Type != nil {
		changed, err := a.retype(c, table)
		if err != nil {
			return Change{}, at(err, c.Origin)
		}
		if changed != nil && c.Comment == nil && !c.Place.IsSet() {
			return a.change("CHANGE COLUMN", now, Text("column", pathJSON(c.Path, *changed)))
		}
		if changed == nil && c.Comment == nil && !c.Place.IsSet() {
			return Change{}, nil // it is of that type
		}
	}
	var changed plan.Field
	err := a.changeField(c.Path, func(t plan.Type, i int) (plan.Type, error) {
		f := t.Fields[i]
		if c.Nullable != nil && !*c.Nullable && f.Nullable {
			return t, plan.AnalysisError("_LEGACY_ERROR_TEMP_2330",
				"The column "+f.Name+" takes NULL, and rows may have it.", "fieldName", strings.Join(c.Path, "."))
		}
		if c.Comment != nil {
			f = f.Without("comment").With("comment", plan.JSONText(*c.Comment))
		}
		if c.Nullable != nil {
			f.Nullable = *c.Nullable
		}
		if c.Default != nil {
			var err error
			if f, err = a.withDefault(f, *c.Default); err != nil {
				return t, err
			}
		}
		changed = f
		t.Fields[i] = f
		if !c.Place.IsSet() {
			return t, nil
		}
		return inserted(plan.Struct(slices.Delete(t.Fields, i, i+1)...), f, c.Place)
	})
	if err != nil {
		return Change{}, at(err, c.Origin)
	}
	var place []Param
	if c.Place.First {
		place = []Param{Text("position", "FIRST")}
	} else if c.Place.After != "" {
		place = []Param{Text("position", "AFTER "+c.Place.After)}
	}
	return a.change("CHANGE COLUMN", now, append([]Param{Text("column", pathJSON(c.Path, changed))},
		place...)...)
}

// SetProperties is ALTER TABLE SET TBLPROPERTIES.
func (s *Snapshot) SetProperties(list []plan.Property, now time.Time) (Change, error) {
	shown := slices.Clone(list)
	for i, p := range list {
		if low := strings.ToLower(p.Key); strings.HasPrefix(low, featurePrefix) {
			shown[i].Key = low // so Delta writes it
		}
	}
	return s.setProperties(list, shown, now)
}

// AddFeature is DeltaTable.addFeatureSupport, which differs from SetProperties in
// what its commit tells.
func (s *Snapshot) AddFeature(name string, now time.Time) (Change, error) {
	list := []plan.Property{{Key: featurePrefix + name, Value: "supported"}}
	return s.setProperties(list, list, now)
}

func (s *Snapshot) setProperties(list, told []plan.Property, now time.Time) (Change, error) {
	given := map[string]string{}
	shown := make([]string, len(list))
	for i, p := range list {
		given[p.Key] = p.Value
		shown[i] = plan.JSONText(told[i].Key) + ":" + plan.JSONText(p.Value)
	}
	checked, err := CheckProperties(given)
	if err != nil {
		return Change{}, err
	}
	kept, asked, err := settled(checked)
	if err != nil {
		return Change{}, err
	}
	starting, err := askedByVersions(kept)
	if err != nil {
		return Change{}, err
	}
	a := s.altered()
	a.asked = append(asked, starting...)
	if comment, ok := kept["comment"]; ok {
		a.meta.Description = comment
		delete(kept, "comment")
	}
	before := s.Metadata.mapping()
	maps.Copy(a.meta.Configuration, kept)
	if err := a.checkSwitched(before); err != nil {
		return Change{}, err
	}
	if before == "none" && a.meta.mapping() != "none" {
		a.schema = a.meta.MapColumns(a.schema, true)
	}
	return a.change("SET TBLPROPERTIES", now, Text("properties", "{"+strings.Join(shown, ",")+"}"))
}

// askedByVersions are the features of the versions that properties ask for; they go
// out of the properties.
func askedByVersions(properties map[string]string) ([]string, error) {
	_, reader := properties["delta.minReaderVersion"]
	_, writer := properties["delta.minWriterVersion"]
	if !reader && !writer {
		return nil, nil
	}
	return startingFeatures(properties)
}

// checkSwitched refuses switches that need more than a new description.
func (a *altered) checkSwitched(before string) error {
	after := a.meta.mapping()
	switch {
	case before != after && (before != "none" || after != "name"):
		return newError("org.apache.spark.sql.delta.ColumnMappingException",
			"DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
			fmt.Sprintf("Column mapping cannot be changed from %s to %s.", before, after),
			"oldMode", before, "newMode", after)
	case enabled(rowsTracked)(&a.meta, a.schema) && !enabled(rowsTracked)(&a.Metadata, a.schema):
		return plan.Unsupported("Row tracking of a table that has rows (delta.enableRowTracking)")
	}
	return nil
}

// UnsetProperties is ALTER TABLE UNSET TBLPROPERTIES. As in Delta keys that are not
// there are passed over.
func (s *Snapshot) UnsetProperties(keys []string, now time.Time) (Change, error) {
	a := s.altered()
	before := s.Metadata.mapping()
	for _, key := range keys {
		if key == "comment" {
			a.meta.Description = ""
		}
		maps.DeleteFunc(a.meta.Configuration, func(have, _ string) bool {
			return have == key || strings.HasPrefix(strings.ToLower(key), "delta.") && strings.EqualFold(have, key)
		})
	}
	if err := a.checkSwitched(before); err != nil {
		return Change{}, err
	}
	return a.change("UNSET TBLPROPERTIES", now, Text("properties", jsonList(keys)), Flag("ifExists", true))
}

// AddConstraint is ALTER TABLE ADD CONSTRAINT … CHECK. Every row was looked at.
func (s *Snapshot) AddConstraint(name, condition string, now time.Time) (Change, error) {
	a := s.altered()
	key := constraintPrefix + strings.ToLower(name)
	if old, ok := a.meta.Configuration[key]; ok {
		return Change{}, newError(classAnalysis, "DELTA_CONSTRAINT_ALREADY_EXISTS",
			fmt.Sprintf("There is a constraint %s already: %s.", name, old),
			"constraintName", name, "oldConstraint", old)
	}
	a.meta.Configuration[key] = condition
	c, err := a.change("ADD CONSTRAINT", now, Text("name", name), Text("expr", condition))
	c.Reads = &Reads{Whole: true}
	return c, err
}

// DropConstraint is ALTER TABLE DROP CONSTRAINT.
func (s *Snapshot) DropConstraint(name string, ifExists bool, shown string, now time.Time) (Change, error) {
	a := s.altered()
	key := constraintPrefix + strings.ToLower(name)
	old, ok := a.meta.Configuration[key]
	if !ok && !ifExists {
		return Change{}, newError(classAnalysis, "DELTA_CONSTRAINT_DOES_NOT_EXIST",
			fmt.Sprintf("The table %s has no constraint %s.", shown, name), "constraintName", name, "tableName", shown,
			"config", "spark.databricks.delta.constraints.assumesDropIfExists.enabled", "confValue", "true")
	}
	delete(a.meta.Configuration, key)
	params := []Param{Text("name", name)}
	if ok {
		params = append(params, Text("expr", old))
	}
	existed := "false"
	if ok {
		existed = "true"
	}
	return a.change("DROP CONSTRAINT", now, append(params, Text("existed", existed))...)
}

// Truncation is TRUNCATE TABLE; false when there is nothing to remove.
func (s *Snapshot) Truncation(now time.Time) (Change, bool) {
	files := s.Files()
	c := Change{Operation: "TRUNCATE", Removes: files, Reads: &Reads{Whole: true}, Now: now,
		Metrics: []Param{Number("numRemovedFiles", int64(len(files)))}}
	return c, len(files) > 0
}
