package sparkconnect

import (
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/sql"
)

// mergeInto is df.mergeInto(table, condition)….merge().
func (d *decoder) mergeInto(m *pb.MergeIntoTableCommand) (plan.Command, error) {
	name, err := sql.ParseName(m.GetTargetTableName())
	if err != nil {
		return nil, err
	}
	c := &plan.Merge{Table: &plan.NamedTable{Name: name}, Evolves: m.GetWithSchemaEvolution()}
	if c.Source, err = d.relation(m.GetSourceTablePlan()); err != nil {
		return nil, err
	}
	if c.Cond, err = d.expression(m.GetMergeCondition()); err != nil {
		return nil, err
	}
	for _, kind := range []struct {
		actions []*pb.Expression
		to      *[]plan.MergeClause
	}{
		{m.GetMatchActions(), &c.Matched}, {m.GetNotMatchedActions(), &c.NotMatched},
		{m.GetNotMatchedBySourceActions(), &c.BySource},
	} {
		for _, e := range kind.actions {
			clause, err := d.mergeClause(e.GetMergeAction())
			if err != nil {
				return nil, err
			}
			*kind.to = append(*kind.to, clause)
		}
	}
	return c, nil
}

func (d *decoder) mergeClause(m *pb.MergeAction) (plan.MergeClause, error) {
	c := plan.MergeClause{}
	switch m.GetActionType() {
	case pb.MergeAction_ACTION_TYPE_DELETE:
		c.Action = plan.MergeDelete
	case pb.MergeAction_ACTION_TYPE_INSERT, pb.MergeAction_ACTION_TYPE_INSERT_STAR:
		c.Action = plan.MergeInsert
	case pb.MergeAction_ACTION_TYPE_UPDATE, pb.MergeAction_ACTION_TYPE_UPDATE_STAR:
	default:
		return c, unknownEnum(m.GetActionType())
	}
	c.All = m.GetActionType() == pb.MergeAction_ACTION_TYPE_INSERT_STAR ||
		m.GetActionType() == pb.MergeAction_ACTION_TYPE_UPDATE_STAR
	var err error
	if m.GetCondition() != nil {
		if c.Cond, err = d.expression(m.GetCondition()); err != nil {
			return c, err
		}
	}
	for _, a := range m.GetAssignments() {
		key, err := d.expression(a.GetKey())
		if err != nil {
			return c, err
		}
		column, ok := key.(*plan.UnresolvedAttribute)
		if !ok {
			return c, plan.Unsupported("An assignment to what is no column")
		}
		value, err := d.expression(a.GetValue())
		if err != nil {
			return c, err
		}
		c.Set = append(c.Set, plan.Assignment{Column: column, Value: value})
	}
	return c, nil
}
