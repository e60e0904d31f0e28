package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// joinOp reads one side whole (the built side) and streams the other past it.
// Rows meet by equal keys, or all of them when there are none; a residual
// condition decides about each pair.
type joinOp struct {
	kind   plan.JoinType
	stream side
	built  side
	// flipped says that the streamed side is the right one (a right join).
	flipped bool
	keys    *rowkey.Form // nil without keys
	// nullSafe says of each key that NULL equals NULL (<=>).
	nullSafe []bool
	residual *eval.Set // over left, then right columns; nil without one
	// out and test are the columns of a result row and of a pair to be tested.
	out, test pairColumns
	outer     bool // streamed rows without a match stay
}

// side is an input of a join.
type side struct {
	op    operator
	attrs []*plan.Attribute
	keys  *eval.Set
}

// pairColumns is ordinals of the columns to take from each side, the left
// side's first.
type pairColumns struct{ stream, built []int }

func (p *planner) buildJoin(n *plan.Join, want need) (input, error) {
	left, right := n.Left.Output(), n.Right.Output()
	eq, rest := splitCondition(n.Cond, left, right)
	o := &joinOp{kind: n.Kind, flipped: n.Kind == plan.RightJoin}
	o.outer = n.Kind == plan.LeftJoin || n.Kind == plan.RightJoin || n.Kind == plan.FullJoin
	semi := n.Kind == plan.SemiJoin || n.Kind == plan.AntiJoin
	below := want
	for _, e := range eq {
		below = below.with(e.left, e.right)
	}
	below = below.with(rest...)
	belowRight := below
	if semi {
		belowRight = need{}.with(rest...)
		for _, e := range eq {
			belowRight = belowRight.with(e.right)
		}
	}
	l, err := p.buildSide(n.Left, below)
	if err != nil {
		return input{}, err
	}
	r, err := p.buildSide(n.Right, belowRight)
	if err != nil {
		return input{}, err
	}
	if err := p.joinKeys(o, eq, &l, &r); err != nil {
		return input{}, err
	}
	outL, outR := o.columns(n, want, l.attrs, r.attrs)
	if o.stream, o.built = l, r; o.flipped {
		o.stream, o.built = r, l
	}
	if err := p.joinResidual(o, rest, l.attrs, r.attrs); err != nil {
		return input{}, err
	}
	o.out = o.pairs(ordinalsOf(l.attrs, outL), ordinalsOf(r.attrs, outR))
	return input{op: o, attrs: append(append([]*plan.Attribute(nil), outL...), outR...)}, nil
}

// columns is what the join yields of each side.
func (o *joinOp) columns(n *plan.Join, want need, l, r []*plan.Attribute) (left, right []*plan.Attribute) {
	left = want.only(l)
	if n.Kind == plan.SemiJoin || n.Kind == plan.AntiJoin {
		return left, nil
	}
	return left, want.only(r)
}

func (o *joinOp) pairs(left, right []int) pairColumns {
	if o.flipped {
		return pairColumns{right, left}
	}
	return pairColumns{left, right}
}

func (p *planner) buildSide(n plan.Node, want need) (side, error) {
	in, err := p.build(n, want)
	return side{op: in.op, attrs: in.attrs}, err
}

// joinKeys compiles the keys of both sides.
func (p *planner) joinKeys(o *joinOp, eq []equality, l, r *side) error {
	if len(eq) == 0 {
		return nil
	}
	var left, right []plan.Expr
	var types []plan.Type
	for _, e := range eq {
		left, right = append(left, e.left), append(right, e.right)
		types = append(types, e.left.Type())
		o.nullSafe = append(o.nullSafe, e.nullSafe)
	}
	var err error
	if o.keys, err = rowkey.NewForm(types); err != nil {
		return err
	}
	if l.keys, err = p.compileSet(left, l.attrs); err != nil {
		return err
	}
	r.keys, err = p.compileSet(right, r.attrs)
	return err
}

// joinResidual compiles what is left of the condition.
func (p *planner) joinResidual(o *joinOp, rest []plan.Expr, l, r []*plan.Attribute) error {
	if len(rest) == 0 {
		return nil
	}
	reads := needs(rest...)
	left, right := reads.only(l), reads.only(r)
	both := append(append([]*plan.Attribute(nil), left...), right...)
	o.test = o.pairs(ordinalsOf(l, left), ordinalsOf(r, right))
	var err error
	o.residual, err = p.compileSet([]plan.Expr{allOf(rest)}, both)
	return err
}

// allOf is the AND of conditions.
func allOf(list []plan.Expr) plan.Expr {
	if len(list) == 1 {
		return list[0]
	}
	null := false
	for _, e := range list {
		null = null || e.Nullable()
	}
	return &plan.Call{Name: "and", Args: list, Of: plan.Boolean, Null: null}
}

// equality is a part of a join condition that compares the two sides.
type equality struct {
	left, right plan.Expr
	nullSafe    bool
}

// splitCondition finds the equalities between the sides in a join condition;
// rest is the other parts.
func splitCondition(cond plan.Expr, left, right []*plan.Attribute) (eq []equality, rest []plan.Expr) {
	if cond == nil {
		return nil, nil
	}
	for _, e := range conjuncts(cond) {
		call, ok := e.(*plan.Call)
		if !ok || call.Name != "=" && call.Name != "<=>" {
			rest = append(rest, e)
			continue
		}
		a, b := call.Args[0], call.Args[1]
		switch {
		case readsOnly(a, left) && readsOnly(b, right):
			eq = append(eq, equality{a, b, call.Name == "<=>"})
		case readsOnly(a, right) && readsOnly(b, left):
			eq = append(eq, equality{b, a, call.Name == "<=>"})
		default:
			rest = append(rest, e)
		}
	}
	return eq, rest
}

// conjuncts is the parts of nested ANDs.
func conjuncts(e plan.Expr) []plan.Expr {
	call, ok := e.(*plan.Call)
	if !ok || call.Name != "and" {
		return []plan.Expr{e}
	}
	var out []plan.Expr
	for _, a := range call.Args {
		out = append(out, conjuncts(a)...)
	}
	return out
}

// readsOnly reports whether an expression reads columns, and only these.
func readsOnly(e plan.Expr, attrs []*plan.Attribute) bool {
	refs := plan.References(e)
	if len(refs) == 0 || plan.Contains(e, isVolatile) {
		return false
	}
	for _, a := range attrs {
		delete(refs, a.ID)
	}
	return len(refs) == 0
}

func isVolatile(e plan.Expr) bool {
	call, ok := e.(*plan.Call)
	return ok && eval.Volatile(call.Name)
}

// broadcastBytes is spark.sql.autoBroadcastJoinThreshold: below it Spark sends
// the built side to the streamed partitions, which stay as they are.
const broadcastBytes = 10 << 20

func (o *joinOp) parts(r *running) int {
	if o.kind == plan.FullJoin {
		return 1
	}
	return o.stream.op.parts(r)
}

func (o *joinOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		j := &joining{op: o, run: r, held: r.lease("join"), yield: yield}
		defer j.end()
		err := j.build()
		if err == nil {
			err = j.streamPast()
		}
		if err == nil && !j.stopped && o.kind == plan.FullJoin {
			err = j.unmatched()
		}
		if err != nil && !j.stopped {
			yield(nil, err)
		}
	}
}
