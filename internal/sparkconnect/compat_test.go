package sparkconnect

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/testkit"
)

// TestProtocolPageIsTrue writes the compatibility page of the protocol from the
// tables of this package and the protocol's own descriptors, so that a message
// that nobody decodes is a row that says so.
func TestProtocolPageIsTrue(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Spark Connect messages\n\n")
	b.WriteString("Generated from the protocol of Spark 4.3.0 and weir's own tables by `make generate`.\n")
	b.WriteString("A message that weir does not have is refused by name, as an UnsupportedOperationException.\n")
	section(&b, "Relations", &pb.Relation{}, "rel_type", has(relationTable()))
	section(&b, "Expressions", &pb.Expression{}, "expr_type", has(expressionTable()))
	section(&b, "Commands", &pb.Command{}, "command_type", has(commandTable()))
	section(&b, "Catalog calls", &pb.Catalog{}, "cat_type", has(catalogTable()))
	testkit.Document(t, "compat/protocol.md", []byte(b.String()))
}

// partly says what is answered of a message that is decoded but not obeyed whole.
var partly = map[protoreflect.Name]string{
	"extension":  "the calls of `DeltaTable`, of the package delta-spark",
	"ml_command": "the clean-up of a client that ends; MLlib is refused",
}

func has[F any](table map[protoreflect.Name]F) func(protoreflect.Name) bool {
	return func(name protoreflect.Name) bool {
		_, ok := table[name]
		return ok
	}
}

func section(b *strings.Builder, title string, m proto.Message, oneof protoreflect.Name,
	has func(protoreflect.Name) bool) {
	fields := m.ProtoReflect().Descriptor().Oneofs().ByName(oneof).Fields()
	rows, known := "", 0
	for i := range fields.Len() {
		f := fields.Get(i)
		state := "not yet"
		if has(f.Name()) {
			state = cmp.Or(partly[f.Name()], "yes")
			known++
		}
		rows += fmt.Sprintf("| `%s` | %d | %s |\n", f.Name(), f.Number(), state)
	}
	fmt.Fprintf(b, "\n## %s: %d of %d\n\n| message | field | weir |\n|---|---|---|\n%s",
		title, known, fields.Len(), rows)
}

// TestTablesNameOnlyFieldsOfTheProtocol catches an entry that a typing mistake
// made unreachable.
func TestTablesNameOnlyFieldsOfTheProtocol(t *testing.T) {
	check := func(m proto.Message, names ...protoreflect.Name) {
		for _, n := range names {
			if m.ProtoReflect().Descriptor().Fields().ByName(n) == nil {
				t.Errorf("%s has no field %q", m.ProtoReflect().Descriptor().FullName(), n)
			}
		}
	}
	check(&pb.Relation{}, keys(relationTable())...)
	check(&pb.Expression{}, keys(expressionTable())...)
	check(&pb.Command{}, keys(commandTable())...)
	check(&pb.Catalog{}, keys(catalogTable())...)
}

func keys[F any](table map[protoreflect.Name]F) []protoreflect.Name {
	var out []protoreflect.Name
	for n := range table {
		out = append(out, n)
	}
	return out
}
