package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Properties are what a checkpoint says of a stateful processor, in Spark's form.
type Properties struct {
	TimeMode   string             `json:"timeMode"`
	OutputMode string             `json:"outputMode"`
	Variables  []VariableProperty `json:"stateVariables"`

	// Deleted are variables that are given up.
	Deleted []string `json:"-"`
}

// VariableProperty is a variable of a processor.
type VariableProperty struct {
	Name string `json:"stateName"`
	Kind string `json:"stateVariableType"`
	TTL  bool   `json:"ttlEnabled"`
}

// Sort puts the variables in the order of their names.
func (p *Properties) Sort() {
	slices.SortFunc(p.Variables, func(a, b VariableProperty) int { return strings.Compare(a.Name, b.Name) })
}

// Encode is the properties as JSON.
func (p *Properties) Encode() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts and truth values
	}
	return string(data)
}

// Follow compares with the properties before, as JSON, and takes over the variables
// that are not mentioned any more: their state stays.
func (p *Properties) Follow(before string) error {
	var old Properties
	if err := json.Unmarshal([]byte(before), &old); err != nil {
		return fmt.Errorf("properties of an operator: %w", err)
	}
	if err := sameConfig("timeMode", old.TimeMode, p.TimeMode); err != nil {
		return err
	}
	if err := sameConfig("outputMode", old.OutputMode, p.OutputMode); err != nil {
		return err
	}
	for _, v := range old.Variables {
		if slices.Contains(p.Deleted, v.Name) {
			continue
		}
		at := slices.IndexFunc(p.Variables, func(w VariableProperty) bool { return w.Name == v.Name })
		if at < 0 {
			p.Variables = append(p.Variables, v)
		} else if now := p.Variables[at].Kind; now != v.Kind {
			return plan.NewError(plan.ClassUnsupported, "STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE",
				fmt.Sprintf("the state variable %s was a %s and is a %s: delete it first, or begin with a new "+
					"checkpoint.", v.Name, v.Kind, now),
				"stateVarName", v.Name, "newType", now, "oldType", v.Kind)
		}
	}
	p.Sort()
	return nil
}

func sameConfig(name, before, now string) error {
	if before == now {
		return nil
	}
	return plan.NewError(plan.ClassUnsupported, "STATE_STORE_INVALID_CONFIG_AFTER_RESTART",
		fmt.Sprintf("%s was %s and is %s: a checkpoint keeps to one.", name, before, now),
		"configName", name, "oldConfig", before, "newConfig", now)
}
