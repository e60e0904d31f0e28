package cast

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// Folded is the value of an expression of constants. Those that must not be
// computed for all rows alike are none, nor what fails.
func Folded(b *fn.Binding, e plan.Expr) (plan.Value, bool) {
	if v, ok := fn.Constant(e); ok {
		return v, true
	}
	var k fn.Kernel
	var err error
	switch e := e.(type) {
	case *plan.Call:
		d, ok := b.Lookup(e.Name)
		if !ok || d.Kernel == nil || d.Volatile {
			return nil, false
		}
		k, err = d.Kernel(e, b.Env)
	case *plan.Cast:
		k, err = KernelOf(e, b.Env)
	default:
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	args := make([]*chunk.Vector, len(e.Children()))
	for i, arg := range e.Children() {
		v, ok := Folded(b, arg)
		if !ok {
			return nil, false
		}
		args[i] = chunk.Repeat(v, arg.Type(), 1)
	}
	out, err := k(args, nil, 1)
	if err != nil || out.IsNull(0) {
		return nil, err == nil
	}
	return out.Value(0), true
}
