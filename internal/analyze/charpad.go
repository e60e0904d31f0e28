package analyze

import (
	"strings"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// padded makes the arguments of a comparison that concerns CHAR columns equally
// long: 'ab' and 'ab  ' are the same CHAR. Columns meet columns, or constants.
func (x *exprs) padded(name string, args []plan.Expr) ([]plan.Expr, error) {
	if !comparisons[name] && name != "in" || len(args) < 2 {
		return args, nil
	}
	longest, chars := 0, false
	for _, a := range args {
		n, isChar, ok := charLength(a)
		if !ok {
			return args, nil
		}
		longest, chars = max(longest, n), chars || isChar
	}
	if !chars {
		return args, nil
	}
	out := make([]plan.Expr, len(args))
	for i, a := range args {
		var err error
		if out[i], err = x.pad(a, longest); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// charLength is the length of a CHAR column or of a text constant; ok is false
// for everything else.
func charLength(e plan.Expr) (n int, isChar, ok bool) {
	switch e := unnamed(e).(type) {
	case *plan.Attribute:
		n, ok = e.CharLength()
		return n, ok, ok
	case *plan.Literal:
		text, isText := e.Value.(string)
		return utf8.RuneCountInString(text), false, isText && e.Of.IsString()
	default:
		return 0, false, false
	}
}

func (x *exprs) pad(e plan.Expr, n int) (plan.Expr, error) {
	have, _, _ := charLength(e)
	if have == n {
		return e, nil
	}
	if l, ok := unnamed(e).(*plan.Literal); ok {
		return plan.Lit(l.Value.(string)+strings.Repeat(" ", n-have), l.Of), nil
	}
	return function.BindCall(&function.Binding{
		Name: "rpad", Def: lookup("rpad"), Env: x.Eval,
		Args: []plan.Expr{unnamed(e), plan.Lit(int64(n), plan.Int), plan.Lit(" ", plan.String)},
	})
}
