package text

import (
	"bytes"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// stringDefs are functions of one string or two: case, length, trimming, parts.
func stringDefs() []*fn.Def {
	anyText := fn.OneOf(fn.Str(), fn.Exactly(plan.Binary))
	return []*fn.Def{
		textFn("upper ucase", letters.AppendUpper, fn.Example{"upper('straße')", "STRASSE"}),
		textFn("lower lcase", letters.AppendLower, fn.Example{"lower('Ärger')", "ärger"}),
		textFn("initcap", letters.AppendTitle, fn.Example{"initcap('sPark sql')", "Spark Sql"}),
		fn.Scalar(
			"soundex",
			"string_funcs",
			fn.Takes(fn.Str()).Expecting().Gives(plan.String),
			fn.Plain(fn.Text(plan.String,
				func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
					return letters.AppendSoundex(dst, args[0].Bytes(i)), true, nil
				})),
			fn.Example{"soundex('Miller')", "M460"},
		),
		fn.Scalar("length char_length character_length len", "string_funcs", fn.Takes(anyText).Gives(plan.Int),
			lengthMaker,
			fn.Example{"length('日本')", "2"}, fn.Example{"length(X'0102')", "2"}).AsWritten(),
		fn.Scalar("octet_length", "string_funcs", fn.Takes(anyText).Gives(plan.Int), fn.Plain(byteLengths(1)),
			fn.Example{"octet_length('é')", "2"}),
		fn.Scalar("bit_length", "string_funcs", fn.Takes(anyText).Gives(plan.Int), fn.Plain(byteLengths(8)),
			fn.Example{"bit_length('é')", "16"}),
		fn.Scalar(
			"ascii",
			"string_funcs",
			fn.Takes(fn.Str()).Gives(plan.Int),
			fn.Plain(fn.Fixed(plan.Int, firstRune)),
			fn.Example{"ascii('2')", "50"},
		),
		fn.Scalar("chr char", "string_funcs", fn.Takes(fn.Exactly(plan.Long)).Gives(plan.String),
			fn.Plain(fn.Text(plan.String, chrRow)),
			fn.Example{"chr(65)", "A"}).AsWritten(),
		trimDef("trim", "BOTH", true, true), trimDef("ltrim", "LEADING", true, false),
		trimDef("rtrim", "TRAILING", false, true),
		fn.Short("btrim", "string_funcs", bindBtrim, fn.Example{"btrim('  x ')", "x"}),
		fn.Scalar("substring substr", "string_funcs", fn.Takes(anyText, fn.Exactly(plan.Int), fn.Exactly(plan.Int)).
			Defaults(plan.Lit(int64(1<<31-1), plan.Int)).GivesFirst(), substringMaker,
			fn.Example{"substring('Spark SQL', 5, 1)", "k"},
			fn.Example{"substr('Spark SQL', -3)", "SQL"}).AsWritten(),
		fn.Scalar("left", "string_funcs", fn.Takes(anyText, fn.Exactly(plan.Int)).GivesFirst(), leftMaker,
			fn.Example{"left('Spark', 3)", "Spa"}),
		fn.Scalar(
			"right",
			"string_funcs",
			fn.Takes(anyText, fn.Exactly(plan.Int)).Gives(plan.String).WithNull(fn.Always),
			fn.Plain(rightKernel),
			fn.Example{"right('Spark', 3)", "ark"},
		),
		fn.Scalar(
			"substring_index",
			"string_funcs",
			fn.Takes(fn.Str(), fn.Str(), fn.Exactly(plan.Int)).Gives(plan.String),
			fn.Plain(fn.Text(plan.String, substringIndex)),
			fn.Example{"substring_index('www.apache.org', '.', 2)", "www.apache"},
		),
		fn.Scalar(
			"split_part",
			"string_funcs",
			fn.Takes(fn.Str(), fn.Str(), fn.Exactly(plan.Int)).
				Gives(plan.String).
				WithNull(fn.Always),
			fn.Plain(splitPart),
			fn.Example{"split_part('11.12.13', '.', 3)", "13"},
		),
	}
}

// searchDefs are the functions that look for one string in another.
func searchDefs() []*fn.Def {
	return []*fn.Def{
		searchDef("contains", bytes.Contains, fn.Example{"contains('Spark', 'park')", "true"}),
		searchDef("startswith", bytes.HasPrefix, fn.Example{"startswith('Spark', 'Sp')", "true"}),
		searchDef("endswith", bytes.HasSuffix, fn.Example{"endswith('Spark', 'rk')", "true"}),
		fn.Scalar("instr", "string_funcs", fn.Takes(fn.Str(), fn.Str()).Gives(plan.Int), fn.Plain(fn.Fixed(plan.Int,
			func(args []*chunk.Vector, i int) (int32, bool, error) {
				return int32(letters.Index(args[0].Bytes(i), args[1].Bytes(i), 0) + 1), true, nil
			})), fn.Example{"instr('SparkSQL', 'SQL')", "6"}),
		fn.Scalar("locate position", "string_funcs",
			fn.Takes(fn.Str(), fn.Str(), fn.Exactly(plan.Int)).Defaults(plan.Lit(int64(1), plan.Int)).
				Gives(plan.Int),
			fn.Plain(fn.Fixed(plan.Int, locateRow)), fn.Example{"locate('bar', 'foobarbar', 5)", "7"}).
			AsWritten(),
		fn.Scalar("find_in_set", "string_funcs", fn.Takes(fn.Str(), fn.Str()).Gives(plan.Int),
			fn.Plain(fn.Fixed(plan.Int, findInSet)),
			fn.Example{"find_in_set('ab', 'abc,b,ab,c,def')", "3"}),
	}
}

// textFn is a function from string to string that cannot fail.
func textFn(names string, of func(dst, s []byte) []byte, examples ...fn.Example) *fn.Def {
	k := fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		return of(dst, args[0].Bytes(i)), true, nil
	})
	return fn.Scalar(names, "string_funcs", fn.Takes(fn.Str()).Gives(plan.String), fn.Plain(k), examples...).
		AsWritten()
}

func lengthMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	if c.Args[0].Type().Kind == plan.KindBinary {
		return byteLengths(1), nil
	}
	return fn.Fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
		return int32(letters.Count(args[0].Bytes(i))), true, nil
	}), nil
}

func byteLengths(unit int32) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		v, err := fn.Sizes(args, sel, n)
		if err == nil && unit != 1 {
			for i, dst := 0, chunk.Values[int32](v); i < len(dst); i++ {
				dst[i] *= unit
			}
		}
		return v, err
	}
}

func firstRune(args []*chunk.Vector, i int) (int32, bool, error) {
	s := args[0].Bytes(i)
	if len(s) == 0 {
		return 0, true, nil
	}
	r, _ := utf8.DecodeRune(s)
	return r, true, nil
}

func chrRow(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	n := chunk.Values[int64](args[0])[i]
	if n < 0 {
		return dst, true, nil
	}
	return utf8.AppendRune(dst, rune(n&0xff)), true, nil
}

// trimDef trims blanks, or the characters of a first argument.
func trimDef(name, direction string, front, back bool) *fn.Def {
	s := fn.Takes(fn.Str(), fn.Str()).Optional(1).Gives(plan.String)
	bind := func(b *fn.Binding) (*plan.Call, error) {
		if len(b.Args) == 2 && b.Text == "" {
			shown := *b
			shown.Text = "TRIM(" + direction + " $1 FROM $2)"
			b = &shown
		}
		return s.Bind(b)
	}
	k := fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		set := " "
		if len(args) == 2 {
			set = args[0].Text(i)
		}
		return append(dst, trimSet(args[len(args)-1].Bytes(i), set, front, back)...), true, nil
	})
	want := map[string]string{"trim": "x", "ltrim": "x ", "rtrim": " x"}[name]
	return &fn.Def{Name: name, Group: "string_funcs", Bind: bind, Kernel: fn.Plain(k),
		Examples: []fn.Example{{"concat('<', " + name + "(' x '), '>')", "<" + want + ">"}}}
}

func trimSet(s []byte, set string, front, back bool) []byte {
	if front {
		s = bytes.TrimLeft(s, set)
	}
	if back {
		s = bytes.TrimRight(s, set)
	}
	return s
}

// bindBtrim is trim with its arguments the other way round.
func bindBtrim(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(1, 2); err != nil {
		return nil, err
	}
	args := []plan.Expr{b.Args[0]}
	if len(b.Args) == 2 {
		args = []plan.Expr{b.Args[1], b.Args[0]}
	}
	e, err := b.Nest("trim", args...)
	if err != nil {
		return nil, err
	}
	return fn.Rewritten(b, e), nil
}

func substringMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	binary := c.Of.Kind == plan.KindBinary
	return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		s := args[0].Bytes(i)
		from, to := letters.Substring(s, int(chunk.Values[int32](args[1])[i]),
			int(chunk.Values[int32](args[2])[i]), binary)
		return append(dst, s[from:to]...), true, nil
	}), nil
}

func leftMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	binary := c.Of.Kind == plan.KindBinary
	return fn.Text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		s := args[0].Bytes(i)
		from, to := letters.Substring(s, 1, max(0, int(chunk.Values[int32](args[1])[i])), binary)
		return append(dst, s[from:to]...), true, nil
	}), nil
}

var rightKernel = fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	s, n := args[0].Bytes(i), int(chunk.Values[int32](args[1])[i])
	if n <= 0 {
		return dst, true, nil
	}
	from, to := letters.Substring(s, -n, 1<<31-1, false)
	return append(dst, s[from:to]...), true, nil
})

func substringIndex(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	s, by, n := args[0].Bytes(i), args[1].Bytes(i), chunk.Values[int32](args[2])[i]
	if len(by) == 0 || n == 0 {
		return dst, true, nil
	}
	at := 0
	for ; n > 0; n-- {
		k := bytes.Index(s[at:], by)
		if k < 0 {
			return append(dst, s...), true, nil
		}
		at += k + len(by)
		if n == 1 {
			return append(dst, s[:at-len(by)]...), true, nil
		}
	}
	end := len(s)
	for ; n < 0; n++ {
		// A delimiter may overlap the one found before, as in Spark.
		end = bytes.LastIndex(s[:min(len(s), end+len(by)-1)], by)
		if end < 0 {
			return append(dst, s...), true, nil
		}
	}
	return append(dst, s[end+len(by):]...), true, nil
}

var splitPart = fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	n := int(chunk.Values[int32](args[2])[i])
	parts := [][]byte{args[0].Bytes(i)}
	if by := args[1].Bytes(i); len(by) > 0 {
		parts = bytes.Split(args[0].Bytes(i), by)
	}
	switch {
	case n == 0:
		return dst, false, fn.RuntimeError("INVALID_INDEX_OF_ZERO", "parts count from 1, not from 0.")
	case n < 0:
		n += len(parts) + 1
	}
	if n < 1 || n > len(parts) {
		return dst, true, nil
	}
	return append(dst, parts[n-1]...), true, nil
})

// searchDef looks for one string or binary in another.
func searchDef(name string, of func(s, part []byte) bool, examples ...fn.Example) *fn.Def {
	k := fn.Fixed(plan.Boolean, func(args []*chunk.Vector, i int) (uint8, bool, error) {
		return fn.Bit(of(args[0].Bytes(i), args[1].Bytes(i))), true, nil
	})
	texts := fn.Takes(fn.Str(), fn.Str()).Gives(plan.Boolean)
	binaries := fn.Takes(fn.Exactly(plan.Binary), fn.Exactly(plan.Binary)).
		Gives(plan.Boolean).
		WithNull(fn.Always)
	d := fn.Scalar(name, "string_funcs", texts, fn.Plain(k), examples...)
	d.Bind = func(b *fn.Binding) (*plan.Call, error) {
		if len(b.Args) == 2 && b.Args[0].Type().Kind == plan.KindBinary &&
			b.Args[1].Type().Kind == plan.KindBinary {
			return binaries.Bind(b)
		}
		return texts.Bind(b)
	}
	return d
}

func locateRow(args []*chunk.Vector, i int) (int32, bool, error) {
	start := int(chunk.Values[int32](args[2])[i])
	if start < 1 {
		return 0, true, nil
	}
	return int32(letters.Index(args[1].Bytes(i), args[0].Bytes(i), start-1) + 1), true, nil
}

func findInSet(args []*chunk.Vector, i int) (int32, bool, error) {
	word := args[0].Bytes(i)
	if bytes.IndexByte(word, ',') >= 0 {
		return 0, true, nil
	}
	n := int32(0)
	for part := range bytes.SplitSeq(args[1].Bytes(i), []byte(",")) {
		n++
		if bytes.Equal(part, word) {
			return n, true, nil
		}
	}
	return 0, true, nil
}
