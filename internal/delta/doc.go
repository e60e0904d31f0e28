// Package delta reads and writes Delta tables: a directory of Parquet files and
// a log, _delta_log, whose numbered commits say which of them are the table.
//
// Load replays the log into a Snapshot, Refresh moves one forward. Write turns
// rows into data files that nobody sees yet; Commit makes them part of the
// table, together with whatever else a Change says, as one numbered file.
//
// Rules:
//
//	D1  A commit is one file that is made if absent (vfs.WriteNew). Of two
//	    writers of one version one loses, reads what the other did, and tries
//	    the next version when the two commute.
//	D2  Data files are durable before the commit that names them.
//	D3  A commit with a Txn that the table has already, of that version or a
//	    later one, changes nothing.
//	D4  Features of a table that are not known here are refused by name, for
//	    reading or for writing as the protocol asks.
//	D5  A log with a gap or a damaged line is refused by name.
//	D6  A column is found in a data file by the name or id that the table maps it
//	    to; only readers and writers of files know that name.
//	D7  Rows get into a table with constraints or computed columns only by a Change
//	    that says that they were held against them (Ruled).
//
//	D8  Files go only when nothing can need them: those of a write that certainly
//	    failed, and what vacuum finds (Litter).
//
// Not written: deletion vectors. The log is trimmed by its owner (TrimLog). Files that a crash left are
// invisible and stay until a vacuum.
//
// A Snapshot belongs to one goroutine at a time, a Cache to all: its lock is not held
// while files are read. There are no goroutines here.
package delta
