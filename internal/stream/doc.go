// Package stream runs streaming queries as micro-batches.
//
// A Manager starts queries and knows the active ones. A Query is the handle of
// one run; its goroutine owns a run, which opens the sources, finds out from
// the checkpoint where to begin (resume.go) and then loops: a trigger
// (trigger.go) asks the sources for their ends, admit.go makes ranges of them,
// batch.go fixes the ranges in offsets/N, executes the plan into the sink and
// writes commits/N. Decisions are pure functions of facts; input and output
// stand around them.
//
// Rules, quoted elsewhere by name:
//
//	Q1  offsets/N is durable before batch N touches a sink. From then on batch
//	    N means those ranges, that timestamp and that watermark, for ever.
//	Q2  commits/N is durable after the sink took batch N, and before offsets/N+1.
//	Q3  A restart runs batch N again when commits/N is missing, else batch N+1.
//	    Batch ids have no gaps.
//	Q4  Source.Advance(end of N-1) follows offsets/N, so nothing is forgotten
//	    that a restart would read.
//	Q5  A checkpoint that cannot be trusted ends the run with an error that
//	    names the file. Nothing is guessed or repaired.
//	Q6  Stop, a failure and a panic end one query and no other. The terminated
//	    event is out before Stop returns.
//	Q7  What a run reads of the session's settings is read at its start;
//	    settings that offsets/N records win over the session's.
//
// Of two runs of one query in this process the later stops the earlier. Across
// processes offsets/N, which is created and never replaced, lets one win.
//
// Not promised: that rows arrive in order; that a batch that ran twice computed
// the same rows when the plan is not deterministic.
//
// Goroutines: one for each active query, ended by Stop, StopAll, the trigger or
// a failure; Query.Done is closed when it is gone. A second one removes old log
// files while a batch runs; the first waits for it before the next offsets/N. A third
// writes the bytes of commits/N beside those of offsets/N, and is waited for at once.
// While queries are active, the manager's sampler looks at them once a second and asks
// their sources what waits in them, at most sampledAtOnce at a time, each for at most
// gaugeLimit; it ends with the last query, and no batch or stop waits for it. Sources of
// runs that ended are asked once a minute (rested.go).
// Go's scheduler is the pool that queries share: one that waits for its trigger,
// its sink or Python holds no thread and delays nobody. What does hold threads,
// syncing files, is bounded for the whole server by vfs.Local. Locks: Manager.mu,
// Query.mu and gauges.mu, held for field access only, never together; gauges.asking
// while sources are asked. Bounds: a query keeps
// one batch in flight, and the logs keep minBatchesToRetain batches.
package stream
