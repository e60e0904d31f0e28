package sparkconnect

import (
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

// window decodes col.over(window).
func (d *decoder) window(m *pb.Expression_Window, at *plan.Origin) (plan.Expr, error) {
	f, err := d.expression(m.GetWindowFunction())
	if err != nil {
		return nil, err
	}
	w := &plan.WindowCall{Function: f, Origin: at, Spec: at}
	if w.Partition, err = d.expressionList(m.GetPartitionSpec()); err != nil {
		return nil, err
	}
	for _, o := range m.GetOrderSpec() {
		order, err := d.sortOrder(o)
		if err != nil {
			return nil, err
		}
		w.Order = append(w.Order, order)
	}
	if m.GetFrameSpec() != nil {
		w.Frame, err = d.windowFrame(m.GetFrameSpec())
	}
	return w, err
}

func (d *decoder) windowFrame(m *pb.Expression_Window_WindowFrame) (*plan.WindowFrame, error) {
	f := &plan.WindowFrame{}
	switch m.GetFrameType() {
	case pb.Expression_Window_WindowFrame_FRAME_TYPE_ROW:
		f.Rows = true
	case pb.Expression_Window_WindowFrame_FRAME_TYPE_RANGE:
	default:
		return nil, unknownEnum(m.GetFrameType())
	}
	var err error
	if f.From, err = d.frameBound(m.GetLower(), plan.UnboundedPreceding); err != nil {
		return nil, err
	}
	f.To, err = d.frameBound(m.GetUpper(), plan.UnboundedFollowing)
	return f, err
}

// frameBound decodes an end of a frame. A value is a distance behind the row,
// negative before it.
func (d *decoder) frameBound(m *pb.Expression_Window_WindowFrame_FrameBoundary, all plan.BoundKind,
) (plan.FrameBound, error) {
	switch b := m.GetBoundary().(type) {
	case *pb.Expression_Window_WindowFrame_FrameBoundary_CurrentRow:
		return plan.FrameBound{Kind: plan.CurrentRow}, nil
	case *pb.Expression_Window_WindowFrame_FrameBoundary_Unbounded:
		return plan.FrameBound{Kind: all}, nil
	case *pb.Expression_Window_WindowFrame_FrameBoundary_Value:
		offset, err := d.expression(b.Value)
		return plan.FrameBound{Kind: plan.Following, Offset: offset}, err
	default:
		return plan.FrameBound{}, notSet(m, "BOUNDARY_NOT_SET")
	}
}
