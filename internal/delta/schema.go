package delta

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// checkSchema refuses columns that no Delta table can have.
func checkSchema(schema plan.Type, m *Metadata) error {
	if err := checkDuplicates(schema); err != nil {
		return err
	}
	partitions := m.PartitionColumns
	for _, f := range schema.Fields {
		if m.mapping() == "none" && strings.ContainsAny(f.Name, " ,;{}()\n\t=") {
			return newError(classAnalysis, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES",
				fmt.Sprintf("The column name %q has one of the characters ' ,;{}()=', a tab or a line break.", f.Name),
				"invalidColumnNames", f.Name)
		}
		if kind := unstorable(f.Type); kind != "" {
			return newError(classAnalysis, "DELTA_UNSUPPORTED_DATA_TYPES",
				fmt.Sprintf("A Delta table cannot hold the column %s of type %s.", f.Name, kind),
				"dataTypeList", kind)
		}
	}
	for _, p := range partitions {
		at := columnIndex(schema, p)
		if at < 0 {
			return newError(classAnalysis, "DELTA_PARTITION_COLUMN_NOT_FOUND",
				fmt.Sprintf("There is no column %s to partition by.", p),
				"columnName", p, "schemaMap", schema.DDL())
		}
		if t := schema.Fields[at].Type; !t.IsAtomic() {
			return newError(classAnalysis, "DELTA_INVALID_PARTITION_COLUMN_TYPE",
				fmt.Sprintf("A column of type %s cannot be a partition column.", t.Simple()),
				"name", p, "dataType", typeName(t))
		}
	}
	if len(partitions) > 0 && len(partitions) == len(schema.Fields) {
		return newError(classAnalysis, "DELTA_ALL_COLUMNS_ARE_PARTITION",
			"Every column is a partition column, so no data would be left for the files.")
	}
	return checkIdentities(schema, partitions)
}

func checkDuplicates(schema plan.Type) error {
	for i, f := range schema.Fields {
		if at := columnIndex(schema, f.Name); at < i {
			name := strings.ToLower(f.Name)
			return newError(classAnalysis, "DELTA_DUPLICATE_COLUMNS_FOUND.DATA",
				fmt.Sprintf("The column %s occurs twice in the data to write.", name), "duplicateCols", name)
		}
	}
	return nil
}

// unstorable names a type within t that Delta has not, "" when there is none.
func unstorable(t plan.Type) string {
	switch t.Kind {
	case plan.KindNull, plan.KindCalendar, plan.KindDayTime, plan.KindYearMonth, plan.KindTime, plan.KindVariant:
		return t.SQL()
	case plan.KindArray:
		return unstorable(*t.Elem)
	case plan.KindMap:
		if bad := unstorable(*t.Key); bad != "" {
			return bad
		}
		return unstorable(*t.Elem)
	}
	for _, f := range t.Fields {
		if bad := unstorable(f.Type); bad != "" {
			return bad
		}
	}
	return ""
}

// FitOptions say how data may differ from the table it is written to.
type FitOptions struct {
	// MergeSchema adds the columns that the table lacks.
	MergeSchema bool
	// OverwriteSchema gives the table the columns of the data; only for a
	// change that replaces everything.
	OverwriteSchema bool
	// Castable reports whether values of one type may be turned into another;
	// nil for no.
	Castable func(from, to plan.Type) bool
	// Partitions are the partition columns that the writer named; nil for those
	// of the table.
	Partitions []string
	// Properties and Defaults are those of a table that is made.
	Properties, Defaults map[string]string
	Now                  time.Time
}

// Fit is how data gets into a table.
type Fit struct {
	// Schema and Partitions are those that the table has after the write.
	Schema     plan.Type
	Partitions []string
	// From is, for each of Schema's columns, its place in the data, -1 for none.
	From []int
	// Metadata and Protocol belong into the Change when the table is new or gets
	// other columns; nil otherwise.
	Metadata *Metadata
	Protocol *Protocol
	// Numbered says that Metadata is there for the numbers that identity columns gave.
	Numbered bool
}

// Fit matches data with the table's columns by name, whatever their case.
func (s *Snapshot) Fit(data plan.Type, o FitOptions) (*Fit, error) {
	if err := checkDuplicates(data); err != nil {
		return nil, err
	}
	o.Partitions = spelled(data, o.Partitions)
	if s.Version < 0 {
		m, p, err := NewMetadata(CreateSpec{Schema: plainColumns(data), Partitions: o.Partitions,
			Properties: o.Properties, Defaults: o.Defaults, Now: o.Now})
		if err != nil {
			return nil, err
		}
		fit, err := m.Fit()
		fit.Protocol = p
		return fit, err
	}
	if o.OverwriteSchema {
		return s.described(data, o)
	}
	if o.Partitions != nil && !sameNames(o.Partitions, s.Metadata.PartitionColumns) {
		return nil, s.mismatch(data, fmt.Sprintf("it is partitioned by (%s), the write by (%s)",
			strings.Join(s.Metadata.PartitionColumns, ", "), strings.Join(o.Partitions, ", ")))
	}
	fit := &Fit{Schema: plan.Struct(slices.Clone(s.Schema.Fields)...), Partitions: s.Metadata.PartitionColumns}
	taken := map[int]bool{}
	for i, f := range s.Schema.Fields {
		at := columnIndex(data, f.Name)
		fit.From = append(fit.From, at)
		if at < 0 && !f.Nullable && !ComputedOf(f).Fills() {
			return nil, newError(classInvariant, "DELTA_MISSING_NOT_NULL_COLUMN_VALUE",
				fmt.Sprintf("The column %s takes no NULL, and the data has no such column.", f.Name), "columnName",
				f.Name)
		}
		if at < 0 {
			continue
		}
		taken[at] = true
		m := merge{s, data, o, f.Name, data.Fields[at].Name}
		var err error
		if fit.Schema.Fields[i].Type, err = m.types(f.Type, data.Fields[at].Type); err != nil {
			return nil, err
		}
	}
	for i, f := range data.Fields {
		if taken[i] {
			continue
		}
		if !o.MergeSchema {
			return nil, s.mismatch(data, fmt.Sprintf("it has no column %s", f.Name))
		}
		fit.Schema.Fields = append(fit.Schema.Fields, plainColumns(plan.Struct(f)).Fields[0])
		fit.From = append(fit.From, i)
	}
	if !fit.Schema.Equal(s.Schema) {
		return fit, s.redescribe(fit)
	}
	return fit, nil
}

// plainColumns are columns of data as those of a table: nullable, and without what
// their own tables said of them.
func plainColumns(data plan.Type) plan.Type {
	return eachField(data.AsNullable(), func(f plan.Field) plan.Field {
		return without(without(f, hiddenMarks...), plan.DefaultMark)
	})
}

// Fit is how rows with just the columns of a new table get into it.
func (m *Metadata) Fit() (*Fit, error) {
	schema, err := m.schema()
	return &Fit{Schema: schema, Partitions: m.PartitionColumns, From: identity(len(schema.Fields)),
		Metadata: m}, err
}

// spelled are names as the schema writes them.
func spelled(schema plan.Type, names []string) []string {
	out := slices.Clone(names)
	for i, name := range names {
		if at := columnIndex(schema, name); at >= 0 {
			out[i] = schema.Fields[at].Name
		}
	}
	return out
}

func identity(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

func sameNames(a, b []string) bool {
	return slices.EqualFunc(a, b, strings.EqualFold)
}

// merge fits a column of the data to one of the table.
type merge struct {
	s      *Snapshot
	data   plan.Type
	o      FitOptions
	column string // of the table
	name   string // of the data's column
}

// types is the table's type when data of another one has come in: the same, unless
// structs get fields. Fields that the data lacks are NULL.
func (m merge) types(table, data plan.Type) (plan.Type, error) {
	bare := table.Unbounded()
	switch {
	case data.Unbounded().EqualIgnoringNull(bare), data.Kind == plan.KindNull:
		return table, nil
	case table.Kind != data.Kind:
	case table.Kind == plan.KindStruct:
		return m.structs(table, data)
	case table.Kind == plan.KindArray:
		elem, err := m.types(*table.Elem, *data.Elem)
		return plan.Array(elem, table.ContainsNull), err
	case table.Kind == plan.KindMap:
		key, err := m.types(*table.Key, *data.Key)
		if err != nil {
			return table, err
		}
		elem, err := m.types(*table.Elem, *data.Elem)
		return plan.Map(key, elem, table.ContainsNull), err
	}
	if m.o.Castable != nil && m.o.Castable(data, bare) {
		return table, nil
	}
	e := newError(classAnalysis, "DELTA_FAILED_TO_MERGE_FIELDS",
		fmt.Sprintf("The column %s of the table is %s, that of the data %s.", m.column, table.Simple(),
			data.Simple()),
		"currentField", m.column, "updateField", m.name)
	e.Cause = newError(classAnalysis, "DELTA_MERGE_INCOMPATIBLE_DATATYPE",
		fmt.Sprintf("%s does not become %s.", data.Simple(), table.Simple()),
		"currentDataType", typeName(table), "updateDataType", typeName(data))
	return table, e
}

func (m merge) structs(table, data plan.Type) (plan.Type, error) {
	fields := slices.Clone(table.Fields)
	for i, f := range fields {
		at := columnIndex(data, f.Name)
		if at < 0 {
			continue
		}
		var err error
		if fields[i].Type, err = m.types(f.Type, data.Fields[at].Type); err != nil {
			return table, err
		}
	}
	for _, f := range data.Fields {
		if columnIndex(table, f.Name) >= 0 {
			continue
		}
		if !m.o.MergeSchema {
			return table, m.s.mismatch(m.data, fmt.Sprintf("the struct %s has no field %s", m.column, f.Name))
		}
		fields = append(fields, plainColumns(plan.Struct(f)).Fields[0])
	}
	return plan.Struct(fields...), nil
}

func (s *Snapshot) mismatch(data plan.Type, why string) *plan.Error {
	e := newError(classMismatch, "DELTA_METADATA_MISMATCH",
		fmt.Sprintf("The data does not fit the Delta table at %s: %s. Table: %s. Data: %s.",
			s.Dir, why, s.Schema.DDL(), data.DDL()))
	e.Hint = "The options mergeSchema and overwriteSchema change the table's columns."
	return e
}

// described gives the table the columns and partitions of the data.
func (s *Snapshot) described(data plan.Type, o FitOptions) (*Fit, error) {
	fit := &Fit{Schema: keepMarks(plainColumns(data), s.Schema), Partitions: o.Partitions,
		From: identity(len(data.Fields))}
	same := sameNames(fit.Partitions, s.Metadata.PartitionColumns)
	if same && fit.Schema.Equal(s.Schema) {
		return fit, nil
	}
	return fit, s.redescribe(fit)
}

// redescribe makes the table's description and protocol fit its new columns.
func (s *Snapshot) redescribe(fit *Fit) error {
	m := s.Metadata
	m.Configuration = maps.Clone(m.Configuration)
	m.PartitionColumns = fit.Partitions
	if m.PartitionColumns == nil {
		m.PartitionColumns = []string{}
	}
	if err := checkSchema(fit.Schema, &m); err != nil {
		return err
	}
	fit.Schema = m.describe(fit.Schema)
	fit.Metadata = &m
	if wider, ok := widerProtocol(s.Protocol, &m, fit.Schema, nil); ok {
		fit.Protocol = &wider
	}
	return nil
}

// schema is what the description says of the columns.
func (m *Metadata) schema() (plan.Type, error) {
	schema, err := plan.ParseTypeJSON(m.SchemaString)
	return plan.RestoreLengths(schema), err
}

// typeName is a type as Spark's classes call it: DoubleType, DecimalType(5,2).
func typeName(t plan.Type) string {
	switch t.Kind {
	case plan.KindDecimal:
		return fmt.Sprintf("DecimalType(%d,%d)", t.Precision, t.Scale)
	case plan.KindArray:
		return fmt.Sprintf("ArrayType(%s,%t)", typeName(*t.Elem), t.ContainsNull)
	case plan.KindMap:
		return fmt.Sprintf("MapType(%s,%s,%t)", typeName(*t.Key), typeName(*t.Elem), t.ContainsNull)
	case plan.KindStruct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = fmt.Sprintf("StructField(%s,%s,%t)", f.Name, typeName(f.Type), f.Nullable)
		}
		return "StructType(" + strings.Join(parts, ",") + ")"
	case plan.KindTimestampNTZ:
		return "TimestampNTZType"
	}
	name := t.Tree()
	return strings.ToUpper(name[:1]) + name[1:] + "Type"
}

// Widened is the table with more columns at its end.
func (s *Snapshot) Widened(added []plan.Field) (*Fit, error) {
	fit := &Fit{Schema: plan.Struct(append(slices.Clone(s.Schema.Fields), added...)...),
		Partitions: s.Metadata.PartitionColumns}
	if len(added) == 0 {
		return fit, nil
	}
	return fit, s.redescribe(fit)
}
