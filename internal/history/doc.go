// Package history writes what monitor sees of queries into Delta tables,
// system.streaming.*, which any session can read in SQL; docs/history.md lists them.
//
// A Store taps the registry of monitor: a batch leaves a small record in memory and
// goes on. A goroutine turns records into data files, commits once a minute for each
// table, and once a day packs the files of a day together, forgets what is too old or
// too much, and removes what nothing needs.
//
// Rules:
//
//	Y1  No batch waits for the history: its disk may be slow, full or gone. What could
//	    not be kept is counted (Use) and logged when that begins.
//	Y2  Memory is bounded: mostWaiting records, spillAt before they become a file.
//	Y3  A second in which a query had more than singleBatches batches is one row.
//	Y4  Only this room writes the tables; sessions are refused by the file system that
//	    they are given.
//	Y5  Age is that of rows, by their day, never that of files.
//	Y6  What an earlier process has told of a run is not there twice (floor.go): who
//	    reads runs from elsewhere may tell the last minute again after a crash.
//
// Readers have the tables by snapshots of their own (read.go), at most readWithin long.
//
// Not promised: the last minute before a crash. Files that it left are removed with
// the next daily round.
//
// Goroutines: one writer, ended by Close, which writes what waits. Locks: Store.mu,
// which is not held during input or output and never together with a query's.
package history
