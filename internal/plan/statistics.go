package plan

// The nodes of this file are DataFrame methods of statistics. Analysis replaces each
// by aggregates, generators and filters.

// Statistics are rows of statistics of columns: df.describe and df.summary.
type Statistics struct {
	unary
	unresolvedNode
	Names   []string // which statistics; nil: those of describe or of summary
	Columns []string // nil: all that have any
	Summary bool
}

// NewStatistics describes columns of in.
func NewStatistics(in Node, names, columns []string, summary bool) *Statistics {
	return &Statistics{unary: over(in), Names: names, Columns: columns, Summary: summary}
}

// WithChildren replaces the input.
func (n *Statistics) WithChildren(c []Node) Node {
	return NewStatistics(c[0], n.Names, n.Columns, n.Summary)
}

// PairStatistic is a single number of two columns: df.cov and df.corr.
type PairStatistic struct {
	unary
	unresolvedNode
	Correlation bool
	Columns     [2]string
}

// NewPairStatistic is the covariance, or the correlation, of two columns of in.
func NewPairStatistic(in Node, a, b string, correlation bool) *PairStatistic {
	return &PairStatistic{unary: over(in), Correlation: correlation, Columns: [2]string{a, b}}
}

// WithChildren replaces the input.
func (n *PairStatistic) WithChildren(c []Node) Node {
	return NewPairStatistic(c[0], n.Columns[0], n.Columns[1], n.Correlation)
}

// Quantiles are approximate quantiles of columns, an array for each: df.approxQuantile.
type Quantiles struct {
	unary
	unresolvedNode
	Columns       []string
	Probabilities []float64
	Error         float64 // relative to the number of rows
}

// NewQuantiles asks for quantiles of columns of in.
func NewQuantiles(in Node, columns []string, probabilities []float64, err float64) *Quantiles {
	return &Quantiles{unary: over(in), Columns: columns, Probabilities: probabilities, Error: err}
}

// WithChildren replaces the input.
func (n *Quantiles) WithChildren(c []Node) Node {
	return NewQuantiles(c[0], n.Columns, n.Probabilities, n.Error)
}

// FrequentItems are values of columns that make at least a share of the rows, an array for
// each column: df.freqItems.
type FrequentItems struct {
	unary
	unresolvedNode
	Columns []string
	Support float64
}

// NewFrequentItems asks for frequent values of columns of in.
func NewFrequentItems(in Node, columns []string, support float64) *FrequentItems {
	return &FrequentItems{unary: over(in), Columns: columns, Support: support}
}

// WithChildren replaces the input.
func (n *FrequentItems) WithChildren(c []Node) Node {
	return NewFrequentItems(c[0], n.Columns, n.Support)
}

// CrossTable counts pairs of values, one column's down and the other's across: df.crosstab.
type CrossTable struct {
	unary
	unresolvedNode
	Columns [2]string
}

// NewCrossTable counts pairs of values of two columns of in.
func NewCrossTable(in Node, down, across string) *CrossTable {
	return &CrossTable{unary: over(in), Columns: [2]string{down, across}}
}

// WithChildren replaces the input.
func (n *CrossTable) WithChildren(c []Node) Node {
	return NewCrossTable(c[0], n.Columns[0], n.Columns[1])
}

// Transpose makes a row of each column and a column of each row, named by Index: df.transpose.
type Transpose struct {
	unary
	unresolvedNode
	Index Expr // nil: the first column
}

// NewTranspose transposes in.
func NewTranspose(in Node, index Expr) *Transpose { return &Transpose{unary: over(in), Index: index} }

// WithChildren replaces the input.
func (n *Transpose) WithChildren(c []Node) Node { return NewTranspose(c[0], n.Index) }

// Sample keeps rows by chance: those whose number in [0, 1) lies from Lower to Upper,
// exclusive. A partition draws its numbers from Seed and its own number.
type Sample struct {
	unary
	unresolvedNode
	Lower, Upper float64
	Seed         int64
	// Replace takes each row as often as is drawn, on average Upper - Lower times.
	Replace bool
	// Sorted asks for rows that are sorted within partitions first, so that the parts
	// of a split fit together.
	Sorted bool
	Origin *Origin
}

// NewSample samples in.
func NewSample(in Node, lower, upper float64, seed int64) *Sample {
	return &Sample{unary: over(in), Lower: lower, Upper: upper, Seed: seed}
}

// WithChildren replaces the input.
func (n *Sample) WithChildren(c []Node) Node {
	m := *n
	m.unary = over(c[0])
	return &m
}

// SampleBy keeps rows by chance, of each value of a column as many as is said of it.
type SampleBy struct {
	unary
	unresolvedNode
	Column    Expr
	Strata    []Expr
	Fractions []float64
	Seed      int64
}

// NewSampleBy samples in by the values of a column.
func NewSampleBy(in Node, column Expr, seed int64) *SampleBy {
	return &SampleBy{unary: over(in), Column: column, Seed: seed}
}

// WithChildren replaces the input.
func (n *SampleBy) WithChildren(c []Node) Node {
	m := *n
	m.unary = over(c[0])
	return &m
}

// Unpivot makes a row of each value column: df.unpivot and UNPIVOT.
type Unpivot struct {
	unary
	unresolvedNode
	// Ids stay in every row; nil with Rest: all columns that are no values.
	Ids []Expr
	// Values are the columns of each row that is made, one for each of Names; nil: all
	// columns that are no ids.
	Values   [][]Expr
	Labels   []string // what stands for each of Values, "" for its own name
	Variable string   // the column of the labels
	Names    []string // the columns of the values
	// FromSQL: ids are what is left, and rows of NULLs alone go away unless Nulls.
	FromSQL, Nulls bool
	Origin         *Origin
}

// NewUnpivot turns columns of in into rows.
func NewUnpivot(in Node, variable string, names []string) *Unpivot {
	return &Unpivot{unary: over(in), Variable: variable, Names: names}
}

// WithChildren replaces the input.
func (n *Unpivot) WithChildren(c []Node) Node {
	m := *n
	m.unary = over(c[0])
	return &m
}
