package pyworker

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
)

const (
	// maxTail is how much of a worker's output is kept for errors.
	maxTail = 64 << 10
	// maxLine is how much of a line is kept.
	maxLine = 8 << 10
	// drainAtOnce is how much is read of an output before others have a turn. A call
	// that ended waits for no more: the function may have left a thread that floods.
	drainAtOnce = 1 << 20
)

// A Line is one that a function printed, without what ends it.
type Line struct {
	Error bool // it came from standard error
	Text  string
	Cut   int // how many bytes behind Text are not kept
}

// lines cuts what comes in pieces into lines. Of a line that was written over, as
// progress bars do with carriage returns, the last state is the line.
type lines struct {
	kept     []byte
	cut      int
	begun    bool
	returned bool // the last byte was a carriage return
}

// add passes the lines on that end in b. The text is valid until emit returns.
func (l *lines) add(b []byte, emit func(text []byte, cut int)) {
	for len(b) > 0 {
		n := bytes.IndexAny(b, "\r\n")
		piece := b
		if n >= 0 {
			piece = b[:n]
		}
		l.grow(piece)
		if n < 0 {
			return
		}
		if b[n] == '\n' {
			l.returned = false
			l.begun = true
			l.flush(emit)
		} else {
			l.returned = true
		}
		b = b[n+1:]
	}
}

func (l *lines) grow(piece []byte) {
	if len(piece) == 0 {
		return
	}
	if l.returned {
		l.kept, l.cut, l.returned = l.kept[:0], 0, false
	}
	l.begun = true
	room := min(maxLine-len(l.kept), len(piece))
	l.kept = append(l.kept, piece[:room]...)
	l.cut += len(piece) - room
}

// flush passes on a line that was begun.
func (l *lines) flush(emit func(text []byte, cut int)) {
	if l.begun {
		emit(l.kept, l.cut)
	}
	*l = lines{kept: l.kept[:0]}
}

// output is what a worker prints, on its way to the console of the server, to the
// query it works for and into errors.
type output struct {
	console io.Writer
	outlets []*outlet

	mu   sync.Mutex
	hear func(Line)
	tail []byte // the last maxTail bytes since hear was set
}

// outlet is the reading end of one of the two.
type outlet struct {
	of    *output
	error bool
	pipe  *os.File
	raw   syscall.RawConn

	mu     sync.Mutex // held while it is read, so that bytes stay in order
	buffer []byte
	line   lines
}

// open makes a pipe; the worker gets the other end.
func (o *output) open(isError bool) (theirs *os.File, err error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	raw, err := ours.SyscallConn()
	if err != nil {
		ours.Close()
		theirs.Close()
		return nil, err
	}
	o.outlets = append(o.outlets, &outlet{
		of: o, error: isError, pipe: ours, raw: raw, buffer: make([]byte, 16<<10),
	})
	return theirs, nil
}

// follow reads the outlets until close.
func (o *output) follow() {
	for _, out := range o.outlets {
		go out.follow()
	}
}

// belong says whose the output is from now on; nil is nobody's.
func (o *output) belong(hear func(Line)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hear, o.tail = hear, o.tail[:0]
}

// settle takes in all that was printed so far. A line that was begun ends with it.
func (o *output) settle() {
	for _, out := range o.outlets {
		// A closed pipe has nothing more to say.
		_ = out.raw.Control(func(fd uintptr) { out.drain(int(fd)) })
		out.mu.Lock()
		out.line.flush(out.emit)
		out.mu.Unlock()
	}
}

// close takes the rest in of a worker that is gone.
func (o *output) close() {
	o.settle()
	for _, out := range o.outlets {
		out.pipe.Close()
	}
}

// String is the last maxTail bytes.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.tail)
}

func (out *outlet) follow() {
	for ended := false; !ended; {
		err := out.raw.Read(func(fd uintptr) bool {
			var more bool
			more, ended = out.drain(int(fd))
			return more || ended
		})
		ended = ended || err != nil
	}
}

// drain reads what is there, drainAtOnce at most.
func (out *outlet) drain(fd int) (more, ended bool) {
	out.mu.Lock()
	defer out.mu.Unlock()
	for read := 0; read < drainAtOnce; {
		n, err := syscall.Read(fd, out.buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return false, false
		case err != nil || n <= 0:
			return false, true
		default:
			read += n
			out.take(out.buffer[:n])
		}
	}
	return true, false
}

// take requires mu. It never fails: what a function prints must not end it.
func (out *outlet) take(b []byte) {
	o := out.of
	if o.console != nil {
		_, _ = o.console.Write(b)
	}
	o.mu.Lock()
	o.tail = append(o.tail, b[max(0, len(b)-maxTail):]...)
	if extra := len(o.tail) - maxTail; extra > 0 {
		o.tail = append(o.tail[:0], o.tail[extra:]...)
	}
	o.mu.Unlock()
	out.line.add(b, out.emit)
}

// emit requires mu.
func (out *outlet) emit(text []byte, cut int) {
	out.of.mu.Lock()
	hear := out.of.hear
	out.of.mu.Unlock()
	if hear != nil {
		hear(Line{Error: out.error, Text: string(text), Cut: cut})
	}
}
