package sparkconnect

import (
	"context"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/settings"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// Config reads and changes the session's settings.
func (s *Server) Config(_ context.Context, r *pb.ConfigRequest) (*pb.ConfigResponse, error) {
	c, err := s.client(r)
	if err != nil {
		return nil, statusOf(err, nil)
	}
	return answer(s, c, func() (*pb.ConfigResponse, error) {
		out := &pb.ConfigResponse{SessionId: c.key.id, ServerSideSessionId: c.serverID}
		return out, configure(c.session.Conf(), r.GetOperation(), out)
	})
}

func configure(conf *settings.Conf, op *pb.ConfigRequest_Operation, out *pb.ConfigResponse) error {
	switch o := op.GetOpType().(type) {
	case *pb.ConfigRequest_Operation_Set:
		return setPairs(conf, o.Set, out)
	case *pb.ConfigRequest_Operation_Get:
		for _, k := range o.Get.GetKeys() {
			v, err := conf.Get(k)
			if err != nil {
				return err
			}
			out.Pairs = append(out.Pairs, &pb.KeyValue{Key: k, Value: &v})
		}
	case *pb.ConfigRequest_Operation_GetWithDefault:
		for _, kv := range o.GetWithDefault.GetPairs() {
			p := &pb.KeyValue{Key: kv.GetKey(), Value: kv.Value}
			if v, ok := conf.Lookup(kv.GetKey()); ok {
				p.Value = &v
			}
			out.Pairs = append(out.Pairs, p)
		}
	case *pb.ConfigRequest_Operation_GetOption:
		for _, k := range o.GetOption.GetKeys() {
			p := &pb.KeyValue{Key: k}
			if v, ok := conf.Lookup(k); ok {
				p.Value = &v
			}
			out.Pairs = append(out.Pairs, p)
		}
	case *pb.ConfigRequest_Operation_GetAll:
		for _, p := range conf.All(o.GetAll.GetPrefix()) {
			out.Pairs = append(out.Pairs, &pb.KeyValue{Key: p.Key, Value: &p.Value})
		}
	case *pb.ConfigRequest_Operation_Unset:
		for _, k := range o.Unset.GetKeys() {
			if err := conf.Unset(k); err != nil {
				return err
			}
			out.Pairs = append(out.Pairs, &pb.KeyValue{Key: k})
		}
	case *pb.ConfigRequest_Operation_IsModifiable:
		for _, k := range o.IsModifiable.GetKeys() {
			v := "false"
			if conf.IsModifiable(k) {
				v = "true"
			}
			out.Pairs = append(out.Pairs, &pb.KeyValue{Key: k, Value: &v})
		}
	default:
		return &plan.Error{Class: plan.ClassJavaUnsupported,
			Msg: "A configuration request without an operation is not supported."}
	}
	return nil
}

// setPairs sets in order; with silent a refused key becomes a warning.
func setPairs(conf *settings.Conf, m *pb.ConfigRequest_Set, out *pb.ConfigResponse) error {
	for _, kv := range m.GetPairs() {
		var err error
		if kv.Value == nil {
			err = plan.IllegalArgument("requirement failed: value cannot be null for key: %s", kv.GetKey())
		} else {
			err = conf.Set(kv.GetKey(), kv.GetValue())
		}
		switch {
		case err == nil:
		case m.GetSilent():
			out.Warnings = append(out.Warnings, err.Error())
		default:
			return err
		}
	}
	return nil
}
