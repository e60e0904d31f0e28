package plan

// The nodes of this file are DataFrame methods that need the input's columns
// before they can be expressed by others. Analysis replaces each.

// WithColumns adds columns, or replaces those of the same name.
type WithColumns struct {
	unary
	unresolvedNode
	Aliases []*Alias
}

// NewWithColumns adds or replaces columns of in.
func NewWithColumns(in Node, aliases []*Alias) *WithColumns {
	return &WithColumns{unary: over(in), Aliases: aliases}
}

// WithChildren replaces the input.
func (n *WithColumns) WithChildren(c []Node) Node { return NewWithColumns(c[0], n.Aliases) }

// RenameColumns renames columns; names that do not exist are ignored.
type RenameColumns struct {
	unary
	unresolvedNode
	From, To []string
}

// NewRenameColumns renames columns of in.
func NewRenameColumns(in Node, from, to []string) *RenameColumns {
	return &RenameColumns{unary: over(in), From: from, To: to}
}

// WithChildren replaces the input.
func (n *RenameColumns) WithChildren(c []Node) Node { return NewRenameColumns(c[0], n.From, n.To) }

// DropColumns removes columns by name and by reference; absent ones are ignored.
type DropColumns struct {
	unary
	unresolvedNode
	Names []string
	Exprs []Expr
}

// NewDropColumns removes columns of in.
func NewDropColumns(in Node, names []string, exprs []Expr) *DropColumns {
	return &DropColumns{unary: over(in), Names: names, Exprs: exprs}
}

// WithChildren replaces the input.
func (n *DropColumns) WithChildren(c []Node) Node { return NewDropColumns(c[0], n.Names, n.Exprs) }

// RenameAll gives every column a name (df.toDF).
type RenameAll struct {
	unary
	unresolvedNode
	Names []string
}

// NewRenameAll names every column of in.
func NewRenameAll(in Node, names []string) *RenameAll {
	return &RenameAll{unary: over(in), Names: names}
}

// WithChildren replaces the input.
func (n *RenameAll) WithChildren(c []Node) Node { return NewRenameAll(c[0], n.Names) }

// ToSchema casts and reorders columns to a schema by name (df.to).
type ToSchema struct {
	unary
	unresolvedNode
	Schema Type
}

// NewToSchema casts in to a schema.
func NewToSchema(in Node, schema Type) *ToSchema {
	return &ToSchema{unary: over(in), Schema: schema}
}

// WithChildren replaces the input.
func (n *ToSchema) WithChildren(c []Node) Node { return NewToSchema(c[0], n.Schema) }

// FillNA replaces NULL (and NaN) by values: one for all columns of its type,
// or one for each named column.
type FillNA struct {
	unary
	unresolvedNode
	Columns []string
	Values  []*Literal
}

// NewFillNA replaces NULLs of in.
func NewFillNA(in Node, columns []string, values []*Literal) *FillNA {
	return &FillNA{unary: over(in), Columns: columns, Values: values}
}

// WithChildren replaces the input.
func (n *FillNA) WithChildren(c []Node) Node { return NewFillNA(c[0], n.Columns, n.Values) }

// ReplaceNA replaces values by others in columns of their kind: in the named
// ones, or in all.
type ReplaceNA struct {
	unary
	unresolvedNode
	Columns  []string
	From, To []*Literal
}

// NewReplaceNA replaces values of in; from and to are equally long.
func NewReplaceNA(in Node, columns []string, from, to []*Literal) *ReplaceNA {
	return &ReplaceNA{unary: over(in), Columns: columns, From: from, To: to}
}

// WithChildren replaces the input.
func (n *ReplaceNA) WithChildren(c []Node) Node { return NewReplaceNA(c[0], n.Columns, n.From, n.To) }

// DropNA removes rows with fewer than MinNonNulls values that are neither NULL
// nor NaN among Columns (all when empty). A negative count means all of them.
type DropNA struct {
	unary
	unresolvedNode
	Columns     []string
	MinNonNulls int
}

// NewDropNA removes rows of in.
func NewDropNA(in Node, columns []string, minNonNulls int) *DropNA {
	return &DropNA{unary: over(in), Columns: columns, MinNonNulls: minNonNulls}
}

// WithChildren replaces the input.
func (n *DropNA) WithChildren(c []Node) Node { return NewDropNA(c[0], n.Columns, n.MinNonNulls) }

// ShowString is the text of df.show(): one row, one column.
type ShowString struct {
	unary
	Rows, Truncate int
	Vertical, HTML bool
	Attr           *Attribute // given by analysis
}

// NewShowString renders the first rows of in.
func NewShowString(in Node, rows, truncate int) *ShowString {
	return &ShowString{unary: over(in), Rows: rows, Truncate: truncate}
}

// WithChildren replaces the input.
func (n *ShowString) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	return &m
}

// Output is the text column.
func (n *ShowString) Output() []*Attribute { return []*Attribute{n.Attr} }
