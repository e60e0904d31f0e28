// Package oracle holds streaming programs with the traces that Apache Spark
// 4.3.0 left on them, and runs them on weir with the real PySpark client.
//
//	scenarios/   small PySpark programs, a family to a file
//	expected/    their recorded traces; record.sh makes them again on Spark
//	run.py       runs scenarios on any Spark Connect server
//	compare.py   compares two folders of traces, level by level
//	passing.txt  the scenarios that must pass; it may only grow
//	reports.tsv  what people reported in public, with the test that answers it
//
// A scenario passes when rows, errors, progress and checkpoint files are equal,
// except where deviations.json says why not.
package oracle
