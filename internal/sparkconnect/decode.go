package sparkconnect

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// maxDepth is how deep relations and expressions may nest together, the value
// of spark.connect.grpc.marshallerRecursionLimit.
const maxDepth = 1024

// tables are the lists that decoding goes by: the arm of a oneof, by its
// protobuf name, and what turns its message into plan. They are made once.
type tables struct {
	relations   map[protoreflect.Name]func(*decoder, *pb.Relation) (plan.Node, error)
	expressions map[protoreflect.Name]func(*decoder, *pb.Expression) (plan.Expr, error)
	catalog     map[protoreflect.Name]catalogDecoder
	delta       deltaTables
}

// decoder turns the messages of one request into a plan.
type decoder struct {
	*tables
	// blob finds data that the client uploaded under cache/<hash>.
	blob func(hash string) ([]byte, error)
	// references are the relations of an enclosing WithRelations by plan id.
	references map[int64]plan.Node
	depth      int
	// unknown hears of every message that was packed into another; may be nil.
	unknown    func(proto.Message)
	extensions int  // that enclose what is decoded
	badText    bool // the extension at hand holds text that is none
}

// relationArm, expressionArm and commandArm make an entry of a table from the
// getter of a oneof's arm and the decoder of its message.
func relationArm[M any](get func(*pb.Relation) M, decode func(*decoder, M) (plan.Node, error),
) func(*decoder, *pb.Relation) (plan.Node, error) {
	return func(d *decoder, r *pb.Relation) (plan.Node, error) { return decode(d, get(r)) }
}

func expressionArm[M any](get func(*pb.Expression) M,
	decode func(*decoder, M, *plan.Origin) (plan.Expr, error),
) func(*decoder, *pb.Expression) (plan.Expr, error) {
	return func(d *decoder, e *pb.Expression) (plan.Expr, error) {
		return decode(d, get(e), originOf(e.GetCommon().GetOrigin()))
	}
}

// enter counts one more level of nesting; the caller calls leave.
func (d *decoder) enter() error {
	if d.depth++; d.depth > maxDepth {
		return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.CANNOT_PARSE",
			fmt.Sprintf("The plan nests deeper than %d levels.", maxDepth),
			"errorMsg", "nesting deeper than "+strconv.Itoa(maxDepth))
	}
	return nil
}

func (d *decoder) leave() { d.depth-- }

// arm is the field of a oneof that is set; nil when none is, or when it is one
// that this version of the protocol does not have.
func arm(m proto.Message, oneof protoreflect.Name) protoreflect.FieldDescriptor {
	r := m.ProtoReflect()
	return r.WhichOneof(r.Descriptor().Oneofs().ByName(oneof))
}

// notSet is the error for a oneof of which nothing that we know is set.
func notSet(m proto.Message, name string) error {
	full := string(m.ProtoReflect().Descriptor().FullName())
	if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		return plan.Unsupported(fmt.Sprintf("The field %d of %s", firstField(unknown), full))
	}
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.INVALID_ONE_OF_FIELD_NOT_SET",
		"The message "+full+" has none of its alternatives set.", "fullName", full, "name", name)
}

// notSupported refuses a known arm of a oneof that weir does not have, by the
// name that programs call it by where there is one.
func notSupported(m proto.Message, f protoreflect.FieldDescriptor) error {
	what := string(m.ProtoReflect().Descriptor().Name())
	if what == "Relation" {
		what = "DataFrame"
	}
	return plan.Unsupported(what + "." + f.JSONName())
}

// unknownEnum is the error for a number that an enum does not have.
func unknownEnum(value protoreflect.Enum) error {
	full, number := string(value.Descriptor().FullName()), strconv.Itoa(int(value.Number()))
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.INVALID_ENUM",
		"The enum "+full+" has no value "+number+".",
		"fullName", full, "name", number, "number", number)
}

// emptyField is the error for a message that must be there and is not.
func emptyField(message, field string) error {
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.FIELD_CANNOT_BE_EMPTY",
		"The field "+field+" of "+message+" cannot be empty.", "fieldName", field, "fullName", message)
}

// relation decodes a relation and tags it with its plan id.
func (d *decoder) relation(r *pb.Relation) (plan.Node, error) {
	if r == nil {
		return nil, emptyField("spark.connect.Relation", "input")
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	f := arm(r, "rel_type")
	if f == nil {
		return nil, notSet(r, "RELTYPE_NOT_SET")
	}
	decode := d.relations[f.Name()]
	if decode == nil {
		return nil, notSupported(r, f)
	}
	n, err := decode(d, r)
	if err != nil || !hasID(r) {
		return n, err
	}
	if _, command := n.(plan.Command); command {
		return n, nil
	}
	return &plan.Tagged{ID: r.GetCommon().GetPlanId(), Input: n}, nil
}

// hasID reports whether the client gave a relation an id; other clients than
// PySpark may leave it, or the whole header, out.
func hasID(r *pb.Relation) bool { return r.GetCommon() != nil && r.GetCommon().PlanId != nil }

// expression decodes an expression.
func (d *decoder) expression(e *pb.Expression) (plan.Expr, error) {
	if e == nil {
		return nil, emptyField("spark.connect.Expression", "expr_type")
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	f := arm(e, "expr_type")
	if f == nil {
		return nil, notSet(e, "EXPRTYPE_NOT_SET")
	}
	decode := d.expressions[f.Name()]
	if decode == nil {
		return nil, notSupported(e, f)
	}
	return decode(d, e)
}

func (d *decoder) expressionList(list []*pb.Expression) ([]plan.Expr, error) {
	out := make([]plan.Expr, 0, len(list))
	for _, e := range list {
		x, err := d.expression(e)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// originOf is where in the user's DataFrame code an expression was made.
func originOf(o *pb.Origin) *plan.Origin {
	if p := o.GetPythonOrigin(); p != nil {
		return &plan.Origin{Fragment: p.Fragment, CallSite: p.CallSite}
	}
	return nil
}
