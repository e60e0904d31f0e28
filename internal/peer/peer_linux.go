package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
)

func ownerOf(theirs, ours netip.AddrPort) (uint32, error) {
	// An IPv6 socket can carry an IPv4 connection, so both tables may hold it.
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		uid, found, err := ownerIn(table, theirs, ours)
		if err != nil {
			return 0, fmt.Errorf("look up the owner of %s: %w", theirs, err)
		}
		if found {
			return uid, nil
		}
	}
	return 0, &NotFoundError{theirs}
}

func ownerIn(table string, theirs, ours netip.AddrPort) (uint32, bool, error) {
	f, err := os.Open(table)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil // no IPv6 on this machine
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	return findOwner(f, theirs, ours)
}
