package stream

import (
	"context"
	"log/slog"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/exec"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
)

// Config is all that a query needs. Session fills it after analysis.
type Config struct {
	Name string
	// Plan is resolved and legal; its streaming Scans are the sources, in the
	// order of the plan.
	Plan    plan.Node
	Mode    plan.OutputMode
	Trigger Trigger

	Checkpoint connector.Place
	// Temporary checkpoints are removed when the query ends without failure.
	Temporary bool
	// NoResume refuses a checkpoint that has offsets: the sink forgets what it
	// held (memory in append mode, console).
	NoResume bool

	// Refuse may end the query before its first trigger, in its own goroutine, for
	// what Spark finds out as late; nil refuses nothing.
	Refuse func() error
	// OpenSink opens the sink; its error fails the start.
	OpenSink func(ctx context.Context, queryID string) (connector.Sink, error)
	// Format finds the format of a source or of a static relation.
	Format func(name string) (*connector.Format, bool)
	Env    *connector.Env
	// Python runs functions of the user; nil refuses them.
	Python *exec.Python
	// Output takes what those functions and the sink's print; nil keeps nothing.
	Output *monitor.Output
	// Partitions is spark.sql.shuffle.partitions; the offset log's value wins.
	Partitions int
	// Pinned holds the session's values of PinnedKeys; missing ones are Spark's
	// defaults.
	Pinned map[string]string

	// Notes are told as events of the query when it starts.
	Notes []string
	// Settings are those that the run is told by, without secrets.
	Settings []monitor.Setting

	SessionID string
	JobTags   []string     // of the started event
	Bus       *monitor.Bus // of the session; nil for none
	// Hold keeps events back until Record().Announce.
	Hold bool

	// Explain prints a plan for explain and failure texts; nil prints nothing.
	Explain func(n plan.Node, extended bool) string
}

// Options configure a Manager.
type Options struct {
	Log *slog.Logger // default: slog.Default()
	// Crash is called at the steps of a batch, see the Step constants; cmd kills the process
	// in it when WEIR_CRASH_AT says so. Any goroutine of a query calls it. Nil does nothing.
	Crash func(step string)
	// AskEnded is for how long sources of a query that was stopped or failed are asked what
	// waits in them, once a minute; 0: they are not.
	AskEnded time.Duration
}
