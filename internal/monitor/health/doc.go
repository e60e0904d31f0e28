// Package health judges streaming queries by what their sources and their commits
// say: how fast rows arrive, how many wait and for how long, whether that gets
// better, and why not.
//
// A Watch belongs to one query. It is told where the sources stand (Observe),
// when batches begin, move and commit (Begin, Move, Commit), and answers with an
// Assessment: the signals, a verdict, and the cause in a sentence. It never reads
// a query's own rates: with a read limit those say how much a batch took, not how
// much arrived, and stay healthy while the backlog grows for ever.
//
// Rules, quoted elsewhere by name:
//
//	H1  What is not known is NaN, or the zero time, and never 0.
//	H2  The arrival rate comes from where sources stand, over time, not over batches.
//	H3  A verdict of "behind" needs a backlog that grows by more than 3 % of what
//	    arrives and is older than the shortest lag that counts, for a minute.
//	H4  In the first window after a start a verdict about lag needs batches that are
//	    measured to be slower than rows arrive, the running one included; until three
//	    were in time the query is starting. None of a query that ends by itself.
//	H5  When a source goes back, or the clock does, rates begin anew.
//
// Bounds: a Watch keeps at most KeptBatches batches and a few series of cells
// points, whatever the rate of batches.
//
// Clock: every instant is passed in. Goroutines and locks: none; a Watch belongs
// to whoever holds it.
package health
