//go:build !linux

package state

// advise does nothing: here nobody can be asked for huge pages.
func advise[T any]([]T, bool) {}
