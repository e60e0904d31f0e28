package statereader

import (
	"fmt"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
)

// The variables of stateful processors: a value by group, the elements of a list,
// the entries of a map. Rows are found by the group, which Spark calls the key.

// userKey is the column of a map's own keys.
const userKey = "user_map_key"

// pickVariable finds the table of the variable that is asked for.
func (q *query) pickVariable(shapes []state.Shape) error {
	if q.variable == "" {
		return plan.NewError(plan.ClassIllegal, "STDS_REQUIRED_OPTION_UNSPECIFIED",
			"a stateful processor has a table for each variable: name one.", "optionName", "stateVarName")
	}
	q.table = slices.IndexFunc(shapes, func(s state.Shape) bool { return s.Name == q.variable })
	if q.table < 0 || len(shapes[q.table].Value) == 0 {
		return badOption("stateVarName",
			fmt.Sprintf("State variable %s is not defined for the transformWithState operator.", q.variable))
	}
	return nil
}

// grouping is how many columns of the key are the group.
func (q *query) grouping() int {
	if q.shape.Prefix > 0 {
		return q.shape.Prefix
	}
	return len(q.shape.Key)
}

func (q *query) isMap() bool {
	return q.shape.Prefix > 0 && q.shape.Key[q.shape.Prefix].Name == userKey
}

// content is the type of a value, with the time that it lives until where it has
// one.
func (q *query) content() plan.Type {
	if len(q.shape.Value) == 1 {
		return q.shape.Value[0].Type
	}
	return structOf(q.shape.Value)
}

func (q *query) variableFields() []plan.Field {
	key := plan.Col("key", structOf(q.shape.Key[:q.grouping()]))
	switch {
	case q.shape.Prefix == 0:
		return []plan.Field{key, plan.Col("value", q.content())}
	case q.isMap():
		return []plan.Field{
			key, plan.Col(userKey, q.shape.Key[q.shape.Prefix].Type), plan.Col("user_map_value", q.content()),
		}
	default:
		return []plan.Field{key, plan.Col("list_element", q.content())}
	}
}

func (q *query) variableRows(t *state.Table, rows []int32) map[string]*chunk.Vector {
	fields, keys, values := q.variableFields(), t.Keys(rows), t.Values(rows)
	content := values[0]
	if len(values) > 1 {
		content = &chunk.Vector{Type: q.content(), Len: len(rows), Kids: values}
	}
	all := map[string]*chunk.Vector{
		fields[len(fields)-1].Name: content,
		"key":                      {Type: fields[0].Type, Len: len(rows), Kids: keys[:q.grouping()]},
	}
	if q.isMap() {
		all[userKey] = keys[q.shape.Prefix]
	}
	return all
}

// neverAs shows times that are not set as Spark does: as -1.
func neverAs(times []*chunk.Vector) []*chunk.Vector {
	out := make([]*chunk.Vector, len(times))
	for i, v := range times {
		shown := chunk.Make(v.Type, v.Len)
		for k, at := range chunk.Values[int64](v) {
			if v.IsNull(k) {
				at = -1
			}
			chunk.Values[int64](shown)[k] = at
		}
		out[i] = shown
	}
	return out
}
