// Package cast is which casts Spark knows and how they are computed. Functions
// that turn text into values and back cast as it does.
package cast
