package connector

import (
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
)

// DeltaReplacement is what an overwrite replaces instead of the whole table: the rows
// for which a condition is true. Session found them.
type DeltaReplacement struct {
	Text     string // the condition as the user wrote it
	Snapshot *delta.Snapshot
	Reads    *delta.Reads
	Removes  []*delta.Add
	Kept     delta.Rewritten // the other rows of files that are removed
	// Copied and Deleted count rows.
	Copied, Deleted int64
	// Holds picks the new rows for which the condition is true: all of them must be.
	Holds func(*chunk.Chunk) (chunk.Sel, error)
}
