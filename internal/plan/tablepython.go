package plan

// TableArg says how the rows of a table that is an argument of a function come
// to it: TABLE (…) PARTITION BY … ORDER BY ….
type TableArg struct {
	Partition []Expr
	Order     []*SortOrder
	Single    bool // all rows as one partition
}

// TableCall is a call of a table function as its method analyze hears of it.
type TableCall struct {
	Func *PythonUDF
	// Args are what its arguments are: constants, or NULLs of the argument's type.
	Args     []Expr
	Constant []bool
	Table    []bool
}

// TableAnalysis is what the method analyze of a table function says of a call.
type TableAnalysis struct {
	Schema Type
	// Result is what it returned, pickled: the function may want to see it.
	Result []byte
	// Single, Partition and Order are how it wants the rows of its table.
	Single    bool
	Partition []string // expressions
	Order     []TableOrder
	Select    []TableColumn // the table's columns that it wants; all when empty
}

// TableOrder is an order that a table function wants.
type TableOrder struct {
	Expr       string
	Descending bool
	NullsFirst *bool // nil: as the direction says
}

// TableColumn is a column of its table that a table function wants.
type TableColumn struct{ Expr, Alias string }

// TablePython runs a table function for each row of its input: of the columns
// beside which it stands in a lateral join, of a table that is its argument, or the
// only row of a call with constants.
type TablePython struct {
	unary
	Func *PythonUDF
	// Keys are those of the partitions of a table: where they change, a new
	// instance of the function begins. Equal ones stand together.
	Keys []Expr
	// Table is which argument is a row of a table, -1 when none is.
	Table int
	// Analysis is the pickled result of the function's method analyze, if it has one.
	Analysis []byte
	// Beside says that the columns of the input stay, and Outer that a row stays for
	// which the function yields nothing.
	Beside, Outer bool
	Attrs         []*Attribute
}

// NewTablePython runs a table function over in.
func NewTablePython(in Node, f *PythonUDF) *TablePython {
	return &TablePython{unary: over(in), Func: f, Table: -1}
}

// WithChildren replaces the input.
func (n *TablePython) WithChildren(c []Node) Node {
	m := *n
	m.unary = over(c[0])
	return &m
}

// Output is the columns that the function yields, behind those of the input if
// they stay.
func (n *TablePython) Output() []*Attribute {
	if !n.Beside {
		return n.Attrs
	}
	return append(append([]*Attribute(nil), n.Input.Output()...), n.Attrs...)
}

// Exprs are the expressions that it computes: its keys and its function.
func (n *TablePython) Exprs() []Expr { return append(append([]Expr(nil), n.Keys...), n.Func) }

// WithExprs replaces what Exprs gives.
func (n *TablePython) WithExprs(list []Expr) *TablePython {
	m := *n
	last := len(list) - 1
	m.Keys, m.Func = list[:last:last], list[last].(*PythonUDF)
	return &m
}
