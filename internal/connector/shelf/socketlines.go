package shelf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// socketRoom is how many bytes of lines wait at most; then the connection is not read
// until a batch took some, and the server has to wait. No line may be longer.
const socketRoom = 64 << 20

// socketShare is how much memory is taken at a time.
const socketShare = 1 << 20

// size is what a line needs of memory: its bytes, and their place and time.
func (l socketLine) size() int64 { return int64(len(l.text)) + 24 }

// listen takes in lines until the connection ends.
func (s *socketSource) listen(conn net.Conn) {
	in := lineScanner{in: bufio.NewReader(conn), most: s.room}
	for {
		line, err := in.next()
		if err == nil {
			err = s.put(line)
		}
		if err == nil {
			continue
		}
		s.mu.Lock()
		if !s.closed {
			s.end(err)
		}
		s.mu.Unlock()
		return
	}
}

// end notes why there are no more lines. That the server closes the connection, or
// breaks it off, ends no query, as in Spark.
func (s *socketSource) end(err error) {
	var ours *plan.Error
	switch {
	case errors.Is(err, io.EOF):
		s.env.Warnf("the server %s closed the connection: the socket source has no more lines", s.address())
	case errors.As(err, &ours):
		s.stopped = err
	default:
		s.env.Warnf("the connection to %s broke off: the socket source has no more lines: %v", s.address(), err)
	}
}

// put adds a line, waiting for room.
func (s *socketSource) put(line []byte) error {
	l := socketLine{text: string(codec.Text(line)), at: s.env.Now().UnixMilli() * 1000}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes > 0 && s.bytes+l.size() > int64(s.room) && !s.closed {
		s.roomy.Wait()
	}
	if s.closed {
		return net.ErrClosed
	}
	if more := s.bytes + l.size() - s.taken; more > 0 {
		more = (more + socketShare - 1) / socketShare * socketShare
		if err := s.memory.Take("lines of a socket that wait", more); err != nil {
			return err
		}
		s.taken += more
	}
	s.lines = append(s.lines, l)
	s.bytes += l.size()
	return nil
}

// lineScanner finds lines as Java's BufferedReader: \n, \r and \r\n end one, and each is
// there as soon as its end has come.
type lineScanner struct {
	in   *bufio.Reader
	line []byte
	cr   bool // the byte before was \r
	most int  // bytes of a line
}

// next is the next line, until it is called again. The last one needs no end.
func (l *lineScanner) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		b, err := l.in.ReadByte()
		if err == io.EOF && len(l.line) > 0 {
			return l.line, nil
		}
		if err != nil {
			return nil, err
		}
		after := l.cr
		l.cr = b == '\r'
		switch {
		case b == '\n' && after:
		case b == '\n' || b == '\r':
			return l.line, nil
		case len(l.line) == l.most:
			return nil, &plan.Error{Class: plan.ClassSpark, Msg: fmt.Sprintf(
				"A line of a socket is longer than %d bytes, and has no end yet.", l.most)}
		default:
			l.line = append(l.line, b)
		}
	}
}

// socketGauge counts the lines that came and were not committed.
type socketGauge struct{ s *socketSource }

// Gauge counts lines.
func (s *socketSource) Gauge() connector.Gauge { return socketGauge{s} }

// Backlog is what waits in memory; what the server holds back nobody knows.
func (g socketGauge) Backlog(_ context.Context, committed connector.Offset) (connector.Backlog, error) {
	done, err := lineNumber(committed)
	if err != nil {
		return connector.Unmeasured(), err
	}
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	b := connector.Unmeasured()
	b.Rows, b.ReadRows = float64(max(0, g.s.newest()-done)), float64(done+1)
	if i := done + 1 - g.s.first; i >= 0 && i < int64(len(g.s.lines)) {
		b.Oldest = time.UnixMicro(g.s.lines[i].at)
	}
	return b, nil
}
