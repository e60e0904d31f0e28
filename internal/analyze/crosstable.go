package analyze

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// named is a column by the name that a DataFrame method takes.
func named(name string) (plan.Expr, error) {
	parts, err := sql.ParseName(name)
	return &plan.UnresolvedAttribute{Parts: parts}, err
}

// callOf is a function that is still to be resolved.
func callOf(name string, args ...plan.Expr) plan.Expr {
	return &plan.UnresolvedFunction{Name: []string{name}, Args: args, Internal: true}
}

// frequentItems are a row with an array of values for each column.
func (r *resolver) frequentItems(n *plan.FrequentItems) (plan.Node, error) {
	if !(n.Support >= 1e-4 && n.Support <= 1) {
		return nil, plan.IllegalArgument("requirement failed: Support must be in [1e-4, 1], but got %s.",
			codec.AppendDouble(nil, n.Support))
	}
	most := plan.Lit(int64(math.Ceil(1/n.Support)), plan.Int)
	list := make([]plan.Expr, len(n.Columns))
	for i, name := range n.Columns {
		column, err := named(name)
		if err != nil {
			return nil, err
		}
		list[i] = &plan.Alias{Child: callOf("frequent_items", column, most), Names: []string{name + "_freqItems"}}
	}
	return r.node(plan.NewProject(n.Input, list...))
}

// crossTable is a pivot over the texts of two columns, in which NULL is "null" and no pair
// is 0.
func (r *resolver) crossTable(n *plan.CrossTable) (plan.Node, error) {
	var texts [2]plan.Expr
	for i, name := range n.Columns {
		column, err := named(name)
		if err != nil {
			return nil, err
		}
		text := &plan.Cast{Child: column, To: plan.String}
		texts[i] = callOf("if", callOf("isnull", column), plan.Lit("null", plan.String), text)
	}
	across := callOf("replace", texts[1], plan.Lit("`", plan.String), plan.Lit("", plan.String))
	down := &plan.Alias{Child: texts[0], Names: []string{n.Columns[0] + "_" + n.Columns[1]}}
	count := callOf("count", plan.Lit(int64(1), plan.Int))
	a := plan.NewAggregate(n.Input, []plan.Expr{down}, []plan.Expr{count})
	a.Kind, a.Pivot = plan.GroupPivot, &plan.Pivot{Column: across}
	table, err := r.node(a)
	if err != nil {
		return nil, err
	}
	out := table.Output()
	list := []plan.Expr{out[0]}
	for _, c := range out[1:] {
		filled, err := r.bind("coalesce", c, plan.Lit(int64(0), plan.Long))
		if err != nil {
			return nil, err
		}
		list = append(list, &plan.Alias{Child: filled, Names: []string{c.Name}, ID: r.IDs.Next()})
	}
	return plan.NewProject(table, list...), nil
}

// transpose runs its input, since its rows are columns of the result.
func (r *resolver) transpose(n *plan.Transpose) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	index, err := r.transposeIndex(n, in)
	if err != nil {
		return nil, err
	}
	var columns []*plan.Attribute
	for _, a := range in.Output() {
		if a.ID != index.ID {
			columns = append(columns, a)
		}
	}
	t, err := r.transposedType(columns)
	if err != nil {
		return nil, err
	}
	names, rows, err := r.transposedRows(in, index, columns, t)
	if err != nil {
		return nil, err
	}
	out := make([]plan.Expr, len(columns))
	for i, c := range columns {
		parts := []plan.Expr{plan.Lit("key", plan.String), plan.Lit(c.Name, plan.String)}
		for k, name := range names {
			parts = append(parts, plan.Lit(name, plan.String), plan.Lit(rows[k][i], t))
		}
		if out[i], err = r.bind("named_struct", parts...); err != nil {
			return nil, err
		}
	}
	return r.transposed(out, names, t)
}

// transposed lays the rows out. Without any there are the columns alone.
func (r *resolver) transposed(rows []plan.Expr, names []string, t plan.Type) (plan.Node, error) {
	if len(rows) > 0 {
		table, err := r.inlined(&plan.OneRow{}, rows, nil)
		if err == nil {
			table.Output()[0].Null = false
		}
		return table, err
	}
	list := []plan.Expr{&plan.Alias{Child: plan.Lit("", plan.String), Names: []string{"key"}, ID: r.IDs.Next()}}
	for _, name := range names {
		list = append(list, &plan.Alias{Child: plan.Lit(nil, t), Names: []string{name}, ID: r.IDs.Next()})
	}
	nothing := plan.NewFilter(&plan.OneRow{}, plan.Lit(false, plan.Boolean))
	return plan.NewProject(nothing, list...), nil
}

// transposeIndex is the column whose values become names.
func (r *resolver) transposeIndex(n *plan.Transpose, in plan.Node) (*plan.Attribute, error) {
	refused := func(why string) error {
		return plan.AnalysisError("TRANSPOSE_INVALID_INDEX_COLUMN",
			"Invalid index column for TRANSPOSE because: "+why, "reason", why)
	}
	index := plan.Expr(in.Output()[0])
	if n.Index != nil {
		var err error
		if index, err = r.over("Transpose", in).resolve(n.Index, false); err != nil {
			return nil, err
		}
	}
	a, ok := index.(*plan.Attribute)
	switch {
	case !ok:
		return nil, refused("Index column must be an atomic attribute")
	case !a.Of.IsAtomic() || a.Of.Kind == plan.KindNull:
		return nil, refused("Index column must be of atomic type, but found: " + sparkTypeName(a.Of))
	}
	return a, nil
}

// transposedType is the type of what stands below the names: all columns have to agree on
// one without losing anything.
func (r *resolver) transposedType(columns []*plan.Attribute) (plan.Type, error) {
	if len(columns) == 0 {
		return plan.String, nil
	}
	t := columns[0].Of
	for _, c := range columns[1:] {
		wider, ok := function.TightestType(t, c.Of, r.Eval)
		if !ok {
			return t, plan.AnalysisError("TRANSPOSE_NO_LEAST_COMMON_TYPE",
				fmt.Sprintf("Transpose needs columns that share a type, and %s and %s do not.", quoted(t.SQL()),
					quoted(c.Of.SQL())), "dt1", quoted(t.SQL()), "dt2", quoted(c.Of.SQL()))
		}
		t = wider
	}
	return t, nil
}

// transposedRows are the rows of in by the index, those without one left out: their names,
// and what they have in each column.
func (r *resolver) transposedRows(
	in plan.Node, index *plan.Attribute, columns []*plan.Attribute, t plan.Type,
) (names []string, rows [][]plan.Value, err error) {
	if r.Column == nil {
		return nil, nil, plan.Unsupported("A transpose here")
	}
	if plan.Streaming(in) {
		return nil, nil, plan.AnalysisError("_LEGACY_ERROR_TEMP_3102",
			"Queries with streaming sources must be executed with writeStream.start().", "msg", "")
	}
	there, err := r.bind("isnotnull", index)
	if err != nil {
		return nil, nil, err
	}
	parts := []plan.Expr{&plan.Cast{Child: index, To: plan.String, Mode: r.castMode()}}
	for _, c := range columns {
		parts = append(parts, r.implicitly(c, t))
	}
	row, err := r.bind("struct", parts...)
	if err != nil {
		return nil, nil, err
	}
	sorted := plan.NewSort(plan.NewFilter(in, there), true, &plan.SortOrder{Child: index, NullsFirst: true})
	some := plan.NewLimit(sorted, plan.Lit(int64(r.TransposeMost)+1, plan.Long), nil)
	one := &plan.Alias{Child: row, Names: []string{"row"}, ID: r.IDs.Next()}
	ready, err := rewrite(r.Analyzer, plan.NewProject(some, one))
	if err != nil {
		return nil, nil, err
	}
	found, err := r.Column(r.ctx, ready)
	if err != nil {
		return nil, nil, err
	}
	if most := strconv.Itoa(r.TransposeMost); len(found) > r.TransposeMost {
		return nil, nil, plan.AnalysisError("TRANSPOSE_EXCEED_ROW_LIMIT", "A transpose has at most "+most+
			" rows; spark.sql.transposeMaxValues says how many there may be.", "maxValues", most,
			"config", "spark.sql.transposeMaxValues")
	}
	for _, v := range found {
		cells := v.([]plan.Value)
		names, rows = append(names, cells[0].(string)), append(rows, cells[1:])
	}
	return names, rows, nil
}
