package exec

import (
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
)

func propertiesOf(n *plan.TransformPython, p *Processor) *state.Properties {
	out := &state.Properties{
		TimeMode: n.Time.String(), OutputMode: n.Mode.String(), Variables: []state.VariableProperty{},
		Deleted: p.Deleted,
	}
	for _, v := range p.Variables {
		out.Variables = append(out.Variables, state.VariableProperty{
			Name: v.Name, Kind: v.Kind, TTL: v.TTL > 0,
		})
	}
	out.Sort()
	return out
}
