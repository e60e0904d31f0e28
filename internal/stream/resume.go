package stream

import (
	"fmt"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// found is what a checkpoint holds when a run begins.
type found struct {
	newest  int64        // of the offset log, -1 without one
	offsets *offsetEntry // offsets/newest
	before  *offsetEntry // offsets/newest-1, nil when it is missing
	earlier *offsetEntry // offsets/newest-2, likewise
	commits int64        // the newest of the commit log, -1 without one
	commit  commitEntry  // commits/commits
	state   bool         // state files exist
}

// resumption is where a run begins.
type resumption struct {
	batch  int64 // the first batch to run
	replay bool  // it was begun before: its ranges are fixed
	start  []connector.Offset
	end    []connector.Offset // of a replay, else equal to start

	watermarkMs int64
	beforeMs    int64             // the watermark of the batch before
	timestampMs int64             // of the newest batch
	confs       map[string]string // nil for a new query
	// warn is a gap in the logs that is proven to be harmless.
	warn string
}

// resume decides where a run begins, or why it must not. The rule is Spark's:
// offsets/N without commits/N means that batch N runs again with the same
// ranges. Spark goes on silently when commits are ahead of offsets; weir does
// not, because the ranges of a batch that was done are lost then.
//
// names are the names of the plan's sources in its order.
func resume(f found, names []string) (resumption, *plan.Error) {
	none := make([]connector.Offset, len(names))
	switch {
	case f.newest < 0 && f.commits < 0 && !f.state:
		return resumption{start: none, end: none}, nil
	case f.newest < 0 && f.commits >= 0:
		return resumption{}, assertion(fmt.Sprintf(
			"the checkpoint has commits up to batch %d but no offsets.", f.commits))
	case f.newest < 0:
		return resumption{}, assertion("the checkpoint has state but no offsets.")
	case f.commits > f.newest:
		return resumption{}, assertion(fmt.Sprintf(
			"commits reach batch %d, but offsets end at batch %d.", f.commits, f.newest))
	}
	if err := checkOrder(f.before, f.offsets, f.newest); err != nil {
		return resumption{}, err
	}
	if err := checkOrder(f.earlier, f.before, f.newest-1); err != nil {
		return resumption{}, err
	}
	end, err := f.offsets.arrange(names)
	if err != nil {
		return resumption{}, err
	}
	start := none
	if f.newest > 0 && f.before == nil {
		return resumption{}, illegalState("batch %d doesn't exist: "+
			"the checkpoint has offsets/%d, but the file before it is gone", f.newest-1, f.newest)
	}
	if f.newest > 0 {
		if start, err = f.before.arrange(names); err != nil {
			return resumption{}, err
		}
	}
	r := resumption{end: end, watermarkMs: f.offsets.watermarkMs, timestampMs: f.offsets.timestampMs,
		confs: f.offsets.confs}
	if r.confs == nil {
		r.confs = map[string]string{}
	}
	if f.commits == f.newest {
		r.batch, r.start = f.newest+1, end
		r.beforeMs = r.watermarkMs
		r.watermarkMs = max(r.watermarkMs, f.commit.nextWatermarkMs)
		return r, nil
	}
	r.batch, r.replay, r.start = f.newest, true, start
	if f.before != nil {
		r.beforeMs = f.before.watermarkMs
	}
	if f.commits < f.newest-1 {
		r.warn = fmt.Sprintf("commits end at batch %d, but offsets/%d proves that batch %d was done",
			f.commits, f.newest, f.newest-1)
	}
	return r, nil
}
