package numbers

import (
	"math"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// mathDefs are the functions over doubles, and constants.
func mathDefs() []*fn.Def {
	defs := []*fn.Def{
		constantFn("pi", math.Pi, "3.141592653589793"),
		constantFn("e", math.E, "2.718281828459045"),
		fn.Scalar("width_bucket", "math_funcs", fn.Takes(fn.Exactly(plan.Double), fn.Exactly(plan.Double),
			fn.Exactly(plan.Double), fn.Exactly(plan.Long)).Gives(plan.Long).WithNull(fn.Always),
			fn.Plain(widthBucket),
			fn.Example{"width_bucket(5.3, 0.2, 10.6, 5)", "3"}, fn.Example{"width_bucket(-0.9, 5.2, 0.5, 2)", "3"}),
		pairFn("power pow", math.Pow, fn.Example{"power(2, 3)", "8.0"}),
		pairFn(
			"atan2",
			func(y, x float64) float64 { return math.Atan2(y+0, x+0) },
			fn.Example{"atan2(0, 0)", "0.0"},
		),
		pairFn("hypot", math.Hypot, fn.Example{"hypot(3, 4)", "5.0"}),
		fn.Scalar("factorial", "math_funcs", fn.Takes(fn.Exactly(plan.Int)).Gives(plan.Long).WithNull(fn.Always),
			fn.Plain(fn.Fixed(plan.Long, factorialRow)), fn.Example{"factorial(5)", "120"}),
		fn.Short("log", "math_funcs", bindLog, fn.Example{"log(10, 100)", "2.0"}),
		fn.HiddenDef(
			"log base",
			fn.Takes(fn.Exactly(plan.Double), fn.Exactly(plan.Double)).Gives(plan.Double).WithNull(fn.Always),
			fn.Plain(logBase),
		),
	}
	sign := unaryFn("signum sign", signOf, fn.Example{"signum(40)", "1.0"})
	signed := fn.OneOf(fn.Exactly(plan.Double), fn.Interval(plan.KindDayTime), fn.Interval(plan.KindYearMonth))
	sign.Bind = fn.Takes(signed).
		Gives(plan.Double).
		WithNull(fn.Always).
		Bind
	numbers := sign.Kernel
	sign.Kernel = func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
		if c.Args[0].Type().Kind == plan.KindDouble {
			return numbers(c, env)
		}
		return fn.Fixed(plan.Double, func(args []*chunk.Vector, i int) (float64, bool, error) {
			return signOf(float64(fn.IntegerAt(args[0], i))), true, nil
		}), nil
	}
	defs = append(defs, sign)
	for _, f := range unaryMath {
		defs = append(defs, unaryFn(f.names, f.of, fn.Example{f.sql, f.want}))
	}
	return defs
}

// unaryMath are the functions of one double. Spark calls all of them nullable.
var unaryMath = []struct {
	names     string
	of        func(float64) float64
	sql, want string
}{
	{"sqrt", math.Sqrt, "sqrt(4)", "2.0"},
	{"cbrt", math.Cbrt, "cbrt(27)", "3.0"},
	{"exp", math.Exp, "exp(0)", "1.0"},
	{"expm1", math.Expm1, "expm1(0)", "0.0"},
	{"ln", positiveOnly(math.Log), "ln(1)", "0.0"},
	{"log10", positiveOnly(math.Log10), "log10(100)", "2.0"},
	{"log2", positiveOnly(math.Log2), "log2(8)", "3.0"},
	{"log1p", aboveMinusOne(math.Log1p), "log1p(0)", "0.0"},
	{"sin", math.Sin, "sin(0)", "0.0"},
	{"cos", math.Cos, "cos(0)", "1.0"},
	{"tan", math.Tan, "tan(0)", "0.0"},
	{"cot", func(x float64) float64 { return 1 / math.Tan(x) }, "round(cot(1), 6)", "0.642093"},
	{"sec", func(x float64) float64 { return 1 / math.Cos(x) }, "sec(0)", "1.0"},
	{"csc", func(x float64) float64 { return 1 / math.Sin(x) }, "csc(1)", "1.1883951057781212"},
	{"asin", math.Asin, "asin(0)", "0.0"},
	{"acos", math.Acos, "acos(1)", "0.0"},
	{"atan", math.Atan, "atan(0)", "0.0"},
	{"sinh", math.Sinh, "sinh(0)", "0.0"},
	{"cosh", math.Cosh, "cosh(0)", "1.0"},
	{"tanh", math.Tanh, "tanh(0)", "0.0"},
	{"asinh", math.Asinh, "asinh(0)", "0.0"},
	{"acosh", math.Acosh, "acosh(1)", "0.0"},
	{"atanh", math.Atanh, "atanh(0)", "0.0"},
	{"degrees", func(x float64) float64 { return x * (180 / math.Pi) }, "degrees(3.141592653589793D)", "180.0"},
	{"radians", func(x float64) float64 { return x / 180 * math.Pi }, "radians(180)", "3.141592653589793"},
	{"rint", math.RoundToEven, "rint(2.5)", "2.0"},
}

// nullNaN is the NaN that stands for NULL between a function and its kernel.
var nullNaN = math.Float64frombits(0x7ff8_dead_beef_0001)

func isNullNaN(x float64) bool { return math.Float64bits(x) == math.Float64bits(nullNaN) }

// positiveOnly: logarithms of what is not positive are NULL.
func positiveOnly(of func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		if x <= 0 {
			return nullNaN
		}
		return of(x)
	}
}

func aboveMinusOne(of func(float64) float64) func(float64) float64 {
	return func(x float64) float64 {
		if x <= -1 {
			return nullNaN
		}
		return of(x)
	}
}

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	default:
		return x
	}
}

func unaryFn(names string, of func(float64) float64, examples ...fn.Example) *fn.Def {
	k := func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(plan.Double, n, args[0].Valid)
		dst, src := chunk.Values[float64](out.Vector), chunk.Values[float64](args[0])
		for _, i := range fn.Active(out.Valid, sel, n) {
			dst[i] = of(src[i])
			if isNullNaN(dst[i]) {
				out.Null(i)
			}
		}
		return out.Vector, nil
	}
	d := fn.Scalar(names, "math_funcs", fn.Takes(fn.Exactly(plan.Double)).Gives(plan.Double).WithNull(fn.Always),
		fn.Plain(k), examples...)
	d.ShownAsWritten = true
	if name := d.Name; name != "ln" && name != "rint" {
		d.Shown = strings.ToUpper(name)
	}
	return d
}

func pairFn(names string, of func(x, y float64) float64, examples ...fn.Example) *fn.Def {
	k := fn.Fixed(plan.Double, func(args []*chunk.Vector, i int) (float64, bool, error) {
		return of(chunk.Values[float64](args[0])[i], chunk.Values[float64](args[1])[i]), true, nil
	})
	d := fn.Scalar(
		names,
		"math_funcs",
		fn.Takes(fn.Exactly(plan.Double), fn.Exactly(plan.Double)).Gives(plan.Double),
		fn.Plain(k),
		examples...)
	d.Shown = strings.ToUpper(d.Name)
	return d.AsWritten()
}

func constantFn(name string, x float64, want string) *fn.Def {
	k := func(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		return chunk.Repeat(x, plan.Double, n), nil
	}
	return fn.Scalar(name, "math_funcs", fn.Nothing(plan.Double), fn.Plain(k), fn.Example{name + "()", want}).
		ShownAs(strings.ToUpper(name))
}

// bindLog: one argument is the natural logarithm.
func bindLog(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(1, 2); err != nil {
		return nil, err
	}
	args := b.Args
	if len(args) == 1 {
		base, err := b.Nest("e")
		if err != nil {
			return nil, err
		}
		args = []plan.Expr{base, args[0]}
	}
	return b.NestAs("log base", "LOG($*)", args...)
}

var logBase = fn.Fixed(plan.Double, func(args []*chunk.Vector, i int) (float64, bool, error) {
	base, x := chunk.Values[float64](args[0])[i], chunk.Values[float64](args[1])[i]
	if base <= 0 || x <= 0 {
		return 0, false, nil
	}
	return math.Log(x) / math.Log(base), true, nil
})

// mostFactorial is the greatest number whose factorial is a BIGINT.
const mostFactorial = 20

func factorialRow(args []*chunk.Vector, i int) (int64, bool, error) {
	n := chunk.Values[int32](args[0])[i]
	if n < 0 || n > mostFactorial {
		return 0, false, nil
	}
	product := int64(1)
	for k := int64(2); k <= int64(n); k++ {
		product *= k
	}
	return product, true, nil
}

// widthBucket is in which of so many equal parts of a range a number lies: 0 before the
// first, and one more than there are behind the last. A range may go down.
var widthBucket = fn.Fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
	number := func(k int) float64 { return chunk.Values[float64](args[k])[i] }
	v, from, to, n := number(0), number(1), number(2), chunk.Values[int64](args[3])[i]
	open := func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }
	if n <= 0 || n == math.MaxInt64 || math.IsNaN(v) || from == to || open(from) || open(to) {
		return 0, false, nil
	}
	if from > to { // as if seen in a mirror
		v, from, to = -v, -from, -to
	}
	switch {
	case v < from:
		return 0, true, nil
	case v >= to:
		return n + 1, true, nil
	default:
		return int64(float64(n)*(v-from)/(to-from)) + 1, true, nil
	}
})
