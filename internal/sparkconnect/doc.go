// Package sparkconnect is the Spark Connect server: it speaks the protobuf
// protocol of PySpark 4.x, decodes plans into package plan, and hands them to
// session.
//
// A call arrives in rpc_*.go; relations, expressions, commands and catalog
// calls are decoded in rel_*.go, expr_*.go, cmd_*.go and catalog.go, one short
// function a message, joined by the explicit lists in decode.go. Executions are
// operations (operation.go): a producer appends responses to a log and one
// stream at a time sends from it, so that a broken connection costs nothing.
//
// Rules:
//
//	P1  An operation runs at most once, whatever happens to its streams.
//	P2  A response that was sent can be had again until it is released or more
//	    than retryBytes newer ones were sent.
//	P3  Every error leaves with a Java class from which the client makes its
//	    exception; a panic leaves as INTERNAL_ERROR and ends the operation only.
//	P4  What a client sends and weir does not know is refused by name. An
//	    unknown field of a known message is counted and logged once by path.
//	P5  No lock of a session is held while an operation runs: a client's other
//	    threads, and callbacks of the operation itself, may always call.
//
// Goroutines: one producer for each operation, ended by Server.Close at the
// latest; one janitor for idle sessions and abandoned operations; one that serves
// the port for Python code, ended by Server.Close; those of the gRPC servers.
package sparkconnect
