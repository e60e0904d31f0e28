package collections

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// higherMapDefs compute lambdas over the entries of maps.
func higherMapDefs() []*fn.Def {
	return []*fn.Def{
		{Name: "map_filter", Group: "lambda_funcs", Bind: bindMapFilter, Higher: mapFilterMaker,
			Examples: []fn.Example{{"map_filter(map(1, 0, 2, 2, 3, -1), (k, v) -> k > v)", "{1 -> 0, 3 -> -1}"}}},
		{Name: "transform_keys", Group: "lambda_funcs", Bind: bindTransformKeys, Higher: transformKeysMaker,
			Examples: []fn.Example{{"transform_keys(map('a', 1, 'b', 2), (k, v) -> upper(k))", "{A -> 1, B -> 2}"}}},
		{Name: "transform_values", Group: "lambda_funcs", Bind: bindTransformValues, Higher: transformValuesMaker,
			Examples: []fn.Example{{"transform_values(map(1, 'x', 2, 'y'), (k, v) -> concat(k, v))",
				"{1 -> 1x, 2 -> 2y}"}}},
		{Name: "map_zip_with", Group: "lambda_funcs", Bind: bindMapZipWith, Higher: mapZipWithMaker,
			Examples: []fn.Example{{"map_zip_with(map(1, 'a', 2, 'b'), map(1, 'x'), (k, l, r) -> concat(l, r))",
				"{1 -> ax, 2 -> NULL}"}}},
	}
}

// bindEntries binds a call whose lambda is given a key and its value.
func bindEntries(b *fn.Binding) (*plan.Call, *plan.LambdaFunction, error) {
	c, err := fn.Taking(1, 1).Bind(b, fn.AnyMap())
	if err != nil {
		return nil, nil, err
	}
	m := c.Args[0].Type()
	f, err := b.Resolve(c, 1, fn.Param{Of: *m.Key}, fn.Param{Of: *m.Elem, Null: m.ContainsNull})
	c.Null = c.Args[0].Nullable()
	return c, f, err
}

// entriesIn are the parameters of a lambda for the entries of maps.
func entriesIn(m *chunk.Vector, e *elements) []*chunk.Vector {
	return []*chunk.Vector{e.of(m.Kids[0]), e.of(m.Kids[1])}
}

func bindMapFilter(b *fn.Binding) (*plan.Call, error) {
	c, _, err := bindEntries(b)
	if err != nil {
		return nil, err
	}
	c.Of = c.Args[0].Type()
	return c, b.Yields(c, 1, plan.Boolean)
}

func mapFilterMaker(c *plan.Call, _ *fn.Env) (fn.HigherKernel, error) {
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		m := args[0]
		e := elementsIn(m, sel, n)
		keep, err := apply[0](e.rows, entriesIn(m, e))
		if err != nil {
			return nil, err
		}
		kept := e.where(keep)
		return listsOf(c.Of, m.Valid, kept.lengths(n), entriesIn(m, kept)...), nil
	}, nil
}

func bindTransformValues(b *fn.Binding) (*plan.Call, error) {
	c, f, err := bindEntries(b)
	if err != nil {
		return nil, err
	}
	c.Of = plan.Map(*c.Args[0].Type().Key, f.Type(), f.Nullable())
	return c, nil
}

func transformValuesMaker(c *plan.Call, _ *fn.Env) (fn.HigherKernel, error) {
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		m := args[0]
		e := elementsIn(m, sel, n)
		params := entriesIn(m, e)
		made, err := apply[0](e.rows, params)
		if err != nil {
			return nil, err
		}
		return listsOf(c.Of, m.Valid, e.lengths(n), params[0], made), nil
	}, nil
}

func bindTransformKeys(b *fn.Binding) (*plan.Call, error) {
	c, f, err := bindEntries(b)
	if err != nil {
		return nil, err
	}
	m := c.Args[0].Type()
	c.Of = plan.Map(f.Type(), *m.Elem, m.ContainsNull)
	if fn.HasMap(f.Type()) || fn.HasVariant(f.Type()) {
		return nil, fn.Mismatch(b, c, "INVALID_MAP_KEY_TYPE", "a map cannot be a key.",
			"keyType", fn.SqlType(f.Type()))
	}
	return c, nil
}

func transformKeysMaker(c *plan.Call, env *fn.Env) (fn.HigherKernel, error) {
	b := newMapBuilder(*c.Of.Key, env)
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		m := args[0]
		e := elementsIn(m, sel, n)
		keys, err := apply[0](e.rows, entriesIn(m, e))
		if err != nil {
			return nil, err
		}
		out, next := fn.NewAppender(c.Of, n), 0
		for _, i := range e.lists {
			v := out.SkipTo(int(i))
			from := v.Kids[0].Len
			for ; next < len(e.rows) && e.rows[next] == int32(i); next++ {
				if err := b.put(v, from, entry{keys, m.Kids[1], next, int(e.at[next])}); err != nil {
					return nil, err
				}
			}
			v.AppendSpan()
		}
		return out.SkipTo(n), nil
	}, nil
}

// bindMapZipWith binds map_zip_with(map, map, lambda): the keys get a common
// type.
func bindMapZipWith(b *fn.Binding) (*plan.Call, error) {
	c, err := fn.Taking(2, 1).Bind(b, fn.AnyMap(), fn.AnyMap())
	if err != nil {
		return nil, err
	}
	l, r := c.Args[0].Type(), c.Args[1].Type()
	key, ok := fn.WiderType(*l.Key, *r.Key, b.Env)
	if !ok {
		return nil, fn.Mismatch(b, c, "MAP_ZIP_WITH_DIFF_TYPES",
			"keys of "+l.Key.SQL()+" and "+r.Key.SQL()+" do not meet.", "functionName", "`map_zip_with`",
			"leftType", fn.SqlType(*l.Key), "rightType", fn.SqlType(*r.Key))
	}
	for i, m := range []plan.Type{l, r} {
		c.Args[i] = b.Cast(c.Args[i], plan.Map(key, *m.Elem, m.ContainsNull))
	}
	f, err := b.Resolve(c, 2, fn.Param{Of: key}, fn.Param{Of: *l.Elem, Null: true},
		fn.Param{Of: *r.Elem, Null: true})
	if err != nil {
		return nil, err
	}
	c.Of, c.Null = plan.Map(key, f.Type(), f.Nullable()), fn.AnyNullable(c.Args[:2])
	return c, nil
}

// mapZipWithMaker asks the lambda for every key of two maps, those of the first
// one first; a value that one of them lacks is NULL.
func mapZipWithMaker(c *plan.Call, _ *fn.Env) (fn.HigherKernel, error) {
	return func(args []*chunk.Vector, apply []fn.Apply, sel chunk.Sel, n int) (*chunk.Vector, error) {
		valid := args[0].Valid.And(args[1].Valid, n)
		j := &zipped{maps: args, keys: chunk.New(*c.Of.Key, 0), counts: make([]int32, n)}
		for _, i := range fn.Active(valid, sel, n) {
			j.add(int(i))
		}
		made, err := apply[0](j.rows, []*chunk.Vector{j.keys,
			chunk.Gather(args[0].Kids[1], j.at[0]), chunk.Gather(args[1].Kids[1], j.at[1])})
		if err != nil {
			return nil, err
		}
		return listsOf(c.Of, valid, j.counts, j.keys, made), nil
	}, nil
}

// zipped is the keys of pairs of maps, and where their values are.
type zipped struct {
	maps   []*chunk.Vector
	keys   *chunk.Vector
	rows   []int32
	at     [2][]int32 // -1 where a map lacks the key
	counts []int32
	key    []byte
}

// add adds the two maps of a row.
func (z *zipped) add(row int) {
	seen := map[string]int{}
	for side, m := range z.maps {
		from, to := m.Span(row)
		for e := from; e < to; e++ {
			z.key = fn.AppendKey(z.key[:0], m.Kids[0], e)
			k, known := seen[string(z.key)]
			if !known {
				k = len(z.rows)
				seen[string(z.key)] = k
				fn.AppendAny(z.keys, m.Kids[0], e)
				z.rows = append(z.rows, int32(row))
				z.at[0], z.at[1] = append(z.at[0], -1), append(z.at[1], -1)
				z.counts[row]++
			}
			z.at[side][k] = int32(e)
		}
	}
}
