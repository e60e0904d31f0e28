// Package dml is the statements that change rows of Delta tables: DELETE, UPDATE, MERGE and
// OPTIMIZE, the rows that an overwrite by a condition replaces, and the look at every row that a
// new constraint needs.
//
// They share a target (target.go): a table at the version it was read, whose files are pruned by
// the statement's condition, scanned with the place of each row, and written anew (rewrite.go)
// with a fate for each row. One commit makes the change; what another writer did meanwhile is
// held against what the statement read. A Statement is what session lends for that.
//
// Rules:
//
//	D1  A statement is one version of the table or none: files of one that fails are removed.
//	D2  What a statement rests on is in its Reads before it commits.
//	D3  Expressions are computed once for a row; those that change each time are refused.
//
// Not promised: an order of the rows of files that are written anew.
//
// There are no goroutines here.
package dml
