// Package connector is what sources and sinks are to the engine: the interfaces that they
// implement, what they may ask for, and what they share.
//
// A Format says what a reader or writer of that name can do. A Source is a replayable
// input of a streaming query; a Sink takes batches. What only some of them can do is an
// optional interface beside them (connector.go, gauge.go, dates.go).
//
// The formats stand in packages of their own below: file (Avro, CSV, JSON, Parquet,
// text), deltatable, kafka, statereader; shelf has the small ones and the list of all.
// They share how options and settings are read (option.go, conf.go), the log files of
// sources (logfile.go) and how files are dealt into partitions (parts.go).
//
// test/conform judges every source and every sink by these rules; a new one calls it once.
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
//	C7  A source that knows into how many partitions Spark would cut its rows says
//	    so first (chunk.Partitions); without that, the last one with rows is the last.
//
// Not promised: the order of rows across partitions; that Latest is exact; that
// the rows of files removed since a batch was planned come again.
//
// There are no goroutines here.
package connector
