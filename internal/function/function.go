package function

import (
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Env is what the session's settings say about evaluation. It is fixed for a
// query, Now for a batch.
type Env struct {
	ANSI bool           // spark.sql.ansi.enabled
	Zone *time.Location // spark.sql.session.timeZone
	Now  int64          // current_timestamp in µs since 1970
	// Conf is any other setting; functions such as current_database ask it.
	Conf func(key string) string
	// Schema reads a schema or a type in DDL, for functions such as from_json.
	Schema func(text string) (plan.Type, error)
}

// Kernel computes a call over arguments of n rows and returns n rows; see F2
// for the rows that sel leaves out.
type Kernel func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error)

// Def is one function of the shelf, scalar or aggregate.
type Def struct {
	Name    string
	Aliases []string
	Group   string // Spark's group: string_funcs, agg_funcs, …

	// Bind checks a scalar call and returns it bound, arguments cast to what
	// the kernel takes. Nil for aggregates.
	Bind func(b *Binding) (*plan.Call, error)
	// Kernel makes the evaluator of a bound call. Arguments that are literals
	// are at hand in call.Args. Nil for Lazy functions and aggregates.
	Kernel func(call *plan.Call, env *Env) (Kernel, error)
	// Lazy names the functions whose arguments must not all be evaluated (and,
	// or, when, coalesce, if): exec computes them itself.
	Lazy bool

	// BindAggregate and Accumulate are the same for aggregate functions.
	BindAggregate func(b *Binding) (*plan.AggregateCall, error)
	Accumulate    func(call *plan.AggregateCall, env *Env) (Accumulator, error)

	// Rewrite binds a call that is a way to write something else (nvl, between)
	// or that the types turn into another call (DATE + INTERVAL). When set, it is
	// asked instead of Bind.
	Rewrite func(b *Binding) (plan.Expr, error)

	// Generator says that the function yields several rows (explode).
	Generator bool
	// Hidden functions are what others rewrite to; users do not know the name.
	Hidden bool
	// Shown is how Spark writes the name in column names when that is not Name
	// (SQRT); ShownAsWritten says that it keeps the alias the user wrote.
	Shown          string
	ShownAsWritten bool
	// Volatile functions give another value for each row or run (rand, uuid), so
	// that a call of constants is no constant.
	Volatile bool

	Examples []Example
}

// Binding is a call about to be bound. Args are resolved.
type Binding struct {
	Def      *Def
	Name     string // as the user wrote it
	Args     []plan.Expr
	Distinct bool
	Filter   plan.Expr
	Origin   *plan.Origin
	Env      *Env
	// Text is the template (see plan.Call) of how the bound call shows, when a
	// rewrite knows better than the name.
	Text string
}

// Accumulator folds rows into groups. Groups are numbered from 0; the caller
// assigns numbers.
type Accumulator interface {
	// Update folds rows: row i of args, for i in sel, belongs to group groups[i].
	// n is the number of groups so far.
	Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error
	// Buffers is the partial result of each group as columns, for the state of a
	// streaming query and for merging; BufferTypes their types.
	Buffers() []*chunk.Vector
	BufferTypes() []plan.Type
	// Merge folds partial results: row i of buffers belongs to group groups[i].
	Merge(groups []int32, buffers []*chunk.Vector, n int) error
	// Result is the final value of each group.
	Result() (*chunk.Vector, error)
}

// Example is an expression in SQL and the text Spark gives for it in show().
type Example struct{ SQL, Want string }
