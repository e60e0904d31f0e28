// Package checkpoints goes on from checkpoints of Apache Spark 4.3.0 and 3.5.9
// (a folder of zoo/ each). A checkpoint of a query without stateful operators is
// continued: NAME.json beside it holds the files that came next, and the
// batches, the progress and the logs of Spark after them. Any other must be
// refused, before the query has read anything, with what it is and the way out.
//
// An archive holds the checkpoint and the files that the query had read. They
// were made below /tmp/weir-zoo, which stands in the log of the source.
package checkpoints
