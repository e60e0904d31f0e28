package peer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/netip"
	"strconv"
)

const (
	maxTable = 256 << 20 // bytes read of one table
	maxLine  = 4 << 10   // bytes; the kernel writes 150
)

// established is TCP_ESTABLISHED as the table prints it.
const established = "01"

// Columns of a line, split at blanks. The two between status and uid are pairs
// joined by colons.
const (
	columnLocal  = 1
	columnRemote = 2
	columnStatus = 3
	columnUID    = 7
	columnInode  = 9
	columns      = 10
)

// findOwner looks for the established socket from local to remote in a table
// with the format of /proc/net/tcp or tcp6. Lines that are not of that format
// are passed over, the heading among them.
func findOwner(table io.Reader, local, remote netip.AddrPort) (uid uint32, found bool, err error) {
	lines := bufio.NewScanner(io.LimitReader(table, maxTable))
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	fields := make([][]byte, 0, columns)
	for lines.Scan() {
		fields = split(fields[:0], lines.Bytes())
		if len(fields) < columns || string(fields[columnStatus]) != established {
			continue
		}
		from, ok := parseEndpoint(fields[columnLocal])
		if !ok || from != local {
			continue
		}
		if to, ok := parseEndpoint(fields[columnRemote]); !ok || to != remote {
			continue
		}
		uid, err := strconv.ParseUint(string(fields[columnUID]), 10, 32)
		if err != nil || string(fields[columnInode]) == "0" {
			continue
		}
		return uint32(uid), true, nil
	}
	return 0, false, lines.Err()
}

// split appends the first columns of a line to fields.
func split(fields [][]byte, line []byte) [][]byte {
	for len(fields) < columns {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 {
			break
		}
		end := bytes.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		fields = append(fields, line[:end])
		line = line[end:]
	}
	return fields
}

// parseEndpoint reads ADDRESS:PORT in hexadecimal. The address is one or four
// 32-bit words in the byte order of the machine.
func parseEndpoint(text []byte) (netip.AddrPort, bool) {
	address, portText, ok := bytes.Cut(text, []byte(":"))
	if !ok || len(portText) != 4 || len(address) != 8 && len(address) != 32 {
		return netip.AddrPort{}, false
	}
	port, err := strconv.ParseUint(string(portText), 16, 16)
	if err != nil {
		return netip.AddrPort{}, false
	}
	var buf [16]byte
	raw := buf[:len(address)/2]
	if _, err := hex.Decode(raw, address); err != nil {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, ok := netip.AddrFromSlice(raw)
	return plain(netip.AddrPortFrom(addr, uint16(port))), ok
}
