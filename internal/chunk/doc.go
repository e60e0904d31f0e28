// Package chunk holds columns of values in memory: the form in which rows
// travel between sources, operators and sinks.
//
// A Vector is one column in Arrow's memory layout (validity bits, little-endian
// values, offsets and bytes, children), typed by plan.Type, so it turns into
// an Arrow array and back without copying. Two things differ: booleans take a
// byte each, because kernels write them that way, and a calendar interval
// keeps microseconds where Arrow has nanoseconds. A Chunk is a few vectors of
// equal length, at most MaxRows. A Sel picks rows of a chunk.
//
// Rules:
//
//	CH1  A vector handed to somebody else is not written any more, except by
//	     its owner's Reset when the receiver was told that it is borrowed.
//	CH2  Valid is nil when no row is NULL; kernels may skip NULL work then.
//	CH3  The values of NULL rows are unspecified but readable (zero when made
//	     here), so kernels may compute on them.
//	CH4  Struct children have their own validity; a NULL struct's children may
//	     hold anything.
//
// A Budget is the memory that a query may hold; operators, functions and state
// take from one.
//
// There are no clocks, files, locks or goroutines here.
package chunk
