package avro

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

const classIncompatible = "org.apache.spark.sql.avro.IncompatibleSchemaException"

func incompatible(format string, args ...any) *plan.Error {
	return &plan.Error{Class: classIncompatible, Msg: fmt.Sprintf(format, args...)}
}

// TypeOptions say how schemas become types of columns.
type TypeOptions struct {
	// StableUnions names the members of a union by their types, behind Prefix.
	StableUnions bool
	Prefix       string // member_ when empty
	// Depth is how often a record may occur in itself; 0 refuses it.
	Depth int
}

// MaxDepth is the largest Depth.
const MaxDepth = 15

// Type is the type of a schema's values as Spark reads them, and whether they
// may be NULL.
func (s *Schema) Type(o TypeOptions) (t plan.Type, nullable bool, err error) {
	c := converter{o: o, around: map[string]int{}}
	if c.o.Prefix == "" {
		c.o.Prefix = "member_"
	}
	p, err := c.convert(s.root)
	if err == nil && p == nil {
		err = incompatible("The Avro schema is empty at recursiveFieldMaxDepth=%d.", o.Depth)
	}
	if err != nil {
		return plan.Type{}, false, err
	}
	return p.of, p.null, nil
}

// Columns is the type of a file's rows, whose schema must be a record.
func (s *Schema) Columns(o TypeOptions) (plan.Type, error) {
	t, _, err := s.Type(o)
	if err == nil && t.Kind != plan.KindStruct {
		err = &plan.Error{Class: "java.lang.RuntimeException",
			Msg: "The Avro schema is not of records with columns but " + s.root.shown() + "."}
	}
	return t, err
}

type converter struct {
	o      TypeOptions
	around map[string]int // records that a node stands within
}

// part is a type; a nil one is cut off, where a record may not occur again.
type part struct {
	of   plan.Type
	null bool
}

func some(t plan.Type) *part { return &part{of: t} }

func (c *converter) convert(n *node) (*part, error) {
	switch n.kind {
	case kindNull:
		return &part{plan.Null, true}, nil
	case kindBoolean:
		return some(plan.Boolean), nil
	case kindFloat:
		return some(plan.Float), nil
	case kindDouble:
		return some(plan.Double), nil
	case kindString, kindEnum:
		return some(plan.String), nil
	case kindBytes, kindFixed:
		if n.logical == "decimal" {
			return some(plan.Decimal(n.precision, n.scale)), nil
		}
		return some(plan.Binary), nil
	case kindInt, kindLong:
		return c.integer(n)
	case kindRecord:
		return c.record(n)
	case kindUnion:
		return c.union(n)
	}
	items, err := c.convert(n.items)
	if err != nil || items == nil {
		return nil, err
	}
	if n.kind == kindMap {
		return some(plan.Map(plan.String, items.of, items.null)), nil
	}
	return some(plan.Array(items.of, items.null)), nil
}

func (c *converter) integer(n *node) (*part, error) {
	switch n.logical {
	case "date":
		return some(plan.Date), nil
	case "timestamp-millis", "timestamp-micros":
		return some(plan.Timestamp), nil
	case "local-timestamp-millis", "local-timestamp-micros":
		return some(plan.TimestampNTZ), nil
	case "time-millis", "time-micros":
		return nil, plan.AnalysisError("UNSUPPORTED_TIME_TYPE",
			"The type TIME of Avro's "+n.logical+" is not supported.")
	case "timestamp-nanos", "local-timestamp-nanos":
		return nil, plan.NewError(plan.ClassSpark, "FEATURE_NOT_ENABLED",
			"Timestamps of nanoseconds are not supported: give a schema that reads them as BIGINT.",
			"featureName", "Nanosecond-precision timestamp types",
			"configKey", "spark.sql.timestampNanosTypes.enabled", "configValue", "true")
	}
	if n.spark != "" {
		if t, err := plan.ParseTypeJSON(strconv.Quote(n.spark)); err == nil && t.IsInterval() {
			return some(t), nil
		}
	}
	if n.kind == kindInt {
		return some(plan.Int), nil
	}
	return some(plan.Long), nil
}

func (c *converter) record(n *node) (*part, error) {
	name := n.fullName()
	depth := c.around[name]
	switch {
	case depth > 0 && c.o.Depth <= 0:
		return nil, incompatible("The Avro record %s contains itself: set recursiveFieldMaxDepth to "+
			"how deep it is "+
			"to be read, from 1 to %d.", name, MaxDepth)
	case c.o.Depth > 0 && depth >= c.o.Depth:
		return nil, nil
	}
	c.around[name]++
	defer func() { c.around[name]-- }()
	t := plan.Struct()
	for _, f := range n.fields {
		p, err := c.convert(f.of)
		if err != nil {
			return nil, err
		}
		if p != nil {
			t.Fields = append(t.Fields, plan.Field{Name: f.name, Type: p.of, Nullable: p.null})
		}
	}
	return some(t), nil
}

func (c *converter) union(n *node) (*part, error) {
	members := n.withoutNull()
	null := len(members) < len(n.branches)
	var p *part
	var err error
	switch {
	case len(members) == 1:
		p, err = c.convert(members[0])
	case pair(members, kindInt, kindLong):
		p = some(plan.Long)
	case pair(members, kindFloat, kindDouble):
		p = some(plan.Double)
	default:
		p, err = c.members(members)
	}
	if p != nil && null {
		p = &part{p.of, true}
	}
	return p, err
}

// members is the struct of a union, a field for each branch.
func (c *converter) members(branches []*node) (*part, error) {
	t := plan.Struct()
	seen := map[string]bool{}
	for i, b := range branches {
		p, err := c.convert(b)
		if err != nil {
			return nil, err
		}
		if p == nil {
			continue
		}
		name := "member" + strconv.Itoa(i)
		if c.o.StableUnions {
			name = c.o.Prefix + b.kind.String()
			if b.kind == kindRecord || b.kind == kindEnum || b.kind == kindFixed {
				name = c.o.Prefix + b.name
			}
			if low := strings.ToLower(name); seen[low] {
				return nil, incompatible("Two members of an Avro union would be called %s.", name)
			}
			seen[strings.ToLower(name)] = true
		}
		t.Fields = append(t.Fields, plan.Col(name, p.of))
	}
	return some(t), nil
}
