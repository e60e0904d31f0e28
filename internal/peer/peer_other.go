//go:build !linux

package peer

import (
	"net/netip"
	"runtime"
)

func ownerOf(_, _ netip.AddrPort) (uint32, error) {
	return 0, &UnsupportedError{runtime.GOOS}
}
