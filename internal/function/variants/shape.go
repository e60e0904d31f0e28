package variants

import (
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/codec/variant"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// shape is what variants have in common: an object, an array or a type, of which VARIANT says that they
// have nothing in common, and VOID that there was only null.
type shape struct {
	of     plan.Type
	object []fieldShape // sorted by name, when it is an object
	elem   *shape       // of an array
	kind   variant.Kind // Object, Array or any other
}

type fieldShape struct {
	name string
	of   *shape
}

// types are those of variants that have no parts.
var types = map[variant.Kind]plan.Type{
	variant.Null: plan.Null, variant.Boolean: plan.Boolean, variant.Long: plan.Long, variant.Double: plan.Double,
	variant.Float: plan.Float, variant.Date: plan.Date, variant.Timestamp: plan.Timestamp,
	variant.TimestampNTZ: plan.TimestampNTZ, variant.Binary: plan.Binary, variant.Text: plan.String,
}

// shapeOf is the shape of a variant with at most left values: the elements of a damaged one may share their
// bytes.
func shapeOf(v variant.Value, depth int, left *int) (*shape, error) {
	s := &shape{kind: v.Kind()}
	if *left--; depth > variant.MaxDepth || *left < 0 {
		return nil, variant.ErrTooLarge
	}
	switch s.kind {
	case variant.Unknown:
		return nil, variant.ErrMalformed
	case variant.Decimal:
		x, scale := cast.VariantDecimal(v)
		s.of = plan.Decimal(max(variant.Digits(x), scale), scale)
		return s, nil
	case variant.Object, variant.Array:
	default:
		of, ok := types[s.kind]
		if !ok {
			return nil, plan.Unsupported("schema_of_variant of TIME and UUID")
		}
		s.of = of
		return s, nil
	}
	list, err := v.List()
	if err != nil {
		return nil, err
	}
	s.elem = &shape{of: plan.Null}
	for i := range list.Len {
		e, err := list.At(i)
		if err != nil {
			return nil, err
		}
		of, err := shapeOf(e, depth+1, left)
		if err != nil {
			return nil, err
		}
		if s.kind == variant.Array {
			s.elem = merged(s.elem, of)
			continue
		}
		name, err := list.Name(i)
		if err != nil {
			return nil, err
		}
		s.object = append(s.object, fieldShape{string(name), of})
	}
	return s, nil
}

// merged is what two shapes have in common.
func merged(a, b *shape) *shape {
	nested := func(s *shape) bool { return s.kind == variant.Object || s.kind == variant.Array }
	switch {
	case !nested(a) && a.of.Kind == plan.KindNull:
		return b
	case !nested(b) && b.of.Kind == plan.KindNull:
		return a
	case a.kind == variant.Object && b.kind == variant.Object:
		return mergedObjects(a, b)
	case a.kind == variant.Array && b.kind == variant.Array:
		return &shape{kind: variant.Array, elem: merged(a.elem, b.elem)}
	case !nested(a) && !nested(b):
		if t, ok := common(a.of, b.of); ok {
			return &shape{of: t}
		}
	}
	return &shape{of: plan.Variant}
}

func mergedObjects(a, b *shape) *shape {
	out := &shape{kind: variant.Object, object: slices.Clone(a.object)}
	for _, f := range b.object {
		at, found := slices.BinarySearchFunc(out.object, f.name, func(g fieldShape, name string) int {
			return strings.Compare(g.name, name)
		})
		if found {
			out.object[at].of = merged(out.object[at].of, f.of)
		} else {
			out.object = slices.Insert(out.object, at, f)
		}
	}
	return out
}

// common is the type of values of two types; false when only a variant holds both.
func common(a, b plan.Type) (plan.Type, bool) {
	if a.EqualIgnoringNull(b) {
		return a, true
	}
	if !a.IsNumeric() || !b.IsNumeric() {
		return a, false
	}
	if fn.IsFloat(a) || fn.IsFloat(b) {
		return plan.Double, true
	}
	decimal := func(t plan.Type) plan.Type {
		if t.Kind == plan.KindLong {
			return plan.DecimalOf(plan.KindLong)
		}
		return t
	}
	a, b = decimal(a), decimal(b)
	scale := max(a.Scale, b.Scale)
	whole := max(a.Precision-a.Scale, b.Precision-b.Scale)
	if whole+scale > plan.MaxPrecision {
		return plan.Double, true
	}
	return plan.Decimal(whole+scale, scale), true
}

func (s *shape) print(b *strings.Builder) {
	switch s.kind {
	case variant.Array:
		b.WriteString("ARRAY<")
		s.elem.print(b)
		b.WriteByte('>')
	case variant.Object:
		b.WriteString("OBJECT<")
		for i, f := range s.object {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(plan.QuoteIfNeeded(f.name) + ": ")
			f.of.print(b)
		}
		b.WriteByte('>')
	default:
		b.WriteString(s.of.SQL())
	}
}
