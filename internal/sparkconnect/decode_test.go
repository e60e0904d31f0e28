package sparkconnect

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/sql"
)

func newDecoder() *decoder {
	return &decoder{
		tables: &tables{relations: relationTable(), expressions: expressionTable(), catalog: catalogTable(),
			delta: newDeltaTables()},
		blob: func(hash string) ([]byte, error) { return nil, operationNotFound(hash) },
	}
}

// TestEveryEmptyMessageIsAnswered decodes each arm of each oneof with nothing
// in it: a plan or a named error, never a panic.
func TestEveryEmptyMessageIsAnswered(t *testing.T) {
	try := func(m proto.Message, oneof protoreflect.Name, decode func() error) {
		fields := m.ProtoReflect().Descriptor().Oneofs().ByName(oneof).Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			if f.Message() != nil {
				m.ProtoReflect().Set(f, m.ProtoReflect().NewField(f))
			}
			if err := decode(); err != nil && asError(err).Class == "" {
				t.Errorf("%s.%s: an error without a class: %v", m.ProtoReflect().Descriptor().Name(), f.Name(), err)
			}
		}
	}
	r, e, c := &pb.Relation{}, &pb.Expression{}, &pb.Catalog{}
	try(r, "rel_type", func() error { _, err := newDecoder().relation(r); return err })
	try(e, "expr_type", func() error { _, err := newDecoder().expression(e); return err })
	try(c, "cat_type", func() error { _, err := newDecoder().catalogCall(c); return err })
}

func TestNothingSetIsInvalidPlanInput(t *testing.T) {
	for _, c := range []struct {
		decode func() error
		name   string
	}{
		{func() error { _, err := newDecoder().relation(&pb.Relation{}); return err }, "RELTYPE_NOT_SET"},
		{func() error { _, err := newDecoder().expression(&pb.Expression{}); return err }, "EXPRTYPE_NOT_SET"},
	} {
		e := asError(c.decode())
		if e.Condition != "CONNECT_INVALID_PLAN.INVALID_ONE_OF_FIELD_NOT_SET" || e.Args["name"] != c.name {
			t.Errorf("got %s %v, want %s", e.Condition, e.Args, c.name)
		}
	}
}

func TestDeepPlansAreRefusedByName(t *testing.T) {
	r := &pb.Relation{RelType: &pb.Relation_Range{Range: &pb.Range{End: 1, Step: 1}}}
	for range 10000 {
		r = &pb.Relation{RelType: &pb.Relation_Limit{Limit: &pb.Limit{Input: r, Limit: 1}}}
	}
	if _, err := newDecoder().relation(r); asError(err).Condition != "CONNECT_INVALID_PLAN.CANNOT_PARSE" {
		t.Errorf("got %v", err)
	}
}

func TestRelationsAreTaggedByTheirID(t *testing.T) {
	id := int64(7)
	r := &pb.Relation{
		Common:  &pb.RelationCommon{PlanId: &id},
		RelType: &pb.Relation_Range{Range: &pb.Range{End: 1, Step: 1}},
	}
	n, err := newDecoder().relation(r)
	if tagged, ok := n.(*plan.Tagged); err != nil || !ok || tagged.ID != 7 {
		t.Errorf("got %T %v", n, err)
	}
	r.Common = nil
	n, err = newDecoder().relation(r)
	if _, ok := n.(*plan.Range); err != nil || !ok {
		t.Errorf("without a header: %T %v", n, err)
	}
}

func TestColumnNamesSplitAsInSpark(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "a.b": "a|b", "`a.b`.c": "a.b|c", "a b": "a b", "``": "", "`a``b`": "a`b",
	} {
		parts, err := sql.ParseColumn(name)
		got := ""
		for i, p := range parts {
			if i > 0 {
				got += "|"
			}
			got += p
		}
		if err != nil || got != want {
			t.Errorf("%q: got %q %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"a..b", "a.", "`a", "a`b", "`a`b"} {
		if _, err := sql.ParseColumn(name); asError(err).Condition != "INVALID_ATTRIBUTE_NAME_SYNTAX" {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestDecimalLiterals expects what the client of Spark 4.3.0 shows for lit of
// each decimal; it sends (10,0) with all of them.
func TestDecimalLiterals(t *testing.T) {
	p, s := int32(10), int32(0)
	for _, c := range []struct{ text, value, kind, condition string }{
		{"1.50", "1.50", "decimal(10,2)", ""},
		{"-12.340", "-12.340", "decimal(10,3)", ""},
		{"1E+5", "100000", "decimal(10,0)", ""},
		{"0E+3", "0", "decimal(10,0)", ""},
		{"1E-10", "0.0000000001", "decimal(10,10)", ""},
		{"0.000001", "0.000001", "decimal(10,6)", ""},
		{"123456789012345678901234567890.12345678", "123456789012345678901234567890.12345678", "decimal(38,8)", ""},
		{strings.Repeat("1", 38), strings.Repeat("1", 38), "decimal(38,0)", ""},
		{strings.Repeat("1", 39), "", "", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"},
		{"1E-39", "", "", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"},
		{"1E38", "", "", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"},
		{"1E2147483647", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
		{"NaN", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
		{"1/2", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
		{"0x1", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
		{"1_0", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
		{"--1", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
		{"1-2", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
		{"", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
		{".", "", "", "CONNECT_INVALID_PLAN.CANNOT_PARSE"},
	} {
		l, err := decimalLiteral(&pb.Expression_Literal_Decimal{Value: c.text, Precision: &p, Scale: &s})
		if c.condition != "" {
			if err == nil || asError(err).Condition != c.condition {
				t.Errorf("%q: %v %v, want %s", c.text, l, err, c.condition)
			}
			continue
		}
		if err != nil || l.Of.Simple() != c.kind ||
			encodeLiteral(l.Value, l.Of).GetDecimal().GetValue() != c.value {
			t.Errorf("%q: %v %v, want %s as %s", c.text, l, err, c.value, c.kind)
		}
	}
	l, err := decimalLiteral(&pb.Expression_Literal_Decimal{Value: "-0.05"})
	if err != nil || l.Of.Simple() != "decimal(2,2)" {
		t.Errorf("got %v %v", l, err)
	}
}

func TestLocalRowsOfOneTypeHaveAColumn(t *testing.T) {
	for text, want := range map[string]string{
		"int":           "struct<value:int>",
		"array<int>":    "struct<value:array<int>>",
		`"string"`:      "struct<value:string>",
		"a int":         "struct<a:int>",
		"struct<a:int>": "struct<a:int>",
	} {
		node, err := newDecoder().localRelation(&pb.LocalRelation{Schema: &text})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := node.(*plan.LocalData).Schema.Simple(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A client asks this for the schema of createDataFrame(rows, "string").
func TestDDLOfOneTypeIsThatType(t *testing.T) {
	for text, want := range map[string]string{"string": "string", "a int": "struct<a:int>"} {
		a := &analysis{out: &pb.AnalyzePlanResponse{}}
		ask := &pb.AnalyzePlanRequest_DDLParse{DdlString: text}
		err := a.answer(&pb.AnalyzePlanRequest{Analyze: &pb.AnalyzePlanRequest_DdlParse{DdlParse: ask}})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := newDecoder().dataType(a.out.GetDdlParse().GetParsed())
		if err != nil || got.Simple() != want {
			t.Errorf("%s: %s %v, want %s", text, got.Simple(), err, want)
		}
	}
}
