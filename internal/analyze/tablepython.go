package analyze

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// Table functions of Python: of rows, of rows by way of Arrow, of Arrow arrays.
const (
	firstTableType = 300
	arrowTableType = 302
)

// pythonTable is a table function of the session; nil when there is none.
func (r *resolver) pythonTable(name string) *plan.PythonUDF {
	if r.From == nil {
		return nil
	}
	return r.From.TableFunction(name)
}

// tableCall is a call of a table function being resolved.
type tableCall struct {
	*resolver
	n     *plan.TableFunction
	f     *plan.PythonUDF
	table plan.Node // the table that is an argument, nil without
	how   *plan.TableArg
	at    int // which argument it is
}

// callTable resolves a call of a table function of Python.
func (r *resolver) callTable(n *plan.TableFunction, f *plan.PythonUDF) (plan.Node, error) {
	if f.EvalType < firstTableType || f.EvalType > arrowTableType {
		what := fmt.Sprintf("The table function %s, of type %d,", f.Name, f.EvalType)
		return nil, plan.Unsupported(what).At(n.Origin)
	}
	c := &tableCall{resolver: r, n: n, at: -1}
	own := *f
	own.Args = n.Args
	c.f = own.WithKeywords()
	if err := c.arguments(); err != nil {
		return nil, err
	}
	said, err := c.analysis()
	if err != nil {
		return nil, err
	}
	t, err := c.over(said)
	if err != nil {
		return nil, err
	}
	t.Analysis = said.Result
	t.Attrs, err = r.pythonColumns(t.Func)
	return t, err
}

// arguments resolves those that are values, and the one that is a table.
func (c *tableCall) arguments() error {
	x := c.resolver.over(c.f.Name, &plan.OneRow{})
	tables := 0
	for i, arg := range c.f.Args {
		s, ok := arg.(*plan.Subquery)
		if !ok || s.Kind != plan.TableSubquery {
			e, err := x.expr(arg)
			if err != nil {
				return err
			}
			c.f.Args[i] = unnamed(e)
			continue
		}
		if tables++; tables > 1 {
			continue
		}
		// A table does not see the query around it.
		outer := c.outer
		c.resolver.outer = nil
		in, err := c.node(s.Plan)
		c.resolver.outer = outer
		if err != nil {
			return err
		}
		c.table, c.how, c.at = in, s.Table, i
	}
	if tables > 1 {
		return plan.AnalysisError("TABLE_VALUED_FUNCTION_TOO_MANY_TABLE_ARGUMENTS",
			fmt.Sprintf("a function takes one table, not %d.", tables), "num", strconv.Itoa(tables)).At(c.n.Origin)
	}
	return nil
}

// analysis is what the function says of its columns; one that does not say any has
// them from its declaration.
func (c *tableCall) analysis() (*plan.TableAnalysis, error) {
	if c.f.Returns.Kind == plan.KindStruct {
		return &plan.TableAnalysis{Schema: c.f.Returns}, nil
	}
	asked := &plan.TableCall{Func: c.f}
	for i, arg := range c.f.Args {
		constant := i != c.at && foldable(arg)
		switch {
		case i == c.at:
			arg = plan.Lit(nil, plan.SchemaOf(c.table.Output()))
		case !constant:
			arg = plan.Lit(nil, arg.Type())
		}
		asked.Args = append(asked.Args, arg)
		asked.Constant = append(asked.Constant, constant)
		asked.Table = append(asked.Table, i == c.at)
	}
	said, err := c.From.AnalyzeTable(c.ctx, asked)
	if err == nil {
		return said, nil
	}
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "PYTHON_EXCEPTION" {
		return nil, err
	}
	text := strings.TrimRight(e.Args["traceback"], "\n")
	return nil, plan.AnalysisError("TABLE_VALUED_FUNCTION_FAILED_TO_ANALYZE_IN_PYTHON",
		"the method analyze of "+c.f.Name+" failed: "+text, "msg", text)
}

// over is the call over its input: a single row, or the table.
func (c *tableCall) over(said *plan.TableAnalysis) (*plan.TablePython, error) {
	f := *c.f
	f.Returns = said.Schema
	if c.table == nil {
		return plan.NewTablePython(&plan.OneRow{}, &f), nil
	}
	if err := c.agreed(said); err != nil {
		return nil, err
	}
	in, row, err := c.selected(said)
	if err != nil {
		return nil, err
	}
	t := plan.NewTablePython(in, &f)
	f.Args[c.at], t.Table = row, c.at
	return t, c.arranged(t, said)
}

// agreed refuses a call that says how the rows are to come when the function does.
func (c *tableCall) agreed(said *plan.TableAnalysis) error {
	own := c.how.Single || len(c.how.Partition) > 0
	if !own || !said.Single && len(said.Partition) == 0 {
		return nil
	}
	requested := "specified its own required partitioning of the input table"
	given := "specified the WITH SINGLE PARTITION or PARTITION BY clause; " +
		"please remove these clauses and retry the query again."
	return plan.AnalysisError("TABLE_VALUED_FUNCTION_REQUIRED_METADATA_INCOMPATIBLE_WITH_CALL",
		fmt.Sprintf("%s %s, but the call %s", c.f.Name, requested, given),
		"functionName", c.f.Name, "requestedMetadata", requested, "invalidFunctionCallProperty", given)
}

// selected is the table and its row as one value, of the columns that the function
// wants.
func (c *tableCall) selected(said *plan.TableAnalysis) (plan.Node, plan.Expr, error) {
	in := c.table
	x := c.resolver.over("Project", in)
	columns := attributeExprs(in.Output())
	if len(said.Select) > 0 {
		columns = nil
		for _, s := range said.Select {
			e, err := c.parsed(x, s.Expr)
			if err != nil {
				return nil, nil, err
			}
			if s.Alias != "" {
				e = &plan.Alias{Child: unnamed(e), Names: []string{s.Alias}, ID: c.IDs.Next()}
			}
			columns = append(columns, e)
		}
	}
	var parts []plan.Expr
	for _, e := range columns {
		name := c.sqlText(e)
		switch n := e.(type) {
		case *plan.Attribute:
			name = n.Name
		case *plan.Alias:
			name = n.Names[0]
		}
		parts = append(parts, plan.Lit(name, plan.String), unnamed(e))
	}
	row, err := c.bind("named_struct", parts...)
	return x.exposed(in), row, err
}

func (c *tableCall) parsed(x *exprs, text string) (plan.Expr, error) {
	e, err := sql.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	return x.expr(e)
}

// arranged brings the rows of the table together and into order.
func (c *tableCall) arranged(t *plan.TablePython, said *plan.TableAnalysis) error {
	x := c.resolver.over("RepartitionByExpression", c.table)
	single := c.how.Single || said.Single
	keys, err := x.all(c.how.Partition)
	if err != nil {
		return err
	}
	for _, text := range said.Partition {
		e, err := c.parsed(x, text)
		if err != nil {
			return err
		}
		keys = append(keys, e)
	}
	orders, err := c.orders(x, said)
	if err != nil {
		return err
	}
	sort := make([]*plan.SortOrder, 0, len(keys)+len(orders))
	for i, k := range keys {
		keys[i] = unnamed(k)
		sort = append(sort, &plan.SortOrder{Child: keys[i], NullsFirst: true})
	}
	sort = append(sort, orders...)
	t.Keys = keys
	switch in := x.exposed(t.Input); {
	case len(keys) > 0 || single && len(sort) > 0:
		*t = *t.WithChildren([]plan.Node{plan.NewSort(in, true, sort...)}).(*plan.TablePython)
	case single:
		*t = *t.WithChildren([]plan.Node{plan.NewRepartition(in, 1, nil)}).(*plan.TablePython)
	case len(sort) > 0:
		*t = *t.WithChildren([]plan.Node{plan.NewSort(in, false, sort...)}).(*plan.TablePython)
	}
	return nil
}

func (c *tableCall) orders(x *exprs, said *plan.TableAnalysis) ([]*plan.SortOrder, error) {
	var out []*plan.SortOrder
	for _, o := range c.how.Order {
		e, err := x.expr(o.Child)
		if err != nil {
			return nil, err
		}
		out = append(out, &plan.SortOrder{Child: unnamed(e), Descending: o.Descending, NullsFirst: o.NullsFirst})
	}
	for _, o := range said.Order {
		e, err := c.parsed(x, o.Expr)
		if err != nil {
			return nil, err
		}
		first := !o.Descending
		if o.NullsFirst != nil {
			first = *o.NullsFirst
		}
		out = append(out, &plan.SortOrder{Child: unnamed(e), Descending: o.Descending, NullsFirst: first})
	}
	return out, nil
}

// noTableView refuses LATERAL VIEW of a table function of Python, which Spark looks for
// among the functions of the catalog.
func (r *resolver) noTableView(n *plan.Generate) error {
	f, ok := n.Generator.(*plan.UnresolvedFunction)
	if !ok || len(f.Name) != 1 || r.pythonTable(f.Name[0]) == nil {
		return nil
	}
	name := plan.QuoteParts([]string{"default", f.Name[0]})
	return plan.AnalysisError("ROUTINE_NOT_FOUND",
		f.Name[0]+" is a table function of Python; it stands behind LATERAL, not LATERAL VIEW.",
		"routineName", name).At(f.Origin)
}
