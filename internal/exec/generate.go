package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// generateOp repeats each row for every row that a generator makes of it.
type generateOp struct {
	in    operator
	set   *eval.Set // the generator's arguments
	gen   generator
	outer bool
	keep  []int
	attrs []*plan.Attribute // the generator's columns
	pick  []int             // those of them that are read above
}

// generator appends what a generator makes of row i of its arguments to its
// columns, and returns the number of rows.
type generator func(out []*chunk.Vector, args []*chunk.Vector, i int) int

// generators are the generators that execution knows by name. Others are
// kernels of the shelf that yield an array of structs.
var generators = map[string]func(call *plan.Call) generator{
	"explode":          func(c *plan.Call) generator { return explode(c, false) },
	"explode_outer":    func(c *plan.Call) generator { return explode(c, false) },
	"posexplode":       func(c *plan.Call) generator { return explode(c, true) },
	"posexplode_outer": func(c *plan.Call) generator { return explode(c, true) },
	"inline":           func(*plan.Call) generator { return inline },
	"inline_outer":     func(*plan.Call) generator { return inline },
	"stack":            stack,
}

func (p *planner) buildGenerate(n *plan.Generate, want need) (input, error) {
	call, ok := n.Generator.(*plan.Call)
	if !ok {
		return input{}, plan.Unsupported("this generator")
	}
	args, o := call.Args, &generateOp{outer: n.Outer || isOuter(call.Name), attrs: n.Attrs}
	if known := generators[call.Name]; known != nil {
		o.gen = known(call)
	} else {
		d, ok := function.Lookup(call.Name)
		if !ok || d.Kernel == nil {
			return input{}, plan.Unsupported("the generator " + call.Name).At(call.Origin)
		}
		args, o.gen = []plan.Expr{call}, inline
	}
	in, err := p.build(n.Input, want.with(args...))
	if err != nil {
		return input{}, err
	}
	if o.set, err = p.compileSet(args, in.attrs); err != nil {
		return input{}, err
	}
	o.in = in.op
	kept := want.only(in.attrs)
	o.keep = ordinalsOf(in.attrs, kept)
	made := want.only(n.Attrs)
	o.pick = ordinalsOf(n.Attrs, made)
	return input{op: o, attrs: append(append([]*plan.Attribute(nil), kept...), made...)}, nil
}

func isOuter(name string) bool {
	return name == "explode_outer" || name == "posexplode_outer" || name == "inline_outer"
}

func (o *generateOp) parts(r *running) int { return o.in.parts(r) }

func (o *generateOp) rows(r *running) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		ev := o.set.Take(r.evaluation())
		defer ev.Release()
		for c, err := range o.in.rows(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			args, err := ev.EvalAll(c, nil)
			if err == nil {
				err = r.stopped()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !o.expand(c, args, yield) {
				return
			}
		}
	}
}

// expand yields what the rows of a chunk become. It reports whether more are
// wanted. One row may become more than a chunk holds; then the chunks are cut.
func (o *generateOp) expand(c *chunk.Chunk, args []*chunk.Vector, yield receiver) bool {
	rows := make([]int32, 0, chunk.MaxRows)
	out := o.columns()
	for i := range c.Rows {
		n := o.gen(out, args, i)
		if n == 0 && o.outer {
			for _, v := range out {
				v.AppendNull()
			}
			n = 1
		}
		for range n {
			rows = append(rows, int32(i))
		}
		if len(rows) >= chunk.MaxRows {
			if !o.emit(c, rows, out, yield) {
				return false
			}
			rows, out = rows[:0], o.columns()
		}
	}
	return o.emit(c, rows, out, yield)
}

func (o *generateOp) columns() []*chunk.Vector {
	out := make([]*chunk.Vector, len(o.attrs))
	for i, a := range o.attrs {
		out[i] = chunk.New(a.Of, 0)
	}
	return out
}

func (o *generateOp) emit(c *chunk.Chunk, rows []int32, made []*chunk.Vector, yield receiver) bool {
	for from := 0; from < len(rows); from += chunk.MaxRows {
		to := min(from+chunk.MaxRows, len(rows))
		cols, err := pickRows("generator", c.Cols, o.keep, rows[from:to])
		if err != nil {
			yield(nil, err)
			return false
		}
		out := &chunk.Chunk{Cols: cols, Rows: to - from, Part: c.Part}
		for _, k := range o.pick {
			out.Cols = append(out.Cols, made[k].Slice(from, to))
		}
		if !yield(out, nil) {
			return false
		}
	}
	return true
}

// explode makes a row of each element of an array, or of each entry of a map,
// with the position in front if asked for.
func explode(_ *plan.Call, position bool) generator {
	return func(out, args []*chunk.Vector, i int) int {
		v := args[0]
		if v.IsNull(i) {
			return 0
		}
		from, to := v.Span(i)
		if position {
			for at := range to - from {
				chunk.Append(out[0], int32(at))
			}
			out = out[1:]
		}
		for k, kid := range v.Kids {
			out[k].AppendRange(kid, from, to)
		}
		return to - from
	}
}

// inline makes a row of each struct in an array, a column of each field.
func inline(out, args []*chunk.Vector, i int) int {
	v := args[0]
	if v.IsNull(i) {
		return 0
	}
	from, to := v.Span(i)
	element := v.Kids[0]
	for at := from; at < to; at++ {
		for k, col := range out {
			if element.IsNull(at) {
				col.AppendNull()
				continue
			}
			col.AppendFrom(element.Kids[k], at)
		}
	}
	return to - from
}

// stack lays its arguments out in rows; its first argument says how many.
func stack(call *plan.Call) generator {
	rows := 0
	if l, ok := call.Args[0].(*plan.Literal); ok {
		n, _ := l.Value.(int64)
		rows = int(n)
	}
	return func(out, args []*chunk.Vector, i int) int {
		values := args[1:]
		for k := range rows * len(out) {
			col := out[k%len(out)]
			if k >= len(values) || values[k].IsNull(i) {
				col.AppendNull()
				continue
			}
			col.AppendFrom(values[k], i)
		}
		return rows
	}
}
