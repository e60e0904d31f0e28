package delta

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// checkSchema refuses columns that no Delta table can have.
func checkSchema(schema plan.Type, partitions []string) error {
	if err := checkDuplicates(schema); err != nil {
		return err
	}
	for _, f := range schema.Fields {
		if strings.ContainsAny(f.Name, " ,;{}()\n\t=") {
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
	return nil
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
	Now        time.Time
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
}

// Fit matches data with the table's columns by name, whatever their case.
func (s *Snapshot) Fit(data plan.Type, o FitOptions) (*Fit, error) {
	if err := checkDuplicates(data); err != nil {
		return nil, err
	}
	o.Partitions = spelled(data, o.Partitions)
	if s.Version < 0 {
		m, p, err := NewMetadata(data.AsNullable(), o.Partitions, o.Now)
		if err != nil {
			return nil, err
		}
		return &Fit{data.AsNullable(), m.PartitionColumns, identity(len(data.Fields)), m, p}, nil
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
	for _, f := range s.Schema.Fields {
		at := columnIndex(data, f.Name)
		fit.From = append(fit.From, at)
		if at < 0 && !f.Nullable {
			return nil, newError(classInvariant, "DELTA_MISSING_NOT_NULL_COLUMN_VALUE",
				fmt.Sprintf("The column %s takes no NULL, and the data has no such column.", f.Name), "columnName",
				f.Name)
		}
		if at < 0 {
			continue
		}
		taken[at] = true
		if err := s.fitColumn(f, data, at, o); err != nil {
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
		f.Type, f.Nullable = f.Type.AsNullable(), true
		fit.Schema.Fields = append(fit.Schema.Fields, f)
		fit.From = append(fit.From, i)
	}
	if len(fit.Schema.Fields) > len(s.Schema.Fields) {
		return fit, s.redescribe(fit, fit.Partitions)
	}
	return fit, nil
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

// fitColumn checks that values of a data column can stand in a table's.
func (s *Snapshot) fitColumn(f plan.Field, data plan.Type, at int, o FitOptions) error {
	have, want := data.Fields[at].Type, f.Type.Unbounded()
	switch {
	case have.Unbounded().EqualIgnoringNull(want), have.Kind == plan.KindNull:
		return nil
	case o.Castable != nil && o.Castable(have, want):
		return nil
	case have.Kind == plan.KindStruct && f.Type.Kind == plan.KindStruct:
		return s.mismatch(data, fmt.Sprintf("the fields of column %s differ", f.Name))
	}
	e := newError(
		classAnalysis,
		"DELTA_FAILED_TO_MERGE_FIELDS",
		fmt.Sprintf("The column %s of the table is %s, that of the data %s.", f.Name, f.Type.Simple(),
			have.Simple()),
		"currentField",
		f.Name,
		"updateField",
		data.Fields[at].Name,
	)
	e.Cause = newError(classAnalysis, "DELTA_MERGE_INCOMPATIBLE_DATATYPE",
		fmt.Sprintf("%s does not become %s.", have.Simple(), f.Type.Simple()),
		"currentDataType", typeName(f.Type), "updateDataType", typeName(have))
	return e
}

func (s *Snapshot) mismatch(data plan.Type, why string) *plan.Error {
	e := newError(classMismatch, "DELTA_METADATA_MISMATCH",
		fmt.Sprintf("The data does not fit the Delta table %s: %s. Table: %s. Data: %s.",
			s.Metadata.ID, why, s.Schema.DDL(), data.DDL()))
	e.Hint = "The options mergeSchema and overwriteSchema change the table's columns."
	return e
}

// described gives the table the columns and partitions of the data.
func (s *Snapshot) described(data plan.Type, o FitOptions) (*Fit, error) {
	fit := &Fit{Schema: data.AsNullable(), Partitions: o.Partitions, From: identity(len(data.Fields))}
	if fit.Partitions == nil {
		fit.Partitions = s.Metadata.PartitionColumns
	}
	same := sameNames(fit.Partitions, s.Metadata.PartitionColumns)
	if same && fit.Schema.Equal(s.Schema) {
		return fit, nil
	}
	return fit, s.redescribe(fit, fit.Partitions)
}

func (s *Snapshot) redescribe(fit *Fit, partitions []string) error {
	if err := checkSchema(fit.Schema, partitions); err != nil {
		return err
	}
	m := s.Metadata
	m.SchemaString, m.PartitionColumns = plan.MarkLengths(fit.Schema).JSON(), partitions
	if m.PartitionColumns == nil {
		m.PartitionColumns = []string{}
	}
	fit.Metadata = &m
	if wider, ok := widerProtocol(s.Protocol, fit.Schema); ok {
		fit.Protocol = &wider
	}
	return nil
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
