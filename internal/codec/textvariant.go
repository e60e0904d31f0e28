package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/codec/variant"
)

// maxVariantDepth bounds the nesting of a variant that is printed.
const maxVariantDepth = 1000

// AppendVariant writes a variant as JSON, as Spark casts and shows it. Bytes
// that are no variant are printed as null.
func AppendVariant(dst, value, metadata []byte, zone *Offsets) []byte {
	p := variantPrinter{zone: zone, left: len(value)}
	out, err := p.append(dst, variant.Value{Data: value, Metadata: metadata}, 0)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}

type variantPrinter struct {
	zone *Offsets
	// left is how many bytes were not printed: elements of a damaged variant may share theirs.
	left int
}

func (p *variantPrinter) append(dst []byte, v variant.Value, depth int) ([]byte, error) {
	if depth > maxVariantDepth || p.left <= 0 {
		return dst, variant.ErrMalformed
	}
	p.left--
	switch k := v.Kind(); k {
	case variant.Unknown:
		return dst, variant.ErrMalformed
	case variant.Object, variant.Array:
		return p.nested(dst, v, k == variant.Object, depth)
	case variant.Text, variant.Binary, variant.UUID:
		b, err := v.Bytes()
		p.left -= len(b)
		if err != nil {
			return dst, err
		}
		return appendVariantBytes(dst, b, k), nil
	case variant.Null:
		return append(dst, "null"...), nil
	case variant.Boolean:
		return append(dst, map[bool]string{true: "true", false: "false"}[v.Bool()]...), nil
	case variant.Long:
		return appendInt(dst, v.Int()), nil
	case variant.Double:
		return appendJSONFloat(dst, AppendDouble, v.Double()), nil
	case variant.Float:
		return appendJSONFloat(dst, AppendFloat, v.Float()), nil
	case variant.Decimal:
		x, scale := v.Decimal()
		return appendShortDecimal(dst, x, scale), nil
	default:
		return p.moment(dst, v.Int(), k), nil
	}
}

func appendVariantBytes(dst, b []byte, k variant.Kind) []byte {
	if k == variant.Text {
		return appendJSONString(dst, b)
	}
	dst = append(dst, '"')
	if k == variant.Binary {
		return append(base64.StdEncoding.AppendEncode(dst, b), '"')
	}
	for i, cut := range [...]int{0, 4, 6, 8, 10} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, b[cut:[...]int{4, 6, 8, 10, 16}[i]])
	}
	return append(dst, '"')
}

// appendShortDecimal writes a decimal without zeros at its end.
func appendShortDecimal(dst []byte, x decimal128.Num, scale int) []byte {
	n := len(dst)
	dst = AppendDecimal(dst, x, scale)
	if bytes.IndexByte(dst[n:], '.') >= 0 {
		dst = bytes.TrimRight(dst, "0")
		dst = bytes.TrimSuffix(dst, []byte("."))
	}
	return dst
}

// moment writes dates and times, which JSON has no form for.
func (p *variantPrinter) moment(dst []byte, x int64, k variant.Kind) []byte {
	dst = append(dst, '"')
	switch k {
	case variant.Date:
		dst = AppendDate(dst, int32(x))
	case variant.Timestamp:
		dst = AppendTimestamp(dst, x, p.zone)
		dst = appendOffset(dst, int(p.zone.At(floorDiv(x, microsPerSecond))), "+HH:MM")
	case variant.TimestampNTZ:
		dst = AppendTimestampNTZ(dst, x)
	case variant.Time:
		dst = appendClock(dst, floorMod(x, microsPerDay))
	}
	return append(dst, '"')
}

func (p *variantPrinter) nested(dst []byte, v variant.Value, object bool, depth int) ([]byte, error) {
	list, err := v.List()
	if err != nil {
		return dst, err
	}
	ends := "[]"
	if object {
		ends = "{}"
	}
	dst = append(dst, ends[0])
	for i := range list.Len {
		if i > 0 {
			dst = append(dst, ',')
		}
		if object {
			name, err := list.Name(i)
			if err != nil {
				return dst, err
			}
			dst = append(appendJSONString(dst, name), ':')
		}
		e, err := list.At(i)
		if err == nil {
			dst, err = p.append(dst, e, depth+1)
		}
		if err != nil {
			return dst, err
		}
	}
	return append(dst, ends[1]), nil
}
