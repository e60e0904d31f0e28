package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/shelf"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/pyworker"
	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/vfs"
)

// layoutVersion is the version of the data directory that this code writes.
const layoutVersion = 1

// Names below the data directory.
const (
	lockName    = "lock"
	versionName = "version"
	tempName    = "tmp"
)

// Options configure an engine. Only Dir is required.
type Options struct {
	Dir  string // the data directory, made when missing
	Root string // confines every local path to a tree; "" confines none
	// WorkDir is where relative paths of users begin; "" is the process's.
	WorkDir string
	// Confs are settings that every session begins with; static ones and those
	// of Spark's core are allowed here.
	Confs map[string]string
	// Python runs functions of users; nil refuses them. Its owner closes it after
	// the engine.
	Python      *pyworker.Host
	Log         *slog.Logger
	Parallelism int       // spark.default.parallelism; 0: one per processor
	Console     io.Writer // where the console sink prints; nil drops it
	Memory      int64     // of the machine or container, in bytes; 0: not known
	Files       vfs.FS    // nil: the local disk
	// Crash is called at the steps of streaming batches; see stream.Options.
	Crash func(step string)
	// AskEnded is for how long sources of ended queries are asked; see stream.Options.
	AskEnded time.Duration
}

// Engine is what the sessions of a server share. Any goroutine may call it.
type Engine struct {
	options     Options
	dir         string
	fs          vfs.FS
	lock        io.Closer
	files       *vfs.Resolver
	catalog     *catalog.Store
	budget      *chunk.Budget // what all queries may hold
	registry    *monitor.Registry
	streams     *stream.Manager
	ids         *plan.IDs
	snapshots   delta.Cache
	log         *slog.Logger
	base        *settings.Base
	parallelism int
	format      func(name string) (*connector.Format, bool)
	handlers    map[reflect.Type]handler
	door        Door
	history     atomic.Pointer[history.Store] // nil without one

	mu          sync.Mutex
	sessions    map[*Session]bool
	globalViews map[string]*view
	making      map[plan.TableID]bool // tables that statements are making
}

// Open locks the data directory, making it when it is missing, and reads the
// catalog in it. A directory of a newer version is refused; the error for one
// that another server holds names that server's process.
func Open(o Options) (*Engine, error) {
	e := &Engine{
		options: o, fs: o.Files, log: o.Log, ids: &plan.IDs{}, registry: monitor.NewRegistry(),
		parallelism: o.Parallelism, format: shelf.Lookup, handlers: handlersByType(),
		sessions: map[*Session]bool{}, globalViews: map[string]*view{},
		making: map[plan.TableID]bool{},
	}
	if e.fs == nil {
		e.fs = vfs.NewLocal()
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.parallelism <= 0 {
		e.parallelism = runtime.GOMAXPROCS(0)
	}
	if err := e.openDir(); err != nil {
		return nil, err
	}
	e.budget = e.serverBudget()
	if err := e.openParts(); err != nil {
		return nil, errors.Join(err, e.lock.Close())
	}
	return e, nil
}

// inUseError says who works in a data directory.
type inUseError struct {
	dir  string
	held *vfs.LockedError
}

func (e *inUseError) Unwrap() error { return e.held }

func (e *inUseError) Error() string {
	if e.held.PID == 0 {
		return fmt.Sprintf("data directory %s is in use by another process", e.dir)
	}
	return fmt.Sprintf("data directory %s is in use by process %d", e.dir, e.held.PID)
}

// openDir makes and locks the data directory and looks at its version.
func (e *Engine) openDir() error {
	dir, err := filepath.Abs(e.options.Dir)
	if err != nil {
		return fmt.Errorf("data directory %s: %w", e.options.Dir, err)
	}
	e.dir = filepath.ToSlash(dir)
	if err := makePrivate(e.fs, e.dir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	e.lock, err = e.fs.Lock(path.Join(e.dir, lockName))
	var held *vfs.LockedError
	if errors.As(err, &held) {
		return &inUseError{e.dir, held}
	}
	if err != nil {
		return fmt.Errorf("lock data directory: %w", err)
	}
	if err := e.checkVersion(); err != nil {
		return errors.Join(err, e.lock.Close())
	}
	return nil
}

// makePrivate makes a directory of its owner's, on file systems that know
// owners.
func makePrivate(fsys vfs.FS, dir string) error {
	if p, ok := fsys.(interface{ MakePrivate(dir string) error }); ok {
		return p.MakePrivate(dir)
	}
	return fsys.MkdirAll(dir)
}

func (e *Engine) checkVersion() error {
	file := path.Join(e.dir, versionName)
	data, err := vfs.ReadFile(e.fs, file)
	if vfs.NotFound(err) {
		return vfs.WriteReplace(e.fs, file, []byte(strconv.Itoa(layoutVersion)+"\n"))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return fmt.Errorf("%s holds %.40q and no version number", file, data)
	}
	if version > layoutVersion {
		return fmt.Errorf("data directory %s has version %d, and this program knows %d at most: use a newer weir",
			e.dir, version, layoutVersion)
	}
	return nil
}

// openParts opens what lives in the directory.
func (e *Engine) openParts() error {
	temp := path.Join(e.dir, tempName)
	if err := e.fs.RemoveAll(temp); err != nil {
		return fmt.Errorf("clean %s: %w", temp, err)
	}
	if err := e.fs.MkdirAll(temp); err != nil {
		return err
	}
	var err error
	if e.catalog, err = catalog.Open(e.fs, e.dir); err != nil {
		return fmt.Errorf("open catalog: %w", err)
	}
	if err := e.sweepTables(); err != nil {
		return err
	}
	work := e.options.WorkDir
	if work == "" {
		if work, err = filepath.Abs("."); err != nil {
			return err
		}
	}
	e.files, err = vfs.NewResolver(vfs.ResolverOptions{
		Local: e.userFiles(), Dir: filepath.ToSlash(work), Root: e.options.Root, Volume: e.volumeDir,
	})
	if err != nil {
		return err
	}
	if e.base, err = e.baseConf(); err != nil {
		return err
	}
	e.streams = stream.NewManager(e.registry, stream.Options{
		Log: e.log, Crash: e.options.Crash, AskEnded: e.options.AskEnded,
	})
	return nil
}

// userFiles is the file system of the paths that users write.
func (e *Engine) userFiles() vfs.FS {
	files := vfs.FS(guardedFS{e.fs, e.HistoryDir()})
	if e.options.Crash == nil {
		return files
	}
	return stream.WithSinkSteps(files, e.options.Crash)
}

func (e *Engine) volumeDir(name vfs.VolumeName) (string, error) {
	v, err := e.catalog.Volume(plan.TableID{Catalog: name.Catalog, Schema: name.Schema, Name: name.Name})
	if err != nil {
		return "", err
	}
	return v.Location, nil
}

// settings.Base checks the settings of the server's start.
func (e *Engine) baseConf() (*settings.Base, error) {
	base := &settings.Base{
		Set: map[string]string{
			"spark.app.id":        "weir-" + uuid.NewString(),
			"spark.app.name":      stream.NoApplication,
			"spark.master":        "local[" + strconv.Itoa(e.parallelism) + "]",
			"spark.executor.id":   "driver",
			settings.WarehouseKey: e.warehouse(),
		},
		Defaults: map[string]string{
			settings.ZoneKey: e.hostZone(),
			// The client would append the trace to every message.
			"spark.sql.connect.serverStacktrace.enabled": "false",
		},
	}
	for key, value := range e.options.Confs {
		d := settings.Known().ByKey[key]
		var err error
		if d == nil {
			err = settings.CheckUnknown(key)
			e.warnUnknown(key)
		} else {
			err = d.Accepts(value)
		}
		if err != nil {
			return nil, err
		}
	}
	maps.Copy(base.Set, e.options.Confs)
	return base, nil
}

// warnUnknown tells of a key that looks like one of Spark's and is none: it is
// kept, as Spark keeps it, and changes nothing.
func (e *Engine) warnUnknown(key string) {
	if looksLikeSparks(key) {
		e.log.Warn("Spark has no such setting; it changes nothing", "key", key,
			"nearest", settings.Nearest(key, settings.Known().Sorted))
	}
}

// looksLikeSparks tells whether a key would be in Spark's tables if Spark had it.
func looksLikeSparks(key string) bool {
	return strings.HasPrefix(key, "spark.sql.") || strings.HasPrefix(key, "spark.connect.")
}

// warehouse is the place of managed tables as Spark writes it.
func (e *Engine) warehouse() string { return "file:" + path.Join(e.dir, "warehouse") }

// zoneLink is where the host says its time zone.
const zoneLink = "/etc/localtime"

// hostZone is the time zone of this machine as Java names it: that of TZ, else
// the one that the host's link leads to.
func (e *Engine) hostZone() string {
	if name := time.Local.String(); name != "Local" && name != "UTC" && name != "" {
		return name
	}
	target, err := vfs.NewLocal().RealPath(zoneLink)
	if _, name, ok := strings.Cut(target, "/zoneinfo/"); err == nil && ok && time.Local.String() == "Local" {
		return name
	}
	return "Etc/UTC"
}

// Monitor is what is known about the streaming queries of the server.
func (e *Engine) Monitor() *monitor.Registry { return e.registry }

// ApplicationID is what Spark calls the id of an application: spark.app.id.
func (e *Engine) ApplicationID() string { return e.base.Set["spark.app.id"] }

// Number is a number, time or size among the settings of the server's start, in
// the setting's own unit.
func (e *Engine) Number(key string) int64 {
	number, err := NumberOf(e.base.Set, key)
	if err != nil {
		panic("session: " + err.Error()) // they were checked
	}
	return number
}

// NumberOf is Number among settings without an engine.
func NumberOf(confs map[string]string, key string) (int64, error) {
	d := settings.Known().ByKey[key]
	text := settings.New(&settings.Base{Set: confs}).Value(key)
	if err := d.Accepts(text); err != nil {
		return 0, err
	}
	number, ok, err := d.Parse(text)
	if err == nil && !ok {
		err = fmt.Errorf("the setting %s is no number: %s", key, text)
	}
	return int64(number), err
}

// Dir is the data directory, an absolute path.
func (e *Engine) Dir() string { return e.dir }

// Drain refuses further queries and ends all: running batches finish while ctx lasts
// and are interrupted then. Sessions still work, since functions of a foreachBatch
// come back to them; why is what the pages say of the queries.
func (e *Engine) Drain(ctx context.Context, why string) error {
	for _, q := range e.streams.Active() {
		q.Record().Because(why)
	}
	return e.streams.StopAll(ctx)
}

// StopQuery stops the active run of a run id, as somebody asked who is not its
// program, and waits for its end; false says that there is none. why is what the
// pages say of the query.
func (e *Engine) StopQuery(ctx context.Context, runID, why string) (bool, error) {
	for _, q := range e.streams.Active() {
		if q.RunID() == runID {
			q.Record().Because(why)
			return true, q.Stop(ctx)
		}
	}
	return false, nil
}

// Close stops every query, giving running batches until ctx ends, ends the
// sessions' buses and releases the lock.
func (e *Engine) Close(ctx context.Context) error {
	err := e.streams.StopAll(ctx)
	e.mu.Lock()
	sessions := e.sessions
	e.sessions = map[*Session]bool{}
	e.mu.Unlock()
	for s := range sessions {
		s.bus.Close()
	}
	return errors.Join(err, e.fs.RemoveAll(path.Join(e.dir, tempName)), e.lock.Close())
}

// tempDir is a fresh name for a directory that does not outlive the server.
func (e *Engine) tempDir(kind string) string {
	return path.Join(e.dir, tempName, kind+"-"+uuid.NewString())
}
