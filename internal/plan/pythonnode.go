package plan

// MapPython turns the rows of each partition into others: mapInPandas and
// mapInArrow. The arguments of Func are the columns that it sees, its result is
// a struct of those that it yields.
type MapPython struct {
	unary
	Func *PythonUDF
	// Barrier asks for all partitions to run at the same time.
	Barrier bool
	Attrs   []*Attribute
}

// NewMapPython maps the rows of in.
func NewMapPython(in Node, f *PythonUDF, barrier bool) *MapPython {
	return &MapPython{unary: over(in), Func: f, Barrier: barrier}
}

// WithChildren replaces the input.
func (n *MapPython) WithChildren(c []Node) Node {
	m := *n
	m.unary = over(c[0])
	return &m
}

// Output is the columns that the function yields.
func (n *MapPython) Output() []*Attribute { return n.Attrs }

// GroupPython turns each group into rows: applyInPandas and applyInArrow. The
// arguments of Func are the columns that it sees, its result is a struct of
// those that it yields.
type GroupPython struct {
	unary
	Keys  []Expr
	Func  *PythonUDF
	Attrs []*Attribute
	// Side tells the rows of a pair of groups apart: 0 for those of the first,
	// whose columns are the First ones of Func's arguments, 1 for those of the
	// second. It is nil for functions of one group.
	Side  Expr
	First int
}

// CogroupPython turns pairs of groups with equal keys into rows: cogroup. Its
// function sees all columns of both relations; analysis makes a GroupPython
// over the rows of both of it.
type CogroupPython struct {
	unresolvedNode
	Left, Right         Node
	LeftKeys, RightKeys []Expr
	Func                *PythonUDF
}

// Children are both relations.
func (n *CogroupPython) Children() []Node { return []Node{n.Left, n.Right} }

// WithChildren replaces both relations.
func (n *CogroupPython) WithChildren(c []Node) Node {
	m := *n
	m.Left, m.Right = c[0], c[1]
	return &m
}

// NewGroupPython maps the groups of in.
func NewGroupPython(in Node, keys []Expr, f *PythonUDF) *GroupPython {
	return &GroupPython{unary: over(in), Keys: keys, Func: f}
}

// WithChildren replaces the input.
func (n *GroupPython) WithChildren(c []Node) Node {
	m := *n
	m.unary = over(c[0])
	return &m
}

// Output is the columns that the function yields.
func (n *GroupPython) Output() []*Attribute { return n.Attrs }

// WithKeywords takes the names off arguments that are passed by name and keeps
// them beside.
func (e *PythonUDF) WithKeywords() *PythonUDF {
	n := *e
	n.Args, n.Keywords = make([]Expr, len(e.Args)), nil
	for i, a := range e.Args {
		named, ok := a.(*NamedArg)
		if !ok {
			n.Args[i] = a
			continue
		}
		n.Args[i] = named.Child
		if n.Keywords == nil {
			n.Keywords = make([]string, len(e.Args))
		}
		n.Keywords[i] = named.Key
	}
	return &n
}

// Keyword is the name that an argument is passed by, "" for none.
func (e *PythonUDF) Keyword(i int) string {
	if e.Keywords == nil {
		return ""
	}
	return e.Keywords[i]
}

// shown is the arguments as a program writes them.
func (e *PythonUDF) shown() []Expr {
	if e.Keywords == nil {
		return e.Args
	}
	out := make([]Expr, len(e.Args))
	for i, a := range e.Args {
		out[i] = a
		if key := e.Keywords[i]; key != "" {
			out[i] = &NamedArg{Key: key, Child: a}
		}
	}
	return out
}
