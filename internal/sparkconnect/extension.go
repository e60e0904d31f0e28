package sparkconnect

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// maxExtensions is how deep extensions may nest. Each level holds a copy of what
// lies in it, so depth times size is memory; programs nest two.
const maxExtensions = 8

// extended is a message of an extension of the protocol, of which there are no
// bindings: its fields by number. A field that is no text though it should be one
// is kept as the error of the whole reading.
type extended struct {
	d      *decoder
	fields map[protowire.Number][]extendedField
}

type extendedField struct {
	is  protowire.Type
	n   uint64
	raw []byte
}

// noHandler is Spark's error for an extension that no plugin takes.
func noHandler(a *anypb.Any) error {
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.NO_HANDLER_FOR_EXTENSION",
		fmt.Sprintf("weir has no extension %s; it knows those of the Delta Lake package.", a.GetTypeUrl()),
		"extensionTypeUrl", a.GetTypeUrl())
}

// isExtension reports whether an extension is the message of a name.
func isExtension(a *anypb.Any, name string) bool { return strings.HasSuffix(a.GetTypeUrl(), "/"+name) }

// extension reads the message of an extension and gives it to decode.
func (d *decoder) extension(a *anypb.Any, name string, decode func(*extended) error) error {
	if !isExtension(a, name) {
		return noHandler(a)
	}
	if d.extensions++; d.extensions > maxExtensions {
		return badPlan(fmt.Sprintf("extensions nest deeper than %d levels", maxExtensions))
	}
	defer func() { d.extensions-- }()
	m, err := d.extended(a.GetValue())
	if err != nil {
		return err
	}
	outer := d.badText
	d.badText = false
	defer func() { d.badText = outer }()
	if err := decode(m); err != nil {
		return err
	}
	if d.badText {
		return badPlan("text in " + name + " is not UTF-8")
	}
	return nil
}

func (d *decoder) extended(raw []byte) (*extended, error) {
	m := &extended{d: d, fields: map[protowire.Number][]extendedField{}}
	for len(raw) > 0 {
		number, is, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return nil, badPlan(protowire.ParseError(n).Error())
		}
		raw = raw[n:]
		f := extendedField{is: is}
		switch is {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(raw)
		case protowire.Fixed64Type:
			f.n, n = protowire.ConsumeFixed64(raw)
		case protowire.BytesType:
			f.raw, n = protowire.ConsumeBytes(raw)
		default:
			n = protowire.ConsumeFieldValue(number, is, raw)
		}
		if n < 0 {
			return nil, badPlan(protowire.ParseError(n).Error())
		}
		raw = raw[n:]
		m.fields[number] = append(m.fields[number], f)
	}
	return m, nil
}

// arm is the field of a oneof that is set, among those that weir knows.
func (m *extended) arm(fields int) (protowire.Number, error) {
	for n := range protowire.Number(fields) {
		if m.has(n + 1) {
			return n + 1, nil
		}
	}
	for n := range m.fields {
		return 0, plan.Unsupported(fmt.Sprintf("The call %d of a newer Delta Lake package", n))
	}
	return 0, badPlan("the extension is empty")
}

func (m *extended) has(n protowire.Number) bool { return len(m.fields[n]) > 0 }

// last is the field that counts of those of a number.
func (m *extended) last(n protowire.Number, is protowire.Type) extendedField {
	list := m.fields[n]
	if len(list) == 0 || list[len(list)-1].is != is {
		return extendedField{}
	}
	return list[len(list)-1]
}

func (m *extended) bits(n protowire.Number) uint64 { return m.last(n, protowire.Fixed64Type).n }

func (m *extended) number(n protowire.Number) int64 { return int64(m.last(n, protowire.VarintType).n) }

func (m *extended) flag(n protowire.Number) bool { return m.number(n) != 0 }

func (m *extended) text(n protowire.Number) string {
	f := m.last(n, protowire.BytesType)
	if !utf8.Valid(f.raw) {
		m.d.badText = true
	}
	return string(f.raw)
}

func (m *extended) texts(n protowire.Number) []string {
	var out []string
	for _, f := range m.fields[n] {
		if !utf8.Valid(f.raw) {
			m.d.badText = true
		}
		out = append(out, string(f.raw))
	}
	return out
}

// message is the message in a field, empty when there is none.
func (m *extended) message(n protowire.Number) (*extended, error) {
	return m.d.extended(m.last(n, protowire.BytesType).raw)
}

// each calls f with every message of a repeated field.
func (m *extended) each(n protowire.Number, f func(*extended) error) error {
	for _, field := range m.fields[n] {
		part, err := m.d.extended(field.raw)
		if err != nil {
			return err
		}
		if err := f(part); err != nil {
			return err
		}
	}
	return nil
}

// entries is a map from text to text.
func (m *extended) entries(n protowire.Number) (map[string]string, error) {
	out := map[string]string{}
	err := m.each(n, func(e *extended) error {
		out[e.text(1)] = e.text(2)
		return nil
	})
	return out, err
}

// relation is a relation of Spark Connect within the message.
func (m *extended) relation(n protowire.Number) (plan.Node, error) {
	r := &pb.Relation{}
	if err := m.spark(n, r); err != nil {
		return nil, err
	}
	return m.d.relation(r)
}

// expression is an expression of Spark Connect; nil when there is none.
func (m *extended) expression(n protowire.Number) (plan.Expr, error) {
	if !m.has(n) {
		return nil, nil
	}
	e := &pb.Expression{}
	if err := m.spark(n, e); err != nil {
		return nil, err
	}
	return m.d.expression(e)
}

// dataType is a type of Spark Connect.
func (m *extended) dataType(n protowire.Number) (plan.Type, error) {
	t := &pb.DataType{}
	if err := m.spark(n, t); err != nil {
		return plan.Type{}, err
	}
	return m.d.dataType(t)
}

// spark reads a message that has bindings.
func (m *extended) spark(n protowire.Number, into proto.Message) error {
	if err := proto.Unmarshal(m.last(n, protowire.BytesType).raw, into); err != nil {
		return badPlan(err.Error())
	}
	if m.d.unknown != nil {
		m.d.unknown(into)
	}
	return nil
}
