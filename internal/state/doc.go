// Package state keeps what a streaming query remembers between batches: for
// each stateful operator a Store of one or more tables.
//
// A Table maps keys to values, both rows of typed columns. It lives in memory
// as pages of rows without pointers, an index over them (a hash table with open
// addressing) and, where rows expire, an index by time. A row has a number that
// stays the same as long as the row lives; operators look rows up by key and
// then work with numbers.
//
// Rows can also be found by the first columns of their key, and the tables of a
// store may change from run to run (Options.Evolves).
//
// On disk a Store is a chain of files below state/OPERATOR of the checkpoint:
//
//	schema                 the tables' columns
//	VERSION.changes        what each batch after VERSION changed
//	VERSION.snapshot       all rows as they were at VERSION
//
// Version N+1 is the state after batch N; version 0 is empty.
//
// Rules:
//
//	ST1  Commit returns when the version survives a loss of power.
//	ST2  A version is read back exactly or not at all: every frame has a
//	     checksum, and what is damaged or missing is named (CorruptError,
//	     MissingError). A damaged snapshot is passed over for an older one and
//	     reported; damaged changes have no second copy.
//	ST3  Opening at version V makes everything after V void. So a batch that was
//	     cut off after its Commit is simply run again.
//	ST4  Evicting costs what is evicted, not what is kept.
//	ST5  Equal keys have equal bytes: the caller hands over normal keys (one
//	     NaN, no -0.0). Keys without an order of their own, such as maps, are
//	     refused by the caller.
//	ST6  Versions within the retention can be read again, also while the store
//	     is open elsewhere.
//
// A Store and its tables belong to one goroutine. Goroutines: one for each
// Store while it writes a snapshot, of pages that are copied before they are
// changed; Close waits for it. There is no clock here.
package state
