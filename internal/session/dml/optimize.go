package dml

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
)

// Sizes of files in bytes: smaller ones are packed together, up to the bigger one.
const (
	smallFileKey = "spark.databricks.delta.optimize.minFileSize"
	BigFileKey   = "spark.databricks.delta.optimize.maxFileSize"
	fileSize     = 1 << 30
)

// Optimize is OPTIMIZE of a table. It gives the row of the answer.
func Optimize(ctx context.Context, st *Statement, table plan.Node, c *plan.Optimize) ([]plan.Value, error) {
	t, err := st.target(ctx, "OPTIMIZE", table)
	if err != nil {
		return nil, err
	}
	o := &optimization{target: t}
	if err := t.snapshot.CheckRearrangeable(); err != nil {
		return nil, err
	}
	if err := o.choose(c); err != nil {
		return nil, err
	}
	if err := o.write(ctx); err != nil {
		return nil, err
	}
	return []plan.Value{"file:" + t.snapshot.Dir, o.metrics()}, nil
}

// optimization is an OPTIMIZE and what it counts.
type optimization struct {
	*target
	where  delta.Param
	order  []*plan.Attribute // ZORDER BY
	big    int64
	bins   []delta.Bin
	looked int // files
	made   delta.Rewritten
	ended  time.Time
}

// choose finds the files to write anew.
func (o *optimization) choose(c *plan.Optimize) error {
	if err := o.condition(c.Where); err != nil {
		return err
	}
	if err := o.zOrder(c.ZOrder); err != nil {
		return err
	}
	small, err := o.size(smallFileKey)
	if err != nil {
		return err
	}
	if o.big, err = o.size(BigFileKey); err != nil {
		return err
	}
	o.looked = len(o.files)
	if len(o.order) > 0 {
		o.bins = o.snapshot.WholeBins(o.files)
		return nil
	}
	o.bins = o.snapshot.Bins(o.files, small, o.big)
	return nil
}

func (o *optimization) size(key string) (int64, error) {
	text := o.Conf(key)
	if text == "" {
		return fileSize, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, plan.NewError("java.lang.IllegalArgumentException", "", fmt.Sprintf(
			"%s is %q; it takes a number of bytes above 0.", key, text))
	}
	return n, nil
}

// condition picks the partitions of a WHERE.
func (o *optimization) condition(where []plan.Expr) error {
	o.where = predicate()
	if len(where) == 0 {
		o.files = o.snapshot.Files()
		return nil
	}
	texts := make([]string, len(where))
	all := where[0]
	for i, e := range where {
		texts[i] = plan.JSONText(plan.TreeText(e))
		if i > 0 {
			all = plan.Fn("and", all, e)
		}
	}
	cond, err := o.target.condition(all)
	if err != nil {
		return err
	}
	for _, a := range o.columns {
		if plan.References(cond)[a.ID] && !o.snapshot.Partitioned(a.Name) {
			return Mistake("DELTA_NON_PARTITION_COLUMN_REFERENCE", "42P10",
				fmt.Sprintf("OPTIMIZE picks partitions, and %s is no partition column.", a.Name),
				"columnName", a.Name, "columnList", strings.Join(o.snapshot.Metadata.PartitionColumns, ", "))
		}
	}
	o.where = delta.Text("predicate", "["+strings.Join(texts, ",")+"]")
	_, err = o.prune(cond)
	return err
}

// zOrder finds the columns of ZORDER BY.
func (o *optimization) zOrder(columns [][]string) error {
	for _, path := range columns {
		name := strings.Join(path, ".")
		at := slices.IndexFunc(o.columns, func(a *plan.Attribute) bool {
			return strings.EqualFold(a.Name, path[0])
		})
		switch {
		case at < 0:
			return Illegal("DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST", "42703",
				"There is no column "+name+" to order the files by.", "columnName", name)
		case len(path) > 1:
			return plan.Unsupported("ZORDER BY of a field (" + name + ")")
		case o.snapshot.Partitioned(name):
			return Illegal("DELTA_ZORDERING_ON_PARTITION_COLUMN", "42P10",
				name+" is a partition column: its values are in order already.", "colName", name)
		}
		a := o.columns[at]
		switch a.Of.Kind {
		case plan.KindMap, plan.KindArray, plan.KindStruct:
			return plan.Unsupported("ZORDER BY of the column " + name + ", which is " + a.Of.SQL())
		}
		o.order = append(o.order, a)
	}
	if len(o.order) > maxCurveColumns {
		return plan.Unsupported(fmt.Sprintf("ZORDER BY of more than %d columns", maxCurveColumns))
	}
	return nil
}

// write writes the rows of each bin into new files, and commits.
func (o *optimization) write(ctx context.Context) error {
	if len(o.bins) == 0 {
		o.ended = time.Now()
		return nil
	}
	w := o.snapshot.NewRewriter(o.snapshot.Schema, o.Eval.Zone, false)
	for i, b := range o.bins {
		if err := o.writeBin(ctx, w, i, b.Files); err != nil {
			return errors.Join(err, w.Abandon())
		}
	}
	var err error
	if o.made, err = w.Finish(); err != nil {
		return err
	}
	names := make([]string, len(o.order))
	for i, a := range o.order {
		names[i] = plan.JSONText(a.Name)
	}
	c := o.snapshot.Optimized(o.bins, o.made.Written, []delta.Param{o.where,
		delta.Text("zOrderBy", "["+strings.Join(names, ",")+"]"), delta.Text("clusterBy", "[]"),
		delta.Flag("auto", false)}, o.Files.Now())
	_, err = deltatable.Commit(ctx, o.Files, o.snapshot, c, o.made)
	o.ended = time.Now()
	return err
}

// writeBin writes the rows of some files into one, or several if they get too big.
func (o *optimization) writeBin(ctx context.Context, w *delta.Rewriter, bin int, files []*delta.Add) error {
	rows, err := o.binRows(ctx, files)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for _, f := range files {
		bytes += f.Size
	}
	split := int64(1) // files, for ZORDER of partitions beyond the size of one
	if len(o.order) > 0 {
		split = max(1, (bytes+o.big-1)/o.big)
	}
	total, ok := rowsIn(files)
	n := int64(0)
	for c, err := range rows {
		if err != nil {
			return err
		}
		c.Part = bin
		if ok && total > 0 {
			c.Part = bin*int(split) + int(min(split-1, n*split/total))
		}
		n += int64(c.Rows)
		if err := w.Keep(c); err != nil {
			return err
		}
	}
	return nil
}

// rowsIn is how many rows files have, if their statistics tell.
func rowsIn(files []*delta.Add) (total int64, ok bool) {
	for _, f := range files {
		n, ok := f.NumRecords()
		if !ok {
			return 0, false
		}
		total += n
	}
	return total, true
}

// binRows are the rows of files as they shall be written.
func (o *optimization) binRows(ctx context.Context, files []*delta.Add) (chunk.Rows, error) {
	if len(o.order) > 0 {
		return o.curved(ctx, files)
	}
	names := make([]string, len(o.columns))
	for i, a := range o.columns {
		names[i] = a.Name
	}
	scan := deltatable.Scan{Snapshot: o.snapshot, Files: files, Columns: names}
	return scan.Rows(ctx, o.Files), nil
}

func longs(names ...string) plan.Type {
	t := plan.Struct()
	for _, name := range names {
		t.Fields = append(t.Fields, plan.Col(name, plan.Long))
	}
	return t
}

func OptimizeSchema[C plan.Command](C) plan.Type {
	files := plan.Struct(plan.Col("min", plan.Long), plan.Col("max", plan.Long), plan.Col("avg", plan.Double),
		plan.Col("totalFiles", plan.Long), plan.Col("totalSize", plan.Long))
	cube := plan.Struct(plan.Col("num", plan.Long), plan.Col("size", plan.Long))
	zCube := plan.Struct(plan.Col("numFiles", plan.Long), plan.Col("size", plan.Long))
	m := longs("numFilesAdded", "numFilesRemoved")
	add := func(fields ...plan.Field) { m.Fields = append(m.Fields, fields...) }
	add(plan.Col("filesAdded", files), plan.Col("filesRemoved", files))
	add(plan.Col("partitionsOptimized", plan.Long))
	add(plan.Col("zOrderStats", plan.Struct(plan.Col("strategyName", plan.String), plan.Col("inputCubeFiles",
		cube),
		plan.Col("inputOtherFiles", cube), plan.Col("inputNumCubes", plan.Long), plan.Col("mergedFiles", cube),
		plan.Col("numOutputCubes", plan.Long), plan.Col("mergedNumCubes", plan.Long))))
	add(plan.Col("clusteringStats", plan.Struct(plan.Col("inputZCubeFiles", zCube),
		plan.Col("inputOtherFiles", zCube), plan.Col("inputNumZCubes", plan.Long), plan.Col("mergedFiles", zCube),
		plan.Col("numOutputZCubes", plan.Long))))
	add(longs("numBins", "numBatches", "totalConsideredFiles", "totalFilesSkipped").Fields...)
	add(plan.Col("preserveInsertionOrder", plan.Boolean))
	add(longs("numFilesSkippedToReduceWriteAmplification", "numBytesSkippedToReduceWriteAmplification",
		"startTimeMs", "endTimeMs", "totalClusterParallelism", "totalScheduledTasks").Fields...)
	add(plan.Col("autoCompactParallelismStats", longs("maxClusterActiveParallelism",
		"minClusterActiveParallelism", "maxSessionActiveParallelism", "minSessionActiveParallelism")))
	add(plan.Col("deletionVectorStats", longs("numDeletionVectorsRemoved", "numDeletionVectorRowsRemoved")))
	add(longs("numTableColumns", "numTableColumnsWithStats").Fields...)
	return plan.Struct(plan.Col("path", plan.String), plan.Col("metrics", m))
}

// metrics is the second column of the answer.
func (o *optimization) metrics() plan.Value {
	var removed, added []int64
	partitions := map[string]bool{}
	vectors, gone := int64(0), int64(0)
	for _, b := range o.bins {
		partitions[b.Partition] = true
		for _, f := range b.Files {
			removed = append(removed, f.Size)
			if f.DeletionVector != nil {
				vectors, gone = vectors+1, gone+f.DeletionVector.Cardinality
			}
		}
	}
	for _, a := range o.made.Adds {
		added = append(added, a.Size)
	}
	in := sizeStats(removed)
	var curve, vector plan.Value
	if len(o.order) > 0 && len(o.bins) > 0 {
		of := []plan.Value{in[3], in[4]}
		curve = []plan.Value{"all", []plan.Value{int64(0), int64(0)}, of, int64(0), of, int64(len(o.bins)), nil}
	}
	if vectors > 0 {
		vector = []plan.Value{vectors, gone}
	}
	columns := int64(len(o.columns))
	return []plan.Value{int64(len(added)), int64(len(removed)), sizeStats(added), in, int64(len(partitions)),
		curve, nil, int64(len(o.bins)), int64(1), int64(o.looked), int64(o.looked - len(removed)), false,
		int64(0), int64(0),
		o.began.UnixMilli(), o.ended.UnixMilli(), int64(o.Partitions), int64(0), nil, vector, columns,
		int64(o.snapshot.StatColumns())}
}

// sizeStats are the least, greatest and mean size of files, their number and sum.
func sizeStats(sizes []int64) []plan.Value {
	if len(sizes) == 0 {
		return []plan.Value{nil, nil, 0.0, int64(0), int64(0)}
	}
	sum := int64(0)
	for _, n := range sizes {
		sum += n
	}
	return []plan.Value{slices.Min(sizes), slices.Max(sizes), float64(sum) / float64(len(sizes)),
		int64(len(sizes)), sum}
}
