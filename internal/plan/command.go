package plan

// command is embedded by nodes that do something instead of yielding rows.
// Session runs them; their result, if any, is local data.
type command struct{ leafNode }

// Output is empty: what a command answers is made when it runs.
func (command) Output() []*Attribute { return nil }

// Command is a node that session executes.
type Command interface {
	Node
	isCommand()
}

func (command) isCommand() {}

// CreateCatalog is CREATE CATALOG.
type CreateCatalog struct {
	command
	Name        string
	IfNotExists bool
	Comment     string
}

// DropCatalog is DROP CATALOG.
type DropCatalog struct {
	command
	Name              string
	IfExists, Cascade bool
}

// CreateSchema is CREATE SCHEMA (or DATABASE, NAMESPACE).
type CreateSchema struct {
	command
	Name        []string
	IfNotExists bool
	Comment     string
	Location    string
	Properties  map[string]string
}

// DropSchema is DROP SCHEMA.
type DropSchema struct {
	command
	Name              []string
	IfExists, Cascade bool
}

// CreateVolume is CREATE VOLUME: a directory under a schema's care.
type CreateVolume struct {
	command
	Name        []string
	IfNotExists bool
	Comment     string
	Location    string // set for CREATE EXTERNAL VOLUME
}

// DropVolume is DROP VOLUME.
type DropVolume struct {
	command
	Name     []string
	IfExists bool
}

// CreateTable is CREATE [OR REPLACE] TABLE, with Query for CREATE TABLE … AS.
type CreateTable struct {
	command
	Name                 []string
	IfNotExists, Replace bool
	// OrCreate goes with Replace: REPLACE TABLE alone needs the table to exist.
	OrCreate   bool
	Schema     Type // empty with Query
	Format     string
	Partitions []string
	Clustering []string
	Location   string
	Comment    string
	Options    Options
	Properties map[string]string
	Query      Node
}

// DropTable is DROP TABLE or DROP VIEW.
type DropTable struct {
	command
	Name     []string
	View     bool
	IfExists bool
}

// CreateView is CREATE VIEW; only temporary ones hold a plan, others its text.
type CreateView struct {
	command
	Name                 []string
	Temporary, Global    bool
	Replace, IfNotExists bool
	Columns              []string
	Comment              string
	Query                Node
	Text                 string
}

// Insert is INSERT INTO or INSERT OVERWRITE.
type Insert struct {
	command
	Table     []string
	Columns   []string // INSERT INTO t (a, b); nil: by position, all columns
	ByName    bool
	Overwrite bool
	Partition []PartitionValue
	Query     Node
	// Replace is the condition of the rows that INSERT INTO … REPLACE WHERE replaces.
	Replace Expr
}

// PartitionValue is one entry of PARTITION (k = v); Value is nil for (k).
type PartitionValue struct {
	Column string
	Value  Expr
}

// Show is one of the SHOW statements that list things.
type Show struct {
	command
	What    ShowKind
	In      []string // the catalog, schema or table it is about; nil: the current one
	Pattern string   // of LIKE, "" for all
	Key     string   // of SHOW TBLPROPERTIES t (key); scope of SHOW FUNCTIONS
}

// ShowKind says what SHOW lists.
type ShowKind uint8

// What SHOW can list.
const (
	ShowCatalogs ShowKind = iota
	ShowSchemas
	ShowTables
	ShowViews
	ShowVolumes
	ShowColumns
	ShowFunctions
	ShowProperties
	ShowPartitions
	ShowCreateTable
	ShowCurrentNamespace
)

// Describe is one of the DESCRIBE statements.
type Describe struct {
	command
	What     DescribeKind
	Name     []string
	Column   []string // DESCRIBE t col
	Extended bool
	Query    Node // of DESCRIBE QUERY
	Limit    int  // of DESCRIBE HISTORY; 0 for all
}

// DescribeKind says what DESCRIBE is about.
type DescribeKind uint8

// What DESCRIBE can be about.
const (
	DescribeTable DescribeKind = iota
	DescribeSchema
	DescribeFunction
	DescribeVolume
	DescribeCatalog
	DescribeQuery
	DescribeHistory
	DescribeDetail
)

// Use is USE [SCHEMA] name or USE CATALOG name.
type Use struct {
	command
	Name    []string
	Catalog bool
}

// Set is SET: all keys, one key, or an assignment. SET -v lists with meanings.
type Set struct {
	command
	Key, Value string
	HasValue   bool
	Verbose    bool
	TimeZone   bool // SET TIME ZONE value
}

// Reset is RESET [key].
type Reset struct {
	command
	Key string
}

// Explain is EXPLAIN [mode] query.
type Explain struct {
	command
	Mode  ExplainMode
	Query Node
}

// ExplainMode is how much EXPLAIN shows.
type ExplainMode uint8

// Modes of EXPLAIN.
const (
	ExplainSimple ExplainMode = iota
	ExplainExtended
	ExplainCodegen
	ExplainCost
	ExplainFormatted
)

// NoOp is a statement that is accepted and changes nothing, such as CACHE
// TABLE or REFRESH TABLE: weir keeps no cache that could be stale.
type NoOp struct {
	command
	Statement string
	Table     []string // must exist when not nil
}

// SaveMode is what a writer does when its target exists.
type SaveMode uint8

// Save modes.
const (
	SaveError SaveMode = iota
	SaveAppend
	SaveOverwrite
	SaveIgnore
)

// Write is df.write…save(), saveAsTable, insertInto and writeTo.
type Write struct {
	command
	Input      Node
	Format     string // "" stands for the catalog's default
	Mode       SaveMode
	Path       string
	Table      []string
	InsertInto bool // by position into an existing table
	Partitions []string
	Options    Options
	Properties map[string]string
	V2         WriteV2
	Statement  bool // INSERT OVERWRITE DIRECTORY
	Condition  Expr // of overwrite(condition)
}

// WriteV2 is the verb of df.writeTo(t); WriteV1 stands for df.write.
type WriteV2 uint8

// Verbs of the second writer.
const (
	WriteV1 WriteV2 = iota
	V2Create
	V2Append
	V2Overwrite
	V2OverwritePartitions
	V2Replace
	V2CreateOrReplace
)

// OutputMode says which rows of a changing result a streaming query writes.
type OutputMode uint8

// Output modes.
const (
	AppendMode OutputMode = iota
	UpdateMode
	CompleteMode
)

var modeNames = [...]string{"Append", "Update", "Complete"}

// String is the mode's name as Spark prints it.
func (m OutputMode) String() string { return modeNames[m] }

// TriggerKind is when a streaming query runs batches.
type TriggerKind uint8

// Kinds of trigger.
const (
	ProcessingTime TriggerKind = iota
	AvailableNow
	Once
	Continuous
	RealTime
)

// StartStream is df.writeStream…start(), and toTable.
type StartStream struct {
	command
	Input      Node
	Format     string
	Options    Options
	Partitions []string
	Clustering []string
	Trigger    TriggerKind
	Interval   string // text of the trigger's interval, "" for back to back
	OutputMode string // as the user wrote it; "" is append
	QueryName  string
	Path       string
	Table      []string
	Foreach    *PythonFunction
	ForeachAll *PythonFunction // foreachBatch
}

// PythonFunction is a pickled callback.
type PythonFunction struct {
	Command       []byte
	PythonVersion string
}

// WithChildren of every command returns it: its queries are not inputs.
func (c *CreateCatalog) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *DropCatalog) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *CreateSchema) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *DropSchema) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *CreateVolume) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *DropVolume) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *CreateTable) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *DropTable) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *CreateView) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Insert) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Show) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Describe) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Use) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Set) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Reset) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Explain) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *NoOp) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Write) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *StartStream) WithChildren([]Node) Node { return c }
