package plan

// This file holds what only SQL text and the Connect protocol's forms of the
// same things yield; analysis replaces or refuses each.

// TypedLiteral is DATE'…', TIMESTAMP'…' or TIMESTAMP_NTZ'…' whose value hangs
// on the session: its time zone or, for words such as now, its clock. Text is
// known to have the right form. Analysis makes a Literal of it, so columns
// named after it print as the literal does.
type TypedLiteral struct {
	leaf
	unresolved
	Text   string // trimmed
	Of     Type
	Origin *Origin
}

// WithChildren returns the literal, which has none.
func (e *TypedLiteral) WithChildren([]Expr) Expr { return e }

// Lambda is x -> body or (x, y) -> body, an argument of a higher-order
// function; analysis makes a LambdaFunction of it. Inside Body a parameter is an
// UnresolvedAttribute whose first part is its name; it hides columns of that
// name.
type Lambda struct {
	unresolved
	Params []string
	Body   Expr
	Origin *Origin
}

// Children is the body.
func (e *Lambda) Children() []Expr { return []Expr{e.Body} }

// WithChildren replaces the body.
func (e *Lambda) WithChildren(c []Expr) Expr {
	n := *e
	n.Body = c[0]
	return &n
}

// WindowCall is f(…) OVER (PARTITION BY … ORDER BY … frame).
type WindowCall struct {
	unresolved
	Function    Expr
	Partition   []Expr
	Order       []*SortOrder
	Frame       *WindowFrame // nil: the default of the function and the order
	IgnoreNulls bool
	Origin      *Origin
	Spec        *Origin // of what stands behind OVER
}

// WindowFrame says which rows around the current one a window function sees.
type WindowFrame struct {
	Rows     bool // ROWS; otherwise RANGE
	From, To FrameBound
}

// FrameBound is one end of a frame. Offset is set for n PRECEDING (negated by
// Preceding) and n FOLLOWING. Analysis adds to an offset of a RANGE the Limit: the
// value of the order's key that lies so far from the row's own.
type FrameBound struct {
	Kind   BoundKind
	Offset Expr
	Limit  Expr
}

// BoundKind says how a frame's end is given.
type BoundKind uint8

// Kinds of frame ends.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// Children are the function, the partition keys, then the order.
func (e *WindowCall) Children() []Expr {
	c := append([]Expr{e.Function}, e.Partition...)
	for _, o := range e.Order {
		c = append(c, o)
	}
	return c
}

// WithChildren replaces function, partition keys and order.
func (e *WindowCall) WithChildren(c []Expr) Expr {
	n := *e
	n.Function = c[0]
	n.Partition = c[1 : 1+len(e.Partition)]
	n.Order = make([]*SortOrder, len(e.Order))
	for i := range n.Order {
		n.Order[i] = c[1+len(e.Partition)+i].(*SortOrder)
	}
	return &n
}

// Having keeps the groups for which Cond is true. Unlike a Filter it may call
// aggregate functions and name columns below the Aggregate that is its input.
type Having struct {
	unary
	unresolvedNode
	Cond Expr
}

// NewHaving keeps the groups of in for which cond is true.
func NewHaving(in Node, cond Expr) *Having { return &Having{unary: over(in), Cond: cond} }

// WithChildren replaces the input.
func (n *Having) WithChildren(c []Node) Node { return NewHaving(c[0], n.Cond) }
