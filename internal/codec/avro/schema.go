package avro

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	spec "github.com/twmb/avro"

	"github.com/weir-dev/weir/internal/plan"
)

const classSchemaParse = "org.apache.avro.SchemaParseException"

type kind uint8

const (
	kindNull kind = iota
	kindBoolean
	kindInt
	kindLong
	kindFloat
	kindDouble
	kindBytes
	kindString
	kindRecord
	kindEnum
	kindArray
	kindMap
	kindFixed
	kindUnion
)

var kindNames = [...]string{
	"null", "boolean", "int", "long", "float", "double", "bytes", "string", "record", "enum", "array",
	"map", "fixed",
	"union",
}

func (k kind) String() string { return kindNames[k] }

// node is a part of a schema. A record that contains itself does so in the
// graph of nodes.
type node struct {
	kind    kind
	logical string
	spark   string // Spark's own type, of its intervals

	name, space string
	aliases     []string
	fields      []field
	items       *node // elements of an array, values of a map
	branches    []*node
	symbols     []string
	otherwise   string // the symbol that stands for unknown ones, "" for none
	size        int
	precision   int
	scale       int

	min int // bytes of the smallest value; 0 or 1
}

type field struct {
	name       string
	of         *node
	aliases    []string
	hasDefault bool
	value      any
}

// Schema is a parsed schema.
type Schema struct {
	root *node
	text string
}

// ParseSchema parses a schema of a user; its names must be such as Java's
// library lets pass. Errors are Java's class, with a sentence of ours.
func ParseSchema(text string) (*Schema, error) {
	return parse(text, func(name string) error {
		for i, r := range name {
			if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
				return fmt.Errorf("illegal character in the name %q", name)
			}
		}
		return nil
	})
}

func parse(text string, names func(string) error) (*Schema, error) {
	s, err := spec.Parse(text, spec.WithLaxNames(names))
	if err != nil {
		return nil, &plan.Error{Class: classSchemaParse,
			Msg: fmt.Sprintf("This is no Avro schema: %v.", err), Cause: err}
	}
	b := builder{named: map[string]*node{}}
	root := s.Root()
	n, err := b.node(root)
	if err != nil {
		return nil, err
	}
	smallest(n)
	var short bytes.Buffer
	if err := json.Compact(&short, []byte(text)); err != nil {
		return nil, err
	}
	return &Schema{root: n, text: short.String()}, nil
}

// Text is the schema as it was written, without spaces.
func (s *Schema) Text() string { return s.text }

// builder turns the library's tree into a graph; space is the namespace around.
type builder struct {
	named map[string]*node
	space string
}

func (b *builder) node(s *spec.SchemaNode) (*node, error) {
	k, ok := kindOf(s)
	if !ok {
		n := b.named[s.Type]
		if inner := b.named[b.space+"."+s.Type]; inner != nil && !strings.Contains(s.Type, ".") {
			n = inner
		}
		if n == nil {
			return nil, &plan.Error{Class: classSchemaParse,
				Msg: "The Avro schema names a type that it lacks: " + s.Type + "."}
		}
		return n, nil
	}
	n := &node{
		kind: k, logical: s.LogicalType, name: s.Name, space: s.Namespace, aliases: s.Aliases, symbols: s.Symbols,
		size: s.Size, precision: s.Precision, scale: s.Scale, otherwise: s.EnumDefault,
	}
	n.spark, _ = s.Props["spark.sql.catalyst.type"].(string)
	if k == kindRecord || k == kindEnum || k == kindFixed {
		if dot := strings.LastIndexByte(n.name, '.'); dot >= 0 {
			n.space, n.name = n.name[:dot], n.name[dot+1:]
		}
		b.named[n.fullName()] = n
		defer func(space string) { b.space = space }(b.space)
		b.space = n.space
	}
	for i := range s.Branches {
		of, err := b.node(&s.Branches[i])
		if err != nil {
			return nil, err
		}
		n.branches = append(n.branches, of)
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		of, err := b.node(&f.Type)
		if err != nil {
			return nil, err
		}
		n.fields = append(n.fields, field{f.Name, of, f.Aliases, f.HasDefault, f.Default})
	}
	items := s.Items
	if k == kindMap {
		items = s.Values
	}
	if k == kindArray || k == kindMap {
		of, err := b.node(items)
		if err != nil {
			return nil, err
		}
		n.items = of
	}
	return n, nil
}

func kindOf(s *spec.SchemaNode) (kind, bool) {
	for k, name := range kindNames {
		if s.Type == name {
			return kind(k), true
		}
	}
	return kindRecord, s.Type == "error"
}

// fullName is the name of a named type with its namespace; the kind of others.
func (n *node) fullName() string {
	switch {
	case n.kind != kindRecord && n.kind != kindEnum && n.kind != kindFixed:
		return n.kind.String()
	case n.space == "":
		return n.name
	}
	return n.space + "." + n.name
}

// shown is a schema in an error.
func (n *node) shown() string {
	switch {
	case n.kind == kindUnion:
		var parts []string
		for _, b := range n.branches {
			parts = append(parts, b.shown())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case n.kind == kindArray || n.kind == kindMap:
		return n.kind.String() + " of " + n.items.shown()
	case n.kind == kindRecord || n.kind == kindEnum || n.kind == kindFixed:
		return n.kind.String() + " " + n.fullName()
	case n.logical != "":
		return n.kind.String() + " (" + n.logical + ")"
	}
	return n.kind.String()
}

// smallest fills in min, by going over the graph until nothing changes: a record
// that contains itself without a way out has no values at all.
func smallest(root *node) {
	seen := map[*node]bool{}
	var order []*node
	var walk func(n *node)
	walk = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, f := range n.fields {
			walk(f.of)
		}
		for _, b := range n.branches {
			walk(b)
		}
		if n.items != nil {
			walk(n.items)
		}
		order = append(order, n)
	}
	walk(root)
	for range 2 {
		for _, n := range order {
			n.min = 1
			switch n.kind {
			case kindNull:
				n.min = 0
			case kindFixed:
				n.min = min(n.size, 1)
			case kindRecord:
				n.min = 0
				for _, f := range n.fields {
					n.min = max(n.min, f.of.min)
				}
			}
		}
	}
}

// withoutNull are the branches of a union that are not null.
func (n *node) withoutNull() []*node {
	var out []*node
	for _, b := range n.branches {
		if b.kind != kindNull {
			out = append(out, b)
		}
	}
	return out
}

// pair reports whether a union is of two kinds and nothing else.
func pair(branches []*node, a, b kind) bool {
	return len(branches) == 2 && (branches[0].kind == a && branches[1].kind == b ||
		branches[0].kind == b && branches[1].kind == a)
}
