package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
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

// closedByPeer tells whether the other end has closed a connection, so that its socket
// has no owner any more.
func closedByPeer(conn net.Conn) bool {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	const established = 1 // of include/net/tcp_states.h
	closed := false
	err = control.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		closed = err == nil && info.State != established
	})
	return err == nil && closed
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
