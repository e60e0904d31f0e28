package sparkconnect

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// TestSchemasThatClientsCannotReadAreRefused nests types until a reader that stops at a
// hundred messages, as those of Python and C++ do, reads no more.
func TestSchemasThatClientsCannotReadAreRefused(t *testing.T) {
	wraps := map[string]func(plan.Type) plan.Type{
		"arrays":  func(t plan.Type) plan.Type { return plan.Array(t, true) },
		"maps":    func(t plan.Type) plan.Type { return plan.Map(plan.String, t, true) },
		"structs": func(t plan.Type) plan.Type { return plan.Struct(plan.Col("x", t)) },
	}
	for name, wrap := range wraps {
		of, refusedAt := plan.Int, 0
		for n := 1; n <= 60 && refusedAt == 0; n++ {
			of = wrap(of)
			schema, err := encodeSchema(plan.Struct(plan.Col("deep", of)))
			if err != nil {
				if refusedAt = n; !strings.Contains(err.Error(), "column deep") {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			answer := &pb.AnalyzePlanResponse{Result: &pb.AnalyzePlanResponse_Schema_{
				Schema: &pb.AnalyzePlanResponse_Schema{Schema: schema}}}
			data, err := proto.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			limited := proto.UnmarshalOptions{RecursionLimit: 100}
			if err := limited.Unmarshal(data, &pb.AnalyzePlanResponse{}); err != nil {
				t.Errorf("%d %s are sent, and cannot be read: %v", n, name, err)
			}
		}
		if refusedAt < 30 || refusedAt == 60 {
			t.Errorf("%s are refused from %d levels on", name, refusedAt)
		}
	}
}
