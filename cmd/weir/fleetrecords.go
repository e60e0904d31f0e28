package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/eventlog"
	"github.com/weir-dev/weir/internal/session"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/vfs"
)

const (
	// fleetLock keeps two fleets out of one directory; weir sql reads it meanwhile.
	fleetLock = "fleet.lock"
	// positionsFile is how far each log was read when the history was committed last.
	positionsFile = "positions.json"
	// positionsVersion is that of its format.
	positionsVersion = 1
)

// fleetRecords are what a fleet keeps: the history of queries, and how far logs were read
// when it was committed. Without a history nothing is kept, and logs are read anew.
type fleetRecords struct {
	dir       string
	log       *slog.Logger
	keep      time.Duration
	bytes     int64
	lock      io.Closer
	history   *history.Store
	positions map[string]eventlog.Position // of the process before

	mu    sync.Mutex
	logs  *eventlog.Fleet // nil until it reads
	saved []byte          // what is in the file
	wrong bool            // it could not be written
}

// fleetConfs are the settings of a fleet.
func fleetConfs(list []string) (map[string]string, error) {
	confs, err := parseConfs("", list)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(confs)) {
		known := key == metricsFileKey
		for _, prefix := range []string{"weir.history.", "weir.metrics.", "spark.metrics.conf."} {
			known = known || strings.HasPrefix(key, prefix)
		}
		if !known {
			return nil, fmt.Errorf("--conf %s: a fleet has the settings weir.history.…, weir.metrics.… and "+
				"spark.metrics.conf alone", key)
		}
	}
	return confs, settings.CheckConfs(confs)
}

// openRecords takes the directory and reads the positions.
func openRecords(dir string, confs map[string]string, log *slog.Logger) (*fleetRecords, error) {
	r := &fleetRecords{dir: dir, log: log}
	var err error
	if r.bytes, err = session.NumberOf(confs, "weir.history.maxBytes"); err != nil || r.bytes == 0 {
		return r, err
	}
	ms, err := session.NumberOf(confs, "weir.history.retention")
	if err != nil {
		return nil, err
	}
	r.keep = time.Duration(ms) * time.Millisecond
	files := vfs.NewLocal()
	if err := files.MkdirAll(dir); err != nil {
		return nil, err
	}
	r.lock, err = files.Lock(filepath.Join(dir, fleetLock))
	var held *vfs.LockedError
	if errors.As(err, &held) {
		return nil, fmt.Errorf("%w; --dir names another directory for this one", err)
	}
	if err != nil {
		return nil, err
	}
	r.positions, err = readPositions(files, filepath.Join(dir, positionsFile))
	if err != nil {
		log.Warn("logs are read from their beginnings, what the history has of them is not kept twice", "err", err)
	}
	return r, nil
}

// storedPositions is the content of positionsFile.
type storedPositions struct {
	Version   int                          `json:"version"`
	Positions map[string]eventlog.Position `json:"positions"`
}

func readPositions(files vfs.FS, name string) (map[string]eventlog.Position, error) {
	data, err := vfs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var stored storedPositions
	if err == nil {
		err = json.Unmarshal(data, &stored)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if stored.Version != positionsVersion {
		return nil, fmt.Errorf("%s was written by another version of weir", name)
	}
	return stored.Positions, nil
}

// follow starts the history, before the first run is told.
func (r *fleetRecords) follow(one *fleet) {
	if r.lock == nil {
		return
	}
	r.history = history.Start(history.Options{
		Registry: one.queries, Files: vfs.NewLocal(), Dir: r.historyDir(), Keep: r.keep,
		Bytes: r.bytes, Log: r.log, Mark: r.mark,
	})
	r.history.Alerts(func() []alert.View { return one.alerts.Overview().Alerts })
	r.history.Ready() // runs that are known are not told anew
}

// reading says who reads the logs.
func (r *fleetRecords) reading(logs *eventlog.Fleet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = logs
}

// mark notes how far logs are read; the history calls it, and what it gives once all of
// that is committed.
func (r *fleetRecords) mark() func() {
	r.mu.Lock()
	logs := r.logs
	r.mu.Unlock()
	if logs == nil {
		return func() {}
	}
	at := logs.Positions()
	return func() { r.save(at) }
}

func (r *fleetRecords) save(at map[string]eventlog.Position) {
	data, err := json.Marshal(storedPositions{positionsVersion, at})
	if err == nil && bytes.Equal(data, r.saved) {
		return
	}
	if err == nil {
		err = vfs.WriteReplace(vfs.NewLocal(), filepath.Join(r.dir, positionsFile), data)
	}
	if err != nil && !r.wrong {
		r.log.Warn("how far logs were read cannot be kept; the next start reads more of them", "err", err)
	}
	if r.wrong = err != nil; err == nil {
		r.saved = data
	}
}

// historyDir is where weir sql finds the history of the directory.
func (r *fleetRecords) historyDir() string { return filepath.Join(r.dir, session.HistoryName) }

func (r *fleetRecords) close() {
	if r.history != nil {
		r.history.Close()
	}
	if r.lock != nil {
		r.lock.Close()
	}
}
