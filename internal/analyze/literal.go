package analyze

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// typedLiteral reads DATE'…' and TIMESTAMP'…' in the session's time zone.
func (x *exprs) typedLiteral(n *plan.TypedLiteral) (plan.Expr, error) {
	l := &plan.Literal{Of: n.Of, Origin: n.Origin}
	if at, ok := x.momentNamed(n.Text); ok {
		l.Value = x.moment(at, n.Of)
		return l, nil
	}
	kernel, err := function.CastKernel(plan.String, n.Of, plan.CastANSI, x.Eval)
	if err != nil {
		return nil, err
	}
	out, err := kernel([]*chunk.Vector{chunk.Repeat(n.Text, plan.String, 1)}, nil, 1)
	if err != nil {
		return nil, plan.NewError(plan.ClassParse, "INVALID_TYPED_LITERAL",
			fmt.Sprintf("'%s' is not a value of %s.", n.Text, n.Of.SQL()),
			"valueType", sqlType(n.Of), "value", "'"+n.Text+"'").At(n.Origin)
	}
	l.Value = out.Value(0)
	return l, nil
}

// momentNamed is the instant that a word stands for in a typed literal.
func (r *resolver) momentNamed(word string) (time.Time, bool) {
	now := time.UnixMicro(r.Eval.Now).In(r.zone())
	day := func(offset int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+offset, 0, 0, 0, 0, now.Location())
	}
	switch strings.ToLower(word) {
	case "epoch":
		return time.Unix(0, 0).UTC(), true
	case "now":
		return now, true
	case "today":
		return day(0), true
	case "yesterday":
		return day(-1), true
	case "tomorrow":
		return day(1), true
	default:
		return time.Time{}, false
	}
}

func (r *resolver) zone() *time.Location {
	if r.Eval.Zone == nil {
		return time.UTC
	}
	return r.Eval.Zone
}

// moment is an instant as a value of a type, by the clock of its zone.
func (r *resolver) moment(at time.Time, t plan.Type) plan.Value {
	_, offset := at.Zone()
	local := at.UTC().Add(time.Duration(offset) * time.Second)
	switch t.Kind {
	case plan.KindDate:
		return int32(local.Unix() / 86400)
	case plan.KindTimestampNTZ:
		return local.UnixMicro()
	default:
		return at.UnixMicro()
	}
}
