// Package session is what a client talks to behind the protocol: settings,
// current names, temporary views and streaming queries of one user, and the
// engine that all sessions of a server share.
//
// An Engine owns the data directory: the lock on it, the catalog, the registry
// of runs, the manager of streaming queries. A Session analyses plans, runs
// batch queries lazily, executes commands (cmd_*.go, one family a file, joined
// by the list in command.go) and starts streams. Below it, settings has the keys of the
// configuration, dml the statements that change rows of Delta tables, spool the rows of
// a batch that are read more than once, artifact what a client uploads.
//
// Rules:
//
//	S1  Names are resolved when a statement is analysed, against the session
//	    as it is then; a stored view keeps the analysed plan of its query.
//	S2  A table exists exactly when its catalog document does. Rows of a new
//	    managed table are written before the document; a directory that a crash
//	    left without one is emptied before the name is used again.
//	S3  A query sees one instant, one time zone and one set of settings, those
//	    of its start.
//	S4  No lock is held while a query runs, a connector is asked or a file is
//	    touched, except the catalog's own.
//	S5  Releasing a session stops its streaming queries and ends its bus, unless
//	    weir.session.onRelease is detach; its files are gone when it returns.
//	S6  Python code comes back into a copy of the session, through the Door; the
//	    copy ends with the query. Rows of a batch that the function still reads
//	    are gone when it returns.
//
// Goroutines: one for each streaming query, which notes its end and ends with
// it; the queries' own belong to stream. Locks: Engine.mu (sessions, global
// views, names in the making), Session.mu (names, views, frames), queryList.mu,
// Conf.mu, Artifacts.mu; held for field access only, never two together.
//
// Bounds: ended queries are kept for an hour after their last use and at most
// maxEnded of them; artifacts of a session hold at most maxArtifactBytes.
package session
