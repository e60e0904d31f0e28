// Package weir is the public door of weir: Structured Streaming in one Go binary.
//
// There is no Go interface yet. Programs reach weir through Spark Connect (a PySpark client) and the
// command in cmd/weir. When the Go interface comes it will live here, and it will build nothing but
// Spark Connect messages, so that a program cannot tell weir from Apache Spark: that is why this package
// stands below the engine and may not import it.
//
// The tests of this package hold the rules of the house: direction_test.go is the diagram of which room
// may import which, tidy_test.go the limits of docs/STYLE.md.
//
// Goroutines: none.
package weir
