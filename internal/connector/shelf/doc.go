// Package shelf is the list of all formats, and those that need no package of their own:
// console, memory and noop, the rate sources and the socket source.
//
// Rules C1 to C7 of package connector hold, except for the socket source, which cannot
// read a range again after a restart.
//
// There are no goroutines here but one for each socket source, which Close ends. A memory
// sink's Contents may be asked by any.
package shelf
