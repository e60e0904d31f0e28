package exec

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
)

// TestProcessorsFollowThemselves says what may change between runs; the conditions
// and the JSON are those of Spark 4.3.0.
func TestProcessorsFollowThemselves(t *testing.T) {
	const before = `{"timeMode":"NoTime","outputMode":"Update","stateVariables":[` +
		`{"stateName":"l","stateVariableType":"ListState","ttlEnabled":false},` +
		`{"stateName":"n","stateVariableType":"ValueState","ttlEnabled":false}]}`
	list := Variable{Name: "l", Kind: ListState, Value: plan.Struct()}
	value := Variable{Name: "n", Kind: ValueState, Value: plan.Struct()}
	cases := []struct {
		name      string
		node      plan.TransformPython
		processor Processor
		condition string
		want      string
	}{
		{"the same", plan.TransformPython{Mode: plan.UpdateMode},
			Processor{Variables: []Variable{value, list}}, "", before},
		{"one not mentioned", plan.TransformPython{Mode: plan.UpdateMode},
			Processor{Variables: []Variable{list}}, "", before},
		{"one deleted", plan.TransformPython{Mode: plan.UpdateMode},
			Processor{Variables: []Variable{value}, Deleted: []string{"l"}}, "",
			`{"timeMode":"NoTime","outputMode":"Update","stateVariables":[` +
				`{"stateName":"n","stateVariableType":"ValueState","ttlEnabled":false}]}`},
		{"another kind", plan.TransformPython{Mode: plan.UpdateMode},
			Processor{Variables: []Variable{{Name: "n", Kind: ListState}}},
			"STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE", ""},
		{"another time mode", plan.TransformPython{Mode: plan.UpdateMode, Time: plan.EventTime}, Processor{},
			"STATE_STORE_INVALID_CONFIG_AFTER_RESTART", ""},
		{"another output mode", plan.TransformPython{Mode: plan.AppendMode}, Processor{},
			"STATE_STORE_INVALID_CONFIG_AFTER_RESTART", ""},
	}
	for _, c := range cases {
		p := propertiesOf(&c.node, &c.processor)
		err := p.Follow(before)
		var e *plan.Error
		if c.condition != "" {
			if !errors.As(err, &e) || e.Condition != c.condition {
				t.Errorf("%s: %v, want %s", c.name, err, c.condition)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, p.Encode()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
