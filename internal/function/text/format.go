package text

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/numbers"
	"github.com/weir-dev/weir/internal/plan"
)

// formatDefs write values by a format of Java's.
func formatDefs() []*fn.Def {
	numbers := fn.Takes(fn.Numeric(), fn.OneOf(fn.Exactly(plan.Int), fn.Str())).
		Gives(plan.String).
		WithNull(fn.Always)
	return []*fn.Def{
		{Name: "format_string", Aliases: []string{"printf"}, ShownAsWritten: true, Group: "string_funcs",
			Bind:   bindFormat,
			Kernel: formatMaker, Examples: []fn.Example{{"format_string('Hello World %d %s', 100, 'days')",
				"Hello World 100 days"}}},
		fn.Scalar("format_number", "string_funcs", numbers, numberFormat,
			fn.Example{"format_number(12332.123456, 4)", "12,332.1235"}),
	}
}

func bindFormat(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) == 0 {
		return nil, fn.WrongCount(b, "> 0")
	}
	args := append([]plan.Expr(nil), b.Args...)
	args[0], _ = fn.CastInput(args[0], fn.Str(), b.Env, b.Origin)
	c := b.Call(args, plan.String, args[0].Nullable())
	if !args[0].Type().IsString() {
		return nil, fn.Unexpected(b, c, 0, fn.Quoted("STRING"))
	}
	format, _ := args[0].(*plan.Literal)
	if format != nil && format.Value != nil && strings.Contains(format.Value.(string), "%0$") {
		return nil, plan.AnalysisError("INVALID_PARAMETER_VALUE.ZERO_INDEX", "arguments are numbered from 1.",
			"functionName", plan.Quote(b.ShownName()), "parameter", "`strfmt`").At(b.Origin)
	}
	return c, nil
}

// formatMaker formats every picked row; only a NULL format is NULL.
func formatMaker(_ *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		if n == 0 || args[0].Type.Kind == plan.KindNull {
			return chunk.NullVector(plan.String, n), nil
		}
		style := &codec.TextStyle{Zone: codec.NewOffsets(env.Zone)}
		out := fn.NewTexts(plan.String, n, args[0].Valid)
		for _, i := range fn.Active(args[0].Valid, sel, n) {
			f := formatter{args: args[1:], row: int(i), style: style, env: env}
			dst, err := f.append(out.At(i), args[0].Text(int(i)))
			if err != nil {
				return nil, err
			}
			out.End(dst)
		}
		return out.Done(), nil
	}, nil
}

// formatter is java.util.Formatter over the values of a row.
type formatter struct {
	args  []*chunk.Vector
	row   int
	style *codec.TextStyle
	env   *fn.Env
	next  int // argument of the next specifier without an index
	last  int
}

func (f *formatter) append(dst []byte, format string) ([]byte, error) {
	for format != "" {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			return append(dst, format...), nil
		}
		dst = append(dst, format[:at]...)
		spec, rest, ok := readSpecifier(format[at+1:])
		if !ok {
			return dst, plan.IllegalArgument("UnknownFormatConversionException: Conversion = '%s'", "%")
		}
		if wide := max(spec.width, spec.precision); wide > fn.LargeResult {
			if err := f.env.Memory.Fits("text", 2*int64(wide)); err != nil {
				return dst, err
			}
		}
		out, err := f.value(spec)
		if err != nil {
			return dst, err
		}
		dst = append(dst, spec.pad(out)...)
		format = rest
	}
	return dst, nil
}

// specifier is %[index$][flags][width][.precision]conversion.
type specifier struct {
	index            int
	flags            string
	width, precision int // -1 when absent
	conversion       byte
}

func readSpecifier(s string) (spec specifier, rest string, ok bool) {
	spec.width, spec.precision = -1, -1
	digits := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		v, err := strconv.Atoi(s[:n])
		if err != nil {
			return -1
		}
		s = s[n:]
		return v
	}
	whole := s
	if n := digits(); n >= 0 && strings.HasPrefix(s, "$") {
		spec.index, s = n, s[1:]
	} else {
		s = whole
	}
	for s != "" && strings.IndexByte("-#+ 0,(<", s[0]) >= 0 {
		spec.flags += s[:1]
		s = s[1:]
	}
	spec.width = digits()
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		if spec.precision = digits(); spec.precision < 0 {
			return spec, s, false
		}
	}
	if s == "" {
		return spec, s, false
	}
	spec.conversion = s[0]
	return spec, s[1:], true
}

func (sp specifier) has(flag string) bool { return strings.Contains(sp.flags, flag) }

func (sp specifier) pad(s string) string {
	missing := sp.width - len([]rune(s))
	switch {
	case missing <= 0:
		return s
	case sp.has("-"):
		return s + strings.Repeat(" ", missing)
	case sp.has("0") && strings.IndexByte("dfeEgGxXo", sp.conversion) >= 0:
		sign := 0
		if s != "" && (s[0] == '-' || s[0] == '+' || s[0] == ' ' || s[0] == '(') {
			sign = 1
		}
		return s[:sign] + strings.Repeat("0", missing) + s[sign:]
	default:
		return strings.Repeat(" ", missing) + s
	}
}

func (f *formatter) value(sp specifier) (string, error) {
	switch sp.conversion {
	case 'n':
		return "\n", nil
	case '%':
		return "%", nil
	}
	k := f.next
	switch {
	case sp.has("<"):
		k = f.last
	case sp.index > 0:
		k = sp.index - 1
	default:
		f.next++
	}
	f.last = k
	if k >= len(f.args) {
		return "", plan.IllegalArgument("MissingFormatArgumentException: Format specifier '%%%c'", sp.conversion)
	}
	v := f.args[k]
	if v.IsNull(f.row) {
		return sp.cut("null"), nil
	}
	switch sp.conversion {
	case 's', 'S':
		s := sp.cut(f.text(v))
		if sp.conversion == 'S' {
			s = fn.UpperWord(s)
		}
		return s, nil
	case 'b', 'B':
		if v.Type.Kind == plan.KindBoolean {
			return sp.cut(string(f.style.AppendValue(nil, v, f.row))), nil
		}
		return sp.cut("true"), nil
	case 'c', 'C':
		if v.Type.IsIntegral() {
			return string(rune(fn.IntegerAt(v, f.row))), nil
		}
	case 'd', 'x', 'X', 'o':
		if v.Type.IsIntegral() {
			return sp.integer(fn.IntegerAt(v, f.row), chunk.Width(v.Type)*8), nil
		}
	case 'f', 'e', 'E', 'g', 'G':
		// Spark hands decimals on in a form that Java's formatter does not know.
		if r, ok := fn.RatioOf(v, f.row); fn.IsFloat(v.Type) {
			return sp.fraction(v, f.row, r, ok), nil
		}
	}
	return "", plan.IllegalArgument("IllegalFormatConversionException: %c != %s", sp.conversion, v.Type.SQL())
}

// text is a value as %s shows it: dates and times are the numbers that Spark
// keeps.
func (f *formatter) text(v *chunk.Vector) string {
	switch v.Type.Kind {
	case plan.KindDate, plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindYearMonth:
		return strconv.FormatInt(fn.IntegerAt(v, f.row), 10)
	}
	return string(f.style.AppendValue(nil, v, f.row))
}

func (sp specifier) cut(s string) string {
	if r := []rune(s); sp.precision >= 0 && sp.precision < len(r) {
		return string(r[:sp.precision])
	}
	return s
}

func (sp specifier) integer(x int64, bits int) string {
	switch sp.conversion {
	case 'x', 'X', 'o':
		base := map[byte]int{'x': 16, 'X': 16, 'o': 8}[sp.conversion]
		s := strconv.FormatUint(uint64(x)<<(64-bits)>>(64-bits), base)
		if sp.has("#") {
			s = map[byte]string{'x': "0x", 'X': "0x", 'o': "0"}[sp.conversion] + s
		}
		if sp.conversion == 'X' {
			return strings.ToUpper(s)
		}
		return s
	}
	return sp.signed(x < 0, strings.TrimPrefix(strconv.FormatInt(x, 10), "-"))
}

// signed puts the sign and the grouping that the flags ask for.
func (sp specifier) signed(negative bool, digits string) string {
	if sp.has(",") {
		digits = grouped(digits, 3)
	}
	switch {
	case negative && sp.has("("):
		return "(" + digits + ")"
	case negative:
		return "-" + digits
	case sp.has("+"):
		return "+" + digits
	case sp.has(" "):
		return " " + digits
	default:
		return digits
	}
}

// grouped puts commas between groups of digits before the point.
func grouped(digits string, size int) string {
	whole, fraction, _ := strings.Cut(digits, ".")
	for at := len(whole) - size; at > 0; at -= size {
		whole = whole[:at] + "," + whole[at:]
	}
	if strings.Contains(digits, ".") {
		return whole + "." + fraction
	}
	return whole
}

// fraction writes a float or decimal; Java rounds half up from the digits it
// would print.
func (sp specifier) fraction(v *chunk.Vector, i int, r *big.Rat, finite bool) string {
	if !finite {
		style := codec.TextStyle{}
		return string(style.AppendValue(nil, v, i))
	}
	precision := sp.precision
	if precision < 0 {
		precision = 6
	}
	if fn.IsFloat(v.Type) {
		style := codec.TextStyle{}
		r.SetString(string(style.AppendValue(nil, v, i)))
	}
	negative := r.Sign() < 0
	r.Abs(r)
	switch sp.conversion {
	case 'f':
		unit := new(big.Rat).SetInt(decimal.BigPow10(precision))
		return sp.signed(negative, decimal.BigText(numbers.HalfUp.WholeOf(r.Mul(r, unit)), precision))
	default:
		f, _ := r.Float64()
		return sp.signed(negative, fmt.Sprintf("%."+strconv.Itoa(precision)+string(sp.conversion), f))
	}
}

// numberFormat is format_number: with a number of digits, or with a pattern of
// DecimalFormat.
func numberFormat(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	patterned := c.Args[1].Type().IsString()
	return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		p := decimalPattern{group: 3, least: 1}
		if patterned {
			p = readDecimalPattern(args[1].Text(i))
		} else {
			digits := int(chunk.Values[int32](args[1])[i])
			if digits < 0 {
				return dst, false, nil
			}
			p.min, p.max = digits, digits
		}
		r, finite := fn.RatioOf(args[0], i)
		if !finite {
			return append(dst, notFinite(args[0], i)...), true, nil
		}
		return append(dst, p.write(r)...), true, nil
	}), nil
}

func notFinite(v *chunk.Vector, i int) string {
	f := 0.0
	if v.Type.Kind == plan.KindFloat {
		f = float64(chunk.Values[float32](v)[i])
	} else {
		f = chunk.Values[float64](v)[i]
	}
	switch {
	case math.IsInf(f, 1):
		return "∞"
	case math.IsInf(f, -1):
		return "-∞"
	default:
		return "NaN"
	}
}

// decimalPattern is what DecimalFormat reads out of a pattern.
type decimalPattern struct {
	prefix, suffix string
	least, group   int // digits before the point, and in a group of them
	min, max       int // digits behind it
}

func readDecimalPattern(s string) decimalPattern {
	var p decimalPattern
	from := strings.IndexAny(s, "#0,.")
	if from < 0 {
		return decimalPattern{prefix: s, least: 1, max: 340}
	}
	to := strings.LastIndexAny(s, "#0,.") + 1
	p.prefix, p.suffix = s[:from], s[to:]
	whole, fraction, _ := strings.Cut(s[from:to], ".")
	if at := strings.LastIndexByte(whole, ','); at >= 0 {
		p.group = len(whole) - at - 1
	}
	p.least = strings.Count(whole, "0")
	p.min, p.max = strings.Count(fraction, "0"), len(fraction)
	return p
}

// write rounds half to even.
func (p decimalPattern) write(r *big.Rat) string {
	negative := r.Sign() < 0
	r.Abs(r)
	unscaled := numbers.HalfEven.WholeOf(r.Mul(r, new(big.Rat).SetInt(decimal.BigPow10(p.max))))
	digits := decimal.BigText(unscaled, p.max)
	whole, fraction, _ := strings.Cut(digits, ".")
	for len(fraction) > p.min && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if whole == "0" && p.least == 0 && fraction != "" {
		whole = ""
	}
	for len(whole) < p.least {
		whole = "0" + whole
	}
	if p.group > 0 {
		whole = grouped(whole, p.group)
	}
	if fraction != "" {
		whole += "." + fraction
	}
	out := p.prefix + whole + p.suffix
	if negative { // of what is rounded to 0, too
		return "-" + out
	}
	return out
}
