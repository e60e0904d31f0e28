package cast

import (
	"errors"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// caster is one cast: between which types and what a value that does not fit
// becomes.
type caster struct {
	from, to plan.Type
	mode     plan.CastMode
	env      *fn.Env
}

// Kernel is the evaluator of a cast that Can allows. Its errors have no
// origin; see KernelOf.
func Kernel(from, to plan.Type, mode plan.CastMode, env *fn.Env) (fn.Kernel, error) {
	if mode == plan.CastDefault {
		mode = env.CastMode()
	}
	c := &caster{from: from, to: to, mode: mode, env: env}
	return c.kernel()
}

// KernelOf is the evaluator of a cast expression. Of its errors those that
// Spark ties to a place in the query have the cast's origin.
func KernelOf(e *plan.Cast, env *fn.Env) (fn.Kernel, error) {
	k, err := Kernel(e.Child.Type(), e.To, e.Mode, env)
	if err != nil || e.Origin == nil {
		return k, err
	}
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out, err := k(args, sel, n)
		if pe := (*plan.Error)(nil); err != nil && errors.As(err, &pe) && castErrorHasPlace(pe.Condition) {
			pe.At(e.Origin)
		}
		return out, err
	}, nil
}

func castErrorHasPlace(condition string) bool {
	return condition == "CAST_INVALID_INPUT" || condition == "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
}

func (c *caster) ansi() bool { return c.mode == plan.CastANSI }

// fail is what a row whose value does not fit becomes: the error, or NULL.
func (c *caster) fail(err *plan.Error) error {
	if c.ansi() {
		return err
	}
	return nil
}

func (c *caster) kernel() (fn.Kernel, error) {
	from, to := c.from, c.to
	switch {
	case from.Kind == plan.KindNull:
		return c.nulls(), nil
	case sameLayout(from, to):
		return c.retype(), nil
	case from.Kind == plan.KindVariant:
		return c.fromVariant(), nil
	case to.IsString():
		return c.toText(), nil
	case to.Kind == plan.KindVariant:
		return c.toVariant(), nil
	case from.IsString() && to.Kind == plan.KindTime:
		return nil, plan.Unsupported("CAST of " + from.SQL() + " AS " + to.SQL())
	case from.IsString():
		return c.fromText(), nil
	}
	switch {
	case to.Kind == plan.KindBoolean:
		return c.toBoolean(), nil
	case to.IsIntegral():
		return c.toInteger(), nil
	case to.Kind == plan.KindFloat || to.Kind == plan.KindDouble:
		return c.toFloat(), nil
	case to.Kind == plan.KindDecimal:
		return c.toDecimal(), nil
	case to.Kind == plan.KindBinary:
		return c.integerToBinary(), nil
	case to.Kind == plan.KindArray || to.Kind == plan.KindMap || to.Kind == plan.KindStruct:
		return c.toNested()
	default:
		return c.toTemporal(), nil
	}
}

// sameLayout reports whether a value of one type is one of the other as it
// stands.
func sameLayout(from, to plan.Type) bool {
	switch {
	case from.EqualIgnoringNull(to):
		return true
	case from.IsString() && (to.IsString() || to.Kind == plan.KindBinary):
		return true
	default:
		return from.Kind == plan.KindBinary && to.IsString()
	}
}

func (c *caster) retype() fn.Kernel {
	return func(args []*chunk.Vector, _ chunk.Sel, _ int) (*chunk.Vector, error) {
		v := *args[0]
		v.Type = c.to
		return &v, nil
	}
}

func (c *caster) nulls() fn.Kernel {
	return func(_ []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		return chunk.NullVector(c.to, n), nil
	}
}

// mapped is a kernel over one fixed-width argument; ok false is a value that
// does not fit, which err describes.
func mapped[A, R chunk.Fixed](c *caster, row func(x A) (r R, ok bool), err func(x A) *plan.Error) fn.Kernel {
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.to, n, args[0].Valid)
		dst, src := chunk.Values[R](out.Vector), chunk.Values[A](args[0])
		for _, i := range fn.Active(out.Valid, sel, n) {
			r, ok := row(src[i])
			if ok {
				dst[i] = r
				continue
			}
			if e := c.fail(err(src[i])); e != nil {
				return nil, e
			}
			out.Null(i)
		}
		return out.Vector, nil
	}
}

// total is mapped for casts that fit always.
func total[A, R chunk.Fixed](c *caster, row func(x A) R) fn.Kernel {
	return func(args []*chunk.Vector, _ chunk.Sel, n int) (*chunk.Vector, error) {
		out := fn.NewColumn(c.to, n, args[0].Valid)
		dst := chunk.Values[R](out.Vector)
		for i, x := range chunk.Values[A](args[0]) {
			dst[i] = row(x)
		}
		return out.Vector, nil
	}
}

// toNested casts arrays, maps and structs part by part.
func (c *caster) toNested() (fn.Kernel, error) {
	froms, tos := partTypes(c.from), partTypes(c.to)
	parts := make([]fn.Kernel, len(tos))
	for i := range tos {
		k, err := Kernel(froms[i], tos[i], c.mode, c.env)
		if err != nil {
			return nil, err
		}
		parts[i] = k
	}
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		src := args[0]
		if c.to.Kind != plan.KindStruct {
			src = chunk.Gather(src, selected(src, sel, n))
			sel = nil
		}
		v := *src
		v.Type = c.to
		v.Kids = make([]*chunk.Vector, len(parts))
		for i, k := range parts {
			kid, err := castKid(k, src, i, sel)
			if err != nil {
				return nil, err
			}
			v.Kids[i] = kid
		}
		return &v, nil
	}, nil
}

func partTypes(t plan.Type) []plan.Type {
	switch t.Kind {
	case plan.KindArray:
		return []plan.Type{*t.Elem}
	case plan.KindMap:
		return []plan.Type{*t.Key, *t.Elem}
	default:
		list := make([]plan.Type, len(t.Fields))
		for i, f := range t.Fields {
			list[i] = f.Type
		}
		return list
	}
}

// selected is the rows of a container that are to be cast, NULL in between, so
// that elements of the others are not looked at.
func selected(v *chunk.Vector, sel chunk.Sel, n int) []int32 {
	rows := make([]int32, n)
	if sel == nil {
		for i := range rows {
			rows[i] = int32(i)
		}
	} else {
		for i := range rows {
			rows[i] = -1
		}
		for _, i := range sel {
			rows[i] = int32(i)
		}
	}
	for i, r := range rows {
		if r >= 0 && v.IsNull(int(r)) {
			rows[i] = -1
		}
	}
	return rows
}

// castKid casts part i of a container. A struct's fields keep its rows, without
// those in which the struct itself is NULL.
func castKid(k fn.Kernel, src *chunk.Vector, i int, sel chunk.Sel) (*chunk.Vector, error) {
	kid := src.Kids[i]
	if src.Type.Kind == plan.KindStruct {
		rows := fn.Active(src.Valid, sel, src.Len)
		return k([]*chunk.Vector{kid}, rows, kid.Len)
	}
	return inPieces(k, kid)
}

// inPieces runs a kernel over a vector that may be longer than a chunk.
func inPieces(k fn.Kernel, v *chunk.Vector) (*chunk.Vector, error) {
	if v.Len <= chunk.MaxRows {
		return k([]*chunk.Vector{v}, nil, v.Len)
	}
	var out *chunk.Vector
	for from := 0; from < v.Len; from += chunk.MaxRows {
		piece := v.Slice(from, min(from+chunk.MaxRows, v.Len))
		r, err := k([]*chunk.Vector{piece}, nil, piece.Len)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = chunk.New(r.Type, v.Len)
		}
		out.AppendRange(r, 0, r.Len)
	}
	return out, nil
}
