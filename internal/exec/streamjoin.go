package exec

import (
	"fmt"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
	"github.com/weir-dev/weir/internal/state"
)

// streamJoin joins two streams. Each side's rows are kept until the watermark
// says that no partner can come any more; every new row is joined with what the
// other side has kept: the left rows of a batch with the right rows of earlier
// batches, then the right rows of the batch with all left rows; in a semi join the
// right rows come first.
//
// A row that is kept and may have to be told as unmatched carries a mark of
// having met somebody; what has not by the time it is given up is then yielded
// with NULLs. A left row of a semi join is done with once it has met somebody.
type streamJoin struct {
	kind     plan.JoinType
	id       int
	sides    [2]joinSide
	keys     []plan.Type
	nullSafe []bool
	residual *eval.Set // over left, then right columns; nil without one
	// out is the columns of a result: of the left side, then of the right.
	out    [2][]int
	placer placer
}

const (
	leftSide  = 0
	rightSide = 1

	joinName = "symmetricHashJoin"
)

// joinStores are Spark's stores of a join: by key how many rows, and the rows.
var joinStores = []string{
	"left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue",
}

// joinSide is one input of a streamJoin.
type joinSide struct {
	in    operator
	attrs []*plan.Attribute
	keys  *eval.Set
	// before decides about rows by themselves: those that fail meet nobody. Nil
	// without a condition on this side alone.
	before *eval.Set
	timeAt int // the event time among the columns, -1 without one
	due    *dueRule
	// padded says that rows without a partner are yielded with NULLs; marked that
	// rows know whether they met somebody.
	padded, marked bool
}

// metColumn stands behind the columns of the input in a side's table: whether a
// row met somebody. When it is due comes after.
const metColumn = 0

func (p *planner) buildStreamJoin(n *plan.Join, want need) (input, error) {
	id, op := p.operator(n, joinName)
	op.StoresPerPartition, op.StoreNames = len(joinStores), joinStores
	eq, rest := splitCondition(n.Cond, n.Left.Output(), n.Right.Output())
	if len(eq) == 0 {
		return input{}, plan.Unsupported("a join of two streams without an equality between them")
	}
	o := &streamJoin{kind: n.Kind, id: id}
	below := want
	for _, e := range eq {
		below = below.with(e.left, e.right)
		o.keys = append(o.keys, e.left.Type())
		o.nullSafe = append(o.nullSafe, e.nullSafe)
	}
	below = below.with(rest...)
	for s, child := range []plan.Node{n.Left, n.Right} {
		if err := p.joinInput(o, s, child, below); err != nil {
			return input{}, err
		}
	}
	if err := o.setKinds(p, eq); err != nil {
		return input{}, err
	}
	if err := p.joinConditions(o, rest); err != nil {
		return input{}, err
	}
	rules := p.dueRules(n, eq)
	for s := range o.sides {
		o.sides[s].due = rules[s]
		op.evicts = op.evicts || rules[s] != nil
		op.Tables = append(op.Tables, o.shape(s, eq))
	}
	op.output = func(in int64) int64 { return min(rules[leftSide].passed(in), rules[rightSide].passed(in)) }
	left, right := o.sides[leftSide].attrs, o.sides[rightSide].attrs
	outL, outR := want.only(left), want.only(right)
	if n.Kind == plan.SemiJoin {
		outR = nil
	}
	o.out = [2][]int{ordinalsOf(left, outL), ordinalsOf(right, outR)}
	o.placer.attrs = append(append([]*plan.Attribute(nil), outL...), outR...)
	o.placer.how = p.placements.of(n)
	var err error
	o.placer.spread, err = p.spreadBy(op.Tables[leftSide].Key)
	return input{op: o, attrs: o.placer.attrs}, err
}

// joinInput builds a side. Where nobody asks for its event time Spark has pruned it,
// and no row comes too late.
func (p *planner) joinInput(o *streamJoin, s int, n plan.Node, want need) error {
	time, err := eventColumn(n.Output())
	if err != nil {
		return err
	}
	if time >= 0 && !want.has(n.Output()[time]) {
		time = -1
	}
	in, err := p.build(n, want)
	if err != nil {
		return err
	}
	o.sides[s] = joinSide{in: in.op, attrs: in.attrs, timeAt: -1}
	if time >= 0 {
		o.sides[s].timeAt = position(in.attrs, n.Output()[time].ID)
	}
	return nil
}

// setKinds compiles the keys and says what becomes of rows without a partner.
func (o *streamJoin) setKinds(p *planner, eq []equality) error {
	if _, err := rowkey.NewForm(o.keys); err != nil {
		return err
	}
	var exprs [2][]plan.Expr
	for _, e := range eq {
		exprs[leftSide] = append(exprs[leftSide], e.left)
		exprs[rightSide] = append(exprs[rightSide], e.right)
	}
	for s := range o.sides {
		var err error
		if o.sides[s].keys, err = p.compileSet(exprs[s], o.sides[s].attrs); err != nil {
			return err
		}
	}
	l, r := &o.sides[leftSide], &o.sides[rightSide]
	l.padded = o.kind == plan.LeftJoin || o.kind == plan.FullJoin
	r.padded = o.kind == plan.RightJoin || o.kind == plan.FullJoin
	l.marked, r.marked = l.padded, r.padded
	return nil
}

// joinConditions compiles what is left of the condition: what a side decides
// alone, and what takes both.
func (p *planner) joinConditions(o *streamJoin, rest []plan.Expr) error {
	var own [2][]plan.Expr
	var both []plan.Expr
	for _, e := range rest {
		switch {
		case readsOnly(e, o.sides[leftSide].attrs):
			own[leftSide] = append(own[leftSide], e)
		case readsOnly(e, o.sides[rightSide].attrs):
			own[rightSide] = append(own[rightSide], e)
		default:
			both = append(both, e)
		}
	}
	var err error
	for s := range own {
		if len(own[s]) == 0 {
			continue
		}
		if o.sides[s].before, err = p.compileSet([]plan.Expr{allOf(own[s])}, o.sides[s].attrs); err != nil {
			return err
		}
	}
	if len(both) == 0 {
		return nil
	}
	attrs := append(append([]*plan.Attribute(nil), o.sides[leftSide].attrs...), o.sides[rightSide].attrs...)
	o.residual, err = p.compileSet([]plan.Expr{allOf(both)}, attrs)
	return err
}

// shape is the table of a side.
func (o *streamJoin) shape(s int, eq []equality) state.Shape {
	shape := state.Shape{Name: [2]string{"left", "right"}[s], Many: true}
	for i, e := range eq {
		side := e.left
		if s == rightSide {
			side = e.right
		}
		shape.Key = append(shape.Key, state.Column{Name: fmt.Sprint("field", i), Type: side.Type()})
	}
	shape.Value = append(keyColumns(o.sides[s].attrs),
		state.Column{Name: "matched", Type: plan.Boolean}, state.Column{Name: "dueMicros", Type: plan.Long})
	if o.sides[s].due != nil {
		shape.Expiry = len(shape.Value)
	}
	return shape
}

func (o *streamJoin) parts(r *running) int { return r.partitions() }

func (o *streamJoin) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		j := &batchOfPairs{working: r.working(o.id), of: o, r: r, out: o.placer.start(r, yield)}
		defer j.out.release()
		if err := j.run(); err != nil {
			yield(nil, err)
		}
	}
}
