package weir

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// clockless rooms get the time as a value: their answers must not depend on when they are asked.
	clockless = strings.Fields("plan sql analyze codec eval rowkey exec state")
	// goless rooms run wholly on their caller's goroutine.
	goless = strings.Fields("plan sql analyze function codec eval rowkey catalog vfs")

	clock = strings.Fields("Now Since Until After AfterFunc NewTimer NewTicker Tick Sleep")

	drawers = strings.Fields("util utils common helper helpers misc")

	bareTask = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	withTask = regexp.MustCompile(`\b(TODO|FIXME)\(#\d+\)`)
)

// rules are the checks that look at one file.
var rules = []func(source) []string{
	importsAreNamed, nothingRunsAtInit, clockAndGoroutines, tasksHaveIssues, testsDoNotSleep,
}

// untidy gives every breach of the rules that are not about size.
func untidy(sources []source) []string {
	var problems []string
	packages := map[string][]source{}
	for _, s := range sources {
		if s.generated {
			continue
		}
		packages[s.dir()] = append(packages[s.dir()], s)
		for _, rule := range rules {
			problems = append(problems, rule(s)...)
		}
	}
	for dir, files := range packages {
		problems = append(problems, packageIsDescribed(dir, files)...)
		problems = append(problems, variablesStay(files)...)
	}
	slices.Sort(problems)
	return problems
}

func importsAreNamed(s source) []string {
	var problems []string
	for target, spec := range s.imports() {
		if spec.Name == nil || (spec.Name.Name != "." && spec.Name.Name != "_") {
			continue
		}
		if spec.Name.Name == "_" && (target == "embed" || target == "time/tzdata") {
			continue
		}
		problems = append(problems, fmt.Sprintf("%s: import %s %q", s.at(spec.Pos()), spec.Name.Name, target))
	}
	return problems
}

func nothingRunsAtInit(s source) []string {
	var problems []string
	for _, decl := range s.file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			problems = append(problems, s.at(fn.Pos())+": func init")
		}
	}
	return problems
}

func clockAndGoroutines(s source) []string {
	if s.test {
		return nil
	}
	var problems []string
	timePkg := s.localName("time")
	found := func(pos token.Pos, what, why string) {
		problems = append(problems, fmt.Sprintf("%s: %s; %s %s", s.at(pos), what, s.room, why))
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if slices.Contains(goless, s.room) {
				found(n.Pos(), "go statement", "starts none")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			reads := ok && timePkg != "" && x.Name == timePkg && slices.Contains(clock, n.Sel.Name)
			if reads && slices.Contains(clockless, s.room) {
				found(n.Pos(), "time."+n.Sel.Name, "has no clock")
			}
		}
		return true
	})
	return problems
}

func tasksHaveIssues(s source) []string {
	var problems []string
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if bareTask.MatchString(withTask.ReplaceAllString(c.Text, "")) {
				problems = append(problems, s.at(c.Pos())+": a task without issue number")
			}
		}
	}
	return problems
}

// testsDoNotSleep allows time.Sleep where testing/synctest may have replaced the clock.
func testsDoNotSleep(s source) []string {
	timePkg := s.localName("time")
	if !s.test || timePkg == "" || s.localName("testing/synctest") != "" {
		return nil
	}
	var problems []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Sleep" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == timePkg {
			problems = append(problems, s.at(sel.Pos())+": time.Sleep outside synctest")
		}
		return true
	})
	return problems
}

func packageIsDescribed(dir string, files []source) []string {
	var problems []string
	if slices.Contains(drawers, path.Base(dir)) {
		problems = append(problems, dir+": a package is named after what it does")
	}
	product := func(s source) bool { return !s.test }
	described := func(s source) bool { return path.Base(s.path) == "doc.go" && s.file.Doc != nil }
	if slices.ContainsFunc(files, product) && !slices.ContainsFunc(files, described) {
		problems = append(problems, dir+": no doc.go with a package comment")
	}
	return problems
}

// variablesStay finds package variables that the package assigns to outside their declaration, and those
// whose type has no use but to change. A sync.Pool may stay: what it holds never changes an answer.
func variablesStay(files []source) []string {
	var problems []string
	declared := map[string]*ast.ValueSpec{}
	for _, s := range files {
		if s.test {
			continue
		}
		for _, spec := range packageVariables(s.file) {
			for _, name := range spec.Names {
				declared[name.Name] = spec
			}
			if kind := changingType(spec); kind != "" {
				problems = append(problems, fmt.Sprintf("%s: package variable of type %s", s.at(spec.Pos()), kind))
			}
		}
	}
	for _, s := range files {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			for _, target := range assigned(n) {
				// An identifier of another file of the package has no object; a local one has another.
				name := root(target)
				if name == nil || declared[name.Name] == nil {
					continue
				}
				if name.Obj == nil || name.Obj.Decl == declared[name.Name] {
					problems = append(problems, fmt.Sprintf("%s: package variable %s is changed", s.at(n.Pos()), name.Name))
				}
			}
			return true
		})
	}
	return problems
}

func packageVariables(file *ast.File) []*ast.ValueSpec {
	var specs []*ast.ValueSpec
	for _, decl := range file.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.VAR {
			for _, spec := range gen.Specs {
				specs = append(specs, spec.(*ast.ValueSpec))
			}
		}
	}
	return specs
}

// changingType names the declared type, or that of a composite literal, when values of it exist to change.
func changingType(spec *ast.ValueSpec) string {
	types := []ast.Expr{spec.Type}
	for _, v := range spec.Values {
		if unary, ok := v.(*ast.UnaryExpr); ok {
			v = unary.X
		}
		if lit, ok := v.(*ast.CompositeLit); ok {
			types = append(types, lit.Type)
		}
	}
	for _, t := range types {
		if _, ok := t.(*ast.ChanType); ok {
			return "chan"
		}
		if index, ok := t.(*ast.IndexExpr); ok { // atomic.Pointer[T]
			t = index.X
		}
		sel, ok := t.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		pkg, ok := sel.X.(*ast.Ident)
		if ok && (pkg.Name == "atomic" || pkg.Name == "sync" && sel.Sel.Name != "Pool") {
			return pkg.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// assigned gives the expressions that a statement or a call of a builtin changes.
func assigned(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.CallExpr:
		fn, ok := n.Fun.(*ast.Ident)
		if ok && len(n.Args) > 0 && slices.Contains([]string{"delete", "clear", "copy"}, fn.Name) {
			return n.Args[:1]
		}
	}
	return nil
}

// root is the variable that x, x.f, x[i], *x or x[i:j] belongs to.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
