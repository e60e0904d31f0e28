package plan

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Node is a relation or a command of a query's tree.
type Node interface {
	Children() []Node
	WithChildren(children []Node) Node
	// Output is the node's columns. It panics on unresolved nodes and is empty
	// for commands.
	Output() []*Attribute
}

type leafNode struct{}

func (leafNode) Children() []Node { return nil }

type unresolvedNode struct{}

func (unresolvedNode) Output() []*Attribute { panic("output of an unresolved node") }

// VersionAsOf and TimestampAsOf are the options that name an older version of a
// table; VERSION AS OF and TIMESTAMP AS OF become them.
const (
	VersionAsOf   = "versionAsOf"
	TimestampAsOf = "timestampAsOf"
)

// Travels reports whether options name an older version of a table.
func Travels(o Options) bool {
	_, byVersion := o.Get(VersionAsOf)
	_, byTime := o.Get(TimestampAsOf)
	return byVersion || byTime
}

// Options are the options of a reader or writer, keys as the user wrote them.
type Options map[string]string

// Get looks a key up, whatever its case.
func (o Options) Get(key string) (string, bool) {
	if v, ok := o[key]; ok {
		return v, true
	}
	for k, v := range o {
		if strings.EqualFold(k, key) {
			return v, true
		}
	}
	return "", false
}

// ToAttribute is the column that a named expression becomes.
func ToAttribute(e Expr) *Attribute {
	switch n := e.(type) {
	case *Attribute:
		return n
	case *Alias:
		a := &Attribute{Name: n.Names[0], Of: n.Type(), Null: n.Nullable(), ID: n.ID, Metadata: n.Metadata,
			EventTime: n.EventTime}
		if src, ok := n.Child.(*Attribute); ok {
			a.EventTime = src.EventTime
			if a.Metadata == "" {
				a.Metadata = src.Metadata
			}
		}
		return a
	default:
		panic("column of an unnamed expression")
	}
}

func toAttributes(exprs []Expr) []*Attribute {
	out := make([]*Attribute, len(exprs))
	for i, e := range exprs {
		out[i] = ToAttribute(e)
	}
	return out
}

// Relation is data outside the engine: what a connector needs to open it.
type Relation struct {
	Format     string // lower case short name: rate, json, delta, …
	Schema     Type   // columns as read, partition columns last
	Partitions []string
	Options    Options
	Paths      []string // as the user gave them, volumes included
	Table      *TableID // set when it was reached by name
	// Filled are the columns that the table gives a value by itself where a row
	// brings none.
	Filled []string
	// Metadata are hidden columns that a query may name, such as _metadata of
	// files; a Scan that wants one has it among its Attrs.
	Metadata []Field
	// Listing is what a read of a path found when it was analysed, and all that
	// it reads from then on; nil when each read looks anew, as those of tables do.
	Listing *Listing
}

// Listing is a set of files.
type Listing struct{ Files []File }

// File is a file of a listing.
type File struct {
	Root    int    // the element of Paths that led to it
	Path    string // on the file system of that root
	Base    string // the directory below which k=v in Path are partition columns
	Size    int64
	ModTime int64 // milliseconds since 1970
}

// TableID is a table's full name.
type TableID struct{ Catalog, Schema, Name string }

// String is the dotted name, without quotes.
func (t TableID) String() string { return t.Catalog + "." + t.Schema + "." + t.Name }

// Parts is the name as a list.
func (t TableID) Parts() []string { return []string{t.Catalog, t.Schema, t.Name} }

// NamedTable is an unresolved table or view by name.
type NamedTable struct {
	leafNode
	unresolvedNode
	Name      []string
	Options   Options
	Streaming bool
	Delta     bool // of a DeltaTable: nothing but a Delta table is meant
	Origin    *Origin
}

// WithChildren returns the node, which has none.
func (n *NamedTable) WithChildren([]Node) Node { return n }

// Read is an unresolved read of a format: spark.read, spark.readStream.
type Read struct {
	leafNode
	unresolvedNode
	Format     string // "" stands for spark.sql.sources.default
	Schema     *Type  // nil when the source says it itself
	Options    Options
	Paths      []string
	Streaming  bool
	SourceName string // readStream.name(...)
	Delta      bool   // of a DeltaTable: nothing but a Delta table is meant
}

// WithChildren returns the node, which has none.
func (n *Read) WithChildren([]Node) Node { return n }

// TableFunction is an unresolved table-valued function: range(10), explode(x).
type TableFunction struct {
	leafNode
	unresolvedNode
	Name []string
	Args []Expr
	// Python is the function itself where it came along; nil where its name says it.
	Python *PythonUDF
	Origin *Origin
}

// WithChildren returns the node, which has none.
func (n *TableFunction) WithChildren([]Node) Node { return n }

// InlineTable is VALUES (…), (…): rows of expressions.
type InlineTable struct {
	leafNode
	unresolvedNode
	Names  []string
	Rows   [][]Expr
	Origin *Origin
}

// WithChildren returns the node, which has none.
func (n *InlineTable) WithChildren([]Node) Node { return n }

// Tagged marks the relation that a client's DataFrame of an id stands for, so
// that df.x can be resolved. Analysis removes it.
type Tagged struct {
	unresolvedNode
	ID    int64
	Input Node
}

// Children is the tagged relation.
func (n *Tagged) Children() []Node { return []Node{n.Input} }

// WithChildren replaces the tagged relation.
func (n *Tagged) WithChildren(c []Node) Node { return &Tagged{ID: n.ID, Input: c[0]} }

// With is WITH name AS (…) … .
type With struct {
	unresolvedNode
	Defs  []CTE
	Input Node
}

// CTE is one named query of a WITH.
type CTE struct {
	Name    string
	Columns []string
	Query   Node
}

// Children are the definitions, then the body.
func (n *With) Children() []Node {
	var c []Node
	for _, d := range n.Defs {
		c = append(c, d.Query)
	}
	return append(c, n.Input)
}

// WithChildren replaces definitions and body.
func (n *With) WithChildren(c []Node) Node {
	m := &With{Input: c[len(c)-1]}
	for i, d := range n.Defs {
		m.Defs = append(m.Defs, CTE{d.Name, d.Columns, c[i]})
	}
	return m
}

// Scan reads a relation; the resolved form of NamedTable and Read.
type Scan struct {
	leafNode
	Relation   Relation
	Attrs      []*Attribute
	Streaming  bool
	SourceName string
	// Source is equal in the streaming scans that one source feeds: the same
	// DataFrame used twice. Given by analysis, from 1.
	Source int
	// Place is equal in the streaming scans that the logs of a query count as one,
	// in whose order they are: the uses of one named query of a WITH. Given by
	// analysis, from 1.
	Place int
	// Filters are conditions over Attrs that the plan asks of every row of the
	// scan. A reader may leave out rows for which one is not true, and reads as
	// well without. Given by analysis.
	Filters []Expr
	// Most is how many rows of a partition the plan wants; 0 is all. A streaming
	// scan reads no more. Given by analysis.
	Most int64
}

// WithChildren returns the node, which has none.
func (n *Scan) WithChildren([]Node) Node { return n }

// Output is the relation's columns.
func (n *Scan) Output() []*Attribute { return n.Attrs }

// LocalData is rows that travelled with the plan. Rows are kept as Arrow
// columns in the order of Schema, which wins over Arrow's own field names.
type LocalData struct {
	leafNode
	Schema Type
	Rows   []arrow.RecordBatch
	Attrs  []*Attribute // given by analysis
}

// WithChildren returns the node, which has none.
func (n *LocalData) WithChildren([]Node) Node { return n }

// Output is the columns of the rows.
func (n *LocalData) Output() []*Attribute { return n.Attrs }

// Range is the numbers from Start to End, exclusive.
type Range struct {
	leafNode
	Start, End, Step int64
	Partitions       int // 0: the default parallelism
	Attr             *Attribute
}

// WithChildren returns the node, which has none.
func (n *Range) WithChildren([]Node) Node { return n }

// Output is the one column, id.
func (n *Range) Output() []*Attribute { return []*Attribute{n.Attr} }

// OneRow is the relation of SELECT without FROM: one row, no columns.
type OneRow struct{ leafNode }

// WithChildren returns the node, which has none.
func (n *OneRow) WithChildren([]Node) Node { return n }

// Output is empty.
func (n *OneRow) Output() []*Attribute { return nil }

// CachedRemote is a DataFrame that the session holds by id: a checkpoint, the
// batch of a foreachBatch.
type CachedRemote struct {
	leafNode
	unresolvedNode
	ID string
}

// WithChildren returns the node, which has none.
func (n *CachedRemote) WithChildren([]Node) Node { return n }

// unary is embedded by nodes with one input.
type unary struct{ Input Node }

func (n unary) Children() []Node { return []Node{n.Input} }

// Over is the input of a node with one: plan.Filter{unary: plan.Over(in)} is
// written through the constructors below outside this package.
func over(in Node) unary { return unary{in} }

// Project computes columns. Before analysis Exprs may hold stars and
// expressions without names.
type Project struct {
	unary
	Exprs  []Expr
	Origin *Origin // of the SELECT
	// Grouped says that it is the select list of the Aggregate below, which groups by
	// sets: HAVING and ORDER BY look through it.
	Grouped bool
}

// NewProject computes exprs over in.
func NewProject(in Node, exprs ...Expr) *Project { return &Project{unary: over(in), Exprs: exprs} }

// WithChildren replaces the input.
func (n *Project) WithChildren(c []Node) Node {
	return &Project{over(c[0]), n.Exprs, n.Origin, n.Grouped}
}

// Output is the computed columns.
func (n *Project) Output() []*Attribute { return toAttributes(n.Exprs) }

// Filter keeps the rows for which Cond is true.
type Filter struct {
	unary
	Cond   Expr
	Origin *Origin // of the SELECT whose WHERE it is
}

// NewFilter keeps the rows of in for which cond is true.
func NewFilter(in Node, cond Expr) *Filter { return &Filter{unary: over(in), Cond: cond} }

// WithChildren replaces the input.
func (n *Filter) WithChildren(c []Node) Node { return &Filter{over(c[0]), n.Cond, n.Origin} }

// Output is the input's columns.
func (n *Filter) Output() []*Attribute { return n.Input.Output() }

// GroupKind says how grouping expressions combine.
type GroupKind uint8

// Kinds of grouping.
const (
	GroupBy GroupKind = iota
	GroupRollup
	GroupCube
	GroupSets
	GroupPivot
)

// Aggregate groups rows. After analysis Exprs are named and each is built of
// grouping expressions and AggregateCalls.
type Aggregate struct {
	unary
	Kind  GroupKind
	Group []Expr
	Exprs []Expr
	Sets  [][]Expr // of GROUPING SETS
	Pivot *Pivot
	// FromSQL says that Exprs is a SELECT list, complete in itself; from a
	// DataFrame the grouping columns are put in front of it.
	FromSQL bool
	Origin  *Origin // of the SELECT
}

// Pivot turns values of a column into columns.
type Pivot struct {
	Column Expr
	Values []Expr
	// Rest groups by all columns that neither Column nor the aggregates use.
	Rest bool
}

// NewAggregate groups in.
func NewAggregate(in Node, group, exprs []Expr) *Aggregate {
	return &Aggregate{unary: over(in), Group: group, Exprs: exprs}
}

// WithChildren replaces the input.
func (n *Aggregate) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Output is the result columns.
func (n *Aggregate) Output() []*Attribute { return kept(n.Input, toAttributes(n.Exprs)) }

// kept is the columns of an operator over in, which keeps state when in is a
// stream. Then they, and their parts, may be NULL: that is what Spark says of
// everything that it keeps in state.
func kept(in Node, attrs []*Attribute) []*Attribute {
	if !Streaming(in) {
		return attrs
	}
	out := make([]*Attribute, len(attrs))
	for i, a := range attrs {
		b := *a
		b.Null, b.Of = true, a.Of.AsNullable()
		out[i] = &b
	}
	return out
}

// JoinType is the kind of a join.
type JoinType uint8

// Join types.
const (
	InnerJoin JoinType = iota
	LeftJoin
	RightJoin
	FullJoin
	SemiJoin
	AntiJoin
	CrossJoin
)

var joinNames = [...]string{"Inner", "LeftOuter", "RightOuter", "FullOuter", "LeftSemi", "LeftAnti", "Cross"}

// String is Spark's name of the join type.
func (t JoinType) String() string { return joinNames[t] }

// Join combines two inputs.
type Join struct {
	Left, Right Node
	Kind        JoinType
	Cond        Expr     // nil: every pair
	Using       []string // before analysis
	Natural     bool     // before analysis
	// Lateral lets Right name the columns of Left; before analysis.
	Lateral bool
	Origin  *Origin
	// Was is the kind as it was written, where conditions above make another one of
	// it; nil where they do not.
	Was *JoinType
}

// Children are both inputs.
func (n *Join) Children() []Node { return []Node{n.Left, n.Right} }

// WithChildren replaces both inputs.
func (n *Join) WithChildren(c []Node) Node {
	m := *n
	m.Left, m.Right = c[0], c[1]
	return &m
}

// Output is the columns of both sides; an outer side's become nullable.
func (n *Join) Output() []*Attribute {
	left, right := n.Left.Output(), n.Right.Output()
	if Streaming(n.Left) && Streaming(n.Right) {
		left, right = kept(n.Left, left), kept(n.Right, right)
	}
	if n.Kind == SemiJoin || n.Kind == AntiJoin {
		return left
	}
	if n.Kind == RightJoin || n.Kind == FullJoin {
		left = nullable(left)
	}
	if n.Kind == LeftJoin || n.Kind == FullJoin {
		right = nullable(right)
	}
	return append(append(make([]*Attribute, 0, len(left)+len(right)), left...), right...)
}

func nullable(attrs []*Attribute) []*Attribute {
	out := make([]*Attribute, len(attrs))
	for i, a := range attrs {
		if !a.Null {
			b := *a
			b.Null = true
			a = &b
		}
		out[i] = a
	}
	return out
}

// SetKind is the kind of a set operation.
type SetKind uint8

// Set operations.
const (
	Union SetKind = iota
	Intersect
	Except
)

// SetOp combines inputs of one shape. After analysis the inputs have equal
// column types and Attrs are the result's own columns.
type SetOp struct {
	Kind         SetKind
	Inputs       []Node
	All          bool
	ByName       bool
	AllowMissing bool // with ByName: absent columns are NULL
	Attrs        []*Attribute
	Origin       *Origin
}

// Children are the inputs.
func (n *SetOp) Children() []Node { return n.Inputs }

// WithChildren replaces the inputs.
func (n *SetOp) WithChildren(c []Node) Node {
	m := *n
	m.Inputs = c
	return &m
}

// Output is the result's columns.
func (n *SetOp) Output() []*Attribute { return n.Attrs }

// Sort orders rows; Global is false for sortWithinPartitions.
type Sort struct {
	unary
	Orders []*SortOrder
	Global bool
}

// NewSort orders the rows of in.
func NewSort(in Node, global bool, orders ...*SortOrder) *Sort {
	return &Sort{over(in), orders, global}
}

// WithChildren replaces the input.
func (n *Sort) WithChildren(c []Node) Node { return &Sort{over(c[0]), n.Orders, n.Global} }

// Output is the input's columns.
func (n *Sort) Output() []*Attribute { return n.Input.Output() }

// Limit keeps the first Count rows after skipping the first Skip, or the last
// Count when Tail is set. A nil Count keeps all, a nil Skip skips none.
type Limit struct {
	unary
	Count, Skip Expr
	Tail        bool
}

// NewLimit keeps count rows of in after skipping skip.
func NewLimit(in Node, count, skip Expr) *Limit {
	return &Limit{unary: over(in), Count: count, Skip: skip}
}

// WithChildren replaces the input.
func (n *Limit) WithChildren(c []Node) Node { return &Limit{over(c[0]), n.Count, n.Skip, n.Tail} }

// Output is the input's columns.
func (n *Limit) Output() []*Attribute { return kept(n.Input, n.Input.Output()) }

// Dedup keeps one row of each key. AllColumns stands for dropDuplicates() and
// distinct() of a DataFrame. With neither columns nor AllColumns it is SELECT
// DISTINCT, which is an aggregation: a stream tells the difference.
type Dedup struct {
	unary
	Columns         []string
	AllColumns      bool
	Keys            []*Attribute // given by analysis
	WithinWatermark bool
}

// NewDedup keeps one row of in for each value of columns.
func NewDedup(in Node, columns []string, withinWatermark bool) *Dedup {
	return &Dedup{unary: over(in), Columns: columns, WithinWatermark: withinWatermark}
}

// WithChildren replaces the input.
func (n *Dedup) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Output is the input's columns.
func (n *Dedup) Output() []*Attribute { return kept(n.Input, n.Input.Output()) }

// SubqueryAlias names a relation: FROM t AS x, df.alias("x").
type SubqueryAlias struct {
	unary
	Name    []string
	Columns []string // FROM t AS x(a, b); nil keeps the names
	Origin  *Origin
}

// NewAlias names in.
func NewAlias(in Node, name ...string) *SubqueryAlias {
	return &SubqueryAlias{unary: over(in), Name: name}
}

// WithChildren replaces the input.
func (n *SubqueryAlias) WithChildren(c []Node) Node {
	return &SubqueryAlias{over(c[0]), n.Name, n.Columns, n.Origin}
}

// Output is the input's columns under the new qualifier.
func (n *SubqueryAlias) Output() []*Attribute {
	in := n.Input.Output()
	out := make([]*Attribute, len(in))
	for i, a := range in {
		b := *a
		b.Qualifier = n.Name
		out[i] = &b
	}
	return out
}

// Watermark declares Column as event time, late by at most Delay.
type Watermark struct {
	unary
	Column  Expr
	Delay   string // interval text as the user wrote it
	DelayMs int64  // given by analysis
}

// NewWatermark declares an event-time column of in.
func NewWatermark(in Node, column Expr, delay string) *Watermark {
	return &Watermark{unary: over(in), Column: column, Delay: delay}
}

// WithChildren replaces the input.
func (n *Watermark) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Output is the input's columns, the event-time one marked.
func (n *Watermark) Output() []*Attribute {
	in := n.Input.Output()
	col, ok := n.Column.(*Attribute)
	if !ok {
		panic("output of an unresolved watermark")
	}
	out := make([]*Attribute, len(in))
	for i, a := range in {
		if a.ID == col.ID {
			b := *a
			b.EventTime = &n.DelayMs
			a = &b
		}
		out[i] = a
	}
	return out
}

// TimeWindow gives each row the windows of time that it lies in, as one more
// column: a row for each window, none for a row without time.
type TimeWindow struct {
	unary
	Time Expr
	// Windows of Size begin every Slide, Start after 1970; all in µs.
	Size, Slide, Start int64
	// End is set for a session instead: when the window ends that the row opens by
	// itself.
	End  Expr
	Attr *Attribute // of the type struct<start, end>
}

// NewTimeWindow adds the column attr to in.
func NewTimeWindow(in Node, time Expr, attr *Attribute) *TimeWindow {
	return &TimeWindow{unary: over(in), Time: time, Attr: attr}
}

// WithChildren replaces the input.
func (n *TimeWindow) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Output is the input's columns and the window.
func (n *TimeWindow) Output() []*Attribute {
	in := n.Input.Output()
	return append(in[:len(in):len(in)], n.Attr)
}

// Observe computes metrics over the rows that pass (df.observe).
type Observe struct {
	unary
	Name    string
	Metrics []Expr
}

// NewObserve computes metrics over the rows of in.
func NewObserve(in Node, name string, metrics []Expr) *Observe {
	return &Observe{over(in), name, metrics}
}

// WithChildren replaces the input.
func (n *Observe) WithChildren(c []Node) Node { return &Observe{over(c[0]), n.Name, n.Metrics} }

// Output is the input's columns.
func (n *Observe) Output() []*Attribute { return n.Input.Output() }

// Generate runs a generator (explode, inline, …) over each row.
type Generate struct {
	unary
	Generator Expr
	Outer     bool
	Attrs     []*Attribute // the generator's columns, given by analysis
	Qualifier string       // LATERAL VIEW … name
	Names     []string     // before analysis
}

// NewGenerate runs a generator over the rows of in.
func NewGenerate(in Node, generator Expr, outer bool) *Generate {
	return &Generate{unary: over(in), Generator: generator, Outer: outer}
}

// WithChildren replaces the input.
func (n *Generate) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Output is the input's columns, then the generator's.
func (n *Generate) Output() []*Attribute {
	return append(append([]*Attribute(nil), n.Input.Output()...), n.Attrs...)
}

// Repartition asks for a number of partitions, by hash of Exprs if there are
// any. It changes no row; partition counts show in file counts.
type Repartition struct {
	unary
	Count int // 0: spark.sql.shuffle.partitions
	Exprs []Expr
	// Coalesce joins partitions instead, where there are more than Count.
	Coalesce bool
}

// NewRepartition spreads the rows of in.
func NewRepartition(in Node, count int, exprs []Expr) *Repartition {
	return &Repartition{unary: over(in), Count: count, Exprs: exprs}
}

// WithChildren replaces the input.
func (n *Repartition) WithChildren(c []Node) Node {
	return &Repartition{over(c[0]), n.Count, n.Exprs, n.Coalesce}
}

// Output is the input's columns.
func (n *Repartition) Output() []*Attribute { return n.Input.Output() }

// Hint carries an optimizer hint; every hint is accepted, none changes rows.
type Hint struct {
	unary
	Name string
	Args []Expr
}

// NewHint hints at in.
func NewHint(in Node, name string, args []Expr) *Hint { return &Hint{over(in), name, args} }

// WithChildren replaces the input.
func (n *Hint) WithChildren(c []Node) Node { return &Hint{over(c[0]), n.Name, n.Args} }

// Output is the input's columns.
func (n *Hint) Output() []*Attribute { return n.Input.Output() }
