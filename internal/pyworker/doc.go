// Package pyworker runs the Python functions of users, in processes of its own
// that the user's interpreter runs: weir_worker.py, which is part of the binary.
// Pickles are opened there and nowhere else.
//
// A Host starts workers. A Call is functions and the shape of the rows that they
// take and give; Begin finds an idle worker for it or starts one, and the
// Exchange passes rows in and out until the call ends. Batches is a worker that
// belongs to one query: it holds the function of a foreachBatch.
//
// A worker is reached through a socket that it inherits, so nobody else can. The
// first byte is the version of what follows; see frame.go for the frames. The
// worker asks for rows when it wants some: both sides know at any time whose turn
// it is, and neither has to buffer. The state of functions that keep one stays in
// this process: it goes along with the groups, and comes back changed before the
// next ones (stateful.go).
//
// A pickled stateful processor comes with PySpark's driver of it, which talks to
// the JVM over a socket, a message for every look at a variable. weir takes only
// the processor out of it and gives it a handle of its own with PySpark's
// interface, over state that came along: no message but for big lists and maps,
// and no part of PySpark that differs between its versions.
//
// Rules:
//
//	PY1  Nothing of a user's runs in this process, and no pickle is written
//	     anywhere.
//	PY2  A worker ends when this process does, however that ends: it watches the
//	     end of a pipe. It runs in a process group of its own, which is killed
//	     with it.
//	PY3  A call that ctx ends is interrupted as by Ctrl-C, and killed when it has
//	     not ended after stopGrace. Its worker is not used again.
//	PY4  An exception of the user's is a *plan.Error PYTHON_EXCEPTION whose
//	     traceback shows the user's own frames.
//	PY5  What was printed when a call ends was heard by its Launch.Hear, and nobody
//	     else hears it (output.go).
//
// Not promised: that a worker's modules are fresh; calls of the same interpreter
// and search path share workers, one after the other, as in Spark.
//
// Goroutines: for each worker one that waits for the process and two that read its
// output; they end with the process. Host.Close ends them all.
// Locks: Host.mu, held for field access only; outlet.mu while output is read and
// heard. Bounds: idle workers are kept for idleFor and at most maxIdle of them; of a
// worker's output the last maxTail bytes and of a line maxLine; a frame has at most
// maxFrame bytes.
package pyworker
