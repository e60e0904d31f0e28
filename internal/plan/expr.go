package plan

import (
	"slices"
	"strings"
)

// Expr is a scalar or aggregate expression.
type Expr interface {
	Children() []Expr
	WithChildren(children []Expr) Expr
	// Type and Nullable panic on expressions that analysis has not resolved.
	Type() Type
	Nullable() bool
}

// ExprID tells columns of one name apart. IDs are unique within a session's
// process, which is enough: they never leave it except masked in EXPLAIN.
type ExprID int64

// Value is a constant of some Type, in this Go form:
//
//	boolean bool · tinyint…bigint int64 · float float32 · double float64
//	decimal decimal128.Num (unscaled) · string, char, varchar string
//	binary []byte · date int32 (days) · timestamp, timestamp_ntz int64 (µs)
//	time int64 (ns) · year-month int32 (months) · day-time int64 (µs)
//	calendar interval Interval · array []Value · map MapValue · struct []Value
//
// NULL is nil whatever the type.
type Value = any

// Interval is a calendar interval: its three parts do not convert into each other.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// MapValue is a map constant, keys and values side by side in order.
type MapValue struct{ Keys, Values []Value }

// leaf and unresolved are embedded by expressions without children and by
// expressions that only occur before analysis.
type leaf struct{}

func (leaf) Children() []Expr { return nil }

type unresolved struct{}

func (unresolved) Type() Type     { panic("type of an unresolved expression") }
func (unresolved) Nullable() bool { panic("nullability of an unresolved expression") }

// Literal is a constant.
type Literal struct {
	leaf
	Value  Value
	Of     Type
	Origin *Origin // errors about ordinals and limits show it
}

// Lit is a constant of a type; a nil value is NULL.
func Lit(v Value, t Type) *Literal { return &Literal{Value: v, Of: t} }

// Type is the literal's type.
func (e *Literal) Type() Type { return e.Of }

// Nullable says whether the literal is NULL.
func (e *Literal) Nullable() bool { return e.Value == nil }

// WithChildren returns the literal, which has none.
func (e *Literal) WithChildren([]Expr) Expr { return e }

// Attribute is a resolved column of a node's output.
type Attribute struct {
	leaf
	Name      string
	Of        Type
	Null      bool
	ID        ExprID
	Qualifier []string // of the relation it came from, outermost first
	Metadata  string   // JSON object text or ""
	// EventTime is the watermark delay in ms of an event-time column, carried
	// along by projections; nil for every other column.
	EventTime *int64
}

// Type is the column's type.
func (e *Attribute) Type() Type { return e.Of }

// Nullable says whether the column may hold NULL.
func (e *Attribute) Nullable() bool { return e.Null }

// WithChildren returns the attribute, which has none.
func (e *Attribute) WithChildren([]Expr) Expr { return e }

// IsEventTime tells whether the column has a watermark.
func (e *Attribute) IsEventTime() bool { return e.EventTime != nil }

// SessionMark is in the metadata of a column of session windows.
const SessionMark = `"spark.sessionWindow":true`

// IsSession tells whether the column holds session windows.
func (e *Attribute) IsSession() bool { return strings.Contains(e.Metadata, SessionMark) }

// Field is the attribute as a field of a schema.
func (e *Attribute) Field() Field { return Field{e.Name, e.Of, e.Null, e.Metadata} }

// SchemaOf is the struct type of a node's output.
func SchemaOf(output []*Attribute) Type {
	fields := make([]Field, len(output))
	for i, a := range output {
		fields[i] = a.Field()
	}
	return Struct(fields...)
}

// UnresolvedAttribute is a column by name, perhaps qualified.
type UnresolvedAttribute struct {
	leaf
	unresolved
	Parts []string
	// PlanID says which DataFrame the column was taken from (df.x); analysis
	// looks below the node of that id first.
	PlanID   *int64
	Metadata bool // a hidden metadata column such as _metadata was asked for
	Origin   *Origin
}

// WithChildren returns the attribute, which has none.
func (e *UnresolvedAttribute) WithChildren([]Expr) Expr { return e }

// UnresolvedStar is `*` or `t.*`; a struct column may be the target too.
type UnresolvedStar struct {
	leaf
	unresolved
	Target []string
	PlanID *int64
	Except [][]string // columns that SELECT * EXCEPT (...) leaves out
	Origin *Origin
}

// WithChildren returns the star, which has none.
func (e *UnresolvedStar) WithChildren([]Expr) Expr { return e }

// UnresolvedRegex selects columns whose name matches a pattern (df.colRegex).
type UnresolvedRegex struct {
	leaf
	unresolved
	Pattern string
	PlanID  *int64
}

// WithChildren returns the expression, which has none.
func (e *UnresolvedRegex) WithChildren([]Expr) Expr { return e }

// UnresolvedFunction is a call by name; operators are calls too: +, and, isnull,
// when, in, like. Analysis turns it into Call, Aggregate or a special form.
type UnresolvedFunction struct {
	unresolved
	Name     []string
	Args     []Expr
	Distinct bool
	Filter   Expr // of an aggregate, nil when absent
	Origin   *Origin
	// Internal calls come from a DataFrame, which knows functions that SQL does
	// not.
	Internal bool
}

// Fn is an unresolved call of a one-part name.
func Fn(name string, args ...Expr) *UnresolvedFunction {
	return &UnresolvedFunction{Name: []string{name}, Args: args}
}

// Children are the arguments, then the filter.
func (e *UnresolvedFunction) Children() []Expr {
	if e.Filter == nil {
		return e.Args
	}
	return append(slices.Clone(e.Args), e.Filter)
}

// WithChildren replaces arguments and filter.
func (e *UnresolvedFunction) WithChildren(c []Expr) Expr {
	n := *e
	n.Args, n.Filter = splitFilter(c, e.Filter)
	return &n
}

func splitFilter(c []Expr, filter Expr) ([]Expr, Expr) {
	if filter == nil {
		return c, nil
	}
	return c[:len(c)-1], c[len(c)-1]
}

// Parameter is :name or ? in SQL text, replaced before analysis.
type Parameter struct {
	leaf
	unresolved
	Name   string // "" for a positional one
	Index  int    // of a positional one, from 0
	Origin *Origin
}

// WithChildren returns the parameter, which has none.
func (e *Parameter) WithChildren([]Expr) Expr { return e }

// NamedArg is an argument passed by name, f(key => value).
type NamedArg struct {
	unresolved
	Key   string
	Child Expr
}

// Children is the value.
func (e *NamedArg) Children() []Expr { return []Expr{e.Child} }

// WithChildren replaces the value.
func (e *NamedArg) WithChildren(c []Expr) Expr { return &NamedArg{Key: e.Key, Child: c[0]} }

// Alias names an expression. Several names stand for a generator's columns.
type Alias struct {
	Child    Expr
	Names    []string
	Metadata string
	ID       ExprID // given by analysis
	// Generated marks a name that nobody wrote; it is replaced when the same
	// expression is named again.
	Generated bool
	// EventTime is the watermark delay in ms of a column that is event time
	// though its expression is not a plain column: a time window.
	EventTime *int64
	// Kept marks a result of an operator that keeps state, which may be NULL, with its
	// parts, whatever it is computed from.
	Kept bool
}

// As names an expression.
func As(e Expr, name string) *Alias { return &Alias{Child: e, Names: []string{name}} }

// Children is the named expression.
func (e *Alias) Children() []Expr { return []Expr{e.Child} }

// WithChildren replaces the named expression.
func (e *Alias) WithChildren(c []Expr) Expr {
	n := *e
	n.Child = c[0]
	return &n
}

// Type is that of the named expression.
func (e *Alias) Type() Type {
	if e.Kept {
		return e.Child.Type().AsNullable()
	}
	return e.Child.Type()
}

// Nullable is that of the named expression.
func (e *Alias) Nullable() bool { return e.Kept || e.Child.Nullable() }

// CastMode says what a value that does not fit becomes.
type CastMode uint8

// Modes of a cast. Before analysis CastDefault stands for what the session's
// spark.sql.ansi.enabled says.
const (
	CastDefault CastMode = iota
	CastANSI             // an error
	CastLegacy           // NULL, or wrapped around
	CastTry              // NULL
)

// Cast converts to another type.
type Cast struct {
	Child Expr
	To    Type
	Mode  CastMode
	// Implicit marks a cast that coercion put in; it does not show in names.
	Implicit bool
	Origin   *Origin
}

// Children is the converted expression.
func (e *Cast) Children() []Expr { return []Expr{e.Child} }

// WithChildren replaces the converted expression.
func (e *Cast) WithChildren(c []Expr) Expr {
	n := *e
	n.Child = c[0]
	return &n
}

// Type is the target type.
func (e *Cast) Type() Type { return e.To }

// Nullable: a cast that may fail is nullable whatever goes in; see CastMayNull.
func (e *Cast) Nullable() bool {
	return e.Child.Nullable() || CastMayNull(e.Child.Type(), e.To, e.Mode)
}

// ExtractValue is child[key], child.field: a struct field, an array element or
// a map value. Analysis replaces it by GetField or a Call.
type ExtractValue struct {
	unresolved
	Child, Key Expr
	Origin     *Origin
}

// Children are the container and the key.
func (e *ExtractValue) Children() []Expr { return []Expr{e.Child, e.Key} }

// WithChildren replaces container and key.
func (e *ExtractValue) WithChildren(c []Expr) Expr {
	return &ExtractValue{Child: c[0], Key: c[1], Origin: e.Origin}
}

// GetField takes a field out of a struct, or out of every element of an array
// of structs.
type GetField struct {
	Child   Expr
	Ordinal int
	Name    string
	// Each says that Child is an array of structs.
	Each bool
}

// Children is the struct.
func (e *GetField) Children() []Expr { return []Expr{e.Child} }

// WithChildren replaces the struct.
func (e *GetField) WithChildren(c []Expr) Expr {
	n := *e
	n.Child = c[0]
	return &n
}

func (e *GetField) field() Field {
	t := e.Child.Type()
	if e.Each {
		t = *t.Elem
	}
	return t.Fields[e.Ordinal]
}

// Type is the field's type, or an array of it.
func (e *GetField) Type() Type {
	f := e.field()
	if e.Each {
		return Array(f.Type, f.Nullable || e.Child.Type().ContainsNull)
	}
	return f.Type
}

// Nullable says whether the struct or the field may be NULL.
func (e *GetField) Nullable() bool {
	return e.Child.Nullable() || !e.Each && e.field().Nullable
}

// UpdateFields changes a struct: adds or replaces a field, or drops it.
type UpdateFields struct {
	unresolved
	Child Expr
	Field []string
	Value Expr // nil drops the field
}

// Children are the struct and the new value.
func (e *UpdateFields) Children() []Expr {
	if e.Value == nil {
		return []Expr{e.Child}
	}
	return []Expr{e.Child, e.Value}
}

// WithChildren replaces the struct and the new value.
func (e *UpdateFields) WithChildren(c []Expr) Expr {
	n := UpdateFields{Child: c[0], Field: e.Field}
	if e.Value != nil {
		n.Value = c[1]
	}
	return &n
}

// SortOrder is one key of ORDER BY.
type SortOrder struct {
	Child      Expr
	Descending bool
	NullsFirst bool
}

// Children is the key.
func (e *SortOrder) Children() []Expr { return []Expr{e.Child} }

// WithChildren replaces the key.
func (e *SortOrder) WithChildren(c []Expr) Expr {
	return &SortOrder{c[0], e.Descending, e.NullsFirst}
}

// Type is the key's type.
func (e *SortOrder) Type() Type { return e.Child.Type() }

// Nullable is that of the key.
func (e *SortOrder) Nullable() bool { return e.Child.Nullable() }

// Call is a resolved call of a scalar function: function room knows Name and
// how to evaluate it over arguments of exactly these types.
type Call struct {
	Name   string // canonical, lower case
	Args   []Expr
	Of     Type
	Null   bool
	ANSI   bool // errors instead of NULL or wrapping, fixed by analysis
	Origin *Origin
	// Text is a template of how the call is written in column names when that
	// is not name(args) or an operator's usual form: $1 to $9 stand for
	// arguments, $2* for the second and all that follow, $* for all, $$ for a
	// dollar. An alias that shows writes itself here: "char_length($*)".
	Text string
}

// Children are the arguments.
func (e *Call) Children() []Expr { return e.Args }

// WithChildren replaces the arguments; their types must stay.
func (e *Call) WithChildren(c []Expr) Expr {
	n := *e
	n.Args = c
	return &n
}

// Type is the result type.
func (e *Call) Type() Type { return e.Of }

// Nullable says whether the result may be NULL.
func (e *Call) Nullable() bool { return e.Null }

// AggregateCall is a resolved call of an aggregate function.
type AggregateCall struct {
	Name     string // canonical, lower case
	Args     []Expr
	Distinct bool
	Filter   Expr // nil when absent
	Of       Type
	Null     bool
	ANSI     bool
	Origin   *Origin
	Text     string // as in Call; "mean($*)", "first($1) ignore nulls"
	// Python is the function that computes the call, without arguments; nil for
	// those of the shelf.
	Python *PythonUDF
}

// Children are the arguments, then the filter.
func (e *AggregateCall) Children() []Expr {
	if e.Filter == nil {
		return e.Args
	}
	return append(slices.Clone(e.Args), e.Filter)
}

// WithChildren replaces arguments and filter.
func (e *AggregateCall) WithChildren(c []Expr) Expr {
	n := *e
	n.Args, n.Filter = splitFilter(c, e.Filter)
	return &n
}

// Type is the result type.
func (e *AggregateCall) Type() Type { return e.Of }

// Nullable says whether the result may be NULL.
func (e *AggregateCall) Nullable() bool { return e.Null }

// SubqueryKind says what a subquery in an expression asks.
type SubqueryKind uint8

// Kinds of subqueries in expressions.
const (
	ScalarSubquery SubqueryKind = iota
	ExistsSubquery
	InSubquery
	// TableSubquery is a table that is the argument of a table function.
	TableSubquery
)

// Subquery is a query inside an expression. Analysis resolves Plan; a
// correlated one is rewritten into a join or refused by name.
type Subquery struct {
	Kind   SubqueryKind
	Plan   Node
	PlanID *int64 // of a DataFrame subquery sent beside the plan
	Values []Expr // left side of IN
	// Outer are the columns of the query around it that it uses, given by analysis.
	Outer []Expr
	// Table is how the rows of a table come to the function whose argument it is.
	Table  *TableArg
	Origin *Origin
	// Negated says that an IN stands right under NOT. Where a NULL leaves it open whether
	// a value is among the rows it then counts as one of them, and as none otherwise: as
	// in Spark the answer is never NULL, wherever it is not a whole condition of WHERE.
	Negated bool
}

// Children are the values of an IN.
func (e *Subquery) Children() []Expr { return e.Values }

// WithChildren replaces the values of an IN.
func (e *Subquery) WithChildren(c []Expr) Expr {
	n := *e
	n.Values = c
	return &n
}

// Type is boolean, or that of a scalar subquery's only column.
func (e *Subquery) Type() Type {
	if e.Kind == ScalarSubquery {
		return e.Plan.Output()[0].Of
	}
	return Boolean
}

// Nullable: a scalar subquery without rows is NULL, and so is IN when a value on
// either side is.
func (e *Subquery) Nullable() bool {
	if e.Kind != InSubquery {
		return e.Kind == ScalarSubquery
	}
	for _, v := range e.Values {
		if v.Nullable() {
			return true
		}
	}
	for _, a := range e.Plan.Output() {
		if a.Null {
			return true
		}
	}
	return false
}

// PythonUDF is a user's Python function. Only the worker's process unpickles
// Command.
type PythonUDF struct {
	Name string
	Args []Expr
	// Keywords are the names of arguments that are passed by name, "" for the
	// others; nil when none is. Before analysis those arguments are NamedArgs.
	Keywords      []string
	Returns       Type
	EvalType      int
	Command       []byte
	PythonVersion string
	Deterministic bool
}

// Children are the arguments.
func (e *PythonUDF) Children() []Expr { return e.Args }

// WithChildren replaces the arguments.
func (e *PythonUDF) WithChildren(c []Expr) Expr {
	n := *e
	n.Args = c
	return &n
}

// Type is the declared return type.
func (e *PythonUDF) Type() Type { return e.Returns }

// Nullable is always true: Python may return None.
func (e *PythonUDF) Nullable() bool { return true }
