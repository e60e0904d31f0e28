// Package agg is the aggregate functions.
//
// An accumulator's Buffers are kept in the state of streaming queries: their
// types and what they mean may not change once released. They are Spark's own
// buffers where those are columns.
package agg
