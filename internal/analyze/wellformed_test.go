package analyze_test

import (
	"fmt"

	"github.com/weir-dev/weir/internal/plan"
)

// wellFormed checks what every resolved tree must satisfy: nothing unresolved
// is left, expressions have types, and each relation reads only columns that
// its inputs output.
func wellFormed(n plan.Node) error {
	var err error
	plan.WalkNodes(n, func(m plan.Node) bool {
		err = wellFormedNode(m)
		return err == nil
	})
	return err
}

func wellFormedNode(n plan.Node) error {
	have := map[plan.ExprID]bool{}
	for _, c := range n.Children() {
		for _, a := range c.Output() {
			have[a.ID] = true
		}
	}
	for _, a := range n.Output() {
		if a.ID == 0 {
			return fmt.Errorf("%T outputs %s without an id", n, a.Name)
		}
	}
	for _, e := range expressions(n) {
		if err := wellFormedExpr(e, have); err != nil {
			return fmt.Errorf("%T: %w\n%s", n, err, plan.NodeText(n))
		}
	}
	return nil
}

func wellFormedExpr(e plan.Expr, have map[plan.ExprID]bool) error {
	if !plan.Resolved(e) {
		return fmt.Errorf("%s is not resolved", plan.SQLText(e))
	}
	var err error
	top := e
	plan.Walk(e, func(p plan.Expr) bool {
		switch p := p.(type) {
		case *plan.Attribute:
			if !have[p.ID] {
				err = fmt.Errorf("%s reads %s#%d, which no input has", plan.TreeText(top), p.Name, p.ID)
			}
		case *plan.Alias:
			if p != top {
				err = fmt.Errorf("a name inside of %s", plan.TreeText(top))
			}
		case *plan.Call:
			if p.Name == "lateralAliasReference" || p.Name == "outer reference" || p.Name == "grouped reference" {
				err = fmt.Errorf("a mark is left in %s", plan.TreeText(top))
			}
		case *plan.Subquery:
			err = wellFormed(p.Plan)
		}
		p.Type()
		p.Nullable()
		return err == nil
	})
	return err
}

func expressions(n plan.Node) []plan.Expr {
	var out []plan.Expr
	switch n := n.(type) {
	case *plan.Project:
		out = n.Exprs
	case *plan.Filter:
		out = []plan.Expr{n.Cond}
	case *plan.Aggregate:
		out = append(append(out, n.Group...), n.Exprs...)
	case *plan.Join:
		if n.Cond != nil {
			out = []plan.Expr{n.Cond}
		}
	case *plan.Sort:
		for _, o := range n.Orders {
			out = append(out, o)
		}
	case *plan.Window:
		for _, a := range n.Exprs {
			out = append(out, a)
		}
	case *plan.Generate:
		out = []plan.Expr{n.Generator}
	case *plan.Repartition:
		out = n.Exprs
	case *plan.Observe:
		out = n.Metrics
	case *plan.Dedup:
		for _, a := range n.Keys {
			out = append(out, a)
		}
	case *plan.Watermark:
		out = []plan.Expr{n.Column}
	case *plan.Limit, *plan.Scan, *plan.LocalData, *plan.Range, *plan.OneRow, *plan.SetOp, *plan.ShowString:
	default:
		panic(fmt.Sprintf("%T is no relation of a resolved plan", n))
	}
	return out
}
