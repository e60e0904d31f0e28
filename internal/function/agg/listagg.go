package agg

import (
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/cast"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// joinDefs is the aggregate that joins strings.
func joinDefs() []*fn.Def {
	return []*fn.Def{{Name: "listagg", Aliases: []string{"string_agg"}, Group: "agg_funcs", Ordered: true,
		ShownAsWritten: true,
		BindAggregate:  bindListAgg, Accumulate: newListAgg, Examples: []fn.Example{{"listagg(k)", "aabb"},
			{"listagg(i, ',') WITHIN GROUP (ORDER BY i)", "10,20,20,30"}}}}
}

// bindListAgg binds listagg(x [, delimiter]) [WITHIN GROUP (ORDER BY …)]. The
// bound call has x, the delimiter as a constant, and the keys.
func bindListAgg(b *fn.Binding) (*plan.AggregateCall, error) {
	text := fn.OneOf(fn.Str(), fn.Exactly(plan.Binary))
	given := *b
	if len(b.Args) == 1 {
		given.Args = []plan.Expr{b.Args[0], plan.Lit(nil, plan.Null)}
	}
	name := b.ShownName()
	if len(b.Orders) > 0 {
		name = b.Def.Name // WITHIN GROUP makes Spark forget the alias
	}
	shown := name + "($1, " + fn.Escaped(b.SQL(given.Args[1])) + ")"
	c, err := fn.Takes(text, text).GivesFirst().WithNull(fn.Always).Bind(&given)
	if err != nil {
		return nil, err
	}
	if c.Of.Kind == plan.KindNull {
		c.Of = plan.String
	}
	delimiter, ok := cast.Folded(b, c.Args[1])
	if !ok {
		return nil, fn.Mismatch(b, c, "NON_FOLDABLE_INPUT", "the delimiter must be a constant.",
			"inputName", "`delimiter`", "inputType", fn.SqlType(c.Args[1].Type()),
			"inputExpr", fn.Quoted(b.SQL(c.Args[1])))
	}
	for i, o := range b.Orders {
		if i == 0 {
			shown += " WITHIN GROUP (ORDER BY "
		} else {
			shown += ", "
		}
		shown += fn.Escaped(b.SQL(o))
		c.Args = append(c.Args, o)
	}
	if len(b.Orders) > 0 {
		shown += ")"
	}
	if c.Args[0].Type().Kind != c.Args[1].Type().Kind && c.Args[1].Type().Kind != plan.KindNull {
		return nil, fn.DiffTypes(b, c, "listagg",
			"("+fn.SqlType(c.Args[0].Type())+" or "+fn.SqlType(c.Args[1].Type())+")")
	}
	c.Text, c.Args[1] = shown, plan.Lit(delimiter, c.Of)
	if err := sameAsDistinct(b, c); err != nil {
		return nil, err
	}
	return b.AggregateCall(c)
}

// sameAsDistinct checks that different values are ordered by themselves.
func sameAsDistinct(b *fn.Binding, c *plan.Call) error {
	if !b.Distinct || len(b.Orders) == 0 {
		return nil
	}
	if len(b.Orders) == 1 && b.SQL(b.Orders[0].Child) == b.SQL(b.Args[0]) {
		return nil
	}
	keys := ""
	for i, o := range b.Orders {
		if i > 0 {
			keys += ", "
		}
		keys += fn.Quoted(b.SQL(o.Child))
	}
	return plan.AnalysisError("INVALID_WITHIN_GROUP_EXPRESSION.MISMATCH_WITH_DISTINCT_INPUT",
		"listagg(DISTINCT x) orders by x only.", "funcName", "`listagg`", "funcArg", fn.Quoted(b.SQL(b.Args[0])),
		"orderingExpr", keys).At(b.Origin)
}

// listAgg keeps the values of all groups and their keys in a vector each; each
// group is a chain of rows.
type listAgg struct {
	collect
	of        plan.Type
	delimiter []byte
	orders    []order
	keys      []*chunk.Vector
}

// order is one key of WITHIN GROUP.
type order struct {
	compare                fn.Comparator
	descending, nullsFirst bool
}

func newListAgg(c *plan.AggregateCall, _ *fn.Env) (fn.Accumulator, error) {
	a := &listAgg{of: c.Of, collect: collect{elem: c.Of, values: chunk.New(c.Of, 16)}}
	switch v, _ := fn.Constant(c.Args[1]); v := v.(type) {
	case string:
		a.delimiter = []byte(v)
	case []byte:
		a.delimiter = v
	}
	for _, e := range c.Args[2:] {
		o := e.(*plan.SortOrder)
		a.orders = append(a.orders, order{fn.Compare(o.Type()), o.Descending, o.NullsFirst})
		a.keys = append(a.keys, chunk.New(o.Type(), 16))
	}
	return a, nil
}

func (a *listAgg) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	v := args[0]
	if v.Type.Kind == plan.KindNull {
		return nil
	}
	for _, i := range fn.Active(v.Valid, sel, len(groups)) {
		a.add(groups[i], v, int(i), nil)
		for k, key := range a.keys {
			fn.AppendAny(key, args[2+k], int(i))
		}
	}
	return nil
}

// BufferTypes are the values of a group, and an array for each key.
func (a *listAgg) BufferTypes() []plan.Type {
	types := []plan.Type{plan.Array(a.of, false)}
	for _, k := range a.keys {
		types = append(types, plan.Array(k.Type, true))
	}
	return types
}

func (a *listAgg) Buffers() []*chunk.Vector {
	out := a.collect.Buffers()
	for _, key := range a.keys {
		v := chunk.New(plan.Array(key.Type, true), len(a.head))
		for _, row := range a.head {
			for ; row >= 0; row = a.next[row] {
				fn.AppendAny(v.Kids[0], key, int(row))
			}
			v.AppendSpan()
		}
		out = append(out, v)
	}
	return out
}

func (a *listAgg) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	for i, g := range groups {
		from, to := buffers[0].Span(i)
		for e := from; e < to; e++ {
			a.add(g, buffers[0].Kids[0], e, nil)
		}
		for k, key := range a.keys {
			from, to := buffers[1+k].Span(i)
			for e := from; e < to; e++ {
				fn.AppendAny(key, buffers[1+k].Kids[0], e)
			}
		}
	}
	return nil
}

func (a *listAgg) Result() (*chunk.Vector, error) {
	out := chunk.New(a.of, len(a.head))
	var rows []int32
	var text []byte
	for _, row := range a.head {
		if row < 0 {
			out.AppendNull()
			continue
		}
		rows, text = rows[:0], text[:0]
		for ; row >= 0; row = a.next[row] {
			rows = append(rows, row)
		}
		slices.SortStableFunc(rows, a.compare)
		for i, row := range rows {
			if i > 0 {
				text = append(text, a.delimiter...)
			}
			text = append(text, a.values.Bytes(int(row))...)
		}
		if err := fn.Room(text, 0); err != nil {
			return nil, err
		}
		out.AppendBytes(text)
	}
	return out, nil
}

func (a *listAgg) compare(x, y int32) int {
	for k, o := range a.orders {
		key := a.keys[k]
		c := 0
		switch xNull, yNull := key.IsNull(int(x)), key.IsNull(int(y)); {
		case xNull && yNull:
		case xNull != yNull:
			c = 1
			if xNull == o.nullsFirst {
				c = -1
			}
		default:
			c = o.compare(key, int(x), key, int(y))
			if o.descending {
				c = -c
			}
		}
		if c != 0 {
			return c
		}
	}
	return 0
}
