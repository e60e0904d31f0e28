package peer

import (
	"fmt"
	"net"
	"net/netip"
	"os"
)

// NotFoundError means that no process of this machine that we can see holds the
// other end.
type NotFoundError struct {
	Peer netip.AddrPort
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no user of this machine holds the socket %s", e.Peer)
}

// UnsupportedError means that owners cannot be looked up for this connection or
// on this operating system.
type UnsupportedError struct {
	What string
}

func (e *UnsupportedError) Error() string {
	return "the owner of a socket cannot be looked up for " + e.What
}

// OwnerUID returns the user id that holds the other end of an accepted TCP
// connection. Errors are *NotFoundError, *UnsupportedError, or what reading the
// kernel's table met.
func OwnerUID(conn net.Conn) (uint32, error) {
	theirs, err := endpoint(conn.RemoteAddr())
	if err != nil {
		return 0, err
	}
	ours, err := endpoint(conn.LocalAddr())
	if err != nil {
		return 0, err
	}
	return ownerOf(theirs, ours)
}

// Self is the user id that this process acts as.
func Self() uint32 { return uint32(os.Geteuid()) }

func endpoint(addr net.Addr) (netip.AddrPort, error) {
	switch addr := addr.(type) {
	case *net.TCPAddr:
		return plain(addr.AddrPort()), nil
	case nil:
		return netip.AddrPort{}, &UnsupportedError{"connections without an address"}
	}
	return netip.AddrPort{}, &UnsupportedError{addr.Network() + " connections"}
}

// plain makes addresses comparable: an IPv4 address inside IPv6 is the same
// address, and the zone is not in the kernel's table.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
