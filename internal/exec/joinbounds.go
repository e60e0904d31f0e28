package exec

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// JoinBounds says of the sides of a join of streams until when their rows are held; an
// outer side's are told without a partner then. "" is for ever.
func JoinBounds(n *plan.Join, env *function.Env) (left, right string) {
	p := &planner{env: env}
	eq, _ := splitCondition(n.Cond, n.Left.Output(), n.Right.Output())
	rules := p.dueRules(n, eq)
	text := func(side int) string {
		rule := rules[side]
		if rule == nil {
			return ""
		}
		if rule.key < 0 {
			return rule.text(rule.column)
		}
		if side == leftSide {
			return rule.text(eq[rule.key].left)
		}
		return rule.text(eq[rule.key].right)
	}
	return text(leftSide), text(rightSide)
}

// text is the watermark from which a row of that time is due.
func (d *dueRule) text(time plan.Expr) string {
	of := strings.Trim(plan.TreeList([]plan.Expr{time}), "[]")
	switch {
	case d.shiftMs < 0:
		return fmt.Sprintf("%s + %d ms", of, -d.shiftMs)
	case d.shiftMs > 0:
		return fmt.Sprintf("%s - %d ms", of, d.shiftMs)
	}
	return of
}
