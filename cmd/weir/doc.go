// Command weir runs PySpark Structured Streaming programs without a JVM.
//
//	weir serve            answer Spark Connect clients until told to stop
//	weir run app.py       run a program against a server of its own
//	weir sql, inspect     statements; what is in checkpoints and tables
//	weir checkpoint       a checkpoint taken back to an earlier batch
//	weir version          print the version
//
// Each command is a file; main.go lists them. The command only wires: flags to
// options, rooms to each other, signals to a graceful end.
//
// Goroutines: those of the two listeners, ended by server.stop, and those that
// wait for signals.
package main
