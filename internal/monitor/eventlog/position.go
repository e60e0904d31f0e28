package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"path"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/vfs"
)

// errReplaced says that a file is not the one that was read before.
var errReplaced = errors.New("it was truncated or replaced")

// headBytes is by how many of its first bytes a file is known again.
const headBytes = 1024

// place is where the reading of a log is: behind the first Offset bytes of a part,
// without its compression.
type place struct {
	Part   string `json:"part,omitempty"`  // name of the file
	Index  int64  `json:"index,omitempty"` // its number in a rolling log
	Offset int64  `json:"offset,omitempty"`
	// Size and Head are those of the file when the place was noted: its bytes, and a hash
	// of the first of them. "" is one that was not looked at.
	Size int64  `json:"size,omitempty"`
	Head string `json:"head,omitempty"`
}

// A Position is how far a log was read, and what is known of its application then: with
// it another process goes on.
type Position struct {
	place
	Done bool     `json:"done,omitempty"` // the application has ended, or its log is damaged
	App  stateful `json:"app"`
}

// stateful is what an application is remembered by.
type stateful struct {
	Name    string    `json:"name,omitempty"`
	Version string    `json:"version,omitempty"`
	Last    time.Time `json:"last,omitzero"`
	// Settings are those of Spark, which its log tells at its beginning.
	Settings map[string]string `json:"settings,omitempty"`
	Runs     []rememberedRun   `json:"runs,omitempty"`
}

// rememberedRun is a run that had not ended.
type rememberedRun struct {
	ID        string             `json:"id"`
	RunID     string             `json:"runId"`
	Name      string             `json:"name,omitempty"`
	StartedAt time.Time          `json:"startedAt"`
	First     map[string]float64 `json:"first,omitempty"`
	Read      float64            `json:"read,omitempty"`
	Batch     int64              `json:"batch"`
	Plan      string             `json:"plan,omitempty"`
	Settings  []monitor.Setting  `json:"settings,omitempty"`
}

// head is the hash of up to n first bytes of a file.
func head(file io.ReaderAt, n int64) (string, error) {
	data := make([]byte, min(n, headBytes))
	if _, err := io.ReadFull(io.NewSectionReader(file, 0, int64(len(data))), data); err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// follower follows one log.
type follower struct {
	logFiles

	mu  sync.Mutex // of what follows, so that a position is that of one moment
	at  Position
	app *application
}

// restart makes the application anew, or as it was at the position.
func (f *follower) restart(r *monitor.Registry, log *slog.Logger, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.place = f.at.place
	f.app = newApplication(r, log, id)
	f.app.restore(&f.at.App)
}

// forget says that the log is another one: its queries are over, as far as anybody knows.
func (f *follower) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = Position{}
	f.app.endAll("its event log was truncated or replaced")
}

func (f *follower) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at.Done = true
}

func (f *follower) line(data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.app.line(data)
	f.at.place = f.place
}

func (f *follower) sample(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at.place = f.place // what was passed over needs no second look
	f.app.sample(now)
}

// position is where the follower is. A log that was not begun is where it was.
func (f *follower) position() Position {
	f.mu.Lock()
	at := f.at
	if f.app != nil {
		at.App = f.app.remembered()
	}
	f.mu.Unlock()
	if at.Part == "" {
		return at
	}
	opened, err := f.open(f.file(at.Part))
	if err != nil {
		return at // it is looked at anew when it is there
	}
	defer opened.Close()
	if info, err := opened.Stat(); err == nil {
		at.Size = info.Size
		at.Head, _ = head(opened, info.Size)
	}
	return at
}

func (f *follower) file(part string) string {
	if f.rolling {
		return path.Join(f.path, part)
	}
	return f.path
}

// unchanged tells whether a log that was read to its end is the one that is there.
func (f *follower) unchanged() bool {
	opened, err := f.open(f.file(f.at.Part))
	if err != nil {
		return f.rolling && f.at.Part != "" // compacted away
	}
	defer opened.Close()
	info, err := opened.Stat()
	return err == nil && info.Size == f.at.Size && f.at.check(opened) == nil
}

// check finds out that a file is not the one of the place.
func (p *place) check(file io.ReaderAt) error {
	if p.Head == "" {
		return nil
	}
	now, err := head(file, p.Size)
	if err != nil || now != p.Head {
		return fmt.Errorf("%w: it begins otherwise", errReplaced)
	}
	return nil
}

// skip goes to the place in a file: what is compressed has to be read for it.
func (p *place) skip(in io.Reader, opened vfs.Reader, g *growing) error {
	if p.Offset == 0 {
		return nil
	}
	info, err := opened.Stat()
	if err != nil {
		return err
	}
	if in == io.Reader(g) {
		if info.Size < p.Offset {
			return fmt.Errorf("%w: it has %d bytes, and %d were read", errReplaced, info.Size, p.Offset)
		}
		g.in, g.read = io.NewSectionReader(opened, p.Offset, math.MaxInt64-p.Offset), p.Offset
		return nil
	}
	// Nothing is waited for here: what was read once is there.
	until := g.over
	g.over = func() bool { return true }
	_, err = io.CopyN(io.Discard, in, p.Offset)
	g.over, g.last = until, false
	if err != nil {
		return fmt.Errorf("%w: it ends before what was read: %w", errReplaced, err)
	}
	return nil
}

// Positions are where the logs are, by their paths: what lies before them was told to the
// registry.
func (f *Fleet) Positions() map[string]Position {
	f.mu.Lock()
	logs := maps.Clone(f.logs)
	f.mu.Unlock()
	out := make(map[string]Position, len(logs))
	for name, one := range logs {
		out[name] = one.position()
	}
	return out
}
