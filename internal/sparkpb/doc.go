// Package sparkpb holds the generated Go bindings of the Spark Connect interface, version 4.3.0.
//
// Nothing here is written by hand but this file: `make generate` makes the rest from the descriptor set
// in tools/sparkpb, and a test there fails when the two differ. The messages are the wire; they are
// decoded once, in sparkconnect, and only that room and the root package may import this one.
//
// Goroutines: none.
package sparkpb
