// Package exec runs resolved plans over chunks.
//
// Build compiles a plan once into a Program: expressions become kernels over
// vectors, nodes become operators. Run executes it over inputs that the caller
// opens: a batch query's relations, or the ranges of one micro-batch. So a
// streaming query compiles once and runs for every batch. Compile and EvalConst
// serve callers that need an expression and no plan.
//
// Rules:
//
//	X1  Every node that reaches Build is resolved (plan.PL2); anything else is a
//	    bug and panics.
//	X2  A Program is immutable; concurrent Runs do not share memory.
//	X3  Conditional functions evaluate a branch only for the rows that take it,
//	    so an error in another branch is never seen.
//	X4  Rows of a chunk belong to one logical partition (Chunk.Part); operators
//	    that keep partitions in Spark keep them here. What Spark shuffles into
//	    few rows ends in partition 0, where adaptive execution would put it.
//	X5  What an operator may buffer is bounded by the run's memory budget; beyond
//	    it the run fails with a named error.
//	X6  A chunk that an operator yields is never written again, so whoever
//	    receives it may keep it.
//	X7  An operator yields only the columns that operators above read; the
//	    Program's root yields the plan's Output.
//
// A run stays on the goroutine that ranges over it; there are no others. exec
// reads no clock and no file.
package exec
