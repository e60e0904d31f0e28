package fn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Param is the type of a lambda's parameter.
type Param struct {
	Of   plan.Type
	Null bool
}

// ElementOf is an element of an array as a parameter.
func ElementOf(array plan.Type) Param { return Param{*array.Elem, array.ContainsNull} }

// HigherOrder binds a call of data arguments and lambdas behind them.
type HigherOrder struct {
	data     int // arguments before the lambdas
	lambdas  int
	optional bool // the last lambda may be missing; fill makes it
	fill     plan.Expr
}

// Taking is the shape of a higher-order function.
func Taking(data, lambdas int) HigherOrder { return HigherOrder{data: data, lambdas: lambdas} }

// Or says that the last lambda may be missing, and what it is then.
func (h HigherOrder) Or(l plan.Expr) HigherOrder {
	h.optional, h.fill = true, l
	return h
}

// Bind checks the arguments of a call and returns it with the lambdas not
// resolved yet. Each data argument must be of the kind wanted.
func (h HigherOrder) Bind(b *Binding, want ...Input) (*plan.Call, error) {
	most := h.data + h.lambdas
	least := most
	if h.optional {
		least--
	}
	if err := b.Between(least, most); err != nil {
		return nil, err
	}
	args := b.Args
	if len(args) < most {
		args = append(args[:len(args):len(args)], h.fill)
	}
	c := b.Call(append([]plan.Expr{}, args...), plan.Null, true)
	for i, a := range args[:h.data] {
		if _, ok := a.(*plan.Lambda); ok {
			return nil, plan.AnalysisError("INVALID_LAMBDA_FUNCTION_CALL.PARAMETER_DOES_NOT_ACCEPT_LAMBDA_FUNCTION",
				"the "+Ordinal(i)+" argument of "+b.ShownName()+" is no function.").At(b.Origin)
		}
	}
	for i, in := range want {
		if !in.Accepts(args[i].Type()) {
			return nil, Unexpected(b, c, i, in.Text)
		}
	}
	return c, nil
}

// Resolve resolves lambda argument i of a call. An argument that is no lambda
// is the body of one that looks at no parameter.
func (b *Binding) Resolve(c *plan.Call, i int, params ...Param) (*plan.LambdaFunction, error) {
	f := &plan.LambdaFunction{Body: c.Args[i]}
	for k, p := range params {
		f.Params = append(f.Params, &plan.LambdaVariable{Level: b.Level, Index: k, Of: p.Of, Null: p.Null})
	}
	if l, ok := c.Args[i].(*plan.Lambda); ok {
		if err := checkParams(l, len(params), b.Env); err != nil {
			return nil, err
		}
		var err error
		if f.Body, err = b.Lambda(l, f.Params); err != nil {
			return nil, err
		}
	}
	c.Args[i] = f
	return f, nil
}

// Yields checks what the lambda in argument i gives: values of a type, or NULL.
func (b *Binding) Yields(c *plan.Call, i int, want plan.Type) error {
	f := c.Args[i].(*plan.LambdaFunction)
	switch got := f.Type(); {
	case got.EqualIgnoringNull(want):
		return nil
	case got.Kind == plan.KindNull:
		c.Args[i] = &plan.LambdaFunction{Params: f.Params, Body: plan.Lit(nil, want)}
		return nil
	default:
		return Unexpected(b, c, i, SqlType(want))
	}
}

func checkParams(l *plan.Lambda, n int, env *Env) error {
	if len(l.Params) != n {
		return plan.AnalysisError("INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH",
			fmt.Sprintf("the lambda has %d parameters, but gets %d.", len(l.Params), n),
			"expectedNumArgs", strconv.Itoa(len(l.Params)), "actualNumArgs", strconv.Itoa(n)).At(l.Origin)
	}
	seen, twice := map[string]bool{}, false
	names := make([]string, n)
	for i, name := range l.Params {
		if env.Setting("spark.sql.caseSensitive") != "true" {
			name = strings.ToLower(name)
		}
		twice = twice || seen[name]
		seen[name] = true
		names[i] = plan.Quote(name)
	}
	if twice {
		return plan.AnalysisError("INVALID_LAMBDA_FUNCTION_CALL.DUPLICATE_ARG_NAMES",
			"two parameters of the lambda have one name.", "args", strings.Join(names, ", "),
			"caseSensitiveConfig", Quoted("spark.sql.caseSensitive")).At(l.Origin)
	}
	return nil
}
