// Package eval computes resolved expressions over chunks.
//
// NewSet compiles the expressions of an operator together: each part becomes a
// step with a kernel of the shelf, parts they share are computed once, parts
// without columns are folded. An Evaluator runs the steps over one chunk after
// the other. Compile, Condition and Const serve callers that have an expression
// and no plan.
//
// Rules:
//
//	EV1  Conditional functions evaluate a branch only for the rows that take it,
//	     so an error in another branch is never seen.
//	EV2  A Set is immutable and serves any number of runs at once; an Evaluator
//	     belongs to one of them and to one goroutine.
//	EV3  What a result holds in rows that were not picked is unspecified but
//	     readable. A result is never written again.
//	EV4  A value that was computed for some rows is not taken for one of all:
//	     values are kept with the scope, the selection of rows, they were made in.
//	EV5  Values of more than a mebibyte count in the budget of the run until the
//	     next chunk.
//
// A lambda is a set of its own, evaluated over chunks whose rows are its calls: the
// columns are what it reads from around it, repeated, and its parameters.
//
// Subqueries are answered by the run (Answers), which knows their plans.
// There are no clocks, files or goroutines here.
package eval
