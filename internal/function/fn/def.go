package fn

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
	// Planned is what now() says instead, when it is not 0: a batch of a stream has
	// its own current_timestamp, while now() is when the batch was planned.
	Planned int64
	// Conf is any other setting; functions such as current_database ask it.
	Conf func(key string) string
	// Memory is what the query may hold; nil bounds nothing. Functions that make
	// much of little ask it first.
	Memory *chunk.Budget
	// Schema reads a schema or a type in DDL, for functions such as from_json.
	Schema func(text string) (plan.Type, error)
}

// Kernel computes a call over arguments of n rows and returns n rows; see F2
// for the rows that sel leaves out.
type Kernel func(args []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error)

// HigherKernel is a Kernel that computes lambdas: args are the arguments that
// are none, apply the lambdas.
type HigherKernel func(args []*chunk.Vector, apply []Apply, sel chunk.Sel, n int) (*chunk.Vector, error)

// Apply computes a lambda for any number of sets of values: row k of params are
// its parameters, and rows[k] is the row around it.
type Apply func(rows []int32, params []*chunk.Vector) (*chunk.Vector, error)

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
	// Higher is set instead for higher-order functions, whose last arguments are
	// lambdas: it makes the evaluator of a bound call.
	Higher func(call *plan.Call, env *Env) (HigherKernel, error)
	// Lazy names the functions whose arguments must not all be evaluated (and,
	// or, when, coalesce, if): exec computes them itself.
	Lazy bool

	// BindAggregate and Accumulate are the same for aggregate functions.
	BindAggregate func(b *Binding) (*plan.AggregateCall, error)
	Accumulate    func(call *plan.AggregateCall, env *Env) (Accumulator, error)

	// Ordered says that an aggregate may have WITHIN GROUP.
	Ordered bool

	// Rewrite binds a call that is a way to write something else (nvl, between)
	// or that the types turn into another call (DATE + INTERVAL). When set, it is
	// asked instead of Bind.
	Rewrite func(b *Binding) (plan.Expr, error)

	// Generator says that the function yields several rows (explode).
	Generator bool
	// Window is set for functions that stand before OVER only, whose values exec
	// computes: the frame that a bound call insists on, nil for any.
	Window func(call *plan.Call) *plan.WindowFrame
	// Hidden functions are what others rewrite to; users do not know the name.
	Hidden bool
	// Internal functions are Hidden but for DataFrames (product).
	Internal bool
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
	// Orders are the keys of WITHIN GROUP, which stand behind the arguments when a
	// call comes to be bound.
	Orders []*plan.SortOrder
	// IgnoreNulls is of functions before OVER that take it.
	IgnoreNulls bool
	Origin      *plan.Origin
	Env         *Env
	// Text is the template (see plan.Call) of how the bound call shows, when a
	// rewrite knows better than the name.
	Text string

	// Lambda resolves the body of a lambda, whose parameters have the names of l
	// and the types of params. Level is the lambdas around the call.
	Lambda func(l *plan.Lambda, params []*plan.LambdaVariable) (plan.Expr, error)
	Level  int

	shelf *Shelf // where the functions are that this one is written with
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

// A WholeAccumulator has values on the way that need not fit its result's type.
type WholeAccumulator interface {
	Accumulator
	// Whole lets them grow until the result is asked for; it comes before rows.
	// Without it a value that does not fit is lost at once.
	Whole()
	// EndPart says that a partition of the rows has ended, of a global aggregation
	// over several: what it came to has to fit.
	EndPart()
}

// Example is an expression in SQL and the text Spark gives for it in show().
type Example [2]string

func (e Example) SQL() string  { return e[0] }
func (e Example) Want() string { return e[1] }
