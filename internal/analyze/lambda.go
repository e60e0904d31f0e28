package analyze

import (
	"cmp"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// lambdaScope is the parameters of a lambda, which hide columns and those of
// the lambdas around it.
type lambdaScope struct {
	names  []string
	params []*plan.LambdaVariable
	around *lambdaScope
	depth  int // of lambdas, this one included
}

// level is the number of lambdas around an expression.
func (x *exprs) level() int {
	if x.lambda == nil {
		return 0
	}
	return x.lambda.depth
}

// lambdaBody resolves the body of a lambda that is given params.
func (x *exprs) lambdaBody(l *plan.Lambda, params []*plan.LambdaVariable) (plan.Expr, error) {
	around := x.lambda
	x.lambda = &lambdaScope{names: l.Params, params: params, around: around, depth: x.level() + 1}
	defer func() { x.lambda = around }()
	body, err := x.expr(l.Body)
	if err != nil {
		return nil, err
	}
	body = unnamed(body)
	var udf *plan.PythonUDF
	plan.Walk(body, func(e plan.Expr) bool {
		if u, ok := e.(*plan.PythonUDF); ok && udf == nil {
			udf = u
		}
		return udf == nil
	})
	if udf != nil {
		return nil, plan.AnalysisError("UNSUPPORTED_FEATURE.LAMBDA_FUNCTION_WITH_PYTHON_UDF",
			"a Python function stands in a lambda.", "funcName", x.sqlExpr(udf))
	}
	return body, nil
}

// parameter is the parameter of a lambda around that a name begins with, nil
// when there is none.
func (x *exprs) parameter(n *plan.UnresolvedAttribute) plan.Expr {
	for s := x.lambda; s != nil; s = s.around {
		for i, name := range s.names {
			if x.scope.same(name, n.Parts[0]) {
				return s.params[i]
			}
		}
	}
	return nil
}

// closed refuses an aggregate or a window function that looks at a parameter of
// a lambda around it: it is computed for the rows outside.
func (x *exprs) closed(e plan.Expr) error {
	var free *plan.LambdaVariable
	plan.Walk(e, func(p plan.Expr) bool {
		if v, ok := p.(*plan.LambdaVariable); ok && v.Level < x.level() && free == nil {
			free = v
		}
		return free == nil
	})
	if free == nil {
		return nil
	}
	s := x.lambda
	for s.depth > free.Level+1 {
		s = s.around
	}
	name := s.names[free.Index]
	return plan.AnalysisError("MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
		name+" is a parameter of a lambda, which a function over rows cannot see.",
		"missingAttributes", quoted(name), "input", quotedList(attributeNames(x.scope.attrs)),
		"operator", "!"+x.clause+" [lambda "+name+"]").At(x.query)
}

// notHigher says that a function does not take lambdas.
func (x *exprs) notHigher(n *plan.UnresolvedFunction) error {
	name, err := x.functionName(n)
	if err != nil {
		return err
	}
	class := function.SparkClass(name)
	if class == "" {
		return x.unresolvedRoutine(n)
	}
	return plan.AnalysisError("INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION",
		name+" does not take lambdas.", "class", class).At(n.Origin)
}

// misplacedLambda is Spark's answer to a lambda that is no argument.
func (x *exprs) misplacedLambda(n *plan.Lambda) error {
	return plan.NewError(plan.ClassSpark, "INTERNAL_ERROR", "a lambda stands where no function takes it.",
		"message", "a lambda stands where no function takes it.").At(cmp.Or(x.query, n.Origin))
}
