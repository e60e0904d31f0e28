package analyze

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

var setNames = [...]string{plan.Union: "UNION", plan.Intersect: "INTERSECT", plan.Except: "EXCEPT"}

// operatorName is the set operation in errors.
func operatorName(n *plan.SetOp) string {
	name := setNames[n.Kind]
	if n.All && n.Kind != plan.Union {
		name += " ALL"
	}
	return name
}

func (r *resolver) setOp(n *plan.SetOp) (plan.Node, error) {
	if len(n.Inputs) == 0 {
		return nil, malformed("a set operation has no inputs")
	}
	inputs := make([]plan.Node, len(n.Inputs))
	for i, in := range n.Inputs {
		var err error
		if inputs[i], err = r.node(in); err != nil {
			return nil, err
		}
	}
	if n.ByName {
		var err error
		if inputs, err = r.byName(inputs, n.AllowMissing); err != nil {
			return nil, err
		}
	}
	types, err := r.setTypes(n, inputs)
	if err != nil {
		return nil, err
	}
	for i, in := range inputs {
		inputs[i] = r.castColumns(in, types)
	}
	m := &plan.SetOp{Kind: n.Kind, Inputs: inputs, All: n.All, Origin: n.Origin}
	if err := r.setElements(m); err != nil {
		return nil, err
	}
	m.Attrs = r.setColumns(m)
	if m.Kind == plan.Union && !m.All {
		m.All = true
		return distinct(m), nil
	}
	return m, nil
}

// distinct is SELECT DISTINCT: an aggregation by every column.
func distinct(in plan.Node) plan.Node {
	keys := attributeExprs(in.Output())
	return plan.NewAggregate(in, keys, keys)
}

// setTypes are the columns' types of a set operation: what those of its inputs
// can all be cast to.
func (r *resolver) setTypes(n *plan.SetOp, inputs []plan.Node) ([]plan.Type, error) {
	first := inputs[0].Output()
	types := make([]plan.Type, len(first))
	for j, a := range first {
		types[j] = a.Of
	}
	for i, in := range inputs[1:] {
		attrs := in.Output()
		if len(attrs) != len(first) {
			return nil, plan.AnalysisError("NUM_COLUMNS_MISMATCH",
				fmt.Sprintf("the first input of %s has %d columns, the %s has %d.", setNames[n.Kind],
					len(first), ordinalWord(i+1), len(attrs)),
				"operator", operatorName(n), "firstNumColumns", fmt.Sprint(len(first)),
				"invalidOrdinalNum", ordinalWord(i+1), "invalidNumColumns", fmt.Sprint(len(attrs))).At(n.Origin)
		}
		for j, a := range attrs {
			t, ok := function.CommonType(types[j], a.Of, r.Eval)
			if !ok {
				return nil, plan.AnalysisError("INCOMPATIBLE_COLUMN_TYPE",
					fmt.Sprintf("the %s column of the %s input of %s is %s, which does not fit %s.", ordinalWord(j),
						ordinalWord(i+1), setNames[n.Kind], a.Of.SQL(), types[j].SQL()),
					"operator", operatorName(n), "columnOrdinalNumber", ordinalWord(j),
					"tableOrdinalNumber", ordinalWord(i+1), "dataType1", sqlType(a.Of),
					"dataType2", sqlType(first[j].Of), "hint", "").At(n.Origin)
			}
			types[j] = t
		}
	}
	return types, nil
}

// castColumns casts a relation's columns to types.
func (r *resolver) castColumns(in plan.Node, types []plan.Type) plan.Node {
	attrs := in.Output()
	list := make([]plan.Expr, len(attrs))
	changed := false
	for j, a := range attrs {
		list[j] = a
		if !a.Of.EqualIgnoringNull(types[j]) {
			changed = true
			list[j] = &plan.Alias{Child: r.implicitly(a, types[j]), Names: []string{a.Name}, ID: r.IDs.Next()}
		}
	}
	if !changed {
		return in
	}
	return plan.NewProject(in, list...)
}

// setElements refuses the types that rows cannot be compared by.
func (r *resolver) setElements(n *plan.SetOp) error {
	if n.Kind == plan.Union && n.All {
		return nil
	}
	return noMaps(n.Inputs[0].Output(), n.Origin)
}

func noMaps(attrs []*plan.Attribute, at *plan.Origin) error {
	for _, a := range attrs {
		kind := ""
		switch {
		case holds(a.Of, plan.KindMap):
			kind = "MAP"
		case holds(a.Of, plan.KindVariant):
			kind = "VARIANT"
		default:
			continue
		}
		return plan.AnalysisError("UNSUPPORTED_FEATURE.SET_OPERATION_ON_"+kind+"_TYPE",
			fmt.Sprintf("rows with the column %s of type %s cannot be compared.", a.Name, a.Of.SQL()),
			"colName", plan.Quote(a.Name), "dataType", sqlType(a.Of)).At(at)
	}
	return nil
}

func holds(t plan.Type, kind plan.Kind) bool {
	switch t.Kind {
	case kind:
		return true
	case plan.KindArray:
		return holds(*t.Elem, kind)
	case plan.KindMap:
		return holds(*t.Key, kind) || holds(*t.Elem, kind)
	case plan.KindStruct:
		for _, f := range t.Fields {
			if holds(f.Type, kind) {
				return true
			}
		}
	}
	return false
}

// setColumns are the result's columns: the first input's names and event times,
// nullable where a row of the result can be NULL.
func (r *resolver) setColumns(n *plan.SetOp) []*plan.Attribute {
	first := n.Inputs[0].Output()
	out := make([]*plan.Attribute, len(first))
	for j, a := range first {
		b := r.attribute(a.Name, a.Of, a.Null)
		b.Metadata, b.EventTime = a.Metadata, a.EventTime
		for _, in := range n.Inputs[1:] {
			other := in.Output()[j]
			switch n.Kind {
			case plan.Union:
				b.Null = b.Null || other.Null
				b.Of = mergedNulls(b.Of, other.Of)
			case plan.Intersect:
				b.Null = b.Null && other.Null
			}
		}
		out[j] = b
	}
	return out
}

// mergedNulls is a type whose parts may be NULL where those of either may.
func mergedNulls(a, b plan.Type) plan.Type {
	switch a.Kind {
	case plan.KindArray:
		return plan.Array(mergedNulls(*a.Elem, *b.Elem), a.ContainsNull || b.ContainsNull)
	case plan.KindMap:
		key, value := mergedNulls(*a.Key, *b.Key), mergedNulls(*a.Elem, *b.Elem)
		return plan.Map(key, value, a.ContainsNull || b.ContainsNull)
	case plan.KindStruct:
		fields := make([]plan.Field, len(a.Fields))
		for i, f := range a.Fields {
			g := b.Fields[i]
			fields[i] = plan.Field{Name: f.Name, Type: mergedNulls(f.Type, g.Type), Nullable: f.Nullable || g.Nullable,
				Metadata: f.Metadata}
		}
		return plan.Struct(fields...)
	default:
		return a
	}
}

// byName puts the columns of every input in the order of the first one's names.
func (r *resolver) byName(inputs []plan.Node, allowMissing bool) ([]plan.Node, error) {
	for i := 1; i < len(inputs); i++ {
		left, right, err := r.byNamePair(inputs[0], inputs[i], allowMissing)
		if err != nil {
			return nil, err
		}
		if left != inputs[0] {
			for k := range i {
				if inputs[k], _, err = r.byNamePair(inputs[k], left, true); err != nil {
					return nil, err
				}
			}
			inputs[0] = left
		}
		inputs[i] = right
	}
	return inputs, nil
}

func (r *resolver) byNamePair(left, right plan.Node, allowMissing bool) (plan.Node, plan.Node, error) {
	l, rs := left.Output(), newScope(right.Output(), r.CaseSensitive)
	if err := r.noDuplicates(attributeNames(l)); err != nil {
		return nil, nil, err
	}
	if err := r.noDuplicates(attributeNames(rs.attrs)); err != nil {
		return nil, nil, err
	}
	var list []plan.Expr
	for _, a := range l {
		found := rs.named(a.Name)
		switch {
		case len(found) > 0:
			list = append(list, found[0])
		case allowMissing:
			list = append(list, r.absentColumn(a))
		default:
			return nil, nil, amongFields(a.Name, rs.attrs)
		}
	}
	var more []*plan.Attribute
	for _, b := range rs.attrs {
		if len(newScope(l, r.CaseSensitive).named(b.Name)) == 0 {
			more = append(more, b)
		}
	}
	if len(more) > 0 && !allowMissing {
		return left, plan.NewProject(right, withAttributes(list, more)...), nil
	}
	if len(more) > 0 {
		wide := attributeExprs(l)
		for _, b := range more {
			wide = append(wide, r.absentColumn(b))
		}
		left = plan.NewProject(left, wide...)
	}
	return left, plan.NewProject(right, withAttributes(list, more)...), nil
}

func (r *resolver) absentColumn(a *plan.Attribute) plan.Expr {
	return &plan.Alias{Child: plan.Lit(nil, a.Of), Names: []string{a.Name}, ID: r.IDs.Next()}
}

func attributeNames(attrs []*plan.Attribute) []string {
	names := make([]string, len(attrs))
	for i, a := range attrs {
		names[i] = a.Name
	}
	return names
}

// amongFields says that a relation has no column of a name.
func amongFields(name string, attrs []*plan.Attribute) *plan.Error {
	fields := strings.Join(attributeNames(attrs), ", ")
	return plan.AnalysisError("UNRESOLVED_COLUMN_AMONG_FIELD_NAMES",
		fmt.Sprintf("there is no column %s among %s.", name, fields), "colName", name, "fieldNames", fields)
}

// noDuplicates refuses a name that is given twice.
func (r *resolver) noDuplicates(names []string) error {
	seen := map[string]bool{}
	for _, n := range names {
		key := n
		if !r.CaseSensitive {
			key = strings.ToLower(n)
		}
		if seen[key] {
			return plan.AnalysisError("COLUMN_ALREADY_EXISTS",
				fmt.Sprintf("the column %s is named twice.", plan.Quote(key)), "columnName", plan.Quote(key))
		}
		seen[key] = true
	}
	return nil
}
