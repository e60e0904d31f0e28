// Package decimal is Spark's arithmetic on decimals: 128-bit integers at a scale
// that stands in the type.
//
// An operation works on 128 and 256 bits where it stays within them and goes
// over to big integers where an intermediate does not; the result is the same.
// Results are rounded half up to the scale of the operation's type, and a result
// of more digits than the type has is reported, never cut.
//
// There are no files, locks or goroutines here.
package decimal
