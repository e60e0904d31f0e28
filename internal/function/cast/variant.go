package cast

import (
	"errors"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/codec/variant"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// VariantAt is row i of a column of variants.
func VariantAt(v *chunk.Vector, i int) variant.Value {
	return variant.Value{Data: v.Kids[0].Bytes(i), Metadata: v.Kids[1].Bytes(i)}
}

// AppendVariant adds what was built to a column of variants.
func AppendVariant(out *chunk.Vector, b *variant.Builder) error {
	v, err := b.Value()
	if err != nil {
		return VariantError(err)
	}
	out.Kids[0].AppendBytes(v.Data)
	out.Kids[1].AppendBytes(v.Metadata)
	out.AppendRow()
	return nil
}

// VariantError is how Spark calls what goes wrong with a variant.
func VariantError(err error) error {
	var twice *variant.DuplicateError
	switch {
	case errors.As(err, &twice):
		return fn.RuntimeError("VARIANT_DUPLICATE_KEY", err.Error()+".", "key", twice.Name)
	case errors.Is(err, variant.ErrTooLarge):
		return fn.RuntimeError("VARIANT_SIZE_LIMIT", "A variant has at most 128 MiB.",
			"sizeLimit", "128.0 MiB", "functionName", "`parse_json`")
	case errors.Is(err, variant.ErrMalformed):
		return fn.RuntimeError("MALFORMED_VARIANT", "The bytes of a variant are damaged.")
	}
	return err
}

// toVariant makes variants of values.
func (c *caster) toVariant() fn.Kernel {
	return fn.Nested(plan.Variant, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
		var b variant.Builder
		b.Reset()
		if err := BuildVariant(&b, args[0], i); err != nil {
			return VariantError(err)
		}
		return AppendVariant(out, &b)
	})
}

// BuildVariant adds row i of a column to a variant. Structs and maps become objects.
func BuildVariant(b *variant.Builder, v *chunk.Vector, i int) error {
	if v.IsNull(i) {
		b.Null()
		return nil
	}
	switch v.Type.Kind {
	case plan.KindBoolean:
		b.Bool(chunk.Values[uint8](v)[i] != 0)
	case plan.KindByte, plan.KindShort, plan.KindInt, plan.KindLong:
		b.Long(fn.IntegerAt(v, i))
	case plan.KindFloat:
		b.Float(chunk.Values[float32](v)[i])
	case plan.KindDouble:
		b.Double(chunk.Values[float64](v)[i])
	case plan.KindDecimal:
		b.Decimal(chunk.Values[chunk.Dec](v)[i], v.Type.Scale)
	case plan.KindDate:
		b.Date(chunk.Values[int32](v)[i])
	case plan.KindTimestamp:
		b.Timestamp(chunk.Values[int64](v)[i])
	case plan.KindTimestampNTZ:
		b.TimestampNTZ(chunk.Values[int64](v)[i])
	case plan.KindBinary:
		b.Binary(v.Bytes(i))
	case plan.KindVariant:
		return b.Append(VariantAt(v, i))
	case plan.KindArray, plan.KindMap, plan.KindStruct:
		return buildNested(b, v, i)
	default:
		if !v.Type.IsString() {
			return plan.Unsupported(v.Type.SQL() + " within a variant")
		}
		b.Text(v.Bytes(i))
	}
	return nil
}

func buildNested(b *variant.Builder, v *chunk.Vector, i int) error {
	items := b.Open()
	switch v.Type.Kind {
	case plan.KindArray:
		for from, to := v.Span(i); from < to; from++ {
			b.Next(&items)
			if err := BuildVariant(b, v.Kids[0], from); err != nil {
				return err
			}
		}
		b.CloseArray(&items)
		return nil
	case plan.KindMap:
		for from, to := v.Span(i); from < to; from++ {
			b.Field(&items, string(v.Kids[0].Bytes(from)))
			if err := BuildVariant(b, v.Kids[1], from); err != nil {
				return err
			}
		}
	default:
		for k, f := range v.Type.Fields {
			b.Field(&items, f.Name)
			if err := BuildVariant(b, v.Kids[k], i); err != nil {
				return err
			}
		}
	}
	return b.CloseObject(&items)
}

// fromVariant reads variants as values of a type.
func (c *caster) fromVariant() fn.Kernel {
	fails := c.mode != plan.CastTry
	return func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		reader := NewVariantReader(c.to, c.env, fails)
		return fn.Nested(c.to, func(out *chunk.Vector, args []*chunk.Vector, i int) error {
			return reader.Append(out, VariantAt(args[0], i))
		})(args, sel, n)
	}
}

// VariantReader reads variants as values of a type. One goroutine uses it.
type VariantReader struct {
	to      plan.Type
	env     *fn.Env
	fails   bool // a variant that is none of the type is an error, not NULL
	zone    *codec.Offsets
	kernels map[string]fn.Kernel // by the type of a primitive
	parts   []*VariantReader     // of an element, a map's value, a struct's fields
	builder variant.Builder
}

// NewVariantReader is a reader; a variant that is no value of the type is an error, or NULL if fails
// is not set.
func NewVariantReader(to plan.Type, env *fn.Env, fails bool) *VariantReader {
	r := &VariantReader{
		to: to, env: env, fails: fails, zone: codec.NewOffsets(env.Zone), kernels: map[string]fn.Kernel{},
	}
	switch to.Kind {
	case plan.KindArray, plan.KindMap:
		r.parts = append(r.parts, NewVariantReader(*to.Elem, env, fails))
	case plan.KindStruct:
		for _, f := range to.Fields {
			r.parts = append(r.parts, NewVariantReader(f.Type, env, fails))
		}
	}
	return r
}

// Append adds a variant to a column of the reader's type.
func (r *VariantReader) Append(out *chunk.Vector, v variant.Value) error {
	k := v.Kind()
	switch {
	case k == variant.Unknown:
		return VariantError(variant.ErrMalformed)
	case r.to.Kind == plan.KindVariant:
		r.builder.Reset()
		if err := r.builder.Append(v); err != nil {
			return VariantError(err)
		}
		return AppendVariant(out, &r.builder)
	case k == variant.Null:
		out.AppendNull()
		return nil
	}
	var err error
	switch r.to.Kind {
	case plan.KindArray, plan.KindMap, plan.KindStruct:
		err = r.nested(out, v, k)
	default:
		err = r.scalar(out, v, k)
	}
	return VariantError(err)
}

// wrong is what a variant becomes that is no value of the type.
func (r *VariantReader) wrong(out *chunk.Vector, v variant.Value) error {
	if !r.fails {
		out.AppendNull()
		return nil
	}
	value := string(codec.AppendVariant(nil, v.Data, v.Metadata, r.zone))
	return fn.RuntimeError("INVALID_VARIANT_CAST", value+" is not "+r.to.SQL()+".",
		"value", value, "dataType", fn.SqlType(r.to))
}

func (r *VariantReader) nested(out *chunk.Vector, v variant.Value, k variant.Kind) error {
	array := r.to.Kind == plan.KindArray
	if array && k != variant.Array || !array && k != variant.Object {
		return r.wrong(out, v)
	}
	list, err := v.List()
	if err != nil {
		return err
	}
	if r.to.Kind == plan.KindStruct {
		return r.fields(out, list)
	}
	values := out.Kids[len(out.Kids)-1]
	for i := range list.Len {
		if !array {
			name, err := list.Name(i)
			if err != nil {
				return err
			}
			out.Kids[0].AppendBytes(name)
		}
		e, err := list.At(i)
		if err == nil {
			err = r.parts[0].Append(values, e)
		}
		if err != nil {
			return err
		}
	}
	out.AppendSpan()
	return nil
}

func (r *VariantReader) fields(out *chunk.Vector, list variant.List) error {
	for i, f := range r.to.Fields {
		e, ok, err := list.Field(f.Name)
		switch {
		case err != nil:
			return err
		case !ok:
			out.Kids[i].AppendNull()
		default:
			if err := r.parts[i].Append(out.Kids[i], e); err != nil {
				return err
			}
		}
	}
	out.AppendRow()
	return nil
}

// scalar casts a primitive as the value that it is.
func (r *VariantReader) scalar(out *chunk.Vector, v variant.Value, k variant.Kind) error {
	if k == variant.Object || k == variant.Array {
		if r.to.IsString() {
			out.AppendBytes(codec.AppendVariant(nil, v.Data, v.Metadata, r.zone))
			return nil
		}
		return r.wrong(out, v)
	}
	if k == variant.Time && !r.to.IsString() {
		return r.wrong(out, v)
	}
	one, err := primitive(v, k)
	if err != nil {
		return err
	}
	if one.Type.IsString() && r.to.IsString() {
		out.AppendBytes(one.Bytes(0))
		return nil
	}
	if !Can(one.Type, r.to, plan.CastANSI) || r.to.Kind == plan.KindTimestamp && tooLate(one) {
		return r.wrong(out, v)
	}
	kernel, err := r.kernel(one.Type)
	if err != nil {
		return err
	}
	got, err := kernel([]*chunk.Vector{one}, nil, 1)
	if err != nil {
		return err
	}
	if got.IsNull(0) {
		return r.wrong(out, v)
	}
	out.AppendFrom(got, 0)
	return nil
}

// tooLate reports whether a number is no instant in seconds, where a cast of a column stops at the last
// instant that there is.
func tooLate(one *chunk.Vector) bool {
	var x decimal128.Num
	switch one.Type.Kind {
	case plan.KindLong:
		x = decimal128.FromI64(chunk.Values[int64](one)[0])
	case plan.KindDecimal:
		x = decimal128.Num(chunk.Values[chunk.Dec](one)[0])
		for range one.Type.Scale {
			x, _ = x.Div(decimal128.FromI64(10))
		}
	default:
		return false
	}
	return x.Abs().Greater(decimal128.FromI64(math.MaxInt64 / 1_000_000))
}

func (r *VariantReader) kernel(from plan.Type) (fn.Kernel, error) {
	name := from.Simple()
	if k := r.kernels[name]; k != nil {
		return k, nil
	}
	k, err := Kernel(from, r.to, plan.CastTry, r.env)
	if err == nil {
		r.kernels[name] = k
	}
	return k, err
}

// primitive is a column with the one value of a variant.
func primitive(v variant.Value, k variant.Kind) (*chunk.Vector, error) {
	switch k {
	case variant.Boolean:
		return single(plan.Boolean, fn.Bit(v.Bool())), nil
	case variant.Long:
		return single(plan.Long, v.Int()), nil
	case variant.Double:
		return single(plan.Double, v.Double()), nil
	case variant.Float:
		return single(plan.Float, v.Float()), nil
	case variant.Date:
		return single(plan.Date, int32(v.Int())), nil
	case variant.Timestamp:
		return single(plan.Timestamp, v.Int()), nil
	case variant.TimestampNTZ:
		return single(plan.TimestampNTZ, v.Int()), nil
	case variant.Decimal:
		x, scale := VariantDecimal(v)
		return single(plan.Decimal(max(variant.Digits(x), scale), scale), x), nil
	}
	if k == variant.UUID || k == variant.Time {
		one := chunk.New(plan.String, 1)
		one.AppendText(strings.Trim(string(codec.AppendVariant(nil, v.Data, nil, nil)), `"`))
		return one, nil
	}
	b, err := v.Bytes()
	if err != nil {
		return nil, err
	}
	of := plan.String
	if k == variant.Binary {
		of = plan.Binary
	}
	one := chunk.New(of, 1)
	one.AppendBytes(b)
	return one, nil
}

func single[T chunk.Fixed](t plan.Type, x T) *chunk.Vector {
	v := chunk.Make(t, 1)
	chunk.Values[T](v)[0] = x
	return v
}

// VariantDecimal is a decimal without the zeros at its end, as Spark reads it.
func VariantDecimal(v variant.Value) (decimal128.Num, int) {
	x, scale := v.Decimal()
	ten := decimal128.FromI64(10)
	for scale > 0 {
		q, rest := x.Div(ten)
		if rest.Sign() != 0 {
			break
		}
		x, scale = q, scale-1
	}
	return x, scale
}
