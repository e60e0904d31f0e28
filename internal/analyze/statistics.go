package analyze

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

var (
	describeNames = []string{"count", "mean", "stddev", "min", "max"}
	summaryNames  = []string{"count", "mean", "stddev", "min", "25%", "50%", "75%", "max"}
)

func isNumeric(t plan.Type) bool {
	return t.IsIntegral() || t.Kind == plan.KindFloat || t.Kind == plan.KindDouble || t.Kind == plan.KindDecimal
}

// statistics are rows of texts: a statistic, and what it is of each column.
func (r *resolver) statistics(n *plan.Statistics) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	s := newScope(in.Output(), r.CaseSensitive)
	var columns []*plan.Attribute
	if len(n.Columns) == 0 {
		columns = slices.Clone(s.attrs)
	}
	for _, name := range n.Columns {
		a, err := r.columnOf(in, s, name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, a)
	}
	columns = slices.DeleteFunc(columns, func(a *plan.Attribute) bool {
		return !isNumeric(a.Of) && !a.Of.IsString()
	})
	names := n.Names
	switch {
	case len(names) > 0:
	case n.Summary:
		names = summaryNames
	default:
		names = describeNames
	}
	return r.statisticRows(in, columns, names)
}

// columnOf is a column by its name, as methods of statistics take it.
func (r *resolver) columnOf(in plan.Node, s *scope, name string) (*plan.Attribute, error) {
	e, err := r.over("Project", in).column(&plan.UnresolvedAttribute{Parts: []string{name}}, false)
	if err != nil {
		return nil, err
	}
	a, ok := e.(*plan.Attribute)
	if !ok {
		return nil, unresolvedColumn([]string{name}, s.attrs, nil)
	}
	return a, nil
}

// statisticRows computes all statistics in one pass and lays them out in rows.
func (r *resolver) statisticRows(in plan.Node, columns []*plan.Attribute, names []string) (plan.Node, error) {
	var cells []plan.Expr
	rows := make([]plan.Expr, len(names))
	for i, name := range names {
		parts := []plan.Expr{plan.Lit("summary", plan.String), plan.Lit(name, plan.String)}
		for _, a := range columns {
			e, err := r.statistic(name, a)
			if err != nil {
				return nil, err
			}
			cell := &plan.Alias{Child: e, Names: []string{a.Name}, ID: r.IDs.Next()}
			cells = append(cells, cell)
			parts = append(parts, plan.Lit(a.Name, plan.String), plan.ToAttribute(cell))
		}
		var err error
		if rows[i], err = r.bind("named_struct", parts...); err != nil {
			return nil, err
		}
	}
	if _, err := r.statistic(names[0], &plan.Attribute{Of: plan.String}); err != nil {
		return nil, err // without columns nothing has looked at the names
	}
	all, err := r.grouped(&grouping{in: in, list: cells})
	if err != nil {
		return nil, err
	}
	return r.inlined(all, rows, nil)
}

// inlined makes a row of each struct beside the columns of in that stay.
func (r *resolver) inlined(in plan.Node, rows []plan.Expr, keep []plan.Expr) (plan.Node, error) {
	array, err := r.bind("array", rows...)
	if err != nil {
		return nil, err
	}
	call, err := r.bind("inline", array)
	if err != nil {
		return nil, err
	}
	g, err := r.generated(in, call.(*plan.Call), nil)
	if err != nil {
		return nil, err
	}
	for _, a := range g.Attrs {
		a.Null = true
	}
	return plan.NewProject(g, append(keep[:len(keep):len(keep)], attributeExprs(g.Attrs)...)...), nil
}

// statistic is one of a column, as text.
func (r *resolver) statistic(name string, a *plan.Attribute) (plan.Expr, error) {
	var e plan.Expr
	var err error
	none := plan.Lit(nil, plan.String)
	switch lower := strings.ToLower(name); lower {
	case "count", "min", "max", "approx_count_distinct":
		e, err = r.bind(lower, a)
	case "count_distinct":
		e, err = function.BindCall(&function.Binding{
			Name: "count", Def: lookup("count"), Args: []plan.Expr{a}, Distinct: true, Env: r.Eval,
		})
	case "mean", "stddev":
		if !isNumeric(a.Of) {
			return none, nil
		}
		e, err = r.bind(map[string]string{"mean": "avg", "stddev": "stddev"}[lower], a)
	default:
		var share float64
		digits, percent := strings.CutSuffix(lower, "%")
		if share, err = strconv.ParseFloat(digits, 64); err != nil || !percent {
			return nil, plan.NewError(plan.ClassIllegal, "UNRECOGNIZED_STATISTIC",
				name+" is no statistic; there are count, mean, stddev, min, max, count_distinct, "+
					"approx_count_distinct and percentiles such as 75%.", "stats", "'"+name+"'")
		}
		if share < 0 || share > 100 {
			return nil, plan.IllegalArgument("requirement failed: Percentiles must be in the range [0, 1]")
		}
		if !isNumeric(a.Of) {
			return none, nil
		}
		accuracy := plan.Lit(int64(10000), plan.Int)
		e, err = r.bind("percentile_approx", a, plan.Lit(share/100, plan.Double), accuracy)
	}
	if err != nil {
		return nil, err
	}
	return r.implicitly(e, plan.String), nil
}

// pairStatistic is a row with one number. NULLs count as 0, as in Spark.
func (r *resolver) pairStatistic(n *plan.PairStatistic) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	what, name, of, nothing := "covariance", "cov", "covar_samp", 0.0
	if n.Correlation {
		what, name, of, nothing = "correlation", "corr", "corr", math.NaN()
	}
	s := newScope(in.Output(), r.CaseSensitive)
	args := make([]plan.Expr, len(n.Columns))
	for i, column := range n.Columns {
		a, err := r.columnOf(in, s, column)
		if err != nil {
			return nil, err
		}
		if !isNumeric(a.Of) {
			return nil, plan.IllegalArgument("requirement failed: Currently %s calculation for columns with "+
				"dataType %s not supported.", what, a.Of.Simple())
		}
		zero := plan.Lit(0.0, plan.Double)
		if args[i], err = r.bind("coalesce", r.implicitly(a, plan.Double), zero); err != nil {
			return nil, err
		}
	}
	e, err := r.bind(of, args...)
	if err != nil {
		return nil, err
	}
	if e, err = r.bind("coalesce", e, plan.Lit(nothing, plan.Double)); err != nil {
		return nil, err
	}
	list := []plan.Expr{&plan.Alias{Child: e, Names: []string{name}, ID: r.IDs.Next()}}
	return r.grouped(&grouping{in: in, list: list})
}

// quantiles are a row with an array of arrays: of a column without numbers an empty one.
func (r *resolver) quantiles(n *plan.Quantiles) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	probabilities := make([]plan.Expr, len(n.Probabilities))
	for i, p := range n.Probabilities {
		if p < 0 || p > 1 {
			return nil, plan.IllegalArgument("requirement failed: percentile should be in the range [0.0, 1.0]")
		}
		probabilities[i] = plan.Lit(p, plan.Double)
	}
	if n.Error < 0 {
		return nil, plan.IllegalArgument("requirement failed: Relative Error must be non-negative but got %v",
			n.Error)
	}
	shares, err := r.bind("array", probabilities...)
	if err != nil {
		return nil, err
	}
	// percentile_approx is told how exact to be by the inverse of the error.
	accuracy := int64(math.MaxInt32)
	if n.Error > 0 {
		accuracy = int64(min(math.Ceil(1/n.Error), math.MaxInt32))
	}
	s := newScope(in.Output(), r.CaseSensitive)
	columns := make([]plan.Expr, len(n.Columns))
	for i, name := range n.Columns {
		a, err := r.columnOf(in, s, name)
		if err != nil {
			return nil, err
		}
		if !isNumeric(a.Of) {
			return nil, plan.IllegalArgument("requirement failed: Quantile calculation for column %s with "+
				"data type %s is not supported.", name, sparkTypeName(a.Of))
		}
		if columns[i], err = r.quantile(a, shares, accuracy); err != nil {
			return nil, err
		}
	}
	all, err := r.bind("array", columns...)
	if err != nil {
		return nil, err
	}
	list := []plan.Expr{&plan.Alias{Child: all, Names: []string{"approx_quantile"}, ID: r.IDs.Next()}}
	return r.grouped(&grouping{in: in, list: list})
}

// sparkTypeName is a type as its class is called in Spark.
func sparkTypeName(t plan.Type) string {
	name := t.Simple()
	return strings.ToUpper(name[:1]) + name[1:] + "Type"
}

func (r *resolver) quantile(a *plan.Attribute, shares plan.Expr, accuracy int64) (plan.Expr, error) {
	value := r.implicitly(a, plan.Double)
	number, err := r.bind("nanvl", value, plan.Lit(nil, plan.Double))
	if err != nil {
		return nil, err
	}
	e, err := r.bind("percentile_approx", number, shares, plan.Lit(accuracy, plan.Int))
	if err != nil {
		return nil, err
	}
	none, err := r.bind("array")
	if err != nil {
		return nil, err
	}
	return r.bind("coalesce", e, r.implicitly(none, e.Type()))
}

// sample keeps rows by the number that each draws.
func (r *resolver) sample(n *plan.Sample) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if n.Replace {
		return r.sampleWithReplacement(in, n)
	}
	const slack = 1e-6 // Spark's, for fractions that are sums
	if share := n.Upper - n.Lower; share < -slack || share > 1+slack {
		return nil, plan.IllegalArgument("requirement failed: Sampling fraction (%v) must be on interval [0, 1] "+
			"without replacement", share)
	}
	attrs := in.Output()
	if n.Sorted {
		var orders []*plan.SortOrder
		for _, a := range attrs {
			if ordered(a.Of) {
				orders = append(orders, &plan.SortOrder{Child: a, NullsFirst: true})
			}
		}
		if len(orders) > 0 {
			in = plan.NewSort(in, false, orders...)
		}
	}
	drawn, draw, err := r.drawn(in, "draw", plan.Lit(n.Seed, plan.Long))
	if err != nil {
		return nil, err
	}
	from, err := r.bind(">=", draw, plan.Lit(n.Lower, plan.Double))
	if err != nil {
		return nil, err
	}
	to, err := r.bind("<", draw, plan.Lit(n.Upper, plan.Double))
	if err != nil {
		return nil, err
	}
	cond, err := r.conjunction([]plan.Expr{from, to})
	if err != nil {
		return nil, err
	}
	return plan.NewProject(plan.NewFilter(drawn, cond), attributeExprs(attrs)...), nil
}

// sampleWithReplacement repeats each row as often as is drawn for it.
func (r *resolver) sampleWithReplacement(in plan.Node, n *plan.Sample) (plan.Node, error) {
	const most = 40 // from there on Spark draws in another way
	share := n.Upper - n.Lower
	switch {
	case share < 0:
		return nil, plan.IllegalArgument("requirement failed: Sampling fraction (%v) must be nonnegative with "+
			"replacement", share)
	case share >= most:
		return nil, plan.Unsupported(fmt.Sprintf("A sample with replacement of %v rows for each row", share))
	}
	seed := plan.Lit(n.Seed, plan.Long)
	drawn, times, err := r.drawn(in, "draws", plan.Lit(share, plan.Double), seed, seed)
	if err != nil {
		return nil, err
	}
	many, err := r.bind("array_repeat", plan.Lit(true, plan.Boolean), times)
	if err != nil {
		return nil, err
	}
	call, err := r.bind("explode", many)
	if err != nil {
		return nil, err
	}
	g, err := r.generated(drawn, call.(*plan.Call), nil)
	if err != nil {
		return nil, err
	}
	return plan.NewProject(g, attributeExprs(in.Output())...), nil
}

// drawn is a relation with what a function draws beside each row.
func (r *resolver) drawn(in plan.Node, name string, args ...plan.Expr) (plan.Node, *plan.Attribute, error) {
	number, err := r.bind(name, args...)
	if err != nil {
		return nil, nil, err
	}
	draw := &plan.Alias{Child: number, Names: []string{"draw"}, ID: r.IDs.Next()}
	return plan.NewProject(in, append(attributeExprs(in.Output()), draw)...), plan.ToAttribute(draw), nil
}

// sampleBy keeps rows whose number is below what is said of the value of a column.
func (r *resolver) sampleBy(n *plan.SampleBy) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	for _, f := range n.Fractions {
		if f < 0 || f > 1 {
			return nil, plan.IllegalArgument("requirement failed: Fractions must be in [0, 1], but got %v.", f)
		}
	}
	x := r.over("Filter", in)
	column, err := x.expr(n.Column)
	if err != nil {
		return nil, err
	}
	column = unnamed(column)
	var branches []plan.Expr
	for i, stratum := range n.Strata {
		value, err := x.expr(stratum)
		if err != nil {
			return nil, err
		}
		same, err := r.bind("<=>", column, r.implicitly(value, column.Type()))
		if err != nil {
			return nil, err
		}
		branches = append(branches, same, plan.Lit(n.Fractions[i], plan.Double))
	}
	share := plan.Expr(plan.Lit(0.0, plan.Double))
	if len(branches) > 0 {
		if share, err = r.bind("when", append(branches, share)...); err != nil {
			return nil, err
		}
	}
	attrs := in.Output()
	drawn, draw, err := r.drawn(x.exposed(in), "rand", plan.Lit(n.Seed, plan.Long))
	if err != nil {
		return nil, err
	}
	cond, err := r.bind("<", draw, share)
	if err != nil {
		return nil, fmt.Errorf("sampleBy: %w", err)
	}
	return plan.NewProject(plan.NewFilter(drawn, cond), attributeExprs(attrs)...), nil
}
