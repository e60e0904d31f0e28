// Package eventlog reads the event logs of Apache Spark applications, finished or
// running, and tells a registry what their streaming queries did, so that they are
// watched as weir's own are.
//
// A log is one file, or a directory of parts that Spark rolls and compacts. decode.go
// takes the compression off, event.go turns lines into what a monitor.Query is told,
// tail.go follows the logs of a directory.
//
// Rules:
//
//	L1  A log is read once from its beginning, in bounded memory: lines that are not
//	    about streaming queries are passed over, longer ones than maxLine too.
//	L2  The end of a file of a running application is no end: what comes is waited for.
//	L3  What a log lacks, because its Spark is older or it is damaged, is unknown.
//	    Damage ends the reading of that file with a warning, not that of others.
//
// Goroutines: one for each log that is read, at most readAtOnce that are not at their
// end yet; Fleet.Close ends them.
package eventlog
