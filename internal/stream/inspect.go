package stream

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// Checkpoint is what a checkpoint says of its query, and where that would go on.
type Checkpoint struct {
	ID string // of the query
	// Begun and Done are the newest batches of the offset and of the commit log, -1
	// without any.
	Begun, Done int64
	// Kept is how many batches the offset log has.
	Kept int
	// Next is the batch that a start would run first; Replay says that it was begun
	// before and runs again over the same input.
	Next   int64
	Replay bool
	// PlannedAt is when the newest batch was planned; zero without one.
	PlannedAt time.Time
	Watermark time.Time // of the next batch; zero without one
	Sources   []SourcePosition
	Confs     map[string]string // what batches are pinned to
	State     bool              // there is state
	// Warning is a gap in the logs that is proven to be harmless.
	Warning string
	// Problem is why a start would be refused; nil when it would not.
	Problem error
}

// SourcePosition is where a source stands: From to To is the input of the newest batch.
type SourcePosition struct {
	Name     string // "" where the log goes by position
	From, To connector.Offset
}

// Inspect reads a checkpoint, of a stopped or of a running query, and changes nothing.
// What cannot be read is an error; what a start would refuse is the problem of a
// checkpoint.
func Inspect(place connector.Place) (*Checkpoint, error) {
	name := path.Join(place.Dir, metadataName)
	data, err := connector.ReadChecked(place.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := refuseOrphanLogs(place); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s is no checkpoint: it has no file %s", place.Dir, metadataName)
	}
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{}
	if c.ID, err = parseMetadata(name, data); err != nil {
		return nil, err
	}
	offsets, commits := &batchLog{place: below(place, offsetsName)}, &batchLog{place: below(place, commitsName)}
	for _, log := range []*batchLog{offsets, commits} {
		if log.ids, err = connector.BatchIDs(log.place); err != nil {
			return nil, err
		}
	}
	f, err := findIn(place, offsets, commits)
	if err != nil {
		return nil, err
	}
	c.Begun, c.Done, c.Kept, c.State = f.newest, f.commits, len(offsets.ids), f.state
	c.judge(f)
	if refused, ok := c.Problem.(*plan.Error); ok {
		c.Problem = explained(place, refused)
	}
	return c, nil
}

// judge asks the rule that every start asks. Names of sources are those of the log, for
// a plan that would have others is not known here.
func (c *Checkpoint) judge(f found) {
	var names []string
	if f.offsets != nil {
		c.PlannedAt, c.Confs = time.UnixMilli(f.offsets.timestampMs), f.offsets.confs
		for _, s := range f.offsets.sources {
			names = append(names, s.name)
			c.Sources = append(c.Sources, SourcePosition{Name: s.name, To: s.offset})
		}
	}
	r, refused := resume(f, names)
	if refused != nil {
		c.Problem = refused
		return
	}
	c.Next, c.Replay, c.Warning = r.batch, r.replay, r.warn
	if r.watermarkMs > 0 {
		c.Watermark = time.UnixMilli(r.watermarkMs)
	}
	if f.before == nil {
		return
	}
	if from, err := f.before.arrange(names); err == nil {
		for i := range c.Sources {
			c.Sources[i].From = from[i]
		}
	}
}
