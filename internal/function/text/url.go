package text

import (
	"encoding/hex"

	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// checkedDefs are the functions of texts of a certain form: parts of URLs, SQL
// literals, card numbers, UTF-8.
func checkedDefs() []*fn.Def {
	s := fn.Takes(fn.Str()).Gives(plan.String).WithNull(fn.Always)
	test := fn.Takes(fn.Str()).Gives(plan.Boolean).WithNull(fn.Always)
	return []*fn.Def{
		fn.Scalar("url_encode", "url_funcs", s, fn.Plain(fn.Text(plan.String, encodeURL)),
			fn.Example{"url_encode('https://spark.apache.org')", "https%3A%2F%2Fspark.apache.org"}),
		fn.Scalar("url_decode", "url_funcs", s, decodeURL(false),
			fn.Example{"url_decode('https%3A%2F%2Fspark.apache.org')", "https://spark.apache.org"}),
		fn.Scalar("try_url_decode", "url_funcs", s, decodeURL(true),
			fn.Example{"try_url_decode('%zz')", "NULL"}),
		fn.Scalar("quote", "string_funcs", s, fn.Plain(fn.Text(plan.String, quoteRow)),
			fn.Example{"quote('a')", "'a'"}),
		fn.Scalar("luhn_check", "string_funcs", test, fn.Plain(fn.Fixed(plan.Boolean, luhnRow)),
			fn.Example{"luhn_check('79927398713')", "true"}),
		fn.Scalar("is_valid_utf8", "string_funcs", test, fn.Plain(fn.Fixed(plan.Boolean,
			func(args []*chunk.Vector, i int) (uint8, bool, error) {
				return fn.Bit(utf8.Valid(args[0].Bytes(i))), true, nil
			})), fn.Example{"is_valid_utf8('éa')", "true"}),
		fn.Scalar("try_validate_utf8", "string_funcs", s, fn.Plain(fn.Text(plan.String,
			func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
				return append(dst, args[0].Bytes(i)...), utf8.Valid(args[0].Bytes(i)), nil
			})), fn.Example{"try_validate_utf8('a')", "a"}),
	}
}

// encodeURL is how forms of HTML are sent: blanks become pluses.
func encodeURL(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	const hexDigits = "0123456789ABCDEF"
	for _, c := range args[0].Bytes(i) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '.', c == '-', c == '*', c == '_':
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = append(dst, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst, true, nil
}

func decodeURL(try bool) fn.Maker {
	return fn.Plain(fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		out, ok := appendDecoded(dst, args[0].Bytes(i))
		if !ok && !try {
			url := args[0].Text(i)
			return dst, false, plan.NewError(plan.ClassIllegal, "CANNOT_DECODE_URL",
				"this is no encoded URL: "+url+".", "url", url)
		}
		return out, ok, nil
	}))
}

// appendDecoded undoes encodeURL; ok is false where two hexadecimal digits do
// not follow a percent sign.
func appendDecoded(dst, s []byte) (out []byte, ok bool) {
	start := len(dst)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '+':
			dst = append(dst, ' ')
		case '%':
			if i+2 >= len(s) {
				return dst[:start], false
			}
			dst = append(dst, 0)
			if _, err := hex.Decode(dst[len(dst)-1:], s[i+1:i+3]); err != nil {
				return dst[:start], false
			}
			i += 2
		default:
			dst = append(dst, s[i])
		}
	}
	return dst, true
}

// quoteRow writes a text as a SQL literal.
func quoteRow(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	dst = append(dst, '\'')
	for _, c := range args[0].Bytes(i) {
		if c == '\'' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '\''), true, nil
}

// luhnRow tells whether the last digit of a number is right by Luhn's formula.
func luhnRow(args []*chunk.Vector, i int) (uint8, bool, error) {
	s := args[0].Bytes(i)
	sum, twice := 0, false
	for k := len(s) - 1; k >= 0; k-- {
		d := int(s[k]) - '0'
		if d < 0 || d > 9 {
			return 0, true, nil
		}
		if twice {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		twice = !twice
	}
	return fn.Bit(len(s) > 0 && sum%10 == 0), true, nil
}
