package vfs

import "golang.org/x/sys/unix"

// renameNew renames atomically without replacing. File systems without
// RENAME_NOREPLACE (some network and FUSE mounts) get a hard link instead.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS, unix.ENOTSUP:
		return linkNew(from, to)
	}
	return pathError("rename", to, err)
}
