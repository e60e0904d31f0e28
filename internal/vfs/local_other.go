//go:build !linux

package vfs

func renameNew(from, to string) error { return linkNew(from, to) }
