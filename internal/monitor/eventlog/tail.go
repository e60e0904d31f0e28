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

	known map[string]bool // logs that were begun, by path without suffixes
}

// Follow begins to follow the logs that are in directories, and those that will be.
func Follow(r *monitor.Registry, files vfs.FS, dirs []string, log *slog.Logger) (*Fleet, error) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Fleet{
		registry: r, files: files, log: log, slots: make(chan struct{}, readAtOnce), cancel: cancel,
		known: map[string]bool{},
	}
	for _, dir := range dirs {
		if err := f.look(ctx, dir); err != nil {
			f.Close()
			return nil, fmt.Errorf("event logs: %w", err)
		}
	}
	f.running.Go(func() { f.watch(ctx, dirs) })
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
	for _, info := range infos[:min(len(infos), maxLogs)] {
		name := strings.TrimSuffix(info.Name, ".inprogress")
		if strings.HasPrefix(name, ".") || f.known[path.Join(dir, name)] {
			continue
		}
		source := logFiles{f.files, path.Join(dir, name), strings.HasPrefix(name, rollingPrefix)}
		if source.rolling != info.IsDir() {
			continue
		}
		f.known[path.Join(dir, name)] = true
		f.running.Go(func() { f.follow(ctx, source) })
	}
	return nil
}

// follow reads one log to its end.
func (f *Fleet) follow(ctx context.Context, from logFiles) {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	var once sync.Once
	release := func() { once.Do(func() { <-f.slots }) }
	defer release()
	id := strings.TrimPrefix(path.Base(from.path), rollingPrefix)
	id, _, _ = strings.Cut(id, ".")
	app := newApplication(f.registry, f.log, id)
	atEnd := func() {
		release()
		app.sample(time.Now())
	}
	if err := from.read(ctx, atEnd, app.line); err != nil && ctx.Err() == nil {
		f.log.Warn("an event log was read up to a damage", "log", from.path, "err", err)
	}
	if app.damaged > 0 {
		f.log.Warn("an event log has lines that cannot be read", "log", from.path, "lines", app.damaged)
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
}

// read visits every line, part by part, until the application has ended. atEnd is
// called whenever there is nothing new.
func (l logFiles) read(ctx context.Context, atEnd func(), visit func([]byte)) error {
	if !l.rolling {
		return l.readFile(ctx, l.path, func() bool { return l.there(l.path) }, atEnd, visit)
	}
	index := int64(0)
	for {
		name, n, err := l.part(index)
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
		index = n
		over := func() bool {
			next, _, err := l.part(n)
			return err != nil || next != "" || !l.inProgress()
		}
		if err := l.readFile(ctx, path.Join(l.path, name), over, atEnd, visit); err != nil {
			return err
		}
	}
}

func (l logFiles) there(file string) bool {
	_, err := l.files.Stat(file)
	return err == nil
}

// inProgress tells whether the application of a rolling log runs.
func (l logFiles) inProgress() bool {
	infos, err := l.files.List(l.path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(infos, func(i vfs.Info) bool {
		return strings.HasPrefix(i.Name, "appstatus_") && strings.HasSuffix(i.Name, ".inprogress")
	})
}

// part is the first part behind an index; behind 0 it is the newest compacted one, if
// there is one. "" when there is none yet.
func (l logFiles) part(after int64) (name string, index int64, err error) {
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

// readFile visits the lines of a file until it is over.
func (l logFiles) readFile(
	ctx context.Context, file string, over func() bool, atEnd func(), visit func([]byte),
) error {
	opened, err := l.files.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		opened, err = l.files.Open(file + ".inprogress")
	}
	if err != nil {
		return err
	}
	defer opened.Close()
	in, done, err := decoder(file, &growing{ctx: ctx, in: opened, over: over, atEnd: atEnd})
	if err != nil {
		return err
	}
	defer done()
	err = lines(in, visit)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // a crash cuts the last frame off
	}
	return err
}

// growing reads a file whose end is no end before it is over.
type growing struct {
	ctx   context.Context
	in    io.Reader
	over  func() bool
	atEnd func()
	last  bool // it is over: what is there now is all
}

func (g *growing) Read(p []byte) (int, error) {
	for {
		n, err := g.in.Read(p)
		if n > 0 {
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
		g.atEnd()
		if !wait(g.ctx) {
			return 0, g.ctx.Err()
		}
	}
}
