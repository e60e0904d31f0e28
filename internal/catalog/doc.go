// Package catalog keeps the names that outlive a session: catalogs, schemas,
// tables, views and volumes, on disk below the server's data directory.
//
// Every object is a small JSON document; docs/format/catalog.md shows them. The
// whole catalog is read when it is opened and kept in memory: one server owns
// the directory, so memory is never behind the disk.
//
// Rules:
//
//	K1  An object exists exactly when its document does; documents are written
//	    whole (vfs.WriteNew, vfs.WriteReplace). Data of a managed table is made
//	    before the document and removed after it.
//	K2  A drop first marks the document, then removes data, then the document.
//	    Open finishes drops that a crash cut off, so a name can be used again.
//	K3  Names are kept in lower case, as Spark's session catalog does, and are
//	    escaped in file names: no name can leave its directory.
//	K4  Dropping an external table or volume never touches its files.
//	K5  A rename writes the new document with the old one's name, removes the old one,
//	    then that mark. The rows stay in their directory.
//	K6  Places below the data directory are written as seen from there: a copy of the
//	    directory is whole by itself and touches nothing of the original.
//
// Locks: Store.mu guards the maps; it is held while a document is written, so
// changes are serialized. There are no clocks and no goroutines.
package catalog
