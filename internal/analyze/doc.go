// Package analyze turns an unresolved plan into a resolved one: names become
// columns, calls are bound to functions, types are made to agree, sugar is
// rewritten, and what Spark refuses is refused with Spark's condition.
//
// The work is a list of passes over an immutable tree, each a file of its own.
// What analysis must know about the world (tables, formats, cached frames, the
// session's own functions) it asks through Names, which session implements.
//
// Rules:
//
//	A1  The result satisfies plan.PL2: every node answers Output, every
//	    expression Type and Nullable.
//	A2  Analysis reads no data. It may ask a source for its schema.
//	A3  Column names, nullability and generated names are Spark's, since users
//	    and clients see them.
//	A4  Streaming legality (CheckStreaming) is decided on the resolved plan and
//	    the output mode alone.
//
// There are no clocks and no goroutines here.
package analyze
