// Package function is the shelf of SQL functions: what each accepts, what it
// returns and how it is computed over vectors.
//
// A family of functions is a package below this one: agg, collections, numbers,
// operators, text, times, variants. Each has one list, Defs, joined in shelf.go; within
// it, related functions are one file with a list of Defs. All are written in
// the vocabulary of fn, and families know each other only where one is written
// with the other's kernels (text and times round as numbers does). What belongs
// to no family (hashes, random numbers, the session's own) stands here. Other
// rooms import this package only.
//
// The kernels of higher-order functions are here too; they are handed their
// lambdas as functions over vectors (Apply).
//
// Analysis asks a Def to bind a call: the Def checks the number and types of
// arguments, puts in the implicit casts that Spark puts in, and says the
// result's type and nullability. Execution asks for the kernel of a bound call.
// Operators (+, and, in, like, when) are functions too.
//
// Rules:
//
//	F1  Binding decides everything that depends on types and on the session's
//	    settings; a kernel only computes.
//	F2  A kernel writes each row picked by sel, and raises errors for those rows
//	    only. What it leaves in other rows is never looked at.
//	F3  A kernel may be called again after it returned; the vector it returned
//	    stays its caller's.
//	F4  Every Def has examples, and they are executed with expected values that
//	    come from Spark.
//	F5  A family finds another's functions by name, through its Binding; it does
//	    not import this package.
//
// The only time of day here is Env.Now, which the caller fixes for a batch.
// There are no files, locks or goroutines.
package function
