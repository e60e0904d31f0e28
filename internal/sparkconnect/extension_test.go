package sparkconnect

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

const (
	ofRelation = "type.googleapis.com/delta.connect.DeltaRelation"
	ofCommand  = "type.googleapis.com/delta.connect.DeltaCommand"
)

// field is a field of a message on the wire.
func field(n protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), value)
}

// at is a table by its path, as field 1 of a call.
func at(path string) []byte { return field(1, field(1, field(1, []byte(path)))) }

func extension(url string, value []byte) *pb.Relation {
	return &pb.Relation{RelType: &pb.Relation_Extension{Extension: &anypb.Any{TypeUrl: url, Value: value}}}
}

func packed(t *testing.T, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAScanOfADeltaTableIsAReadThatTakesNothingElse(t *testing.T) {
	n, err := newDecoder().relation(extension(ofRelation, field(1, at("/data/t"))))
	read, ok := n.(*plan.Read)
	if err != nil || !ok || read.Format != "delta" || !read.Delta || read.Paths[0] != "/data/t" {
		t.Errorf("got %#v, %v", n, err)
	}
}

func TestEveryCallOfADeltaTableIsAnsweredWhenItIsEmpty(t *testing.T) {
	for n := range protowire.Number(12) {
		_, err := newDecoder().relation(extension(ofRelation, field(n+1, nil)))
		if err != nil && asError(err).Class == "" {
			t.Errorf("relation %d: an error without a class: %v", n+1, err)
		}
		_, err = newDecoder().deltaCommand(&anypb.Any{TypeUrl: ofCommand, Value: field(n+1, nil)})
		if err != nil && asError(err).Class == "" {
			t.Errorf("command %d: an error without a class: %v", n+1, err)
		}
	}
}

func TestExtensionsThatCannotBeReadAreRefusedByName(t *testing.T) {
	limit := func(input *pb.Relation) *pb.Relation {
		return &pb.Relation{RelType: &pb.Relation_Limit{Limit: &pb.Limit{Input: input, Limit: 1}}}
	}
	deep := extension(ofRelation, field(1, at("/t")))
	for range 9 {
		deep = limit(extension(ofRelation, field(7, field(1, packed(t, deep)))))
	}
	broken := extension(ofRelation, field(7, field(1, []byte{0xff})))
	for name, c := range map[string]struct {
		relation  *pb.Relation
		condition string
		says      string
	}{
		"another": {extension("type.googleapis.com/x.Y", nil), "NO_HANDLER_FOR_EXTENSION", "x.Y"},
		"nothing": {extension(ofRelation, nil), "CANNOT_PARSE", "empty"},
		"cut off": {extension(ofRelation, []byte{0x0a, 9, 1}), "CANNOT_PARSE", "EOF"},
		"deep":    {deep, "CANNOT_PARSE", "deeper than 8"},
		"bytes":   {broken, "CANNOT_PARSE", ""},
		"text":    {extension(ofRelation, field(6, field(1, []byte{0xff}))), "CANNOT_PARSE", "UTF-8"},
	} {
		_, err := newDecoder().relation(c.relation)
		e := asError(err)
		if !strings.HasSuffix(e.Condition, c.condition) || !strings.Contains(e.Msg, c.says) {
			t.Errorf("%s: got %v, want %s with %q", name, err, c.condition, c.says)
		}
	}
}

func TestACallOfANewerPackageIsRefusedByItsNumber(t *testing.T) {
	_, err := newDecoder().relation(extension(ofRelation, field(30, nil)))
	if err == nil || !strings.Contains(err.Error(), "call 30") {
		t.Errorf("got %v", err)
	}
}

func TestUnknownFieldsWithinExtensionsAreHeardOf(t *testing.T) {
	scan := extension(ofRelation, field(1, at("/t")))
	d := newDecoder()
	heard := 0
	d.unknown = func(proto.Message) { heard++ }
	_, err := d.relation(extension(ofRelation, field(7, field(1, packed(t, scan)))))
	if err != nil || heard != 1 {
		t.Errorf("heard of %d messages, %v", heard, err)
	}
}

func FuzzDeltaExtension(f *testing.F) {
	f.Add(field(1, at("/data/t")), true)
	f.Add(field(9, append(at("t"), field(4, field(3, field(1, nil)))...)), true)
	f.Add(field(5, append(field(5, field(1, []byte("id"))), field(7, field(1, nil))...)), false)
	f.Fuzz(func(t *testing.T, raw []byte, relation bool) {
		url := ofCommand
		if relation {
			url = ofRelation
		}
		a := &anypb.Any{TypeUrl: url, Value: raw}
		var err error
		if relation {
			_, err = newDecoder().deltaRelation(a)
		} else {
			_, err = newDecoder().deltaCommand(a)
		}
		if err != nil && asError(err).Class == "" {
			t.Errorf("an error without a class: %v", err)
		}
	})
}
