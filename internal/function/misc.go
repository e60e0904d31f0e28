package function

import (
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/hashes"
	"github.com/weir-dev/weir/internal/plan"
)

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// SparkVersion is the version of Spark whose behaviour this is.
const SparkVersion = "4.3.0"

// miscDefs say something of the session, of a type, or raise an error.
func miscDefs() []*Def {
	seed := takes(integral()).optional(1).gives(plan.Double).withNull(never)
	defs := []*Def{
		{Name: "typeof", Group: "misc_funcs", Rewrite: bindTypeOf, Kernel: plain(firstArgument),
			Examples: []Example{{"typeof(1)", "int"}}},
		asked("version", "", func(env *Env) string {
			if rev := env.conf(ConfRevision); rev != "" {
				return SparkVersion + " " + rev
			}
			return SparkVersion
		}),
		asked("current_catalog", ConfCatalog, nil), asked("current_user user session_user", ConfUser, nil),
		asked("current_schema current_database", ConfSchema, nil).plainly(),
		asked("input_file_name", "", func(*Env) string { return "" }),
		{Name: "raise_error", Group: "misc_funcs", Bind: bindRaise,
			Kernel: plain(raiseError), Volatile: true},
		{Name: "assert_true", Group: "misc_funcs", Rewrite: bindAssert,
			Examples: []Example{{"assert_true(0 < 1)", "NULL"}}},
		scalar("rand random", "math_funcs", seed, randMaker, Example{"rand(0)", "0.7604953758285915"}).
			volatile().asWritten(),
		scalar("uuid", "misc_funcs", nothing(plan.String), plain(uuidKernel), Example{"length(uuid())", "36"}).
			volatile(),
		{Name: "monotonically_increasing_id", Group: "misc_funcs", Volatile: true, Bind: nothing(plan.Long).bind},
		{Name: "spark_partition_id", Shown: "SPARK_PARTITION_ID", Group: "misc_funcs", Volatile: true,
			Bind: nothing(plan.Int).bind},
	}
	return append(defs, castDefs()...)
}

// plainly shows the name whatever alias was written.
func (d *Def) plainly() *Def {
	d.ShownAsWritten = false
	return d
}

func (d *Def) volatile() *Def {
	d.Volatile = true
	return d
}

// bindTypeOf makes a constant of the type's name: the argument is not evaluated.
func bindTypeOf(b *Binding) (plan.Expr, error) {
	if err := b.between(1, 1); err != nil {
		return nil, err
	}
	name := plan.Lit(b.Args[0].Type().Simple(), plan.String)
	c := b.call([]plan.Expr{name}, plan.String, false)
	c.Text = escaped("typeof(" + b.sql(b.Args[0]) + ")")
	return c, nil
}

func firstArgument(args []*chunk.Vector, _ chunk.Sel, _ int) (*chunk.Vector, error) {
	return args[0], nil
}

// asked is a function without arguments that a setting answers.
func asked(names, setting string, answer func(env *Env) string) *Def {
	if answer == nil {
		answer = func(env *Env) string { return env.conf(setting) }
	}
	return scalar(names, "misc_funcs", nothing(plan.String), func(_ *plan.Call, env *Env) (Kernel, error) {
		return func(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
			return chunk.Repeat(answer(env), plan.String, n), nil
		}, nil
	}, Example{"typeof(" + firstWord(names) + "())", "string"}).asWritten()
}

func bindRaise(b *Binding) (*plan.Call, error) {
	c, err := takes(str()).gives(plan.Null).withNull(always).bind(b)
	if err == nil {
		c.Text = "raise_error(USER_RAISED_EXCEPTION, map(errorMessage, $1))"
	}
	return c, err
}

func raiseError(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	rows := picked(sel, n)
	if len(rows) == 0 {
		return chunk.NullVector(plan.Null, n), nil
	}
	msg := "null"
	if first := int(rows[0]); !args[0].IsNull(first) {
		msg = args[0].Text(first)
	}
	return nil, runtimeError("USER_RAISED_EXCEPTION", msg, "errorMessage", msg)
}

// bindAssert is an error where the condition is not true.
func bindAssert(b *Binding) (plan.Expr, error) {
	if err := b.between(1, 2); err != nil {
		return nil, err
	}
	msg := plan.Expr(plan.Lit("'"+b.sql(b.Args[0])+"' is not true!", plan.String))
	if len(b.Args) == 2 {
		msg = b.Args[1]
	}
	fails, err := b.nest("raise_error", msg)
	if err != nil {
		return nil, err
	}
	e, err := b.nest("if", b.Args[0], plan.Lit(nil, plan.Null), fails)
	if err != nil {
		return nil, err
	}
	c := *e.(*plan.Call)
	c.Text = escaped("assert_true(" + b.sql(b.Args[0]) + ", " + b.sql(msg) + ")")
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

// randMaker draws a number for each picked row. The kernel belongs to one
// partition of one run; the seed already holds the partition's number.
func randMaker(c *plan.Call, _ *Env) (Kernel, error) {
	seed := rand.Int64()
	if len(c.Args) == 1 {
		seed, _ = constantInt(c.Args[0])
	}
	x := newXorShift(seed)
	return func(_ []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := chunk.Make(plan.Double, n)
		dst := chunk.Values[float64](out)
		for _, i := range picked(sel, n) {
			dst[i] = x.float64()
		}
		return out, nil
	}, nil
}

// castDefs are the functions named after types, which cast.
func castDefs() []*Def {
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
	defs := make([]*Def, len(list))
	for i, t := range list {
		defs[i] = short(t.name, "conversion_funcs", func(b *Binding) (plan.Expr, error) {
			if err := b.between(1, 1); err != nil {
				return nil, err
			}
			c := &plan.Cast{Child: b.Args[0], To: t.to, Mode: b.Env.castMode(), Implicit: true, Origin: b.Origin}
			return c, CheckCast(c, b.Env)
		}, Example{t.name + "(" + t.from + ")", t.want})
	}
	return defs
}
