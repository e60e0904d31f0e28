// Package crash kills weir with SIGKILL, starts it again and has foreign readers
// look at what it wrote: deltalake and DuckDB at a Delta table, pyarrow at the
// output of the file sink.
//
//	every step of a batch   WEIR_CRASH_AT at its first and third time
//	random moments          10 times; 100 times where WEIR_SLOW is set
//
// What must hold: the Delta table has every value of the rate source exactly
// once, and the files that _spark_metadata names have every row of the input
// exactly once.
//
// ingest.py is the client. One process of it serves a whole test run, because
// importing PySpark takes longer than a round; it takes one JSON command from a
// line and answers with one.
package crash
