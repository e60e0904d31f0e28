package pyworker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
)

// version is the first byte of a connection; the worker's greeting repeats it.
const version = 1

// Kinds of frame. A frame is a length of four bytes, big endian, which counts
// what follows it; a kind; and a payload.
const (
	frameCall   = 'J' // a call, or the greeting: JSON
	framePickle = 'B' // a function of the call before it
	frameRows   = 'A' // an Arrow stream of one batch
	frameNeed   = 'N' // the worker wants a group of rows
	frameGroup  = 'G' // the group is whole; of functions with state, JSON of what it was
	frameEnd    = 'Z' // there are no more groups
	frameDone   = 'D' // the call has ended
	frameError  = 'E' // the call has failed: JSON

	// Of functions with state.
	frameChanges = 'S' // the number of a table and an Arrow stream of changes to it
	frameAsk     = 'Q' // the worker asks about its state: JSON
)

// maxFrame bounds what one frame may hold.
const maxFrame = 1 << 30

// channel is one end of the connection.
type channel struct {
	conn net.Conn
	in   *bufio.Reader
}

func newChannel(conn net.Conn) *channel {
	return &channel{conn: conn, in: bufio.NewReaderSize(conn, 1<<16)}
}

// send writes a frame.
func (c *channel) send(kind byte, payload []byte) error {
	if len(payload) >= maxFrame {
		return fmt.Errorf("%d bytes for Python at once, %d are possible", len(payload), maxFrame)
	}
	head := binary.BigEndian.AppendUint32(make([]byte, 0, 5), uint32(len(payload)+1))
	frame := net.Buffers{append(head, kind), payload}
	_, err := frame.WriteTo(c.conn)
	return err
}

func (c *channel) sendJSON(kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.send(kind, text)
}

// receive reads a frame. The payload is the caller's to keep.
func (c *channel) receive() (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 1 || size > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes from Python", size)
	}
	payload = make([]byte, size-1)
	_, err = io.ReadFull(c.in, payload)
	return head[4], payload, err
}
