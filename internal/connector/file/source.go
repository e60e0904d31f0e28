package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// source reads the files that appear below a path, each once. Which files a
// batch has is written to its own log before the batch has an offset; the
// offset is the number of that log's entry.
type source struct {
	sourceOptions
	tree   *tree
	reader *reader
	log    *compactLog
	usual  int64 // the interval of the log's compactions when it has none
	seen   seenFiles
	gauge  *gauge // nil until somebody asks for it

	// unread is what an earlier listing found and no batch took.
	unread []dataFile
	connector.Arrivals
	limited bool // the last batch left files for later ones
	// pinned is the listing that AvailableNow keeps to.
	pinned   []dataFile
	isPinned bool

	trusted bool // the log was compared with the offset that the query has
}

type sourceOptions struct {
	maxFiles    int64 // 0: any number
	maxBytes    int64
	maxAgeMs    int64
	latestFirst bool
	nameOnly    bool
	maxCached   int
	discard     float64 // listings with fewer files left than this share of a batch are made anew
	clean       cleaner
}

func readSourceOptions(o plan.Options) (s sourceOptions, err error) {
	for _, key := range []string{"modifiedBefore", "modifiedAfter"} {
		if _, ok := o.Get(key); ok {
			return s, plan.IllegalArgument("option '%s' is not allowed in file stream sources", strings.ToLower(key))
		}
	}
	if s.maxFiles, err = positiveOption(o, "maxFilesPerTrigger", 32); err != nil {
		return s, err
	}
	if s.maxBytes, err = positiveOption(o, "maxBytesPerTrigger", 64); err != nil {
		return s, err
	}
	if s.maxFiles > 0 && s.maxBytes > 0 {
		return s, plan.IllegalArgument(
			"Options 'maxFilesPerTrigger' and 'maxBytesPerTrigger' can't be both set at the same time")
	}
	age, ok := o.Get("maxFileAge")
	if !ok {
		age = "7d"
	}
	if s.maxAgeMs, err = connector.Duration(age, "ms"); err != nil {
		return s, err
	}
	if s.latestFirst, err = flagOption(o, "latestFirst"); err != nil {
		return s, err
	}
	if s.nameOnly, err = flagOption(o, "fileNameOnly"); err != nil {
		return s, err
	}
	if s.latestFirst && (s.maxFiles > 0 || s.maxBytes > 0) {
		// Old files are read last then, and must not be taken for aged ones.
		s.maxAgeMs = math.MaxInt64
	}
	return s, s.readCache(o)
}

func (s *sourceOptions) readCache(o plan.Options) error {
	s.maxCached, s.discard = 10_000, 0.2
	if text, ok := o.Get("maxCachedFiles"); ok {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return plan.IllegalArgument("Invalid value '%s' for option 'maxCachedFiles', must be an integer greater "+
				"than or equal to 0", text)
		}
		s.maxCached = int(n)
	}
	if text, ok := o.Get("discardCachedInputRatio"); ok {
		f, err := strconv.ParseFloat(text, 32)
		if err != nil || !(f >= 0 && f <= 1) {
			return plan.IllegalArgument("Invalid value '%s' for option 'discardCachedInputRatio', must be a positive "+
				"float between 0 and 1", text)
		}
		s.discard = float64(float32(f))
	}
	return nil
}

func positiveOption(o plan.Options, key string, bits int) (int64, error) {
	text, ok := o.Get(key)
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil || n <= 0 {
		return 0, plan.IllegalArgument("Invalid value '%s' for option '%s', must be a positive integer", text, key)
	}
	return n, nil
}

func flagOption(o plan.Options, key string) (bool, error) {
	flag, err := connector.BoolOption(o, key, false)
	if err != nil {
		text, _ := o.Get(key)
		err = plan.IllegalArgument("Invalid value '%s' for option '%s', must be 'true' or 'false'", text, key)
	}
	return flag, err
}

func (k *kind) openSource(
	_ context.Context, env *connector.Env, s *plan.Scan, log connector.Place,
) (connector.Source, error) {
	options, err := readSourceOptions(s.Relation.Options)
	if err != nil {
		return nil, err
	}
	tree, err := newTree(env, s.Relation.Paths, s.Relation.Options)
	if err != nil {
		return nil, err
	}
	if options.clean, err = newCleaner(env, tree, s.Relation.Options); err != nil {
		return nil, err
	}
	reader, err := newReader(env, k, s)
	if err != nil {
		return nil, err
	}
	if err := vfs.MkdirDurable(log.FS, log.Dir); err != nil {
		return nil, err
	}
	if _, err := vfs.CleanTemps(log.FS, log.Dir); err != nil {
		return nil, fmt.Errorf("clean %s: %w", log.Dir, err)
	}
	f := &source{sourceOptions: options, tree: tree, reader: reader}
	f.usual = connector.ConfInt(env, "spark.sql.streaming.fileSource.log.compactInterval", 10)
	if f.log, err = openCompactLog(env, log, "fileSource"); err != nil {
		return nil, err
	}
	f.log.owner = func(line string) (int64, *plan.Error) {
		e, err := parseSeen(line)
		return e.BatchID, err
	}
	return f, f.remember()
}

// remember fills the set of seen files from the log.
func (f *source) remember() error {
	f.seen.maxAgeMs, f.seen.times = f.maxAgeMs, map[string]int64{}
	lines, err := f.log.all(f.usual)
	if err != nil {
		return err
	}
	for _, line := range lines {
		e, err := parseSeen(line)
		if err != nil {
			return connector.UnreadableLog(f.log.path(f.log.latest), err)
		}
		f.seen.add(f.key(e.Path), e.Timestamp)
	}
	f.seen.purge()
	return nil
}

// key is what tells files apart: the URI, or its last name with fileNameOnly.
func (f *source) key(uri string) string {
	if !f.nameOnly {
		return uri
	}
	name, ok := vfs.DecodePath(path.Base(uri))
	if !ok {
		return path.Base(uri)
	}
	return name
}

// seenFile is a line of the source's log.
type seenFile struct {
	Path      string `json:"path"`
	Timestamp int64  `json:"timestamp"`
	BatchID   int64  `json:"batchId"`
}

func parseSeen(line string) (seenFile, *plan.Error) {
	var e seenFile
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.Path == "" {
		return e, connector.IllegalState("a line is no entry of a file source: %.200s", line)
	}
	return e, nil
}

func (e seenFile) line() string {
	return fmt.Sprintf(`{"path":%s,"timestamp":%d,"batchId":%d}`, plan.JSONText(e.Path), e.Timestamp, e.BatchID)
}

// Describe is the path with its scheme, nothing encoded.
func (f *source) Describe() string {
	root := f.tree.roots[0]
	return "FileStreamSource[" + root.Text(root.Path) + "]"
}

// Latest makes the next batch of the source: it lists, takes what the limits
// allow and writes that to the log. An entry that the log has already and that
// is newer than start, as after a crash, is such a batch too.
func (f *source) Latest(
	_ context.Context, start connector.Offset, limit connector.Limit,
) (connector.Offset, error) {
	if err := f.trust(start); err != nil {
		return "", err
	}
	fresh, err := f.fresh()
	if err != nil {
		return "", err
	}
	batch := f.admit(fresh, limit)
	if len(batch) > 0 {
		if err := f.record(batch); err != nil {
			return "", err
		}
	}
	f.seen.purge()
	if f.log.latest < 0 {
		return "", nil
	}
	return connector.Offset(fmt.Sprintf(`{"logOffset":%d}`, f.log.latest)), nil
}

// trust checks once that the log has the batch where the query stands, with
// files that lie below the source's path.
func (f *source) trust(start connector.Offset) error {
	if f.trusted || start == "" {
		f.trusted = true
		return nil
	}
	n, err := logOffset(start)
	if err != nil {
		return err
	}
	if n >= 0 {
		entries, err := f.entries(connector.Offset(strconv.FormatInt(n-1, 10)), start)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if _, err := f.place(e); err != nil {
				return err
			}
		}
	}
	f.trusted = true
	return nil
}

// fresh are the files that no batch has had, in the order they are taken.
func (f *source) fresh() ([]dataFile, error) {
	if f.unread != nil {
		return f.unread, nil
	}
	files := f.pinned
	if !f.isPinned {
		var err error
		if files, err = f.listed(); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(files), func(d dataFile) bool {
		return !f.seen.isNew(f.key(d.uri()), d.mtime)
	}), nil
}

// listed are all files, oldest or newest first.
func (f *source) listed() ([]dataFile, error) {
	files, err := f.tree.list(false)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b dataFile) int {
		switch {
		case a.mtime == b.mtime:
			return 0
		case (a.mtime < b.mtime) != f.latestFirst:
			return -1
		default:
			return 1
		}
	})
	return files, nil
}

// admit takes what the next batch may have and keeps the rest for later ones,
// unless little is left or the newest must come first. Pinned files have no
// younger ones to make way for.
func (f *source) admit(files []dataFile, limit connector.Limit) []dataFile {
	stale := f.unread != nil && !f.isPinned && !limit.All
	f.unread = nil
	take, left, most := len(files), int64(0), int64(0)
	switch {
	case limit.All:
	case f.maxFiles > 0:
		take = int(min(int64(take), f.maxFiles))
		left, most = int64(len(files)-take), f.maxFiles
	case f.maxBytes > 0:
		most = f.maxBytes
		take, left = f.withinBytes(files)
	}
	rest := files[take:]
	// What is left of an earlier listing is not all there is: whether more has come since,
	// nobody has looked.
	f.limited = len(rest) > 0 || stale
	switch {
	case len(rest) == 0:
	case f.isPinned:
		f.unread = rest
	case !f.latestFirst && float64(left) >= float64(most)*f.discard:
		if keep := min(len(rest), f.maxCached); keep > 0 {
			f.unread = rest[:keep]
		}
	}
	return files[:take]
}

// Limited tells whether maxFilesPerTrigger or maxBytesPerTrigger kept files back.
func (f *source) Limited() bool { return f.limited }

// withinBytes is how many files a batch takes by size, at least one, and how
// many bytes the others have.
func (f *source) withinBytes(files []dataFile) (take int, left int64) {
	sum := int64(0)
	for take = 0; take < len(files); take++ {
		if take > 0 && sum+files[take].size > f.maxBytes {
			break
		}
		sum += files[take].size
	}
	for _, d := range files[take:] {
		left += d.size
	}
	return take, left
}

// record writes a batch to the log; only then are its files seen.
func (f *source) record(batch []dataFile) error {
	id := f.log.latest + 1
	lines := make([]string, len(batch))
	for i, d := range batch {
		lines[i] = seenFile{d.uri(), d.mtime, id}.line()
	}
	err := f.log.add(id, lines)
	if errors.Is(err, fs.ErrExist) {
		return connector.IllegalState("Concurrent update to the log. Multiple streaming jobs detected for %d", id)
	}
	if err != nil {
		return err
	}
	if f.gauge != nil {
		f.gauge.admitted(id, batch)
	}
	for _, d := range batch {
		f.seen.add(f.key(d.uri()), d.mtime)
	}
	return nil
}

// Pin makes the files of now the only ones that count. Latest then stands still
// when they are used up, so there is no offset to keep to.
func (f *source) Pin(context.Context) (connector.Offset, error) {
	files, err := f.listed()
	f.pinned, f.isPinned, f.unread = files, err == nil, nil
	return "", err
}

func (f *source) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	return view{f, f.reader}.Read(ctx, from, to)
}

// View reads the same files for another scan.
func (f *source) View(s *plan.Scan) (connector.View, error) {
	reader, err := newReader(f.reader.job.env, f.reader.kind, s)
	return view{f, reader}, err
}

// view turns the files of a source into the columns of one scan.
type view struct {
	source *source
	reader *reader
}

func (v view) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	f := v.source
	entries, err := f.entries(from, to)
	if err != nil {
		return chunk.Fail(err)
	}
	files, err := f.located(entries)
	if err != nil {
		return chunk.Fail(err)
	}
	f.Arrivals.Reset()
	for _, d := range files {
		f.Arrivals.Add(time.UnixMilli(d.mtime), float64(d.size))
	}
	return v.reader.rows(ctx, files)
}

func logOffset(o connector.Offset) (int64, error) {
	if o == "" {
		return -1, nil
	}
	var v struct {
		LogOffset *int64 `json:"logOffset"`
	}
	if n, err := strconv.ParseInt(string(o), 10, 64); err == nil {
		return n, nil // as very old checkpoints have it
	}
	if err := json.Unmarshal([]byte(o), &v); err != nil || v.LogOffset == nil {
		return 0, connector.IllegalState("%.60q is no offset of a file source", string(o))
	}
	return *v.LogOffset, nil
}

// entries are the log's lines of the batches in (from, to].
func (f *source) entries(from, to connector.Offset) ([]seenFile, error) {
	start, err := logOffset(from)
	if err != nil {
		return nil, err
	}
	end, err := logOffset(to)
	if err != nil {
		return nil, err
	}
	if start > end {
		return nil, connector.IllegalState("a file source cannot go back from %s to %s", from, to)
	}
	var out []seenFile
	for id := start + 1; id <= end; id++ {
		lines, err := f.log.read(id)
		if errors.Is(err, fs.ErrNotExist) {
			lines, err = f.compacted(id)
		} else if err == nil {
			err = f.log.own(id, lines)
		}
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			e, err := parseSeen(line)
			if err != nil {
				return nil, connector.UnreadableLog(f.log.path(id), err)
			}
			if e.BatchID == id {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// compacted looks for a batch whose own file is gone in the last compaction.
func (f *source) compacted(id int64) ([]string, error) {
	missing := connector.IllegalState("batch %d doesn't exist: its file is gone from %s", id, f.log.place.Dir)
	last := (f.log.latest+1)/f.log.interval*f.log.interval - 1
	if last < id {
		return nil, missing
	}
	lines, err := f.log.read(last)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		if e, err := parseSeen(line); err == nil && e.BatchID == id {
			return lines, nil
		}
	}
	return nil, missing
}

// place is where a logged file is; its path must be below the source's.
func (f *source) place(e seenFile) (dataFile, error) {
	loc, err := f.tree.env.Files.FromURI(e.Path)
	if err != nil {
		return dataFile{}, fmt.Errorf("file %s of the source's log: %w", e.Path, err)
	}
	d := dataFile{loc: loc, path: loc.Path, base: path.Dir(loc.Path)}
	if root := f.tree.roots[0]; !vfs.HasGlob(root.Path) {
		d.base = root.Path
		if !within(d.path, root.Path) {
			return d, plan.IllegalArgument("Wrong basePath %s for the root path: %s",
				f.tree.text[0], loc.Text(loc.Path))
		}
	}
	return d, nil
}

// located finds the logged files. One that was removed since has no rows, as in
// Spark.
func (f *source) located(entries []seenFile) ([]dataFile, error) {
	files := make([]dataFile, 0, len(entries))
	for _, e := range entries {
		d, err := f.place(e)
		if err != nil {
			return nil, err
		}
		info, err := d.loc.FS.Stat(d.path)
		if vfs.NotFound(err) {
			f.tree.env.Losef("The file %s was removed before its batch was read; its rows are missing.", e.Path)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", e.Path, err)
		}
		d.size, d.mtime = info.Size, info.ModTime.UnixMilli()
		files = append(files, d)
	}
	return files, nil
}

// within reports whether the clean path p is dir or below it.
func within(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// Advance removes or moves the files of finished batches when cleanSource says so.
func (f *source) Advance(_ context.Context, upTo connector.Offset) error {
	if f.clean == nil {
		return nil
	}
	end, err := logOffset(upTo)
	if err != nil {
		return err
	}
	lines, err := f.log.read(end)
	if err != nil {
		return err
	}
	for _, line := range lines {
		e, err := parseSeen(line)
		if err != nil {
			return connector.UnreadableLog(f.log.path(end), err)
		}
		if e.BatchID != end {
			continue
		}
		loc, badURI := f.tree.env.Files.FromURI(e.Path)
		if badURI != nil {
			return fmt.Errorf("file %s of the source's log: %w", e.Path, badURI)
		}
		if err := f.clean(loc); err != nil {
			return err
		}
	}
	return nil
}

func (f *source) Close() error { return nil }

// Rest has nothing to let go of: directories are opened to be listed.
func (f *source) Rest() {}

// seenFiles are the files that batches had, as long as they may come up again.
type seenFiles struct {
	mu       sync.Mutex // the gauge asks too
	maxAgeMs int64
	times    map[string]int64
	newest   int64
	purged   int64 // files older than this are not looked at
}

func (s *seenFiles) add(key string, mtime int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[key] = mtime
	s.newest = max(s.newest, mtime)
}

func (s *seenFiles) isNew(key string, mtime int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, seen := s.times[key]
	return mtime >= s.purged && !seen
}

// purge forgets files that are too old, measured by the newest.
func (s *seenFiles) purge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.newest - s.maxAgeMs
	if oldest == s.purged {
		return
	}
	s.purged = oldest
	for key, mtime := range s.times {
		if mtime < oldest {
			delete(s.times, key)
		}
	}
}
