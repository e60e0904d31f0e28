package weir

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/weir-dev/weir"

// outside are the top folders that the rules of the house do not govern: harnesses, programs that write
// committed files, and what a build or a run leaves behind.
const outside = " test bench tools dist weir-data vendor "

// source is one Go file of the repository, parsed.
type source struct {
	path      string // slash separated, relative to the root of the repository
	room      string // the folder below internal, or cmd, embed, "." for the root
	test      bool
	generated bool
	text      string
	fset      *token.FileSet
	file      *ast.File
}

func (s source) dir() string { return path.Dir(s.path) }

// at names a place in the file the way compilers do.
func (s source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(pos).Line)
}

// imports gives the path of every import with its spec.
func (s source) imports() map[string]*ast.ImportSpec {
	all := make(map[string]*ast.ImportSpec, len(s.file.Imports))
	for _, spec := range s.file.Imports {
		// The parser accepts only quoted import paths, so this cannot fail.
		name, _ := strconv.Unquote(spec.Path.Value)
		all[name] = spec
	}
	return all
}

// localName is what the file calls the package it imports; empty when it does not import it.
func (s source) localName(importPath string) string {
	spec, ok := s.imports()[importPath]
	switch {
	case !ok:
		return ""
	case spec.Name != nil:
		return spec.Name.Name
	default:
		return path.Base(importPath)
	}
}

// readSources parses every Go file that the rules of the house govern.
func readSources(tree fs.FS) ([]source, error) {
	var all []source
	fset := token.NewFileSet()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{
			path: name, room: roomOf(path.Dir(name)), test: strings.HasSuffix(name, "_test.go"),
			generated: ast.IsGenerated(file), text: string(text), fset: fset, file: file,
		})
		return nil
	})
	return all, err
}

func skip(dir string) error {
	base := path.Base(dir)
	hidden := strings.HasPrefix(base, ".") && dir != "."
	if hidden || base == "testdata" || strings.Contains(outside, " "+dir+" ") {
		return fs.SkipDir
	}
	return nil
}

func roomOf(dir string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(dir, "internal/"), "/")
	return first
}

var readRepository = sync.OnceValues(func() ([]source, error) { return readSources(os.DirFS(".")) })

// repository is the sources of this repository, read once.
func repository(t *testing.T) []source {
	t.Helper()
	all, err := readRepository()
	if err != nil {
		t.Fatal(err)
	}
	return all
}
