package text

import (
	"errors"
	"strings"
	"sync"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/javaregex"
	"github.com/weir-dev/weir/internal/plan"
)

// patterns finds the compiled pattern of a row. A constant one is compiled once
// for all; others are remembered while a chunk is computed.
type patterns struct {
	function string
	constant func() (*javaregex.Pattern, error)
	seen     map[string]*javaregex.Pattern
}

// patternsOf is the maker of patterns for argument arg of a call.
func patternsOf(c *plan.Call, arg int, function string) func() *patterns {
	var once func() (*javaregex.Pattern, error)
	if s, ok := fn.ConstantText(c.Args[arg]); ok {
		once = sync.OnceValues(func() (*javaregex.Pattern, error) { return javaregex.Compile(s) })
	}
	return func() *patterns { return &patterns{function: function, constant: once} }
}

func (ps *patterns) at(v *chunk.Vector, i int) (*javaregex.Pattern, error) {
	if ps.constant != nil {
		p, err := ps.constant()
		return p, ps.explained(err, v.Text(i))
	}
	s := v.Text(i)
	if p, ok := ps.seen[s]; ok {
		return p, nil
	}
	p, err := javaregex.Compile(strings.Clone(s))
	if err != nil {
		return nil, ps.explained(err, s)
	}
	if ps.seen == nil {
		ps.seen = map[string]*javaregex.Pattern{}
	}
	ps.seen[p.Source()] = p
	return p, nil
}

func (ps *patterns) explained(err error, source string) error {
	if !errors.Is(err, javaregex.ErrSyntax) {
		return err
	}
	return fn.RuntimeError("INVALID_PARAMETER_VALUE.PATTERN", fn.SqlString(source)+" is no regular expression.",
		"functionName", plan.Quote(ps.function), "parameter", "`regexp`", "value", fn.SqlString(source))
}
