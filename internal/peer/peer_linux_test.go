package peer

import (
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// A thread of its own takes another user's id for the time of one dial.
func TestNeighbourIsTold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can open a socket as somebody else")
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const neighbour = 54321
	dialed := make(chan net.Conn, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		syscall.RawSyscall(syscall.SYS_SETFSUID, neighbour, 0, 0)
		client, err := net.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Error(err)
		}
		dialed <- client
	}()
	client := <-dialed
	if client == nil {
		t.FailNow()
	}
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
