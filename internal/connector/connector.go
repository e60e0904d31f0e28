package connector

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Env is what a connector may ask of the engine.
type Env struct {
	Files       *vfs.Resolver // turns every path a user writes into a place
	Eval        *function.Env
	Conf        func(key string) string // the session's effective setting
	Parallelism int                     // spark.default.parallelism
	Now         func() time.Time
	// Console is where the console sink prints: the server's standard output.
	// Nil drops what it prints.
	Console io.Writer
	// Condition makes a test of rows out of a condition over columns: it picks
	// those for which the condition is true. Nil when nothing is filtered early.
	// The test belongs to one goroutine.
	Condition func(cond plan.Expr, columns []*plan.Attribute) (func(*chunk.Chunk) (chunk.Sel, error), error)
	// Compute makes SQL expressions over columns of a schema ready to be computed, now
	// being the time that they see. Nil where there is no SQL.
	Compute func(texts []string, columns plan.Type, now time.Time) (*Computed, error)
	// Snapshots are of Delta tables that were read before; nil keeps none.
	Snapshots *delta.Cache
	// NextWrite names the next write into the table of a directory, where the function of
	// a foreachBatch is at work that shall write each batch once: version is the batch.
	// Nil elsewhere.
	NextWrite func(dir string) (app string, version int64)
	// Warn is told what was skipped or left undone without stopping a query: a
	// corrupt file that may be ignored, a checkpoint of a table. Nil drops it.
	Warn func(text string)
	// Lost is told of rows that were gone before they were read, where the query goes on
	// without them; Warn is told as well. Nil drops it.
	Lost func(text string)
}

// Losef says that rows are gone for good.
func (e *Env) Losef(format string, args ...any) {
	e.Warnf(format, args...)
	if e.Lost != nil {
		e.Lost(fmt.Sprintf(format, args...))
	}
}

func (e *Env) Warnf(format string, args ...any) {
	if e.Warn != nil {
		e.Warn(fmt.Sprintf(format, args...))
	}
}

// Format is an entry of the shelf. A nil function says that the format cannot
// do that, which session reports by name.
type Format struct {
	Name    string
	Aliases []string // such as org.apache.spark.sql.execution.datasources.json
	Doc     string
	Options []Option
	// Metadata are hidden columns that a query may name (_metadata); a Scan that
	// wants one has it among its Attrs.
	Metadata []plan.Field

	// Describe finds schema and partition columns of what is to be read, and
	// checks options that Spark checks at load.
	Describe func(ctx context.Context, env *Env, r *plan.Read) (*plan.Relation, error)
	// Scan reads everything once. Only the columns of s.Attrs are wanted.
	Scan func(ctx context.Context, env *Env, s *plan.Scan) chunk.Rows
	// Source opens a streaming source. It is called in the query's own
	// goroutine, so its errors fail the query and not its start.
	Source func(ctx context.Context, env *Env, s *plan.Scan, log Place) (Source, error)
	// Sink opens a streaming sink; its errors fail the start.
	Sink func(ctx context.Context, env *Env, spec SinkSpec) (Sink, error)
	// SinkMode refuses an output mode that the sink cannot take, before anything
	// else of a query is looked at; nil when it takes them all or says so later.
	SinkMode func(mode plan.OutputMode) error
	// Write stores the rows of a batch query.
	Write func(ctx context.Context, env *Env, spec WriteSpec, rows chunk.Rows) error
	// Create makes a table without rows, or gives the table that is there other
	// columns and no rows. Nil for formats whose empty table is a directory.
	Create func(ctx context.Context, env *Env, spec CreateSpec) error
}

// Option documents one option of a format; unknown ones are accepted and
// reported, as Spark does.
type Option struct{ Name, Default, Doc string }

// Options are options from a table: name, default and meaning of each.
func Options(table [][3]string) []Option {
	list := make([]Option, len(table))
	for i, row := range table {
		list[i] = Option{row[0], row[1], row[2]}
	}
	return list
}

// Place is a directory that belongs to whom it is given: a source's private log
// below a checkpoint, for instance.
type Place struct {
	FS  vfs.FS
	Dir string
}

// Offset is a place in a source, as JSON text without line breaks, exactly as
// it stands in offsets/N. The empty Offset is "nothing yet".
type Offset string

// Limit is what one batch may take.
type Limit struct {
	// All says that read limits are ignored (Trigger.Once).
	All bool
	// End is the last offset a batch may reach, "" for none: the end that
	// AvailableNow pinned.
	End Offset
}

// Source is a replayable input; see C1 to C3. One goroutine calls it.
type Source interface {
	// Describe is the text of sources[].description in progress.
	Describe() string
	// Latest is where a batch that starts at start may end. It equals start when
	// there is nothing new, and is "" while there was never anything.
	Latest(ctx context.Context, start Offset, limit Limit) (Offset, error)
	// Read yields the rows of [from, to), columns as in the Scan's Attrs.
	Read(ctx context.Context, from, to Offset) chunk.Rows
	// Advance says that every row below upTo is durably processed.
	Advance(ctx context.Context, upTo Offset) error
	Close() error
}

// Viewer is a source that can be read in several ways: View is the source as
// another Scan of the same relation wants it, with columns and filters of its own.
type Viewer interface {
	View(s *plan.Scan) (View, error)
}

// View reads a source as one of its scans wants it, as Source.Read does.
type View interface {
	Read(ctx context.Context, from, to Offset) chunk.Rows
}

// Pinner is a source that AvailableNow can bound: Pin returns the end as of now,
// or "" when the source itself keeps to it from then on.
type Pinner interface {
	Pin(ctx context.Context) (Offset, error)
}

// Reporter is a source that knows its newest offset apart from what a batch
// takes: sources[].latestOffset in progress, which is null for the others.
type Reporter interface {
	ReportLatest(ctx context.Context) (Offset, error)
}

// Metered is a source with metrics of its own for sources[].metrics.
type Metered interface {
	Metrics(consumed Offset) map[string]string
}

// Waker is a source that knows when asking again makes sense. Others are asked
// every spark.sql.streaming.pollingDelay.
type Waker interface {
	NextCheck(now time.Time) time.Time
}

// Keeper is a source that remembers what Spark's source of that name does not.
// It gets a directory for it beside the state, for its log has Spark's layout.
type Keeper interface {
	KeepIn(place Place) error
}

// Limited is a source of which a batch may take only a part, by its options: Limited
// tells whether the last Latest left something for later batches.
type Limited interface {
	Limited() bool
}

// Waiter is a source that may have to wait for something outside, such as a
// broker. waiting is told why, from any goroutine, each time it tries again.
type Waiter interface {
	OnWait(waiting func(why string))
}

// Finisher is a source that tells others how far a query is. Finished is called
// when the batch that ends at upTo is committed; nothing of the query depends on
// what it does, so its error is logged and no more.
type Finisher interface {
	Finished(ctx context.Context, upTo Offset) error
}

// SinkSpec is what writeStream says of its target.
type SinkSpec struct {
	Format     string
	Schema     plan.Type // of the rows that will be written
	Options    plan.Options
	Path       string // "" for sinks without one
	Table      *plan.TableID
	Partitions []string
	Mode       plan.OutputMode
	QueryName  string
	QueryID    string // survives restarts: the idempotency key of Delta
}

// Sink takes batches; see C4 and C5. One goroutine calls it.
type Sink interface {
	// Describe is the text of sink.description in progress.
	Describe() string
	// Write stores a batch and returns the number of rows for
	// sink.numOutputRows, -1 for sinks where Spark does not say it.
	Write(ctx context.Context, batch Batch) (rows int64, err error)
	Close() error
}

// Batch is one micro-batch on its way into a sink.
type Batch struct {
	ID   int64
	Rows chunk.Rows
	// Parts is how many partitions the rows have, known when they have ended.
	Parts func() int
}

// Placer is a sink that says what it makes of the partitions of rows; the others
// take them as they come (chunk.PartsSeen).
type Placer interface {
	Placement() chunk.Placement
}

// Following is a sink that keeps its batches in a row without gaps. It is told at a start
// which batch was committed last, -1 for none, and with which batches resets of the
// checkpoint went on: those that are missing right before one of them read nothing.
type Following interface {
	Follow(committed int64, resets []int64) error
}

// Beginner is a sink that may refuse its options only when the query runs.
type Beginner interface {
	// Begin is called once, before anything of a batch is written.
	Begin() error
}

// Readable is a sink whose content is a table of the session (memory).
type Readable interface {
	Contents() []*chunk.Chunk
}

// Skipper is an idempotent sink that can say before anything is computed that
// it already holds a batch.
type Skipper interface {
	Holds(ctx context.Context, batchID int64) (bool, error)
}

// CreateSpec is what CREATE TABLE says.
type CreateSpec struct {
	Schema     plan.Type // CHAR, VARCHAR and NOT NULL included
	Path       string
	Partitions []string
	Clustering []string // columns that rows are kept together by
	Comment    string
	Properties map[string]string
	Managed    bool // the catalog owns the directory
	Replace    bool // the table that is there becomes this one
	// Statement is what makes the table, as its history tells it: CREATE TABLE, REPLACE
	// TABLE, CREATE OR REPLACE TABLE.
	Statement string
}

// WriteSpec is what df.write says of its target.
type WriteSpec struct {
	Schema     plan.Type // of the rows; a table that the write makes has its CHAR and VARCHAR
	Mode       plan.SaveMode
	Path       string
	Options    plan.Options
	Partitions []string
	// Replaces says which rows of a Delta table an overwrite replaces; nil for all.
	Replaces *DeltaReplacement
	// Properties are those of a table that the write makes.
	Properties map[string]string
	// Make is what a statement says of the table that it makes, or puts in the place of
	// another, with these rows; nil for a write into a table or a place.
	Make *CreateSpec
}
