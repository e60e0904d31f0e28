package delta

import (
	"cmp"
	"slices"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// Bin is files of one partition that shall become one.
type Bin struct {
	Partition string // a key: bins of the same partition have the same
	Files     []*Add
}

// Bins packs small files of each partition together. Files below small bytes count,
// and those that have lost more than one row in twenty to a deletion vector; a bin
// has at most big bytes.
func (s *Snapshot) Bins(files []*Add, small, big int64) []Bin {
	var out []Bin
	for _, p := range s.byPartition(files) {
		p.Files = slices.DeleteFunc(p.Files, func(f *Add) bool { return f.Size >= small && !worn(f) })
		slices.SortStableFunc(p.Files, func(a, b *Add) int { return cmp.Compare(a.Size, b.Size) })
		for len(p.Files) > 0 {
			n, size := 0, int64(0)
			for n < len(p.Files) && (n == 0 || size+p.Files[n].Size <= big) {
				size += p.Files[n].Size
				n++
			}
			bin := Bin{p.Partition, p.Files[:n]}
			if p.Files = p.Files[n:]; n > 1 || worn(bin.Files[0]) {
				out = append(out, bin)
			}
		}
	}
	return out
}

// WholeBins are the files of each partition.
func (s *Snapshot) WholeBins(files []*Add) []Bin { return s.byPartition(files) }

func (s *Snapshot) byPartition(files []*Add) []Bin {
	byKey := map[string][]*Add{}
	for _, f := range files {
		key := s.partitionKey(f)
		byKey[key] = append(byKey[key], f)
	}
	var out []Bin
	for _, key := range sortedKeys(byKey) {
		out = append(out, Bin{key, byKey[key]})
	}
	return out
}

// worn reports whether a deletion vector took more of a file than OPTIMIZE leaves.
func worn(f *Add) bool {
	if f.DeletionVector == nil {
		return false
	}
	rows, ok := storedRecords(f)
	return !ok || float64(f.DeletionVector.Cardinality) > 0.05*float64(rows)
}

// CheckRearrangeable refuses tables whose rows OPTIMIZE would give new ids, or the
// wrong order.
func (s *Snapshot) CheckRearrangeable() error {
	switch {
	case enabled(rowsTracked)(&s.Metadata, s.Schema):
		return plan.Unsupported("OPTIMIZE of a table with row tracking (delta.enableRowTracking)")
	case len(s.Clustering()) > 0:
		return plan.Unsupported("OPTIMIZE of a table with clustering columns (CLUSTER BY)")
	}
	return s.checkWritable()
}

// Optimized is the commit of OPTIMIZE: files with the rows of others.
func (s *Snapshot) Optimized(bins []Bin, made Written, params []Param, now time.Time) Change {
	c := Change{Operation: "OPTIMIZE", Params: params, Rearranges: true, Ruled: true, Now: now}
	vectors, removed := int64(0), int64(0)
	for _, b := range bins {
		for _, f := range b.Files {
			c.Removes = append(c.Removes, f)
			removed += f.Size
			if f.DeletionVector != nil {
				vectors++
			}
		}
	}
	sizes := make([]int64, len(made.Adds))
	for i, a := range made.Adds {
		a.DataChange = false
		c.Adds = append(c.Adds, a)
		sizes[i] = a.Size
	}
	slices.Sort(sizes)
	at := func(i int) int64 {
		if len(sizes) == 0 {
			return 0
		}
		return sizes[min(i, len(sizes)-1)]
	}
	n := len(sizes)
	c.Metrics = []Param{
		Number("numRemovedFiles", int64(len(c.Removes))), Number("numRemovedBytes", removed),
		Number("p25FileSize", at(n/4)), Number("numDeletionVectorsRemoved", vectors),
		Number("minFileSize", at(0)), Number("p75FileSize", at(n*3/4)), Number("p50FileSize", at(n/2)),
		Number("numAddedBytes", made.Bytes), Number("numAddedFiles", int64(n)), Number("maxFileSize", at(n)),
	}
	return c
}

// StatColumns is how many columns have statistics.
func (s *Snapshot) StatColumns() int { return min(len(s.Schema.Fields), maxStatColumns) }
