package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

const heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt" +
	"   uid  timeout inode\n"

// line is one socket; the words of the addresses are little-endian, as a
// machine of that order prints them.
func line(local, remote, status, uid, inode string) string {
	return "   7: " + local + " " + remote + " " + status + " 00000000:00000000 00:00000000 00000000 " +
		uid + "        0 " + inode + " 1 0000000000000000 20 4 30 10 -1\n"
}

func TestFindOwner(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the tables below are of a little-endian machine")
	}
	const (
		v4client = "0100007F:C350"                         // 127.0.0.1:50000
		v4server = "0100007F:3A9A"                         // 127.0.0.1:15002
		mapped   = "0000000000000000FFFF00000100007F:C350" // ::ffff:127.0.0.1
		mappedTo = "0000000000000000FFFF00000100007F:3A9A" //
		v6client = "00000000000000000000000001000000:C350" // [::1]:50000
		v6server = "00000000000000000000000001000000:3A9A" //
		global   = "B80D0120000000000000000078563412:C350" // 2001:db8::1234:5678
		globalTo = "B80D0120000000000000000078563412:3A9A" //
	)
	v4 := [2]string{"127.0.0.1:50000", "127.0.0.1:15002"}
	v6 := [2]string{"[::1]:50000", "[::1]:15002"}
	cases := []struct {
		name  string
		table string
		ends  [2]string
		uid   uint32
		found bool
	}{
		{"empty", "", v4, 0, false},
		{"heading only", heading, v4, 0, false},
		{"IPv4", heading + line(v4client, v4server, "01", "1000", "123"), v4, 1000, true},
		{"no heading", line(v4client, v4server, "01", "1000", "123"), v4, 1000, true},
		{"our own end is not the peer", line(v4server, v4client, "01", "5", "123"), v4, 0, false},
		{"both ends listed", line(v4server, v4client, "01", "5", "1") + line(v4client, v4server, "01", "6", "2"),
			v4, 6, true},
		{"another connection of the port", line(v4client, "0100007F:0050", "01", "5", "1"), v4, 0, false},
		{"IPv4 over an IPv6 socket", line(mapped, mappedTo, "01", "1001", "9"), v4, 1001, true},
		{"IPv6", line(v6client, v6server, "01", "1002", "9"), v6, 1002, true},
		{"IPv6 of many words", line(global, globalTo, "01", "7", "9"),
			[2]string{"[2001:db8::1234:5678]:50000", "[2001:db8::1234:5678]:15002"}, 7, true},
		{"closing socket", line(v4client, v4server, "06", "0", "0"), v4, 0, false},
		{"nobody holds it", line(v4client, v4server, "01", "0", "0"), v4, 0, false},
		{"largest uid", line(v4client, v4server, "01", "4294967295", "1"), v4, 1<<32 - 1, true},
		{"malformed uid, then a good line", line(v4client, v4server, "01", "-1", "1") +
			line(v4client, v4server, "01", "4294967296", "1") + line(v4client, v4server, "01", "3", "1"),
			v4, 3, true},
		{"malformed lines", "\n \n1:\n7: zz:zz yy 01\n" + line("0100007F", v4server, "01", "1", "1") +
			line("0100007F:C35", v4server, "01", "1", "1") + line("0100007G:C350", v4server, "01", "1", "1") +
			line("01007F:C350", v4server, "01", "1", "1") + line(v4client, "x:y", "01", "1", "1") +
			line("0100007F:+350", v4server, "01", "1", "1") + "\x00\xff\n", v4, 0, false},
		{"no newline at the end", strings.TrimSpace(line(v4client, v4server, "01", "4", "1")), v4, 4, true},
		{"cut line", line(v4client, v4server, "01", "4", "1")[:75], v4, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			local, remote := netip.MustParseAddrPort(c.ends[0]), netip.MustParseAddrPort(c.ends[1])
			uid, found, err := findOwner(strings.NewReader(c.table), local, remote)
			if uid != c.uid || found != c.found || err != nil {
				t.Errorf("got %d, %t, %v, want %d, %t", uid, found, err, c.uid, c.found)
			}
		})
	}
}

func TestOverlongLineIsAnError(t *testing.T) {
	ends := netip.MustParseAddrPort("127.0.0.1:1")
	table := strings.NewReader(strings.Repeat("x", 1<<20))
	if _, found, err := findOwner(table, ends, ends); found || err == nil {
		t.Errorf("got %t, %v, want an error", found, err)
	}
}

func FuzzFindOwner(f *testing.F) {
	f.Add(heading + line("0100007F:C350", "0100007F:3A9A", "01", "1000", "123"))
	ends := netip.MustParseAddrPort("127.0.0.1:50000")
	f.Fuzz(func(t *testing.T, table string) {
		_, found, _ := findOwner(strings.NewReader(table), ends, ends)
		if found && !strings.Contains(strings.ToUpper(table), "C350") {
			t.Errorf("found an owner in %q", table)
		}
	})
}

// connect returns the server's end of a connection to address.
func connect(t *testing.T, network, address, dialNetwork string) net.Conn {
	t.Helper()
	listener, err := net.Listen(network, address)
	testkit.Need(t, err == nil, fmt.Sprintf("the address %s to listen on: %v", address, err))
	t.Cleanup(func() { listener.Close() })
	client, err := net.Dial(dialNetwork, listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestOwnerOfALoopbackConnection(t *testing.T) {
	for _, c := range [][3]string{
		{"tcp4", "127.0.0.1:0", "tcp"}, {"tcp6", "[::1]:0", "tcp"}, {"tcp", "localhost:0", "tcp"},
	} {
		t.Run(c[0], func(t *testing.T) {
			uid, err := OwnerUID(connect(t, c[0], c[1], c[2]))
			if runtime.GOOS != "linux" {
				if !errors.As(err, new(*UnsupportedError)) {
					t.Fatalf("got %v, want an unsupported system", err)
				}
				return
			}
			if err != nil || uid != Self() {
				t.Errorf("got %d, %v, want %d", uid, err, os.Geteuid())
			}
		})
	}
}

func TestGonePeerIsNotFound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("owners are looked up on Linux only")
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client.Close()
	if uid, err := OwnerUID(conn); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("got %d, %v, want none", uid, err)
	}
}

func TestOtherNetworksAreUnsupported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if _, err := OwnerUID(connect(t, "unix", path, "unix")); !errors.As(err, new(*UnsupportedError)) {
		t.Errorf("unix socket: %v", err)
	}
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	if _, err := OwnerUID(pipe); !errors.As(err, new(*UnsupportedError)) {
		t.Errorf("pipe: %v", err)
	}
}
