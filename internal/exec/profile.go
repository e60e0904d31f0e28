package exec

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// A Profile sums up how long each operator of a run took, without the operators below
// it. It costs two looks at the clock for a chunk and an operator.
type Profile struct {
	// Now is a clock in nanoseconds that only rises.
	Now func() int64
	// Moved is called whenever a chunk passes an operator; nil is not.
	Moved func()

	spent   []int64 // nanoseconds of each operator; the last is who takes the rows
	rows    []int64 // that it yielded
	current int
	since   int64
}

// Step is an operator whose time is told.
type Step struct {
	Name   string // of its kind
	Text   string // what it works on, "" where the name says it all
	Source bool   // it reads input
}

// Steps are the operators of a program that a Profile tells apart, inputs first.
func (p *Program) Steps() []Step { return p.steps }

// Spent is how long a step of the last run took, in nanoseconds, and how many rows it
// yielded.
func (f *Profile) Spent(step int) (nanoseconds, rows int64) {
	if step >= len(f.spent) {
		return 0, 0
	}
	return f.spent[step], f.rows[step]
}

// begin forgets the last run.
func (f *Profile) begin(steps int) {
	f.spent = append(f.spent[:0], make([]int64, steps+1)...)
	f.rows = append(f.rows[:0], make([]int64, steps+1)...)
	f.current, f.since = steps, f.Now()
}

// enter says that another step goes on from here, and tells which one did.
func (f *Profile) enter(step int) (before int) {
	if f.Moved != nil {
		f.Moved()
	}
	now := f.Now()
	f.spent[f.current] += now - f.since
	before, f.current, f.since = f.current, step, now
	return before
}

// timedOp is an operator whose time is told.
type timedOp struct {
	operator
	step int
}

func (o *timedOp) rows(r *running) chunk.Rows {
	f := r.run.Profile
	if f == nil {
		return o.operator.rows(r)
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		above := f.enter(o.step)
		for c, err := range o.operator.rows(r) {
			if c != nil {
				f.rows[o.step] += int64(c.Rows)
			}
			f.enter(above)
			more := yield(c, err)
			f.enter(o.step)
			if !more {
				break
			}
		}
		f.enter(above)
	}
}

// timed has an operator's time told, if its node stands for work.
func (p *planner) timed(n plan.Node, in input) input {
	s := stepOf(n)
	if !p.streaming || in.local || s.Name == "" {
		return in
	}
	p.steps = append(p.steps, s)
	in.op = &timedOp{in.op, len(p.steps) - 1}
	return in
}

// stepOf names the kind of a node; "" for those that do nothing.
func stepOf(n plan.Node) Step {
	switch n := n.(type) {
	case *plan.Scan:
		if n.Streaming {
			return Step{Name: "Source", Text: n.Relation.Format, Source: true}
		}
		return Step{Name: "Static input", Text: n.Relation.Format, Source: true}
	case *plan.Project:
		return Step{Name: "Project"}
	case *plan.Filter:
		return Step{Name: "Filter"}
	case *plan.Aggregate:
		return Step{Name: "Aggregate"}
	case *plan.Join:
		return Step{Name: "Join", Text: n.Kind.String()}
	case *plan.SetOp:
		return Step{Name: "Set operation"}
	case *plan.Sort:
		return Step{Name: "Sort"}
	case *plan.Limit:
		return Step{Name: "Limit"}
	case *plan.Dedup:
		return Step{Name: "Deduplicate"}
	case *plan.Generate:
		return Step{Name: "Generate"}
	case *plan.Window:
		return Step{Name: "Window functions"}
	case *plan.TimeWindow:
		return Step{Name: "Time window"}
	case *plan.MapPython, *plan.GroupPython, *plan.TablePython, *evalPython:
		return Step{Name: "Python function"}
	case *plan.StatePython, *plan.TransformPython:
		return Step{Name: "Stateful processor"}
	default:
		return Step{}
	}
}
