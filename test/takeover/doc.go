// Package takeover hands one checkpoint to and fro between weir and Apache
// Spark 4.3: a stateless query over files into Parquet is stopped or killed on
// one engine and goes on on the other.
//
//	make takeover
//
// What must hold after each leg, whoever ran it: the output is that of Spark
// alone, every row once; offsets, commits, the source's log and _spark_metadata
// go on numbering where the other engine stopped; the query keeps its id.
//
// It needs Java 17, takes ten minutes and more, and runs where WEIR_SLOW is set.
package takeover
