// Package file reads and writes files: Avro, CSV, JSON, Parquet and text, whole
// directories at once or as streams.
//
// The formats share everything but their bytes: a kind is what tells one from another.
// Which files there are is list.go and partition.go, how rows come out of them reader.go,
// how they get into them stage.go; source.go and sink.go are streams, compactlog.go their
// logs, which have Spark's layout. Rules C1 to C7 of package connector hold.
//
// Not promised: files that somebody changes after they were listed are read as they are then.
//
// There are no goroutines here.
package file
