// Package analyze turns an unresolved plan into a resolved one: names become
// columns, calls are bound to functions, types are made to agree, sugar is
// rewritten, and what Spark refuses is refused with Spark's condition.
//
// Resolve walks the tree once, from the leaves up. A relation's expressions are
// resolved over its resolved inputs (exprs in column.go and expr.go); names mean
// their output, then columns hidden below it, then names that the same select
// list gave, then columns of the query around. Marks for what is decided later
// (tags of DataFrames, aliases, hidden columns, uses of a list's own names) are
// node types and calls of this package. Then the rewrites of rewrite.go run, in
// order, each once: the first removes the marks, the others leave fewer and
// smaller relations to execution.
//
// What analysis must know about the world (tables, formats, cached frames, the
// session's own functions) it asks through Names, which session implements.
//
// Rules:
//
//	A1  The result satisfies plan.PL2: every node answers Output, every
//	    expression Type and Nullable, and no relation reads a column that its
//	    inputs do not output.
//	A2  Analysis reads no data. It may ask a source for its schema.
//	A3  Column names, nullability and generated names are Spark's, since users
//	    and clients see them. Rewrites keep the output as it was.
//	A4  Streaming legality (CheckStreaming) is decided on the resolved plan and
//	    the output mode alone.
//	A5  A relation that is resolved twice has other column ids each time, so
//	    that self-joins work; scans that one source feeds have equal Source.
//	A6  Aggregates leave here grouping by columns, with these columns first in
//	    their result and named aggregate calls after them.
//	A7  Nesting is bounded by maxDepth; deeper queries are refused by name.
//
// There are no clocks and no goroutines here.
package analyze
