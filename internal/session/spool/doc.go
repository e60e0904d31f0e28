// Package spool keeps rows that are read more than once, such as the batch of a foreachBatch or
// the source of a MERGE: in memory as far as a budget allows, else in a file.
//
// A spool that is removed gives back its memory and its file; who still reads the file reads on.
// Files are not synced: nothing of a spool outlives the server.
//
// There are no goroutines here. One goroutine writes a spool, any number read it.
package spool
