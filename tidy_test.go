package weir

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// limits are the numbers of docs/STYLE.md.
var limits = map[string]int{
	"function":  70,     // lines, from func to the closing brace
	"file":      800,    // lines
	"nesting":   4,      // statements and function literals around a statement
	"params":    5,      // parameters, without the receiver
	"interface": 5,      // methods of its own; small interfaces may be embedded
	"line":      110,    // characters; a tab is one
	"package":   12_000, // lines of product files
	"doc":       60,     // lines of a package comment
}

// tolerated is the ratchet: "limit where" to a number above the limit. An entry may only shrink or go:
// the test fails when the code is shorter than its entry says.
var tolerated = map[string]int{}

// size is one measured thing.
type size struct {
	limit string // key of limits
	where string
	value int
}

func TestSizesStayWithinTheLimits(t *testing.T) {
	for _, problem := range tooBig(measure(repository(t)), tolerated) {
		t.Error(problem)
	}
}

func TestRulesOfTheHouse(t *testing.T) {
	for _, problem := range untidy(repository(t)) {
		t.Error(problem)
	}
}

// tooBig compares sizes with the limits and with the ratchet.
func tooBig(sizes []size, tolerated map[string]int) []string {
	var problems []string
	unused := maps.Clone(tolerated)
	for _, s := range sizes {
		key := s.limit + " " + s.where
		allowed, listed := tolerated[key]
		delete(unused, key)
		bound, advice := limits[s.limit], ""
		switch {
		case listed && s.value <= bound:
			advice = "drop its entry from tolerated"
		case listed && s.value < allowed:
			advice = "shrink its entry in tolerated"
		case s.value > max(bound, allowed):
			advice = fmt.Sprintf("at most %d", max(bound, allowed))
		default:
			continue
		}
		problems = append(problems, fmt.Sprintf("%s: %d, %s", key, s.value, advice))
	}
	for key := range unused {
		problems = append(problems, fmt.Sprintf("%s is listed in tolerated but does not exist", key))
	}
	slices.Sort(problems)
	return problems
}

// measure takes every size that has a limit.
func measure(sources []source) []size {
	var sizes []size
	packages := map[string]int{}
	for _, s := range sources {
		if s.generated {
			continue
		}
		lines := strings.Count(s.text, "\n")
		sizes = append(sizes, size{"file", s.path, lines})
		sizes = append(sizes, longLines(s)...)
		sizes = append(sizes, shapes(s)...)
		if s.file.Doc != nil {
			doc := strings.Count(s.file.Doc.Text(), "\n")
			sizes = append(sizes, size{"doc", s.path, doc})
		}
		if !s.test {
			packages[s.dir()] += lines
		}
	}
	for dir, lines := range packages {
		sizes = append(sizes, size{"package", dir, lines})
	}
	return sizes
}

// shapes measures the functions and interfaces of a file.
func shapes(s source) []size {
	var sizes []size
	lineOf := func(n ast.Node) (first, last int) {
		return s.fset.Position(n.Pos()).Line, s.fset.Position(n.End()).Line
	}
	for _, decl := range s.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
			first, last := lineOf(fn)
			where := s.path + ":" + funcName(fn)
			sizes = append(sizes, size{"function", where, last - first + 1}, size{"nesting", where, depth(fn.Body)})
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			sizes = append(sizes, size{"params", s.at(n.Pos()), n.Params.NumFields()})
		case *ast.TypeSpec:
			if face, ok := n.Type.(*ast.InterfaceType); ok {
				sizes = append(sizes, size{"interface", s.path + ":" + n.Name.Name, ownMethods(face)})
			}
		}
		return true
	})
	return sizes
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv.NumFields() == 0 {
		return fn.Name.Name
	}
	receiver := fn.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

func ownMethods(face *ast.InterfaceType) int {
	methods := 0
	for _, m := range face.Methods.List {
		if _, ok := m.Type.(*ast.FuncType); ok {
			methods++
		}
	}
	return methods
}

// depth is the number of statements and function literals around the innermost statement of a body. A
// switch counts once with its clauses, and an else-if counts as the if that it continues.
func depth(body *ast.BlockStmt) int {
	deepest := 0
	ast.Walk(nesting{deepest: &deepest}, body)
	return deepest
}

// nesting visits the children of parent, which lie level deep.
type nesting struct {
	parent  ast.Node
	level   int
	deepest *int
}

func (v nesting) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case nil:
		return nil
	case *ast.IfStmt:
		if outer, ok := v.parent.(*ast.IfStmt); !ok || outer.Else != n {
			v.level++
		}
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.FuncLit:
		v.level++
	case *ast.BlockStmt:
		switch v.parent.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.LabeledStmt:
			v.level++ // a block of its own, not the body of a statement
		}
	}
	*v.deepest = max(*v.deepest, v.level)
	return nesting{parent: n, level: v.level, deepest: v.deepest}
}

// longLines measures the lines above the limit. Lines of a raw string are data and not measured, nor are
// struct tags, which Go cannot break; nor, in tests, are lines that consist mostly of string literals.
func longLines(s source) []size {
	data := map[int]bool{}
	quoted := map[int]int{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			data[s.fset.Position(f.Tag.Pos()).Line] = true
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok {
			return true
		}
		first, last := s.fset.Position(lit.Pos()).Line, s.fset.Position(lit.End()).Line
		for line := first; line <= last && last > first; line++ {
			data[line] = true
		}
		if lit.Kind == token.STRING {
			quoted[first] += len([]rune(lit.Value))
		}
		return true
	})
	var sizes []size
	for i, line := range strings.Split(s.text, "\n") {
		length := len([]rune(line))
		isData := data[i+1] || s.test && quoted[i+1] > length/2
		if length > limits["line"] && !isData {
			sizes = append(sizes, size{"line", fmt.Sprintf("%s:%d", s.path, i+1), length})
		}
	}
	return sizes
}
