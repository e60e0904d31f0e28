package function

import (
	"github.com/weir-dev/weir/internal/plan"
)

// logicDefs are and, or, not, and the conditionals. Those that must not
// evaluate all their arguments are Lazy: exec computes them.
func logicDefs() []*Def {
	return []*Def{
		logical("and", Example{"true AND NULL", "NULL"}, Example{"false AND NULL", "false"}),
		logical("or", Example{"true OR NULL", "true"}),
		scalar("not !", "predicate_funcs", takes(exactly(plan.Boolean)).gives(plan.Boolean), plain(notKernel),
			Example{"NOT true", "false"}),
		{Name: "if", Group: "conditional_funcs", Lazy: true, Bind: bindIf,
			Examples: []Example{{"if(1 < 2, 'a', 'b')", "a"}}},
		{Name: "when", Aliases: []string{"case"}, Group: "conditional_funcs", Lazy: true, Bind: bindWhen,
			Examples: []Example{{"CASE WHEN 1 > 2 THEN 'a' WHEN 2 > 1 THEN 'b' END", "b"}}},
		{Name: "nanvl", Group: "conditional_funcs", Lazy: true, Bind: bindNanvl,
			Examples: []Example{{"nanvl(CAST('NaN' AS DOUBLE), 123)", "123.0"}}},
		{Name: "coalesce", Group: "conditional_funcs", Lazy: true, Bind: bindCoalesce,
			Examples: []Example{{"coalesce(NULL, 1, 2)", "1"}}},
		short("nvl ifnull", "conditional_funcs", func(b *Binding) (plan.Expr, error) {
			return b.onto("coalesce", 2, 2)
		},
			Example{"nvl(NULL, 'a')", "a"}, Example{"ifnull(NULL, 1)", "1"}).asWritten(),
		short("nvl2", "conditional_funcs", bindNvl2, Example{"nvl2(NULL, 2, 1)", "1"}),
		short("nullif", "conditional_funcs", bindNullif, Example{"nullif(2, 2)", "NULL"}),
		short("nullifzero", "conditional_funcs", bindNullifzero, Example{"nullifzero(0)", "NULL"}),
		short("zeroifnull", "conditional_funcs", bindZeroifnull, Example{"zeroifnull(NULL)", "0"}),
		{Name: "greatest", Group: "math_funcs", Bind: bindGreatest, Kernel: greatestKernel(1),
			Examples: []Example{{"greatest(1, NULL, 3)", "3"}}},
		{Name: "least", Group: "math_funcs", Bind: bindGreatest, Kernel: greatestKernel(-1),
			Examples: []Example{{"least(10, 9, 2)", "2"}}},
	}
}

// opLogical is the check that and/or make.
var opLogical = operator{in: exactly(plan.Boolean)}

func logical(name string, examples ...Example) *Def {
	return &Def{Name: name, Group: "predicate_funcs", Lazy: true, Bind: bindLogical, Examples: examples}
}

// bindLogical takes two or more conditions; DataFrames send many at once.
func bindLogical(b *Binding) (*plan.Call, error) {
	if len(b.Args) > 2 {
		first := *b
		first.Args = b.Args[:len(b.Args)-1]
		l, err := bindLogical(&first)
		if err != nil {
			return nil, err
		}
		both := *b
		both.Args = []plan.Expr{l, b.Args[len(b.Args)-1]}
		b = &both
	}
	if err := b.between(2, 2); err != nil {
		return nil, err
	}
	l, r := promoteComparison(b, b.Args[0], b.Args[1])
	if !b.Env.ANSI {
		l, r = b.Args[0], b.Args[1]
	}
	l, r = opLogical.tightest(b, l, r)
	c := b.call([]plan.Expr{l, r}, plan.Boolean, l.Nullable() || r.Nullable())
	return c, opLogical.check(b, c)
}

func bindIf(b *Binding) (*plan.Call, error) {
	if err := b.between(3, 3); err != nil {
		return nil, err
	}
	cond, x, y := b.Args[0], b.Args[1], b.Args[2]
	if cond.Type().Kind == plan.KindNull {
		cond = b.cast(cond, plan.Boolean)
	}
	branches, same := b.agree([]plan.Expr{x, y}, CommonTypeOf)
	args := append([]plan.Expr{cond}, branches...)
	c := b.call(args, plan.Null, true)
	if cond.Type().Kind != plan.KindBoolean {
		return nil, unexpected(b, c, 0, sqlType(plan.Boolean))
	}
	if !same {
		return nil, diffTypes(b, c, "if", "["+typeList(branches, ", ")+"]")
	}
	c.Of = mergedType(branches)
	c.Null = anyNullable(branches)
	return c, nil
}

// agree casts arguments to their common type, if there is one.
func (b *Binding) agree(args []plan.Expr,
	rule func(list []plan.Type, env *Env) (plan.Type, bool)) ([]plan.Expr, bool) {
	if len(args) == 0 || sameTypes(args) {
		return args, true
	}
	t, ok := rule(typesOf(args), b.Env)
	if !ok {
		return args, false
	}
	return b.castAll(args, t), true
}

// mergedType is the type of arguments that differ at most in nullability: it
// allows NULL where one of them does.
func mergedType(args []plan.Expr) plan.Type {
	t := args[0].Type()
	for _, a := range args[1:] {
		t = mergeNulls(t, a.Type())
	}
	return t
}

func mergeNulls(a, b plan.Type) plan.Type {
	switch a.Kind {
	case plan.KindArray:
		return plan.Array(mergeNulls(*a.Elem, *b.Elem), a.ContainsNull || b.ContainsNull)
	case plan.KindMap:
		return plan.Map(mergeNulls(*a.Key, *b.Key), mergeNulls(*a.Elem, *b.Elem), a.ContainsNull || b.ContainsNull)
	case plan.KindStruct:
		fields := make([]plan.Field, len(a.Fields))
		for i, f := range a.Fields {
			f.Type = mergeNulls(f.Type, b.Fields[i].Type)
			f.Nullable = f.Nullable || b.Fields[i].Nullable
			fields[i] = f
		}
		return plan.Struct(fields...)
	default:
		return a
	}
}

// bindWhen binds CASE: pairs of condition and value, then perhaps the value of
// ELSE.
func bindWhen(b *Binding) (*plan.Call, error) {
	if len(b.Args) < 2 {
		return nil, wrongCount(b, "> 1").At(b.Origin)
	}
	var values []plan.Expr
	for i, a := range b.Args {
		if i%2 == 1 || i == len(b.Args)-1 {
			values = append(values, a)
		}
	}
	values, same := b.agree(values, CommonTypeOf)
	args := make([]plan.Expr, 0, len(b.Args))
	for i := 0; i+1 < len(b.Args); i += 2 {
		args = append(args, b.Args[i], values[i/2])
	}
	if len(b.Args)%2 == 1 {
		args = append(args, values[len(values)-1])
	}
	c := b.call(args, plan.Null, true)
	if !same {
		return nil, diffTypes(b, c, "casewhen", "["+typeList(values, ", ")+"]")
	}
	for i := 0; i+1 < len(args); i += 2 {
		if args[i].Type().Kind != plan.KindBoolean {
			e := unexpected(b, c, i, sqlType(plan.Boolean))
			e.Args["paramIndex"] = ordinal(i / 2)
			return nil, e
		}
	}
	c.Of = mergedType(values)
	c.Null = whenNullable(args)
	return c, nil
}

// whenNullable: branches behind one whose condition is the constant true do
// not count.
func whenNullable(args []plan.Expr) bool {
	for len(args) >= 2 {
		if args[1].Nullable() {
			return true
		}
		if always, _ := constant(args[0]); always == true {
			return false
		}
		args = args[2:]
	}
	return len(args) == 0 || args[0].Nullable()
}

func bindCoalesce(b *Binding) (*plan.Call, error) {
	if len(b.Args) == 0 {
		return nil, wrongCount(b, "> 0")
	}
	args, same := b.agree(b.Args, CommonTypeOf)
	c := b.call(args, plan.Null, true)
	if !same {
		return nil, diffTypes(b, c, b.Def.Name, "("+typeList(args, " or ")+")")
	}
	c.Of = mergedType(args)
	for _, a := range args {
		c.Null = c.Null && a.Nullable()
	}
	return c, nil
}

// bindNanvl makes both sides DOUBLE when one of them is.
func bindNanvl(b *Binding) (*plan.Call, error) {
	number := oneOf(exactly(plan.Double), exactly(plan.Float))
	c, err := takes(number, number).givesFirst().bind(b)
	if err != nil || c.Args[0].Type().Kind == c.Args[1].Type().Kind {
		return c, err
	}
	c.Args = b.castAll(c.Args, plan.Double)
	c.Of = plan.Double
	return c, nil
}

func bindNvl2(b *Binding) (plan.Expr, error) {
	if err := b.between(3, 3); err != nil {
		return nil, err
	}
	test, err := b.nest("isnotnull", b.Args[0])
	if err != nil {
		return nil, err
	}
	e, err := b.nest("if", test, b.Args[1], b.Args[2])
	if err != nil {
		return nil, err
	}
	return rewritten(b, e), nil
}

func bindNullif(b *Binding) (plan.Expr, error) {
	if err := b.between(2, 2); err != nil {
		return nil, err
	}
	return b.nullWhenEqual(b.Args[0], b.Args[1])
}

func (b *Binding) nullWhenEqual(x, y plan.Expr) (plan.Expr, error) {
	same, err := b.nest("=", x, y)
	if err != nil {
		return nil, err
	}
	e, err := b.nest("if", same, plan.Lit(nil, x.Type()), x)
	if err != nil {
		return nil, err
	}
	return rewritten(b, e), nil
}

func bindNullifzero(b *Binding) (plan.Expr, error) {
	if err := b.between(1, 1); err != nil {
		return nil, err
	}
	return b.nullWhenEqual(b.Args[0], plan.Lit(int64(0), plan.Int))
}

func bindZeroifnull(b *Binding) (plan.Expr, error) {
	if err := b.between(1, 1); err != nil {
		return nil, err
	}
	e, err := b.nest("coalesce", b.Args[0], plan.Lit(int64(0), plan.Int))
	if err != nil {
		return nil, err
	}
	return rewritten(b, e), nil
}

// bindGreatest binds greatest and least, which ignore NULLs.
func bindGreatest(b *Binding) (*plan.Call, error) {
	if len(b.Args) < 2 {
		return nil, wrongCount(b, "> 1")
	}
	args, same := b.agree(b.Args, func(list []plan.Type, env *Env) (plan.Type, bool) {
		return foldTypes(list, env, WiderType)
	})
	c := b.call(args, plan.Null, true)
	if !same {
		return nil, diffTypes(b, c, b.Def.Name, "["+typeList(args, ", ")+"]")
	}
	c.Of = mergedType(args)
	if !Orderable(c.Of) {
		return nil, mismatch(b, c, "INVALID_ORDERING_TYPE", c.Of.SQL()+" values cannot be compared.",
			"functionName", plan.Quote(b.Def.Name), "dataType", sqlType(c.Of))
	}
	for _, a := range args {
		c.Null = c.Null && a.Nullable()
	}
	return c, nil
}
