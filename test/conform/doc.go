// Package conform judges sources and sinks by the rules of internal/connector: CheckSource
// by C1 to C3, CheckSink by C4 and C5. The test of each connector calls it, and a new one
// does with one call.
//
// Beside that it has what tests of connectors share: an engine whose clock stands still,
// and ways to open formats as queries do.
package conform
