package plan

import "strings"

// LambdaFunction is a resolved lambda: its body is computed for each set of
// values that a higher-order function gives to the parameters. It stands only
// among the arguments of such a function.
type LambdaFunction struct {
	Params []*LambdaVariable
	Body   Expr
}

// Children is the body.
func (e *LambdaFunction) Children() []Expr { return []Expr{e.Body} }

// WithChildren replaces the body.
func (e *LambdaFunction) WithChildren(c []Expr) Expr { return &LambdaFunction{e.Params, c[0]} }

// Type is that of the body.
func (e *LambdaFunction) Type() Type { return e.Body.Type() }

// Nullable is that of the body.
func (e *LambdaFunction) Nullable() bool { return e.Body.Nullable() }

// LambdaVariable is a parameter of a lambda around it, the Index-th of the
// innermost one whose parameters have this Level, which is how many lambdas
// stand around that one. So lambdas that compute the same are equal, whatever
// their parameters are called.
type LambdaVariable struct {
	leaf
	Level, Index int
	Of           Type
	Null         bool
}

// Type is the parameter's type.
func (e *LambdaVariable) Type() Type { return e.Of }

// Nullable says whether the parameter may be NULL.
func (e *LambdaVariable) Nullable() bool { return e.Null }

// WithChildren returns the variable, which has none.
func (e *LambdaVariable) WithChildren([]Expr) Expr { return e }

// lambda writes a resolved lambda, whose parameters all look the same.
func (w *sqlWriter) lambda(n *LambdaFunction) {
	w.b.WriteString("lambdafunction(")
	w.expr(n.Body)
	w.b.WriteString(strings.Repeat(", "+variableText, len(n.Params)) + ")")
}

const variableText = "namedlambdavariable()"
