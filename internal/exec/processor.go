package exec

import (
	"context"
	"encoding/json"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/rowkey"
	"github.com/weir-dev/weir/internal/state"
)

// Processor is what a stateful processor says of itself when it is asked to
// begin: its state depends on that.
type Processor struct {
	Variables []Variable
	Deleted   []string // variables of an earlier run that are to go
}

// Kinds of variables.
const (
	ValueState = "ValueState"
	ListState  = "ListState"
	MapState   = "MapState"
)

// Variable is a state variable.
type Variable struct {
	Name  string
	Kind  string
	Key   plan.Type // of maps
	Value plan.Type
	TTL   int64 // in ms, 0 for none
}

// HasProcessor tells whether a plan has a stateful processor.
func HasProcessor(n plan.Node) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool { _, ok := m.(*plan.TransformPython); return !ok })
}

// describedProcessor is a Processor on the wire.
type describedProcessor struct {
	Variables []struct {
		Name, Kind string
		Key, Value json.RawMessage
		TTL        int64
	}
	Deleted []string
}

// Describe asks a stateful processor for its variables; plans are compiled with it.
type Describe func(*plan.TransformPython) (*Processor, error)

// Describing asks processors in the user's Python. parse reads their schemas where
// they are text.
func Describing(ctx context.Context, py *Python, parse func(string) (plan.Type, error)) Describe {
	return func(n *plan.TransformPython) (*Processor, error) {
		d := description{parse: parse}
		return d.of(ctx, n, py)
	}
}

// description is a processor being asked.
type description struct {
	parse func(string) (plan.Type, error)
	said  []byte
}

func (d *description) of(ctx context.Context, n *plan.TransformPython, py *Python) (*Processor, error) {
	call := pyworker.Call{
		Shape: pyworker.Describe, Version: n.Func.PythonVersion, Input: plan.Struct(), Output: plan.Struct(),
		Functions: []pyworker.Function{{Pickle: n.Func.Command, Eval: n.Func.EvalType}},
		State:     &pyworker.Stateful{Told: map[string]string{"timeMode": n.Time.String()}, Asked: d.hear},
	}
	x, err := py.begin(ctx, n.Func.Name, call)
	if err != nil {
		return nil, err
	}
	if err := x.End(func(*chunk.Chunk) bool { return true }); err != nil {
		return nil, err
	}
	return parseProcessor(d.said)
}

// hear takes the description, or a schema to be read.
func (d *description) hear(text []byte) (pyworker.Turn, error) {
	var asked struct{ Parse *string }
	if err := json.Unmarshal(text, &asked); err != nil {
		return pyworker.Turn{}, err
	}
	if asked.Parse == nil {
		d.said = text
		return pyworker.Turn{}, nil
	}
	t, err := d.parse(*asked.Parse)
	if err != nil {
		return pyworker.Turn{Note: map[string]string{"Error": err.Error()}}, nil
	}
	return pyworker.Turn{Note: map[string]json.RawMessage{"Type": json.RawMessage(t.JSON())}}, nil
}

func parseProcessor(text []byte) (*Processor, error) {
	var d describedProcessor
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	p := &Processor{Deleted: d.Deleted}
	for _, v := range d.Variables {
		out := Variable{Name: v.Name, Kind: v.Kind, TTL: v.TTL}
		var err error
		if out.Value, err = plan.ParseTypeJSON(string(v.Value)); err != nil {
			return nil, err
		}
		if v.Kind == MapState {
			if out.Key, err = plan.ParseTypeJSON(string(v.Key)); err != nil {
				return nil, err
			}
			if err := rowkey.Comparable(out.Key); err != nil {
				return nil, err
			}
		}
		p.Variables = append(p.Variables, out)
	}
	return p, nil
}

// Names of columns of variables' tables, as format("statestore") shows them.
const (
	ttlColumn    = "ttlExpirationMs"
	timersName   = "$timers"
	elementIndex = "$index"
)

// table is what holds a variable, by group.
func (v *Variable) table(keys []state.Column) state.Shape {
	s := state.Shape{Name: v.Name, Key: keys, Value: []state.Column{{Name: "value", Type: v.Value}}}
	if v.TTL > 0 {
		s.Value = append(s.Value, state.Column{Name: ttlColumn, Type: plan.Long})
		s.Expiry, s.Millis = 2, true
	}
	switch v.Kind {
	case ListState:
		s.Prefix = len(keys)
		s.Key = append(keys[:len(keys):len(keys)], state.Column{Name: elementIndex, Type: plan.Long})
	case MapState:
		s.Prefix = len(keys)
		s.Key = append(keys[:len(keys):len(keys)], state.Column{Name: "user_map_key", Type: v.Key})
	}
	return s
}

// timersTable holds the timers of groups.
func timersTable(keys []state.Column) state.Shape {
	return state.Shape{
		Name: timersName, Prefix: len(keys), ExpiryKey: len(keys) + 1, Millis: true,
		Key: append(keys[:len(keys):len(keys)], state.Column{Name: "expiryTimestampMs", Type: plan.Long}),
	}
}

// element is what the worker gets of a row of a list, a map or the timers.
func (v *Variable) element() plan.Type {
	if v.Kind == MapState {
		return plan.Struct(plan.Col("key", v.Key), plan.Col("value", v.Value))
	}
	return plan.Struct(plan.Col("value", v.Value))
}

// timersVariable is the timers seen as a list.
func timersVariable() Variable {
	return Variable{Name: timersName, Kind: ListState, Value: plan.Long}
}

// change is what the worker gives back of a variable.
func (v *Variable) change() plan.Type {
	fields := []plan.Field{plan.Col("group", plan.Int), plan.Col("what", plan.Int)}
	return plan.Struct(append(fields, v.element().Fields...)...)
}

// toldVariable is a variable as the worker hears of it.
type toldVariable struct {
	Name  string          `json:"name"`
	Kind  string          `json:"kind"`
	Key   json.RawMessage `json:"key,omitempty"`
	Value json.RawMessage `json:"value"`
}

func (v *Variable) told() toldVariable {
	t := toldVariable{Name: v.Name, Kind: v.Kind, Value: json.RawMessage(v.Value.JSON())}
	if v.Kind == MapState {
		t.Key = json.RawMessage(v.Key.JSON())
	}
	return t
}
