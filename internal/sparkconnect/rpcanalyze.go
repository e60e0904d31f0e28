package sparkconnect

import (
	"context"

	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// AnalyzePlan answers questions about a plan without running it.
func (s *Server) AnalyzePlan(ctx context.Context, r *pb.AnalyzePlanRequest) (*pb.AnalyzePlanResponse, error) {
	c, err := s.client(r)
	if err != nil {
		return nil, statusOf(err, nil)
	}
	return answer(s, c, func() (*pb.AnalyzePlanResponse, error) {
		out := &pb.AnalyzePlanResponse{SessionId: c.key.id, ServerSideSessionId: c.serverID}
		a := &analysis{server: s, client: c, ctx: ctx, out: out}
		return out, a.answer(r)
	})
}

// analysis is one AnalyzePlan call at work.
type analysis struct {
	server *Server
	client *client
	ctx    context.Context
	out    *pb.AnalyzePlanResponse
}

func (a *analysis) answer(r *pb.AnalyzePlanRequest) error {
	switch m := r.GetAnalyze().(type) {
	case *pb.AnalyzePlanRequest_SparkVersion_:
		a.out.Result = &pb.AnalyzePlanResponse_SparkVersion_{
			SparkVersion: &pb.AnalyzePlanResponse_SparkVersion{Version: SparkVersion}}
		return nil
	case *pb.AnalyzePlanRequest_DdlParse:
		t, err := parseAnyType(m.DdlParse.GetDdlString())
		if err != nil {
			return err
		}
		a.out.Result = &pb.AnalyzePlanResponse_DdlParse{
			DdlParse: &pb.AnalyzePlanResponse_DDLParse{Parsed: encodeType(t)}}
		return nil
	case *pb.AnalyzePlanRequest_JsonToDdl:
		t, err := plan.ParseTypeJSON(m.JsonToDdl.GetJsonString())
		if err != nil {
			return plan.IllegalArgument("The schema is not JSON that Spark writes: %v.", err)
		}
		a.out.Result = &pb.AnalyzePlanResponse_JsonToDdl{
			JsonToDdl: &pb.AnalyzePlanResponse_JsonToDDL{DdlString: t.DDL()}}
		return nil
	case *pb.AnalyzePlanRequest_Persist_:
		a.out.Result = &pb.AnalyzePlanResponse_Persist_{Persist: &pb.AnalyzePlanResponse_Persist{}}
		return nil
	case *pb.AnalyzePlanRequest_Unpersist_:
		a.out.Result = &pb.AnalyzePlanResponse_Unpersist_{Unpersist: &pb.AnalyzePlanResponse_Unpersist{}}
		return nil
	case *pb.AnalyzePlanRequest_GetStorageLevel_:
		// No frame is ever kept apart from its plan, and a level of one copy
		// nowhere is what Spark says of such a frame.
		a.out.Result = &pb.AnalyzePlanResponse_GetStorageLevel_{
			GetStorageLevel: &pb.AnalyzePlanResponse_GetStorageLevel{StorageLevel: &pb.StorageLevel{Replication: 1}}}
		return nil
	default:
		return a.plans(r)
	}
}

// plans answers the questions whose argument is a plan.
func (a *analysis) plans(r *pb.AnalyzePlanRequest) error {
	switch m := r.GetAnalyze().(type) {
	case *pb.AnalyzePlanRequest_Schema_:
		n, err := a.resolve(m.Schema.GetPlan())
		if err != nil {
			return err
		}
		schema, err := encodeSchema(plan.SchemaOf(n.Output()))
		if err != nil {
			return err
		}
		a.out.Result = &pb.AnalyzePlanResponse_Schema_{Schema: &pb.AnalyzePlanResponse_Schema{Schema: schema}}
	case *pb.AnalyzePlanRequest_TreeString_:
		n, err := a.resolve(m.TreeString.GetPlan())
		if err != nil {
			return err
		}
		text := plan.TreeString(plan.SchemaOf(n.Output()), int(m.TreeString.GetLevel()))
		a.out.Result = &pb.AnalyzePlanResponse_TreeString_{
			TreeString: &pb.AnalyzePlanResponse_TreeString{TreeString: text}}
	case *pb.AnalyzePlanRequest_Explain_:
		return a.explain(m.Explain)
	case *pb.AnalyzePlanRequest_IsLocal_:
		n, err := a.resolve(m.IsLocal.GetPlan())
		if err != nil {
			return err
		}
		_, local := n.(*plan.LocalData)
		a.out.Result = &pb.AnalyzePlanResponse_IsLocal_{IsLocal: &pb.AnalyzePlanResponse_IsLocal{IsLocal: local}}
	case *pb.AnalyzePlanRequest_IsStreaming_:
		n, err := a.resolve(m.IsStreaming.GetPlan())
		if err != nil {
			return err
		}
		a.out.Result = &pb.AnalyzePlanResponse_IsStreaming_{
			IsStreaming: &pb.AnalyzePlanResponse_IsStreaming{IsStreaming: plan.Streaming(n)}}
	case *pb.AnalyzePlanRequest_InputFiles_:
		n, err := a.resolve(m.InputFiles.GetPlan())
		if err != nil {
			return err
		}
		files, err := a.client.session.InputFiles(a.ctx, n)
		if err != nil {
			return err
		}
		a.out.Result = &pb.AnalyzePlanResponse_InputFiles_{
			InputFiles: &pb.AnalyzePlanResponse_InputFiles{Files: files}}
	case *pb.AnalyzePlanRequest_SameSemantics_:
		return a.sameSemantics(m.SameSemantics)
	case *pb.AnalyzePlanRequest_SemanticHash_:
		hash, err := a.semanticHash(m.SemanticHash.GetPlan())
		a.out.Result = &pb.AnalyzePlanResponse_SemanticHash_{
			SemanticHash: &pb.AnalyzePlanResponse_SemanticHash{Result: hash}}
		return err
	default:
		return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.UNKNOWN_ANALYZE_METHOD",
			"The request asks for no analysis.", "other", "ANALYZE_NOT_SET")
	}
	return nil
}

// decode is a plan's relation, unresolved.
func (a *analysis) decode(p *pb.Plan) (plan.Node, error) {
	p, err := a.server.plan(p)
	if err != nil {
		return nil, err
	}
	if p.GetRoot() == nil {
		return nil, notSet(&pb.Plan{}, "OPTYPE_NOT_SET")
	}
	n, err := a.server.decoder(a.client).relation(p.GetRoot())
	if made := tableMade(p.GetRoot(), n); made != nil {
		return made, nil // running the plan made it before
	}
	return n, err
}

func (a *analysis) resolve(p *pb.Plan) (plan.Node, error) {
	n, err := a.decode(p)
	if err != nil {
		return nil, err
	}
	return a.client.session.Analyze(a.ctx, n)
}

var explainModes = map[pb.AnalyzePlanRequest_Explain_ExplainMode]plan.ExplainMode{
	pb.AnalyzePlanRequest_Explain_EXPLAIN_MODE_SIMPLE:    plan.ExplainSimple,
	pb.AnalyzePlanRequest_Explain_EXPLAIN_MODE_EXTENDED:  plan.ExplainExtended,
	pb.AnalyzePlanRequest_Explain_EXPLAIN_MODE_CODEGEN:   plan.ExplainCodegen,
	pb.AnalyzePlanRequest_Explain_EXPLAIN_MODE_COST:      plan.ExplainCost,
	pb.AnalyzePlanRequest_Explain_EXPLAIN_MODE_FORMATTED: plan.ExplainFormatted,
}

func (a *analysis) explain(m *pb.AnalyzePlanRequest_Explain) error {
	mode, ok := explainModes[m.GetExplainMode()]
	if !ok {
		return unknownEnum(m.GetExplainMode())
	}
	n, err := a.decode(m.GetPlan())
	if err != nil {
		return err
	}
	text, err := a.client.session.Explain(a.ctx, n, mode)
	a.out.Result = &pb.AnalyzePlanResponse_Explain_{
		Explain: &pb.AnalyzePlanResponse_Explain{ExplainString: text}}
	return err
}

// sameSemantics compares plans as they were sent, ids and call sites apart. It
// may say no of two plans that are equal for deeper reasons, as Spark may.
func (a *analysis) sameSemantics(m *pb.AnalyzePlanRequest_SameSemantics) error {
	x, err := a.semanticHash(m.GetTargetPlan())
	if err != nil {
		return err
	}
	y, err := a.semanticHash(m.GetOtherPlan())
	a.out.Result = &pb.AnalyzePlanResponse_SameSemantics_{
		SameSemantics: &pb.AnalyzePlanResponse_SameSemantics{Result: x == y}}
	return err
}

func (a *analysis) semanticHash(p *pb.Plan) (int32, error) {
	if _, err := a.resolve(p); err != nil {
		return 0, err
	}
	bare := proto.Clone(p).(*pb.Plan)
	stripCommon(bare.ProtoReflect(), 0)
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(bare)
	if err != nil {
		return 0, err
	}
	return int32(uint32(xxh3.Hash(raw))), nil
}

// stripCommon removes plan ids and origins, which differ between equal plans.
func stripCommon(m protoreflect.Message, depth int) {
	if depth > maxDepth {
		return
	}
	if f := m.Descriptor().Fields().ByName("common"); f != nil {
		m.Clear(f)
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				stripCommon(v.List().Get(i).Message(), depth+1)
			}
		default:
			stripCommon(v.Message(), depth+1)
		}
		return true
	})
}
