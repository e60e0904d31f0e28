package analyze

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// exprs resolves expressions over the output of some relations.
type exprs struct {
	*resolver
	inputs []plan.Node
	scope  *scope
	// hidden are columns below the inputs' output, looked up last.
	hidden *scope
	// used collects the hidden columns that were asked for.
	used []*plan.Attribute
	// aliases are the names that the select list gave so far; nil where they
	// may not be used.
	aliases *lateral
	// missing is asked for columns that nothing else has.
	missing func(n *plan.UnresolvedAttribute) (plan.Expr, error)
	// sorting: a name that fits several columns is asked of missing first.
	sorting bool
	// below resolves the arguments of aggregate functions, in HAVING and ORDER
	// BY over an Aggregate, and lift makes the Aggregate compute them.
	below *exprs
	lift  *lifted
	// windows are the windows of time that expressions asked for.
	windows []window
	// lambda is the innermost lambda around; nil outside.
	lambda *lambdaScope
	// clause is the relation's name in errors, such as Filter, and query its place.
	clause string
	query  *plan.Origin
}

// over resolves expressions over relations.
func (r *resolver) over(clause string, inputs ...plan.Node) *exprs {
	var attrs, hidden []*plan.Attribute
	for _, in := range inputs {
		if len(inputs) == 1 {
			attrs = in.Output()
		} else {
			attrs = append(attrs, in.Output()...)
		}
		hidden = append(hidden, hiddenColumns(in)...)
	}
	x := &exprs{resolver: r, inputs: inputs, scope: newScope(attrs, r.CaseSensitive), clause: clause}
	if len(hidden) > 0 {
		x.hidden = newScope(hidden, r.CaseSensitive)
	}
	return x
}

// exposed is an input that outputs the hidden columns that were used too.
// It computes the windows of time that were asked for, too.
func (x *exprs) exposed(in plan.Node) plan.Node {
	if len(x.used) > 0 {
		out, ok := expose(in, x.used)
		if !ok {
			panic("a hidden column cannot be reached")
		}
		in = out
	}
	for _, w := range x.windows {
		in = w.over(in)
	}
	return in
}

// errNotFound says that a name means nothing; the caller makes the error.
var errNotFound = errors.New("no such column")

// column resolves a name. top says that the name is a whole item of a select
// list, whose nested field gives it its name.
func (x *exprs) column(n *plan.UnresolvedAttribute, top bool) (plan.Expr, error) {
	if len(n.Parts) == 0 {
		return nil, malformed("a column has no name")
	}
	e, err := x.lookup(n, top)
	if x.sorting && n.PlanID == nil && isAmbiguous(err) {
		if below, err := x.missing(n); err == nil {
			return below, nil
		}
	}
	if !errors.Is(err, errNotFound) {
		return e, err
	}
	if x.missing != nil {
		e, err = x.missing(n)
		if !errors.Is(err, errNotFound) {
			return e, err
		}
	}
	if n.PlanID != nil {
		return nil, x.cannotResolveFrameColumn(n, n.Origin)
	}
	if e, err = x.outerColumn(n); !errors.Is(err, errNotFound) {
		if top && err == nil {
			e = &plan.Alias{Child: e, Names: n.Parts[len(n.Parts)-1:], ID: x.IDs.Next()}
		}
		return e, err
	}
	at := n.Origin
	if x.lambda != nil {
		at = x.query // Spark names no place inside of a lambda
	}
	return nil, unresolvedColumn(n.Parts, x.scope.attrs, at)
}

// lookup finds what a name means here: a column, a hidden column, a name of the
// select list, or a function that is written without parentheses.
func (x *exprs) lookup(n *plan.UnresolvedAttribute, top bool) (plan.Expr, error) {
	if n.PlanID != nil {
		return x.frameColumn(n, top)
	}
	if v := x.parameter(n); v != nil {
		return x.fieldsOf(v, n.Parts[1:], nil, false)
	}
	var found []*plan.Attribute
	var fields []string
	if !n.Metadata {
		found, fields = x.scope.find(n.Parts)
	}
	if len(found) == 0 && x.hidden != nil {
		found, fields = x.findHidden(n.Parts)
	}
	if len(found) > 0 {
		return x.field(n, found, fields, top)
	}
	if x.aliases != nil {
		if e, err := x.aliases.find(x, n, top); !errors.Is(err, errNotFound) {
			return e, err
		}
	}
	if len(n.Parts) == 1 && bareFunctions[strings.ToLower(n.Parts[0])] {
		return x.function(&plan.UnresolvedFunction{Name: []string{strings.ToLower(n.Parts[0])}, Origin: n.Origin})
	}
	return nil, errNotFound
}

// findHidden looks a name up among the hidden columns, and notes that the one
// it finds must be shown.
func (x *exprs) findHidden(parts []string) ([]*plan.Attribute, []string) {
	found, fields := x.hidden.find(parts)
	if len(parts)-len(fields) == 1 {
		found = slices.DeleteFunc(slices.Clone(found), func(a *plan.Attribute) bool {
			return a.Metadata == qualifiedOnly
		})
	}
	found = unmarked(found)
	if len(found) == 1 {
		x.used = append(x.used, absent(x.used, found)...)
	}
	return found, fields
}

// bareFunctions are called without parentheses when no column has the name.
var bareFunctions = map[string]bool{
	"current_date": true, "current_timestamp": true, "current_user": true, "user": true,
	"session_user": true, "localtimestamp": true, "current_time": true,
}

// field is what a name with the fields after it stands for.
func (x *exprs) field(n *plan.UnresolvedAttribute, found []*plan.Attribute, fields []string, top bool) (
	plan.Expr, error) {
	if len(found) > 1 {
		return nil, ambiguous(n.Parts, found, n.Origin)
	}
	if len(fields) == 0 {
		return renamed(found[0], n.Parts[len(n.Parts)-1]), nil
	}
	return x.fieldsOf(found[0], fields, n.Origin, top)
}

func (x *exprs) fieldsOf(e plan.Expr, fields []string, at *plan.Origin, top bool) (plan.Expr, error) {
	for _, f := range fields {
		var err error
		if e, err = x.extract(e, plan.Lit(f, plan.String), at, at); err != nil {
			return nil, err
		}
	}
	if top {
		return &plan.Alias{Child: e, Names: []string{fields[len(fields)-1]}, ID: x.IDs.Next()}, nil
	}
	return e, nil
}

// frameColumn resolves df.x below the node that df stands for. The nearest such
// node wins; two at one distance are ambiguous.
func (x *exprs) frameColumn(n *plan.UnresolvedAttribute, top bool) (plan.Expr, error) {
	if len(x.inputs) == 1 {
		if t, ok := x.inputs[0].(*tagged); ok && t.id == *n.PlanID && !n.Metadata {
			if found, fields := x.scope.find(n.Parts); len(found) > 0 {
				return x.field(n, found, fields, top)
			}
		}
	}
	hit, matched, err := x.searchAll(n, x.inputs, 0)
	switch {
	case err != nil:
		return nil, err
	case !matched:
		return nil, x.cannotResolveFrameColumn(n, n.Origin)
	case hit == nil:
		return nil, errNotFound
	}
	found := unmarked([]*plan.Attribute{hit.attr})
	if x.hidden != nil && contains(x.hidden.attrs, hit.attr) && !contains(x.scope.attrs, hit.attr) {
		x.used = append(x.used, absent(x.used, found)...)
	}
	return x.field(n, found, hit.fields, top)
}

// frameHit is a column found below a tagged node, depth levels down.
type frameHit struct {
	attr   *plan.Attribute
	fields []string
	depth  int
}

func (x *exprs) searchAll(n *plan.UnresolvedAttribute, nodes []plan.Node, depth int) (
	*frameHit, bool, error) {
	var best *frameHit
	matched := false
	for _, node := range nodes {
		hit, m, err := x.search(n, node, depth)
		if err != nil {
			return nil, false, err
		}
		matched = matched || m
		switch {
		case hit == nil:
		case best == nil || hit.depth < best.depth:
			best = hit
		case hit.depth == best.depth:
			return nil, false, x.ambiguousFrameColumn(n, n.Origin)
		}
	}
	return best, matched, nil
}

func (x *exprs) search(n *plan.UnresolvedAttribute, node plan.Node, depth int) (*frameHit, bool, error) {
	if t, ok := node.(*tagged); ok && t.id == *n.PlanID {
		var found []*plan.Attribute
		var fields []string
		if !n.Metadata {
			found, fields = newScope(t.Output(), x.CaseSensitive).find(n.Parts)
		}
		if len(found) == 0 {
			found, fields = newScope(hiddenColumns(t), x.CaseSensitive).find(n.Parts)
		}
		switch {
		case len(found) == 0:
			return nil, true, nil
		case len(found) > 1:
			return nil, true, ambiguous(n.Parts, found, n.Origin)
		}
		return &frameHit{found[0], fields, depth}, true, nil
	}
	if _, ok := node.(*plan.SetOp); ok {
		return nil, false, nil
	}
	below := depth
	if _, ok := node.(*tagged); !ok {
		below++
	}
	hit, matched, err := x.searchAll(n, node.Children(), below)
	if hit != nil {
		hit = hit.seenFrom(node)
	}
	return hit, matched, err
}

// seenFrom is a column as a relation above shows it: an outer join makes it
// nullable. It is nil when the relation does not show it.
func (h *frameHit) seenFrom(node plan.Node) *frameHit {
	for _, list := range [][]*plan.Attribute{node.Output(), hiddenColumns(node)} {
		for _, a := range list {
			if a.ID == h.attr.ID {
				return &frameHit{a, h.fields, h.depth}
			}
		}
	}
	return nil
}

// outerColumn recognises a column of the query around a subquery.
func (x *exprs) outerColumn(n *plan.UnresolvedAttribute) (plan.Expr, error) {
	if len(x.outer) == 0 {
		return nil, errNotFound
	}
	// Queries further out are not seen, as in Spark.
	found, fields := x.outer[len(x.outer)-1].scope.find(n.Parts)
	if len(found) == 0 {
		return nil, errNotFound
	}
	e, err := x.field(n, found, fields, false)
	if err != nil {
		return nil, err
	}
	return x.outerOf(e), nil
}

// outerOf marks an expression over columns of the query around.
func (r *resolver) outerOf(e plan.Expr) *plan.Call {
	text := "outer(" + strings.ReplaceAll(plan.QualifiedText(e, r.Eval.Zone), "$", "$$") + ")"
	return &plan.Call{Name: outerRef, Args: []plan.Expr{e}, Of: e.Type(), Null: e.Nullable(), Text: text}
}

// outerRef marks a column of the query around a subquery until the subquery
// has been rewritten into a join.
const outerRef = "outer reference"

// lateral are the names given by a select list from its start on.
type lateral struct {
	given []*plan.Alias
	used  bool
}

// lateralRef marks the use of a name that the same select list gave. Its text
// shows in generated names.
const lateralRef = "lateralAliasReference"

func (l *lateral) find(x *exprs, n *plan.UnresolvedAttribute, top bool) (plan.Expr, error) {
	var found *plan.Alias
	count := 0
	for _, a := range l.given {
		if x.scope.same(a.Names[0], n.Parts[0]) {
			found = a
			count++
		}
	}
	switch {
	case count == 0:
		return nil, errNotFound
	case count > 1:
		name := plan.QuoteParts(n.Parts)
		return nil, plan.AnalysisError("AMBIGUOUS_LATERAL_COLUMN_ALIAS",
			fmt.Sprintf("the select list gives the name %s %d times.", name, count),
			"name", name, "n", fmt.Sprint(count)).At(n.Origin)
	}
	l.used = true
	attr := renamed(plan.ToAttribute(found), n.Parts[0])
	var e plan.Expr = &plan.Call{Name: lateralRef, Args: []plan.Expr{attr}, Of: attr.Of, Null: attr.Null}
	if len(n.Parts) > 1 {
		// Errors name the column, not the mark.
		if _, err := x.fieldsOf(attr, n.Parts[1:], n.Origin, false); err != nil {
			return nil, err
		}
		return x.fieldsOf(e, n.Parts[1:], n.Origin, top)
	}
	if top {
		e = &plan.Alias{Child: e, Names: []string{n.Parts[0]}, ID: x.IDs.Next()}
	}
	return e, nil
}
