// Package javaregex matches the regular expressions of Java 17.
//
// A pattern is read in Java's syntax and written anew in the common part of two
// engines: Go's, which is linear, and regexp2, which backtracks. Character
// classes are computed as sets of ranges, so nested ones, intersections and the
// many properties mean the same everywhere. Go's engine is used where it means
// the same for the subject at hand; look-around, back references and atomic
// groups, and $ or \b on the rare subjects where the engines differ, go to
// regexp2 under a time limit.
//
// What Java refuses, Compile refuses. Not supported: canonical equivalence and
// the flags d and U.
//
// A Pattern may be used by several goroutines. There are no files, locks or
// goroutines here; regexp2 keeps a clock of its own while a match with a limit
// runs.
package javaregex
