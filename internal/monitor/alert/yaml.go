package alert

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	yamltoken "github.com/goccy/go-yaml/token"

	"github.com/weir-dev/weir/internal/plan"
)

const (
	largestFile = 1 << 20 // bytes
	deepestNode = 12
)

// node is a value of a YAML file with the line it stands in.
type node struct {
	line  int
	text  string // of a scalar
	null  bool
	pairs []pair // of a mapping
	items []*node
	is    nodeKind
}

type nodeKind uint8

const (
	scalar nodeKind = iota
	mapping
	list
)

func (k nodeKind) String() string { return [...]string{"a text", "keys with values", "a list"}[k] }

type pair struct {
	key   string
	line  int
	value *node
}

// lineError is a mistake of the file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return "line " + strconv.Itoa(e.line) + ": " + e.text }

func (n *node) wrong(format string, args ...any) error {
	return &lineError{n.line, fmt.Sprintf(format, args...)}
}

// placedError is what an error of the parser can tell. Its type stands in the package
// that decodes into Go values, which would make the binary larger.
type placedError interface {
	GetToken() *yamltoken.Token
	GetMessage() string
}

// parseYAML reads the subset that rules need: no anchors, aliases, tags or merges.
func parseYAML(data []byte) (*node, error) {
	if len(data) > largestFile {
		return nil, fmt.Errorf("it is larger than %d bytes", largestFile)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var at placedError
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, &lineError{at.GetToken().Position.Line, firstLine(at.GetMessage())}
		}
		return nil, errors.New(firstLine(err.Error()))
	}
	var root *node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			return nil, &lineError{doc.Body.GetToken().Position.Line, "a second document begins; there is one"}
		}
		if root, err = convert(doc.Body, 0); err != nil {
			return nil, err
		}
	}
	if root == nil || root.null {
		return &node{is: mapping, line: 1}, nil
	}
	return root, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func convert(from ast.Node, depth int) (*node, error) {
	n := &node{line: 1}
	if t := from.GetToken(); t != nil && t.Position != nil {
		n.line = t.Position.Line
	}
	if depth > deepestNode {
		return nil, n.wrong("it is nested deeper than %d levels", deepestNode)
	}
	switch from := from.(type) {
	case *ast.MappingNode:
		n.is = mapping
		return n, n.add(from.Values, depth)
	case *ast.MappingValueNode:
		n.is = mapping
		return n, n.add([]*ast.MappingValueNode{from}, depth)
	case *ast.SequenceNode:
		n.is = list
		for _, item := range from.Values {
			one, err := convert(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, one)
		}
		return n, nil
	case *ast.NullNode:
		n.null = true
		return n, nil
	case *ast.StringNode:
		n.text = from.Value
		return n, nil
	case *ast.LiteralNode:
		n.text = from.Value.Value
		return n, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		n.text = from.GetToken().Value
		return n, nil
	default:
		return nil, n.wrong("%s is not used here: write the value itself", strings.ToLower(from.Type().String()))
	}
}

func (n *node) add(values []*ast.MappingValueNode, depth int) error {
	for _, v := range values {
		key, ok := v.Key.(ast.ScalarNode)
		if !ok {
			return n.wrong("a key is a word")
		}
		value, err := convert(v.Value, depth+1)
		if err != nil {
			return err
		}
		p := pair{key.GetToken().Value, key.GetToken().Position.Line, value}
		if n.find(p.key) != nil {
			return &lineError{p.line, "the key " + p.key + " stands there twice"}
		}
		if value.is == scalar {
			value.line = p.line
		}
		n.pairs = append(n.pairs, p)
	}
	return nil
}

func (n *node) find(key string) *node {
	for _, p := range n.pairs {
		if p.key == key {
			return p.value
		}
	}
	return nil
}

// must says which kind of value there has to be.
func (n *node) must(be nodeKind, what string) error {
	if n.null || n.is != be {
		return n.wrong("%s is %s", what, be)
	}
	return nil
}

// only refuses keys that do not exist.
func (n *node) only(what string, keys ...string) error {
	if err := n.must(mapping, what); err != nil {
		return err
	}
	for _, p := range n.pairs {
		if !slices.Contains(keys, p.key) {
			return &lineError{p.line, fmt.Sprintf("%s has no key %s; the nearest is %s", what, p.key,
				plan.Nearest(p.key, keys))}
		}
	}
	return nil
}

// textOf is the value of a key, "" where it is missing.
func (n *node) textOf(key string) (string, error) {
	v := n.find(key)
	if v == nil || v.null {
		return "", nil
	}
	return v.text, v.must(scalar, key)
}

func (n *node) boolOf(key string, otherwise bool) (bool, error) {
	text, err := n.textOf(key)
	switch {
	case err != nil || text == "":
		return otherwise, err
	case text == "true":
		return true, nil
	case text == "false":
		return false, nil
	default:
		return false, n.find(key).wrong("%s is true or false, not %s", key, text)
	}
}

// spanOf is a time such as 30s, 5 min or 1h30m.
func (n *node) spanOf(key string, otherwise time.Duration) (time.Duration, error) {
	text, err := n.textOf(key)
	if err != nil || text == "" {
		return otherwise, err
	}
	d, err := parseSpan(text)
	if err != nil {
		return 0, n.find(key).wrong("%s is a time such as 30s, 5 min or 2h, not %q", key, text)
	}
	return d, nil
}

// longestSpan is the longest time that a file may ask for.
const longestSpan = 366 * 24 * time.Hour

func parseSpan(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	end := strings.LastIndexAny(text, "0123456789.") + 1
	factor, ok := units[inMs][strings.TrimSpace(text[end:])]
	x, err := strconv.ParseFloat(strings.TrimSpace(text[:end]), 64)
	d := time.Duration(x * factor * float64(time.Millisecond))
	if err != nil || !ok || strings.TrimSpace(text[end:]) == "" && x != 0 {
		if d, err = time.ParseDuration(text); err != nil {
			return 0, err
		}
	}
	if d < 0 || d > longestSpan || x*factor > float64(longestSpan/time.Millisecond) {
		return 0, errors.New("out of range")
	}
	return d, nil
}

// listOf is a text or a list of texts.
func (n *node) listOf(key string) ([]string, error) {
	v := n.find(key)
	switch {
	case v == nil || v.null:
		return nil, nil
	case v.is == scalar:
		return []string{v.text}, nil
	case v.is == mapping:
		return nil, v.wrong("%s is a list", key)
	}
	out := []string{}
	for _, item := range v.items {
		if err := item.must(scalar, "an element of "+key); err != nil {
			return nil, err
		}
		out = append(out, item.text)
	}
	return out, nil
}

// labelsOf are names with texts.
func (n *node) labelsOf(key string) ([]Label, error) {
	v := n.find(key)
	if v == nil || v.null {
		return nil, nil
	}
	if err := v.must(mapping, key); err != nil {
		return nil, err
	}
	var out []Label
	for _, p := range v.pairs {
		if err := p.value.must(scalar, p.key); err != nil {
			return nil, err
		}
		out = append(out, Label{p.key, p.value.text})
	}
	slices.SortFunc(out, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
