package stream

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// input is one source of a query and how far it was read.
type input struct {
	scan     *plan.Scan
	source   connector.Source
	describe string

	// start and end bound the batch at hand; between batches they are equal.
	start, end connector.Offset
	latest     connector.Offset // what the source reported, "" for nothing
	rows       atomic.Int64     // read in the batch at hand
}

// inputs are the sources of a query. A plan may read one source in several
// places (a self-union); the logs then carry its offset once for each of them,
// as Spark's do.
type inputs struct {
	list  []*input
	slots []int // of each line of the logs: the input it is about
	feeds map[*plan.Scan]*feed
}

// feed is one scan of the plan, which reads an input.
type feed struct {
	from *input
	view connector.View // how the scan reads the source, once that is open
	// cols picks the scan's columns from the view's; nil takes all.
	cols []int
	most int64 // rows of a partition that the scan wants; 0 is all
	// flight is told of the rows that are read.
	flight *monitor.Flight
}

// findInputs lists the sources of a plan.
func findInputs(n plan.Node) *inputs {
	in := &inputs{feeds: map[*plan.Scan]*feed{}}
	var uses [][]*plan.Scan // of each input, its scans
	last := 0
	for _, s := range streamingScans(n) {
		at := slices.IndexFunc(uses, func(same []*plan.Scan) bool { return sameSource(same[0], s) })
		if at < 0 {
			at = len(uses)
			uses = append(uses, nil)
		}
		uses[at] = append(uses[at], s)
		if s.Place == 0 || s.Place != last {
			in.slots = append(in.slots, at)
		}
		last = s.Place
	}
	for _, scans := range uses {
		from := &input{scan: widest(scans)}
		in.list = append(in.list, from)
		for _, s := range scans {
			in.feeds[s] = &feed{from: from, cols: columnsOf(s, from.scan), most: s.Most}
		}
	}
	return in
}

// streamingScans are those of a plan in the order of the logs' lines.
func streamingScans(n plan.Node) []*plan.Scan {
	var scans []*plan.Scan
	plan.WalkNodes(n, func(n plan.Node) bool {
		if s, ok := n.(*plan.Scan); ok && s.Streaming {
			scans = append(scans, s)
		}
		return true
	})
	slices.SortStableFunc(scans, func(a, b *plan.Scan) int { return cmp.Compare(a.Place, b.Place) })
	return scans
}

// sameSource tells whether two places of a plan read one source: the two sides
// of a self-join do, two loads of one path do not.
func sameSource(a, b *plan.Scan) bool { return a == b || a.Source != 0 && a.Source == b.Source }

// widest is a scan that yields what every scan of a source wants.
func widest(scans []*plan.Scan) *plan.Scan {
	wide := *scans[0]
	if len(scans) > 1 {
		wide.Filters = nil // they are those of one
	}
	for _, s := range scans[1:] {
		for _, a := range s.Attrs {
			if indexByName(wide.Attrs, a.Name) < 0 {
				wide.Attrs = append(slices.Clip(wide.Attrs), a)
			}
		}
	}
	return &wide
}

func indexByName(attrs []*plan.Attribute, name string) int {
	return slices.IndexFunc(attrs, func(a *plan.Attribute) bool { return a.Name == name })
}

func columnsOf(s, wide *plan.Scan) []int {
	cols := make([]int, len(s.Attrs))
	same := len(s.Attrs) == len(wide.Attrs)
	for i, a := range s.Attrs {
		cols[i] = indexByName(wide.Attrs, a.Name)
		same = same && cols[i] == i
	}
	if same {
		return nil
	}
	return cols
}

// open opens every source. Each has a private log below the checkpoint,
// numbered by the first of its lines in the logs, on logs. waiting is told, from
// any goroutine, why a source waits.
func (in *inputs) open(ctx context.Context, c *Config, logs vfs.FS, waiting func(source, why string)) error {
	for i, from := range in.list {
		format, ok := c.Format(from.scan.Relation.Format)
		if !ok || format.Source == nil {
			return plan.Unsupported(fmt.Sprintf("reading a stream of format %s", from.scan.Relation.Format))
		}
		log := below(c.Checkpoint, path.Join(sourcesName, strconv.Itoa(i)))
		log.FS = logs
		source, err := format.Source(ctx, c.Env, from.scan, log)
		if err != nil {
			return err
		}
		from.source, from.describe = source, source.Describe()
		if s, ok := source.(connector.Keeper); ok {
			if err := s.KeepIn(below(c.Checkpoint, path.Join(stateName, "sources", strconv.Itoa(i)))); err != nil {
				return err
			}
		}
		if w, ok := source.(connector.Waiter); ok {
			w.OnWait(func(why string) { waiting(from.describe, why) })
		}
	}
	for s, f := range in.feeds {
		if err := f.look(s); err != nil {
			return err
		}
	}
	return nil
}

// look finds how a scan reads its source.
func (f *feed) look(s *plan.Scan) (err error) {
	f.view = f.from.source
	if v, ok := f.from.source.(connector.Viewer); ok {
		f.cols = nil
		f.view, err = v.View(s)
	}
	return err
}

// names are the sources' own names in the order of the logs' lines.
func (in *inputs) names() []string {
	names := make([]string, len(in.slots))
	for i, slot := range in.slots {
		names[i] = in.list[slot].scan.SourceName
	}
	return names
}

// restore sets the bounds of the batch at hand; both are in the order of the
// logs' lines.
func (in *inputs) restore(start, end []connector.Offset) error {
	known := make([]bool, len(in.list))
	for i, slot := range in.slots {
		from := in.list[slot]
		if known[slot] && (from.start != start[i] || from.end != end[i]) {
			return assertion(fmt.Sprintf("%s is read in several places, for which the checkpoint has "+
				"different offsets: it was written by another query.", from.describe))
		}
		from.start, from.end, known[slot] = start[i], end[i], true
	}
	return nil
}

// logged are the ends in the order of the logs' lines.
func (in *inputs) logged() []sourceOffset {
	out := make([]sourceOffset, len(in.slots))
	for i, slot := range in.slots {
		out[i].offset = in.list[slot].end
	}
	return out
}

func (in *inputs) starts() []connector.Offset {
	out := make([]connector.Offset, len(in.list))
	for i, from := range in.list {
		out[i] = from.start
	}
	return out
}

func (in *inputs) descriptions() []string {
	out := make([]string, len(in.list))
	for i, from := range in.list {
		out[i] = from.describe
	}
	return out
}

// settle moves every input behind the batch at hand.
func (in *inputs) settle() {
	for _, from := range in.list {
		from.start = from.end
	}
}

// rows yields the range of the batch at hand for one place of the plan.
func (f *feed) rows(ctx context.Context, first func()) chunk.Rows {
	if f.from.start == f.from.end {
		return chunk.One()
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		taken := map[int]int64{}
		for c, err := range f.view.Read(ctx, f.from.start, f.from.end) {
			if err != nil {
				yield(nil, err)
				return
			}
			if c.Rows == 0 { // it tells of partitions
				if !yield(c, nil) {
					return
				}
				continue
			}
			if f.most > 0 {
				c = c.Slice(0, int(min(int64(c.Rows), f.most-taken[c.Part])))
				taken[c.Part] += int64(c.Rows)
			}
			f.from.rows.Add(int64(c.Rows))
			f.flight.Read(int64(c.Rows))
			first()
			if !yield(f.pick(c), nil) {
				return
			}
		}
	}
}

func (f *feed) pick(c *chunk.Chunk) *chunk.Chunk {
	if f.cols == nil {
		return c
	}
	picked := &chunk.Chunk{Cols: make([]*chunk.Vector, len(f.cols)), Rows: c.Rows, Part: c.Part}
	for i, col := range f.cols {
		picked.Cols[i] = c.Cols[col]
	}
	return picked
}

func below(p connector.Place, dir string) connector.Place {
	return connector.Place{FS: p.FS, Dir: path.Join(p.Dir, dir)}
}
