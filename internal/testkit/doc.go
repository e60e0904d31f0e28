// Package testkit is what the tests of every room share: scripts, golden files,
// diffs, a weir server in a process of its own, and crash matrices. Product
// code never imports it.
//
//	Script, Scripts   cases in a text file: command, input, ----, expectation
//	Golden, Diff      compare with a file or a value, print what differs
//	Need, Python      skip with a reason, or fail where WEIR_CI is set
//	Start, Launch     build cmd/weir once and run it
//	CrashPoints       kill -9 of the server at a named step of a batch
//	CrashDisk         power loss after every file operation, in process
//
// go test ./internal/ROOM -rewrite fills the expectations from what the code
// says. Read the diff before committing it: a wrong answer is written as
// readily as a right one.
//
// Environment:
//
//	WEIR_CI      what is missing fails a test instead of skipping it
//	WEIR_PYTHON  the Python interpreter with PySpark
//	WEIR_BINARY  a weir binary to test instead of building one
//
// The contract of WEIR_CRASH_AT=STEP:N, which cmd/weir honours in every build:
// when the process reaches the step of that name for the N-th time (from 1), it
// sends itself SIGKILL before going on. Nothing is flushed, closed or deferred.
// A step that is never reached changes nothing; a malformed value ends the
// process at start with exit code 2.
//
// Goroutines: one for each Server, which waits for the process and its output;
// the test's cleanup kills the process and waits for it.
package testkit
