package plan

// GroupTimeout is when a function is called for a group that gets no rows.
type GroupTimeout uint8

// Timeouts of groups.
const (
	NoTimeout GroupTimeout = iota
	ProcessingTimeTimeout
	EventTimeTimeout
)

var timeoutNames = [...]string{"NoTimeout", "ProcessingTimeTimeout", "EventTimeTimeout"}

// String is the timeout's name as Spark prints it.
func (t GroupTimeout) String() string { return timeoutNames[t] }

// StatePython turns each group into rows, with a state that is kept between
// batches: applyInPandasWithState. The arguments of Func are the columns that it
// sees, its result is a struct of those that it yields.
type StatePython struct {
	unary
	Keys    []Expr
	Func    *PythonUDF
	State   Type       // a struct
	Mode    OutputMode // of the function, not of the query
	Timeout GroupTimeout
	Attrs   []*Attribute
}

// NewStatePython maps the groups of in.
func NewStatePython(in Node, keys []Expr, f *PythonUDF) *StatePython {
	return &StatePython{unary: over(in), Keys: keys, Func: f}
}

// WithChildren replaces the input.
func (n *StatePython) WithChildren(c []Node) Node {
	m := *n
	m.unary = over(c[0])
	return &m
}

// Output is the columns that the function yields.
func (n *StatePython) Output() []*Attribute { return n.Attrs }

// TimeMode is which clock a stateful processor has.
type TimeMode uint8

// Time modes.
const (
	NoTime TimeMode = iota
	ProcessorTime
	EventTime
)

var timeModeNames = [...]string{"NoTime", "ProcessingTime", "EventTime"}

// String is the mode's name as Spark prints it.
func (t TimeMode) String() string { return timeModeNames[t] }

// TransformPython turns each group into rows by a stateful processor, which keeps
// variables of its own for each and has timers: transformWithState. The arguments
// of Func are the columns that it sees, its result is a struct of those that it
// yields.
type TransformPython struct {
	Input   Node
	Initial Node // nil: states begin empty
	Keys    []Expr
	Func    *PythonUDF
	// InitialKeys and InitialArgs are columns of Initial.
	InitialKeys, InitialArgs []Expr
	Mode                     OutputMode
	Time                     TimeMode
	EventColumn              string // of the result, which goes on as event time; "" for none
	Attrs                    []*Attribute
}

// Children are the input and the relation that states begin from.
func (n *TransformPython) Children() []Node {
	if n.Initial == nil {
		return []Node{n.Input}
	}
	return []Node{n.Input, n.Initial}
}

// WithChildren replaces the inputs.
func (n *TransformPython) WithChildren(c []Node) Node {
	m := *n
	m.Input = c[0]
	if n.Initial != nil {
		m.Initial = c[1]
	}
	return &m
}

// Output is the columns that the processor yields.
func (n *TransformPython) Output() []*Attribute { return n.Attrs }

// Exprs are the keys, the function, and what is read of the initial relation.
func (n *TransformPython) Exprs() []Expr {
	list := append(append([]Expr{}, n.Keys...), n.Func)
	return append(append(list, n.InitialKeys...), n.InitialArgs...)
}

// WithExprs replaces what Exprs lists.
func (n *TransformPython) WithExprs(list []Expr) *TransformPython {
	m := *n
	k, i := len(n.Keys), len(n.Keys)+1+len(n.InitialKeys)
	m.Keys, m.Func = list[:k:k], list[k].(*PythonUDF)
	m.InitialKeys, m.InitialArgs = list[k+1:i:i], list[i:]
	return &m
}
