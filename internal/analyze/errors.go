package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

func quoted(s string) string { return `"` + s + `"` }

func (r *resolver) sqlText(e plan.Expr) string { return plan.SQLTextIn(e, r.Eval.Zone) }

// sqlExpr is an expression as a parameter of an error.
func (r *resolver) sqlExpr(e plan.Expr) string { return quoted(r.sqlText(e)) }

func sqlType(t plan.Type) string { return quoted(t.SQL()) }

// malformed refuses a plan that no client should send.
func malformed(what string) error {
	return &plan.Error{Class: plan.ClassInvalidPlan, Msg: "The plan is malformed: " + what + "."}
}

// maxProposals is how many names an error proposes.
const maxProposals = 5

// unresolvedColumn says that no column has a name, and which ones are near.
func unresolvedColumn(parts []string, among []*plan.Attribute, at *plan.Origin) *plan.Error {
	name := plan.QuoteParts(parts)
	candidates := slices.Clone(among)
	slices.SortStableFunc(candidates, func(a, b *plan.Attribute) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	names := make([][]string, len(candidates))
	for i, a := range candidates {
		names[i] = append(slices.Clone(a.Qualifier), a.Name)
	}
	proposals := bySimilarity(parts, names)
	if len(proposals) == 0 {
		return plan.NewError(plan.ClassExtendedAnalysis, "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
			fmt.Sprintf("no column is called %s.", name), "objectName", name).At(at)
	}
	proposal := strings.Join(proposals[:min(len(proposals), maxProposals)], ", ")
	e := plan.NewError(plan.ClassExtendedAnalysis, "UNRESOLVED_COLUMN.WITH_SUGGESTION",
		fmt.Sprintf("no column is called %s.", name), "objectName", name, "proposal", proposal)
	e.Hint = "Near are " + proposal + "."
	return e.At(at)
}

// bySimilarity quotes names and sorts them by their distance from what the user
// wrote. A qualifier that all share is left out when the user wrote none.
func bySimilarity(base []string, names [][]string) []string {
	strip := 0
	switch {
	case len(base) == 1 && sharedPrefix(names, 1):
		strip = 1
	case len(base) <= 2 && sharedPrefix(names, 2):
		strip = 2
	}
	text := plainName(base)
	type candidate struct {
		name     string
		distance int
	}
	list := make([]candidate, len(names))
	for i, n := range names {
		if strip > 0 {
			n = n[max(0, len(n)-strip):]
		}
		name := plan.QuoteParts(n)
		list[i] = candidate{name, plan.EditDistance(name, text)}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return a.distance - b.distance })
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.name
	}
	return out
}

// sharedPrefix reports whether all names are equal but for their last n parts.
func sharedPrefix(names [][]string, n int) bool {
	for _, name := range names {
		if !slices.Equal(name[:max(0, len(name)-n)], names[0][:max(0, len(names[0])-n)]) {
			return false
		}
	}
	return true
}

// plainName joins the parts of a name, quoting those that need it.
func plainName(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = plan.QuoteIfNeeded(p)
	}
	return strings.Join(out, ".")
}

// anonymousQuery is the alias of a subquery in FROM that was given none. Errors
// do not show it.
const anonymousQuery = "__auto_generated_subquery_name"

func isAnonymous(alias string) bool { return alias == anonymousQuery }

// asWritten is the name of a column in the letters of the reference to it.
func asWritten(name string, parts []string) string {
	for _, p := range slices.Backward(parts[:min(4, len(parts))]) {
		if strings.EqualFold(p, name) {
			return p
		}
	}
	return name
}

func ambiguous(parts []string, found []*plan.Attribute, at *plan.Origin) *plan.Error {
	names := make([]string, len(found))
	for i, a := range found {
		qualifier := slices.DeleteFunc(slices.Clone(a.Qualifier), isAnonymous)
		names[i] = plan.QuoteParts(append(qualifier, asWritten(a.Name, parts)))
	}
	slices.Sort(names)
	name, list := plan.QuoteParts(parts), "["+strings.Join(names, ", ")+"]"
	return plan.AnalysisError("AMBIGUOUS_REFERENCE",
		fmt.Sprintf("%s may be any of %s.", name, list), "name", name, "referenceNames", list).At(at)
}

func (r *resolver) cannotResolveFrameColumn(e plan.Expr, at *plan.Origin) *plan.Error {
	return plan.AnalysisError("CANNOT_RESOLVE_DATAFRAME_COLUMN",
		fmt.Sprintf("the column %s was taken from a DataFrame that this one does not show.", r.sqlText(e)),
		"name", r.sqlExpr(e)).At(at)
}

func (r *resolver) ambiguousFrameColumn(e plan.Expr, at *plan.Origin) *plan.Error {
	err := plan.AnalysisError("AMBIGUOUS_COLUMN_REFERENCE",
		fmt.Sprintf("the column %s belongs to a DataFrame that occurs more than once.", r.sqlText(e)),
		"name", r.sqlExpr(e))
	err.Hint = "Give each side a name with alias() and write the column as name.column."
	return err.At(at)
}

var ordinalWords = [...]string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth",
	"ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"}

// ordinalWord is the English ordinal of an index from 0.
func ordinalWord(i int) string {
	if i < len(ordinalWords) {
		return ordinalWords[i]
	}
	return strconv.Itoa(i+1) + "th"
}
