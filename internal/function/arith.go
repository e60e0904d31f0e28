package function

import (
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/plan"
)

// operator is a binary operator over two values of one type.
type operator struct {
	name, symbol string
	try          string // the function that gives NULL where this gives an error
	in           input  // what both sides must be
	// mode of a try_ function is NULL for errors whatever the session says.
	tries bool
}

var (
	opAdd      = operator{name: "+", symbol: "+", try: "try_add", in: numericOrInterval()}
	opSubtract = operator{name: "-", symbol: "-", try: "try_subtract", in: numericOrInterval()}
	opMultiply = operator{name: "*", symbol: "*", try: "try_multiply", in: numeric()}
	opDivide   = operator{name: "/", symbol: "/", try: "try_divide", in: oneOf(exactly(plan.Double), decimals())}
	opRemain   = operator{name: "%", symbol: "%", try: "try_mod", in: numeric()}
	opPmod     = operator{name: "pmod", symbol: "pmod", in: numeric()}
	opQuotient = operator{name: "div", symbol: "div", in: oneOf(exactly(plan.Long), decimals(),
		interval(plan.KindYearMonth), interval(plan.KindDayTime))}
)

// arithmeticDefs are + - * / % div, their try_ forms, and what has one argument.
func arithmeticDefs() []*Def {
	defs := []*Def{
		opAdd.def(Example{"1 + 2", "3"}, Example{"1 + NULL", "NULL"}, Example{"1.5 + 2", "3.5"}),
		opSubtract.def(Example{"5 - 7", "-2"}, Example{"DATE '2024-03-01' - INTERVAL 1 DAY", "2024-02-29"}),
		opMultiply.def(Example{"3 * 4", "12"},
			Example{"INTERVAL 1 DAY * 1.5", "INTERVAL '1 12:00:00' DAY TO SECOND"}),
		opDivide.def(Example{"3 / 2", "1.5"}, Example{"1.0 / 3", "0.333333"}),
		opRemain.def(Example{"-7 % 3", "-1"}, Example{"-5.5 % 2", "-1.5"}),
		opPmod.def(Example{"pmod(-7, 3)", "2"}),
		opQuotient.def(Example{"7 div 2", "3"}, Example{"-7 div 2", "-3"}),
	}
	for _, op := range []operator{opAdd, opSubtract, opMultiply, opDivide, opRemain} {
		defs = append(defs, op.tryDef())
	}
	defs[4].Aliases = []string{"mod"}
	return append(defs, unaryDefs()...)
}

func (op operator) def(examples ...Example) *Def {
	return &Def{Name: op.name, Group: "math_funcs", Rewrite: op.bind, Kernel: op.kernel, Examples: examples}
}

func (op operator) tryDef() *Def {
	tries := op
	tries.tries = true
	examples := map[string]Example{
		"try_add":      {"try_add(2147483647, 1)", "NULL"},
		"try_subtract": {"try_subtract(-2147483648, 1)", "NULL"},
		"try_multiply": {"try_multiply(2147483647, 2)", "NULL"},
		"try_divide":   {"try_divide(3, 0)", "NULL"},
		"try_mod":      {"try_mod(5, 0)", "NULL"},
	}
	return &Def{Name: op.try, Group: "math_funcs", Rewrite: tries.bind, Kernel: tries.kernel,
		Examples: []Example{examples[op.try]}}
}

// bind resolves a call of the operator: dates and intervals first, which turn
// into other calls, then numbers.
func (op operator) bind(b *Binding) (plan.Expr, error) {
	if len(b.Args) == 1 && (op.name == "+" || op.name == "-") && !op.tries {
		return b.nest(map[string]string{"+": "positive", "-": "negative"}[op.name], b.Args...)
	}
	if err := b.between(2, 2); err != nil {
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
	c := b.call([]plan.Expr{x, y}, plan.Null, true)
	if equalFold(b.Name, "mod") {
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
func (op operator) shown(b *Binding, e plan.Expr) plan.Expr {
	c, ok := e.(*plan.Call)
	if !op.tries || !ok {
		return e
	}
	named := *c
	named.Text = escaped(op.try + "(" + b.sql(b.Args[0]) + ", " + b.sql(b.Args[1]) + ")")
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
func (op operator) check(b *Binding, c *plan.Call) error {
	l, r := c.Args[0].Type(), c.Args[1].Type()
	if !sameSides(l, r) {
		return mismatch(b, c, "BINARY_OP_DIFF_TYPES",
			"the sides of "+b.sql(c)+" are "+l.SQL()+" and "+r.SQL()+", which do not go together.",
			"left", sqlType(l), "right", sqlType(r))
	}
	if !op.in.accepts(l) {
		return mismatch(b, c, "BINARY_OP_WRONG_TYPE",
			b.sql(c)+" needs "+op.in.text+", not "+l.SQL()+".",
			"inputType", op.in.text, "actualDataType", sqlType(l))
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
func (op operator) nullable(b *Binding, x, y plan.Expr, of plan.Type) bool {
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
func (op operator) coerce(b *Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	l, r = promoteArithmetic(b, l, r)
	l, r = meetDecimals(b, l, r)
	l, r = op.widenDivision(b, l, r)
	return op.tightest(b, l, r)
}

func promoteArithmetic(b *Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	if b.Env.ANSI {
		if t, ok := ansiStringPromotion(lt, rt); ok {
			return b.cast(l, t), b.cast(r, t)
		}
		return l, r
	}
	if lt.IsString() && !rt.IsInterval() {
		l = b.cast(l, plan.Double)
	}
	if rt.IsString() && !lt.IsInterval() {
		r = b.cast(r, plan.Double)
	}
	return l, r
}

func (b *Binding) cast(e plan.Expr, t plan.Type) plan.Expr { return castTo(e, t, b.Env, b.Origin) }

// meetDecimals turns an integer beside a decimal into a decimal, of just the
// digits it has when it is a literal, and a decimal beside a double into one.
func meetDecimals(b *Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	switch {
	case lt.Kind == plan.KindDecimal && rt.IsIntegral():
		return l, b.cast(r, tightDecimal(r))
	case rt.Kind == plan.KindDecimal && lt.IsIntegral():
		return b.cast(l, tightDecimal(l)), r
	case lt.Kind == plan.KindDecimal && isFloat(rt):
		return b.cast(l, plan.Double), r
	case rt.Kind == plan.KindDecimal && isFloat(lt):
		return l, b.cast(r, plan.Double)
	default:
		return l, r
	}
}

func isFloat(t plan.Type) bool { return t.Kind == plan.KindFloat || t.Kind == plan.KindDouble }

func tightDecimal(e plan.Expr) plan.Type {
	l, ok := e.(*plan.Literal)
	if !ok || l.Value == nil || l.Of.Kind == plan.KindByte {
		return plan.DecimalOf(e.Type().Kind)
	}
	v := l.Value.(int64)
	digits := 1
	for v /= 10; v != 0; v /= 10 {
		digits++
	}
	return plan.Decimal(digits, 0)
}

func (op operator) widenDivision(b *Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	number := func(t plan.Type) bool { return t.IsNumeric() || t.Kind == plan.KindNull }
	switch op.name {
	case "/":
		decimals := lt.Kind == plan.KindDecimal && (rt.Kind == plan.KindDecimal || rt.Kind == plan.KindNull) ||
			lt.Kind == plan.KindNull && rt.Kind == plan.KindDecimal
		if number(lt) && number(rt) && !decimals {
			return b.cast(l, plan.Double), b.cast(r, plan.Double)
		}
	case "div":
		return b.castInt(l), b.castInt(r)
	}
	return l, r
}

// castInt widens the smaller integers to BIGINT.
func (b *Binding) castInt(e plan.Expr) plan.Expr {
	if t := e.Type(); t.IsIntegral() {
		return b.cast(e, plan.Long)
	}
	return e
}

func (op operator) tightest(b *Binding, l, r plan.Expr) (plan.Expr, plan.Expr) {
	lt, rt := l.Type(), r.Type()
	if lt.Kind == plan.KindNull && rt.Kind == plan.KindNull && !op.in.accepts(lt) {
		return b.cast(l, op.in.concrete), b.cast(r, op.in.concrete)
	}
	if lt.Kind == plan.KindDecimal && rt.Kind == plan.KindDecimal || lt.EqualIgnoringNull(rt) {
		return l, r
	}
	t, ok := TightestType(lt, rt, b.Env)
	if !ok || !op.in.accepts(t) {
		return l, r
	}
	return b.cast(l, t), b.cast(r, t)
}

// sameSides: decimals of different digits go together, their operators round.
func sameSides(l, r plan.Type) bool {
	return l.EqualIgnoringNull(r) || l.Kind == plan.KindDecimal && r.Kind == plan.KindDecimal
}
