// Package connector is the shelf of sources and sinks: one or two files for
// each format, one line in formats.go.
//
// A Format says what a reader or writer of that name can do. A Source is a
// replayable input of a streaming query; a Sink takes batches. What only some
// of them can do is an optional interface beside them.
//
// Rules:
//
//	C1  Reading one range twice yields the same rows. Recovery rests on it.
//	C2  Latest never goes back.
//	C3  After Advance(upTo) the source may forget everything below upTo.
//	C4  A sink that calls itself idempotent makes each batch id visible once: a
//	    repeated id changes nothing. The others may repeat the last batch.
//	C5  A write that fails or is cut off leaves nothing visible.
//
// Not promised: the order of rows across partitions; that Latest is exact.
package connector
