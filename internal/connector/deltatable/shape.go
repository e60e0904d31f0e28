package deltatable

import (
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// shaper turns a column of one type into a column of another.
type shaper func(v *chunk.Vector) (*chunk.Vector, error)

// shaperFor finds the fields of structs by their names and casts what is no struct; nil
// when the types are the same.
func shaperFor(env *connector.Env, from, to plan.Type) (shaper, error) {
	switch {
	case from.Unbounded().EqualIgnoringNull(to):
		return nil, nil
	case from.Kind == plan.KindStruct && to.Kind == plan.KindStruct:
		return structShaper(env, from, to)
	case from.Kind == plan.KindArray && to.Kind == plan.KindArray:
		return partShaper(env, to, []plan.Type{*from.Elem}, []plan.Type{*to.Elem})
	case from.Kind == plan.KindMap && to.Kind == plan.KindMap:
		return partShaper(env, to, []plan.Type{*from.Key, *from.Elem}, []plan.Type{*to.Key, *to.Elem})
	}
	cast, err := function.CastKernel(from, to, plan.CastANSI, env.Eval)
	if err != nil {
		return nil, err
	}
	return func(v *chunk.Vector) (*chunk.Vector, error) { return cast([]*chunk.Vector{v}, nil, v.Len) }, nil
}

// partShaper shapes the elements of arrays, or keys and values of maps.
func partShaper(env *connector.Env, to plan.Type, have, want []plan.Type) (shaper, error) {
	parts := make([]shaper, len(have))
	for i := range have {
		var err error
		if parts[i], err = shaperFor(env, have[i], want[i]); err != nil {
			return nil, err
		}
	}
	return func(v *chunk.Vector) (*chunk.Vector, error) {
		out := *v
		out.Type, out.Kids = to, make([]*chunk.Vector, len(parts))
		for i, part := range parts {
			var err error
			if out.Kids[i], err = shaped(part, v.Kids[i]); err != nil {
				return nil, err
			}
		}
		return &out, nil
	}, nil
}

func shaped(s shaper, v *chunk.Vector) (*chunk.Vector, error) {
	if s == nil {
		return v, nil
	}
	return s(v)
}

// structShaper finds fields by name; those that the data lacks are NULL.
func structShaper(env *connector.Env, from, to plan.Type) (shaper, error) {
	places := make([]int, len(to.Fields))
	parts := make([]shaper, len(to.Fields))
	for i, f := range to.Fields {
		places[i] = -1
		for k, have := range from.Fields {
			if strings.EqualFold(have.Name, f.Name) {
				places[i] = k
			}
		}
		if places[i] < 0 {
			continue
		}
		var err error
		if parts[i], err = shaperFor(env, from.Fields[places[i]].Type, f.Type); err != nil {
			return nil, err
		}
	}
	return func(v *chunk.Vector) (*chunk.Vector, error) {
		out := *v
		out.Type, out.Kids = to, make([]*chunk.Vector, len(places))
		for i, at := range places {
			if at < 0 {
				out.Kids[i] = chunk.NullVector(to.Fields[i].Type, v.Len)
				continue
			}
			var err error
			if parts[i] == nil {
				out.Kids[i] = v.Kids[at]
			} else if out.Kids[i], err = parts[i](v.Field(at)); err != nil { // not what NULL structs hold
				return nil, err
			}
		}
		return &out, nil
	}, nil
}

// shownValue is a value as errors show it.
func shownValue(v *chunk.Vector, row int, zone *time.Location) string {
	style := codec.TextStyle{Zone: codec.NewOffsets(zone)}
	return string(style.AppendValue(nil, v, row))
}
