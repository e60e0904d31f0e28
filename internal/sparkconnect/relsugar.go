//lint:file-ignore SA1019 clients of 4.0 still send and read the deprecated fields

package sparkconnect

import (
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// This file decodes DataFrame methods that analysis rewrites into other nodes,
// because they depend on the input's columns.

func (d *decoder) withColumns(m *pb.WithColumns) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	var aliases []*plan.Alias
	for _, a := range m.GetAliases() {
		if len(a.GetName()) != 1 {
			return nil, plan.NewError(plan.ClassInvalidPlan,
				"CONNECT_INVALID_PLAN.WITH_COLUMNS_REQUIRE_SINGLE_NAME_PART",
				"withColumns takes one name for each column.", "got", "["+join(a.GetName())+"]")
		}
		e, err := d.alias(a, nil)
		if err != nil {
			return nil, err
		}
		aliases = append(aliases, e.(*plan.Alias))
	}
	return plan.NewWithColumns(in, aliases), nil
}

func join(names []string) string {
	text := ""
	for i, n := range names {
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

func (d *decoder) renameColumns(m *pb.WithColumnsRenamed) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	var from, to []string
	for _, r := range m.GetRenames() {
		from, to = append(from, r.GetColName()), append(to, r.GetNewColName())
	}
	if len(m.GetRenames()) == 0 {
		// Clients before 4.0 send a map, in which no order matters.
		for _, old := range sortedKeys(m.GetRenameColumnsMap()) {
			from, to = append(from, old), append(to, m.GetRenameColumnsMap()[old])
		}
	}
	return plan.NewRenameColumns(in, from, to), nil
}

func (d *decoder) drop(m *pb.Drop) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	exprs, err := d.expressionList(m.GetColumns())
	if err != nil {
		return nil, err
	}
	return plan.NewDropColumns(in, m.GetColumnNames(), exprs), nil
}

func (d *decoder) toDF(m *pb.ToDF) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	return plan.NewRenameAll(in, m.GetColumnNames()), nil
}

func (d *decoder) toSchema(m *pb.ToSchema) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	t, err := d.dataType(m.GetSchema())
	if err != nil {
		return nil, err
	}
	if t.Kind != plan.KindStruct {
		return nil, nonStruct(m.GetSchema().String(), t)
	}
	return plan.NewToSchema(in, t), nil
}

func nonStruct(text string, t plan.Type) error {
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.INVALID_SCHEMA_NON_STRUCT_TYPE",
		"A schema must be a struct, not "+t.SQL()+".",
		"inputSchema", "\""+text+"\"", "dataType", "\""+t.SQL()+"\"")
}

func (d *decoder) fillNA(m *pb.NAFill) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	if len(m.GetValues()) == 0 {
		return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.NA_FILL_VALUES_EMPTY",
			"fillna needs at least one value.")
	}
	if n := len(m.GetValues()); n > 1 && n != len(m.GetCols()) {
		return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.NA_FILL_VALUES_LENGTH_MISMATCH",
			"fillna needs as many values as columns.")
	}
	var values []*plan.Literal
	for _, v := range m.GetValues() {
		l, err := d.literal(v)
		if err != nil {
			return nil, err
		}
		values = append(values, l)
	}
	return plan.NewFillNA(in, m.GetCols(), values), nil
}

func (d *decoder) replaceNA(m *pb.NAReplace) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	var from, to []*plan.Literal
	for _, r := range m.GetReplacements() {
		old, err := d.literal(r.GetOldValue())
		if err != nil {
			return nil, err
		}
		value, err := d.literal(r.GetNewValue())
		if err != nil {
			return nil, err
		}
		from, to = append(from, old), append(to, value)
	}
	return plan.NewReplaceNA(in, m.GetCols(), from, to), nil
}

func (d *decoder) dropNA(m *pb.NADrop) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	least := -1
	if m.MinNonNulls != nil {
		least = int(m.GetMinNonNulls())
	}
	return plan.NewDropNA(in, m.GetCols(), least), nil
}

func (d *decoder) showString(m *pb.ShowString) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	n := plan.NewShowString(in, int(m.GetNumRows()), int(m.GetTruncate()))
	n.Vertical = m.GetVertical()
	return n, nil
}

func (d *decoder) htmlString(m *pb.HtmlString) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	n := plan.NewShowString(in, int(m.GetNumRows()), int(m.GetTruncate()))
	n.HTML = true
	return n, nil
}
