package monitor

import (
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// OutputLines and OutputBytes bound what an Output keeps, the bytes counted as text.
const (
	OutputLines = 1000
	OutputBytes = 256 << 10
)

// An OutputLine is one that a function of a query printed.
type OutputLine struct {
	At    time.Time
	Batch int64 // that ran then, or ran last; -1 before the first
	Error bool  // from standard error
	Text  string
	Cut   int // how many bytes behind Text are not kept
}

// An Output keeps the newest of what the functions of a run print. Whoever starts a
// run makes one, and lets the functions print before the run is registered: the first
// words may be those of its start. Any goroutine may call it.
type Output struct {
	mu    sync.Mutex
	batch int64
	ring  []OutputLine // the oldest first, from next on when it is full
	next  int
	bytes int
	count int64 // of all lines
	kept  int
}

// NewOutput has no lines.
func NewOutput() *Output { return &Output{batch: -1} }

// Hear takes a line in. It does not wait for anybody.
func (o *Output) Hear(l OutputLine) {
	l.Text = legible(l.Text)
	o.mu.Lock()
	defer o.mu.Unlock()
	l.Batch = o.batch
	o.count++
	for o.kept > 0 && (o.kept == OutputLines || o.bytes+len(l.Text) > OutputBytes) {
		oldest := o.at(0)
		o.bytes -= len(oldest.Text)
		*oldest = OutputLine{}
		o.next, o.kept = o.next+1, o.kept-1
	}
	o.bytes, o.kept = o.bytes+len(l.Text), o.kept+1
	if i := o.next + o.kept - 1; i == len(o.ring) && i < OutputLines {
		o.ring = append(o.ring, l)
		return
	}
	*o.at(o.kept - 1) = l
}

// at requires mu. It is the place of a line that is kept.
func (o *Output) at(i int) *OutputLine { return &o.ring[(o.next+i)%len(o.ring)] }

// begin says that a batch runs from now on.
func (o *Output) begin(batch int64) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.batch = batch
}

// Since is the lines behind the first so many, oldest first, as far as they are kept;
// count is how many there were in all and dropped how many of those are not kept.
func (o *Output) Since(seen int64) (lines []OutputLine, count, dropped int64) {
	if o == nil {
		return nil, 0, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	dropped = o.count - int64(o.kept)
	for i := max(0, seen-dropped); i < int64(o.kept); i++ {
		lines = append(lines, *o.at(int(i)))
	}
	return lines, o.count, dropped
}

// Output is what the run's functions printed; nil when it has none that could.
func (q *Query) Output() *Output { return q.run.Output }

// legible is text as a page or a terminal may show it: without the sequences that
// steer terminals, and with the sign of what cannot be read for other bytes.
func legible(text string) string {
	if plainText(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] == escape {
			i += steering(text[i:])
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == '\t' || !unicode.IsControl(r) {
			b.WriteRune(r)
		} else {
			b.WriteRune(utf8.RuneError)
		}
		i += n
	}
	return b.String()
}

func plainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

const escape = 0x1b

// steering is how long the sequence is that text begins with: a control sequence up to
// its last byte, a string up to what ends it, anything else with the byte behind it.
func steering(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if c := text[i]; c < ' ' || c > '?' {
				if c < '@' || c > '~' {
					return i // cut off by what is no part of one
				}
				return i + 1
			}
		}
		return len(text)
	case ']', 'P', 'X', '^', '_':
		if i := strings.IndexAny(text[2:], "\a\x1b"); i >= 0 {
			end := 2 + i + 1
			if text[end-1] == escape && end < len(text) && text[end] == '\\' {
				end++
			}
			return end
		}
		return len(text)
	default:
		_, n := utf8.DecodeRuneInString(text[1:])
		return 1 + n
	}
}
