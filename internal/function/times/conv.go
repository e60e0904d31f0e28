package times

import (
	"cmp"
	"math"
	"math/big"
	"strings"
	"sync"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// timeConvDefs turn times into text and numbers, and back.
func timeConvDefs() []*fn.Def {
	ts := fn.Exactly(plan.Timestamp)
	moment := fn.OneOf(
		ts,
		fn.Times(),
		fn.NanoTimestamps(),
	)
	defs := []*fn.Def{
		fn.Scalar("date_format", "datetime_funcs", fn.Takes(moment, fn.Str()).Gives(plan.String), dateFormat,
			fn.Example{"date_format(TIMESTAMP '2024-04-08 01:02:03', 'y-MMM-d H:mm')", "2024-Apr-8 1:02"}),
		fn.Scalar("from_unixtime", "datetime_funcs",
			fn.Takes(fn.Exactly(plan.Long), fn.Str()).Defaults(plan.Lit(defaultFormat, plan.String)).
				Gives(plan.String).WithNull(fn.Always), fromUnixtime,
			fn.Example{"from_unixtime(0, 'yyyy-MM-dd HH:mm:ss')", "1970-01-01 00:00:00"}),
		parser("to_timestamp", plan.Timestamp, false,
			fn.Example{"to_timestamp('2016-12-31', 'yyyy-MM-dd')", "2016-12-31 00:00:00"}),
		parser(
			"try_to_timestamp",
			plan.Timestamp,
			true,
			fn.Example{"try_to_timestamp('foo', 'yyyy-MM-dd')", "NULL"},
		),
		parser("to_timestamp_ltz", plan.Timestamp, false,
			fn.Example{"to_timestamp_ltz('2016-12-31 00:12:00')", "2016-12-31 00:12:00"}),
		parser("to_timestamp_ntz", plan.TimestampNTZ, false,
			fn.Example{"to_timestamp_ntz('2016-12-31', 'yyyy-MM-dd')", "2016-12-31 00:00:00"}),
		parser("to_date", plan.Date, false, fn.Example{"to_date('31.12.2016', 'dd.MM.yyyy')", "2016-12-31"}),
		parser("try_to_date", plan.Date, true, fn.Example{"try_to_date('x', 'yyyy')", "NULL"}),
		unixTime("unix_timestamp", 0, fn.Example{"unix_timestamp('2016-04-08', 'yyyy-MM-dd')", "1460073600"}),
		unixTime("to_unix_timestamp", 1, fn.Example{"to_unix_timestamp('2016-04-08', 'yyyy-MM-dd')", "1460073600"}),
		{Name: "timestamp_seconds", Group: "datetime_funcs", Bind: bindSeconds, Kernel: secondsMaker,
			Examples: []fn.Example{{"timestamp_seconds(1230219000.123)", "2008-12-25 15:30:00.123"}}},
		scaledLong("timestamp_millis", fn.Exactly(plan.Long), plan.Timestamp, 1000,
			fn.Example{"timestamp_millis(1230219000123)", "2008-12-25 15:30:00.123"}),
		scaledLong("timestamp_micros", fn.Exactly(plan.Long), plan.Timestamp, 1,
			fn.Example{"timestamp_micros(1230219000123123)", "2008-12-25 15:30:00.123123"}),
		scaledLong("unix_seconds", ts, plan.Long, -1e6,
			fn.Example{"unix_seconds(TIMESTAMP '1970-01-01 00:00:01')", "1"}),
		scaledLong("unix_millis", ts, plan.Long, -1000,
			fn.Example{"unix_millis(TIMESTAMP '1970-01-01 00:00:01')", "1000"}),
		scaledLong("unix_micros", ts, plan.Long, 1,
			fn.Example{"unix_micros(TIMESTAMP '1970-01-01 00:00:01')", "1000000"}),
		retyped("unix_date", fn.Exactly(plan.Date), plan.Int, fn.Example{"unix_date(DATE '1970-01-02')", "1"}),
		retyped("date_from_unix_date", fn.Exactly(plan.Int), plan.Date,
			fn.Example{"date_from_unix_date(1)", "1970-01-02"}),
	}
	return append(defs, nowDefs()...)
}

// defaultFormat is the pattern of unix_timestamp and from_unixtime.
const defaultFormat = "yyyy-MM-dd HH:mm:ss"

// formats are the compiled datetime patterns of an argument.
type formats struct {
	use      codec.PatternUse
	constant func() (*codec.Pattern, error)
}

func formatsOf(c *plan.Call, arg int, use codec.PatternUse) *formats {
	f := &formats{use: use}
	if s, ok := fn.ConstantText(c.Args[arg]); ok {
		f.constant = sync.OnceValues(func() (*codec.Pattern, error) { return codec.CompilePattern(s, use) })
	}
	return f
}

func (f *formats) at(v *chunk.Vector, i int) (*codec.Pattern, error) {
	if f.constant != nil {
		return f.constant()
	}
	return codec.CompilePattern(v.Text(i), f.use)
}

func dateFormat(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	f := formatsOf(c, 1, codec.PatternUse{})
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			p, err := f.at(args[1], i)
			if err != nil {
				return dst, false, err
			}
			dst, err = p.AppendTimestamp(dst, chunk.Values[int64](args[0])[i], zone)
			return dst, true, err
		})
	}), nil
}

func fromUnixtime(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	f := formatsOf(c, 1, codec.PatternUse{})
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			p, err := f.at(args[1], i)
			if err != nil {
				return dst, false, err
			}
			dst, err = p.AppendTimestamp(dst, chunk.Values[int64](args[0])[i]*1e6, zone)
			return dst, true, err
		})
	}), nil
}

// parser is to_date and its kin: a cast, or with a second argument a reading by
// pattern.
func parser(name string, to plan.Type, try bool, example fn.Example) *fn.Def {
	bind := func(b *fn.Binding) (*plan.Call, error) {
		if err := b.Between(1, 2); err != nil {
			return nil, err
		}
		source := b.Args[0]
		nullable := try || !b.Env.ANSI
		if len(b.Args) == 1 || !source.Type().IsString() {
			read := &plan.Cast{Child: source, To: to, Mode: b.Env.CastMode(), Origin: b.Origin}
			if try {
				read.Mode = plan.CastTry
			}
			if err := cast.Check(read, b.Env); err != nil {
				return nil, err
			}
			return b.Call(b.Args, to, read.Nullable()), nil
		}
		return fn.Takes(fn.Str(), fn.Str()).Gives(to).CheckedNull(func(args []plan.Expr) bool {
			return nullable || fn.AnyNullable(args)
		}).Bind(b)
	}
	return &fn.Def{Name: name, Group: "datetime_funcs", Bind: bind, Examples: []fn.Example{example},
		Kernel: func(c *plan.Call, env *fn.Env) (fn.Kernel, error) { return parserKernel(c, env, try) }}
}

func parserKernel(c *plan.Call, env *fn.Env, try bool) (fn.Kernel, error) {
	source := c.Args[0].Type()
	if len(c.Args) == 1 || !source.IsString() {
		read := &plan.Cast{Child: c.Args[0], To: c.Of, Mode: plan.CastTry, Origin: c.Origin}
		if !try {
			read.Mode = map[bool]plan.CastMode{true: plan.CastANSI, false: plan.CastLegacy}[c.ANSI]
		}
		k, err := cast.KernelOf(read, env)
		return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
			return k(args[:1], sel, n)
		}, err
	}
	read := readTime(c, env, c.Of.Kind == plan.KindTimestampNTZ)
	suggest := "try_to_timestamp"
	if c.Of.Kind == plan.KindDate {
		suggest = "try_to_date"
	}
	fail := func(err error) error {
		if c.ANSI && !try {
			return cannotParse(err, suggest)
		}
		return nil
	}
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		if c.Of.Kind == plan.KindDate {
			return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (int32, bool, error) {
				t, bad, err := read(args, i, zone)
				if bad != nil || err != nil {
					return 0, false, firstError(err, fail, bad)
				}
				return int32(fn.FloorDiv(zone.Local(t), fn.MicrosPerDay)), true, nil
			})
		}
		return fn.Fixed(c.Of, func(args []*chunk.Vector, i int) (int64, bool, error) {
			t, bad, err := read(args, i, zone)
			if bad != nil || err != nil {
				return 0, false, firstError(err, fail, bad)
			}
			return t, true, nil
		})
	}), nil
}

// firstError is the error of a pattern, or what a text that does not follow it
// becomes.
func firstError(err error, fail func(error) error, bad error) error {
	if err != nil {
		return err
	}
	return fail(bad)
}

func cannotParse(err error, suggest string) error {
	return plan.NewError(plan.ClassDateTime, "CANNOT_PARSE_TIMESTAMP",
		err.Error()+"; "+suggest+" gives NULL instead.",
		"message", err.Error(), "func", plan.Quote(suggest))
}

// timeReader reads row i by its pattern: bad is a text that does not follow the
// pattern, err a pattern that is none.
type timeReader func(args []*chunk.Vector, i int, zone *codec.Offsets) (t int64, bad, err error)

func readTime(c *plan.Call, _ *fn.Env, ntz bool) timeReader {
	f := formatsOf(c, 1, codec.PatternUse{Parse: true, NTZ: ntz})
	return func(args []*chunk.Vector, i int, zone *codec.Offsets) (t int64, bad, err error) {
		p, err := f.at(args[1], i)
		if err != nil {
			return 0, nil, err
		}
		if ntz {
			t, bad = p.ParseTimestampNTZ(args[0].Text(i), true)
		} else {
			t, bad = p.ParseTimestamp(args[0].Text(i), zone)
		}
		return t, bad, nil
	}
}

// unixTime is seconds since 1970 of a time or a text; without arguments, where
// that is allowed, of now.
func unixTime(name string, least int, example fn.Example) *fn.Def {
	source := fn.OneOf(fn.Str(), fn.Exactly(plan.Date),
		fn.Exactly(plan.Timestamp), fn.Exactly(plan.TimestampNTZ))
	s := fn.Takes(source, fn.Str()).
		Defaults(plan.Lit(defaultFormat, plan.String)).
		Gives(plan.Long)
	bind := func(b *fn.Binding) (*plan.Call, error) {
		if len(b.Args) == 0 && least == 0 {
			now, err := b.Nest("current_timestamp")
			if err != nil {
				return nil, err
			}
			bound := *b
			bound.Args = []plan.Expr{now}
			b = &bound
		}
		s.Null = fn.Lenient
		if len(b.Args) > 0 && !b.Args[0].Type().IsString() {
			s.Null = fn.Strict
		}
		return s.Bind(b)
	}
	return &fn.Def{
		Name:     name,
		Group:    "datetime_funcs",
		Bind:     bind,
		Kernel:   unixMaker,
		Examples: []fn.Example{example},
	}
}

func unixMaker(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	source := c.Args[0].Type()
	read := readTime(c, env, false)
	return Zoned(env, func(zone *codec.Offsets) fn.Kernel {
		return fn.Fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
			var t int64
			switch {
			case source.IsString():
				v, bad, err := read(args, i, zone)
				if bad != nil && c.ANSI && err == nil {
					err = cannotParse(bad, "try_to_timestamp")
				}
				if bad != nil || err != nil {
					return 0, false, err
				}
				t = v
			case source.Kind == plan.KindDate:
				t = zone.Instant(fn.IntegerAt(args[0], i) * fn.MicrosPerDay)
			default:
				t = fn.IntegerAt(args[0], i)
			}
			return t / 1e6, true, nil
		})
	}), nil
}

// scaledLong multiplies by unit, or divides by -unit.
func scaledLong(name string, from fn.Input, to plan.Type, unit int64, example fn.Example) *fn.Def {
	k := fn.Fixed(to, func(args []*chunk.Vector, i int) (int64, bool, error) {
		x := chunk.Values[int64](args[0])[i]
		if unit < 0 {
			return fn.FloorDiv(x, -unit), true, nil
		}
		v, ok := fn.MulFits(x, unit)
		if !ok {
			return 0, false, outOfTime(cast.IntText(x, plan.Long), "milliseconds")
		}
		return v, true, nil
	})
	return fn.Scalar(name, "datetime_funcs", fn.Takes(from).Gives(to), fn.Plain(k), example)
}

func outOfTime(value, unit string) error {
	return fn.ArithmeticError("DATETIME_OVERFLOW", value+" "+unit+" are beyond the range of timestamps.",
		"operation", "create a TIMESTAMP from "+value+" "+unit+" since the epoch")
}

func retyped(name string, from fn.Input, to plan.Type, example fn.Example) *fn.Def {
	k := func(args []*chunk.Vector, _ chunk.Sel, _ int) (*chunk.Vector, error) {
		v := *args[0]
		v.Type = to
		return &v, nil
	}
	return fn.Scalar(name, "datetime_funcs", fn.Takes(from).Gives(to), fn.Plain(k), example)
}

func bindSeconds(b *fn.Binding) (*plan.Call, error) {
	c, err := fn.Takes(fn.Numeric()).Gives(plan.Timestamp).Bind(b)
	if err == nil && fn.IsFloat(c.Args[0].Type()) {
		c.Null = true
	}
	return c, err
}

func secondsMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	million := big.NewRat(1e6, 1)
	return fn.Fixed(plan.Timestamp, func(args []*chunk.Vector, i int) (int64, bool, error) {
		if t := args[0].Type; t.IsIntegral() {
			x := fn.IntegerAt(args[0], i)
			v, ok := fn.MulFits(x, 1e6)
			if !ok {
				return 0, false, outOfTime(cast.IntText(x, t), "seconds")
			}
			return v, true, nil
		}
		r, ok := fn.RatioOf(args[0], i)
		if !ok {
			return 0, false, nil
		}
		r.Mul(r, million)
		if fn.IsFloat(args[0].Type) {
			f, _ := r.Float64()
			return fn.JavaInteger[int64](f, math.MaxInt64), true, nil
		}
		if !r.IsInt() || !r.Num().IsInt64() {
			return 0, false, &plan.Error{Class: "java.lang.ArithmeticException", Msg: "Rounding necessary"}
		}
		return r.Num().Int64(), true, nil
	}), nil
}

// nowDefs are the functions that ask the clock of the batch.
func nowDefs() []*fn.Def {
	now := func(names string, of plan.Type, value func(env *fn.Env, zone *codec.Offsets) plan.Value) *fn.Def {
		name, _, _ := strings.Cut(names, " ")
		kernel := func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
			return func(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
				return chunk.Repeat(value(env, codec.NewOffsets(env.Zone)), of, n), nil
			}, nil
		}
		return fn.Scalar(names, "datetime_funcs", fn.Nothing(of), kernel,
			fn.Example{"typeof(" + name + "())", of.Simple()}).
			AsWritten()
	}
	return []*fn.Def{
		now("current_timestamp", plan.Timestamp, func(env *fn.Env, _ *codec.Offsets) plan.Value {
			return env.Now
		}),
		now("now", plan.Timestamp, func(env *fn.Env, _ *codec.Offsets) plan.Value {
			return cmp.Or(env.Planned, env.Now)
		}),
		now("current_date curdate", plan.Date, func(env *fn.Env, zone *codec.Offsets) plan.Value {
			return int32(fn.FloorDiv(zone.Local(env.Now), fn.MicrosPerDay))
		}),
		now("localtimestamp", plan.TimestampNTZ, func(env *fn.Env, zone *codec.Offsets) plan.Value {
			return zone.Local(env.Now)
		}),
		now("current_timezone", plan.String, func(env *fn.Env, _ *codec.Offsets) plan.Value {
			return env.Zone.String()
		}),
	}
}
