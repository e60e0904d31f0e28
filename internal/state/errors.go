package state

import "fmt"

// CorruptError is a file of a store that cannot be trusted.
type CorruptError struct {
	File    string
	Version int64 // the version that cannot be read; -1 when that is not known
	Reason  string
}

func (e *CorruptError) Error() string {
	if e.Version < 0 {
		return fmt.Sprintf("the state file %s is damaged: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("the state file %s is damaged at version %d (batch %d): %s",
		e.File, e.Version, e.Version-1, e.Reason)
}

// MissingError is a version that the files of a store do not lead to.
type MissingError struct {
	Dir            string
	Version, Found int64 // asked for; the newest that could be built, -1 for none
}

func (e *MissingError) Error() string {
	if e.Found < 0 {
		return fmt.Sprintf("%s holds no state, but version %d (batch %d) was asked for",
			e.Dir, e.Version, e.Version-1)
	}
	return fmt.Sprintf("the state in %s ends at version %d, but version %d (batch %d) was asked for",
		e.Dir, e.Found, e.Version, e.Version-1)
}

// SchemaError is a store whose tables are not those of the operator.
type SchemaError struct {
	Dir            string
	Table          int  // the first that differs
	Key            bool // its key differs, else its value
	Stored, Wanted []Shape
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("the state in %s has other columns than the query", e.Dir)
}
