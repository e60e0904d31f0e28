package operators

import (
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// operator is a binary operator over two values of one type.
type operator struct {
	name, symbol string
	try          string   // the function that gives NULL where this gives an error
	in           fn.Input // what both sides must be
	// mode of a try_ function is NULL for errors whatever the session says.
	tries bool
}

var (
	opAdd      = operator{name: "+", symbol: "+", try: "try_add", in: fn.NumericOrInterval()}
	opSubtract = operator{name: "-", symbol: "-", try: "try_subtract", in: fn.NumericOrInterval()}
	opMultiply = operator{name: "*", symbol: "*", try: "try_multiply", in: fn.Numeric()}
	opDivide   = operator{
		name:   "/",
		symbol: "/",
		try:    "try_divide",
		in:     fn.OneOf(fn.Exactly(plan.Double), fn.Decimals()),
	}
	opRemain   = operator{name: "%", symbol: "%", try: "try_mod", in: fn.Numeric()}
	opPmod     = operator{name: "pmod", symbol: "pmod", in: fn.Numeric()}
	opQuotient = operator{name: "div", symbol: "div", in: fn.OneOf(fn.Exactly(plan.Long), fn.Decimals(),
		fn.Interval(plan.KindYearMonth), fn.Interval(plan.KindDayTime))}
)

// arithmeticDefs are + - * / % div, their try_ forms, and what has one argument.
func arithmeticDefs() []*fn.Def {
	defs := []*fn.Def{
		opAdd.def(fn.Example{"1 + 2", "3"}, fn.Example{"1 + NULL", "NULL"}, fn.Example{"1.5 + 2", "3.5"}),
		opSubtract.def(fn.Example{"5 - 7", "-2"}, fn.Example{"DATE '2024-03-01' - INTERVAL 1 DAY", "2024-02-29"}),
		opMultiply.def(fn.Example{"3 * 4", "12"},
			fn.Example{"INTERVAL 1 DAY * 1.5", "INTERVAL '1 12:00:00' DAY TO SECOND"}),
		opDivide.def(fn.Example{"3 / 2", "1.5"}, fn.Example{"1.0 / 3", "0.333333"}),
		opRemain.def(fn.Example{"-7 % 3", "-1"}, fn.Example{"-5.5 % 2", "-1.5"}),
		opPmod.def(fn.Example{"pmod(-7, 3)", "2"}),
		opQuotient.def(fn.Example{"7 div 2", "3"}, fn.Example{"-7 div 2", "-3"}),
	}
	for _, op := range []operator{opAdd, opSubtract, opMultiply, opDivide, opRemain} {
		defs = append(defs, op.tryDef())
	}
	defs[4].Aliases = []string{"mod"}
	return append(defs, unaryDefs()...)
}

func (op operator) def(examples ...fn.Example) *fn.Def {
	return &fn.Def{Name: op.name, Group: "math_funcs", Rewrite: op.bind, Kernel: op.kernel, Examples: examples}
}

func (op operator) tryDef() *fn.Def {
	tries := op
	tries.tries = true
	examples := map[string]fn.Example{
		"try_add":      {"try_add(2147483647, 1)", "NULL"},
		"try_subtract": {"try_subtract(-2147483648, 1)", "NULL"},
		"try_multiply": {"try_multiply(2147483647, 2)", "NULL"},
		"try_divide":   {"try_divide(3, 0)", "NULL"},
		"try_mod":      {"try_mod(5, 0)", "NULL"},
	}
	return &fn.Def{Name: op.try, Group: "math_funcs", Rewrite: tries.bind, Kernel: tries.kernel,
		Examples: []fn.Example{examples[op.try]}}
}

// bind resolves a call of the operator: dates and intervals first, which turn
// into other calls, then numbers.
func (op operator) bind(b *fn.Binding) (plan.Expr, error) {
	if len(b.Args) == 1 && (op.name == "+" || op.name == "-") && !op.tries {
		name := map[string]string{"+": "positive", "-": "negative"}[op.name]
		return b.NestAs(name, "("+op.name+" $1)", b.Args...)
	}
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	l, r := b.Args[0], b.Args[1]
	if e, done, err := op.datetime(b, l, r); done {
		return op.shown(b, e), err
	}
	x, y := op.coerce(b, l, r)
	if op.tries {
		x, y = tryStrings(x), tryStrings(y)
	}
	if x != l || y != r {
		if e, done, err := op.datetime(b, x, y); done {
			return op.shown(b, e), err
		}
	}
	c := b.Call([]plan.Expr{x, y}, plan.Null, true)
	if fn.EqualFold(b.Name, "mod") {
		c.Text = "mod($*)"
	}
	if err := op.check(b, c); err != nil {
		return nil, err
	}
	c.Of = op.result(x.Type(), y.Type())
	c.Null = op.nullable(b, x, y, c.Of)
	return c, nil
}

// shown names a call of a try_ function after that, whatever it became.
func (op operator) shown(b *fn.Binding, e plan.Expr) plan.Expr {
	c, ok := e.(*plan.Call)
	if !op.tries || !ok {
		return e
	}
	named := *c
	named.Text = fn.Escaped(op.try + "(" + b.SQL(b.Args[0]) + ", " + b.SQL(b.Args[1]) + ")")
	return &named
}

// tryStrings makes a string that coercion reads as a number NULL when it is none.
func tryStrings(e plan.Expr) plan.Expr {
	if c, ok := e.(*plan.Cast); ok && c.Implicit && c.Child.Type().IsString() {
		tries := *c
		tries.Mode = plan.CastTry
		return &tries
	}
	return e
}

// check is Spark's check of a binary operator: sides of one type, and one that
// the operator takes.
func (op operator) check(b *fn.Binding, c *plan.Call) error {
	l, r := c.Args[0].Type(), c.Args[1].Type()
	if !sameSides(l, r) {
		return fn.Mismatch(b, c, "BINARY_OP_DIFF_TYPES",
			"the sides of "+b.SQL(c)+" are "+l.SQL()+" and "+r.SQL()+", which do not go together.",
			"left", fn.SqlType(l), "right", fn.SqlType(r))
	}
	if !op.in.Accepts(l) {
		return fn.Mismatch(b, c, "BINARY_OP_WRONG_TYPE",
			b.SQL(c)+" needs "+op.in.Text+", not "+l.SQL()+".",
			"inputType", op.in.Text, "actualDataType", fn.SqlType(l))
	}
	return nil
}

func (op operator) result(l, r plan.Type) plan.Type {
	switch {
	case op.name == "div":
		return plan.Long
	case l.Kind == plan.KindDecimal:
		return decimal.Result(op.name, l, r)
	default:
		return l
	}
}

// nullable: dividing may meet a zero, decimals may overflow where that is no error.
func (op operator) nullable(b *fn.Binding, x, y plan.Expr, of plan.Type) bool {
	switch {
	case op.tries, op.name == "/", op.name == "%", op.name == "div", op.name == "pmod":
		return true
	case of.Kind == plan.KindDecimal && !b.Env.ANSI:
		return true
	default:
		return x.Nullable() || y.Nullable()
	}
}

// coerce makes the sides agree as Spark's rules do, one after the other:
// strings become numbers, decimals meet, division widens, then the tightest type.
func (op operator) coerce(b *fn.Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	l, r = promoteArithmetic(b, l, r)
	l, r = fn.MeetDecimals(b, l, r)
	l, r = op.widenDivision(b, l, r)
	return op.tightest(b, l, r)
}

func promoteArithmetic(b *fn.Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	if b.Env.ANSI {
		if t, ok := fn.AnsiStringPromotion(lt, rt); ok {
			return b.Cast(l, t), b.Cast(r, t)
		}
		return l, r
	}
	if lt.IsString() && !rt.IsInterval() {
		l = b.Cast(l, plan.Double)
	}
	if rt.IsString() && !lt.IsInterval() {
		r = b.Cast(r, plan.Double)
	}
	return l, r
}

func (op operator) widenDivision(b *fn.Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	number := func(t plan.Type) bool { return t.IsNumeric() || t.Kind == plan.KindNull }
	switch op.name {
	case "/":
		decimals := lt.Kind == plan.KindDecimal && (rt.Kind == plan.KindDecimal || rt.Kind == plan.KindNull) ||
			lt.Kind == plan.KindNull && rt.Kind == plan.KindDecimal
		if number(lt) && number(rt) && !decimals {
			return b.Cast(l, plan.Double), b.Cast(r, plan.Double)
		}
	case "div":
		return asLong(b, l), asLong(b, r)
	}
	return l, r
}

// asLong widens the smaller integers to BIGINT.
func asLong(b *fn.Binding, e plan.Expr) plan.Expr {
	if t := e.Type(); t.IsIntegral() {
		return b.Cast(e, plan.Long)
	}
	return e
}

func (op operator) tightest(b *fn.Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	if lt.Kind == plan.KindNull && rt.Kind == plan.KindNull && !op.in.Accepts(lt) {
		return b.Cast(l, op.in.Concrete), b.Cast(r, op.in.Concrete)
	}
	if lt.Kind == plan.KindDecimal && rt.Kind == plan.KindDecimal || lt.EqualIgnoringNull(rt) {
		return l, r
	}
	t, ok := fn.TightestType(lt, rt, b.Env)
	if !ok || !op.in.Accepts(t) {
		return l, r
	}
	return b.Cast(l, t), b.Cast(r, t)
}

// sameSides: decimals of different digits go together, their operators round.
func sameSides(l, r plan.Type) bool {
	return l.EqualIgnoringNull(r) || l.Kind == plan.KindDecimal && r.Kind == plan.KindDecimal
}
