package function

import (
	"math"
	"math/big"
	"sync"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// timeConvDefs turn times into text and numbers, and back.
func timeConvDefs() []*Def {
	ts := exactly(plan.Timestamp)
	moment := oneOf(ts, input{text: quoted("TIME"), family: familyOther, accepts: ofKind(plan.KindTime)},
		nanoTimestamps())
	defs := []*Def{
		scalar("date_format", "datetime_funcs", takes(moment, str()).gives(plan.String), dateFormat,
			Example{"date_format(TIMESTAMP '2024-04-08 01:02:03', 'y-MMM-d H:mm')", "2024-Apr-8 1:02"}),
		scalar("from_unixtime", "datetime_funcs",
			takes(exactly(plan.Long), str()).defaults(plan.Lit(defaultFormat, plan.String)).
				gives(plan.String).withNull(always), fromUnixtime,
			Example{"from_unixtime(0, 'yyyy-MM-dd HH:mm:ss')", "1970-01-01 00:00:00"}),
		parser("to_timestamp", plan.Timestamp, false,
			Example{"to_timestamp('2016-12-31', 'yyyy-MM-dd')", "2016-12-31 00:00:00"}),
		parser("try_to_timestamp", plan.Timestamp, true, Example{"try_to_timestamp('foo', 'yyyy-MM-dd')", "NULL"}),
		parser("to_timestamp_ltz", plan.Timestamp, false,
			Example{"to_timestamp_ltz('2016-12-31 00:12:00')", "2016-12-31 00:12:00"}),
		parser("to_timestamp_ntz", plan.TimestampNTZ, false,
			Example{"to_timestamp_ntz('2016-12-31', 'yyyy-MM-dd')", "2016-12-31 00:00:00"}),
		parser("to_date", plan.Date, false, Example{"to_date('31.12.2016', 'dd.MM.yyyy')", "2016-12-31"}),
		parser("try_to_date", plan.Date, true, Example{"try_to_date('x', 'yyyy')", "NULL"}),
		unixTime("unix_timestamp", 0, Example{"unix_timestamp('2016-04-08', 'yyyy-MM-dd')", "1460073600"}),
		unixTime("to_unix_timestamp", 1, Example{"to_unix_timestamp('2016-04-08', 'yyyy-MM-dd')", "1460073600"}),
		{Name: "timestamp_seconds", Group: "datetime_funcs", Bind: bindSeconds, Kernel: secondsMaker,
			Examples: []Example{{"timestamp_seconds(1230219000.123)", "2008-12-25 15:30:00.123"}}},
		scaledLong("timestamp_millis", exactly(plan.Long), plan.Timestamp, 1000,
			Example{"timestamp_millis(1230219000123)", "2008-12-25 15:30:00.123"}),
		scaledLong("timestamp_micros", exactly(plan.Long), plan.Timestamp, 1,
			Example{"timestamp_micros(1230219000123123)", "2008-12-25 15:30:00.123123"}),
		scaledLong("unix_seconds", ts, plan.Long, -1e6,
			Example{"unix_seconds(TIMESTAMP '1970-01-01 00:00:01')", "1"}),
		scaledLong("unix_millis", ts, plan.Long, -1000,
			Example{"unix_millis(TIMESTAMP '1970-01-01 00:00:01')", "1000"}),
		scaledLong("unix_micros", ts, plan.Long, 1,
			Example{"unix_micros(TIMESTAMP '1970-01-01 00:00:01')", "1000000"}),
		retyped("unix_date", exactly(plan.Date), plan.Int, Example{"unix_date(DATE '1970-01-02')", "1"}),
		retyped("date_from_unix_date", exactly(plan.Int), plan.Date,
			Example{"date_from_unix_date(1)", "1970-01-02"}),
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
	if s, ok := constantText(c.Args[arg]); ok {
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

func dateFormat(c *plan.Call, env *Env) (Kernel, error) {
	f := formatsOf(c, 1, codec.PatternUse{})
	return zoned(env, func(zone *codec.Offsets) Kernel {
		return text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			p, err := f.at(args[1], i)
			if err != nil {
				return dst, false, err
			}
			dst, err = p.AppendTimestamp(dst, chunk.Values[int64](args[0])[i], zone)
			return dst, true, err
		})
	}), nil
}

func fromUnixtime(c *plan.Call, env *Env) (Kernel, error) {
	f := formatsOf(c, 1, codec.PatternUse{})
	return zoned(env, func(zone *codec.Offsets) Kernel {
		return text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
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
func parser(name string, to plan.Type, try bool, example Example) *Def {
	bind := func(b *Binding) (*plan.Call, error) {
		if err := b.between(1, 2); err != nil {
			return nil, err
		}
		source := b.Args[0]
		nullable := try || !b.Env.ANSI
		if len(b.Args) == 1 || !source.Type().IsString() {
			cast := &plan.Cast{Child: source, To: to, Mode: b.Env.castMode(), Origin: b.Origin}
			if try {
				cast.Mode = plan.CastTry
			}
			if err := CheckCast(cast, b.Env); err != nil {
				return nil, err
			}
			return b.call(b.Args, to, cast.Nullable()), nil
		}
		return takes(str(), str()).gives(to).checkedNull(func(args []plan.Expr) bool {
			return nullable || anyNullable(args)
		}).bind(b)
	}
	return &Def{Name: name, Group: "datetime_funcs", Bind: bind, Examples: []Example{example},
		Kernel: func(c *plan.Call, env *Env) (Kernel, error) { return parserKernel(c, env, try) }}
}

func parserKernel(c *plan.Call, env *Env, try bool) (Kernel, error) {
	source := c.Args[0].Type()
	if len(c.Args) == 1 || !source.IsString() {
		cast := &plan.Cast{Child: c.Args[0], To: c.Of, Mode: plan.CastTry, Origin: c.Origin}
		if !try {
			cast.Mode = map[bool]plan.CastMode{true: plan.CastANSI, false: plan.CastLegacy}[c.ANSI]
		}
		k, err := CastKernelOf(cast, env)
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
	return zoned(env, func(zone *codec.Offsets) Kernel {
		if c.Of.Kind == plan.KindDate {
			return fixed(c.Of, func(args []*chunk.Vector, i int) (int32, bool, error) {
				t, bad, err := read(args, i, zone)
				if bad != nil || err != nil {
					return 0, false, firstError(err, fail, bad)
				}
				return int32(floorDiv(zone.Local(t), microsPerDay)), true, nil
			})
		}
		return fixed(c.Of, func(args []*chunk.Vector, i int) (int64, bool, error) {
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

func readTime(c *plan.Call, _ *Env, ntz bool) timeReader {
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
func unixTime(name string, least int, example Example) *Def {
	s := takes(oneOf(str(), exactly(plan.Date), exactly(plan.Timestamp), exactly(plan.TimestampNTZ)), str()).
		defaults(plan.Lit(defaultFormat, plan.String)).gives(plan.Long)
	bind := func(b *Binding) (*plan.Call, error) {
		if len(b.Args) == 0 && least == 0 {
			now, err := b.nest("current_timestamp")
			if err != nil {
				return nil, err
			}
			bound := *b
			bound.Args = []plan.Expr{now}
			b = &bound
		}
		s.null = lenient
		if len(b.Args) > 0 && !b.Args[0].Type().IsString() {
			s.null = strict
		}
		return s.bind(b)
	}
	return &Def{Name: name, Group: "datetime_funcs", Bind: bind, Kernel: unixMaker, Examples: []Example{example}}
}

func unixMaker(c *plan.Call, env *Env) (Kernel, error) {
	source := c.Args[0].Type()
	read := readTime(c, env, false)
	return zoned(env, func(zone *codec.Offsets) Kernel {
		return fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
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
				t = zone.Instant(integerAt(args[0], i) * microsPerDay)
			default:
				t = integerAt(args[0], i)
			}
			return t / 1e6, true, nil
		})
	}), nil
}

// scaledLong multiplies by unit, or divides by -unit.
func scaledLong(name string, from input, to plan.Type, unit int64, example Example) *Def {
	k := fixed(to, func(args []*chunk.Vector, i int) (int64, bool, error) {
		x := chunk.Values[int64](args[0])[i]
		if unit < 0 {
			return floorDiv(x, -unit), true, nil
		}
		v, ok := mulFits(x, unit)
		if !ok {
			return 0, false, outOfTime(intText(x, plan.Long), "milliseconds")
		}
		return v, true, nil
	})
	return scalar(name, "datetime_funcs", takes(from).gives(to), plain(k), example)
}

func outOfTime(value, unit string) error {
	return arithmeticError("DATETIME_OVERFLOW", value+" "+unit+" are beyond the range of timestamps.",
		"operation", "create a TIMESTAMP from "+value+" "+unit+" since the epoch")
}

func retyped(name string, from input, to plan.Type, example Example) *Def {
	k := func(args []*chunk.Vector, _ chunk.Sel, _ int) (*chunk.Vector, error) {
		v := *args[0]
		v.Type = to
		return &v, nil
	}
	return scalar(name, "datetime_funcs", takes(from).gives(to), plain(k), example)
}

func bindSeconds(b *Binding) (*plan.Call, error) {
	c, err := takes(numeric()).gives(plan.Timestamp).bind(b)
	if err == nil && isFloat(c.Args[0].Type()) {
		c.Null = true
	}
	return c, err
}

func secondsMaker(c *plan.Call, _ *Env) (Kernel, error) {
	million := big.NewRat(1e6, 1)
	return fixed(plan.Timestamp, func(args []*chunk.Vector, i int) (int64, bool, error) {
		if t := args[0].Type; t.IsIntegral() {
			x := integerAt(args[0], i)
			v, ok := mulFits(x, 1e6)
			if !ok {
				return 0, false, outOfTime(intText(x, t), "seconds")
			}
			return v, true, nil
		}
		r, ok := ratioOf(args[0], i)
		if !ok {
			return 0, false, nil
		}
		r.Mul(r, million)
		if isFloat(args[0].Type) {
			f, _ := r.Float64()
			return javaInteger[int64](f, math.MaxInt64), true, nil
		}
		if !r.IsInt() || !r.Num().IsInt64() {
			return 0, false, &plan.Error{Class: "java.lang.ArithmeticException", Msg: "Rounding necessary"}
		}
		return r.Num().Int64(), true, nil
	}), nil
}

// nowDefs are the functions that ask the clock of the batch.
func nowDefs() []*Def {
	now := func(names string, of plan.Type, value func(env *Env, zone *codec.Offsets) plan.Value) *Def {
		return scalar(names, "datetime_funcs", nothing(of), func(c *plan.Call, env *Env) (Kernel, error) {
			return func(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
				return chunk.Repeat(value(env, codec.NewOffsets(env.Zone)), of, n), nil
			}, nil
		}, Example{"typeof(" + firstWord(names) + "())", of.Simple()}).asWritten()
	}
	return []*Def{
		now("current_timestamp now", plan.Timestamp, func(env *Env, _ *codec.Offsets) plan.Value {
			return env.Now
		}),
		now("current_date curdate", plan.Date, func(env *Env, zone *codec.Offsets) plan.Value {
			return int32(floorDiv(zone.Local(env.Now), microsPerDay))
		}),
		now("localtimestamp", plan.TimestampNTZ, func(env *Env, zone *codec.Offsets) plan.Value {
			return zone.Local(env.Now)
		}),
		now("current_timezone", plan.String, func(env *Env, _ *codec.Offsets) plan.Value {
			return env.Zone.String()
		}),
	}
}
