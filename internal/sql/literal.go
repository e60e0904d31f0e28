package sql

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
)

// isNumber reports whether a token is a numeric literal.
func (t *token) isNumber() bool { return t.kind >= tokInteger && t.kind <= tokBig }

// number reads a numeric literal, perhaps with a minus.
func (p *parser) number() plan.Expr {
	start, sign := p.i, ""
	if p.accept("-") {
		sign = "-"
	}
	t := p.cur()
	p.skip(1)
	text := sign + p.text[t.start:t.end]
	switch t.kind {
	case tokInteger:
		return p.integer(text)
	case tokLong:
		return p.sized(start, text[:len(text)-1], 64, plan.Long)
	case tokShort:
		return p.sized(start, text[:len(text)-1], 16, plan.Short)
	case tokByte:
		return p.sized(start, text[:len(text)-1], 8, plan.Byte)
	case tokDecimal:
		return p.decimal(start, text, false)
	case tokBig:
		return p.decimal(start, text[:len(text)-2], true)
	case tokFloat:
		return p.float(start, text[:len(text)-1], 32)
	case tokDouble:
		return p.float(start, text[:len(text)-1], 64)
	default:
		return p.float(start, text, 64)
	}
}

// integer is an INT, a BIGINT or a DECIMAL, the first that holds the digits.
func (p *parser) integer(text string) plan.Expr {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return p.decimal(p.i-1, text, false)
	case n == int64(int32(n)):
		return plan.Lit(n, plan.Int)
	default:
		return plan.Lit(n, plan.Long)
	}
}

// sized is an integer of a given width.
func (p *parser) sized(start int, text string, bits int, t plan.Type) plan.Expr {
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		top := int64(math.MaxInt64) >> (64 - bits)
		p.outOfRange(start, text, [3]string{strconv.FormatInt(-top-1, 10), strconv.FormatInt(top, 10), t.Simple()})
	}
	return plan.Lit(n, t)
}

// outOfRange refuses a number; limits are the least, the greatest and the type.
func (p *parser) outOfRange(start int, text string, limits [3]string) {
	p.mistake(start, "INVALID_NUMERIC_LITERAL_RANGE",
		"The number "+text+" is not a "+limits[2]+", which goes from "+limits[0]+" to "+limits[1]+".",
		"rawStrippedQualifier", text, "minValue", limits[0], "maxValue", limits[1], "typeName", limits[2])
}

func (p *parser) float(start int, text string, bits int) plan.Expr {
	v, err := strconv.ParseFloat(text, bits)
	exact, _, wide := big.ParseFloat(text, 10, 64, big.ToNearestEven)
	switch {
	case bits == 64 && err != nil:
		p.outOfRange(start, text, [3]string{"-1.7976931348623157E+308", "1.7976931348623157E+308", "double"})
	case bits == 32 && (err != nil || wide == nil && exact.Cmp(big.NewFloat(math.MaxFloat32)) > 0 ||
		wide == nil && exact.Cmp(big.NewFloat(-math.MaxFloat32)) < 0):
		p.outOfRange(start, text, [3]string{"-3.4028234663852886E+38", "3.4028234663852886E+38", "float"})
	}
	if bits == 32 {
		return plan.Lit(float32(v), plan.Float)
	}
	return plan.Lit(v, plan.Double)
}

// decimal is an exact number of the precision and scale it is written with.
// suffixed says that it was written with BD, of which Spark reports the place.
func (p *parser) decimal(start int, text string, suffixed bool) plan.Expr {
	digits, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(strings.TrimPrefix(text[i+1:], "+"))
		if err != nil {
			n = math.MaxInt32
		}
		digits, exponent = text[:i], n
	}
	scale := -exponent
	if i := strings.IndexByte(digits, '.'); i >= 0 {
		scale += len(digits) - i - 1
		digits = digits[:i] + digits[i+1:]
	}
	unscaled, _ := new(big.Int).SetString(digits, 10)
	written := len(unscaled.String())
	if unscaled.Sign() < 0 {
		written--
	}
	precision := max(written, scale)
	if scale < 0 {
		precision = written - scale
	}
	if precision > plan.MaxPrecision {
		p.tooPrecise(start, precision, suffixed)
		return nothing()
	}
	if scale < 0 {
		unscaled.Mul(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-scale)), nil))
		scale = 0
	}
	return plan.Lit(decimal128.FromBigInt(unscaled), plan.Decimal(precision, scale))
}

func (p *parser) tooPrecise(start, precision int, suffixed bool) {
	class := plan.ClassArithmetic
	if suffixed {
		class = plan.ClassParse
	}
	most := strconv.Itoa(plan.MaxPrecision)
	e := plan.NewError(class, "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
		"The number has "+strconv.Itoa(precision)+" digits; a decimal has at most "+most+".",
		"precision", strconv.Itoa(precision), "maxPrecision", most)
	if suffixed {
		p.keep(start, e)
	} else if p.fault == nil {
		p.fault = e
	}
}

// typedLiteral reads TYPE 'text'.
func (p *parser) typedLiteral() plan.Expr {
	start := p.i
	t := p.cur()
	p.skip(1)
	text := p.oneString()
	name := strings.ToUpper(p.text[t.start:t.end])
	if t.kind == tokQuoted {
		name = ""
	}
	switch name {
	case "DATE":
		if days, ok := codec.ParseDate(text); ok {
			return plan.Lit(days, plan.Date)
		}
		return p.relativeTime(start, name, text, plan.Date)
	case "TIMESTAMP_NTZ":
		if micros, ok := codec.ParseTimestampNTZ(text, true); ok {
			return plan.Lit(micros, plan.TimestampNTZ)
		}
		return p.relativeTime(start, name, text, plan.TimestampNTZ)
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		if _, ok := codec.ParseTimestamp(text, codec.NewOffsets(time.UTC), 0); ok {
			return &plan.TypedLiteral{Text: text, Of: plan.Timestamp, Origin: p.origin(start)}
		}
		return p.relativeTime(start, name, text, plan.Timestamp)
	case "TIME":
		return p.timeLiteral(start, text)
	case "INTERVAL":
		return p.intervalText(start, text)
	case "X":
		if len(text)%2 != 0 {
			text = "0" + text
		}
		if b, err := hex.DecodeString(text); err == nil {
			return plan.Lit(b, plan.Binary)
		}
		return p.badLiteral(start, name, unquote(p.source(p.i-1)))
	}
	p.mistake(start, "UNSUPPORTED_TYPED_LITERAL", "There are no literals of the type "+name+".",
		"unsupportedType", `"`+name+`"`,
		"supportedTypes", `"DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "X", "TIME"`)
	return nothing()
}

// relativeTime reads the words that stand for a moment in DATE and TIMESTAMP
// literals.
func (p *parser) relativeTime(start int, name, text string, t plan.Type) plan.Expr {
	word := strings.ToLower(strings.TrimSpace(text))
	switch word {
	case "epoch", "now", "today", "tomorrow", "yesterday":
		return &plan.TypedLiteral{Text: word, Of: t, Origin: p.origin(start)}
	default:
		return p.badLiteral(start, name, text)
	}
}

func (p *parser) badLiteral(start int, name, text string) plan.Expr {
	value := sqlQuoted(text)
	p.mistake(start, "INVALID_TYPED_LITERAL", "The text "+value+" is no "+name+".",
		"valueType", `"`+name+`"`, "value", value)
	return nothing()
}

// sqlQuoted is a text as Spark writes it in parameters of errors.
func sqlQuoted(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "'", `\'`) + "'"
}
