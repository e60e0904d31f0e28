package plan

// OnDelta is a command that a DeltaTable of the package delta-spark calls: its table
// must be a Delta table, and is refused as that package refuses it when it is none.
type OnDelta struct {
	command
	Table []string // nil: the command makes it
	Then  Command
}

// IsDelta is DeltaTable.isDeltaTable: whether a path is, or lies in, a Delta table.
type IsDelta struct {
	command
	Path string
}

// WithChildren returns the command.
func (c *OnDelta) WithChildren([]Node) Node { return c }

// WithChildren returns the command.
func (c *IsDelta) WithChildren([]Node) Node { return c }
