package cast

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// toText casts to strings of any length; values print as codec says.
func (c *caster) toText() fn.Kernel {
	exp := !c.ansi() && c.env.CastMode() == plan.CastLegacy
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		if n == 0 {
			return chunk.New(c.to, 0), nil
		}
		style := codec.TextStyle{Zone: codec.NewOffsets(c.env.Zone), ExpDecimal: exp}
		out := fn.NewTexts(c.to, n, args[0].Valid)
		out.Data = make([]byte, 0, 8*n)
		for _, i := range fn.Active(args[0].Valid, sel, n) {
			out.End(style.AppendValue(out.At(i), args[0], int(i)))
		}
		return out.Done(), nil
	}
}

// parsed is a kernel that reads each text; ok false is a text that is no value
// of the type.
func parsed[R chunk.Fixed](c *caster, parse func(s string) (R, bool)) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.to, n, args[0].Valid)
		dst := chunk.Values[R](out.Vector)
		for _, i := range fn.Active(out.Valid, sel, n) {
			r, ok := parse(args[0].Text(int(i)))
			if ok {
				dst[i] = r
				continue
			}
			if err := c.fail(fn.InvalidInput(args[0].Text(int(i)), c.from, c.to)); err != nil {
				return nil, err
			}
			out.Null(i)
		}
		return out.Vector, nil
	}
}

// fromText reads strings.
func (c *caster) fromText() fn.Kernel {
	switch c.to.Kind {
	case plan.KindBoolean:
		return parsed(c, func(s string) (uint8, bool) {
			v, ok := codec.ParseBool(s)
			return fn.Bit(v), ok
		})
	case plan.KindByte:
		return parsedInt[int8](c)
	case plan.KindShort:
		return parsedInt[int16](c)
	case plan.KindInt:
		return parsedInt[int32](c)
	case plan.KindLong:
		return parsedInt[int64](c)
	case plan.KindFloat:
		return parsed(c, codec.ParseFloat)
	case plan.KindDouble:
		return parsed(c, codec.ParseDouble)
	case plan.KindDecimal:
		return c.parsedDecimal()
	default:
		return c.temporalFromText()
	}
}

// parsedInt: without ANSI, also for TRY_CAST there, a fraction is cut off.
func parsedInt[R fn.Integer](c *caster) fn.Kernel {
	fraction := c.mode == plan.CastLegacy
	return parsed(c, func(s string) (R, bool) {
		v, ok := codec.ParseInt(s, fraction)
		return R(v), ok && int64(R(v)) == v
	})
}

func (c *caster) parsedDecimal() fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.to, n, args[0].Valid)
		dst := chunk.Values[chunk.Dec](out.Vector)
		for _, i := range fn.Active(out.Valid, sel, n) {
			s := args[0].Text(int(i))
			d, fault := codec.ParseDecimal(s, c.to)
			switch {
			case fault == codec.DecimalOK:
				dst[i] = d
			case !c.ansi():
				out.Null(i)
			case fault == codec.DecimalNotANum:
				return nil, fn.InvalidInput(s, c.from, c.to)
			case fault == codec.DecimalTooLarge:
				return nil, fn.ArithmeticError("NUMERIC_OUT_OF_SUPPORTED_RANGE",
					s+" has more digits than a decimal can have.",
					"value", s)
			default:
				return nil, fn.DecimalOverflow(plainText(s), c.to)
			}
		}
		return out.Vector, nil
	}
}

func (c *caster) temporalFromText() fn.Kernel {
	switch c.to.Kind {
	case plan.KindDate:
		return parsed(c, codec.ParseDate)
	case plan.KindTimestamp:
		return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
			zone := codec.NewOffsets(c.env.Zone)
			return parsed(c, func(s string) (int64, bool) {
				return codec.ParseTimestamp(s, zone, c.env.Now)
			})(args, sel, n)
		}
	case plan.KindTimestampNTZ:
		return parsed(c, func(s string) (int64, bool) { return codec.ParseTimestampNTZ(s, true) })
	default:
		return c.intervalFromText()
	}
}
