package eval

import (
	"slices"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// ownFunctions are calls that only the evaluator can answer: they ask where a row
// is, not what it holds.
var ownFunctions = map[string]evalFunc{
	"spark_partition_id":          evalPartition,
	"monotonically_increasing_id": evalRowID,
}

// partStep is a step in a partition.
type partStep struct{ step, part int }

// partState is what a volatile step keeps along the rows of a partition.
type partState struct {
	rows   int64
	kernel function.Kernel
}

func (ev *Evaluator) partState(i int) *partState {
	key := partStep{i, ev.c.Part}
	p := ev.parts[key]
	if p == nil {
		p = &partState{}
		if ev.parts == nil {
			ev.parts = map[partStep]*partState{}
		}
		ev.parts[key] = p
	}
	return p
}

func evalPartition(ev *Evaluator, i int, _ chunk.Sel) (*chunk.Vector, error) {
	out := chunk.Make(plan.Int, ev.c.Rows)
	for k, values := 0, chunk.Values[int32](out); k < len(values); k++ {
		values[k] = int32(ev.c.Part)
	}
	return out, nil
}

// evalRowID numbers the rows of each partition; the partition is in the upper
// 31 bits.
func evalRowID(ev *Evaluator, i int, sel chunk.Sel) (*chunk.Vector, error) {
	out := chunk.Make(plan.Long, ev.c.Rows)
	values := chunk.Values[int64](out)
	state := ev.partState(i)
	sel.Each(ev.c.Rows, func(k int) {
		values[k] = int64(ev.c.Part)<<33 + state.rows
		state.rows++
	})
	return out, nil
}

// seeds says which argument of a volatile function is its seed, to which Spark
// adds the number of the partition.
var seeds = map[string]int{
	"rand": 0, "randn": 0, "uuid": 0, "randstr": 1, "shuffle": 1, "uniform": 2, "draw": 0, "draws": 2,
}

// partKernel is the kernel of a volatile step for the partition of the chunk.
func (ev *Evaluator) partKernel(i int) (function.Kernel, error) {
	state := ev.partState(i)
	if state.kernel != nil {
		return state.kernel, nil
	}
	s := &ev.set.steps[i]
	call := s.expr.(*plan.Call)
	if at, ok := seeds[call.Name]; ok && at < len(call.Args) {
		if seed, ok := call.Args[at].(*plan.Literal); ok && seed.Of.IsIntegral() {
			given, _ := seed.Value.(int64) // NULL counts as 0
			args := slices.Clone(call.Args)
			args[at] = plan.Lit(given+int64(ev.c.Part), seed.Of)
			call = call.WithChildren(args).(*plan.Call)
		}
	}
	kernel, err := s.kernel(call, &ev.env)
	state.kernel = kernel
	return kernel, err
}
