// Package deltatable is Delta tables as a source, as a sink and as what statements write:
// Spark's options, offsets, limits and errors over package delta, which knows the log and
// the files.
//
// format.go has reads and writes of a whole table; source.go the stream of a table, whose
// offsets name a version and a file in it, schemas.go the log of its columns; feed.go the
// changes of rows; files.go what UPDATE, DELETE and MERGE find, read and commit; rules.go what
// a table asks of rows. Rules C1 to C7 of package connector hold.
//
// There are no goroutines here.
package deltatable
