package plan

// AlterTable is ALTER TABLE: one change of a table's description.
type AlterTable struct {
	command
	Table  []string
	Change TableChange
}

// TableChange is what ALTER TABLE does; exactly one part of it is set.
type TableChange struct {
	AddColumns    []NewColumn
	DropColumns   [][]string
	IfExists      bool // of DROP COLUMNS, DROP CONSTRAINT and UNSET
	Rename        *ColumnRename
	RenameTo      []string // of the table
	Column        *ColumnChange
	SetProperties []Property
	AddFeature    *string // of DeltaTable.addFeatureSupport
	Unset         []string
	AddConstraint *Constraint
	DropCheck     string  // the name of a constraint
	Comment       *string // of the table
}

// NewColumn is a column of ADD COLUMNS, or a field within one.
type NewColumn struct {
	Path   []string // the last part is its name
	Field  Field
	Place  Placing
	Origin *Origin
}

// Placing says where a column goes: at the end, at the beginning, behind another.
type Placing struct {
	First bool
	After string
}

// IsSet reports whether there is a place.
func (p Placing) IsSet() bool { return p.First || p.After != "" }

// ColumnRename is RENAME COLUMN.
type ColumnRename struct {
	Path   []string
	To     string
	Origin *Origin
}

// ColumnChange is ALTER COLUMN.
type ColumnChange struct {
	Path     []string
	Type     *Type
	Comment  *string
	Nullable *bool // DROP NOT NULL, SET NOT NULL
	Place    Placing
	Default  *string // SET DEFAULT, "" for DROP DEFAULT
	Origin   *Origin
}

// Property is a property of a table with its value, in the order of a statement.
type Property struct{ Key, Value string }

// Constraint is ADD CONSTRAINT name CHECK (condition).
type Constraint struct {
	Name string
	Text string // of the condition
	Cond Expr
}

// Truncate is TRUNCATE TABLE.
type Truncate struct {
	command
	Table     []string
	Partition []PartitionValue
}

// Optimize is OPTIMIZE: the rows of a Delta table in fewer files.
type Optimize struct {
	command
	Table  []string
	Where  []Expr // which all must hold
	ZOrder [][]string
}

// Vacuum is VACUUM: files that no version of a Delta table needs any more go.
type Vacuum struct {
	command
	Table  []string
	Hours  *float64 // RETAIN n HOURS
	DryRun bool
}

// Restore is RESTORE TABLE: an older version becomes the newest.
type Restore struct {
	command
	Table   []string
	Options Options // VersionAsOf or TimestampAsOf
}

// Clone is CREATE TABLE … SHALLOW CLONE.
type Clone struct {
	command
	Name                 []string
	IfNotExists, Replace bool
	Source               []string
	Options              Options // VersionAsOf or TimestampAsOf
	Location             string
	Properties           []Property
}

// WithChildren returns the command.
func (c *AlterTable) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Truncate) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Optimize) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Vacuum) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Restore) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *Clone) WithChildren([]Node) Node { return c }
