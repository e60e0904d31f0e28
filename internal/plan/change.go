package plan

// Delete is DELETE FROM.
type Delete struct {
	command
	Table Node // a NamedTable, perhaps under an alias
	Cond  Expr // nil: every row
}

// Update is UPDATE … SET.
type Update struct {
	command
	Table Node // a NamedTable, perhaps under an alias
	Set   []Assignment
	Cond  Expr // nil: every row
}

// Assignment gives a column, or a field of one, a value.
type Assignment struct {
	Column *UnresolvedAttribute
	Value  Expr
}

// Merge is MERGE INTO, and df.mergeInto.
type Merge struct {
	command
	Table  Node // a NamedTable, perhaps under an alias
	Source Node
	Cond   Expr
	// The clauses of a kind in their order: of several the first whose condition
	// holds is taken.
	Matched, NotMatched, BySource []MergeClause
	// Evolves adds the source's columns that the table lacks.
	Evolves bool
}

// MergeClause is WHEN … THEN ….
type MergeClause struct {
	Action MergeAction
	Cond   Expr // nil: always
	// All stands for the * of UPDATE SET * and INSERT *.
	All bool
	Set []Assignment // the columns and values of an UPDATE or INSERT
}

// MergeAction is what a clause does to a row.
type MergeAction uint8

// What clauses do.
const (
	MergeUpdate MergeAction = iota
	MergeDelete
	MergeInsert
)

var mergeActions = [...]string{"update", "delete", "insert"}

// String is the action as Delta's history has it.
func (a MergeAction) String() string { return mergeActions[a] }

// WithChildren returns the command.
func (c *Delete) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Update) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Merge) WithChildren([]Node) Node { return c }
