// Package delta runs programs of the real PySpark client over Delta tables.
//
//	cases_*.py    programs: streams into tables, streams from tables, statements that change tables and others,
//	              calls of the DeltaTable of delta-spark (cases_api.py)
//	readers.py    writes a table of every feature and has other engines read each version; run by hand
//	expected/     what Apache Spark 4.2.0 with Delta 4.4.0 did; no Delta is made for
//	              Spark 4.3 yet
//	passing.txt   the programs that trace as recorded
//
// The programs run in the harness of test/kafka.
package delta
