package peer

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-dev/weir/internal/testkit"
)

const neighbour = 54321

// dialAs opens a connection as another user.
func dialAs(t *testing.T, uid uintptr, address string) net.Conn {
	t.Helper()
	dialed := make(chan net.Conn, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0)
		client, err := net.Dial("tcp4", address)
		if err != nil {
			t.Error(err)
		}
		dialed <- client
	}()
	client := <-dialed
	if client == nil {
		t.FailNow()
	}
	return client
}

func TestOwnAdmitsThisUserAndRefusesNeighbours(t *testing.T) {
	testkit.Need(t, os.Geteuid() == 0, "root, who can open a socket as somebody else")
	inner, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	var log bytes.Buffer
	listener := Own(inner, slog.New(slog.NewTextHandler(&log, nil)))
	foreign := dialAs(t, neighbour, inner.Addr().String())
	defer foreign.Close()
	mine, err := net.Dial("tcp4", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, want := conn.RemoteAddr().String(), mine.LocalAddr().String(); got != want {
		t.Errorf("admitted %s, want %s", got, want)
	}
	if n, err := foreign.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("the neighbour's connection is still open")
	}
	if !strings.Contains(log.String(), "uid=54321") {
		t.Errorf("the log does not name the neighbour: %s", log.String())
	}
}

// A thread of its own takes another user's id for the time of one dial.
func TestNeighbourIsTold(t *testing.T) {
	testkit.Need(t, os.Geteuid() == 0, "root, who can open a socket as somebody else")
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client := dialAs(t, neighbour, listener.Addr().String())
	defer client.Close()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if uid, err := OwnerUID(conn); uid != neighbour || err != nil {
		t.Errorf("got %d, %v, want %d", uid, err, neighbour)
	}
}

// Programs that only look whether somebody listens are no intruders.
func TestAConnectionThatHasEndedIsNoAlarm(t *testing.T) {
	inner, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	var log bytes.Buffer
	listener := Own(inner, slog.New(slog.NewTextHandler(&log, nil)))
	for _, leaves := range []bool{true, false} {
		c, err := net.Dial("tcp4", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if leaves {
			c.Close()
		}
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if log.Len() > 0 {
		t.Errorf("the log warns: %s", log.String())
	}
}
