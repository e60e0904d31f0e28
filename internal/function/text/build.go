package text

import (
	"bytes"
	"errors"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// stringBuildDefs make strings of others.
func stringBuildDefs() []*fn.Def {
	overlay := fn.Takes(fn.OneOf(fn.Str(), fn.Exactly(plan.Binary)), fn.OneOf(fn.Str(), fn.Exactly(plan.Binary)),
		fn.Exactly(plan.Int), fn.Exactly(plan.Int)).
		Defaults(plan.Lit(int64(-1), plan.Int)).GivesFirst()
	return []*fn.Def{
		{Name: "concat", Aliases: []string{"||"}, Group: "collection_funcs", Bind: bindConcat, Kernel: concatMaker,
			Examples: []fn.Example{{"concat('Spark', 'SQL')", "SparkSQL"}, {"concat(array(1), array(2))", "[1, 2]"}}},
		fn.Scalar(
			"concat_ws",
			"string_funcs",
			fn.Takes().And(fn.OneOf(fn.ArrayOf(fn.Str()), fn.Str()), 1).Gives(plan.String).
				CheckedNull(func(args []plan.Expr) bool { return args[0].Nullable() }),
			concatWSMaker,
			fn.Example{"concat_ws(',', 'a', NULL, array('b', 'c'))", "a,b,c"},
		),
		padDef("lpad", true, fn.Example{"lpad('hi', 5, '??')", "???hi"}),
		padDef("rpad", false, fn.Example{"rpad('hi', 5, '??')", "hi???"}),
		fn.Scalar("repeat", "string_funcs", fn.Takes(fn.Str(), fn.Exactly(plan.Int)).Gives(plan.String),
			func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
				return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
					return repeatText(env, dst, args[0].Bytes(i), int(chunk.Values[int32](args[1])[i]))
				}), nil
			}, fn.Example{"repeat('123', 2)", "123123"}),
		fn.Scalar("space", "string_funcs", fn.Takes(fn.Exactly(plan.Int)).Gives(plan.String),
			func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
				return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
					return repeatText(env, dst, []byte(" "), int(chunk.Values[int32](args[0])[i]))
				}), nil
			}, fn.Example{"concat(space(2), '1')", "  1"}),
		fn.Scalar(
			"reverse",
			"collection_funcs",
			fn.Takes(fn.OneOf(fn.AnyArray(), fn.Str(), fn.Exactly(plan.Binary))).GivesFirst(),
			reverseMaker,
			fn.Example{"reverse('Spark')", "krapS"},
			fn.Example{"reverse(array(2, 1))", "[1, 2]"},
		),
		fn.Scalar("replace", "string_funcs",
			fn.Takes(fn.Str(), fn.Str(), fn.Str()).Defaults(plan.Lit("", plan.String)).Gives(plan.String),
			replaceTextMaker, fn.Example{"replace('ABCabc', 'abc', 'DEF')", "ABCDEF"}),
		fn.Scalar("translate", "string_funcs", fn.Takes(fn.Str(), fn.Str(), fn.Str()).Gives(plan.String),
			fn.Plain(fn.Text(plan.String, translateRow)),
			fn.Example{"translate('AaBbCc', 'abc', '123')", "A1B2C3"}),
		fn.Scalar("overlay", "string_funcs", overlay, overlayMaker,
			fn.Example{"overlay('Spark SQL' PLACING '_' FROM 6)", "Spark_SQL"}),
		{Name: "elt", Group: "string_funcs", Bind: bindElt, Kernel: eltMaker,
			Examples: []fn.Example{{"elt(1, 'scala', 'java')", "scala"}}},
		fn.Scalar(
			"levenshtein",
			"string_funcs",
			fn.Takes(fn.Str(), fn.Str(), fn.Exactly(plan.Int)).Optional(1).Gives(plan.Int),
			fn.Plain(fn.Fixed(plan.Int, levenshteinRow)),
			fn.Example{"levenshtein('kitten', 'sitting')", "3"},
		),
	}
}

// encodingDefs are the functions between strings and the bytes they are written
// with.
func encodingDefs() []*fn.Def {
	return []*fn.Def{
		fn.Scalar("base64", "string_funcs", fn.Takes(fn.Exactly(plan.Binary)).Gives(plan.String),
			fn.Plain(fn.Text(plan.String, base64Row)),
			fn.Example{"base64('Spark SQL')", "U3BhcmsgU1FM"}),
		fn.Scalar(
			"unbase64",
			"string_funcs",
			fn.Takes(fn.Str()).Gives(plan.Binary),
			fn.Plain(fn.Text(plan.Binary, unbase64Row)),
			fn.Example{"CAST(unbase64('U3BhcmsgU1FM') AS STRING)", "Spark SQL"},
		),
		fn.Scalar("encode", "string_funcs", fn.Takes(fn.Str(), fn.Str()).Gives(plan.Binary).WithNull(fn.Always),
			fn.Plain(fn.Text(plan.Binary, encodeRow)),
			fn.Example{"hex(encode('abc', 'utf-8'))", "616263"}),
		{Name: "decode", Group: "string_funcs", Rewrite: bindDecode, Examples: []fn.Example{
			{"decode(encode('abc', 'utf-8'), 'utf-8')", "abc"}, {"decode(2, 1, 'a', 2, 'b')", "b"}}},
		fn.HiddenDef(
			"decode charset",
			fn.Takes(fn.Exactly(plan.Binary), fn.Str()).Gives(plan.String).WithNull(fn.Always),
			fn.Plain(fn.Text(plan.String, decodeRow)),
		),
	}
}

// bindConcat: arrays are joined, binaries too; all else becomes strings.
func bindConcat(b *fn.Binding) (*plan.Call, error) {
	args := b.Args
	binaries, arrays := len(args) > 0, len(args) > 0
	for _, a := range args {
		binaries = binaries && a.Type().Kind == plan.KindBinary
		arrays = arrays && a.Type().Kind == plan.KindArray
	}
	same := true
	switch {
	case arrays:
		args, same = b.Agree(args, fn.CommonTypeOf)
	case !binaries:
		args = make([]plan.Expr, len(b.Args))
		for i, a := range b.Args {
			args[i], _ = fn.CastInput(a, fn.Str(), b.Env, b.Origin)
		}
		same = len(args) == 0 || fn.SameTypes(args)
	}
	c := b.Call(args, plan.String, fn.AnyNullable(args))
	if !same {
		return nil, fn.DiffTypes(b, c, "concat", "("+fn.TypeList(args, " or ")+")")
	}
	if len(args) > 0 {
		c.Of = fn.MergedType(args)
	}
	if ok := c.Of.IsString() || c.Of.Kind == plan.KindBinary || c.Of.Kind == plan.KindArray; !ok {
		return nil, fn.Unexpected(b, c, 0, `("STRING" or "BINARY" or "ARRAY")`)
	}
	return c, nil
}

func concatMaker(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	if c.Of.Kind != plan.KindArray {
		return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			grow := fn.Growth{Env: env}
			for _, a := range args {
				if err := grow.Add(dst, len(a.Bytes(i))); err != nil {
					return nil, false, err
				}
				dst = append(dst, a.Bytes(i)...)
			}
			return dst, true, nil
		}), nil
	}
	return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		for _, a := range args {
			from, to := a.Span(i)
			for e := from; e < to; e++ {
				fn.AppendAny(out.Kids[0], a.Kids[0], e)
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}

// concatWS leaves NULLs out; only a NULL separator makes NULL.
func concatWSMaker(_ *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		return concatWS(args, sel, n, env)
	}, nil
}

func concatWS(args []*chunk.Vector, sel chunk.Sel, n int, env *fn.Env) (*chunk.Vector, error) {
	if n == 0 || args[0].Type.Kind == plan.KindNull {
		return chunk.NullVector(plan.String, n), nil
	}
	out := fn.NewTexts(plan.String, n, args[0].Valid)
	for _, i := range fn.Active(args[0].Valid, sel, n) {
		dst := out.At(i)
		sep, first := args[0].Bytes(int(i)), true
		grow := fn.Growth{Env: env}
		var tooLarge error
		add := func(s []byte) {
			if tooLarge == nil {
				tooLarge = grow.Add(dst, len(sep)+len(s))
			}
			if tooLarge != nil {
				return
			}
			if !first {
				dst = append(dst, sep...)
			}
			first = false
			dst = append(dst, s...)
		}
		for _, a := range args[1:] {
			addParts(a, int(i), add)
		}
		if tooLarge != nil {
			return nil, tooLarge
		}
		out.End(dst)
	}
	return out.Done(), nil
}

func addParts(a *chunk.Vector, i int, add func(s []byte)) {
	switch {
	case a.IsNull(i):
	case a.Type.Kind == plan.KindArray:
		from, to := a.Span(i)
		for e := from; e < to; e++ {
			if !a.Kids[0].IsNull(e) {
				add(a.Kids[0].Bytes(e))
			}
		}
	default:
		add(a.Bytes(i))
	}
}

func repeatText(env *fn.Env, dst, s []byte, times int) (out []byte, ok bool, err error) {
	times = max(0, times)
	if dst, err = fn.Lengthened(env, dst, len(s)*times); err != nil {
		return nil, false, err
	}
	for range times {
		dst = append(dst, s...)
	}
	return dst, true, nil
}

// padDef pads strings with blanks by default, and binaries with zeros.
func padDef(name string, left bool, example fn.Example) *fn.Def {
	texts := fn.Takes(fn.Str(), fn.Exactly(plan.Int), fn.Str()).Defaults(plan.Lit(" ", plan.String)).GivesFirst()
	binaries := fn.Takes(fn.Exactly(plan.Binary), fn.Exactly(plan.Int), fn.Exactly(plan.Binary)).
		Defaults(plan.Lit([]byte{0}, plan.Binary)).GivesFirst()
	bind := func(b *fn.Binding) (*plan.Call, error) {
		if len(b.Args) > 0 && b.Args[0].Type().Kind == plan.KindBinary {
			return binaries.Bind(b)
		}
		return texts.Bind(b)
	}
	return &fn.Def{Name: name, Group: "string_funcs", Bind: bind, Examples: []fn.Example{example},
		Kernel: func(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
			return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
				p := padding{want: int(chunk.Values[int32](args[1])[i]), pad: args[2].Bytes(i), left: left,
					binary: c.Of.Kind == plan.KindBinary}
				dst, err := fn.Lengthened(env, dst, p.bytes(args[0].Bytes(i)))
				if err != nil {
					return nil, false, err
				}
				return p.append(dst, args[0].Bytes(i)), true, nil
			}), nil
		}}
}

// padding fills up to a number of characters, or bytes.
type padding struct {
	want         int
	pad          []byte
	left, binary bool
}

func (p padding) size(s []byte) int {
	if p.binary {
		return len(s)
	}
	return letters.Count(s)
}

// bytes is the most that the result takes.
func (p padding) bytes(s []byte) int {
	if p.binary || len(p.pad) == letters.Count(p.pad) {
		return max(p.want, 0) + len(s) - p.size(s)
	}
	return len(s) + len(p.pad)*(max(p.want, 0)/max(1, p.size(p.pad))+1)
}

func (p padding) cut(s []byte, n int) []byte {
	if p.binary {
		return s[:min(n, len(s))]
	}
	return s[:letters.Skip(s, 0, n)]
}

func (p padding) append(dst, s []byte) []byte {
	have := p.size(s)
	switch {
	case p.want <= 0:
		return dst
	case p.want <= have || len(p.pad) == 0:
		return append(dst, p.cut(s, p.want)...)
	}
	if !p.left {
		dst = append(dst, s...)
	}
	size := p.size(p.pad)
	for need := p.want - have; need > 0; need -= size {
		dst = append(dst, p.cut(p.pad, need)...)
	}
	if p.left {
		dst = append(dst, s...)
	}
	return dst
}

func reverseMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	if c.Of.Kind == plan.KindArray {
		return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			from, to := args[0].Span(i)
			for e := to - 1; e >= from; e-- {
				fn.AppendAny(out.Kids[0], args[0].Kids[0], e)
			}
			out.AppendSpan()
			return nil
		}), nil
	}
	return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		s := args[0].Bytes(i)
		at := len(dst)
		dst = append(dst, s...)
		slices.Reverse(dst[at:])
		if c.Of.IsString() && !letters.IsASCII(s) {
			for k, end := 0, len(dst); k < len(s); {
				n := min(letters.CharBytes(s[k]), len(s)-k)
				copy(dst[end-n:end], s[k:k+n])
				k, end = k+n, end-n
			}
		}
		return dst, true, nil
	}), nil
}

func replaceTextMaker(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		s, old, with := args[0].Bytes(i), args[1].Bytes(i), args[2].Bytes(i)
		if len(old) == 0 {
			return append(dst, s...), true, nil
		}
		grow := fn.Growth{Env: env}
		for {
			k := bytes.Index(s, old)
			if k < 0 {
				return append(dst, s...), true, nil
			}
			if err := grow.Add(dst, k+len(with)); err != nil {
				return nil, false, err
			}
			dst = append(append(dst, s[:k]...), with...)
			s = s[k+len(old):]
		}
	}), nil
}

// translateRow replaces characters one by one; the first rule for one counts.
func translateRow(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	from, to := args[1].Bytes(i), args[2].Bytes(i)
	for s := args[0].Bytes(i); len(s) > 0; {
		n := min(letters.CharBytes(s[0]), len(s))
		dst = appendTranslated(dst, s[:n], from, to)
		s = s[n:]
	}
	return dst, true, nil
}

func appendTranslated(dst, char, from, to []byte) []byte {
	for len(from) > 0 {
		n, m := min(letters.CharBytes(from[0]), len(from)), 0
		if len(to) > 0 {
			m = min(letters.CharBytes(to[0]), len(to))
		}
		if bytes.Equal(from[:n], char) {
			return append(dst, to[:m]...)
		}
		from, to = from[n:], to[m:]
	}
	return append(dst, char...)
}

func overlayMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	binary := c.Of.Kind == plan.KindBinary
	return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		s, with := args[0].Bytes(i), args[1].Bytes(i)
		pos, length := int(chunk.Values[int32](args[2])[i]), int(chunk.Values[int32](args[3])[i])
		if length < 0 {
			length = len(with)
			if !binary {
				length = letters.Count(with)
			}
		}
		from, to := letters.Substring(s, 1, max(0, pos-1), binary)
		dst = append(append(dst, s[from:to]...), with...)
		from, to = letters.Substring(s, pos+length, 1<<31-1, binary)
		return append(dst, s[from:to]...), true, nil
	}), nil
}

func bindElt(b *fn.Binding) (*plan.Call, error) {
	if len(b.Args) < 2 {
		return nil, fn.WrongCount(b, "> 1")
	}
	args := slices.Clone(b.Args)
	args[0], _ = fn.CastInput(args[0], fn.Exactly(plan.Int), b.Env, b.Origin)
	binaries := true
	for _, a := range args[1:] {
		binaries = binaries && a.Type().Kind == plan.KindBinary
	}
	for i := 1; i < len(args) && !binaries; i++ {
		args[i], _ = fn.CastInput(args[i], fn.Str(), b.Env, b.Origin)
	}
	c := b.Call(args, args[1].Type(), true)
	if args[0].Type().Kind != plan.KindInt {
		return nil, fn.Unexpected(b, c, 0, fn.SqlType(plan.Int))
	}
	for i := 1; i < len(args); i++ {
		if t := args[i].Type(); !t.IsString() && t.Kind != plan.KindBinary {
			return nil, fn.Unexpected(b, c, i, `("STRING" or "BINARY")`)
		}
	}
	return c, nil
}

func eltMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewAppender(c.Of, n)
		for _, i := range fn.Active(args[0].Valid, sel, n) {
			at := int(chunk.Values[int32](args[0])[i])
			switch {
			case at >= 1 && at < len(args):
				fn.AppendAny(out.SkipTo(int(i)), args[at], int(i))
			case c.ANSI:
				return nil, plan.NewError(plan.ClassArrayIndex, "INVALID_ARRAY_INDEX",
					"there is no argument "+fn.Itoa(at)+" among "+fn.Itoa(len(args)-1)+".",
					"indexValue", fn.Itoa(at), "arraySize", fn.Itoa(len(args)-1)).At(c.Origin)
			}
		}
		return out.SkipTo(n), nil
	}, nil
}

// levenshteinRow is the edit distance, -1 beyond a threshold.
func levenshteinRow(args []*chunk.Vector, i int) (int32, bool, error) {
	d := letters.Distance(args[0].Text(i), args[1].Text(i))
	if len(args) == 3 && d > chunk.Values[int32](args[2])[i] {
		d = -1
	}
	return d, true, nil
}

func base64Row(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	return letters.AppendBase64(dst, args[0].Bytes(i)), true, nil
}

func unbase64Row(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	return letters.AppendUnbase64(dst, args[0].Bytes(i)), true, nil
}

// bindDecode: with two arguments the second is a charset; with more it is a
// CASE over equal values, NULL among them.
func bindDecode(b *fn.Binding) (plan.Expr, error) {
	if len(b.Args) < 2 {
		return nil, fn.WrongCount(b, "> 1").At(b.Origin)
	}
	if len(b.Args) == 2 {
		return b.NestAs("decode charset", "decode($*)", b.Args...)
	}
	var args []plan.Expr
	rest := b.Args[1:]
	for len(rest) >= 2 {
		same, err := b.Nest("<=>", b.Args[0], rest[0])
		if err != nil {
			return nil, err
		}
		args = append(args, same, rest[1])
		rest = rest[2:]
	}
	e, err := b.Nest("when", append(args, rest...)...)
	if err != nil {
		return nil, err
	}
	return fn.Rewritten(b, e), nil
}

// badCoding explains an error of encode and decode.
func badCoding(err error, function, charset string) error {
	if errors.Is(err, letters.ErrCharset) {
		return plan.NewError(plan.ClassIllegal, "INVALID_PARAMETER_VALUE.CHARSET",
			charset+" is none of the charsets "+letters.Charsets+".", "functionName", plan.Quote(function),
			"parameter", "`charset`", "charset", charset, "charsets", letters.Charsets)
	}
	if errors.Is(err, letters.ErrCoding) {
		return fn.RuntimeError("MALFORMED_CHARACTER_CODING",
			"a character cannot be written in, or read from, "+charset+".",
			"function", plan.Quote(function), "charset", charset)
	}
	return nil
}

func encodeRow(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	charset := args[1].Text(i)
	dst, err := letters.Encode(dst, args[0].Text(i), charset)
	return dst, true, badCoding(err, "encode", charset)
}

func decodeRow(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	charset := args[1].Text(i)
	dst, err := letters.Decode(dst, args[0].Bytes(i), charset)
	return dst, true, badCoding(err, "decode", charset)
}
