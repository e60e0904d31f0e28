package function

import (
	"encoding/hex"
	"math/bits"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// bitwiseDefs are the operators on bits and the notations of numbers.
func bitwiseDefs() []*Def {
	position := takes(integral(), exactly(plan.Int)).gives(plan.Byte)
	return []*Def{
		bitwise("&", Example{"5 & 3", "1"}),
		bitwise("|", Example{"5 | 3", "7"}),
		bitwise("^", Example{"5 ^ 3", "6"}),
		scalar("~", "bitwise_funcs", takes(integral()).givesFirst(), intMaker(complement[int8], complement[int16],
			complement[int32], complement[int64]), Example{"~ 0", "-1"}),
		shift("shiftleft", "<<", Example{"shiftleft(2, 1)", "4"}),
		shift("shiftright", ">>", Example{"shiftright(-8, 1)", "-4"}),
		shift("shiftrightunsigned", ">>>", Example{"shiftrightunsigned(-8, 1)", "2147483644"}),
		scalar("bit_count", "bitwise_funcs", takes(oneOf(integral(), exactly(plan.Boolean))).gives(plan.Int),
			plain(fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
				return int32(bits.OnesCount64(uint64(integerAt(args[0], i)))), true, nil
			})), Example{"bit_count(7)", "3"}),
		scalar("bit_get getbit", "bitwise_funcs", position, bitGet, Example{"bit_get(11, 0)", "1"}).asWritten(),
		scalar("bin", "math_funcs", takes(exactly(plan.Long)).gives(plan.String), plain(text(plan.String,
			func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
				return strconv.AppendUint(dst, uint64(chunk.Values[int64](args[0])[i]), 2), true, nil
			})), Example{"bin(13)", "1101"}),
		scalar("hex", "math_funcs", takes(oneOf(exactly(plan.Long), exactly(plan.Binary), str())).
			gives(plan.String),
			hexMaker, Example{"hex(17)", "11"}, Example{"hex('Spark')", "537061726B"}),
		scalar("unhex", "math_funcs", takes(str()).gives(plan.Binary).withNull(always),
			plain(text(plan.Binary, unhexRow)),
			Example{"hex(unhex('F'))", "0F"}),
		scalar("conv", "math_funcs", takes(str(), exactly(plan.Int), exactly(plan.Int)).gives(plan.String).
			withNull(always),
			convMaker, Example{"conv('100', 2, 10)", "4"}, Example{"conv(-10, 16, -10)", "-16"}),
	}
}

// opBits is the check that the bitwise operators make.
var opBits = operator{name: "bits", in: integral()}

func bitwise(name string, examples ...Example) *Def {
	bind := func(b *Binding) (*plan.Call, error) {
		if err := b.between(2, 2); err != nil {
			return nil, err
		}
		l, r := opBits.coerce(b, b.Args[0], b.Args[1])
		c := b.call([]plan.Expr{l, r}, l.Type(), l.Nullable() || r.Nullable())
		if l.Type().Kind == plan.KindDecimal && !l.Type().Equal(r.Type()) {
			return nil, mismatch(b, c, "BINARY_OP_DIFF_TYPES", "the sides of "+plan.SQLText(c)+" do not go together.",
				"left", sqlType(l.Type()), "right", sqlType(r.Type()))
		}
		return c, opBits.check(b, c)
	}
	m := map[string]maker{
		"&": intMaker(andInts[int8], andInts[int16], andInts[int32], andInts[int64]),
		"|": intMaker(orInts[int8], orInts[int16], orInts[int32], orInts[int64]),
		"^": intMaker(xorInts[int8], xorInts[int16], xorInts[int32], xorInts[int64]),
	}
	return &Def{Name: name, Group: "bitwise_funcs", Bind: bind, Kernel: m[name], Examples: examples}
}

// intMaker picks the kernel of the first argument's integer type.
func intMaker(i8, i16, i32, i64 Kernel) maker {
	return func(c *plan.Call, _ *Env) (Kernel, error) {
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

func complement[T signedInt](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := newColumn(args[0].Type, n, args[0].Valid)
	dst := chunk.Values[T](out.Vector)
	for i, x := range chunk.Values[T](args[0]) {
		dst[i] = ^x
	}
	return out.Vector, nil
}

func andInts[T signedInt](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := newColumn(args[0].Type, n, validOf(args, n))
	dst, a, b := chunk.Values[T](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
	for i := range dst {
		dst[i] = a[i] & b[i]
	}
	return out.Vector, nil
}

func orInts[T signedInt](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := newColumn(args[0].Type, n, validOf(args, n))
	dst, a, b := chunk.Values[T](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
	for i := range dst {
		dst[i] = a[i] | b[i]
	}
	return out.Vector, nil
}

func xorInts[T signedInt](args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
	out := newColumn(args[0].Type, n, validOf(args, n))
	dst, a, b := chunk.Values[T](out.Vector), chunk.Values[T](args[0]), chunk.Values[T](args[1])
	for i := range dst {
		dst[i] = a[i] ^ b[i]
	}
	return out.Vector, nil
}

// shift is a shift function; its operator form shows between its arguments.
func shift(name, operator string, examples ...Example) *Def {
	s := takes(oneOf(exactly(plan.Int), exactly(plan.Long)), exactly(plan.Int)).givesFirst()
	bind := func(b *Binding) (*plan.Call, error) {
		if b.Name == operator {
			shown := *b
			shown.Text = "($1 " + operator + " $2)"
			b = &shown
		}
		return s.bind(b)
	}
	return &Def{Name: name, Aliases: []string{operator}, Group: "bitwise_funcs", Bind: bind, Examples: examples,
		Kernel: func(c *plan.Call, _ *Env) (Kernel, error) {
			if c.Of.Kind == plan.KindInt {
				return fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
					x, by := chunk.Values[int32](args[0])[i], chunk.Values[int32](args[1])[i]&31
					switch operator {
					case "<<":
						return x << by, true, nil
					case ">>":
						return x >> by, true, nil
					default:
						return int32(uint32(x) >> by), true, nil
					}
				}), nil
			}
			return fixed(plan.Long, func(args []*chunk.Vector, i int) (int64, bool, error) {
				x, by := chunk.Values[int64](args[0])[i], chunk.Values[int32](args[1])[i]&63
				switch operator {
				case "<<":
					return x << by, true, nil
				case ">>":
					return x >> by, true, nil
				default:
					return int64(uint64(x) >> by), true, nil
				}
			}), nil
		}}
}

func bitGet(c *plan.Call, _ *Env) (Kernel, error) {
	width := int32(8 * chunk.Width(c.Args[0].Type()))
	return fixed(plan.Byte, func(args []*chunk.Vector, i int) (int8, bool, error) {
		at := chunk.Values[int32](args[1])[i]
		if at < 0 || at >= width {
			return 0, false, plan.NewError(plan.ClassIllegal, "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE",
				"bit "+itoa(int(at))+" is outside [0, "+itoa(int(width))+").", "functionName", "`bit_get`",
				"parameter", "`pos`", "upper", itoa(int(width)), "invalidValue", itoa(int(at)))
		}
		return int8(integerAt(args[0], i) >> at & 1), true, nil
	}), nil
}

const upperHex = "0123456789ABCDEF"

func appendHex(dst, b []byte) []byte {
	for _, x := range b {
		dst = append(dst, upperHex[x>>4], upperHex[x&15])
	}
	return dst
}

func hexMaker(c *plan.Call, _ *Env) (Kernel, error) {
	if c.Args[0].Type().Kind != plan.KindLong {
		return text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			return appendHex(dst, args[0].Bytes(i)), true, nil
		}), nil
	}
	return text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
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

func convMaker(c *plan.Call, _ *Env) (Kernel, error) {
	return text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		from, to := int(chunk.Values[int32](args[1])[i]), int(chunk.Values[int32](args[2])[i])
		size := max(to, -to)
		s := trimBlanks(args[0].Text(i))
		if from < leastBase || from > mostBase || size < leastBase || size > mostBase || s == "" {
			return dst, false, nil
		}
		v, negative, over := readBase(s, uint64(from))
		if over && c.ANSI {
			return dst, false, overflow("Overflow in function conv()", "").At(c.Origin)
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

func trimBlanks(s string) string {
	for s != "" && s[0] == ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
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
