package exec

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
)

// StateOperator is an operator that remembers between batches. Operators are
// numbered from 0 as Spark does it: the uppermost first, then from left to right.
type StateOperator struct {
	// Name is Spark's: stateStoreSave, dedupe, …
	Name string
	// Tables are what its store holds.
	Tables []state.Shape
	// Single says that all its rows are one partition in Spark.
	Single bool
	// StoresPerPartition is how many state stores Spark reports for a partition.
	StoresPerPartition int // 0 where Spark does not say

	// StoreNames are Spark's names of those stores.
	StoreNames []string

	node plan.Node
	// evicts says that a watermark that advanced is a reason to run a batch
	// without new data.
	evicts bool
	// always says that time alone is a reason.
	always bool

	// Evolves says that tables may come and go; those of Deleted are emptied.
	Evolves bool
	Deleted []string
	// Properties are what the checkpoint says of a stateful processor, else nil.
	Properties *state.Properties
	// rows counts the rows as Spark does; nil: they are the store's.
	rows func(*state.Store) int64
	// output is the watermark of what the operator yields, by that of its input.
	output func(in int64) int64
}

// Count is how many rows of the operator Spark would count.
func (o *StateOperator) Count(s *state.Store) int64 {
	if o.rows == nil {
		return s.Rows()
	}
	return o.rows(s)
}

// Stateful is what the stateful operators of one batch need. Its slices are
// indexed by operator.
type Stateful struct {
	Stores []*state.Store
	// Late is the watermark in ms up to which rows come too late, Evict the one up
	// to which state is given up: those of the batch before and of this one.
	Late, Evict []int64
	// Work is filled in.
	Work []StateWork
	// Elapsed is a clock for the times in Work.
	Elapsed func() time.Duration
}

// StateWork is what an operator did in a batch.
type StateWork struct {
	Updated, Removed, Dropped int64
	Duplicates                int64 // rows of a key that was known
	UpdateTime, RemoveTime    time.Duration
	// Done says that the operator has seen its whole input and changed its store
	// accordingly.
	Done bool
}

// Streaming says how a plan runs batch by batch.
type Streaming struct {
	Mode     plan.OutputMode
	Describe Describe
	// Placement is what the sink makes of partitions.
	Placement chunk.Placement
}

// BuildStream is Build for a plan that runs batch by batch.
func BuildStream(n plan.Node, env *function.Env, s Streaming) (*Program, error) {
	p := &planner{
		env: env, known: map[subqueryKey]bool{}, streaming: true, mode: s.Mode, describe: s.Describe,
		placements: placements{}, fixed: keepsState(n), replaced: map[plan.Node]plan.Node{},
	}
	p.placements.place(n, s.Placement)
	return p.program(n)
}

// Operators are the program's stateful operators.
func (p *Program) Operators() []*StateOperator { return p.operators }

// operator registers the stateful operator of a node. It must be called before
// the node's input is built.
func (p *planner) operator(n plan.Node, name string) (int, *StateOperator) {
	o := &StateOperator{
		Name: name, node: n, StoresPerPartition: 1, StoreNames: []string{"default"},
		output: func(in int64) int64 { return in },
	}
	p.operators = append(p.operators, o)
	return len(p.operators) - 1, o
}

// Watermarks gives each operator the watermark of its input in ms, when that of
// the query is global. A watermark operator yields the global one, a stateful
// operator what it can vouch for, everything else the least of its inputs.
func (p *Program) Watermarks(global int64) []int64 {
	w := propagation{of: p.operators, replaced: p.replaced, global: global, in: make([]int64, len(p.operators))}
	w.node(p.plan)
	return w.in
}

// propagation walks a plan in the order in which its operators were numbered.
type propagation struct {
	of       []*StateOperator
	replaced map[plan.Node]plan.Node
	global   int64
	in       []int64
	next     int
}

// node is the watermark of what a node yields, false where there is none.
func (w *propagation) node(n plan.Node) (int64, bool) {
	for by := w.replaced[n]; by != nil; by = w.replaced[n] {
		n = by
	}
	id := -1
	if w.next < len(w.of) && w.of[w.next].node == n {
		id = w.next
		w.next++
	}
	least, some := int64(math.MaxInt64), false
	for _, c := range n.Children() {
		if ms, ok := w.node(c); ok {
			least, some = min(least, ms), true
		}
	}
	if _, ok := n.(*plan.Watermark); ok {
		least, some = w.global, true
	}
	if id < 0 {
		return least, some
	}
	if !some {
		return 0, false
	}
	w.in[id] = least
	return w.of[id].output(least), true
}

// WantsAnother tells whether a batch without new data would change anything,
// once the query's watermark has moved from one value to the next.
func (p *Program) WantsAnother(from, to int64) bool {
	before, after := p.Watermarks(from), p.Watermarks(to)
	for i, o := range p.operators {
		if o.always || o.evicts && after[i] > before[i] {
			return true
		}
	}
	return false
}

// working is a stateful operator in a batch.
type working struct {
	of    *Stateful
	id    int
	began time.Duration
	held  *chunk.Lease // of a state that lasts as long as a run, else nil
}

func (r *running) working(id int) working {
	s := r.run.Stateful
	if s == nil {
		panic("a program with state runs without it")
	}
	return working{of: s, id: id, began: s.Elapsed()}
}

func (w *working) work() *StateWork { return &w.of.Work[w.id] }

func (w *working) table(i int) *state.Table { return w.of.Stores[w.id].Table(i) }

// updated ends the phase in which input went into the state.
func (w *working) updated() {
	now := w.of.Elapsed()
	w.work().UpdateTime += now - w.began
	w.began = now
}

// removed ends the phase in which state was given up.
func (w *working) removed() {
	w.work().RemoveTime += w.of.Elapsed() - w.began
	w.work().Done = true
}

// lateMicros is the time in µs up to which rows are late.
func (w *working) lateMicros() int64 { return micros(w.of.Late[w.id]) }

// evictMicros is the time in µs up to which state is given up.
func (w *working) evictMicros() int64 { return micros(w.of.Evict[w.id]) }

// micros turns a watermark into µs; one beyond all times stays so.
func micros(ms int64) int64 {
	if ms > math.MaxInt64/1000 {
		return math.MaxInt64
	}
	return ms * 1000
}

// timesOf is the event times in µs of a column of times or of windows, which
// count by their end, and which of them are NULL.
func timesOf(v *chunk.Vector) ([]int64, chunk.Bitmap) {
	if v.Type.Kind == plan.KindStruct {
		v = v.Field(len(v.Kids) - 1)
	}
	return chunk.Values[int64](v), v.Valid
}

// splitLate divides the rows of a chunk into those in time and those too late. All
// in time: onTime is nil and late empty.
func splitLate(v *chunk.Vector, until int64) (onTime, late chunk.Sel) {
	times, valid := timesOf(v)
	for i, t := range times {
		if t <= until && valid.Get(i) {
			late = append(late, uint16(i))
		}
	}
	if len(late) == 0 {
		return nil, nil
	}
	onTime = chunk.Sel{}
	for i, t := range times {
		if t > until || !valid.Get(i) {
			onTime = append(onTime, uint16(i))
		}
	}
	return onTime, late
}

// eventColumn is the event-time column among columns, -1 without one. Of several
// Spark does not know which one to go by.
func eventColumn(attrs []*plan.Attribute) (int, error) {
	found := -1
	var names []string
	for i, a := range attrs {
		if a.EventTime == nil || found >= 0 && attrs[found].ID == a.ID {
			continue
		}
		names = append(names, fmt.Sprintf("%s#%d-T%dms", a.Name, a.ID, *a.EventTime))
		found = i
	}
	if len(names) < 2 {
		return found, nil
	}
	list := "(" + strings.Join(names, ",") + ")"
	return -1, plan.AnalysisError("MULTIPLE_EVENT_TIME_COLUMNS",
		fmt.Sprintf("the columns %s are all event time; one at most may reach an operator that keeps state.", list),
		"eventTimeCols", list)
}

// keyColumns are columns of a table by the names of attributes.
func keyColumns(attrs []*plan.Attribute) []state.Column {
	out := make([]state.Column, len(attrs))
	for i, a := range attrs {
		out[i] = state.Column{Name: a.Name, Type: a.Of}
	}
	return out
}

// stateRows hands over rows of a table, at most chunk.MaxRows at a time.
func stateRows(rows []int32, visit func(rows []int32) bool) {
	for len(rows) > 0 {
		n := min(chunk.MaxRows, len(rows))
		if !visit(rows[:n]) {
			return
		}
		rows = rows[n:]
	}
}
