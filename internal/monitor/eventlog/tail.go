package eventlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/vfs"
)

const (
	// pollEvery is how often directories and the ends of files are looked at.
	pollEvery = time.Second
	// readAtOnce is how many logs are read at a time before they are at their ends.
	readAtOnce = 2
	// maxLogs is how many logs of a directory are followed, the newest ones.
	maxLogs = 2000
)

// Fleet follows the event logs of directories.
type Fleet struct {
	registry *monitor.Registry
	files    vfs.FS
	log      *slog.Logger
	slots    chan struct{}
	cancel   context.CancelFunc
	running  sync.WaitGroup
	pushed   pushed

	known map[string]bool // logs that were begun, by path without suffixes; of watch alone

	mu        sync.Mutex
	logs      map[string]*follower
	positions map[string]Position // of an earlier process, until they were used
}

// Options say what is followed.
type Options struct {
	Registry *monitor.Registry
	Files    vfs.FS
	Dirs     []string
	Log      *slog.Logger
	// Positions are those of an earlier process (Fleet.Positions): what it had read is
	// not read again.
	Positions map[string]Position
}

// Follow begins to follow the logs that are in directories, and those that will be.
func Follow(o Options) (*Fleet, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Fleet{
		registry: o.Registry, files: o.Files, log: o.Log, slots: make(chan struct{}, readAtOnce), cancel: cancel,
		known: map[string]bool{}, logs: map[string]*follower{}, positions: o.Positions,
		pushed: pushed{apps: map[string]*pushedApp{}},
	}
	for _, dir := range o.Dirs {
		if err := f.look(ctx, dir); err != nil {
			f.Close()
			return nil, fmt.Errorf("event logs: %w", err)
		}
	}
	f.running.Go(func() { f.watch(ctx, o.Dirs) })
	return f, nil
}

// Close ends the reading of every log.
func (f *Fleet) Close() {
	f.cancel()
	f.running.Wait()
}

// watch looks for new logs.
func (f *Fleet) watch(ctx context.Context, dirs []string) {
	failing := map[string]bool{}
	for wait(ctx) {
		f.sample(time.Now())
		for _, dir := range dirs {
			err := f.look(ctx, dir)
			if err != nil && !failing[dir] {
				f.log.Warn("event logs cannot be looked for", "dir", dir, "err", err)
			}
			failing[dir] = err != nil
		}
	}
}

// wait lets pollEvery pass; false when ctx has ended.
func wait(ctx context.Context) bool {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const rollingPrefix = "eventlog_v2_"

// look begins the logs of a directory that are new.
func (f *Fleet) look(ctx context.Context, dir string) error {
	infos, err := f.files.List(dir)
	if err != nil {
		return err
	}
	slices.SortFunc(infos, func(a, b vfs.Info) int { return b.ModTime.Compare(a.ModTime) })
	var others []string
	for _, info := range infos[:min(len(infos), maxLogs)] {
		name := strings.TrimSuffix(info.Name, ".inprogress")
		if strings.HasPrefix(name, ".") || f.known[path.Join(dir, name)] {
			continue
		}
		source := logFiles{files: f.files, path: path.Join(dir, name),
			rolling: strings.HasPrefix(name, rollingPrefix)}
		if source.rolling != info.IsDir() {
			continue
		}
		f.known[source.path] = true
		if !source.rolling && !isLog(f.files, path.Join(dir, info.Name)) {
			others = append(others, info.Name)
			continue
		}
		one := f.begin(source)
		if one.at.Done && one.unchanged() {
			continue
		}
		f.running.Go(func() { f.follow(ctx, one) })
	}
	if n := len(others); n > 0 {
		f.log.Info("files that are no event logs of Spark are passed over", "dir", dir, "files", n,
			"example", others[n-1])
	}
	return nil
}

// begin makes the follower of a log, where an earlier process was if one was.
func (f *Fleet) begin(source logFiles) *follower {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := &follower{logFiles: source, at: f.positions[source.path]}
	delete(f.positions, source.path)
	f.logs[source.path] = one
	return one
}

// follow reads one log to its end, again from its beginning whenever it turns out to be
// another one than it was.
func (f *Fleet) follow(ctx context.Context, one *follower) {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	var once sync.Once
	release := func() { once.Do(func() { <-f.slots }) }
	defer release()
	id := strings.TrimPrefix(path.Base(one.path), rollingPrefix)
	id, _, _ = strings.Cut(id, ".")
	for {
		one.restart(f.registry, f.log, id)
		atEnd := func() {
			release()
			one.sample(time.Now())
		}
		err := one.read(ctx, atEnd, one.line)
		if errors.Is(err, errReplaced) {
			f.log.Warn("an event log is another one than before; it is read anew", "log", one.path, "err", err)
			one.forget()
			continue
		}
		if err != nil && ctx.Err() == nil {
			f.log.Warn("an event log was read up to a damage", "log", one.path, "err", err)
		}
		if ctx.Err() == nil {
			one.done()
		}
		break
	}
	if one.app.damaged > 0 {
		f.log.Warn("an event log has lines that cannot be read", "log", one.path, "lines", one.app.damaged)
	}
}

// sample judges the queries that run.
func (a *application) sample(now time.Time) {
	for _, q := range a.runs {
		q.Sample(now, nil)
	}
}

// logFiles are the files of one log.
type logFiles struct {
	files   vfs.FS
	path    string // without .inprogress
	rolling bool   // it is a directory
	place   place  // behind the last line that was visited
}

// read visits every line behind place, part by part, until the application has ended.
// atEnd is called whenever there is nothing new.
func (l *logFiles) read(ctx context.Context, atEnd func(), visit func([]byte)) error {
	if !l.rolling {
		l.place.Part = path.Base(l.path)
		return l.readFile(ctx, l.path, func() bool { return l.there(l.path) }, atEnd, visit)
	}
	for resumed := l.place.Part != ""; ; resumed = false {
		name, n, err := l.place.Part, l.place.Index, error(nil)
		if resumed && !l.there(path.Join(l.path, name)) {
			l.place = place{} // Spark has compacted it: what is left is read from its beginning
			resumed = false
		}
		if !resumed {
			name, n, err = l.part(l.place.Index)
		}
		if err != nil {
			return err
		}
		if name == "" {
			if !l.inProgress() {
				return nil
			}
			atEnd()
			if !wait(ctx) {
				return ctx.Err()
			}
			continue
		}
		if !resumed {
			l.place = place{Part: name, Index: n}
		}
		over := func() bool {
			next, _, err := l.part(n)
			return err != nil || next != "" || !l.inProgress()
		}
		if err := l.readFile(ctx, path.Join(l.path, name), over, atEnd, visit); err != nil {
			return err
		}
	}
}

func (l *logFiles) there(file string) bool {
	_, err := l.files.Stat(file)
	return err == nil
}

// inProgress tells whether the application of a rolling log runs. Spark makes the directory
// first, then what tells how the application does: without that it has just begun.
func (l *logFiles) inProgress() bool {
	infos, err := l.files.List(l.path)
	if err != nil {
		return false
	}
	ended := slices.ContainsFunc(infos, func(i vfs.Info) bool {
		return strings.HasPrefix(i.Name, "appstatus_") && !strings.HasSuffix(i.Name, ".inprogress")
	})
	return !ended
}

// part is the first part behind an index; behind 0 it is the newest compacted one, if
// there is one. "" when there is none yet.
func (l *logFiles) part(after int64) (name string, index int64, err error) {
	infos, err := l.files.List(l.path)
	if err != nil {
		return "", 0, err
	}
	for _, info := range infos {
		n, ok := partIndex(info.Name)
		compacted := strings.HasSuffix(info.Name, ".compact")
		switch {
		case !ok || n <= after:
		case after == 0 && compacted && (!strings.HasSuffix(name, ".compact") || n > index),
			name == "",
			!strings.HasSuffix(name, ".compact") && !compacted && n < index:
			name, index = info.Name, n
		}
	}
	return name, index, nil
}

// partIndex is the number in events_INDEX_app.codec.
func partIndex(name string) (int64, bool) {
	rest, ok := strings.CutPrefix(name, "events_")
	number, _, ok2 := strings.Cut(rest, "_")
	n, err := strconv.ParseInt(number, 10, 64)
	return n, ok && ok2 && err == nil && n > 0
}

// open opens a file, which may have its name of a running application.
func (l *logFiles) open(file string) (vfs.Reader, error) {
	opened, err := l.files.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		opened, err = l.files.Open(file + ".inprogress")
	}
	return opened, err
}

// readFile visits the lines of a file behind place until it is over.
func (l *logFiles) readFile(
	ctx context.Context, file string, over func() bool, atEnd func(), visit func([]byte),
) error {
	opened, err := l.open(file)
	if err != nil {
		return err
	}
	defer opened.Close()
	if err := l.place.check(opened); err != nil {
		return err
	}
	g := &growing{ctx: ctx, in: opened, over: over, atEnd: atEnd, opened: opened}
	g.named = func() (vfs.Info, error) {
		info, err := l.files.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			info, err = l.files.Stat(file + ".inprogress")
		}
		return info, err
	}
	in, done, err := decoder(file, g)
	if err != nil {
		return err
	}
	defer done()
	if err := l.place.skip(in, opened, g); err != nil {
		return err
	}
	err = lines(in, func(line []byte, n int64) {
		l.place.Offset += n
		if line != nil {
			visit(line)
		}
	})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // a crash cuts the last frame off
	}
	return err
}

// growing reads a file whose end is no end before it is over.
type growing struct {
	ctx    context.Context
	in     io.Reader
	over   func() bool
	atEnd  func()
	last   bool // it is over: what is there now is all
	opened vfs.Reader
	named  func() (vfs.Info, error) // the file of the name, which may be another by now
	read   int64                    // bytes
	odd    int                      // how often in turn it looked like another file
}

func (g *growing) Read(p []byte) (int, error) {
	for {
		n, err := g.in.Read(p)
		if n > 0 {
			g.read += int64(n)
			return n, nil
		}
		if !errors.Is(err, io.EOF) {
			return 0, err
		}
		if g.last {
			return 0, io.EOF
		}
		if g.over() {
			g.last = true // something may have come between the look and this
			continue
		}
		if err := g.same(); err != nil {
			return 0, err
		}
		g.atEnd()
		if !wait(g.ctx) {
			return 0, g.ctx.Err()
		}
	}
}

// oddLooks is how often in turn a name has to lead to another file than the one that is
// read until that is believed: between two looks it may be written and renamed.
const oddLooks = 3

// same finds out that the file was cut off or that its name leads to another one.
func (g *growing) same() error {
	have, err := g.opened.Stat()
	if err != nil {
		return err
	}
	if have.Size < g.read {
		return fmt.Errorf("%w: it has %d bytes, and %d were read", errReplaced, have.Size, g.read)
	}
	named, err := g.named()
	if err != nil || named.Size == have.Size && named.ModTime.Equal(have.ModTime) {
		g.odd = 0
		return nil
	}
	if g.odd++; g.odd < oddLooks {
		return nil
	}
	return fmt.Errorf("%w: another file has its name", errReplaced)
}
