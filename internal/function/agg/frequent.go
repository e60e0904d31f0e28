package agg

import (
	"cmp"
	"math"
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// frequentDefs is what df.freqItems is made of: frequent_items(x, most).
func frequentDefs() []*fn.Def {
	s := fn.Takes(fn.Anything(), fn.Exactly(plan.Int)).WithNull(fn.Never).
		GivesType(func(args []plan.Expr) plan.Type { return plan.Array(args[0].Type(), args[0].Nullable()) })
	d := fn.Aggregate("frequent_items", s, newFrequent)
	d.Hidden, d.Internal = true, true
	return []*fn.Def{d}
}

// frequent keeps at most so many values that each that makes more than one part of them
// of all rows is among them, and others by chance (Karp, Shenker, Papadimitriou 2003).
type frequent struct {
	t      plan.Type
	most   int
	groups []frequentGroup
	key    []byte
}

// frequentGroup is what is kept of a group. reached is how many values it had at once.
type frequentGroup struct {
	items   map[string]*frequentItem
	reached int
	added   int // values so far, which tells those with one hash apart
}

type frequentItem struct {
	value plan.Value
	hash  int32
	at    int // how many were added before
	count int64
}

func newFrequent(c *plan.AggregateCall, env *fn.Env) (fn.Accumulator, error) {
	most, _ := cast.Folded(&fn.Binding{Env: env}, c.Args[1])
	return &frequent{t: *c.Of.Elem, most: int(most.(int64))}, nil
}

func (a *frequent) grow(n int) {
	for len(a.groups) < n {
		a.groups = append(a.groups, frequentGroup{items: map[string]*frequentItem{}})
	}
}

// Update counts every row; NULL is a value.
func (a *frequent) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	for _, i := range fn.Active(nil, sel, len(groups)) {
		a.add(groups[i], args[0], int(i), 1)
	}
	return nil
}

// add counts row i of a vector n times for a group. Where there is no room, the least count
// goes off all of them, and those that have none left make room.
func (a *frequent) add(group int32, v *chunk.Vector, i int, n int64) {
	g := &a.groups[group]
	a.key = fn.AppendKey(a.key[:0], v, i)
	if one := g.items[string(a.key)]; one != nil {
		one.count += n
		return
	}
	if len(g.items) < a.most {
		g.insert(string(a.key), v, i, n)
		return
	}
	least := int64(math.MaxInt64)
	for _, one := range g.items {
		least = min(least, one.count)
	}
	if n >= least {
		g.insert(string(a.key), v, i, n)
	} else {
		least = n
	}
	for key, one := range g.items {
		if one.count -= least; one.count <= 0 {
			delete(g.items, key)
		}
	}
}

func (g *frequentGroup) insert(key string, v *chunk.Vector, i int, n int64) {
	g.items[key] = &frequentItem{v.Value(i), scalaHash(v, i), g.added, n}
	g.added++
	g.reached = max(g.reached, len(g.items))
}

// scalaHash is by what Scala's maps place a value: a number has the hash of the whole
// number that it is.
func scalaHash(v *chunk.Vector, i int) int32 {
	if v.IsNull(i) {
		return 0
	}
	switch v.Type.Kind {
	case plan.KindLong, plan.KindTimestamp, plan.KindTimestampNTZ, plan.KindDayTime, plan.KindTime:
		return wholeHash(fn.IntegerAt(v, i))
	case plan.KindFloat:
		return doubleHash(float64(chunk.Values[float32](v)[i]))
	case plan.KindDouble:
		return doubleHash(chunk.Values[float64](v)[i])
	default:
		return javaHash(v, i)
	}
}

func wholeHash(x int64) int32 {
	if int64(int32(x)) == x {
		return int32(x)
	}
	return longHash(x)
}

// doubleHash is that of the simplest number that is equal.
func doubleHash(x float64) int32 {
	if whole := int64(x); float64(whole) == x {
		return wholeHash(whole)
	}
	if short := float32(x); float64(short) == x {
		return int32(math.Float32bits(short))
	}
	return longHash(int64(math.Float64bits(x)))
}

// ordered is what is kept in the order of Scala's map, which doubles its table when three
// quarters of it are taken, and never halves it.
func (g *frequentGroup) ordered() []*frequentItem {
	cells := uint32(16)
	for 4*uint32(g.reached) >= 3*cells {
		cells *= 2
	}
	spread := func(one *frequentItem) int32 { return one.hash ^ int32(uint32(one.hash)>>16) }
	list := make([]*frequentItem, 0, len(g.items))
	for _, one := range g.items {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b *frequentItem) int {
		x, y := spread(a), spread(b)
		return cmp.Or(cmp.Compare(uint32(x)&(cells-1), uint32(y)&(cells-1)), cmp.Compare(x, y),
			cmp.Compare(a.at, b.at))
	})
	return list
}

// BufferTypes are the values of a group and beside them their counts.
func (a *frequent) BufferTypes() []plan.Type {
	return []plan.Type{plan.Array(a.t, true), plan.Array(plan.Long, false)}
}

func (a *frequent) Buffers() []*chunk.Vector {
	types := a.BufferTypes()
	values, counts := chunk.New(types[0], len(a.groups)), chunk.New(types[1], len(a.groups))
	for i := range a.groups {
		for _, one := range a.groups[i].ordered() {
			values.Kids[0].AppendValue(one.value)
			chunk.Append(counts.Kids[0], one.count)
		}
		values.AppendSpan()
		counts.AppendSpan()
	}
	return []*chunk.Vector{values, counts}
}

func (a *frequent) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	counts := chunk.Values[int64](buffers[1].Kids[0])
	for i, g := range groups {
		from, to := buffers[0].Span(i)
		first, _ := buffers[1].Span(i)
		for e := from; e < to; e++ {
			a.add(g, buffers[0].Kids[0], e, counts[first+e-from])
		}
	}
	return nil
}

func (a *frequent) Result() (*chunk.Vector, error) { return a.Buffers()[0], nil }
