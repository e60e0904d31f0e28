package function_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// resolver is analysis as far as expressions over one table need it.
type resolver struct {
	env    *function.Env
	cols   []*plan.Attribute
	params *parameters // of the lambda around
}

func (r *resolver) resolve(e plan.Expr) (plan.Expr, error) {
	switch e := e.(type) {
	case *plan.UnresolvedAttribute:
		return r.column(e)
	case *plan.UnresolvedFunction:
		return r.call(e)
	case *plan.ExtractValue:
		return r.extract(e)
	case *plan.Cast:
		return r.cast(e)
	case *plan.Alias:
		child, err := r.resolve(e.Child)
		if err != nil {
			return nil, err
		}
		return e.WithChildren([]plan.Expr{child}), nil
	case *plan.SortOrder:
		child, err := r.resolve(e.Child)
		if err != nil {
			return nil, err
		}
		return e.WithChildren([]plan.Expr{child}), nil
	case *plan.Literal:
		return e, nil
	case *plan.TypedLiteral:
		return r.literal(e)
	default:
		return nil, fmt.Errorf("the test's analysis does not know %T", e)
	}
}

func (r *resolver) literal(e *plan.TypedLiteral) (plan.Expr, error) {
	var v plan.Value
	ok := false
	switch e.Of.Kind {
	case plan.KindDate:
		v, ok = codec.ParseDate(e.Text)
	case plan.KindTimestamp:
		v, ok = codec.ParseTimestamp(e.Text, codec.NewOffsets(r.env.Zone), r.env.Now)
	default:
		v, ok = codec.ParseTimestampNTZ(e.Text, true)
	}
	if !ok {
		return nil, fmt.Errorf("the test's analysis cannot read %s", e.Text)
	}
	return plan.Lit(v, e.Of), nil
}

func (r *resolver) column(e *plan.UnresolvedAttribute) (plan.Expr, error) {
	if v, err := r.parameter(e); v != nil || err != nil {
		return v, err
	}
	name := e.Parts[len(e.Parts)-1]
	for _, a := range r.cols {
		if a.Name == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("no column %s", name)
}

func (r *resolver) all(list []plan.Expr) ([]plan.Expr, error) {
	out := make([]plan.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = r.resolve(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *resolver) call(e *plan.UnresolvedFunction) (plan.Expr, error) {
	var args []plan.Expr
	for _, a := range e.Args {
		if star, ok := a.(*plan.UnresolvedStar); ok && star != nil {
			if e.Distinct {
				for _, c := range r.cols {
					args = append(args, c)
				}
				continue
			}
			args = append(args, plan.Lit(int64(1), plan.Int))
			continue
		}
		if l, ok := a.(*plan.Lambda); ok {
			args = append(args, l)
			continue
		}
		x, err := r.resolve(a)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	var filter plan.Expr
	if e.Filter != nil {
		var err error
		if filter, err = r.resolve(e.Filter); err != nil {
			return nil, err
		}
	}
	return function.BindCall(&function.Binding{Name: e.Name[len(e.Name)-1], Args: args, Distinct: e.Distinct,
		Filter: filter, Origin: e.Origin, Env: r.env, Lambda: r.lambda, Level: r.level()})
}

func (r *resolver) extract(e *plan.ExtractValue) (plan.Expr, error) {
	parts, err := r.all([]plan.Expr{e.Child, e.Key})
	if err != nil {
		return nil, err
	}
	return r.item(parts[0], parts[1], e.Origin)
}

// item is a part of a container.
func (r *resolver) item(container, part plan.Expr, origin *plan.Origin) (plan.Expr, error) {
	parts := []plan.Expr{container, part}
	t := parts[0].Type()
	each := t.Kind == plan.KindArray && t.Elem.Kind == plan.KindStruct
	if t.Kind == plan.KindStruct || each {
		key, _ := parts[1].(*plan.Literal)
		name, ok := key.Value.(string)
		fields := t.Fields
		if each {
			fields = t.Elem.Fields
		}
		for i, f := range fields {
			if ok && strings.EqualFold(f.Name, name) {
				return &plan.GetField{Child: parts[0], Ordinal: i, Name: f.Name, Each: each}, nil
			}
		}
	}
	item, _ := function.Lookup("getitem")
	return function.BindCall(&function.Binding{Def: item, Args: parts, Origin: origin, Env: r.env})
}

func (r *resolver) cast(e *plan.Cast) (plan.Expr, error) {
	child, err := r.resolve(e.Child)
	if err != nil {
		return nil, err
	}
	c := *e
	c.Child = child
	if c.Mode == plan.CastDefault {
		c.Mode = plan.CastLegacy
		if r.env.ANSI {
			c.Mode = plan.CastANSI
		}
	}
	return &c, function.CheckCast(&c, r.env)
}

// evaluator computes resolved expressions over rows.
type evaluator struct {
	env  *function.Env
	cols map[plan.ExprID]*chunk.Vector
	vars map[variable]*chunk.Vector // of the lambdas around
	// aggregates are the results of aggregate calls that were computed before.
	aggregates map[*plan.AggregateCall]*chunk.Vector
}

func (ev *evaluator) eval(e plan.Expr, sel chunk.Sel, n int) (*chunk.Vector, error) {
	switch e := e.(type) {
	case *plan.Literal:
		return chunk.Repeat(e.Value, e.Of, n), nil
	case *plan.Alias:
		return ev.eval(e.Child, sel, n)
	case *plan.SortOrder:
		return ev.eval(e.Child, sel, n)
	case *plan.Attribute:
		return ev.cols[e.ID], nil
	case *plan.LambdaVariable:
		return ev.vars[variable{e.Level, e.Index}], nil
	case *plan.AggregateCall:
		return ev.aggregates[e], nil
	case *plan.Cast:
		child, err := ev.eval(e.Child, sel, n)
		if err != nil {
			return nil, err
		}
		k, err := function.CastKernelOf(e, ev.env)
		if err != nil {
			return nil, err
		}
		return k([]*chunk.Vector{child}, sel, n)
	case *plan.GetField:
		return ev.field(e, sel, n)
	case *plan.Call:
		return ev.call(e, sel, n)
	default:
		return nil, fmt.Errorf("the test's evaluation does not know %T", e)
	}
}

func (ev *evaluator) field(e *plan.GetField, sel chunk.Sel, n int) (*chunk.Vector, error) {
	parent, err := ev.eval(e.Child, sel, n)
	if err != nil {
		return nil, err
	}
	out := chunk.New(e.Type(), n)
	for i := range n {
		switch {
		case parent.IsNull(i):
			out.AppendNull()
		case e.Each:
			from, to := parent.Span(i)
			for k := from; k < to; k++ {
				out.Kids[0].AppendFrom(parent.Kids[0].Kids[e.Ordinal], k)
			}
			out.AppendSpan()
		default:
			out.AppendFrom(parent.Kids[e.Ordinal], i)
		}
	}
	return out, nil
}

func (ev *evaluator) call(c *plan.Call, sel chunk.Sel, n int) (*chunk.Vector, error) {
	d, ok := function.Lookup(c.Name)
	if !ok {
		return nil, fmt.Errorf("call of %s, which is not on the shelf", c.Name)
	}
	if d.Lazy {
		return ev.lazy(c, sel, n)
	}
	if d.Higher != nil && (d.Kernel == nil || len(c.Args) > 1) {
		return ev.higher(c, d, sel, n)
	}
	if d.Kernel == nil {
		return nil, fmt.Errorf("%s has no kernel", c.Name)
	}
	args := make([]*chunk.Vector, len(c.Args))
	for i, a := range c.Args {
		var err error
		if args[i], err = ev.eval(a, sel, n); err != nil {
			return nil, err
		}
	}
	k, err := d.Kernel(c, ev.env)
	if err != nil {
		return nil, err
	}
	v, err := k(args, sel, n)
	if err == nil && (v.Len != n || !v.Type.EqualIgnoringNull(c.Of)) {
		err = fmt.Errorf("%s gave %d rows of %s, not %d of %s", c.Name, v.Len, v.Type.Simple(), n, c.Of.Simple())
	}
	return v, err
}

// lazy computes and, or, if, when and coalesce row by row.
func (ev *evaluator) lazy(c *plan.Call, sel chunk.Sel, n int) (*chunk.Vector, error) {
	out := chunk.New(c.Of, n)
	for i := range n {
		if sel != nil && !contains(sel, i) {
			out.AppendNull()
			continue
		}
		v, err := ev.lazyRow(c, i, n)
		if err != nil {
			return nil, err
		}
		if v == nil || v.IsNull(i) {
			out.AppendNull()
		} else {
			out.AppendFrom(v, i)
		}
	}
	return out, nil
}

func contains(sel chunk.Sel, i int) bool {
	for _, s := range sel {
		if int(s) == i {
			return true
		}
	}
	return false
}

// lazyRow is a vector whose row i is the value, nil for NULL.
func (ev *evaluator) lazyRow(c *plan.Call, i, n int) (*chunk.Vector, error) {
	at := func(e plan.Expr) (*chunk.Vector, error) { return ev.eval(e, chunk.Sel{uint16(i)}, n) }
	holds := func(e plan.Expr) (truth, null bool, err error) {
		v, err := at(e)
		if err != nil || v.IsNull(i) {
			return false, true, err
		}
		return chunk.Values[uint8](v)[i] != 0, false, nil
	}
	switch c.Name {
	case "and", "or":
		stop := c.Name == "or"
		x, xNull, err := holds(c.Args[0])
		if err != nil || !xNull && x == stop {
			return chunk.Repeat(stop, plan.Boolean, n), err
		}
		y, yNull, err := holds(c.Args[1])
		if err != nil || xNull && (yNull || y != stop) || yNull {
			return nil, err
		}
		return chunk.Repeat(y, plan.Boolean, n), nil
	case "coalesce":
		for _, a := range c.Args {
			v, err := at(a)
			if err != nil || !v.IsNull(i) {
				return v, err
			}
		}
		return nil, nil
	case "nanvl":
		v, err := at(c.Args[0])
		if err != nil || v.IsNull(i) || v.Value(i) == v.Value(i) {
			return v, err
		}
		return at(c.Args[1])
	case "if", "when":
		args := c.Args
		for len(args) >= 2 {
			truth, _, err := holds(args[0])
			if err != nil {
				return nil, err
			}
			if truth {
				return at(args[1])
			}
			args = args[2:]
		}
		if len(args) == 1 {
			return at(args[0])
		}
		return nil, nil
	default:
		return nil, fmt.Errorf("the test does not know the lazy function %s", c.Name)
	}
}

// aggregateAll computes every aggregate of an expression over groups of rows.
func (ev *evaluator) aggregateAll(e plan.Expr, groups []int32, count int) error {
	var failure error
	plan.Walk(e, func(p plan.Expr) bool {
		a, ok := p.(*plan.AggregateCall)
		if !ok {
			return failure == nil
		}
		v, err := ev.aggregate(a, groups, count)
		if err != nil {
			failure = err
		}
		ev.aggregates[a] = v
		return failure == nil
	})
	return failure
}

func (ev *evaluator) aggregate(a *plan.AggregateCall, groups []int32, count int) (*chunk.Vector, error) {
	d, _ := function.Lookup(a.Name)
	acc, err := d.Accumulate(a, ev.env)
	if err != nil {
		return nil, err
	}
	n := len(groups)
	args := make([]*chunk.Vector, len(a.Args))
	for i, x := range a.Args {
		if args[i], err = ev.eval(x, nil, n); err != nil {
			return nil, err
		}
	}
	var sel chunk.Sel = make(chunk.Sel, 0, n)
	var filter *chunk.Vector
	if a.Filter != nil {
		if filter, err = ev.eval(a.Filter, nil, n); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for i := range n {
		key := strconv.Itoa(int(groups[i]))
		for _, v := range args {
			key += fmt.Sprintf("|%v", v.Value(i))
		}
		keep := filter == nil || !filter.IsNull(i) && chunk.Values[uint8](filter)[i] != 0
		if !keep || a.Distinct && seen[key] {
			continue
		}
		seen[key] = true
		sel = append(sel, uint16(i))
	}
	// Two halves, so that merging is tested too.
	half := len(sel) / 2
	if err := acc.Update(groups, args, sel[:half], count); err != nil {
		return nil, err
	}
	other, err := d.Accumulate(a, ev.env)
	if err != nil {
		return nil, err
	}
	if err := other.Update(groups, args, sel[half:], count); err != nil {
		return nil, err
	}
	all := make([]int32, count)
	for g := range all {
		all[g] = int32(g)
	}
	if err := acc.Merge(all, other.Buffers(), count); err != nil {
		return nil, err
	}
	return acc.Result()
}

// parse reads an expression.
func parse(text string) (plan.Expr, error) { return sql.ParseExpr(text) }

func decimalFromUint(n uint64) decimal128.Num { return decimal128.FromU64(n) }
