// Package crash kills weir with SIGKILL, starts it again and has foreign readers
// look at what it wrote: deltalake and DuckDB at Delta tables, pyarrow at the
// output of the file sink.
//
//	every step of a batch   WEIR_CRASH_AT in stateless and stateful queries; each
//	                        step once, with every program and sink among them.
//	                        Where WEIR_SLOW is set each step in each program, in
//	                        the first batch and in a later one
//	every pair              rate, files, Kafka and Delta into files, Delta, Kafka,
//	                        Kafka in transactions and foreachBatch: seven of them,
//	                        where WEIR_SLOW is set all of them at every step
//	in foreachBatch         the function kills the server before, between and
//	                        after its writes
//	random moments          3 times with all queries at once; 500 times where
//	                        WEIR_SLOW is set
//
// What must hold: the Delta table has every value of the rate source exactly
// once, and the files that _spark_metadata names have every row of the input
// exactly once. Stateful queries (windows in append and update mode, chained
// windows, totals in complete mode, duplicates, a left outer join, windows by Python
// functions with timeouts and with variables and timers) have written
// what plain Python computes from the input files, each row once; a function of
// foreachBatch that saw a batch again saw the same id and rows; and their state is
// that of a query that nobody disturbed.
//
// A pair's rows are all there, once, but in plain Kafka: there the rows of the batch
// that was cut off may be there twice. Its Kafka is a broker in the test's process.
//
// ingest.py is the client, matrix.py the pairs, stateful.py its stateful programs with their answers.
// One process serves a whole test, because importing PySpark takes longer than a
// round; it takes one JSON command from a line and answers with one.
package crash
