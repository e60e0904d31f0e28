package operators

import (
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// logicDefs are and, or, not, and the conditionals. Those that must not
// evaluate all their arguments are Lazy: exec computes them.
func logicDefs() []*fn.Def {
	return []*fn.Def{
		logical("and", fn.Example{"true AND NULL", "NULL"}, fn.Example{"false AND NULL", "false"}),
		logical("or", fn.Example{"true OR NULL", "true"}),
		fn.Scalar(
			"not !",
			"predicate_funcs",
			fn.Takes(fn.Exactly(plan.Boolean)).Gives(plan.Boolean),
			fn.Plain(notKernel),
			fn.Example{"NOT true", "false"},
		),
		{Name: "if", Group: "conditional_funcs", Lazy: true, Bind: bindIf,
			Examples: []fn.Example{{"if(1 < 2, 'a', 'b')", "a"}}},
		{Name: "when", Aliases: []string{"case"}, Group: "conditional_funcs", Lazy: true, Bind: bindWhen,
			Examples: []fn.Example{{"CASE WHEN 1 > 2 THEN 'a' WHEN 2 > 1 THEN 'b' END", "b"}}},
		{Name: "nanvl", Group: "conditional_funcs", Lazy: true, Bind: bindNanvl,
			Examples: []fn.Example{{"nanvl(CAST('NaN' AS DOUBLE), 123)", "123.0"}}},
		{Name: "coalesce", Group: "conditional_funcs", Lazy: true, Bind: bindCoalesce,
			Examples: []fn.Example{{"coalesce(NULL, 1, 2)", "1"}}},
		fn.Short("nvl ifnull", "conditional_funcs", func(b *fn.Binding) (plan.Expr, error) {
			return b.Onto("coalesce", 2, 2)
		},
			fn.Example{"nvl(NULL, 'a')", "a"}, fn.Example{"ifnull(NULL, 1)", "1"}).AsWritten(),
		fn.Short("nvl2", "conditional_funcs", bindNvl2, fn.Example{"nvl2(NULL, 2, 1)", "1"}),
		fn.Short("nullif", "conditional_funcs", bindNullif, fn.Example{"nullif(2, 2)", "NULL"}),
		fn.Short("nullifzero", "conditional_funcs", bindNullifzero, fn.Example{"nullifzero(0)", "NULL"}),
		fn.Short("zeroifnull", "conditional_funcs", bindZeroifnull, fn.Example{"zeroifnull(NULL)", "0"}),
		{Name: "greatest", Group: "math_funcs", Bind: bindGreatest, Kernel: greatestKernel(1),
			Examples: []fn.Example{{"greatest(1, NULL, 3)", "3"}}},
		{Name: "least", Group: "math_funcs", Bind: bindGreatest, Kernel: greatestKernel(-1),
			Examples: []fn.Example{{"least(10, 9, 2)", "2"}}},
	}
}

// opLogical is the check that and/or make.
var opLogical = operator{in: fn.Exactly(plan.Boolean)}

func logical(name string, examples ...fn.Example) *fn.Def {
	return &fn.Def{Name: name, Group: "predicate_funcs", Lazy: true, Bind: bindLogical, Examples: examples}
}

// bindLogical takes two or more conditions; DataFrames send many at once.
func bindLogical(b *fn.Binding) (*plan.Call, error) {
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
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	l, r := promoteComparison(b, b.Args[0], b.Args[1])
	if !b.Env.ANSI {
		l, r = b.Args[0], b.Args[1]
	}
	l, r = opLogical.tightest(b, l, r)
	c := b.Call([]plan.Expr{l, r}, plan.Boolean, l.Nullable() || r.Nullable())
	return c, opLogical.check(b, c)
}

func bindIf(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(3, 3); err != nil {
		return nil, err
	}
	cond, x, y := b.Args[0], b.Args[1], b.Args[2]
	if cond.Type().Kind == plan.KindNull {
		cond = b.Cast(cond, plan.Boolean)
	}
	branches, same := b.Agree([]plan.Expr{x, y}, fn.CommonTypeOf)
	args := append([]plan.Expr{cond}, branches...)
	c := b.Call(args, plan.Null, true)
	if cond.Type().Kind != plan.KindBoolean {
		return nil, fn.Unexpected(b, c, 0, fn.SqlType(plan.Boolean))
	}
	if !same {
		return nil, fn.DiffTypes(b, c, "if", "["+fn.TypeList(branches, ", ")+"]")
	}
	c.Of = fn.MergedType(branches)
	c.Null = fn.AnyNullable(branches)
	return c, nil
}

// bindWhen binds CASE: pairs of condition and value, then perhaps the value of
// ELSE.
func bindWhen(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) < 2 {
		return nil, fn.WrongCount(b, "> 1").At(b.Origin)
	}
	var values []plan.Expr
	for i, a := range b.Args {
		if i%2 == 1 || i == len(b.Args)-1 {
			values = append(values, a)
		}
	}
	values, same := b.Agree(values, fn.CommonTypeOf)
	args := make([]plan.Expr, 0, len(b.Args))
	for i := 0; i+1 < len(b.Args); i += 2 {
		args = append(args, b.Args[i], values[i/2])
	}
	if len(b.Args)%2 == 1 {
		args = append(args, values[len(values)-1])
	}
	c := b.Call(args, plan.Null, true)
	if !same {
		return nil, fn.DiffTypes(b, c, "casewhen", "["+fn.TypeList(values, ", ")+"]")
	}
	for i := 0; i+1 < len(args); i += 2 {
		if args[i].Type().Kind != plan.KindBoolean {
			e := fn.Unexpected(b, c, i, fn.SqlType(plan.Boolean))
			e.Args["paramIndex"] = fn.Ordinal(i / 2)
			return nil, e
		}
	}
	c.Of = fn.MergedType(values)
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
		if always, _ := fn.Constant(args[0]); always == true {
			return false
		}
		args = args[2:]
	}
	return len(args) == 0 || args[0].Nullable()
}

func bindCoalesce(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) == 0 {
		return nil, fn.WrongCount(b, "> 0")
	}
	args, same := b.Agree(b.Args, fn.CommonTypeOf)
	c := b.Call(args, plan.Null, true)
	if !same {
		return nil, fn.DiffTypes(b, c, b.Def.Name, "("+fn.TypeList(args, " or ")+")")
	}
	c.Of = fn.MergedType(args)
	for _, a := range args {
		c.Null = c.Null && a.Nullable()
	}
	return c, nil
}

// bindNanvl makes both sides DOUBLE when one of them is.
func bindNanvl(b *fn.Binding) (*plan.Call, error) {
	number := fn.OneOf(fn.Exactly(plan.Double), fn.Exactly(plan.Float))
	c, err := fn.Takes(number, number).GivesFirst().Bind(b)
	if err != nil || c.Args[0].Type().Kind == c.Args[1].Type().Kind {
		return c, err
	}
	c.Args = b.CastAll(c.Args, plan.Double)
	c.Of = plan.Double
	return c, nil
}

func bindNvl2(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(3, 3); err != nil {
		return nil, err
	}
	test, err := b.Nest("isnotnull", b.Args[0])
	if err != nil {
		return nil, err
	}
	e, err := b.Nest("if", test, b.Args[1], b.Args[2])
	if err != nil {
		return nil, err
	}
	return fn.Rewritten(b, e), nil
}

func bindNullif(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(2, 2); err != nil {
		return nil, err
	}
	return nullWhenEqual(b, b.Args[0], b.Args[1])
}

func nullWhenEqual(b *fn.Binding, x, y plan.Expr) (plan.Expr, error) {
	same, err := b.Nest("=", x, y)
	if err != nil {
		return nil, err
	}
	e, err := b.Nest("if", same, plan.Lit(nil, x.Type()), x)
	if err != nil {
		return nil, err
	}
	return fn.Rewritten(b, e), nil
}

func bindNullifzero(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(1, 1); err != nil {
		return nil, err
	}
	return nullWhenEqual(b, b.Args[0], plan.Lit(int64(0), plan.Int))
}

func bindZeroifnull(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(1, 1); err != nil {
		return nil, err
	}
	e, err := b.Nest("coalesce", b.Args[0], plan.Lit(int64(0), plan.Int))
	if err != nil {
		return nil, err
	}
	return fn.Rewritten(b, e), nil
}

// bindGreatest binds greatest and least, which ignore NULLs.
func bindGreatest(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) < 2 {
		return nil, fn.WrongCount(b, "> 1")
	}
	args, same := b.Agree(b.Args, func(list []plan.Type, env *fn.Env) (plan.Type, bool) {
		return fn.FoldTypes(list, env, fn.WiderType)
	})
	c := b.Call(args, plan.Null, true)
	if !same {
		return nil, fn.DiffTypes(b, c, b.Def.Name, "["+fn.TypeList(args, ", ")+"]")
	}
	c.Of = fn.MergedType(args)
	if !fn.Orderable(c.Of) {
		return nil, fn.Mismatch(b, c, "INVALID_ORDERING_TYPE", c.Of.SQL()+" values cannot be compared.",
			"functionName", plan.Quote(b.Def.Name), "dataType", fn.SqlType(c.Of))
	}
	for _, a := range args {
		c.Null = c.Null && a.Nullable()
	}
	return c, nil
}
