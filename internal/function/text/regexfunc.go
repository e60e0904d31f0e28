package text

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/javaregex"
	"github.com/weir-dev/weir/internal/function/letters"
	"github.com/weir-dev/weir/internal/plan"
)

// regexDefs are the functions of Java's regular expressions.
func regexDefs() []*fn.Def {
	one := plan.Lit(int64(1), plan.Int)
	grouped := fn.Takes(fn.Str(), fn.Str(), fn.Exactly(plan.Int)).Defaults(one)
	return []*fn.Def{
		{Name: "rlike", Aliases: []string{"regexp", "regexp_like"}, Group: "predicate_funcs", Bind: bindRlike,
			Kernel: rlikeMaker, Examples: []fn.Example{{"'Spark' RLIKE '^Sp.*k$'", "true"},
				{"regexp_like('Spark', 'x')", "false"}}},
		fn.Scalar("regexp_extract", "string_funcs", grouped.Gives(plan.String), extractMaker,
			fn.Example{"regexp_extract('100-200', '(\\\\d+)-(\\\\d+)', 1)", "100"}),
		fn.Scalar(
			"regexp_extract_all",
			"string_funcs",
			grouped.Gives(plan.Array(plan.String, true)),
			extractAllMaker,
			fn.Example{"regexp_extract_all('100-200, 300-400', '(\\\\d+)-(\\\\d+)', 1)", "[100, 300]"},
		),
		fn.Scalar("regexp_replace", "string_funcs",
			fn.Takes(fn.Str(), fn.Str(), fn.Str(), fn.Exactly(plan.Int)).Defaults(one).Gives(plan.String).
				Checked(positivePosition), replaceMaker,
			fn.Example{"regexp_replace('100-200', '(\\\\d+)', 'num')", "num-num"}),
		fn.Scalar("regexp_count", "string_funcs", fn.Takes(fn.Str(), fn.Str()).Gives(plan.Int), countMaker,
			fn.Example{"regexp_count('Steven Jones and Stephen Smith', 'Ste(v|ph)en')", "2"}),
		fn.Scalar("regexp_instr", "string_funcs",
			fn.Takes(fn.Str(), fn.Str(), fn.Exactly(plan.Int)).Defaults(plan.Lit(int64(0), plan.Int)).
				Gives(plan.Int), instrMaker, fn.Example{"regexp_instr('user@spark.apache.org', '@[^.]*')", "5"}),
		fn.Scalar(
			"regexp_substr",
			"string_funcs",
			fn.Takes(fn.Str(), fn.Str()).Gives(plan.String).WithNull(fn.Always),
			substrMaker,
			fn.Example{"regexp_substr('Steven Jones', 'Ste(v|ph)en')", "Steven"},
		),
		fn.Scalar("split", "string_funcs", fn.Takes(fn.Str(), fn.Str(), fn.Exactly(plan.Int)).
			Defaults(plan.Lit(int64(-1), plan.Int)).
			Gives(plan.Array(plan.String, false)), splitMaker,
			fn.Example{"split('oneAtwoBthreeC', '[ABC]')", "[one, two, three, ]"}),
		{Name: "text entries", Hidden: true, Bind: fn.Takes(fn.Str(), fn.Str(), fn.Str()).Gives(entryList).Bind,
			Kernel: entriesMaker},
		{Name: "str_to_map", Group: "map_funcs", Rewrite: bindStrToMap, Examples: []fn.Example{
			{"str_to_map('a:1,b:2,c')", "{a -> 1, b -> 2, c -> NULL}"},
			{"str_to_map('a=1;b=2', ';', '=')", "{a -> 1, b -> 2}"},
		}},
		likeEachDef("likeany"), likeEachDef("likeall"), likeEachDef("notlikeany"), likeEachDef("notlikeall"),
		likeDef("like", fn.Example{"'Spark' LIKE '_park'", "true"}),
		likeDef("ilike", fn.Example{"'Spark' ILIKE '_PARK'", "true"}),
	}
}

func bindRlike(b *fn.Binding) (*plan.Call, error) {
	shown := *b
	switch strings.ToLower(b.Name) {
	case "regexp", "regexp_like":
		shown.Text = strings.ToUpper(b.Name) + "($*)"
	}
	return fn.Takes(fn.Str(), fn.Str()).Gives(plan.Boolean).Bind(&shown)
}

// chunked makes a kernel that has compiled patterns at hand for each chunk.
func chunked(c *plan.Call, function string, build func(ps *patterns) fn.Kernel) (fn.Kernel, error) {
	of := patternsOf(c, 1, function)
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		return build(of())(args, sel, n)
	}, nil
}

func rlikeMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return chunked(c, "rlike", func(ps *patterns) fn.Kernel {
		return fn.Fixed(plan.Boolean, func(args []*chunk.Vector, i int) (uint8, bool, error) {
			p, err := ps.at(args[1], i)
			if err != nil {
				return 0, false, err
			}
			ok, err := p.Match(args[0].Text(i))
			return fn.Bit(ok), true, err
		})
	})
}

// groupIn checks that a pattern has a group.
func groupIn(p *javaregex.Pattern, function string, g int) error {
	if g >= 0 && g <= p.Groups() {
		return nil
	}
	return fn.InvalidParameter("REGEX_GROUP_INDEX", function, "idx",
		"the pattern has "+fn.Itoa(p.Groups())+" groups, but group "+fn.Itoa(g)+" is asked for.",
		"groupCount", fn.Itoa(p.Groups()), "groupIndex", fn.Itoa(g))
}

func extractMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return chunked(c, "regexp_extract", func(ps *patterns) fn.Kernel {
		return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			p, err := ps.at(args[1], i)
			if err != nil {
				return dst, false, err
			}
			s, g := args[0].Text(i), int(chunk.Values[int32](args[2])[i])
			at, err := p.First(s)
			if err != nil || at == nil {
				return dst, true, err
			}
			if err := groupIn(p, "regexp_extract", g); err != nil {
				return dst, false, err
			}
			if at[2*g] >= 0 {
				dst = append(dst, s[at[2*g]:at[2*g+1]]...)
			}
			return dst, true, nil
		})
	})
}

func extractAllMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return chunked(c, "regexp_extract_all", func(ps *patterns) fn.Kernel {
		return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			p, err := ps.at(args[1], i)
			if err != nil {
				return err
			}
			s, g := args[0].Text(i), int(chunk.Values[int32](args[2])[i])
			var bad error
			err = p.All(s, 0, func(at []int) bool {
				if bad = groupIn(p, "regexp_extract_all", g); bad != nil {
					return false
				}
				if at[2*g] >= 0 {
					out.Kids[0].AppendText(s[at[2*g]:at[2*g+1]])
				} else {
					out.Kids[0].AppendText("")
				}
				return true
			})
			out.AppendSpan()
			if bad != nil {
				return bad
			}
			return err
		})
	})
}

func countMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return chunked(c, "regexp_extract_all", func(ps *patterns) fn.Kernel {
		return fn.Fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
			p, err := ps.at(args[1], i)
			if err != nil {
				return 0, false, err
			}
			n := int32(0)
			err = p.All(args[0].Text(i), 0, func([]int) bool {
				n++
				return true
			})
			return n, true, err
		})
	})
}

func instrMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return chunked(c, "regexp_instr", func(ps *patterns) fn.Kernel {
		return fn.Fixed(plan.Int, func(args []*chunk.Vector, i int) (int32, bool, error) {
			p, err := ps.at(args[1], i)
			if err != nil {
				return 0, false, err
			}
			s := args[0].Text(i)
			at, err := p.First(s)
			if err != nil || at == nil {
				return 0, true, err
			}
			return int32(utf8.RuneCountInString(s[:at[0]]) + 1), true, nil
		})
	})
}

func substrMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return chunked(c, "regexp_extract", func(ps *patterns) fn.Kernel {
		return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			p, err := ps.at(args[1], i)
			if err != nil {
				return dst, false, err
			}
			s := args[0].Text(i)
			at, err := p.First(s)
			if err != nil || at == nil || at[0] == at[1] {
				return dst, false, err
			}
			return append(dst, s[at[0]:at[1]]...), true, nil
		})
	})
}

func positivePosition(b *fn.Binding, c *plan.Call) error {
	at, ok := fn.ConstantInt(c.Args[3])
	switch {
	case !ok:
		return fn.Mismatch(
			b,
			c,
			"NON_FOLDABLE_INPUT",
			"the position must be a constant.",
			"inputName",
			"`position`",
			"inputType",
			fn.SqlType(plan.Int),
			"inputExpr",
			fn.Quoted(b.SQL(c.Args[3])),
		)
	case at > 0:
		return nil
	}
	return fn.Mismatch(b, c, "VALUE_OUT_OF_RANGE", "positions count from 1.", "exprName", "position",
		"valueRange", "(0, 2147483647]", "currentValue", fn.Itoa(int(at)))
}

func replaceMaker(c *plan.Call, env *fn.Env) (fn.Kernel, error) {
	return chunked(c, "regexp_replace", func(ps *patterns) fn.Kernel {
		return fn.Text(plan.String, func(dst []byte, args []*chunk.Vector, i int) ([]byte, bool, error) {
			p, err := ps.at(args[1], i)
			if err != nil {
				return dst, false, err
			}
			s, with, pos := args[0].Text(i), args[2].Text(i), int(chunk.Values[int32](args[3])[i])
			from := letters.Skip([]byte(s), 0, pos-1)
			if from == len(s) && pos > 1 {
				return append(dst, s...), true, nil
			}
			ok := true
			done := 0
			grow := fn.Growth{Env: env}
			var tooLarge error
			err = p.All(s, from, func(at []int) bool {
				if tooLarge = grow.Add(dst, at[0]-done+len(with)); tooLarge != nil {
					return false
				}
				dst = append(dst, s[done:at[0]]...)
				dst, ok = p.AppendReplacement(dst, s, with, at)
				done = at[1]
				return ok
			})
			if tooLarge != nil {
				return nil, false, tooLarge
			}
			if err == nil && !ok {
				err = fn.RuntimeError("INVALID_REGEXP_REPLACE",
					fn.SqlString(with)+" is no replacement for "+fn.SqlString(p.Source())+".",
					"source", s, "pattern", p.Source(), "replacement", with, "position", fn.Itoa(pos))
			}
			return append(dst, s[done:]...), true, err
		})
	})
}

func splitMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	return chunked(c, "split", func(ps *patterns) fn.Kernel {
		return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			s, limit := args[0].Text(i), int(chunk.Values[int32](args[2])[i])
			if args[1].Text(i) == "" && s != "" {
				splitChars(out.Kids[0], s, limit)
				out.AppendSpan()
				return nil
			}
			p, err := ps.at(args[1], i)
			if err != nil {
				return err
			}
			done, parts := 0, 1
			err = p.All(s, 0, func(at []int) bool {
				if limit > 0 && parts == limit {
					return false
				}
				if at[1] == 0 {
					return true // an empty match at the front parts nothing
				}
				out.Kids[0].AppendText(s[done:at[0]])
				done = at[1]
				parts++
				return true
			})
			out.Kids[0].AppendText(s[done:])
			out.AppendSpan()
			return err
		})
	})
}

// splitChars parts into characters, the rest in the last part when there is a
// limit.
func splitChars(out *chunk.Vector, s string, limit int) {
	for n := 1; s != ""; n++ {
		size := min(letters.CharBytes(s[0]), len(s))
		if n == limit {
			size = len(s)
		}
		out.AppendText(s[:size])
		s = s[size:]
	}
}

// likeEachDef is LIKE ANY and LIKE ALL of constants, which SQL alone calls: a chain of
// LIKEs under a name of its own.
func likeEachDef(name string) *fn.Def {
	combine := "or"
	if strings.HasSuffix(name, "all") {
		combine = "and"
	}
	rewrite := func(b *fn.Binding) (plan.Expr, error) {
		var all plan.Expr
		for _, pattern := range b.Args[1:] {
			one, err := b.Nest("like", b.Args[0], pattern)
			if err == nil && strings.HasPrefix(name, "not") {
				one, err = b.Nest("not", one)
			}
			if err == nil && all != nil {
				one, err = b.Nest(combine, all, one)
			}
			if err != nil {
				return nil, err
			}
			all = one
		}
		c, ok := all.(*plan.Call)
		if !ok {
			return all, nil
		}
		named := *c
		named.Null, named.Text = true, fn.Escaped(name+"("+b.SQL(b.Args[0])+")")
		return &named, nil
	}
	return &fn.Def{Name: name, Hidden: true, Internal: true, Rewrite: rewrite}
}

var entryList = plan.Array(plan.Struct(
	plan.Field{Name: "key", Type: plan.String}, plan.Col("value", plan.String),
), false)

// bindStrToMap is the map of a text's entries.
func bindStrToMap(b *fn.Binding) (plan.Expr, error) {
	if err := b.Between(1, 3); err != nil {
		return nil, err
	}
	args := slices.Clone(b.Args)
	for _, usual := range []string{",", ":"}[len(args)-1:] {
		args = append(args, plan.Lit(usual, plan.String))
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = b.SQL(a)
	}
	entries, err := b.Nest("text entries", args...)
	if err != nil {
		return nil, err
	}
	return b.NestAs("map_from_entries", fn.Escaped("str_to_map("+strings.Join(texts, ", ")+")"), entries)
}

// entriesMaker parts a text into entries and these into key and value; what parts them
// are patterns.
func entriesMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	pairs, values := patternsOf(c, 1, "str_to_map"), patternsOf(c, 2, "str_to_map")
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		outer, inner := pairs(), values()
		return fn.Nested(c.Of, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			pair, err := outer.at(args[1], i)
			if err != nil {
				return err
			}
			value, err := inner.at(args[2], i)
			if err != nil {
				return err
			}
			kids := out.Kids[0].Kids
			err = cutBy(pair, args[0].Text(i), -1, func(entry string) error {
				part := 0
				err := cutBy(value, entry, 2, func(text string) error {
					kids[part].AppendText(text)
					part++
					return nil
				})
				if part == 1 {
					kids[1].AppendNull()
				}
				out.Kids[0].AppendRow()
				return err
			})
			out.AppendSpan()
			return err
		})(args, sel, n)
	}, nil
}

// cutBy hands over the parts of a text between matches, at most so many; -1 is all.
func cutBy(p *javaregex.Pattern, s string, most int, take func(part string) error) error {
	done, parts := 0, 1
	var failed error
	err := p.All(s, 0, func(at []int) bool {
		if parts == most || at[1] == 0 {
			return parts != most
		}
		failed = take(s[done:at[0]])
		done = at[1]
		parts++
		return failed == nil
	})
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	return take(s[done:])
}
