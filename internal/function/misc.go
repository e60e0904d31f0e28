package function

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/hashes"
	"github.com/weir-dev/weir/internal/plan"
)

// SparkVersion is the version of Spark whose behaviour this is.
const SparkVersion = "4.3.0"

// miscDefs say something of the session, of a type, or raise an error.
func miscDefs() []*fn.Def {
	seed := fn.Takes(fn.OneOf(fn.Exactly(plan.Int), fn.Exactly(plan.Long))).Expecting().Optional(1).
		Checked(constantSeed).Gives(plan.Double).WithNull(fn.Never)
	defs := []*fn.Def{
		{Name: "typeof", Group: "misc_funcs", Rewrite: bindTypeOf, Kernel: fn.Plain(firstArgument),
			Examples: []fn.Example{{"typeof(1)", "int"}}},
		asked("version", "", func(env *fn.Env) string {
			if rev := env.Setting(fn.ConfRevision); rev != "" {
				return SparkVersion + " " + rev
			}
			return SparkVersion
		}),
		asked("current_catalog", fn.ConfCatalog, nil), asked("current_user user session_user", fn.ConfUser, nil),
		asked("current_schema current_database", fn.ConfSchema, nil).Plainly(),
		asked("input_file_name", "", func(*fn.Env) string { return "" }),
		{Name: "raise_error", Group: "misc_funcs", Bind: bindRaise,
			Kernel: fn.Plain(raiseError), Volatile: true},
		{Name: "only row", Hidden: true, Bind: bindOnlyRow, Kernel: fn.Plain(onlyRow), Volatile: true},
		{Name: "assert_true", Group: "misc_funcs", Rewrite: bindAssert,
			Examples: []fn.Example{{"assert_true(0 < 1)", "NULL"}}},
		fn.Scalar("rand random", "math_funcs", seed, randMaker, fn.Example{"rand(0)", "0.7604953758285915"}).
			AsVolatile(),
		fn.Scalar("uuid", "misc_funcs", fn.Nothing(plan.String), fn.Plain(uuidKernel),
			fn.Example{"length(uuid())", "36"}).AsVolatile(),
		{
			Name:     "monotonically_increasing_id",
			Group:    "misc_funcs",
			Volatile: true,
			Bind:     fn.Nothing(plan.Long).Bind,
		},
		{Name: "spark_partition_id", Shown: "SPARK_PARTITION_ID", Group: "misc_funcs", Volatile: true,
			Bind: fn.Nothing(plan.Int).Bind},
	}
	return append(append(defs, drawDefs()...), castDefs()...)
}

// bindTypeOf makes a constant of the type's name: the argument is not evaluated.
func bindTypeOf(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(1, 1); err != nil {
		return nil, err
	}
	name := plan.Lit(b.Args[0].Type().Simple(), plan.String)
	c := b.Call([]plan.Expr{name}, plan.String, false)
	c.Text = fn.Escaped("typeof(" + b.SQL(b.Args[0]) + ")")
	return c, nil
}

func firstArgument(args []*chunk.Vector, _ chunk.Sel, _ int) (*chunk.Vector, error) {
	return args[0], nil
}

// asked is a function without arguments that a setting answers.
func asked(names, setting string, answer func(env *fn.Env) string) *fn.Def {
	if answer == nil {
		answer = func(env *fn.Env) string { return env.Setting(setting) }
	}
	name, _, _ := strings.Cut(names, " ")
	kernel := func(_ *plan.Call, env *fn.Env) (fn.Kernel, error) {
		return func(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
			return chunk.Repeat(answer(env), plan.String, n), nil
		}, nil
	}
	return fn.Scalar(names, "misc_funcs", fn.Nothing(plan.String), kernel,
		fn.Example{"typeof(" + name + "())", "string"}).
		AsWritten()
}

func bindRaise(b *fn.Binding) (*plan.Call, error) {
	c, err := fn.Takes(fn.Str()).Gives(plan.Null).WithNull(fn.Always).Bind(b)
	if err == nil {
		c.Text = "raise_error(USER_RAISED_EXCEPTION, map(errorMessage, $1))"
	}
	return c, err
}

// bindOnlyRow is a value that comes from so many rows, of a subquery used as a value.
func bindOnlyRow(b *fn.Binding) (*plan.Call, error) {
	return b.Call(b.Args, b.Args[1].Type(), true), nil
}

func onlyRow(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	for _, i := range fn.Picked(sel, n) {
		if !args[0].IsNull(int(i)) && chunk.Values[int64](args[0])[i] > 1 {
			return nil, plan.NewError(plan.ClassRuntime, "SCALAR_SUBQUERY_TOO_MANY_ROWS",
				"A subquery used as a value returned more than one row.")
		}
	}
	return args[1], nil
}

func raiseError(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	rows := fn.Picked(sel, n)
	if len(rows) == 0 {
		return chunk.NullVector(plan.Null, n), nil
	}
	msg := "null"
	if first := int(rows[0]); !args[0].IsNull(first) {
		msg = args[0].Text(first)
	}
	return nil, fn.RuntimeError("USER_RAISED_EXCEPTION", msg, "errorMessage", msg)
}

// bindAssert is an error where the condition is not true.
func bindAssert(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(1, 2); err != nil {
		return nil, err
	}
	msg := plan.Expr(plan.Lit("'"+b.SQL(b.Args[0])+"' is not true!", plan.String))
	if len(b.Args) == 2 {
		msg = b.Args[1]
	}
	fails, err := b.Nest("raise_error", msg)
	if err != nil {
		return nil, err
	}
	e, err := b.Nest("if", b.Args[0], plan.Lit(nil, plan.Null), fails)
	if err != nil {
		return nil, err
	}
	c := *e.(*plan.Call)
	c.Text = fn.Escaped("assert_true(" + b.SQL(b.Args[0]) + ", " + b.SQL(msg) + ")")
	return &c, nil
}

func uuidKernel(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := chunk.New(plan.String, n)
	for range n {
		id, err := uuid.NewRandom()
		if err != nil {
			return nil, err
		}
		out.AppendText(id.String())
	}
	return out, nil
}

// xorShift is Spark's random generator.
type xorShift uint64

func newXorShift(seed int64) xorShift {
	var b [8]byte
	for i := range b {
		b[i] = byte(seed >> (56 - 8*i))
	}
	low := hashes.MurmurBytes(b[:], 0x3c074a61)
	high := hashes.MurmurBytes(b[:], low)
	return xorShift(uint64(uint32(high))<<32 | uint64(uint32(low)))
}

func (x *xorShift) next(n uint) uint64 {
	s := uint64(*x)
	s ^= s << 21
	s ^= s >> 35
	s ^= s << 4
	*x = xorShift(s)
	return s & (1<<n - 1)
}

// float64 is uniform in [0, 1), of 53 bits.
func (x *xorShift) float64() float64 {
	return float64(x.next(26)<<27+x.next(27)) / (1 << 53)
}

// constantSeed refuses a seed that depends on the row.
func constantSeed(b *fn.Binding, c *plan.Call) error {
	rowBound := func(e plan.Expr) bool { return isRowBound(b, e) }
	if len(c.Args) == 0 || !plan.Contains(c.Args[0], rowBound) {
		return nil
	}
	seed := b.SQL(c.Args[0])
	return plan.AnalysisError("SEED_EXPRESSION_IS_UNFOLDABLE",
		fmt.Sprintf("the seed %s of %s must be a constant.", seed, b.SQL(c)),
		"seedExpr", fn.Quoted(seed), "exprWithSeed", fn.Quoted(b.SQL(c))).At(b.Origin)
}

// isRowBound reports whether an expression by itself depends on the row or the run.
func isRowBound(b *fn.Binding, e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Attribute, *plan.Subquery:
		return true
	case *plan.Call:
		d, ok := b.Lookup(e.Name)
		return ok && d.Volatile
	default:
		return false
	}
}

// randMaker draws a number for each picked row. The kernel belongs to one
// partition of one run; the seed already holds the partition's number.
func randMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	seed := rand.Int64()
	if len(c.Args) == 1 {
		seed, _ = fn.ConstantInt(c.Args[0])
	}
	x := newXorShift(seed)
	return func(_ []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := chunk.Make(plan.Double, n)
		dst := chunk.Values[float64](out)
		for _, i := range fn.Picked(sel, n) {
			dst[i] = x.float64()
		}
		return out, nil
	}, nil
}

// castDefs are the functions named after types, which cast.
func castDefs() []*fn.Def {
	list := []struct {
		name       string
		to         plan.Type
		from, want string
	}{
		{"boolean", plan.Boolean, "'yes'", "true"}, {"tinyint", plan.Byte, "'7'", "7"},
		{"smallint", plan.Short, "'7'", "7"}, {"int", plan.Int, "7.9", "7"}, {"bigint", plan.Long, "'7'", "7"},
		{"float", plan.Float, "'1.5'", "1.5"}, {"double", plan.Double, "1", "1.0"},
		{"decimal", plan.Decimal(10, 0), "'2.5'", "3"}, {"date", plan.Date, "'2024-02-29'", "2024-02-29"},
		{"timestamp", plan.Timestamp, "'2024-02-29'", "2024-02-29 00:00:00"},
		{"binary", plan.Binary, "'Spark'", "[53 70 61 72 6B]"}, {"string", plan.String, "1.50", "1.50"},
	}
	defs := make([]*fn.Def, len(list))
	for i, t := range list {
		defs[i] = fn.Short(t.name, "conversion_funcs", func(b *fn.Binding) (plan.Expr, error) {
			if err := b.Between(1, 1); err != nil {
				return nil, err
			}
			c := &plan.Cast{Child: b.Args[0], To: t.to, Mode: b.Env.CastMode(), Implicit: true, Origin: b.Origin}
			return c, cast.Check(c, b.Env)
		}, fn.Example{t.name + "(" + t.from + ")", t.want})
	}
	return defs
}
