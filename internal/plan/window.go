package plan

import (
	"slices"
	"strings"
)

// Windowed is a resolved WindowCall. The function itself is not among its
// children, since it has no value for a row by itself: they are the function's
// arguments, the partition keys, the order, then the limits of the frame.
type Windowed struct {
	Function  Expr // an *AggregateCall, or a *Call of a function that needs OVER
	Partition []Expr
	Order     []*SortOrder
	Frame     WindowFrame
	Origin    *Origin
}

// Children are the arguments, the partition keys, the order and the limits.
func (e *Windowed) Children() []Expr {
	c := append(slices.Clone(e.Function.Children()), e.Partition...)
	for _, o := range e.Order {
		c = append(c, o)
	}
	for _, b := range []FrameBound{e.Frame.From, e.Frame.To} {
		if b.Limit != nil {
			c = append(c, b.Limit)
		}
	}
	return c
}

// WithChildren replaces what Children lists; the function's types must stay.
func (e *Windowed) WithChildren(c []Expr) Expr {
	n := *e
	take := func(k int) []Expr {
		part := c[:k:k]
		c = c[k:]
		return part
	}
	n.Function = e.Function.WithChildren(take(len(e.Function.Children())))
	n.Partition = take(len(e.Partition))
	n.Order = make([]*SortOrder, len(e.Order))
	for i, o := range take(len(e.Order)) {
		n.Order[i] = o.(*SortOrder)
	}
	for _, b := range []*FrameBound{&n.Frame.From, &n.Frame.To} {
		if b.Limit != nil {
			b.Limit = take(1)[0]
		}
	}
	return &n
}

// Type is the function's.
func (e *Windowed) Type() Type { return e.Function.Type() }

// Nullable is the function's.
func (e *Windowed) Nullable() bool { return e.Function.Nullable() }

// Window adds to its input's columns what functions make of the rows around
// each row. All of Exprs name a Windowed of this partition and order.
type Window struct {
	unary
	Exprs     []*Alias
	Partition []Expr
	Order     []*SortOrder
}

// NewWindow computes exprs over in; they share a partition and an order.
func NewWindow(in Node, exprs ...*Alias) *Window {
	w := exprs[0].Child.(*Windowed)
	return &Window{unary: over(in), Exprs: exprs, Partition: w.Partition, Order: w.Order}
}

// WithChildren replaces the input.
func (n *Window) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Output is the input's columns, then those computed.
func (n *Window) Output() []*Attribute {
	in := n.Input.Output()
	out := in[:len(in):len(in)]
	for _, a := range n.Exprs {
		out = append(out, ToAttribute(a))
	}
	return out
}

// windowed writes f(…) OVER (…), in a tree f(…) windowspecdefinition(…).
func (w *sqlWriter) windowed(n *Windowed) {
	w.expr(n.Function)
	if w.tree {
		w.b.WriteString(" windowspecdefinition(")
		for _, e := range n.Partition {
			w.expr(e)
			w.b.WriteString(", ")
		}
		for _, o := range n.Order {
			w.sortOrder(o)
			w.b.WriteString(", ")
		}
		w.b.WriteString(n.Frame.Definition() + ")")
		return
	}
	w.b.WriteString(" OVER ")
	w.windowSpec(n.Partition, n.Order, &n.Frame)
}

// windowSpec writes what stands behind OVER; a frame may be missing.
func (w *sqlWriter) windowSpec(partition []Expr, order []*SortOrder, frame *WindowFrame) {
	w.b.WriteByte('(')
	between := ""
	if len(partition) > 0 {
		w.b.WriteString("PARTITION BY ")
		w.list(partition)
		between = " "
	}
	if len(order) > 0 {
		w.b.WriteString(between + "ORDER BY ")
		for i, o := range order {
			if i > 0 {
				w.b.WriteString(", ")
			}
			w.sortOrder(o)
		}
		between = " "
	}
	if frame != nil {
		w.b.WriteString(between)
		w.frame(frame)
	}
	w.b.WriteByte(')')
}

func (w *sqlWriter) frame(f *WindowFrame) {
	word := "RANGE"
	if f.Rows {
		word = "ROWS"
	}
	w.b.WriteString(word + " BETWEEN ")
	w.bound(&f.From)
	w.b.WriteString(" AND ")
	w.bound(&f.To)
}

// bound writes an end of a frame. What coercion did to n PRECEDING shows: it is
// a negated number then.
func (w *sqlWriter) bound(b *FrameBound) {
	switch b.Kind {
	case UnboundedPreceding:
		w.b.WriteString("UNBOUNDED PRECEDING")
	case UnboundedFollowing:
		w.b.WriteString("UNBOUNDED FOLLOWING")
	case CurrentRow:
		w.b.WriteString("CURRENT ROW")
	case Preceding:
		if c, ok := b.Offset.(*Cast); ok && c.Implicit {
			w.b.WriteString("(- ")
			w.expr(c.Child)
			w.b.WriteString(") FOLLOWING")
			return
		}
		w.expr(b.Offset)
		w.b.WriteString(" PRECEDING")
	default:
		w.expr(b.Offset)
		w.b.WriteString(" FOLLOWING")
	}
}

// FrameText is a frame as errors show it.
func FrameText(f *WindowFrame) string {
	w := sqlWriter{}
	w.frame(f)
	return w.b.String()
}

// BoundText is an end of a frame as errors show it.
func BoundText(b *FrameBound) string {
	w := sqlWriter{}
	w.bound(b)
	return w.b.String()
}

// WindowSpecText is what stands behind OVER as errors show it. A nil frame is
// left out.
func WindowSpecText(partition []Expr, order []*SortOrder, frame *WindowFrame, qualified bool) string {
	w := sqlWriter{qualified: qualified}
	w.windowSpec(partition, order, frame)
	return w.b.String()
}

// Definition is a frame as trees and a few errors show it.
func (f *WindowFrame) Definition() string {
	kind := "RangeFrame"
	if f.Rows {
		kind = "RowFrame"
	}
	return "specifiedwindowframe(" + kind + ", " + f.From.definition() + ", " + f.To.definition() + ")"
}

func (b *FrameBound) definition() string {
	switch b.Kind {
	case UnboundedPreceding:
		return "unboundedpreceding$()"
	case UnboundedFollowing:
		return "unboundedfollowing$()"
	case CurrentRow:
		return "currentrow$()"
	}
	text := TreeText(b.Offset)
	if b.Kind == Preceding {
		return "-" + strings.TrimPrefix(text, "-")
	}
	return text
}
