package avro

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// fit reports how Spark refuses to read values of n as t. at is the path of the
// value, empty for the record of a row.
func (o *ReadOptions) fit(n *node, t plan.Type, at []string) error {
	switch n.kind {
	case kindNull:
		if t.Kind == plan.KindNull {
			return nil
		}
	case kindUnion:
		return o.fitUnion(n, t, at)
	case kindRecord:
		if t.Kind == plan.KindStruct {
			return o.fitRecord(n, t, at)
		}
	case kindArray:
		if t.Kind == plan.KindArray {
			return o.fit(n.items, *t.Elem, append(at[:len(at):len(at)], "element"))
		}
	case kindMap:
		if t.Kind == plan.KindMap && t.Key.IsString() {
			return o.fit(n.items, *t.Elem, append(at[:len(at):len(at)], "value"))
		}
	case kindBytes, kindFixed:
		if t.Kind == plan.KindDecimal && n.logical == "decimal" {
			return fitDecimal(n, t, at)
		}
		if t.Kind == plan.KindBinary {
			return nil
		}
	default:
		if fitsPlain(n, t) {
			return nil
		}
	}
	return misfit(n, t, at)
}

func misfit(n *node, t plan.Type, at []string) error {
	return incompatible("The Avro field %s is %s, which cannot be read as %s.", path(at), n.shown(), t.SQL())
}

func path(at []string) string {
	if len(at) == 0 {
		return "of the whole record"
	}
	return strings.Join(at, ".")
}

func fitsPlain(n *node, t plan.Type) bool {
	switch n.kind {
	case kindBoolean:
		return t.Kind == plan.KindBoolean
	case kindInt:
		switch t.Kind {
		case plan.KindInt, plan.KindDate, plan.KindYearMonth, plan.KindLong, plan.KindDouble:
			return true
		}
	case kindLong:
		switch t.Kind {
		case plan.KindLong, plan.KindDate, plan.KindDayTime:
			return true
		case plan.KindTimestamp:
			return n.logical != "local-timestamp-millis" && n.logical != "local-timestamp-micros"
		case plan.KindTimestampNTZ:
			return n.logical != "timestamp-millis" && n.logical != "timestamp-micros"
		}
	case kindFloat:
		return t.Kind == plan.KindFloat || t.Kind == plan.KindDouble
	case kindDouble:
		return t.Kind == plan.KindDouble
	case kindString, kindEnum:
		return t.Kind == plan.KindString
	}
	return false
}

func fitDecimal(n *node, t plan.Type, at []string) error {
	if t.Precision-t.Scale >= n.precision-n.scale && t.Scale >= n.scale {
		return nil
	}
	is := fmt.Sprintf("decimal(%d,%d)", n.precision, n.scale)
	return plan.AnalysisError("AVRO_INCOMPATIBLE_READ_TYPE",
		fmt.Sprintf("The Avro field %s is %s; read as %s its values would change.", path(at), is, t.SQL()),
		"avroPath", "field '"+path(at)+"'", "sqlPath", "field '"+path(at)+"'", "avroType", is,
		"sqlType", `"`+t.SQL()+`"`)
}

func (o *ReadOptions) fitUnion(n *node, t plan.Type, at []string) error {
	members := n.withoutNull()
	switch {
	case len(members) == 0:
		return nil
	case len(members) == 1:
		return o.fit(members[0], t, at)
	case pair(members, kindInt, kindLong) && t.Kind == plan.KindLong,
		pair(members, kindFloat, kindDouble) && t.Kind == plan.KindDouble:
		return nil
	case t.Kind != plan.KindStruct || len(t.Fields) != len(members):
		return misfit(n, t, at)
	}
	for i, m := range members {
		if err := o.fit(m, t.Fields[i].Type, append(at[:len(at):len(at)], t.Fields[i].Name)); err != nil {
			return err
		}
	}
	return nil
}

func (o *ReadOptions) fitRecord(n *node, t plan.Type, at []string) error {
	for i, f := range t.Fields {
		k, err := o.find(n, i, f.Name, at)
		if err == nil && k < 0 && !f.Nullable {
			err = incompatible("The Avro records have no field %s, which may not be NULL.",
				path(append(at[:len(at):len(at)], f.Name)))
		}
		if err == nil && k >= 0 {
			err = o.fit(n.fields[k].of, f.Type, append(at[:len(at):len(at)], f.Name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// find is the field of a record for column i, -1 for none.
func (o *ReadOptions) find(n *node, i int, name string, at []string) (int, error) {
	if o.Positional {
		if i < len(n.fields) {
			return i, nil
		}
		return -1, nil
	}
	found := -1
	for k, f := range n.fields {
		switch {
		case f.name != name && (o.CaseSensitive || !strings.EqualFold(f.name, name)):
		case found >= 0:
			return 0, incompatible("The Avro fields %s and %s of %s are both the column %s.",
				n.fields[found].name, f.name, path(at), name)
		default:
			found = k
		}
	}
	return found, nil
}
