package operators

import (
	"encoding/hex"
	"math/bits"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// bitwiseDefs are the operators on bits and the notations of numbers.
func bitwiseDefs() []*fn.Def {
	position := fn.Takes(fn.Integral(), fn.Exactly(plan.Int)).Gives(plan.Byte)
	return []*fn.Def{
		bitwise("&", fn.Example{"5 & 3", "1"}),
		bitwise("|", fn.Example{"5 | 3", "7"}),
		bitwise("^", fn.Example{"5 ^ 3", "6"}),
		fn.Scalar(
			"~",
			"bitwise_funcs",
			fn.Takes(fn.Integral()).GivesFirst(),
			intMaker(complement[int8], complement[int16],
				complement[int32], complement[int64]),
			fn.Example{"~ 0", "-1"},
		),
		shift("shiftleft", "<<", fn.Example{"shiftleft(2, 1)", "4"}),
		shift("shiftright", ">>", fn.Example{"shiftright(-8, 1)", "-4"}),
		shift("shiftrightunsigned", ">>>", fn.Example{"shiftrightunsigned(-8, 1)", "2147483644"}),
		fn.Scalar(
			"bit_count",
			"bitwise_funcs",
			fn.Takes(fn.OneOf(fn.Integral(), fn.Exactly(plan.Boolean))).Gives(plan.Int),
			fn.Plain(fn.Fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
				return int32(bits.OnesCount64(uint64(fn.IntegerAt(args[0], i)))), true, nil
			})),
			fn.Example{"bit_count(7)", "3"},
		),
		fn.Scalar("bit_get getbit", "bitwise_funcs", position, bitGet, fn.Example{"bit_get(11, 0)", "1"}).
			AsWritten(),
		fn.Scalar(
			"bin",
			"math_funcs",
			fn.Takes(fn.Exactly(plan.Long)).Gives(plan.String),
			fn.Plain(fn.Text(plan.String,
				func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
					return strconv.AppendUint(dst, uint64(chunk.Values[int64](args[0])[i]), 2), true, nil
				})),
			fn.Example{"bin(13)", "1101"},
		),
		fn.Scalar("hex", "math_funcs", fn.Takes(fn.OneOf(fn.Exactly(plan.Long), fn.Exactly(plan.Binary), fn.Str())).
			Gives(plan.String),
			hexMaker, fn.Example{"hex(17)", "11"}, fn.Example{"hex('Spark')", "537061726B"}),
		fn.Scalar("unhex", "math_funcs", fn.Takes(fn.Str()).Gives(plan.Binary).WithNull(fn.Always),
			fn.Plain(fn.Text(plan.Binary, unhexRow)),
			fn.Example{"hex(unhex('F'))", "0F"}),
		fn.Scalar(
			"conv",
			"math_funcs",
			fn.Takes(fn.Str(), fn.Exactly(plan.Int), fn.Exactly(plan.Int)).Gives(plan.String).
				WithNull(fn.Always),
			convMaker,
			fn.Example{"conv('100', 2, 10)", "4"},
			fn.Example{"conv(-10, 16, -10)", "-16"},
		),
	}
}

// opBits is the check that the bitwise operators make.
var opBits = operator{name: "bits", in: fn.Integral()}

func bitwise(name string, examples ...fn.Example) *fn.Def {
	bind := func(b *fn.Binding) (*plan.Call, error) {
		if err := b.Between(2, 2); err != nil {
			return nil, err
		}
		l, r := opBits.coerce(b, b.Args[0], b.Args[1])
		c := b.Call([]plan.Expr{l, r}, l.Type(), l.Nullable() || r.Nullable())
		if l.Type().Kind == plan.KindDecimal && !l.Type().Equal(r.Type()) {
			return nil, fn.Mismatch(
				b,
				c,
				"BINARY_OP_DIFF_TYPES",
				"the sides of "+plan.SQLText(c)+" do not go together.",
				"left",
				fn.SqlType(l.Type()),
				"right",
				fn.SqlType(r.Type()),
			)
		}
		return c, opBits.check(b, c)
	}
	m := map[string]fn.Maker{
		"&": intMaker(andInts[int8], andInts[int16], andInts[int32], andInts[int64]),
		"|": intMaker(orInts[int8], orInts[int16], orInts[int32], orInts[int64]),
		"^": intMaker(xorInts[int8], xorInts[int16], xorInts[int32], xorInts[int64]),
	}
	return &fn.Def{Name: name, Group: "bitwise_funcs", Bind: bind, Kernel: m[name], Examples: examples}
}

// intMaker picks the kernel of the first argument's integer type.
func intMaker(i8, i16, i32, i64 fn.Kernel) fn.Maker {
	return func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
		switch c.Args[0].Type().Kind {
		case plan.KindByte:
			return i8, nil
		case plan.KindShort:
			return i16, nil
		case plan.KindInt:
			return i32, nil
		default:
			return i64, nil
		}
	}
}

func complement[T fn.Integer](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := fn.NewColumn(args[0].Type, n, args[0].Valid)
	dst := chunk.Values[T](out.Vector)
	for i, x := range chunk.Values[T](args[0]) {
		dst[i] = ^x
	}
	return out.Vector, nil
}

func andInts[T fn.Integer](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := fn.NewColumn(args[0].Type, n, fn.ValidOf(args, n))
	dst, a, b := chunk.Values[T](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
	for i := range dst {
		dst[i] = a[i] & b[i]
	}
	return out.Vector, nil
}

func orInts[T fn.Integer](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := fn.NewColumn(args[0].Type, n, fn.ValidOf(args, n))
	dst, a, b := chunk.Values[T](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
	for i := range dst {
		dst[i] = a[i] | b[i]
	}
	return out.Vector, nil
}

func xorInts[T fn.Integer](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := fn.NewColumn(args[0].Type, n, fn.ValidOf(args, n))
	dst, a, b := chunk.Values[T](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
	for i := range dst {
		dst[i] = a[i] ^ b[i]
	}
	return out.Vector, nil
}

// shift is a shift function; its operator form shows between its arguments.
func shift(name, operator string, examples ...fn.Example) *fn.Def {
	s := fn.Takes(fn.OneOf(fn.Exactly(plan.Int), fn.Exactly(plan.Long)), fn.Exactly(plan.Int)).GivesFirst()
	bind := func(b *fn.Binding) (*plan.Call, error) {
		if b.Name == operator {
			shown := *b
			shown.Text = "($1 " + operator + " $2)"
			b = &shown
		}
		return s.Bind(b)
	}
	return &fn.Def{
		Name:     name,
		Aliases:  []string{operator},
		Group:    "bitwise_funcs",
		Bind:     bind,
		Examples: examples,
		Kernel: func(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
			if c.Of.Kind == plan.KindInt {
				return fn.Fixed(plan.Int, shiftRow[int32, uint32](operator, 31)), nil
			}
			return fn.Fixed(plan.Long, shiftRow[int64, uint64](operator, 63)), nil
		},
	}
}

// shiftRow shifts by so many of the last bits of the second argument as mask
// lets through. U is T without a sign.
func shiftRow[T int32 | int64, U uint32 | uint64](
	operator string, mask int32,
) func(args []*chunk.Vector, i int) (T, bool, error) {
	return func(args []*chunk.Vector, i int) (T, bool, error) {
		x, by := chunk.Values[T](args[0])[i], chunk.Values[int32](args[1])[i]&mask
		switch operator {
		case "<<":
			return x << by, true, nil
		case ">>":
			return x >> by, true, nil
		default:
			return T(U(x) >> by), true, nil
		}
	}
}

func bitGet(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	width := int32(8 * chunk.Width(c.Args[0].Type()))
	return fn.Fixed(plan.Byte, func(args []*chunk.Vector, i int) (int8, bool, error) {
		at := chunk.Values[int32](args[1])[i]
		if at < 0 || at >= width {
			return 0, false, plan.NewError(plan.ClassIllegal, "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE",
				"bit "+fn.Itoa(int(at))+" is outside [0, "+fn.Itoa(int(width))+").", "functionName", "`bit_get`",
				"parameter", "`pos`", "upper", fn.Itoa(int(width)), "invalidValue", fn.Itoa(int(at)))
		}
		return int8(fn.IntegerAt(args[0], i) >> at & 1), true, nil
	}), nil
}

const upperHex = "0123456789ABCDEF"

func appendHex(dst, b []byte) []byte {
	for _, x := range b {
		dst = append(dst, upperHex[x>>4], upperHex[x&15])
	}
	return dst
}

func hexMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	if c.Args[0].Type().Kind != plan.KindLong {
		return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			return appendHex(dst, args[0].Bytes(i)), true, nil
		}), nil
	}
	return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		at := len(dst)
		dst = strconv.AppendUint(dst, uint64(chunk.Values[int64](args[0])[i]), 16)
		letters.UpperASCII(dst[at:])
		return dst, true, nil
	}), nil
}

func unhexRow(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	s := args[0].Text(i)
	if len(s)%2 == 1 {
		s = "0" + s
	}
	out, err := hex.AppendDecode(dst, []byte(s))
	if err != nil {
		return dst, false, nil
	}
	return out, true, nil
}

// Bases that conv knows.
const (
	leastBase = 2
	mostBase  = 36
)

func convMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		from, to := int(chunk.Values[int32](args[1])[i]), int(chunk.Values[int32](args[2])[i])
		size := max(to, -to)
		s := fn.TrimBlanks(args[0].Text(i))
		if from < leastBase || from > mostBase || size < leastBase || size > mostBase || s == "" {
			return dst, false, nil
		}
		v, negative, over := readBase(s, uint64(from))
		if over && c.ANSI {
			return dst, false, fn.Overflow("Overflow in function conv()", "").At(c.Origin)
		}
		if negative && to > 0 {
			if int64(v) < 0 {
				v = 1<<64 - 1
			} else {
				v = -v
			}
		}
		if to < 0 && int64(v) < 0 {
			v, negative = -v, true
		}
		if negative && to < 0 {
			dst = append(dst, '-')
		}
		at := len(dst)
		dst = strconv.AppendUint(dst, v, size)
		letters.UpperASCII(dst[at:])
		return dst, true, nil
	}), nil
}

// readBase reads digits up to the first that is none; a number beyond 64 bits
// is the greatest there is.
func readBase(s string, base uint64) (v uint64, negative, over bool) {
	if s[0] == '-' {
		negative, s = true, s[1:]
	}
	for i := range len(s) {
		d := digitOf(s[i])
		if d >= base {
			break
		}
		hi, lo := bits.Mul64(v, base)
		sum, carry := bits.Add64(lo, d, 0)
		if hi != 0 || carry != 0 {
			return 1<<64 - 1, negative, true
		}
		v = sum
	}
	return v, negative, false
}

func digitOf(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c >= 'a' && c <= 'z':
		return uint64(c-'a') + 10
	case c >= 'A' && c <= 'Z':
		return uint64(c-'A') + 10
	default:
		return 255
	}
}
