package session

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/weir-dev/weir/internal/analyze"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/plan"
)

// Result is the answer to a query or a command.
type Result struct {
	Schema plan.Type
	// Rows may be ranged over once. A query runs while they are.
	Rows chunk.Rows
	// Observed is what df.observe computed, complete when Rows have ended; nil
	// when the plan observes nothing.
	Observed func() []Observed
}

// Observed is one named set of metrics.
type Observed struct {
	Name   string
	Schema plan.Type
	Row    []plan.Value
}

// empty is the answer of commands that answer nothing.
func empty() *Result { return answer(plan.Struct()) }

// answer is rows made by a command.
func answer(schema plan.Type, rows ...[]plan.Value) *Result {
	return &Result{Schema: schema, Rows: func(yield func(*chunk.Chunk, error) bool) {
		for from := 0; from < len(rows); from += chunk.MaxRows {
			to := min(len(rows), from+chunk.MaxRows)
			if !yield(chunk.FromRows(schema, rows[from:to]...), nil) {
				return
			}
		}
	}}
}

// Analyze resolves a plan. Of a command it answers an empty relation with the
// schema of its result, and executes nothing.
func (s *Session) Analyze(ctx context.Context, n plan.Node) (plan.Node, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	n, err = sc.resolve(ctx, n)
	return n, said(err)
}

func (sc *scope) resolve(ctx context.Context, n plan.Node) (plan.Node, error) {
	n, err := plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		if c, ok := m.(plan.Command); ok {
			return &plan.LocalData{Schema: sc.session.engine.schemaOf(c)}, nil
		}
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	return sc.analyzer().Resolve(ctx, n)
}

// Query runs a relation; nothing happens before its rows are asked for. Of a
// command it gives the answer, already made; commands inside a relation are
// executed first and stand for their answers.
func (s *Session) Query(ctx context.Context, n plan.Node) (*Result, error) {
	if c, ok := n.(plan.Command); ok {
		return s.Command(ctx, c)
	}
	n, err := s.runInner(ctx, n)
	if err != nil {
		return nil, err
	}
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	resolved, err := sc.batch(ctx, n)
	if err != nil {
		return nil, said(err)
	}
	r, err := sc.run(ctx, resolved)
	if err != nil {
		return nil, err
	}
	r.Rows = saidRows(r.Rows)
	return r, nil
}

// runInner puts the answers of commands in their places.
func (s *Session) runInner(ctx context.Context, n plan.Node) (plan.Node, error) {
	return plan.TransformNodes(n, func(m plan.Node) (plan.Node, error) {
		c, ok := m.(plan.Command)
		if !ok {
			return m, nil
		}
		r, err := s.Command(ctx, c)
		if err != nil {
			return nil, err
		}
		return collect(r)
	})
}

// collect reads a result into a relation that holds its rows.
func collect(r *Result) (*plan.LocalData, error) {
	schema := chunk.ArrowSchema(r.Schema, chunk.ArrowOptions{Zone: "UTC"})
	var batches []arrow.RecordBatch
	for c, err := range r.Rows {
		if err != nil {
			return nil, err
		}
		batches = append(batches, c.ToArrow(schema))
	}
	return &plan.LocalData{Schema: r.Schema, Rows: batches}, nil
}

// batch resolves a plan that is about to run as a batch query.
func (sc *scope) batch(ctx context.Context, n plan.Node) (plan.Node, error) {
	resolved, err := sc.analyzer().Resolve(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := analyze.CheckBatch(resolved); err != nil {
		return nil, err
	}
	return resolved, sc.checkPython(resolved)
}

// run compiles a resolved plan.
func (sc *scope) run(ctx context.Context, n plan.Node) (*Result, error) {
	python := sc.python()
	program, err := exec.Build(n, sc.eval, exec.Describing(ctx, python, sc.eval.Schema))
	if err != nil {
		return nil, err
	}
	var seen observations
	run := &exec.Run{
		Open: sc.open, Partitions: sc.partitions(), Parallelism: sc.session.engine.parallelism,
		Observe: seen.add, Python: python,
	}
	r := &Result{Schema: program.Schema(), Rows: program.Run(ctx, run)}
	if observes(n) {
		r.Observed = seen.all
	}
	return r, nil
}

// onlyColumn computes the only column of a relation.
func (sc *scope) onlyColumn(ctx context.Context, n plan.Node) ([]plan.Value, error) {
	r, err := sc.run(ctx, n)
	if err != nil {
		return nil, err
	}
	var out []plan.Value
	for c, err := range r.Rows {
		if err != nil {
			return nil, err
		}
		for i := range c.Rows {
			out = append(out, c.Cols[0].Value(i))
		}
	}
	return out, nil
}

func observes(n plan.Node) bool {
	return !plan.WalkNodes(n, func(m plan.Node) bool {
		_, ok := m.(*plan.Observe)
		return !ok
	})
}

// observations gathers the metrics of a run.
type observations struct {
	mu   sync.Mutex
	list []Observed
}

func (o *observations) add(name string, schema plan.Type, row []plan.Value) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, Observed{name, schema, row})
}

func (o *observations) all() []Observed {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.list
}
