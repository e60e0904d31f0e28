package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// unpivot makes a row of each value column, or group of columns: the ids, a label and
// the values.
func (r *resolver) unpivot(n *plan.Unpivot) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	x := r.over("Unpivot", in)
	ids, err := x.selectList(n.Ids)
	if err != nil {
		return nil, err
	}
	values := make([][]plan.Expr, len(n.Values))
	for i, group := range n.Values {
		if values[i], err = x.selectList(group); err != nil {
			return nil, err
		}
	}
	switch {
	case n.FromSQL:
		ids = r.others(in, slices.Concat(values...))
	case n.Values == nil:
		for _, e := range r.others(in, ids) {
			values = append(values, []plan.Expr{e})
		}
	}
	if len(values) == 0 {
		return nil, plan.AnalysisError("UNPIVOT_REQUIRES_VALUE_COLUMNS", "unpivot needs columns to make rows of.")
	}
	types, err := r.unpivotTypes(n, values)
	if err != nil {
		return nil, err
	}
	rows := make([]plan.Expr, len(values))
	for i, group := range values {
		label := r.unpivotLabel(n, i, group)
		parts := []plan.Expr{plan.Lit(n.Variable, plan.String), plan.Lit(label, plan.String)}
		for k, e := range group {
			parts = append(parts, plan.Lit(n.Names[k], plan.String), r.implicitly(unnamed(e), types[k]))
		}
		if rows[i], err = r.bind("named_struct", parts...); err != nil {
			return nil, err
		}
	}
	null := make([]bool, len(n.Names))
	for _, group := range values {
		for k, e := range group {
			null[k] = null[k] || e.Nullable()
		}
	}
	return r.unpivoted(n, x.exposed(in), ids, rows, null)
}

// others are the columns of a relation that are not among list.
func (r *resolver) others(in plan.Node, list []plan.Expr) []plan.Expr {
	var out []plan.Expr
	for _, a := range in.Output() {
		if indexOf(list, a) < 0 {
			out = append(out, a)
		}
	}
	return out
}

// unpivotTypes are the types of the value columns.
func (r *resolver) unpivotTypes(n *plan.Unpivot, values [][]plan.Expr) ([]plan.Type, error) {
	types := make([]plan.Type, len(n.Names))
	for k := range n.Names {
		types[k] = values[0][min(k, len(values[0])-1)].Type()
		for _, group := range values {
			if len(group) != len(n.Names) {
				return nil, plan.AnalysisError("UNPIVOT_VALUE_SIZE_MISMATCH",
					fmt.Sprintf("unpivot has %d value columns, and %d were given.", len(n.Names), len(group)),
					"names", fmt.Sprint(len(n.Names))).At(n.Origin)
			}
			t, ok := function.WiderType(types[k], group[k].Type(), r.Eval)
			if !ok || t.IsString() != types[k].IsString() && types[k].Kind != plan.KindNull {
				return nil, r.unpivotMismatch(values, k).At(n.Origin)
			}
			types[k] = t
		}
	}
	return types, nil
}

// unpivotMismatch lists the columns by their types.
func (r *resolver) unpivotMismatch(values [][]plan.Expr, k int) *plan.Error {
	const shown = 3
	byType := map[string][]string{}
	for _, group := range values {
		t := sqlType(group[k].Type())
		byType[t] = append(byType[t], plan.Quote(r.nameOf(group[k])))
	}
	var list []string
	for t, names := range byType {
		if len(names) > shown {
			names = append(names[:shown], "...")
		}
		list = append(list, t+" ("+strings.Join(names, ", ")+")")
	}
	slices.Sort(list)
	types := strings.Join(list, ", ")
	return plan.AnalysisError("UNPIVOT_VALUE_DATA_TYPE_MISMATCH",
		"the columns to make rows of have no type in common: "+types+".", "types", types)
}

func (r *resolver) nameOf(e plan.Expr) string {
	switch n := e.(type) {
	case *plan.Attribute:
		return n.Name
	case *plan.Alias:
		return n.Names[0]
	default:
		return r.sqlText(e)
	}
}

func (r *resolver) unpivotLabel(n *plan.Unpivot, i int, group []plan.Expr) string {
	if i < len(n.Labels) && n.Labels[i] != "" {
		return n.Labels[i]
	}
	names := make([]string, len(group))
	for k, e := range group {
		names[k] = r.nameOf(e)
	}
	return strings.Join(names, "_")
}

// unpivoted puts ids and rows together; null says which values may be NULL. From SQL
// rows of NULLs alone go away.
func (r *resolver) unpivoted(n *plan.Unpivot, in plan.Node, ids, rows []plan.Expr, null []bool,
) (plan.Node, error) {
	named := plan.NewProject(in, slices.Concat(attributeExprs(in.Output()), aliasesOf(ids))...)
	keep := make([]plan.Expr, len(ids))
	for i, e := range ids {
		keep[i] = plan.ToAttribute(e)
	}
	out, err := r.inlined(named, rows, keep)
	if err != nil {
		return nil, err
	}
	made := out.Output()[len(keep):]
	for i, e := range out.(*plan.Project).Exprs[len(keep):] {
		e.(*plan.Attribute).Null = i > 0 && null[i-1]
	}
	if !n.FromSQL || n.Nulls || slices.Contains(null, false) {
		return out, nil
	}
	var known plan.Expr
	for _, a := range made[1:] {
		if known, err = r.orKnown(known, a); err != nil {
			return nil, err
		}
	}
	return plan.NewFilter(out, known), nil
}

// orKnown adds that a column is not NULL to a condition.
func (r *resolver) orKnown(cond plan.Expr, a *plan.Attribute) (plan.Expr, error) {
	known, err := r.bind("isnotnull", a)
	if err != nil || cond == nil {
		return known, err
	}
	return r.bind("or", cond, known)
}

// aliasesOf are those of a list that are no plain columns.
func aliasesOf(list []plan.Expr) []plan.Expr {
	return slices.DeleteFunc(slices.Clone(list), isColumn)
}
