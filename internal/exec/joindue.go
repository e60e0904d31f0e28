package exec

import (
	"math"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/plan"
)

// dueRule says until when the other side of a join may bring a partner for a
// row, as far as the watermark tells.
type dueRule struct {
	// key is the place of an event time among the join keys, -1 when a column
	// decides.
	key int
	// column is the time of the row that a condition bounds from below by the
	// event time of the other side.
	column *plan.Attribute
	// shiftMs: rows are due whose time is at most the watermark and this.
	shiftMs int64
}

// dueRules finds when the rows of the left and of the right side are due; nil
// where the condition says nothing.
func (p *planner) dueRules(n *plan.Join, eq []equality) [2]*dueRule {
	for i, e := range eq {
		if isEventTime(e.left) || isEventTime(e.right) {
			// A time among the keys bounds both sides.
			return [2]*dueRule{{key: i}, {key: i}}
		}
	}
	left, right := n.Left.Output(), n.Right.Output()
	return [2]*dueRule{p.dueByCondition(n.Cond, left, right), p.dueByCondition(n.Cond, right, left)}
}

func isEventTime(e plan.Expr) bool {
	a, ok := e.(*plan.Attribute)
	return ok && a.IsEventTime()
}

// dueByCondition looks for comparisons that bound a time of this side from below
// by the event time of the other: once the watermark is past it, no row of the
// other side can meet the condition. Like Spark's, a side without a watermark of its
// own holds its rows for ever all the same.
func (p *planner) dueByCondition(cond plan.Expr, mine, other []*plan.Attribute) *dueRule {
	if cond == nil || !slices.ContainsFunc(mine, func(a *plan.Attribute) bool { return a.EventTime != nil }) {
		return nil
	}
	var found *dueRule
	for _, e := range conjuncts(cond) {
		rule := p.dueByComparison(e, mine, other)
		if rule != nil && (found == nil || rule.shiftMs < found.shiftMs) {
			found = rule
		}
	}
	return found
}

func (p *planner) dueByComparison(e plan.Expr, mine, other []*plan.Attribute) *dueRule {
	call, ok := e.(*plan.Call)
	if !ok || len(call.Args) != 2 {
		return nil
	}
	low, high, strict := call.Args[0], call.Args[1], false
	switch call.Name {
	case "<":
		strict = true
	case "<=":
	case ">":
		low, high, strict = high, low, true
	case ">=":
		low, high = high, low
	default:
		return nil
	}
	// low < high means: other + a < mine + b, so mine > other + a - b.
	theirs, a, ok := p.timeTerm(low)
	if !ok || !contains(other, theirs) || !isEventTimeOf(other, theirs) {
		return nil
	}
	ours, b, ok := p.timeTerm(high)
	if !ok || !contains(mine, ours) {
		return nil
	}
	rule := &dueRule{key: -1, column: ours, shiftMs: floorMs(a - b)}
	if !strict {
		rule.shiftMs--
	}
	return rule
}

func floorMs(us int64) int64 {
	ms := us / 1000
	if us%1000 < 0 {
		ms--
	}
	return ms
}

func contains(attrs []*plan.Attribute, a *plan.Attribute) bool {
	for _, b := range attrs {
		if b.ID == a.ID {
			return true
		}
	}
	return false
}

func isEventTimeOf(attrs []*plan.Attribute, a *plan.Attribute) bool {
	for _, b := range attrs {
		if b.ID == a.ID {
			return b.EventTime != nil
		}
	}
	return false
}

// timeTerm reads an expression as a column of times and a constant in µs.
func (p *planner) timeTerm(e plan.Expr) (*plan.Attribute, int64, bool) {
	switch n := e.(type) {
	case *plan.Attribute:
		return n, 0, isTime(n.Of)
	case *plan.Cast:
		// Between times with and without a zone; their order stays.
		if isTime(n.To) && isTime(n.Child.Type()) {
			return p.timeTerm(n.Child)
		}
	case *plan.Call:
		return p.timeSum(n)
	}
	return nil, 0, false
}

func isTime(t plan.Type) bool { return t.Kind == plan.KindTimestamp || t.Kind == plan.KindTimestampNTZ }

// timeSum reads the sum of a time and a constant interval.
func (p *planner) timeSum(n *plan.Call) (*plan.Attribute, int64, bool) {
	if n.Name != "timestamp + interval" {
		return nil, 0, false
	}
	us, ok := p.constantMicros(n.Args[1])
	if !ok {
		return nil, 0, false
	}
	column, more, ok := p.timeTerm(n.Args[0])
	return column, more + us, ok
}

// constantMicros is the length of a constant interval; months have none.
func (p *planner) constantMicros(e plan.Expr) (int64, bool) {
	if len(plan.References(e)) > 0 || plan.Contains(e, isVolatile) {
		return 0, false
	}
	value, err := eval.Const(e, p.env)
	if err != nil {
		return 0, false
	}
	switch v := value.(type) {
	case int64:
		return v, e.Type().Kind == plan.KindDayTime
	case plan.Interval:
		const dayMicros = 24 * 3600 * 1_000_000
		return int64(v.Days)*dayMicros + v.Micros, v.Months == 0
	default:
		return 0, false
	}
}

// passed is how far the times of this side's rows are known to have come when
// the watermark is ms: what the join yields later is not older.
func (d *dueRule) passed(ms int64) int64 {
	if d == nil {
		return ms
	}
	return ms + d.shiftMs
}

// micros is when rows are due: the watermark in µs that gives them up. NULL
// times are never due.
func (d *dueRule) micros(c *chunk.Chunk, keys []*chunk.Vector, attrs []*plan.Attribute) *chunk.Vector {
	out := chunk.Make(plan.Long, c.Rows)
	values := chunk.Values[int64](out)
	var v *chunk.Vector
	shift := int64(0)
	switch {
	case d == nil:
		for i := range values {
			values[i] = math.MaxInt64
		}
		return out
	case d.key >= 0:
		v = keys[d.key]
	default:
		v, shift = c.Cols[position(attrs, d.column.ID)], d.shiftMs*1000
	}
	times, valid := timesOf(v)
	for i, t := range times {
		values[i] = math.MaxInt64
		if valid.Get(i) {
			values[i] = t - shift
		}
	}
	return out
}
