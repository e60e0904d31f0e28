package fn

import (
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Sig is the signature of an ordinary function: what it takes, what it gives.
type Sig struct {
	in   []Input
	rest *Input // what further arguments are, when any number may follow
	// spare is how many arguments at the end may be missing.
	spare int
	// least is how many must be there when any number may follow.
	least int
	// expects refuses arguments of other types where others would be cast.
	expects bool
	Returns func(args []plan.Expr) plan.Type
	Null    nulls
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
	Strict  nulls = iota // when an argument is NULL
	Always               // for other reasons too
	Never                // not at all
	Lenient              // under ANSI when an argument is NULL, otherwise always
)

// Takes starts a signature.
func Takes(in ...Input) Sig { return Sig{in: in} }

// Nothing is the signature of functions without arguments.
func Nothing(t plan.Type) Sig { return Sig{Null: Never}.Gives(t) }

func (s Sig) Gives(t plan.Type) Sig {
	s.Returns = func([]plan.Expr) plan.Type { return t }
	return s
}

func (s Sig) GivesType(of func(args []plan.Expr) plan.Type) Sig {
	s.Returns = of
	return s
}

// GivesFirst returns the type of the first argument.
func (s Sig) GivesFirst() Sig {
	return s.GivesType(func(args []plan.Expr) plan.Type { return args[0].Type() })
}

func (s Sig) WithNull(n nulls) Sig {
	s.Null = n
	return s
}

// Optional says that the last n arguments may be missing.
func (s Sig) Optional(n int) Sig {
	s.spare = n
	return s
}

func (s Sig) Expecting() Sig {
	s.expects = true
	return s
}

func (s Sig) Checked(check func(b *Binding, c *plan.Call) error) Sig {
	s.check = check
	return s
}

// Defaults are the literals that stand for missing arguments at the end.
func (s Sig) Defaults(list ...plan.Expr) Sig {
	s.spare = len(list)
	least := len(s.in) - len(list)
	s.fill = func(args []plan.Expr) []plan.Expr {
		return append(args[:len(args):len(args)], list[len(args)-least:]...)
	}
	return s
}

// And says that any number of further arguments of a kind may follow; at least
// least arguments must be there.
func (s Sig) And(rest Input, least int) Sig {
	s.rest, s.least = &rest, least
	return s
}

// Bind is the Bind of a Def of this signature.
func (s Sig) Bind(b *Binding) (*plan.Call, error) {
	if err := s.count(b); err != nil {
		return nil, err
	}
	args := b.Args
	if s.fill != nil {
		args = s.fill(args)
	}
	args = s.cast(b, args)
	c := b.Call(args, plan.Null, true)
	for i := range args {
		want := s.at(i)
		if !want.Accepts(args[i].Type()) {
			return nil, Unexpected(b, c, i, want.Text)
		}
	}
	if s.check != nil {
		if err := s.check(b, c); err != nil {
			return nil, err
		}
	}
	c.Of = s.Returns(c.Args)
	c.Null = s.Null.of(b, c.Args)
	if s.nullRule != nil {
		c.Null = s.nullRule(c.Args)
	}
	return c, nil
}

func (n nulls) of(b *Binding, args []plan.Expr) bool {
	switch n {
	case Strict:
		return AnyNullable(args)
	case Always:
		return true
	case Lenient:
		return !b.Env.ANSI || AnyNullable(args)
	default:
		return false
	}
}

func (s Sig) at(i int) Input {
	if i < len(s.in) {
		return s.in[i]
	}
	return *s.rest
}

func (s Sig) count(b *Binding) error {
	if s.rest != nil {
		if len(b.Args) >= s.least {
			return nil
		}
		return WrongCount(b, "> "+Itoa(s.least-1))
	}
	return b.Between(len(s.in)-s.spare, len(s.in))
}

func (s Sig) cast(b *Binding, args []plan.Expr) []plan.Expr {
	out := make([]plan.Expr, len(args))
	for i, a := range args {
		out[i] = a
		want := s.at(i)
		switch {
		case want.Accepts(a.Type()):
		case !s.expects:
			out[i], _ = CastInput(a, want, b.Env, b.Origin)
		case a.Type().Kind == plan.KindNull && want.Concrete.Kind != plan.KindNull:
			out[i] = plan.Lit(nil, want.Concrete)
		}
	}
	return out
}

// Maker makes the kernel of a bound call.
type Maker = func(c *plan.Call, env *Env) (Kernel, error)

// Plain is the maker of a kernel that depends on nothing.
func Plain(k Kernel) Maker { return func(*plan.Call, *Env) (Kernel, error) { return k, nil } }

// Scalar is an ordinary scalar function. names is its name, then its aliases,
// parted by blanks.
func Scalar(names, group string, s Sig, m Maker, examples ...Example) *Def {
	list := strings.Fields(names)
	return &Def{Name: list[0], Aliases: list[1:], Group: group, Bind: s.Bind, Kernel: m, Examples: examples}
}

// ShownAs sets how Spark writes the name in column names.
func (d *Def) ShownAs(name string) *Def {
	d.Shown = name
	return d
}

// AsWritten keeps the alias that the user wrote in column names.
func (d *Def) AsWritten() *Def {
	d.ShownAsWritten = true
	return d
}

// Short is a function that is written with others.
func Short(names, group string, rewrite func(b *Binding) (plan.Expr, error), examples ...Example) *Def {
	list := strings.Fields(names)
	return &Def{Name: list[0], Aliases: list[1:], Group: group, Rewrite: rewrite, Examples: examples}
}

func HiddenDef(name string, s Sig, m Maker) *Def {
	return &Def{Name: name, Hidden: true, Bind: s.Bind, Kernel: m}
}

// Accumulate makes the accumulator of a bound aggregate.
type Accumulate = func(c *plan.AggregateCall, env *Env) (Accumulator, error)

// Aggregate is an aggregate function of a signature. names is its name, then
// its aliases, parted by blanks.
func Aggregate(names string, s Sig, acc Accumulate, examples ...Example) *Def {
	list := strings.Fields(names)
	return &Def{Name: list[0], Aliases: list[1:], Group: "agg_funcs", BindAggregate: s.Aggregate,
		Accumulate: acc,
		Examples:   examples}
}

// Aggregate is the BindAggregate of a Def of this signature.
func (s Sig) Aggregate(b *Binding) (*plan.AggregateCall, error) {
	c, err := s.Bind(b)
	if err != nil {
		return nil, err
	}
	return b.AggregateCall(c)
}

// CheckedNull sets a result's nullability by a rule of the function's own.
func (s Sig) CheckedNull(rule func(args []plan.Expr) bool) Sig {
	s.nullRule = rule
	return s
}

func (d *Def) Hide() *Def {
	d.Hidden, d.Examples = true, nil
	return d
}

func Nullable(bind func(b *Binding) (*plan.Call, error)) func(b *Binding) (*plan.Call, error) {
	return func(b *Binding) (*plan.Call, error) {
		c, err := bind(b)
		if err == nil {
			c.Null = true
		}
		return c, err
	}
}

// Plainly shows the name whatever alias was written.
func (d *Def) Plainly() *Def {
	d.ShownAsWritten = false
	return d
}

func (d *Def) AsVolatile() *Def {
	d.Volatile = true
	return d
}

func (d *Def) Alias(names ...string) *Def {
	d.Aliases = append(d.Aliases, names...)
	return d
}
