// Package weir is the public door of weir: Structured Streaming in one Go binary.
//
// Programs reach weir through Spark Connect (a PySpark client) and the command in cmd/weir. Of a Go
// interface there is what `weir sql` needs: a Session runs statements on any Spark Connect server and a
// Frame gives their rows as text. It builds nothing but Spark Connect messages, so that it cannot tell weir
// from Apache Spark: that is why this package stands below the engine and may not import it.
//
// The tests of this package hold the rules of the house: direction_test.go is the diagram of which room
// may import which, tidy_test.go the limits of docs/STYLE.md.
//
// Goroutines: none.
package weir
