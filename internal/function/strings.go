package function

import (
	"bytes"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// stringDefs are functions of one string or two: case, length, trimming, parts.
func stringDefs() []*Def {
	anyText := oneOf(str(), exactly(plan.Binary))
	return []*Def{
		textFn("upper ucase", letters.AppendUpper, Example{"upper('straße')", "STRASSE"}),
		textFn("lower lcase", letters.AppendLower, Example{"lower('Ärger')", "ärger"}),
		textFn("initcap", letters.AppendTitle, Example{"initcap('sPark sql')", "Spark Sql"}),
		scalar("soundex", "string_funcs", takes(str()).expecting().gives(plan.String), plain(text(plan.String,
			func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
				return letters.AppendSoundex(dst, args[0].Bytes(i)), true, nil
			})), Example{"soundex('Miller')", "M460"}),
		scalar("length char_length character_length len", "string_funcs", takes(anyText).gives(plan.Int),
			lengthMaker,
			Example{"length('日本')", "2"}, Example{"length(X'0102')", "2"}).asWritten(),
		scalar("octet_length", "string_funcs", takes(anyText).gives(plan.Int), plain(byteLengths(1)),
			Example{"octet_length('é')", "2"}),
		scalar("bit_length", "string_funcs", takes(anyText).gives(plan.Int), plain(byteLengths(8)),
			Example{"bit_length('é')", "16"}),
		scalar("ascii", "string_funcs", takes(str()).gives(plan.Int), plain(fixed(plan.Int, firstRune)),
			Example{"ascii('2')", "50"}),
		scalar("chr char", "string_funcs", takes(exactly(plan.Long)).gives(plan.String),
			plain(text(plan.String, chrRow)),
			Example{"chr(65)", "A"}).asWritten(),
		trimDef("trim", "BOTH", true, true), trimDef("ltrim", "LEADING", true, false),
		trimDef("rtrim", "TRAILING", false, true),
		short("btrim", "string_funcs", bindBtrim, Example{"btrim('  x ')", "x"}),
		scalar("substring substr", "string_funcs", takes(anyText, exactly(plan.Int), exactly(plan.Int)).
			defaults(plan.Lit(int64(1<<31-1), plan.Int)).givesFirst(), substringMaker,
			Example{"substring('Spark SQL', 5, 1)", "k"},
			Example{"substr('Spark SQL', -3)", "SQL"}).asWritten(),
		scalar("left", "string_funcs", takes(anyText, exactly(plan.Int)).givesFirst(), leftMaker,
			Example{"left('Spark', 3)", "Spa"}),
		scalar("right", "string_funcs", takes(anyText, exactly(plan.Int)).gives(plan.String).withNull(always),
			plain(rightKernel),
			Example{"right('Spark', 3)", "ark"}),
		scalar("substring_index", "string_funcs", takes(str(), str(), exactly(plan.Int)).gives(plan.String),
			plain(text(plan.String, substringIndex)),
			Example{"substring_index('www.apache.org', '.', 2)", "www.apache"}),
		scalar("split_part", "string_funcs",
			takes(str(), str(), exactly(plan.Int)).gives(plan.String).withNull(always), plain(splitPart),
			Example{"split_part('11.12.13', '.', 3)", "13"}),
		searchDef("contains", bytes.Contains, Example{"contains('Spark', 'park')", "true"}),
		searchDef("startswith", bytes.HasPrefix, Example{"startswith('Spark', 'Sp')", "true"}),
		searchDef("endswith", bytes.HasSuffix, Example{"endswith('Spark', 'rk')", "true"}),
		scalar("instr", "string_funcs", takes(str(), str()).gives(plan.Int), plain(fixed(plan.Int,
			func(args []*chunk.Vector, i int) (int32, bool, error) {
				return int32(letters.Index(args[0].Bytes(i), args[1].Bytes(i), 0) + 1), true, nil
			})), Example{"instr('SparkSQL', 'SQL')", "6"}),
		scalar("locate position", "string_funcs",
			takes(str(), str(), exactly(plan.Int)).defaults(plan.Lit(int64(1), plan.Int)).
				gives(plan.Int), plain(fixed(plan.Int, locateRow)), Example{"locate('bar', 'foobarbar', 5)", "7"}).
			asWritten(),
		scalar("find_in_set", "string_funcs", takes(str(), str()).gives(plan.Int),
			plain(fixed(plan.Int, findInSet)),
			Example{"find_in_set('ab', 'abc,b,ab,c,def')", "3"}),
	}
}

// textFn is a function from string to string that cannot fail.
func textFn(names string, fn func(dst, s []byte) []byte, examples ...Example) *Def {
	k := text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		return fn(dst, args[0].Bytes(i)), true, nil
	})
	return scalar(names, "string_funcs", takes(str()).gives(plan.String), plain(k), examples...).asWritten()
}

func lengthMaker(c *plan.Call, _ *Env) (Kernel, error) {
	if c.Args[0].Type().Kind == plan.KindBinary {
		return byteLengths(1), nil
	}
	return fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
		return int32(letters.Count(args[0].Bytes(i))), true, nil
	}), nil
}

func byteLengths(unit int32) Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		v, err := sizes(args, sel, n)
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
func trimDef(name, direction string, front, back bool) *Def {
	s := takes(str(), str()).optional(1).gives(plan.String)
	bind := func(b *Binding) (*plan.Call, error) {
		if len(b.Args) == 2 && b.Text == "" {
			shown := *b
			shown.Text = "TRIM(" + direction + " $1 FROM $2)"
			b = &shown
		}
		return s.bind(b)
	}
	k := text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		set := " "
		if len(args) == 2 {
			set = args[0].Text(i)
		}
		return append(dst, trimSet(args[len(args)-1].Bytes(i), set, front, back)...), true, nil
	})
	want := map[string]string{"trim": "x", "ltrim": "x ", "rtrim": " x"}[name]
	return &Def{Name: name, Group: "string_funcs", Bind: bind, Kernel: plain(k),
		Examples: []Example{{"concat('<', " + name + "(' x '), '>')", "<" + want + ">"}}}
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
func bindBtrim(b *Binding) (plan.Expr, error) {
	if err := b.between(1, 2); err != nil {
		return nil, err
	}
	args := []plan.Expr{b.Args[0]}
	if len(b.Args) == 2 {
		args = []plan.Expr{b.Args[1], b.Args[0]}
	}
	e, err := b.nest("trim", args...)
	if err != nil {
		return nil, err
	}
	return rewritten(b, e), nil
}

func substringMaker(c *plan.Call, _ *Env) (Kernel, error) {
	binary := c.Of.Kind == plan.KindBinary
	return text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		s := args[0].Bytes(i)
		from, to := letters.Substring(s, int(chunk.Values[int32](args[1])[i]),
			int(chunk.Values[int32](args[2])[i]), binary)
		return append(dst, s[from:to]...), true, nil
	}), nil
}

func leftMaker(c *plan.Call, _ *Env) (Kernel, error) {
	binary := c.Of.Kind == plan.KindBinary
	return text(c.Of, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
		s := args[0].Bytes(i)
		from, to := letters.Substring(s, 1, max(0, int(chunk.Values[int32](args[1])[i])), binary)
		return append(dst, s[from:to]...), true, nil
	}), nil
}

var rightKernel = text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
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

var splitPart = text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
	n := int(chunk.Values[int32](args[2])[i])
	parts := [][]byte{args[0].Bytes(i)}
	if by := args[1].Bytes(i); len(by) > 0 {
		parts = bytes.Split(args[0].Bytes(i), by)
	}
	switch {
	case n == 0:
		return dst, false, runtimeError("INVALID_INDEX_OF_ZERO", "parts count from 1, not from 0.")
	case n < 0:
		n += len(parts) + 1
	}
	if n < 1 || n > len(parts) {
		return dst, true, nil
	}
	return append(dst, parts[n-1]...), true, nil
})

// searchDef looks for one string or binary in another.
func searchDef(name string, fn func(s, part []byte) bool, examples ...Example) *Def {
	k := fixed(plan.Boolean, func(args []*chunk.Vector, i int) (uint8, bool, error) {
		return bit(fn(args[0].Bytes(i), args[1].Bytes(i))), true, nil
	})
	texts := takes(str(), str()).gives(plan.Boolean)
	binaries := takes(exactly(plan.Binary), exactly(plan.Binary)).gives(plan.Boolean).withNull(always)
	d := scalar(name, "string_funcs", texts, plain(k), examples...)
	d.Bind = func(b *Binding) (*plan.Call, error) {
		if len(b.Args) == 2 && b.Args[0].Type().Kind == plan.KindBinary &&
			b.Args[1].Type().Kind == plan.KindBinary {
			return binaries.bind(b)
		}
		return texts.bind(b)
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
