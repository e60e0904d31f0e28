package sparkconnect

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/sql"
)

// relationTable lists what weir decodes of the rel_type oneof.
func relationTable() map[protoreflect.Name]func(*decoder, *pb.Relation) (plan.Node, error) {
	type r = pb.Relation
	type d = decoder
	return map[protoreflect.Name]func(*decoder, *pb.Relation) (plan.Node, error){
		"aggregate":                     relationArm((*r).GetAggregate, (*d).aggregate),
		"apply_in_pandas_with_state":    relationArm((*r).GetApplyInPandasWithState, (*d).applyWithState),
		"cached_local_relation":         relationArm((*r).GetCachedLocalRelation, (*d).cachedLocal),
		"cached_remote_relation":        relationArm((*r).GetCachedRemoteRelation, (*d).cachedRemote),
		"catalog":                       relationArm((*r).GetCatalog, (*d).catalogCall),
		"chunked_cached_local_relation": relationArm(chunkedLocal, (*d).chunkedLocal),
		"collect_metrics":               relationArm((*r).GetCollectMetrics, (*d).collectMetrics),
		"deduplicate":                   relationArm((*r).GetDeduplicate, (*d).deduplicate),
		"drop":                          relationArm((*r).GetDrop, (*d).drop),
		"drop_na":                       relationArm((*r).GetDropNa, (*d).dropNA),
		"extension":                     relationArm((*r).GetExtension, (*d).deltaRelation),
		"fill_na":                       relationArm((*r).GetFillNa, (*d).fillNA),
		"filter":                        relationArm((*r).GetFilter, (*d).filter),
		"common_inline_user_defined_table_function": relationArm(inlineTableFunction, (*d).inlineUDTF),
		"co_group_map":                     relationArm((*r).GetCoGroupMap, (*d).cogroupMap),
		"group_map":                        relationArm((*r).GetGroupMap, (*d).groupMap),
		"hint":                             relationArm((*r).GetHint, (*d).hint),
		"html_string":                      relationArm((*r).GetHtmlString, (*d).htmlString),
		"join":                             relationArm((*r).GetJoin, (*d).join),
		"lateral_join":                     relationArm((*r).GetLateralJoin, (*d).lateralJoin),
		"limit":                            relationArm((*r).GetLimit, (*d).limit),
		"local_relation":                   relationArm((*r).GetLocalRelation, (*d).localRelation),
		"map_partitions":                   relationArm((*r).GetMapPartitions, (*d).mapPartitions),
		"offset":                           relationArm((*r).GetOffset, (*d).offset),
		"project":                          relationArm((*r).GetProject, (*d).project),
		"range":                            relationArm((*r).GetRange, (*d).numbers),
		"read":                             relationArm((*r).GetRead, (*d).read),
		"repartition":                      relationArm((*r).GetRepartition, (*d).repartition),
		"repartition_by_expression":        relationArm((*r).GetRepartitionByExpression, (*d).repartitionBy),
		"replace":                          relationArm((*r).GetReplace, (*d).replaceNA),
		"set_op":                           relationArm((*r).GetSetOp, (*d).setOp),
		"show_string":                      relationArm((*r).GetShowString, (*d).showString),
		"sort":                             relationArm((*r).GetSort, (*d).sort),
		"sql":                              relationArm((*r).GetSql, (*d).sqlText),
		"subquery_alias":                   relationArm((*r).GetSubqueryAlias, (*d).subqueryAlias),
		"tail":                             relationArm((*r).GetTail, (*d).tail),
		"to_df":                            relationArm((*r).GetToDf, (*d).toDF),
		"to_schema":                        relationArm((*r).GetToSchema, (*d).toSchema),
		"unresolved_table_valued_function": relationArm(tableFunction, (*d).tableFunction),
		"approx_quantile":                  relationArm((*r).GetApproxQuantile, (*d).quantiles),
		"corr":                             relationArm((*r).GetCorr, (*d).correlation),
		"cov":                              relationArm((*r).GetCov, (*d).covariance),
		"crosstab":                         relationArm((*r).GetCrosstab, (*d).crossTable),
		"describe":                         relationArm((*r).GetDescribe, (*d).describe),
		"freq_items":                       relationArm((*r).GetFreqItems, (*d).frequentItems),
		"sample":                           relationArm((*r).GetSample, (*d).sample),
		"sample_by":                        relationArm((*r).GetSampleBy, (*d).sampleBy),
		"summary":                          relationArm((*r).GetSummary, (*d).summary),
		"transpose":                        relationArm((*r).GetTranspose, (*d).transpose),
		"unpivot":                          relationArm((*r).GetUnpivot, (*d).unpivot),
		"with_columns":                     relationArm((*r).GetWithColumns, (*d).withColumns),
		"with_columns_renamed":             relationArm((*r).GetWithColumnsRenamed, (*d).renameColumns),
		"with_relations":                   relationArm((*r).GetWithRelations, (*d).withRelations),
		"with_watermark":                   relationArm((*r).GetWithWatermark, (*d).watermark),
	}
}

func chunkedLocal(r *pb.Relation) *pb.ChunkedCachedLocalRelation {
	return r.GetChunkedCachedLocalRelation()
}

func inlineTableFunction(r *pb.Relation) *pb.CommonInlineUserDefinedTableFunction {
	return r.GetCommonInlineUserDefinedTableFunction()
}

func tableFunction(r *pb.Relation) *pb.UnresolvedTableValuedFunction {
	return r.GetUnresolvedTableValuedFunction()
}

func (d *decoder) project(m *pb.Project) (plan.Node, error) {
	exprs, err := d.expressionList(m.GetExpressions())
	if err != nil {
		return nil, err
	}
	if m.Input == nil {
		return plan.NewProject(&plan.OneRow{}, exprs...), nil
	}
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	return plan.NewProject(in, exprs...), nil
}

func (d *decoder) filter(m *pb.Filter) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	cond, err := d.expression(m.GetCondition())
	if err != nil {
		return nil, err
	}
	return plan.NewFilter(in, cond), nil
}

func (d *decoder) sort(m *pb.Sort) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	orders := make([]*plan.SortOrder, 0, len(m.GetOrder()))
	for _, o := range m.GetOrder() {
		order, err := d.sortOrder(o)
		if err != nil {
			return nil, err
		}
		orders = append(orders, order)
	}
	return plan.NewSort(in, m.IsGlobal == nil || m.GetIsGlobal(), orders...), nil
}

func intLiteral(n int32) plan.Expr { return plan.Lit(int64(n), plan.Int) }

func (d *decoder) limit(m *pb.Limit) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	return plan.NewLimit(in, intLiteral(m.GetLimit()), nil), nil
}

func (d *decoder) offset(m *pb.Offset) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	return plan.NewLimit(in, nil, intLiteral(m.GetOffset())), nil
}

func (d *decoder) tail(m *pb.Tail) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	n := plan.NewLimit(in, intLiteral(m.GetLimit()), nil)
	n.Tail = true
	return n, nil
}

func (d *decoder) numbers(m *pb.Range) (plan.Node, error) {
	if m.GetStep() == 0 {
		return nil, plan.IllegalArgument("requirement failed: step (0) cannot be 0")
	}
	return &plan.Range{
		Start: m.GetStart(), End: m.GetEnd(), Step: m.GetStep(), Partitions: int(m.GetNumPartitions()),
	}, nil
}

func (d *decoder) subqueryAlias(m *pb.SubqueryAlias) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	return plan.NewAlias(in, append(append([]string{}, m.GetQualifier()...), m.GetAlias())...), nil
}

func (d *decoder) deduplicate(m *pb.Deduplicate) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	switch {
	case m.GetAllColumnsAsKeys() && len(m.GetColumnNames()) > 0:
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.DEDUPLICATE_ALL_COLUMNS_AND_SUBSET",
			"Deduplication takes all columns or some, not both.")
	case !m.GetAllColumnsAsKeys() && len(m.GetColumnNames()) == 0:
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.DEDUPLICATE_REQUIRES_COLUMNS_OR_ALL",
			"Deduplication needs columns, or to be told that all are meant.")
	}
	n := plan.NewDedup(in, m.GetColumnNames(), m.GetWithinWatermark())
	n.AllColumns = m.GetAllColumnsAsKeys()
	return n, nil
}

var joinTypes = map[pb.Join_JoinType]plan.JoinType{
	pb.Join_JOIN_TYPE_INNER: plan.InnerJoin, pb.Join_JOIN_TYPE_FULL_OUTER: plan.FullJoin,
	pb.Join_JOIN_TYPE_LEFT_OUTER: plan.LeftJoin, pb.Join_JOIN_TYPE_RIGHT_OUTER: plan.RightJoin,
	pb.Join_JOIN_TYPE_LEFT_ANTI: plan.AntiJoin, pb.Join_JOIN_TYPE_LEFT_SEMI: plan.SemiJoin,
	pb.Join_JOIN_TYPE_CROSS: plan.CrossJoin,
}

func (d *decoder) join(m *pb.Join) (plan.Node, error) {
	left, err := d.relation(m.GetLeft())
	if err != nil {
		return nil, err
	}
	right, err := d.relation(m.GetRight())
	if err != nil {
		return nil, err
	}
	kind, ok := joinTypes[m.GetJoinType()]
	if !ok {
		return nil, unknownEnum(m.GetJoinType())
	}
	if len(m.GetUsingColumns()) > 0 && m.GetJoinCondition() != nil {
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.USING_COLUMNS_OR_JOIN_CONDITION_SET_IN_JOIN",
			"A join takes columns or a condition, not both.")
	}
	j := &plan.Join{Left: left, Right: right, Kind: kind, Using: m.GetUsingColumns()}
	if m.GetJoinCondition() != nil {
		j.Cond, err = d.expression(m.GetJoinCondition())
	}
	return j, err
}

// lateralJoin decodes a join whose right side names columns of the left.
func (d *decoder) lateralJoin(m *pb.LateralJoin) (plan.Node, error) {
	left, err := d.relation(m.GetLeft())
	if err != nil {
		return nil, err
	}
	right, err := d.relation(m.GetRight())
	if err != nil {
		return nil, err
	}
	kind, ok := joinTypes[m.GetJoinType()]
	if !ok {
		return nil, unknownEnum(m.GetJoinType())
	}
	if kind != plan.InnerJoin && kind != plan.LeftJoin && kind != plan.CrossJoin {
		return nil, plan.NewError(plan.ClassInvalidPlan, "UNSUPPORTED_JOIN_TYPE",
			"A lateral join is inner, left or cross.", "typ", kind.String(),
			"supported", "'inner', 'leftouter', 'left', 'left_outer', 'cross'")
	}
	j := &plan.Join{Left: left, Right: right, Kind: kind, Lateral: true}
	if m.GetJoinCondition() != nil {
		j.Cond, err = d.expression(m.GetJoinCondition())
	}
	return j, err
}

func (d *decoder) setOp(m *pb.SetOperation) (plan.Node, error) {
	left, err := d.relation(m.GetLeftInput())
	if err != nil {
		return nil, err
	}
	right, err := d.relation(m.GetRightInput())
	if err != nil {
		return nil, err
	}
	s := &plan.SetOp{
		Inputs: []plan.Node{left, right}, All: m.GetIsAll(), ByName: m.GetByName(),
		AllowMissing: m.GetAllowMissingColumns(),
	}
	switch m.GetSetOpType() {
	case pb.SetOperation_SET_OP_TYPE_UNION:
		s.Kind = plan.Union
	case pb.SetOperation_SET_OP_TYPE_INTERSECT:
		s.Kind = plan.Intersect
	case pb.SetOperation_SET_OP_TYPE_EXCEPT:
		s.Kind = plan.Except
	default:
		return nil, unknownEnum(m.GetSetOpType())
	}
	if s.AllowMissing && !s.ByName {
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.UNION_BY_NAME_ALLOW_MISSING_COL_REQUIRES_BY_NAME",
			"Missing columns are only allowed in a union by name.")
	}
	return s, nil
}

func (d *decoder) aggregate(m *pb.Aggregate) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	group, err := d.expressionList(m.GetGroupingExpressions())
	if err != nil {
		return nil, err
	}
	exprs, err := d.expressionList(m.GetAggregateExpressions())
	if err != nil {
		return nil, err
	}
	a := plan.NewAggregate(in, group, exprs)
	switch m.GetGroupType() {
	case pb.Aggregate_GROUP_TYPE_GROUPBY:
	case pb.Aggregate_GROUP_TYPE_ROLLUP:
		a.Kind = plan.GroupRollup
	case pb.Aggregate_GROUP_TYPE_CUBE:
		a.Kind = plan.GroupCube
	case pb.Aggregate_GROUP_TYPE_PIVOT:
		a.Kind = plan.GroupPivot
		a.Pivot, err = d.pivot(m.GetPivot())
	case pb.Aggregate_GROUP_TYPE_GROUPING_SETS:
		a.Kind = plan.GroupSets
		for _, set := range m.GetGroupingSets() {
			exprs, err := d.expressionList(set.GetGroupingSet())
			if err != nil {
				return nil, err
			}
			a.Sets = append(a.Sets, exprs)
		}
	default:
		return nil, unknownEnum(m.GetGroupType())
	}
	return a, err
}

func (d *decoder) pivot(m *pb.Aggregate_Pivot) (*plan.Pivot, error) {
	if m == nil {
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.AGGREGATE_WITH_PIVOT_REQUIRES_PIVOT", "A pivot needs its column.")
	}
	col, err := d.expression(m.GetCol())
	if err != nil {
		return nil, err
	}
	p := &plan.Pivot{Column: col}
	for _, v := range m.GetValues() {
		l, err := d.literal(v)
		if err != nil {
			return nil, err
		}
		p.Values = append(p.Values, l)
	}
	return p, nil
}

func (d *decoder) repartition(m *pb.Repartition) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	if m.GetNumPartitions() <= 0 {
		return nil, plan.IllegalArgument("requirement failed: Number of partitions (%d) must be positive.",
			m.GetNumPartitions())
	}
	n := plan.NewRepartition(in, int(m.GetNumPartitions()), nil)
	n.Coalesce = !m.GetShuffle()
	return n, nil
}

func (d *decoder) repartitionBy(m *pb.RepartitionByExpression) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	exprs, err := d.expressionList(m.GetPartitionExprs())
	if err != nil {
		return nil, err
	}
	return plan.NewRepartition(in, int(m.GetNumPartitions()), exprs), nil
}

func (d *decoder) hint(m *pb.Hint) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	args, err := d.expressionList(m.GetParameters())
	if err != nil {
		return nil, err
	}
	return plan.NewHint(in, m.GetName(), args), nil
}

// watermark takes the event-time column by name, as SQL text.
func (d *decoder) watermark(m *pb.WithWatermark) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	parts, err := sql.ParseColumn(m.GetEventTime())
	if err != nil {
		return nil, err
	}
	return plan.NewWatermark(in, &plan.UnresolvedAttribute{Parts: parts}, m.GetDelayThreshold()), nil
}

func (d *decoder) collectMetrics(m *pb.CollectMetrics) (plan.Node, error) {
	in, err := d.relation(m.GetInput())
	if err != nil {
		return nil, err
	}
	metrics, err := d.expressionList(m.GetMetrics())
	if err != nil {
		return nil, err
	}
	return plan.NewObserve(in, m.GetName(), metrics), nil
}

func (d *decoder) tableFunction(m *pb.UnresolvedTableValuedFunction) (plan.Node, error) {
	args, err := d.expressionList(m.GetArguments())
	if err != nil {
		return nil, err
	}
	name, err := sql.ParseName(m.GetFunctionName())
	if err != nil {
		return nil, err
	}
	return &plan.TableFunction{Name: name, Args: args}, nil
}
