package function

import (
	"strings"
	"sync"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/javaregex"
	"github.com/weir-dev/weir/internal/plan"
)

// patterns finds the compiled pattern of a row. A constant one is compiled once
// for all; others are remembered while a chunk is computed.
type patterns struct {
	function string
	constant func() (*javaregex.Pattern, bool)
	seen     map[string]*javaregex.Pattern
}

// patternsOf is the maker of patterns for argument arg of a call.
func patternsOf(c *plan.Call, arg int, function string) func() *patterns {
	var once func() (*javaregex.Pattern, bool)
	if s, ok := constantText(c.Args[arg]); ok {
		once = sync.OnceValues(func() (*javaregex.Pattern, bool) { return javaregex.Compile(s) })
	}
	return func() *patterns { return &patterns{function: function, constant: once} }
}

func (ps *patterns) at(v *chunk.Vector, i int) (*javaregex.Pattern, error) {
	if ps.constant != nil {
		p, ok := ps.constant()
		return p, ps.unless(ok, v.Text(i))
	}
	s := v.Text(i)
	if p, ok := ps.seen[s]; ok {
		return p, nil
	}
	p, ok := javaregex.Compile(strings.Clone(s))
	if !ok {
		return nil, ps.unless(false, s)
	}
	if ps.seen == nil {
		ps.seen = map[string]*javaregex.Pattern{}
	}
	ps.seen[p.Source()] = p
	return p, nil
}

func (ps *patterns) unless(ok bool, source string) error {
	if ok {
		return nil
	}
	return runtimeError("INVALID_PARAMETER_VALUE.PATTERN", sqlString(source)+" is no regular expression.",
		"functionName", plan.Quote(ps.function), "parameter", "`regexp`", "value", sqlString(source))
}
