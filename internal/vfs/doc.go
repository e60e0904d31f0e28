// Package vfs is the only door to files: every other room reads, writes,
// renames and syncs through an FS.
//
// Five file systems implement FS and pass one conformance suite:
//
//	Local      the disk of this machine
//	Memory     a tree in memory
//	Crashable  a Memory that can lose power after any operation
//	Faulty     any FS with injected errors, short writes and delays
//	Unsynced   any FS without its syncs, for what need not outlive the process
//
// A Resolver turns a path that a user wrote (plain, file:, dbfs:/Volumes,
// /Volumes, a plugged-in scheme) into a Location: an FS and a clean path on it.
//
// Rules, quoted elsewhere by name:
//
//	V1  Paths on an FS are absolute, slash-separated and clean.
//	V2  A file that WriteNew or WriteReplace made is whole or absent, whenever
//	    the machine stops: bytes are synced before the name appears, the
//	    directory is synced before the call returns.
//	V3  WriteNew never replaces: of two writers of one name exactly one wins,
//	    the other gets an error that is fs.ErrExist.
//	V4  Files are made with mode 0600 and directories with 0700.
//	V5  Open never blocks on a FIFO and never returns a device: only regular
//	    files open.
//	V6  Nothing reached through a confined location lies outside its root,
//	    symbolic links included. The check precedes the operation, so a
//	    process that swaps directories at the same moment is not stopped.
//
// Not promised: that a name survives a crash before SyncDir of its directory;
// order between un-synced changes of different directories.
//
// Goroutines: none. A Local admits 16 syncs at a time and makes the others wait.
// Every FS is safe for use by many goroutines; one Reader's Read or one Writer
// belongs to one goroutine at a time, ReadAt to any number.
package vfs
