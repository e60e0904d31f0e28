// Package kafka is topics as a source and as a sink: Spark's options, offsets, limits and
// errors over package client, which talks to the cluster.
//
// source.go is the stream, read.go how ranges of offsets become rows, ranges.go how they are
// cut, options.go what a user may say; topics.go remembers beside the checkpoint which topics
// are meant. Rules C1 to C7 of package connector hold.
//
// There are no goroutines here but those of client, which a source, a sink and a read close.
package kafka
