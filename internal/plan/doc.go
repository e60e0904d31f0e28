// Package plan is the tree of a query: nodes, expressions, types and errors.
//
// Both front doors (Spark Connect protobuf and SQL text) build it, analyze
// resolves it, exec and stream run it. The same node types serve both sides of
// analysis; what differs is which of them may occur:
//
//	PL1  Before analysis a tree may hold unresolved nodes and expressions
//	     (names, stars, functions by name). Asking those for a type panics.
//	PL2  After analysis every node answers Output, every expression answers
//	     Type and Nullable, and columns are Attributes found by ExprID.
//	PL3  Trees are immutable: a rewrite makes new nodes (WithChildren), so a
//	     tree may be shared between goroutines and kept in a view.
//
// Type is the type system of every interface above the kernels: it carries
// what Arrow cannot (char lengths, collations, interval fields, nested
// nullability). Error carries Spark's condition, SQLSTATE and parameters with
// a sentence of our own.
//
// The package reads no clock, touches no file and starts no goroutine.
package plan
