package windows

import (
	"math"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// Defs is the functions that need OVER.
func Defs() []*fn.Def {
	return []*fn.Def{
		window("row_number", fn.Nothing(plan.Int).Bind, upToRow),
		rank("rank", plan.Int),
		rank("dense_rank", plan.Int),
		rank("percent_rank", plan.Double),
		window("cume_dist", fn.Nothing(plan.Double).Bind, upToPeers),
		window("ntile", bindNtile, upToRow),
		window("lag", bindOffset, offsetFrame),
		window("lead", bindOffset, offsetFrame),
		window("nth_value", bindNth, anyFrame),
	}
}

type (
	binder = func(b *fn.Binding) (*plan.Call, error)
	frame  = func(c *plan.Call) *plan.WindowFrame
)

func window(name string, bind binder, of frame) *fn.Def {
	return &fn.Def{Name: name, Group: "window_funcs", Bind: bind, Window: of}
}

// rank is a function that Spark writes in capitals. It takes the keys of the
// order as arguments, and looks at none.
func rank(name string, t plan.Type) *fn.Def {
	s := fn.Sig{}.And(fn.Anything(), 0).Gives(t).WithNull(fn.Never)
	return window(name, func(b *fn.Binding) (*plan.Call, error) {
		c, err := s.Bind(b)
		if err != nil {
			return nil, err
		}
		c.Args, c.Text = nil, strings.ToUpper(name)+"()"
		return c, nil
	}, upToRow)
}

func upToRow(*plan.Call) *plan.WindowFrame {
	return &plan.WindowFrame{Rows: true, To: plan.FrameBound{Kind: plan.CurrentRow}}
}

func upToPeers(*plan.Call) *plan.WindowFrame {
	return &plan.WindowFrame{To: plan.FrameBound{Kind: plan.CurrentRow}}
}

func anyFrame(*plan.Call) *plan.WindowFrame { return nil }

// offsetFrame is the one row that lag and lead look at.
func offsetFrame(c *plan.Call) *plan.WindowFrame {
	offset := plan.Lit(Offset(c), plan.Int)
	at := plan.FrameBound{Kind: plan.Following, Offset: offset}
	return &plan.WindowFrame{Rows: true, From: at, To: at}
}

// Offset is how many rows further a bound lag or lead looks.
func Offset(c *plan.Call) int64 {
	n := c.Args[1].(*plan.Literal).Value.(int64)
	if c.Name == "lag" {
		return -n
	}
	return n
}

// Ignores says that a bound lag, lead or nth_value passes over NULLs.
func Ignores(c *plan.Call) bool {
	v, _ := fn.Constant(c.Args[len(c.Args)-1])
	return v == true
}

func bindNtile(b *fn.Binding) (*plan.Call, error) {
	s := fn.Takes(fn.Exactly(plan.Int)).Gives(plan.Int).WithNull(fn.Never)
	s = s.Defaults(plan.Lit(int64(1), plan.Int))
	c, err := s.Checked(func(b *fn.Binding, c *plan.Call) error {
		if a := b.Args; len(a) > 0 && !a[0].Type().Equal(plan.Int) {
			written := *c
			written.Args = a
			return fn.Unexpected(b, &written, 0, fn.SqlType(plan.Int))
		}
		n, err := constant(b, c, 0, "buckets")
		if err == nil && (n == nil || n.(int64) <= 0) {
			return outOfRange(b, c, "buckets", shown(n, ""), strconv.Itoa(math.MaxInt32))
		}
		return err
	}).Bind(b)
	if err != nil {
		return nil, err
	}
	return withConstant(b, c, 0, "ntile(%)"), nil
}

// constant is the value of argument i, which must be the same for all rows.
func constant(b *fn.Binding, c *plan.Call, i int, name string) (plan.Value, error) {
	v, ok := cast.Folded(b, c.Args[i])
	if ok {
		return v, nil
	}
	return nil, notConstant(b, c, c.Args[i], b.SQL(c.Args[i]), name)
}

func notConstant(b *fn.Binding, c *plan.Call, e plan.Expr, text, name string) error {
	return fn.Mismatch(b, c, "NON_FOLDABLE_INPUT", "the argument "+name+" must be a constant.",
		"inputName", plan.Quote(name), "inputType", fn.SqlType(e.Type()), "inputExpr", fn.Quoted(text))
}

func outOfRange(b *fn.Binding, c *plan.Call, name, value, most string) error {
	return fn.Mismatch(b, c, "VALUE_OUT_OF_RANGE", "the argument "+name+" must be positive.",
		"exprName", name, "valueRange", "(0, "+most+"]", "currentValue", value)
}

// shown is a number as errors print it, 0 for NULL.
func shown(v plan.Value, suffix string) string {
	n, _ := v.(int64)
	return strconv.FormatInt(n, 10) + suffix
}

// withConstant puts the value of a constant argument in. The template, in which
// % stands for the argument, keeps how it was written.
func withConstant(b *fn.Binding, c *plan.Call, i int, template string) *plan.Call {
	e := c.Args[i]
	v, _ := cast.Folded(b, e)
	c.Text = strings.Replace(template, "%", fn.Escaped(b.SQL(e)), 1)
	c.Args[i] = plan.Lit(v, e.Type())
	return c
}

// bindOffset binds lag and lead: the value, how many rows away, what stands for
// a row that is not there, whether NULLs are passed over.
func bindOffset(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(0, 4); err != nil {
		return nil, err
	}
	args := []plan.Expr{plan.Lit(nil, plan.Null), plan.Lit(int64(1), plan.Int), plan.Lit(nil, plan.Null),
		plan.Lit(b.IgnoreNulls, plan.Boolean)}
	copy(args, b.Args)
	if err := isFlag(b, args[3]); err != nil {
		return nil, err
	}
	t := args[0].Type()
	c := b.Call(args[:3:3], t, true)
	offset, err := offsetOf(b, c)
	if err != nil {
		return nil, err
	}
	def, ok := fn.ImplicitCast(args[2], t, b.Env)
	if !ok {
		e := fn.Unexpected(b, c, 2, "")
		e.Args["requiredType"] = "(" + fn.SqlType(t) + " or " + fn.SqlType(plan.Null) + ")"
		return nil, e
	}
	c.Text = b.Def.Name + "($1, " + fn.Escaped(b.SQL(args[1])) + ", $3)"
	c.Args = []plan.Expr{args[0], plan.Lit(offset, plan.Int), def, args[3]}
	c.Null = args[0].Nullable() || def.Nullable()
	return c, nil
}

// offsetOf is how many rows away lag and lead look.
func offsetOf(b *fn.Binding, c *plan.Call) (plan.Value, error) {
	e := c.Args[1]
	v, ok := cast.Folded(b, e)
	n, isInt := v.(int64)
	switch {
	case !ok:
		text := b.SQL(e)
		if b.Def.Name == "lag" {
			text = "(- " + text + ")"
		}
		return nil, notConstant(b, c, e, text, "offset")
	case isInt && e.Type().Kind == plan.KindInt:
		return n, nil
	case b.Def.Name == "lag" && e.Type().IsString():
		return nil, plan.AnalysisError("FAILED_FUNCTION_CALL", "the offset of lag must be an integer.",
			"funcName", "`lag`").At(b.Origin)
	default:
		return nil, fixedFrame(b.Def.Name)
	}
}

// fixedFrame says that a function brings its own frame.
func fixedFrame(name string) *plan.Error {
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_1035",
		"the frame of "+name+" is the row at its offset, which must be an integer.", "prettyName", name)
}

// isFlag checks the argument that says whether NULLs are passed over.
func isFlag(b *fn.Binding, e plan.Expr) error {
	if v, ok := fn.Constant(e); ok {
		if _, isBool := v.(bool); isBool {
			return nil
		}
	}
	return plan.AnalysisError("INVALID_PARAMETER_VALUE.BOOLEAN",
		"whether "+b.Def.Name+" ignores NULLs must be a boolean constant.",
		"functionName", plan.Quote(b.Def.Name), "parameter", "`ignoreNulls`",
		"invalidValue", fn.Quoted(b.SQL(e))).At(b.Origin)
}

// bindNth binds nth_value: the value, which row of the frame from 1 on, whether
// NULLs are passed over.
func bindNth(b *fn.Binding) (*plan.Call, error) {
	if err := b.Between(2, 3); err != nil {
		return nil, err
	}
	ignore := plan.Expr(plan.Lit(b.IgnoreNulls, plan.Boolean))
	if len(b.Args) == 3 {
		ignore = b.Args[2]
	}
	if err := isFlag(b, ignore); err != nil {
		return nil, err
	}
	bound := *b
	bound.Args = b.Args[:2]
	s := fn.Takes(fn.Anything(), fn.Exactly(plan.Int)).GivesFirst().WithNull(fn.Always)
	c, err := s.Checked(func(b *fn.Binding, c *plan.Call) error {
		n, err := constant(b, c, 1, "offset")
		if i, _ := n.(int64); err == nil && i <= 0 {
			return outOfRange(b, c, "offset", shown(n, "L"), strconv.Itoa(math.MaxInt64))
		}
		return err
	}).Bind(&bound)
	if err != nil {
		return nil, err
	}
	c = withConstant(b, c, 1, "nth_value($1, %)")
	c.Args = append(c.Args, ignore)
	if Ignores(c) {
		c.Text += " ignore nulls"
	}
	return c, nil
}
