// Package report carries the numbers of queries to where people collect them: as
// pages that are asked for, and by reporters that send on their own.
//
// OpenMetrics is weir's own page, with labels and base units. Gauges has Spark's
// names for queries that were started with spark.sql.streaming.metricsEnabled; the
// pages and reporters of Spark's metrics system show them. A reporter is a file here
// and a line in kinds, or in ownKinds when Spark has none of its kind.
//
// Rules:
//
//	R1  No batch waits for a reporter, nor one reporter for another: each has a
//	    goroutine, and reads what is known at the moment.
//	R2  What is not known has no sample. It is never 0, but in Spark's gauges,
//	    which say 0 there as Spark's do.
//	R3  A report that cannot be sent is dropped and counted; the next is tried anew.
//	R4  Names come from users: they are escaped, cut at maxLabel, and there are at
//	    most maxQueries of them.
//
// Goroutines: one for each reporter, ended by Reporters.Close.
package report
