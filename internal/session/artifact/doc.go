// Package artifact keeps the files that a client sends for its session: Python
// modules, other files, jars and blobs of data.
//
// Names lead nowhere but into the session's own directory; the same bytes may come
// twice, others under the name are refused, and all files of a session together are
// bounded (maxBytes).
//
// Store.mu is held for field access only. There are no clocks and no goroutines.
package artifact
