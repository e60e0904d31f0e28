package function

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// sig is the signature of an ordinary function: what it takes, what it gives.
type sig struct {
	in   []input
	rest *input // what further arguments are, when any number may follow
	// least is the number of arguments that must be there; 0 stands for all of in.
	least int
	// expects refuses arguments of other types where others would be cast.
	expects bool
	returns func(args []plan.Expr) plan.Type
	null    nulls
	// check looks at the arguments after they were cast; may be nil.
	check func(b *Binding, c *plan.Call) error
	// nullRule overrides null; may be nil.
	nullRule func(args []plan.Expr) bool
	// fill completes optional arguments with their defaults; may be nil.
	fill func(args []plan.Expr) []plan.Expr
}

// nulls says when a function may return NULL.
type nulls uint8

const (
	strict  nulls = iota // when an argument is NULL
	always               // for other reasons too
	never                // not at all
	lenient              // under ANSI when an argument is NULL, otherwise always
)

// takes starts a signature.
func takes(in ...input) sig { return sig{in: in} }

// nothing is the signature of functions without arguments.
func nothing(t plan.Type) sig { return sig{null: never}.gives(t) }

func (s sig) gives(t plan.Type) sig {
	s.returns = func([]plan.Expr) plan.Type { return t }
	return s
}

func (s sig) givesType(of func(args []plan.Expr) plan.Type) sig {
	s.returns = of
	return s
}

// givesFirst returns the type of the first argument.
func (s sig) givesFirst() sig {
	return s.givesType(func(args []plan.Expr) plan.Type { return args[0].Type() })
}

func (s sig) withNull(n nulls) sig {
	s.null = n
	return s
}

// optional says that the last n arguments may be missing.
func (s sig) optional(n int) sig {
	s.least = len(s.in) - n
	return s
}

func (s sig) expecting() sig {
	s.expects = true
	return s
}

func (s sig) checked(check func(b *Binding, c *plan.Call) error) sig {
	s.check = check
	return s
}

// defaults are the literals that stand for missing arguments at the end.
func (s sig) defaults(list ...plan.Expr) sig {
	s.least = len(s.in) - len(list)
	least := s.least
	s.fill = func(args []plan.Expr) []plan.Expr {
		return append(args[:len(args):len(args)], list[len(args)-least:]...)
	}
	return s
}

// and says that any number of further arguments of a kind may follow; at least
// least arguments must be there.
func (s sig) and(rest input, least int) sig {
	s.rest, s.least = &rest, least
	return s
}

// bind is the Bind of a Def of this signature.
func (s sig) bind(b *Binding) (*plan.Call, error) {
	if err := s.count(b); err != nil {
		return nil, err
	}
	args := b.Args
	if s.fill != nil {
		args = s.fill(args)
	}
	args = s.cast(b, args)
	c := b.call(args, plan.Null, true)
	for i := range args {
		want := s.at(i)
		if !want.accepts(args[i].Type()) {
			return nil, unexpected(b, c, i, want.text)
		}
	}
	if s.check != nil {
		if err := s.check(b, c); err != nil {
			return nil, err
		}
	}
	c.Of = s.returns(c.Args)
	c.Null = s.null.of(b, c.Args)
	if s.nullRule != nil {
		c.Null = s.nullRule(c.Args)
	}
	return c, nil
}

func (n nulls) of(b *Binding, args []plan.Expr) bool {
	switch n {
	case strict:
		return anyNullable(args)
	case always:
		return true
	case lenient:
		return !b.Env.ANSI || anyNullable(args)
	default:
		return false
	}
}

func (s sig) at(i int) input {
	if i < len(s.in) {
		return s.in[i]
	}
	return *s.rest
}

func (s sig) count(b *Binding) error {
	if s.rest != nil {
		if len(b.Args) >= s.least {
			return nil
		}
		return wrongCount(b, "> "+itoa(s.least-1))
	}
	least := s.least
	if least == 0 && s.fill == nil {
		least = len(s.in)
	}
	return b.between(least, len(s.in))
}

func (s sig) cast(b *Binding, args []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, len(args))
	for i, a := range args {
		out[i] = a
		want := s.at(i)
		switch {
		case want.accepts(a.Type()):
		case !s.expects:
			out[i], _ = castInput(a, want, b.Env, b.Origin)
		case a.Type().Kind == plan.KindNull && want.concrete.Kind != plan.KindNull:
			out[i] = plan.Lit(nil, want.concrete)
		}
	}
	return out
}

// maker makes the kernel of a bound call.
type maker = func(c *plan.Call, env *Env) (Kernel, error)

// plain is the maker of a kernel that depends on nothing.
func plain(k Kernel) maker { return func(*plan.Call, *Env) (Kernel, error) { return k, nil } }

// scalar is an ordinary scalar function. names is its name, then its aliases,
// parted by blanks.
func scalar(names, group string, s sig, m maker, examples ...Example) *Def {
	list := strings.Fields(names)
	return &Def{Name: list[0], Aliases: list[1:], Group: group, Bind: s.bind, Kernel: m, Examples: examples}
}

// shown sets how Spark writes the name in column names.
func (d *Def) shown(name string) *Def {
	d.Shown = name
	return d
}

// asWritten keeps the alias that the user wrote in column names.
func (d *Def) asWritten() *Def {
	d.ShownAsWritten = true
	return d
}

// short is a function that is written with others.
func short(names, group string, rewrite func(b *Binding) (plan.Expr, error), examples ...Example) *Def {
	list := strings.Fields(names)
	return &Def{Name: list[0], Aliases: list[1:], Group: group, Rewrite: rewrite, Examples: examples}
}

func hidden(name string, s sig, m maker) *Def {
	return &Def{Name: name, Hidden: true, Bind: s.bind, Kernel: m}
}
