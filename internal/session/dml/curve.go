package dml

import (
	"context"
	"sort"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/rowkey"
)

// ZORDER BY puts rows that are close in several columns into the same files. A
// sample of the rows cuts each column into ranges of as many rows; the numbers of a
// row's ranges, their bits interleaved, are its place on Morton's curve.

const (
	// curveSample is how many rows of a partition are looked at.
	curveSample = 10000
	// maxCurveColumns leaves each column three bits.
	maxCurveColumns = 21
	curveTable      = "files of an OPTIMIZE"
)

// curved are rows of files in the order of ZORDER BY.
func (o *optimization) curved(ctx context.Context, files []*delta.Add) (chunk.Rows, error) {
	o.files = files
	exprs := make([]plan.Expr, len(o.columns))
	for i, a := range o.columns {
		exprs[i] = a
	}
	if len(o.order) == 1 {
		sorted := plan.NewSort(plan.NewProject(o.scan, exprs...), true, ascending(o.order[0]))
		return o.Query(ctx, sorted)
	}
	c := &curve{optimization: o, place: o.analyzer.NewColumn("place", plan.Long)}
	if err := c.sample(ctx); err != nil {
		return nil, err
	}
	scan := *o.scan
	scan.Relation.Format = curveTable
	scan.Attrs = append(o.columns[:len(o.columns):len(o.columns)], c.place)
	o.Own(&connector.Format{Name: curveTable, Scan: c.rows})
	return o.Query(ctx, plan.NewProject(plan.NewSort(&scan, true, ascending(c.place)), exprs...))
}

func ascending(a *plan.Attribute) *plan.SortOrder { return &plan.SortOrder{Child: a, NullsFirst: true} }

// curve is where the rows of a partition stand.
type curve struct {
	*optimization
	place  *plan.Attribute
	bounds []*rowkey.SortKeys // of the ranges of each column
	bits   int                // of the number of a range
}

// sample cuts the columns into ranges.
func (c *curve) sample(ctx context.Context) error {
	c.bits = min(14, 63/len(c.order))
	names := make([]string, len(c.order))
	seen := make([]*chunk.Vector, len(c.order))
	for i, a := range c.order {
		names[i], seen[i] = a.Name, chunk.New(a.Of.Unbounded(), curveSample)
	}
	stride := int64(1)
	if total, ok := rowsIn(c.files); ok {
		stride = max(1, total/curveSample)
	}
	next := int64(0)
	scan := deltatable.Scan{Snapshot: c.snapshot, Files: c.files, Columns: names}
	for rows, err := range scan.Rows(ctx, c.Files) {
		if err != nil {
			return err
		}
		for ; next < int64(rows.Rows); next += stride {
			for i, v := range rows.Cols {
				seen[i].AppendFrom(v, int(next))
			}
		}
		next -= int64(rows.Rows)
		if seen[0].Len >= 2*curveSample {
			break
		}
	}
	for i, v := range seen {
		c.bounds = append(c.bounds, c.cut(v, ascending(c.order[i])))
	}
	return nil
}

// cut picks the values of a sample that are bounds of ranges.
func (c *curve) cut(v *chunk.Vector, order *plan.SortOrder) *rowkey.SortKeys {
	var all, bounds rowkey.SortKeys
	if v.Len == 0 {
		return &bounds
	}
	orders := []*plan.SortOrder{order}
	all.Add([]*chunk.Vector{v}, orders)
	all.Sort()
	rows := all.Rows(0, all.Len(), nil)
	ranges := min(1<<c.bits, len(rows))
	picked := chunk.New(v.Type, ranges)
	for i := 1; i < ranges; i++ {
		picked.AppendFrom(v, int(rows[i*len(rows)/ranges]))
	}
	if picked.Len > 0 {
		bounds.Add([]*chunk.Vector{picked}, orders)
	}
	return &bounds
}

// rows are those of the files with their places.
func (c *curve) rows(ctx context.Context, env *connector.Env, scan *plan.Scan) chunk.Rows {
	names := make([]string, len(c.columns))
	for i, a := range c.columns {
		names[i] = a.Name
	}
	return deltatable.Scan{
		Snapshot: c.snapshot, Files: c.files, Columns: names,
		Placed: func(rows *chunk.Chunk, _ int, _ int64) *chunk.Chunk {
			out := &chunk.Chunk{Rows: rows.Rows, Part: rows.Part}
			for _, a := range scan.Attrs {
				out.Cols = append(out.Cols, c.column(rows, a))
			}
			return out
		},
	}.Rows(ctx, env)
}

func (c *curve) column(rows *chunk.Chunk, a *plan.Attribute) *chunk.Vector {
	for i, own := range c.columns {
		if own.ID == a.ID {
			return rows.Cols[i]
		}
	}
	return c.places(rows)
}

func (c *curve) places(rows *chunk.Chunk) *chunk.Vector {
	out := chunk.Make(plan.Long, rows.Rows)
	places := chunk.Values[int64](out)
	for k, a := range c.order {
		var keys rowkey.SortKeys
		keys.Add([]*chunk.Vector{c.column(rows, a)}, []*plan.SortOrder{ascending(a)})
		bounds := c.bounds[k]
		for i := range places {
			number := sort.Search(bounds.Len(), func(b int) bool {
				return rowkey.Compare(bounds, int32(b), &keys, int32(i)) > 0
			})
			for bit := range c.bits {
				places[i] |= int64(number>>bit&1) << (bit*len(c.order) + k)
			}
		}
	}
	return out
}
