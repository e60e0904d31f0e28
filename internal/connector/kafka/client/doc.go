// Package client is what weir needs of a Kafka cluster: which partitions there
// are, how far they reach, their records as columns, and a producer.
//
// It knows no source and no sink, no option of Spark's and no checkpoint; those
// are in package kafka above, which turns the facts reported here into Spark's errors.
// It has a package of its own because it is the only part of the connectors with
// goroutines and with a client library.
//
// A Cluster answers questions about topics. A Fetcher reads ranges of
// partitions. Naively a range is a loop of fetch requests from its first offset
// to its last; but a broker always answers with whole record batches, so a
// small range out of a large batch would cost the whole one, time and again.
// So the fetcher keeps what came too early, and goes on reading up to where the
// cluster is known to have records while the engine is busy with the batch
// before. It fetches and decodes by hand rather than with the library's
// consumer, because a range ends at an offset and not at a record: where the
// last records of a range were compacted away, aborted or are markers of
// transactions, only the headers of record batches tell that its end is reached.
//
// Rules:
//
//	K1  Progress is by position. A range is done when the position is past its
//	    end, whether or not a record said so.
//	K2  What a fetcher holds is bounded: Limits.Held, and one answer more for
//	    the partition that is being read.
//	K3  An answer to a request from before a seek is dropped.
//	K4  A partition is a topic's id, not only its name: of a topic that was made
//	    again the fetcher reports ErrRecreated and reads nothing.
//	K5  Nothing is believed of a record batch: lengths, counts and checksums are
//	    checked before memory is taken for them.
//
// Goroutines: one for each broker that a fetcher is reading from, started by
// Read and Ahead, over when there is nothing to fetch; Fetcher.Close ends them
// and waits. The library has its own, which Cluster.Close and Producer.Close end.
// Locks: Fetcher.mu and Cluster.mu, never held over a request.
package client
