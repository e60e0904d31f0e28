// Package codec turns values and rows into bytes and back.
//
// Five families live here: Java's and Spark's text of single values (numbers,
// dates, timestamps, intervals, datetime patterns, nested values), JSON
// records, CSV, Parquet files, and plain text with the compressions
// they come in; Avro is the package avro below. Everything reads and writes columns of package chunk, typed
// by
// plan.Type.
//
// Rules:
//
//	CO1  Spark decides: a text is read, refused and printed as Spark 4.3 on
//	     Java 17 does, rounding and odd corners included.
//	CO2  Input is hostile: nothing here panics on bytes from outside, nesting
//	     and buffers are bounded, and what cannot be read is said by name.
//	CO3  Append functions write behind dst and return it; they allocate only
//	     to grow it. Decoders allocate per chunk, not per row.
//	CO4  Nothing reads a clock: what depends on the present (a time without a
//	     date) takes it as an argument.
//
// Readers, decoders and Offsets keep scratch memory and belong to one
// goroutine at a time; Pattern is immutable. There are no goroutines, locks or
// files here.
package codec
