package analyze

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// sourceKey is what makes two scans of a stream one: the DataFrame that a
// client built once and used twice, or the very node of a stored plan.
type sourceKey struct {
	id   int64
	node plan.Node
}

// tagInput resolves what a tag stands on. A reader directly below it is known
// by the tag's id, since the client sends the same DataFrame once for each use.
func (r *resolver) tagInput(n *plan.Tagged) (plan.Node, error) {
	key := sourceKey{id: n.ID + 1}
	switch in := n.Input.(type) {
	case *plan.Read:
		return r.readAs(in, key)
	case *plan.NamedTable:
		return r.namedTableAs(in, key)
	default:
		return r.node(n.Input)
	}
}

func (r *resolver) read(n *plan.Read) (plan.Node, error) { return r.readAs(n, sourceKey{node: n}) }

func (r *resolver) readAs(n *plan.Read, key sourceKey) (plan.Node, error) {
	relation, err := r.Names.Relation(r.ctx, n)
	if err != nil {
		return nil, err
	}
	scan := &plan.Scan{Relation: *relation, Streaming: n.Streaming, SourceName: n.SourceName}
	return r.scan(scan, key), nil
}

// scan gives a scan its columns. A query may scan one relation many times, each
// time with columns of its own.
func (r *resolver) scan(n *plan.Scan, key sourceKey) plan.Node {
	m := *n
	if n.Relation.Table != nil {
		m.Attrs = qualified(r.columns(plan.MarkLengths(n.Relation.Schema)), n.Relation.Table.Parts())
	} else {
		m.Attrs = r.columns(n.Relation.Schema.Unbounded())
	}
	if m.Streaming {
		if r.sources[key] == 0 {
			r.sources[key] = len(r.sources) + 1
		}
		m.Source = r.sources[key]
		m.Place = r.places.next()
	}
	if len(n.Relation.Metadata) == 0 {
		return &m
	}
	return &fileScan{&m, r.columns(plan.Struct(n.Relation.Metadata...))}
}

// fileScan is a scan whose relation has hidden columns. It lives until names
// are resolved.
type fileScan struct {
	scan   *plan.Scan
	hidden []*plan.Attribute
}

func (n *fileScan) Children() []plan.Node { return []plan.Node{n.scan} }

func (n *fileScan) WithChildren(c []plan.Node) plan.Node {
	return &fileScan{c[0].(*plan.Scan), n.hidden}
}

func (n *fileScan) Output() []*plan.Attribute { return n.scan.Output() }

// showing is the scan with some of its hidden columns among the others.
func (n *fileScan) showing(attrs []*plan.Attribute) (plan.Node, bool) {
	m := *n.scan
	m.Attrs = append(m.Attrs[:len(m.Attrs):len(m.Attrs)], attrs...)
	return &fileScan{&m, n.hidden}, len(absent(n.hidden, attrs)) == 0
}

func (r *resolver) columns(schema plan.Type) []*plan.Attribute {
	attrs := make([]*plan.Attribute, len(schema.Fields))
	for i, f := range schema.Fields {
		attrs[i] = r.attribute(f.Name, f.Type, f.Nullable)
		attrs[i].Metadata = f.Metadata
	}
	return attrs
}

func (r *resolver) namedTable(n *plan.NamedTable) (plan.Node, error) {
	return r.namedTableAs(n, sourceKey{node: n})
}

func (r *resolver) namedTableAs(n *plan.NamedTable, key sourceKey) (plan.Node, error) {
	if named := r.ctes.find(n.Name, r.CaseSensitive); named != nil {
		return r.use(named)
	}
	found, err := r.Names.Table(r.ctx, n)
	if err != nil {
		return nil, err
	}
	if scan, ok := found.(*plan.Scan); ok && scan.Relation.Table != nil {
		return r.scan(scan, key), nil
	}
	in, err := r.view(found)
	if err != nil {
		return nil, err
	}
	if _, ok := found.(*plan.SubqueryAlias); ok {
		return in, nil
	}
	name := make([]string, len(n.Name))
	for i, p := range n.Name {
		name[i] = strings.ToLower(p)
	}
	return newAliased(in, name), nil
}

// view resolves the plan of a view: the names of the query around it are not
// seen from there.
func (r *resolver) view(n plan.Node) (plan.Node, error) {
	ctes, outer := r.ctes, r.outer
	r.ctes, r.outer = nil, nil
	defer func() { r.ctes, r.outer = ctes, outer }()
	return r.node(n)
}

func (r *resolver) cached(n *plan.CachedRemote) (plan.Node, error) {
	found, err := r.Names.Cached(n.ID)
	if err != nil {
		return nil, err
	}
	return r.view(found)
}

func (r *resolver) localData(n *plan.LocalData) plan.Node {
	m := *n
	m.Attrs = r.columns(n.Schema)
	return &m
}

// cteScope is a chain of the named queries that a query may use, innermost
// first. Each name sees those defined before it.
type cteScope struct {
	def    *plan.CTE
	places []int // of its streaming scans
	parent *cteScope
}

func (s *cteScope) find(name []string, caseSensitive bool) *cteScope {
	if len(name) != 1 {
		return nil
	}
	for ; s != nil; s = s.parent {
		if s.def.Name == name[0] || !caseSensitive && strings.EqualFold(s.def.Name, name[0]) {
			return s
		}
	}
	return nil
}

// with resolves WITH …. A named query is resolved anew wherever it is used, so
// that its columns are told apart, and once more here, since its errors count
// though nobody may use it, and its scans come before those of the query.
func (r *resolver) with(n *plan.With) (plan.Node, error) {
	saved := r.ctes
	defer func() { r.ctes = saved }()
	for i := range n.Defs {
		named := &cteScope{def: &n.Defs[i], parent: r.ctes}
		var err error
		if named.places, err = r.places.noting(func() error {
			_, err := r.cte(named.def, named.parent)
			return err
		}); err != nil {
			return nil, err
		}
		r.ctes = named
	}
	return r.node(n.Input)
}

// use resolves a use of a named query: its scans are where they were defined.
func (r *resolver) use(named *cteScope) (in plan.Node, err error) {
	r.places.again(named.places, func() { in, err = r.cte(named.def, named.parent) })
	return in, err
}

func (r *resolver) cte(def *plan.CTE, visible *cteScope) (plan.Node, error) {
	saved := r.ctes
	r.ctes = visible
	defer func() { r.ctes = saved }()
	in, err := r.node(def.Query)
	if err != nil {
		return nil, err
	}
	if len(def.Columns) > 0 {
		if in, err = r.renamedColumns(in, def.Columns, nil); err != nil {
			return nil, err
		}
	}
	return newAliased(in, []string{def.Name}), nil
}

func (r *resolver) subqueryAlias(n *plan.SubqueryAlias) (plan.Node, error) {
	in, err := r.node(n.Input)
	if err != nil {
		return nil, err
	}
	if len(n.Columns) > 0 {
		if err := functionColumns(n, in); err != nil {
			return nil, err
		}
		if in, err = r.renamedColumns(in, n.Columns, n.Origin); err != nil {
			return nil, err
		}
	}
	return newAliased(in, n.Name), nil
}

// functionColumns refuses names for the columns of a table function that has others
// in number.
func functionColumns(n *plan.SubqueryAlias, in plan.Node) error {
	f, ok := n.Input.(*plan.TableFunction)
	have := len(in.Output())
	if !ok || have == len(n.Columns) {
		return nil
	}
	name := plan.QuoteParts(f.Name)
	return plan.AnalysisError("NUM_TABLE_VALUE_ALIASES_MISMATCH",
		fmt.Sprintf("%d names were given for the %d columns of %s.", len(n.Columns), have, name),
		"funcName", name, "aliasesNum", fmt.Sprint(len(n.Columns)), "outColsNum", fmt.Sprint(have)).At(n.Origin)
}

// aliased is a relation under a name. It lives until names are resolved.
type aliased struct {
	input plan.Node
	name  []string
	attrs []*plan.Attribute
}

func newAliased(in plan.Node, name []string) *aliased {
	return &aliased{in, name, qualified(in.Output(), name)}
}

func (n *aliased) Children() []plan.Node                { return []plan.Node{n.input} }
func (n *aliased) WithChildren(c []plan.Node) plan.Node { return newAliased(c[0], n.name) }
func (n *aliased) Output() []*plan.Attribute            { return n.attrs }

// renamedColumns gives every column of a relation a name.
func (r *resolver) renamedColumns(in plan.Node, names []string, at *plan.Origin) (plan.Node, error) {
	attrs := in.Output()
	if len(attrs) != len(names) {
		return nil, assignmentArity(len(attrs), len(names)).At(at)
	}
	list := make([]plan.Expr, len(attrs))
	for i, a := range attrs {
		list[i] = r.rename(a, names[i])
	}
	return plan.NewProject(in, list...), nil
}

func assignmentArity(columns, names int) *plan.Error {
	return plan.AnalysisError("ASSIGNMENT_ARITY_MISMATCH",
		fmt.Sprintf("%d names were given for %d columns.", names, columns),
		"numExpr", fmt.Sprint(names), "numTarget", fmt.Sprint(columns))
}

// rename is a column under another name.
func (r *resolver) rename(a *plan.Attribute, name string) plan.Expr {
	if a.Name == name {
		return a
	}
	return &plan.Alias{Child: a, Names: []string{name}, ID: r.IDs.Next()}
}

// inlineTable makes VALUES a union of one-row projections' rows: each row is
// cast to the columns' common types.
func (r *resolver) inlineTable(n *plan.InlineTable) (plan.Node, error) {
	width := len(n.Names)
	if width == 0 && len(n.Rows) > 0 {
		width = len(n.Rows[0])
	}
	x := r.over("inline table", &plan.OneRow{})
	rows := make([][]plan.Expr, len(n.Rows))
	for i, row := range n.Rows {
		if len(row) != width {
			return nil, plan.AnalysisError("INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
				fmt.Sprintf("row %d has %d columns, not %d.", i, len(row), width), "rowIndex", fmt.Sprint(i),
				"expectedNumCols", fmt.Sprint(width), "actualNumCols", fmt.Sprint(len(row))).At(n.Origin)
		}
		list, err := x.all(row)
		if err != nil {
			return nil, inlineError(err)
		}
		for j, e := range list {
			if list[j] = unnamed(e); anyOuter(list[j : j+1]) {
				return nil, plan.AnalysisError("INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
					"VALUES has constants only, not "+r.sqlText(list[j])+".", "expr", r.sqlExpr(list[j])).At(n.Origin)
			}
		}
		rows[i] = list
	}
	names := n.Names
	if len(names) == 0 {
		for j := range width {
			names = append(names, fmt.Sprintf("col%d", j+1))
		}
	}
	return r.rowsOf(names, rows, n.Origin)
}

// inlineType is the type of a column of VALUES, where a string beside something
// else is a mistake.
func (r *resolver) inlineType(types []plan.Type) (plan.Type, bool) {
	t, ok := plan.Null, true
	for _, next := range types {
		if t, ok = function.WiderType(t, next, r.Eval); !ok {
			break
		}
	}
	return t, ok
}

// inlineError says about a column in VALUES that there are none.
func inlineError(err error) error {
	if e, ok := err.(*plan.Error); ok && e.Condition == "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION" {
		return plan.AnalysisError("INVALID_INLINE_TABLE.CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE",
			"VALUES takes constants only.",
			"expr", quoted(strings.ReplaceAll(e.Args["objectName"], "`", ""))).At(e.Origin)
	}
	return err
}

func (r *resolver) rowsOf(names []string, rows [][]plan.Expr, at *plan.Origin) (plan.Node, error) {
	attrs := make([]*plan.Attribute, len(names))
	for j, name := range names {
		types := make([]plan.Type, len(rows))
		null := false
		for i, row := range rows {
			types[i] = row[j].Type()
		}
		t, ok := r.inlineType(types)
		if !ok {
			return nil, plan.AnalysisError("INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE",
				fmt.Sprintf("the values of the column %s have types that do not fit together.", name),
				"colName", plan.Quote(name)).At(at)
		}
		for _, row := range rows {
			row[j] = r.implicitly(row[j], t)
			null = null || row[j].Nullable()
		}
		attrs[j] = r.attribute(name, t, null)
	}
	inputs := make([]plan.Node, len(rows))
	for i, row := range rows {
		list := make([]plan.Expr, len(row))
		for j, e := range row {
			list[j] = &plan.Alias{Child: e, Names: []string{names[j]}, ID: r.IDs.Next()}
		}
		inputs[i] = plan.NewProject(&plan.OneRow{}, list...)
	}
	return &plan.SetOp{Kind: plan.Union, All: true, Inputs: inputs, Attrs: attrs}, nil
}
