// Package connector is the shelf of sources and sinks: one or two files for
// each format, one line in formats.go.
//
// A Format says what a reader or writer of that name can do. A Source is a
// replayable input of a streaming query; a Sink takes batches. What only some
// of them can do is an optional interface beside them.
//
// The file formats share everything but their bytes: a fileKind is what tells
// one from another. Which files there are is filelist.go and partition.go, how
// rows come out of them filereader.go, how they get into them filestage.go; the
// logs of Spark's file source and sink are compactlog.go.
//
// conform_test.go judges every source and every sink by these rules; a new one runs it with one call.
//
// Rules:
//
//	C1  Reading one range twice yields the same rows. Recovery rests on it.
//	C2  Latest never goes back.
//	C3  After Advance(upTo) the source may forget everything below upTo.
//	C4  A sink that calls itself idempotent makes each batch id visible once: a
//	    repeated id changes nothing. The others may repeat the last batch.
//	C5  A write that fails or is cut off leaves nothing visible.
//	C6  Files get their final names when all rows are on disk. What an error of
//	    the disk leaves behind is hidden from readers.
//
//	C7  A source that knows into how many partitions Spark would cut its rows says
//	    so first (chunk.Partitions); without that, the last one with rows is the last.
//
// Not promised: the order of rows across partitions; that Latest is exact; that
// the rows of files removed since a batch was planned come again.
//
// What is Kafka's stands in the package kafka below; here are Spark's options,
// offsets, limits and errors.
//
// There are no goroutines here but those of package kafka. A memory sink's Contents may be asked by any.
package connector
