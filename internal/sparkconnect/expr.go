package sparkconnect

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/sql"
)

// expressionTable lists what weir decodes of the expr_type oneof.
func expressionTable() map[protoreflect.Name]func(*decoder, *pb.Expression) (plan.Expr, error) {
	type e = pb.Expression
	type d = decoder
	return map[protoreflect.Name]func(*decoder, *pb.Expression) (plan.Expr, error){
		"alias":                               expressionArm((*e).GetAlias, (*d).alias),
		"call_function":                       expressionArm((*e).GetCallFunction, (*d).callFunction),
		"cast":                                expressionArm((*e).GetCast, (*d).cast),
		"common_inline_user_defined_function": expressionArm(inlineFunction, (*d).inlineUDF),
		"expression_string":                   expressionArm((*e).GetExpressionString, (*d).expressionText),
		"lambda_function":                     expressionArm((*e).GetLambdaFunction, (*d).lambda),
		"literal":                             expressionArm((*e).GetLiteral, (*d).literalExpr),
		"named_argument_expression":           expressionArm((*e).GetNamedArgumentExpression, (*d).namedArg),
		"sort_order":                          expressionArm((*e).GetSortOrder, (*d).sortExpr),
		"subquery_expression":                 expressionArm((*e).GetSubqueryExpression, (*d).subquery),
		"unresolved_attribute":                expressionArm((*e).GetUnresolvedAttribute, (*d).attribute),
		"unresolved_extract_value":            expressionArm((*e).GetUnresolvedExtractValue, (*d).extract),
		"unresolved_function":                 expressionArm((*e).GetUnresolvedFunction, (*d).function),
		"unresolved_named_lambda_variable":    expressionArm(lambdaVariable, (*d).variable),
		"unresolved_regex":                    expressionArm((*e).GetUnresolvedRegex, (*d).regex),
		"unresolved_star":                     expressionArm((*e).GetUnresolvedStar, (*d).star),
		"update_fields":                       expressionArm((*e).GetUpdateFields, (*d).updateFields),
		"window":                              expressionArm((*e).GetWindow, (*d).window),
	}
}

func inlineFunction(e *pb.Expression) *pb.CommonInlineUserDefinedFunction {
	return e.GetCommonInlineUserDefinedFunction()
}

func lambdaVariable(e *pb.Expression) *pb.Expression_UnresolvedNamedLambdaVariable {
	return e.GetUnresolvedNamedLambdaVariable()
}

func (d *decoder) literalExpr(m *pb.Expression_Literal, _ *plan.Origin) (plan.Expr, error) {
	l, err := d.literal(m)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// attribute decodes a column. Its name is SQL text: parts are separated by
// dots unless quoted.
func (d *decoder) attribute(m *pb.Expression_UnresolvedAttribute, at *plan.Origin) (plan.Expr, error) {
	parts, err := sql.ParseColumn(m.GetUnparsedIdentifier())
	if err != nil {
		return nil, err
	}
	return &plan.UnresolvedAttribute{
		Parts: parts, PlanID: m.PlanId, Metadata: m.GetIsMetadataColumn(), Origin: at,
	}, nil
}

func (d *decoder) function(m *pb.Expression_UnresolvedFunction, at *plan.Origin) (plan.Expr, error) {
	args, err := d.expressionList(m.GetArguments())
	if err != nil {
		return nil, err
	}
	name := []string{m.GetFunctionName()}
	if m.GetIsUserDefinedFunction() {
		if name, err = sql.ParseName(m.GetFunctionName()); err != nil {
			return nil, err
		}
	}
	return &plan.UnresolvedFunction{Name: name, Args: args, Distinct: m.GetIsDistinct(), Origin: at,
		Internal: !m.GetIsUserDefinedFunction()}, nil
}

func (d *decoder) callFunction(m *pb.CallFunction, at *plan.Origin) (plan.Expr, error) {
	args, err := d.expressionList(m.GetArguments())
	if err != nil {
		return nil, err
	}
	name, err := sql.ParseName(m.GetFunctionName())
	if err != nil {
		return nil, err
	}
	return &plan.UnresolvedFunction{Name: name, Args: args, Origin: at}, nil
}

func (d *decoder) expressionText(m *pb.Expression_ExpressionString, _ *plan.Origin) (plan.Expr, error) {
	return sql.ParseExpr(m.GetExpression())
}

func (d *decoder) star(m *pb.Expression_UnresolvedStar, at *plan.Origin) (plan.Expr, error) {
	s := &plan.UnresolvedStar{PlanID: m.PlanId, Origin: at}
	if m.UnparsedTarget == nil {
		return s, nil
	}
	target, ok := strings.CutSuffix(m.GetUnparsedTarget(), ".*")
	if !ok {
		return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.UNRESOLVED_STAR_TARGET_INVALID",
			"The target of a star must end in .*, not "+m.GetUnparsedTarget()+".",
			"target", m.GetUnparsedTarget())
	}
	parts, err := sql.ParseColumn(target)
	s.Target = parts
	return s, err
}

func (d *decoder) regex(m *pb.Expression_UnresolvedRegex, _ *plan.Origin) (plan.Expr, error) {
	return &plan.UnresolvedRegex{Pattern: m.GetColName(), PlanID: m.PlanId}, nil
}

func (d *decoder) alias(m *pb.Expression_Alias, _ *plan.Origin) (plan.Expr, error) {
	child, err := d.expression(m.GetExpr())
	if err != nil {
		return nil, err
	}
	if len(m.GetName()) == 0 {
		return nil, emptyField("spark.connect.Expression.Alias", "name")
	}
	if len(m.GetName()) > 1 && m.Metadata != nil {
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.ALIAS_WITH_MULTIPLE_IDENTIFIERS_AND_METADATA",
			"An alias of several names cannot carry metadata.")
	}
	return &plan.Alias{Child: child, Names: m.GetName(), Metadata: m.GetMetadata()}, nil
}

func (d *decoder) cast(m *pb.Expression_Cast, at *plan.Origin) (plan.Expr, error) {
	child, err := d.expression(m.GetExpr())
	if err != nil {
		return nil, err
	}
	c := &plan.Cast{Child: child, Origin: at}
	switch to := m.GetCastToType().(type) {
	case *pb.Expression_Cast_Type:
		c.To, err = d.dataType(to.Type)
	case *pb.Expression_Cast_TypeStr:
		c.To, err = sql.ParseType(to.TypeStr)
	default:
		err = notSet(m, "CASTTOTYPE_NOT_SET")
	}
	if err != nil {
		return nil, err
	}
	switch m.GetEvalMode() {
	case pb.Expression_Cast_EVAL_MODE_UNSPECIFIED:
		c.Mode = plan.CastDefault
	case pb.Expression_Cast_EVAL_MODE_LEGACY:
		c.Mode = plan.CastLegacy
	case pb.Expression_Cast_EVAL_MODE_ANSI:
		c.Mode = plan.CastANSI
	case pb.Expression_Cast_EVAL_MODE_TRY:
		c.Mode = plan.CastTry
	default:
		return nil, unknownEnum(m.GetEvalMode())
	}
	return c, nil
}

func (d *decoder) extract(m *pb.Expression_UnresolvedExtractValue, at *plan.Origin) (plan.Expr, error) {
	child, err := d.expression(m.GetChild())
	if err != nil {
		return nil, err
	}
	key, err := d.expression(m.GetExtraction())
	if err != nil {
		return nil, err
	}
	return &plan.ExtractValue{Child: child, Key: key, Origin: at}, nil
}

func (d *decoder) updateFields(m *pb.Expression_UpdateFields, _ *plan.Origin) (plan.Expr, error) {
	child, err := d.expression(m.GetStructExpression())
	if err != nil {
		return nil, err
	}
	field, err := sql.ParseColumn(m.GetFieldName())
	if err != nil {
		return nil, err
	}
	u := &plan.UpdateFields{Child: child, Field: field}
	if m.GetValueExpression() != nil {
		u.Value, err = d.expression(m.GetValueExpression())
	}
	return u, err
}

func (d *decoder) sortExpr(m *pb.Expression_SortOrder, _ *plan.Origin) (plan.Expr, error) {
	o, err := d.sortOrder(m)
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (d *decoder) sortOrder(m *pb.Expression_SortOrder) (*plan.SortOrder, error) {
	child, err := d.expression(m.GetChild())
	if err != nil {
		return nil, err
	}
	o := &plan.SortOrder{Child: child}
	switch m.GetDirection() {
	case pb.Expression_SortOrder_SORT_DIRECTION_UNSPECIFIED, pb.Expression_SortOrder_SORT_DIRECTION_ASCENDING:
	case pb.Expression_SortOrder_SORT_DIRECTION_DESCENDING:
		o.Descending = true
	default:
		return nil, unknownEnum(m.GetDirection())
	}
	switch m.GetNullOrdering() {
	case pb.Expression_SortOrder_SORT_NULLS_UNSPECIFIED:
		o.NullsFirst = !o.Descending
	case pb.Expression_SortOrder_SORT_NULLS_FIRST:
		o.NullsFirst = true
	case pb.Expression_SortOrder_SORT_NULLS_LAST:
	default:
		return nil, unknownEnum(m.GetNullOrdering())
	}
	return o, nil
}

func (d *decoder) namedArg(m *pb.NamedArgumentExpression, _ *plan.Origin) (plan.Expr, error) {
	value, err := d.expression(m.GetValue())
	if err != nil {
		return nil, err
	}
	return &plan.NamedArg{Key: m.GetKey(), Child: value}, nil
}

func (d *decoder) lambda(m *pb.Expression_LambdaFunction, at *plan.Origin) (plan.Expr, error) {
	body, err := d.expression(m.GetFunction())
	if err != nil {
		return nil, err
	}
	l := &plan.Lambda{Body: body, Origin: at}
	for _, a := range m.GetArguments() {
		l.Params = append(l.Params, strings.Join(a.GetNameParts(), "."))
	}
	return l, nil
}

// variable is a lambda's parameter: a name that analysis finds in the lambda
// around it before it looks for columns.
func (d *decoder) variable(m *pb.Expression_UnresolvedNamedLambdaVariable, at *plan.Origin,
) (plan.Expr, error) {
	if len(m.GetNameParts()) == 0 {
		return nil, emptyField("spark.connect.Expression.UnresolvedNamedLambdaVariable", "name_parts")
	}
	return &plan.UnresolvedAttribute{Parts: m.GetNameParts(), Origin: at}, nil
}

func (d *decoder) subquery(m *pb.SubqueryExpression, at *plan.Origin) (plan.Expr, error) {
	s := &plan.Subquery{Plan: d.references[m.GetPlanId()], Origin: at}
	if s.Plan == nil {
		return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.INVALID_WITH_RELATION_REFERENCE",
			"A subquery refers to a relation that was not sent with the plan.")
	}
	var err error
	switch m.GetSubqueryType() {
	case pb.SubqueryExpression_SUBQUERY_TYPE_SCALAR:
		s.Kind = plan.ScalarSubquery
	case pb.SubqueryExpression_SUBQUERY_TYPE_EXISTS:
		s.Kind = plan.ExistsSubquery
	case pb.SubqueryExpression_SUBQUERY_TYPE_IN:
		s.Kind = plan.InSubquery
		s.Values, err = d.expressionList(m.GetInSubqueryValues())
	case pb.SubqueryExpression_SUBQUERY_TYPE_TABLE_ARG:
		s.Kind = plan.TableSubquery
		s.Table, err = d.tableArg(m.GetTableArgOptions())
	default:
		return nil, plan.Unsupported("A subquery of kind " + m.GetSubqueryType().String())
	}
	return s, err
}

// tableArg decodes how the rows of a table come to a function.
func (d *decoder) tableArg(m *pb.SubqueryExpression_TableArgOptions) (*plan.TableArg, error) {
	t := &plan.TableArg{Single: m.GetWithSinglePartition()}
	var err error
	if t.Partition, err = d.expressionList(m.GetPartitionSpec()); err != nil {
		return nil, err
	}
	for _, o := range m.GetOrderSpec() {
		order, err := d.sortOrder(o)
		if err != nil {
			return nil, err
		}
		t.Order = append(t.Order, order)
	}
	return t, nil
}

// inlineUDF decodes a call of a Python function that travels with the plan.
func (d *decoder) inlineUDF(m *pb.CommonInlineUserDefinedFunction, _ *plan.Origin) (plan.Expr, error) {
	return d.calledUDF(m)
}

func (d *decoder) pythonUDF(m *pb.CommonInlineUserDefinedFunction, args []plan.Expr,
) (*plan.PythonUDF, error) {
	p := m.GetPythonUdf()
	if p == nil {
		return nil, plan.Unsupported("A function that is not written in Python")
	}
	returns, err := d.dataType(p.GetOutputType())
	if err != nil {
		return nil, err
	}
	return &plan.PythonUDF{
		Name: m.GetFunctionName(), Args: args, Returns: returns, EvalType: int(p.GetEvalType()),
		Command: p.GetCommand(), PythonVersion: p.GetPythonVer(), Deterministic: m.GetDeterministic(),
	}, nil
}
