package stream

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
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
	slots []int // of each place in the plan: the input it reads
	feeds map[*plan.Scan]feed
}

// feed is one place of the plan that reads an input.
type feed struct {
	from *input
	// cols picks the place's columns from the source's; nil takes all.
	cols []int
}

// findInputs lists the sources of a plan.
func findInputs(n plan.Node) *inputs {
	in := &inputs{feeds: map[*plan.Scan]feed{}}
	var scans [][]*plan.Scan // of each input, its places
	plan.WalkNodes(n, func(n plan.Node) bool {
		s, ok := n.(*plan.Scan)
		if !ok || !s.Streaming {
			return true
		}
		at := slices.IndexFunc(scans, func(same []*plan.Scan) bool { return sameSource(same[0], s) })
		if at < 0 {
			at = len(scans)
			scans = append(scans, nil)
		}
		scans[at] = append(scans[at], s)
		in.slots = append(in.slots, at)
		return true
	})
	for _, places := range scans {
		from := &input{scan: widest(places)}
		in.list = append(in.list, from)
		for _, s := range places {
			in.feeds[s] = feed{from, columnsOf(s, from.scan)}
		}
	}
	return in
}

// sameSource tells whether two places of a plan read one source: the two sides
// of a self-join do, two loads of one path do not.
func sameSource(a, b *plan.Scan) bool { return a == b || a.Source != 0 && a.Source == b.Source }

// widest is a scan that yields what every place wants.
func widest(places []*plan.Scan) *plan.Scan {
	wide := *places[0]
	for _, s := range places[1:] {
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
// numbered by its first place in the plan.
func (in *inputs) open(ctx context.Context, c *Config) error {
	for i, from := range in.list {
		format, ok := c.Format(from.scan.Relation.Format)
		if !ok || format.Source == nil {
			return plan.Unsupported(fmt.Sprintf("reading a stream of format %s", from.scan.Relation.Format))
		}
		log := below(c.Checkpoint, path.Join("sources", strconv.Itoa(i)))
		source, err := format.Source(ctx, c.Env, from.scan, log)
		if err != nil {
			return err
		}
		from.source, from.describe = source, source.Describe()
	}
	return nil
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
func (f feed) rows(ctx context.Context, first func()) chunk.Rows {
	if f.from.start == f.from.end {
		return chunk.One()
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range f.from.source.Read(ctx, f.from.start, f.from.end) {
			if err != nil {
				yield(nil, err)
				return
			}
			f.from.rows.Add(int64(c.Rows))
			first()
			if !yield(f.pick(c), nil) {
				return
			}
		}
	}
}

func (f feed) pick(c *chunk.Chunk) *chunk.Chunk {
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
