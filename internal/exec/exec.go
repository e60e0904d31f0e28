package exec

import (
	"context"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Run is what one execution of a Program needs from outside.
type Run struct {
	// Eval replaces the environment given to Build; only Now, Planned and Memory
	// may differ. Nil keeps Build's.
	Eval *function.Env
	// Open yields the rows of a scan, columns in the order of s.Attrs.
	Open func(ctx context.Context, s *plan.Scan) chunk.Rows
	// Partitions is spark.sql.shuffle.partitions.
	Partitions int
	// Parallelism is spark.default.parallelism, the partitions of local data.
	Parallelism int
	// Observe receives the metrics of df.observe when the rows have passed; may
	// be nil.
	Observe func(name string, schema plan.Type, row []plan.Value)
	// Parts is told when the rows have ended how many partitions they had; may be
	// nil.
	Parts func(n int)
	// EventTimes is told what passed a watermark once all did, for each partition; may be
	// nil.
	EventTimes func(w *plan.Watermark, part int, seen EventTimes)
	// Python runs functions of the user; nil refuses them.
	Python *Python
	// Profile is told how long the operators of a program of BuildStream take; may be nil.
	Profile *Profile
	// Stateful is given to programs of BuildStream that have operators.
	Stateful *Stateful
}

// defaultPartitions is spark.sql.shuffle.partitions when a Run leaves it out.
const defaultPartitions = 200

// Program is a compiled plan.
type Program struct {
	plan      plan.Node
	schema    plan.Type
	root      operator
	subs      []*subquery // those inside others first
	env       *function.Env
	operators []*StateOperator
	// replaced are nodes of the plan for which others were compiled.
	replaced map[plan.Node]plan.Node
	steps    []Step
}

// Schema is the struct type of the rows that Run yields.
func (p *Program) Schema() plan.Type { return p.schema }

// Run executes the program. Nothing happens before the rows are ranged over;
// stopping early releases what was held. The chunks are the caller's to keep.
func (p *Program) Run(ctx context.Context, run *Run) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		r := newRunning(ctx, run, p.env)
		defer r.memory.Close()
		if run.Profile != nil {
			run.Profile.begin(len(p.steps))
		}
		for _, s := range p.subs {
			if err := s.answer(r); err != nil {
				yield(nil, err)
				return
			}
		}
		for c, err := range p.root.rows(r) {
			if !yield(c, err) || err != nil {
				return
			}
		}
		if run.Parts != nil {
			run.Parts(p.root.parts(r))
		}
	}
}

// operator is a compiled node.
type operator interface {
	// rows yields the node's rows. It may be called once per running.
	rows(r *running) chunk.Rows
	// parts is how many partitions the rows have. It is known when they were read.
	parts(r *running) int
}

// receiver takes the rows of an operator; it says whether it wants more.
type receiver = func(*chunk.Chunk, error) bool

// running is the state of one execution that its operators share.
type running struct {
	ctx     context.Context
	run     *Run
	env     *function.Env
	memory  *chunk.Budget // the run's part of the environment's
	answers map[subqueryKey]*answer
	counted map[operator]int // partitions, of those that find out while they read
}

func newRunning(ctx context.Context, run *Run, env *function.Env) *running {
	r := &running{ctx: ctx, run: run, env: env, counted: map[operator]int{}}
	if run.Eval != nil {
		r.env = run.Eval
	}
	r.memory = r.env.Memory.Part()
	return r
}

// evaluation is the run as expressions see it.
func (r *running) evaluation() eval.Run { return eval.Run{Env: r.env, Memory: r.memory, Answers: r} }

func (r *running) lease(operator string) *chunk.Lease {
	return &chunk.Lease{Of: r.memory, Operator: operator}
}

// stopped is the reason why the run must end, or nil.
func (r *running) stopped() error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return nil
}

func (r *running) parallelism() int { return max(1, r.run.Parallelism) }

func (r *running) partitions() int {
	if r.run.Partitions <= 0 {
		return defaultPartitions
	}
	return r.run.Partitions
}
