package deltatable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/function/javaregex"
	"github.com/weir-dev/weir/internal/plan"
)

// source reads a table as it was when the query began, file by file, and
// then what each commit added.
//
// A place in it is a version and the number of the last file of it that was read,
// -1 for none: of the commit's files, or within the beginning of all files that the
// table had at that version.
type source struct {
	env     *connector.Env
	table   delta.Table
	text    string // the path as Spark writes it
	options readOptions
	newest  *delta.Snapshot  // the newest version that is known, without its files
	reader  *delta.Snapshot  // reads files of any version: the newest, or what the schema log says
	log     *delta.SchemaLog // the stream's schema log, nil when it has none
	schema  plan.Type        // of the query, all columns
	columns []string

	begin   offset     // where a query begins that has read nothing; valid once begun
	begun   bool       // begin was found out
	resumed bool       // the columns before a place that was kept were looked at
	pinned  bool       // the reader stays at the version that AvailableNow ends with
	initial *beginning // of the version that begin is of; nil when there is none, or it is read

	commits map[int64]*commit // that were read and are ahead
	fed     bool              // a version was seen whose changes are kept
	connector.Arrivals
	limited bool // the last batch left files for later ones
}

// beginning is what a table had when the query began.
type beginning struct {
	version  int64
	metadata *delta.Metadata
	commit   commit
}

// commit is a commit with what is read of it.
type commit struct {
	pieces []piece
	change bool // of the table: the stream has to end before it
	// stays says that the place behind its last piece is within it, as Delta has it
	// for commits with files of changes.
	stays bool
}

// piece is what a batch takes whole: a data file, or changes that belong together.
type piece struct {
	files, bytes int64
	add          *delta.Add
	feed         delta.FeedPiece
}

func addPieces(adds []*delta.Add) []piece {
	pieces := make([]piece, len(adds))
	for i, f := range adds {
		pieces[i] = piece{files: 1, bytes: f.Size, add: f}
	}
	return pieces
}

// offset is a place as it stands in offsets/N.
type offset struct {
	SourceVersion int    `json:"sourceVersion"`
	TableID       string `json:"reservoirId"`
	Version       int64  `json:"reservoirVersion"`
	Index         int64  `json:"index"`
	Starting      bool   `json:"isStartingVersion"`
}

func (o offset) text() connector.Offset {
	if o.SourceVersion = 1; o.Index < -1 {
		o.SourceVersion = 3 // the first that has places around changes
	}
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return connector.Offset(data)
}

// next is the place behind a whole version.
func (o offset) next() offset {
	o.Version, o.Index, o.Starting = o.Version+1, -1, false
	return o
}

// before reports whether a place comes before another.
func (o offset) before(p offset) bool {
	return o.Version < p.Version || o.Version == p.Version && o.rank() < p.rank()
}

// readOptions are the options of a stream.
type readOptions struct {
	version                                 string // startingVersion, "" when not given
	timestamp                               string // startingTimestamp
	files, bytes                            int64  // most of a batch; bytes 0: any number
	ignoreDeletes, ignoreChanges, skip, lax bool
	feed                                    bool               // the change feed is read
	exclude                                 *javaregex.Pattern // files that are not read; nil for none
}

// filesPerBatch is how many files a batch takes when nothing is said.
const filesPerBatch = 1000

func readOptionsOf(o plan.Options) (readOptions, error) {
	r := readOptions{files: filesPerBatch}
	var err error
	if r.feed, err = readsFeed(o); err != nil {
		return r, err
	}
	r.version, _ = o.Get("startingVersion")
	r.timestamp, _ = o.Get("startingTimestamp")
	if r.version != "" && r.timestamp != "" {
		return r, illegal("DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET", "42613",
			"startingVersion and startingTimestamp cannot both be given.",
			"version", "startingVersion", "timestamp", "startingTimestamp")
	}
	if text, ok := o.Get("maxFilesPerTrigger"); ok {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n <= 0 {
			return r, badOption("maxFilesPerTrigger", text, "must be a positive integer")
		}
		r.files = n
	}
	if text, ok := o.Get("maxBytesPerTrigger"); ok {
		n, ok := byteSize(text)
		if !ok || n <= 0 {
			return r, badOption("maxBytesPerTrigger", text, "must be a size configuration such as '10g'")
		}
		r.bytes = n
	}
	for name, to := range map[string]*bool{
		"ignoreDeletes": &r.ignoreDeletes, "ignoreChanges": &r.ignoreChanges, "skipChangeCommits": &r.skip,
	} {
		var err error
		if *to, err = connector.BoolOption(o, name, false); err != nil {
			text, _ := o.Get(name)
			return r, badOption(name, text, "must be 'true' or 'false'")
		}
	}
	keep, err := connector.BoolOption(o, "failOnDataLoss", true)
	if err != nil {
		text, _ := o.Get("failOnDataLoss")
		return r, badOption("failOnDataLoss", text, "must be 'true' or 'false'")
	}
	r.lax = !keep
	if text, ok := o.Get("excludeRegex"); ok {
		if r.exclude, err = javaregex.Compile(text); errors.Is(err, javaregex.ErrSyntax) {
			return r, illegal("DELTA_REGEX_OPT_SYNTAX_ERROR", "2201B",
				fmt.Sprintf("%q is no regular expression for excludeRegex.", text), "regExpOption", "excludeRegex")
		}
	}
	return r, err
}

// byteUnits are what sizes may end in, as powers of 1024.
var byteUnits = map[string]int{
	"": 0, "b": 0, "k": 1, "kb": 1, "m": 2, "mb": 2, "g": 3, "gb": 3, "t": 4, "tb": 4, "p": 5, "pb": 5,
}

// byteSize reads a size such as 10g.
func byteSize(text string) (int64, bool) {
	s := strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(s, "bkmgtp")
	n, err := strconv.ParseInt(digits, 10, 64)
	power, ok := byteUnits[s[len(digits):]]
	if err != nil || !ok || n > (1<<63-1)>>(10*power) {
		return 0, false
	}
	return n << (10 * power), true
}

const illegalClass = "org.apache.spark.sql.delta.DeltaIllegalArgumentException"

func illegal(condition, state, msg string, args ...string) *plan.Error {
	e := plan.NewError(illegalClass, condition, msg, args...)
	e.State = state
	return e
}

func badOption(name, text, explain string) *plan.Error {
	return illegal("DELTA_ILLEGAL_OPTION", "42616",
		fmt.Sprintf("Invalid value '%s' for option '%s', %s", text, name, explain),
		"input", text, "name", name, "explain", explain)
}

func openSource(
	ctx context.Context, env *connector.Env, s *plan.Scan, place connector.Place,
) (connector.Source, error) {
	options, err := readOptionsOf(s.Relation.Options)
	if err != nil {
		return nil, err
	}
	table, err := Table(env, s.Relation.Paths[0])
	if err != nil {
		return nil, err
	}
	loc, err := env.Files.Resolve(s.Relation.Paths[0])
	if err != nil {
		return nil, connector.PathError(s.Relation.Paths[0], err)
	}
	d := &source{env: env, table: table, text: loc.Text(loc.Path), options: options,
		schema: s.Relation.Schema, commits: map[int64]*commit{}}
	for _, a := range s.Attrs {
		d.columns = append(d.columns, a.Name)
	}
	if d.newest, err = table.LoadHead(ctx); err != nil {
		return nil, err
	}
	d.reader = d.newest
	return d, d.openLog(ctx, s.Relation.Options, place)
}

func (d *source) Describe() string { return "DeltaSource[" + d.text + "]" }
func (d *source) Close() error     { return nil }

// Rest has nothing to let go of.
func (d *source) Rest() {}

// parse reads a place; "" is where the query begins.
func (d *source) parse(ctx context.Context, o connector.Offset) (at offset, ok bool, err error) {
	if o == "" {
		return d.start(ctx)
	}
	err = json.Unmarshal([]byte(o), &at)
	known := at.SourceVersion == 1 && at.Index >= -1 || at.SourceVersion == 3
	if err != nil || !known || at.Version < 0 || at.Index < indexBefore {
		return at, false, connector.IllegalState("%.100q is no offset of a Delta source", string(o))
	}
	if at.TableID != d.reader.Metadata.ID {
		return at, false, stateError("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", "55019",
			fmt.Sprintf("The query has read the table %s, and at %s is another one now, %s. "+
				"Begin with a new checkpoint.", at.TableID, d.text, d.reader.Metadata.ID),
			"oldTableId", at.TableID, "newTableId", d.reader.Metadata.ID)
	}
	if err := d.beginLog(ctx, resumedAt(at)); err != nil {
		return at, false, err
	}
	return at, true, d.checkResumed(ctx, at)
}

// resumedAt is the version whose columns a query has that goes on at a place.
func resumedAt(at offset) int64 {
	if at.Starting || at.Index >= 0 {
		return at.Version
	}
	return at.Version - 1
}

// checkResumed refuses to go on behind a rename or drop in a table that maps its columns,
// though the rows to come have the new columns: the query has read others.
func (d *source) checkResumed(ctx context.Context, at offset) error {
	if d.log != nil || d.unsafe() || d.resumed || at.Starting || at.Version == 0 || !d.reader.Mapped() {
		return nil
	}
	d.resumed = true
	before := min(at.Version-1, d.reader.Version)
	old, err := d.table.LoadVersion(ctx, before)
	var gone *plan.Error
	if errors.As(err, &gone) || errors.Is(err, fs.ErrNotExist) {
		return nil // the log does not go back so far
	}
	if err != nil {
		return err
	}
	if ok, err := d.reader.Reads(&old.Metadata); err != nil || ok {
		return err
	}
	return d.incompatible(before, &old.Metadata)
}

func stateError(condition, state, msg string, args ...string) *plan.Error {
	e := plan.NewError("org.apache.spark.sql.delta.DeltaIllegalStateException", condition, msg, args...)
	e.State = state
	return e
}

// start is where a query begins: false while there is nothing to begin with.
func (d *source) start(ctx context.Context) (offset, bool, error) {
	if d.begun {
		return d.begin, true, nil
	}
	at := offset{SourceVersion: 1, TableID: d.reader.Metadata.ID, Index: -1}
	var err error
	switch {
	case strings.EqualFold(d.options.version, "latest"):
		_, last, err := d.table.Versions()
		if err != nil {
			return at, false, err
		}
		at.Version = last + 1
	case d.options.version != "":
		if at.Version, err = d.startingVersion(); err != nil {
			return at, false, err
		}
	case d.options.timestamp != "":
		if at.Version, err = versionFrom(d.env, d.table, d.options.timestamp); err != nil {
			return at, false, err
		}
	default:
		if !d.pinned {
			if _, err := d.newest.Refresh(ctx); err != nil {
				return at, false, err
			}
		}
		at.Version, at.Starting = d.newest.Version, true
		c, err := d.beginning(ctx, at.Version)
		if err != nil || len(c.pieces) == 0 {
			return at, false, err
		}
	}
	if err := d.beginLog(ctx, at.Version); err != nil {
		return at, false, err
	}
	d.begin, d.begun = at, true
	return at, true, nil
}

func (d *source) startingVersion() (int64, error) {
	text := d.options.version
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 0 {
		return 0, badOption("startingVersion", text, "must be greater than or equal to zero")
	}
	first, last, err := d.commitsLeft()
	if err == nil && (version < first || version > last) {
		err = delta.VersionNotFound(version, first, last)
	}
	return version, err
}

// commitOf is what is read of a version; false when there is no such version yet.
func (d *source) commitOf(ctx context.Context, version int64, starting bool,
) (*commit, bool, error) {
	if starting {
		c, err := d.beginning(ctx, version)
		if err == nil && d.options.feed {
			err = d.checkFeed(ctx, version, d.initial.metadata)
		}
		return c, true, err
	}
	if c := d.commits[version]; c != nil {
		return c, true, nil
	}
	c, err := d.readCommit(ctx, version)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, d.checkGone(version)
	}
	if err != nil {
		return nil, false, err
	}
	d.commits[version] = c
	return c, true, nil
}

func (d *source) readCommit(ctx context.Context, version int64) (*commit, error) {
	if d.options.feed {
		return d.feedCommit(ctx, version)
	}
	changes, err := d.table.ChangesOf(version)
	if err != nil {
		return nil, err
	}
	c := &commit{}
	if c.change, err = d.changeIn(ctx, version, changes.Metadata != nil || changes.Protocol != nil); err != nil {
		return nil, err
	}
	files, err := d.admitted(changes)
	c.pieces = addPieces(files)
	return c, err
}

// beginning is all files of a version, the oldest first. It is kept until the query has
// read it.
func (d *source) beginning(ctx context.Context, version int64) (*commit, error) {
	if d.initial != nil && d.initial.version == version {
		return &d.initial.commit, nil
	}
	s, err := d.table.LoadBare(ctx, version)
	if err != nil {
		return nil, err
	}
	files := s.Files()
	slices.SortStableFunc(files, func(a, b *delta.Add) int {
		return cmp.Compare(a.ModificationTime, b.ModificationTime)
	})
	metadata := s.Metadata // the snapshot itself can go
	d.initial = &beginning{version: version, metadata: &metadata}
	if d.options.feed {
		d.initial.commit.pieces = insertPieces(files, version)
	} else {
		d.initial.commit.pieces = addPieces(files)
	}
	return &d.initial.commit, nil
}

// checkGone refuses to go on behind commits that the clean-up of the log removed.
func (d *source) checkGone(version int64) error {
	first, last, err := d.commitsLeft()
	if err != nil || version > last {
		return err
	}
	return stateError("DELTA_MISSING_FILES_UNEXPECTED_VERSION", "XXKDS",
		fmt.Sprintf("The query goes on with version %d of %s, and the earliest one that is left is %d: "+
			"the log was cleaned up. Set failOnDataLoss to false to go on with that one.", version, d.text, first),
		"startVersion", strconv.FormatInt(version, 10), "earliestVersion", strconv.FormatInt(first, 10),
		"option", "failOnDataLoss")
}

// admitted are the files that a commit added, unless it changed rows that were
// read before and the options do not allow that.
func (d *source) admitted(c *delta.Changes) ([]*delta.Add, error) {
	if c.Metadata != nil {
		if err := d.checkSchema(c.Version, c.Metadata); err != nil {
			return nil, err
		}
	}
	version := strconv.FormatInt(c.Version, 10)
	switch o := d.options; {
	case c.Removed == nil:
	case o.skip:
		return nil, nil
	case len(c.Added) > 0 && !o.ignoreChanges:
		return nil, unsupported("DELTA_SOURCE_TABLE_IGNORE_CHANGES",
			fmt.Sprintf("Version %s of %s changed rows that were there before, by %s. Set skipChangeCommits "+
				"to true to leave out what such commits change, or begin with a new checkpoint to read the rows "+
				"as they are now.",
				version, d.text, c.Operation),
			"changeInfo", c.Operation, "version", version, "dataPath", d.text)
	case len(c.Added) == 0 && !o.ignoreDeletes && !o.ignoreChanges:
		return nil, unsupported("DELTA_SOURCE_IGNORE_DELETE",
			fmt.Sprintf("Version %s of %s deleted rows, those of the file %s for example. "+
				"Set ignoreDeletes to true to go on.", version, d.text, c.Removed.Path),
			"removedFile", c.Removed.Path, "version", version, "dataPath", d.text)
	}
	return c.Added, nil
}

func unsupported(condition, msg string, args ...string) *plan.Error {
	return unsupportedState(condition, "0A000", msg, args...)
}

func unsupportedState(condition, state, msg string, args ...string) *plan.Error {
	e := plan.NewError("org.apache.spark.sql.delta.DeltaUnsupportedOperationException", condition, msg, args...)
	e.State = state
	return e
}

// checkSchema refuses columns that the query does not know, or not so.
func (d *source) checkSchema(version int64, m *delta.Metadata) error {
	if d.log != nil {
		return nil
	}
	schema, err := plan.ParseTypeJSON(m.SchemaString)
	if err != nil {
		return err
	}
	if d.reader.Mapped() || m.Mapped() {
		switch ok, err := d.reader.Reads(m); {
		case err != nil || d.unsafe():
			return err
		case !ok:
			return d.incompatible(version, m)
		}
	}
	schema = plan.RestoreLengths(schema)
	for _, f := range schema.Fields {
		at := connector.FieldIndex(d.schema, f.Name)
		if at < 0 || !d.schema.Fields[at].Type.Unbounded().EqualIgnoringNull(f.Type.Unbounded()) {
			return stateError("DELTA_SCHEMA_CHANGED_WITH_VERSION", "KD007",
				fmt.Sprintf("The columns of %s changed in version %d; start the query again to read them. Before: %s. "+
					"Now: %s.", d.text, version, d.schema.Simple(), schema.Simple()),
				"version", strconv.FormatInt(version, 10), "readSchema", d.schema.Simple(),
				"dataSchema", schema.Simple())
		}
	}
	return nil
}

// unsafe says that columns are read under the names that they have now, whatever they were
// called when their rows were written.
func (d *source) unsafe() bool {
	const key = "spark.databricks.delta.streaming.unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled"
	return strings.EqualFold(d.env.Conf(key), "true")
}

// incompatible is the error for columns that were renamed, dropped or changed in a table
// that maps its columns.
func (d *source) incompatible(version int64, m *delta.Metadata) error {
	return unsupportedState("DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG", "42KD4",
		fmt.Sprintf("Columns of %s were renamed or dropped in version %d, or have another type: it cannot be read "+
			"with those of the query. Give the reader a %s below the checkpoint to go on, or begin with a new "+
			"checkpoint behind that version. Query: %s. Version: %s.",
			d.text, version, schemaLogOption, d.reader.Metadata.SchemaString, m.SchemaString),
		"docLink", "https://docs.delta.io/latest/versioning.html#column-mapping",
		"readSchema", d.reader.Metadata.SchemaString, "incompatibleSchema", m.SchemaString)
}

// step is a piece on the way from a place to another, and the place behind it.
type step struct {
	piece  *piece // nil behind a version without any
	behind offset
}

// walk visits pieces from a place on until visit wants no more or there are none.
func (d *source) walk(ctx context.Context, at offset, visit func(s step) bool) error {
	for {
		if d.atChange(at, visit) {
			return nil
		}
		c, found, err := d.commitOf(ctx, at.Version, at.Starting)
		if err != nil && d.options.lax && !at.Starting {
			if at.Version, err = d.skipGone(at.Version, err); err == nil {
				continue
			}
		}
		if err != nil || !found {
			return err
		}
		if c.change && at.Index == -1 {
			before := at
			before.Index = indexBefore
			visit(step{nil, before})
			return nil
		}
		last := int64(len(c.pieces)) - 1
		for i := max(at.Index, -1) + 1; i <= last; i++ {
			behind := at
			if behind.Index = i; i == last && !c.stays {
				behind = at.next()
			}
			if !visit(step{&c.pieces[i], behind}) {
				return nil
			}
		}
		if !c.stays && !visit(step{nil, at.next()}) {
			return nil
		}
		at = at.next()
	}
}

// commitsLeft are the first and the last version whose commit is there: a stream
// needs no checkpoint to begin with.
func (d *source) commitsLeft() (first, last int64, err error) {
	first, times, err := d.table.Times()
	return first, first + int64(len(times)) - 1, err
}

// skipGone is the first version that is left.
func (d *source) skipGone(version int64, err error) (int64, error) {
	var refused *plan.Error
	if !errors.As(err, &refused) || refused.Condition != "DELTA_MISSING_FILES_UNEXPECTED_VERSION" {
		return version, err
	}
	first, _, err := d.commitsLeft()
	if err == nil {
		d.env.Losef("Versions %d to %d of %s are gone and left out, as failOnDataLoss is false.",
			version, first-1, d.text)
	}
	return first, err
}

func (d *source) Latest(
	ctx context.Context, start connector.Offset, limit connector.Limit,
) (connector.Offset, error) {
	at, ok, err := d.parse(ctx, start)
	if err != nil || !ok {
		return "", err
	}
	end := offset{}
	if limit.End != "" {
		if end, _, err = d.parse(ctx, limit.End); err != nil {
			return "", err
		}
	}
	to, files, bytes := at, int64(0), int64(0)
	err = d.walk(ctx, at, func(s step) bool {
		full := !limit.All && (files >= d.options.files || d.options.bytes > 0 && bytes >= d.options.bytes)
		d.limited = s.piece != nil && full
		// Delta's change feed ends a full batch there, else behind versions without rows.
		if (s.piece != nil || d.options.feed) && full || limit.End != "" && end.before(s.behind) {
			return false
		}
		if to = s.behind; s.piece != nil {
			files, bytes = files+s.piece.files, bytes+s.piece.bytes
		}
		// What the table began with is a batch of its own.
		return !at.Starting || to.Starting
	})
	if err != nil || start == "" && to == at {
		return "", err
	}
	return to.text(), nil
}

// Limited tells whether maxFilesPerTrigger or maxBytesPerTrigger kept files back.
func (d *source) Limited() bool { return d.limited }

// Pin is behind the newest version, or behind the beginning of the table when the
// query has read nothing yet.
func (d *source) Pin(ctx context.Context) (connector.Offset, error) {
	if _, err := d.newest.Refresh(ctx); err != nil {
		return "", err
	}
	d.pinned = true
	end := offset{SourceVersion: 1, TableID: d.reader.Metadata.ID, Version: d.newest.Version, Index: -1}
	return end.next().text(), nil
}

func (d *source) Advance(ctx context.Context, upTo connector.Offset) error {
	var at offset
	if err := json.Unmarshal([]byte(upTo), &at); err != nil {
		return connector.IllegalState("%.100q is no offset of a Delta source", string(upTo))
	}
	for version := range d.commits {
		if version < at.Version {
			delete(d.commits, version)
		}
	}
	if !at.Starting {
		d.initial = nil
	}
	return d.evolve(ctx, at)
}

func (d *source) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	return d.readColumns(ctx, from, to, d.columns)
}

// View reads the same table with other columns.
func (d *source) View(s *plan.Scan) (connector.View, error) {
	v := view{source: d}
	for _, a := range s.Attrs {
		v.columns = append(v.columns, a.Name)
	}
	return v, nil
}

type view struct {
	source  *source
	columns []string
}

func (v view) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	return v.source.readColumns(ctx, from, to, v.columns)
}

func (d *source) readColumns(ctx context.Context, from, to connector.Offset, columns []string) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		pieces, err := d.between(ctx, from, to)
		if err != nil {
			yield(nil, err)
			return
		}
		d.Arrivals.Reset()
		if d.options.feed {
			d.readFeed(ctx, pieces, columns)(yield)
			return
		}
		sizes := make([]int64, len(pieces))
		for i, p := range pieces {
			d.Arrivals.Add(time.UnixMilli(p.add.ModificationTime), float64(p.bytes))
			sizes[i] = p.bytes
		}
		connector.ReadParts(d.env, sizes, func(i int) chunk.Rows {
			return vacuumed(d.reader.ReadFile(ctx, pieces[i].add, columns))
		})(yield)
	}
}

// vacuumed is rows whose error, when their file is gone, names the way out.
func vacuumed(rows chunk.Rows) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows {
			var gone *plan.Error
			if errors.As(err, &gone) && gone.Condition == "FAILED_READ_FILE.FILE_NOT_EXIST" {
				gone.Hint = "VACUUM took a file that the query had not read yet. Let the table keep files for longer " +
					"than the query may be behind (delta.deletedFileRetentionDuration), and begin with a new checkpoint: " +
					"the query then reads the table as it is, or from the startingVersion on that it is given."
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// between are the pieces from a place to another.
func (d *source) between(ctx context.Context, from, to connector.Offset) ([]*piece, error) {
	end, _, err := d.parse(ctx, to)
	if err != nil {
		return nil, err
	}
	var at offset
	if from == "" && !d.begun && d.options.version == "" && d.options.timestamp == "" {
		// The batch is repeated after a crash: it ends in, or just behind, the
		// version that the query began with.
		at = offset{SourceVersion: 1, TableID: end.TableID, Version: end.Version, Index: -1, Starting: true}
		if !end.Starting {
			at.Version--
		}
		d.begin, d.begun = at, true
	} else if at, _, err = d.parse(ctx, from); err != nil {
		return nil, err
	}
	var pieces []*piece
	err = d.walk(ctx, at, func(s step) bool {
		if end.before(s.behind) {
			return false
		}
		if s.piece != nil {
			pieces = append(pieces, s.piece)
		}
		return true
	})
	if err != nil || d.options.exclude == nil {
		return pieces, err
	}
	return d.unexcluded(pieces)
}

// unexcluded are the pieces but for the files that excludeRegex names.
func (d *source) unexcluded(pieces []*piece) ([]*piece, error) {
	var kept []*piece
	for _, p := range pieces {
		if p.add != nil {
			out, err := d.options.exclude.Match(p.add.Path)
			if err != nil {
				return nil, err
			}
			if !out {
				kept = append(kept, p)
			}
			continue
		}
		some := *p
		some.feed = nil
		for _, f := range p.feed {
			out, err := d.options.exclude.Match(f.Path)
			if err != nil {
				return nil, err
			}
			if !out {
				some.feed = append(some.feed, f)
			}
		}
		kept = append(kept, &some)
	}
	return kept, nil
}

// Metrics are what is left to read, as far as the log is known.
func (d *source) Metrics(consumed connector.Offset) map[string]string {
	files, bytes := int64(0), int64(0)
	at, ok, err := d.parse(context.Background(), consumed)
	if err == nil && ok {
		err = d.walk(context.Background(), at, func(s step) bool {
			if s.piece != nil {
				files, bytes = files+s.piece.files, bytes+s.piece.bytes
			}
			return true
		})
	}
	if err != nil || !ok {
		return nil
	}
	return map[string]string{
		"numFilesOutstanding": strconv.FormatInt(files, 10), "numBytesOutstanding": strconv.FormatInt(bytes, 10),
	}
}
