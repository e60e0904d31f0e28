package sparkconnect

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// maxPlanBytes bounds a plan after decompression, the value of
// spark.connect.maxPlanSize.
const maxPlanBytes = 512 << 20

// plan is the plan of a request, decompressed if need be.
func (s *Server) plan(p *pb.Plan) (*pb.Plan, error) {
	c := p.GetCompressedOperation()
	if c == nil {
		return p, nil
	}
	if c.GetCompressionCodec() != pb.CompressionCodec_COMPRESSION_CODEC_ZSTD {
		return nil, plan.Unsupported("A plan compressed by " + c.GetCompressionCodec().String())
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPlanBytes), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	raw, err := d.DecodeAll(c.GetData(), nil)
	if err != nil {
		return nil, badPlan(fmt.Sprintf("zstd: %v", err))
	}
	out := &pb.Plan{}
	switch c.GetOpType() {
	case pb.Plan_CompressedOperation_OP_TYPE_RELATION:
		r := &pb.Relation{}
		err = proto.Unmarshal(raw, r)
		out.OpType = &pb.Plan_Root{Root: r}
	case pb.Plan_CompressedOperation_OP_TYPE_COMMAND:
		m := &pb.Command{}
		err = proto.Unmarshal(raw, m)
		out.OpType = &pb.Plan_Command{Command: m}
	default:
		return nil, unknownEnum(c.GetOpType())
	}
	if err != nil {
		return nil, badPlan(err.Error())
	}
	return out, nil
}

func badPlan(why string) error {
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.CANNOT_PARSE",
		"The plan cannot be read: "+why+".", "errorMsg", why)
}
