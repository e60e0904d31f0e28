// Package eventlog reads the event logs of Apache Spark applications, finished or
// running, and tells a registry what their streaming queries did, so that they are
// watched as weir's own are.
//
// Applications may push the same themselves (push.go).
//
// A log is one file, or a directory of parts that Spark rolls and compacts. decode.go
// takes the compression off, event.go turns lines into what a monitor.Query is told,
// work.go and plan.go find out from executions, jobs and tasks what each operator took for
// a batch, tail.go follows the logs of a directory.
//
// Rules:
//
//	L1  A log is read once, in bounded memory, by another process from where the one before
//	    it was (position.go): lines that are not about streaming queries are passed over,
//	    longer ones than maxLine too.
//	L2  The end of a file of a running application is no end: what comes is waited for.
//	L3  A file that is not the one it was is noticed and read anew.
//	L4  What a log lacks, because its Spark is older or it is damaged, is unknown.
//	    Damage ends the reading of that file with a warning, not that of others.
//
// Goroutines: one for each log that is read, at most readAtOnce that are not at their
// end yet, and one that looks for new logs; Fleet.Close ends them. Locks: that of a log
// is held while a line of it is told to the registry, that of all who push while a body
// is.
package eventlog
