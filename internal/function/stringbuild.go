package function

import (
	"bytes"
	"errors"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// stringBuildDefs make strings of others.
func stringBuildDefs() []*Def {
	overlay := takes(oneOf(str(), exactly(plan.Binary)), oneOf(str(), exactly(plan.Binary)),
		exactly(plan.Int), exactly(plan.Int)).
		defaults(plan.Lit(int64(-1), plan.Int)).givesFirst()
	return []*Def{
		{Name: "concat", Aliases: []string{"||"}, Group: "collection_funcs", Bind: bindConcat, Kernel: concatMaker,
			Examples: []Example{{"concat('Spark', 'SQL')", "SparkSQL"}, {"concat(array(1), array(2))", "[1, 2]"}}},
		scalar("concat_ws", "string_funcs", takes().and(oneOf(arrayOf(str()), str()), 1).gives(plan.String).
			checkedNull(func(args []plan.Expr) bool { return args[0].Nullable() }), plain(concatWS),
			Example{"concat_ws(',', 'a', NULL, array('b', 'c'))", "a,b,c"}),
		padDef("lpad", true, Example{"lpad('hi', 5, '??')", "???hi"}),
		padDef("rpad", false, Example{"rpad('hi', 5, '??')", "hi???"}),
		scalar("repeat", "string_funcs", takes(str(), exactly(plan.Int)).gives(plan.String), plain(text(plan.String,
			func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
				return repeatText(dst, args[0].Bytes(i), int(chunk.Values[int32](args[1])[i]))
			})), Example{"repeat('123', 2)", "123123"}),
		scalar("space", "string_funcs", takes(exactly(plan.Int)).gives(plan.String), plain(text(plan.String,
			func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
				return repeatText(dst, []byte(" "), int(chunk.Values[int32](args[0])[i]))
			})), Example{"concat(space(2), '1')", "  1"}),
		scalar("reverse", "collection_funcs", takes(oneOf(anyArray(), str(), exactly(plan.Binary))).givesFirst(),
			reverseMaker,
			Example{"reverse('Spark')", "krapS"}, Example{"reverse(array(2, 1))", "[1, 2]"}),
		scalar("replace", "string_funcs",
			takes(str(), str(), str()).defaults(plan.Lit("", plan.String)).gives(plan.String),
			plain(text(plan.String, replaceRow)), Example{"replace('ABCabc', 'abc', 'DEF')", "ABCDEF"}),
		scalar("translate", "string_funcs", takes(str(), str(), str()).gives(plan.String),
			plain(text(plan.String, translateRow)),
			Example{"translate('AaBbCc', 'abc', '123')", "A1B2C3"}),
		scalar("overlay", "string_funcs", overlay, overlayMaker,
			Example{"overlay('Spark SQL' PLACING '_' FROM 6)", "Spark_SQL"}),
		{Name: "elt", Group: "string_funcs", Bind: bindElt, Kernel: eltMaker,
			Examples: []Example{{"elt(1, 'scala', 'java')", "scala"}}},
		scalar("levenshtein", "string_funcs", takes(str(), str(), exactly(plan.Int)).optional(1).gives(plan.Int),
			plain(fixed(plan.Int, levenshteinRow)), Example{"levenshtein('kitten', 'sitting')", "3"}),
		scalar("base64", "string_funcs", takes(exactly(plan.Binary)).gives(plan.String),
			plain(text(plan.String, base64Row)),
			Example{"base64('Spark SQL')", "U3BhcmsgU1FM"}),
		scalar("unbase64", "string_funcs", takes(str()).gives(plan.Binary), plain(text(plan.Binary, unbase64Row)),
			Example{"CAST(unbase64('U3BhcmsgU1FM') AS STRING)", "Spark SQL"}),
		scalar("encode", "string_funcs", takes(str(), str()).gives(plan.Binary).withNull(always),
			plain(text(plan.Binary, encodeRow)),
			Example{"hex(encode('abc', 'utf-8'))", "616263"}),
		{Name: "decode", Group: "string_funcs", Rewrite: bindDecode, Examples: []Example{
			{"decode(encode('abc', 'utf-8'), 'utf-8')", "abc"}, {"decode(2, 1, 'a', 2, 'b')", "b"}}},
		hidden("decode charset", takes(exactly(plan.Binary), str()).gives(plan.String).withNull(always),
			plain(text(plan.String, decodeRow))),
	}
}

// bindConcat: arrays are joined, binaries too; all else becomes strings.
func bindConcat(b *Binding) (*plan.Call, error) {
	args := b.Args
	binaries, arrays := len(args) > 0, len(args) > 0
	for _, a := range args {
		binaries = binaries && a.Type().Kind == plan.KindBinary
		arrays = arrays && a.Type().Kind == plan.KindArray
	}
	same := true
	switch {
	case arrays:
		args, same = b.agree(args, CommonTypeOf)
	case !binaries:
		args = make([]plan.Expr, len(b.Args))
		for i, a := range b.Args {
			args[i], _ = castInput(a, str(), b.Env, b.Origin)
		}
		same = len(args) == 0 || sameTypes(args)
	}
	c := b.call(args, plan.String, anyNullable(args))
	if !same {
		return nil, diffTypes(b, c, "concat", "("+typeList(args, " or ")+")")
	}
	if len(args) > 0 {
		c.Of = mergedType(args)
	}
	if ok := c.Of.IsString() || c.Of.Kind == plan.KindBinary || c.Of.Kind == plan.KindArray; !ok {
		return nil, unexpected(b, c, 0, `("STRING" or "BINARY" or "ARRAY")`)
	}
	return c, nil
}

func concatMaker(c *plan.Call, _ *Env) (Kernel, error) {
	if c.Of.Kind != plan.KindArray {
		return text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			for _, a := range args {
				dst = append(dst, a.Bytes(i)...)
			}
			return dst, true, nil
		}), nil
	}
	return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		for _, a := range args {
			from, to := a.Span(i)
			for e := from; e < to; e++ {
				appendAny(out.Kids[0], a.Kids[0], e)
			}
		}
		out.AppendSpan()
		return nil
	}), nil
}

// concatWS leaves NULLs out; only a NULL separator makes NULL.
func concatWS(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
	if n == 0 || args[0].Type.Kind == plan.KindNull {
		return chunk.NullVector(plan.String, n), nil
	}
	out := newTexts(plan.String, n, args[0].Valid)
	for _, i := range active(args[0].Valid, sel, n) {
		dst := out.at(i)
		sep, first := args[0].Bytes(int(i)), true
		add := func(s []byte) {
			if !first {
				dst = append(dst, sep...)
			}
			first = false
			dst = append(dst, s...)
		}
		for _, a := range args[1:] {
			addParts(a, int(i), add)
		}
		out.end(dst)
	}
	return out.done(), nil
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

func repeatText(dst, s []byte, times int) (out []byte, ok bool, err error) {
	times = max(0, times)
	if err := room(dst, len(s)*times); err != nil {
		return nil, false, err
	}
	dst = slices.Grow(dst, len(s)*times)
	for range times {
		dst = append(dst, s...)
	}
	return dst, true, nil
}

// padDef pads strings with blanks by default, and binaries with zeros.
func padDef(name string, left bool, example Example) *Def {
	texts := takes(str(), exactly(plan.Int), str()).defaults(plan.Lit(" ", plan.String)).givesFirst()
	binaries := takes(exactly(plan.Binary), exactly(plan.Int), exactly(plan.Binary)).
		defaults(plan.Lit([]byte{0}, plan.Binary)).givesFirst()
	bind := func(b *Binding) (*plan.Call, error) {
		if len(b.Args) > 0 && b.Args[0].Type().Kind == plan.KindBinary {
			return binaries.bind(b)
		}
		return texts.bind(b)
	}
	return &Def{Name: name, Group: "string_funcs", Bind: bind, Examples: []Example{example},
		Kernel: func(c *plan.Call, _ *Env) (Kernel, error) {
			return text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
				p := padding{want: int(chunk.Values[int32](args[1])[i]), pad: args[2].Bytes(i), left: left,
					binary: c.Of.Kind == plan.KindBinary}
				if err := room(dst, max(p.want, 0)); err != nil {
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

func reverseMaker(c *plan.Call, _ *Env) (Kernel, error) {
	if c.Of.Kind == plan.KindArray {
		return nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			from, to := args[0].Span(i)
			for e := to - 1; e >= from; e-- {
				appendAny(out.Kids[0], args[0].Kids[0], e)
			}
			out.AppendSpan()
			return nil
		}), nil
	}
	return text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
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

func replaceRow(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	s, old, with := args[0].Bytes(i), args[1].Bytes(i), args[2].Bytes(i)
	if len(old) == 0 {
		return append(dst, s...), true, nil
	}
	for {
		k := bytes.Index(s, old)
		if k < 0 {
			return append(dst, s...), true, nil
		}
		dst = append(append(dst, s[:k]...), with...)
		s = s[k+len(old):]
	}
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

func overlayMaker(c *plan.Call, _ *Env) (Kernel, error) {
	binary := c.Of.Kind == plan.KindBinary
	return text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
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

func bindElt(b *Binding) (*plan.Call, error) {
	if len(b.Args) < 2 {
		return nil, wrongCount(b, "> 1")
	}
	args := slices.Clone(b.Args)
	args[0], _ = castInput(args[0], exactly(plan.Int), b.Env, b.Origin)
	binaries := true
	for _, a := range args[1:] {
		binaries = binaries && a.Type().Kind == plan.KindBinary
	}
	for i := 1; i < len(args) && !binaries; i++ {
		args[i], _ = castInput(args[i], str(), b.Env, b.Origin)
	}
	c := b.call(args, args[1].Type(), true)
	if args[0].Type().Kind != plan.KindInt {
		return nil, unexpected(b, c, 0, sqlType(plan.Int))
	}
	for i := 1; i < len(args); i++ {
		if t := args[i].Type(); !t.IsString() && t.Kind != plan.KindBinary {
			return nil, unexpected(b, c, i, `("STRING" or "BINARY")`)
		}
	}
	return c, nil
}

func eltMaker(c *plan.Call, _ *Env) (Kernel, error) {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := newAppender(c.Of, n)
		for _, i := range active(args[0].Valid, sel, n) {
			at := int(chunk.Values[int32](args[0])[i])
			switch {
			case at >= 1 && at < len(args):
				appendAny(out.skipTo(int(i)), args[at], int(i))
			case c.ANSI:
				return nil, plan.NewError(plan.ClassArrayIndex, "INVALID_ARRAY_INDEX",
					"there is no argument "+itoa(at)+" among "+itoa(len(args)-1)+".",
					"indexValue", itoa(at), "arraySize", itoa(len(args)-1)).At(c.Origin)
			}
		}
		return out.skipTo(n), nil
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
func bindDecode(b *Binding) (plan.Expr, error) {
	if len(b.Args) < 2 {
		return nil, wrongCount(b, "> 1").At(b.Origin)
	}
	if len(b.Args) == 2 {
		d := known("decode charset")
		return asExpr(d.Bind(&Binding{Def: d, Name: "decode", Args: b.Args, Origin: b.Origin, Env: b.Env,
			Text: "decode($*)"}))
	}
	var args []plan.Expr
	rest := b.Args[1:]
	for len(rest) >= 2 {
		same, err := b.nest("<=>", b.Args[0], rest[0])
		if err != nil {
			return nil, err
		}
		args = append(args, same, rest[1])
		rest = rest[2:]
	}
	e, err := b.nest("when", append(args, rest...)...)
	if err != nil {
		return nil, err
	}
	return rewritten(b, e), nil
}

// badCoding explains an error of encode and decode.
func badCoding(err error, function, charset string) error {
	if errors.Is(err, letters.ErrCharset) {
		return plan.NewError(plan.ClassIllegal, "INVALID_PARAMETER_VALUE.CHARSET",
			charset+" is none of the charsets "+letters.Charsets+".", "functionName", plan.Quote(function),
			"parameter", "`charset`", "charset", charset, "charsets", letters.Charsets)
	}
	if errors.Is(err, letters.ErrCoding) {
		return runtimeError("MALFORMED_CHARACTER_CODING",
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
