package agg

import (
	"math"
	"strconv"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/function/hashes"
	"github.com/weir-dev/weir/internal/plan"
)

// modeDefs is the aggregate that gives the value which occurs most often.
func modeDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "mode", Group: "agg_funcs", Ordered: true, BindAggregate: bindMode, Accumulate: newMode,
			Examples: []fn.Example{{"mode(i)", "20"}, {"mode(k, true)", "a"}}},
	}
}

// bindMode binds mode(x), mode(x, least) and mode() WITHIN GROUP (ORDER BY x).
// Of values that occur equally often, the second gives the least when the flag
// is true, the third the first in the order.
func bindMode(b *fn.Binding) (*plan.AggregateCall, error) {
	if len(b.Orders) > 0 {
		return bindOrderedMode(b)
	}
	if b.Distinct || len(b.Args) == 0 {
		return nil, b.WithinGroup(len(b.Args), 1)
	}
	c, err := fn.Takes(fn.Anything(), fn.Anything()).Optional(1).GivesFirst().WithNull(fn.Always).Bind(b)
	if err != nil {
		return nil, err
	}
	least := false
	if len(c.Args) == 2 {
		if least, err = leastOfEqual(b, c.Args[1]); err != nil {
			return nil, err
		}
	}
	c.Args = c.Args[:1]
	if least {
		c.Args = []plan.Expr{&plan.SortOrder{Child: c.Args[0], NullsFirst: true}}
		c.Text = orderedModeText(b, c.Args[0].(*plan.SortOrder))
	}
	return b.AggregateCall(c)
}

// leastOfEqual is the flag of mode, which is a constant.
func leastOfEqual(b *fn.Binding, e plan.Expr) (bool, error) {
	v, ok := cast.Folded(b, e)
	switch {
	case ok && v == nil:
		return false, fn.Mismatch(b, e, "UNEXPECTED_NULL", "the second argument of mode must not be NULL.",
			"exprName", "`deterministic`")
	case e.Type().Kind != plan.KindBoolean:
		return false, plan.AnalysisError("UNEXPECTED_INPUT_TYPE", "the second argument of mode is a BOOLEAN.",
			"functionName", "`mode`", "paramIndex", "second", "inputSql", fn.Quoted(b.SQL(e)),
			"inputType", fn.SqlType(e.Type()), "requiredType", fn.SqlType(plan.Boolean)).At(b.Origin)
	case !ok:
		return false, plan.AnalysisError("NON_FOLDABLE_ARGUMENT", "the second argument of mode must be a constant.",
			"funcName", "`mode`", "paramName", "`deterministic`", "paramType", fn.SqlType(plan.Boolean)).At(b.Origin)
	default:
		return v == true, nil
	}
}

func bindOrderedMode(b *fn.Binding) (*plan.AggregateCall, error) {
	if n := len(b.Args); n > 0 {
		return nil, b.WithinGroup(n, 0)
	}
	if err := b.WithinGroup(0, 1); err != nil {
		return nil, err
	}
	o := b.Orders[0]
	c := b.Call([]plan.Expr{o}, o.Type(), true)
	c.Text = orderedModeText(b, o)
	return b.AggregateCall(c)
}

// orderedModeText shows the order the other way round, as Spark does.
func orderedModeText(b *fn.Binding, o *plan.SortOrder) string {
	text := "mode() WITHIN GROUP (ORDER BY " + b.SQL(o.Child)
	if !o.Descending {
		text += " DESC"
	}
	return fn.Escaped(text + ")")
}

// mode counts every value.
type mode struct {
	*tally
	order fn.Comparator // picks among the most frequent; nil leaves it to Spark's hash table
	sign  int
}

func newMode(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
	a := &mode{tally: newTally(c.Of)}
	if o, ok := c.Args[0].(*plan.SortOrder); ok {
		a.order, a.sign = fn.Compare(c.Of), 1
		if o.Descending {
			a.sign = -1
		}
	}
	return a, nil
}

func (a *mode) Result() (*chunk.Vector, error) {
	at := make([]int32, len(a.head))
	var rows, top []int32
	for g := range at {
		rows = a.rows(g, rows[:0])
		top = a.mostFrequent(rows, top[:0])
		switch {
		case len(top) == 0:
			at[g] = -1
		case len(top) == 1:
			at[g] = top[0]
		default:
			at[g] = a.pick(rows, top)
		}
	}
	return chunk.Gather(a.values, at), nil
}

func (a *mode) mostFrequent(rows, dst []int32) []int32 {
	for _, row := range rows {
		if len(dst) > 0 && a.counts[row] < a.counts[dst[0]] {
			continue
		}
		if len(dst) > 0 && a.counts[row] > a.counts[dst[0]] {
			dst = dst[:0]
		}
		dst = append(dst, row)
	}
	return dst
}

// pick chooses among values that occur equally often: by the order when there is
// one, otherwise the one that Spark's hash table has first.
func (a *mode) pick(rows, top []int32) int32 {
	if a.order == nil {
		most := a.counts[top[0]]
		for _, row := range a.asHashed(rows) {
			if a.counts[row] == most {
				return row
			}
		}
	}
	best := top[0]
	for _, row := range top[1:] {
		if a.sign*a.order(a.values, int(row), a.values, int(best)) < 0 {
			best = row
		}
	}
	return best
}

// asHashed is the values of a group in the order of Spark's buffer, when the
// group was aggregated in one piece. Pieces that were merged may leave values
// whose hashes collide in another order, which depends on the shuffle.
func (a *mode) asHashed(rows []int32) []int32 {
	t := &hashTable{slots: make([]uint32, len(a.counts))}
	for _, row := range rows {
		t.slots[row] = uint32(hashes.MurmurInt(javaHash(a.values, int(row)), 0))
	}
	t.reset(initialCells)
	for _, row := range rows {
		t.insert(row)
	}
	return t.order()
}

// initialCells is how large Spark's table is at first.
const initialCells = 64

// hashTable is the layout of Spark's OpenHashSet.
type hashTable struct {
	slots []uint32 // the hash of each row
	cells []int32  // rows, -1 where there is none
	n     int
}

func (t *hashTable) reset(capacity int) {
	t.cells = make([]int32, capacity)
	for i := range t.cells {
		t.cells[i] = -1
	}
}

func (t *hashTable) place(row int32) {
	mask := uint32(len(t.cells) - 1)
	at := t.slots[row] & mask
	for step := uint32(1); t.cells[at] >= 0; step++ {
		at = (at + step) & mask
	}
	t.cells[at] = row
}

func (t *hashTable) insert(row int32) {
	t.place(row)
	if t.n++; t.n <= int(0.7*float64(len(t.cells))) {
		return
	}
	rows := t.order()
	t.reset(2 * len(t.cells))
	for _, row := range rows {
		t.place(row)
	}
}

func (t *hashTable) order() []int32 {
	rows := make([]int32, 0, t.n)
	for _, row := range t.cells {
		if row >= 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// javaHash is the hashCode of the object that Spark has for row i; nested values
// have 0, their order being that of no Spark user's concern.
func javaHash(v *chunk.Vector, i int) int32 {
	switch v.Type.Kind {
	case plan.KindBoolean:
		if chunk.Values[uint8](v)[i] != 0 {
			return 1231
		}
		return 1237
	case plan.KindByte, plan.KindShort, plan.KindInt, plan.KindDate, plan.KindYearMonth:
		return int32(fn.IntegerAt(v, i))
	case plan.KindLong, plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindTime:
		return longHash(fn.IntegerAt(v, i))
	case plan.KindFloat:
		return int32(math.Float32bits(chunk.Values[float32](v)[i]))
	case plan.KindDouble:
		return longHash(int64(math.Float64bits(chunk.Values[float64](v)[i])))
	case plan.KindDecimal:
		return decimalHash(chunk.Values[chunk.Dec](v)[i], v.Type.Scale)
	case plan.KindString:
		return hashes.MurmurBytes(v.Bytes(i), hashes.Seed)
	default:
		return 0
	}
}

func longHash(x int64) int32 { return int32(x ^ int64(uint64(x)>>32)) }

// decimalHash is that of Scala's BigDecimal: of the whole number, or of the
// double that the decimal is.
func decimalHash(d chunk.Dec, scale int) int32 {
	x, _ := strconv.ParseFloat(string(codec.AppendDecimal(nil, d, scale)), 64)
	if whole := int64(x); float64(whole) == x {
		if int64(int32(whole)) == whole {
			return int32(whole)
		}
		return longHash(whole)
	}
	if short := float32(x); float64(short) == x {
		return int32(math.Float32bits(short))
	}
	return longHash(int64(math.Float64bits(x)))
}
