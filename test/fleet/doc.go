// Package fleet holds weir fleet against Apache Spark: the same streaming queries as their
// event log has them and as a listener pushes them (examples/push_progress.py), before and
// after a restart. It needs Java and a Python with all of pyspark.
package fleet
