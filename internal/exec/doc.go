// Package exec runs resolved plans over chunks.
//
// Build compiles a plan once into a Program: nodes become operators, their
// expressions sets of package eval, their keys forms of package rowkey. Run
// executes it over inputs that the caller opens: a batch query's relations, or
// the ranges of one micro-batch. So a streaming query compiles once and runs for
// every batch.
//
// Rules:
//
//	X1  Every node that reaches Build is resolved (plan.PL2); anything else is a
//	    bug and panics.
//	X2  A Program is immutable; concurrent Runs do not share memory.
//	X3  Rows of a chunk belong to one logical partition (Chunk.Part); operators
//	    that keep partitions in Spark keep them here. What Spark shuffles into
//	    few rows ends in partition 0, where adaptive execution would put it, but
//	    in streams with state, where there is none: there rows lie by the hash of
//	    their keys, as far as whoever takes them can see it (placement.go).
//	X4  What operators buffer is taken from the budget of the environment; beyond
//	    it the run fails with a named error. What a run still holds when it ends
//	    is given back.
//	X5  A chunk that an operator yields is never written again, so whoever
//	    receives it may keep it.
//	X6  An operator yields only the columns that operators above read; the
//	    Program's root yields the plan's Output.
//
// Python functions are taken out of expressions while a plan is compiled
// (python.go): each becomes a column of an operator below, which hands batches of
// rows to a worker of Run.Python and joins the results to their rows.
//
// A run stays on the goroutine that ranges over it; there are no others. exec
// reads no clock and no file.
package exec
