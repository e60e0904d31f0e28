package deltatable

import (
	"context"
	"errors"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/eval"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
)

// Statements that change rows of a Delta table work on its files, which these
// functions find, read and commit.

// Table is the table at a path.
func Table(env *connector.Env, text string) (delta.Table, error) {
	loc, err := env.Files.Resolve(text)
	if err != nil {
		return delta.Table{}, connector.PathError(text, err)
	}
	return delta.Table{FS: loc.FS, Dir: loc.Path}, nil
}

// Path is the path of a table without the version that it may end in.
func Path(env *connector.Env, text string) (string, error) {
	path, _, err := travelled(env, text, nil)
	return path, err
}

// Scan is some columns of some files of a snapshot.
type Scan struct {
	Snapshot *delta.Snapshot
	Files    []*delta.Add
	Columns  []string
	// Placed gives the rows of a chunk what tells where they stand: the number of
	// their file, and that of the first of them in the file. May be nil.
	Placed func(c *chunk.Chunk, file int, row int64) *chunk.Chunk
}

// Rows are dealt into partitions as Spark's reader deals files.
func (s Scan) Rows(ctx context.Context, env *connector.Env) chunk.Rows {
	sizes := make([]int64, len(s.Files))
	for i, f := range s.Files {
		sizes[i] = f.Size
	}
	return connector.ReadParts(env, sizes, func(i int) chunk.Rows { return s.file(ctx, i) })
}

func (s Scan) file(ctx context.Context, i int) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		row := int64(0)
		for c, err := range s.Snapshot.ReadFile(ctx, s.Files[i], s.Columns) {
			if err != nil {
				yield(nil, err)
				return
			}
			n := int64(c.Rows)
			if s.Placed != nil {
				c = s.Placed(c, i, row)
			}
			if !yield(c, nil) {
				return
			}
			row += n
		}
	}
}

// Prune is the files of a snapshot that may hold rows for which conditions
// over columns of the table are true: those on partition columns alone are
// computed, the others are held against the statistics of each file.
func Prune(
	env *connector.Env, s *delta.Snapshot, columns []*plan.Attribute, conditions []plan.Expr,
) ([]*delta.Add, error) {
	files := s.Files()
	var others []plan.Expr
	for _, c := range conditions {
		if !Partitioned(s, columns, c) {
			others = append(others, c)
			continue
		}
		var err error
		if files, err = inPartitions(env, s, columns, c, files); err != nil {
			return nil, err
		}
	}
	kept := files[:0:0]
	for _, f := range files {
		if s.MayMatch(f, others) {
			kept = append(kept, f)
		}
	}
	return kept, nil
}

// WithoutCasts is a condition with the casts of its constants done.
func WithoutCasts(e plan.Expr, env *function.Env) (plan.Expr, error) {
	return plan.Transform(e, func(e plan.Expr) (plan.Expr, error) {
		c, ok := e.(*plan.Cast)
		if !ok {
			return e, nil
		}
		if _, ok := c.Child.(*plan.Literal); !ok {
			return e, nil
		}
		v, err := eval.Const(c, env)
		if err != nil {
			return e, nil // the rows will say so, if there are any
		}
		return plan.Lit(v, c.To), nil
	})
}

// pruneScan is PruneDelta by the conditions that a query asks of a scan's rows.
func pruneScan(env *connector.Env, s *delta.Snapshot, scan *plan.Scan) ([]*delta.Add, error) {
	if env.Condition == nil || len(scan.Filters) == 0 {
		return s.Files(), nil
	}
	conditions := make([]plan.Expr, len(scan.Filters))
	for i, f := range scan.Filters {
		var err error
		if conditions[i], err = WithoutCasts(f, env.Eval); err != nil {
			return nil, err
		}
	}
	return Prune(env, s, scan.Attrs, conditions)
}

// Partitioned reports whether a condition is about partition columns and
// nothing else.
func Partitioned(s *delta.Snapshot, columns []*plan.Attribute, condition plan.Expr) bool {
	refs := plan.References(condition)
	for _, a := range columns {
		if s.Partitioned(a.Name) {
			delete(refs, a.ID)
		}
	}
	return len(refs) == 0 && plan.Walk(condition, func(e plan.Expr) bool {
		switch n := e.(type) {
		case *plan.Subquery, *plan.PythonUDF:
			return false
		case *plan.Call:
			d, ok := function.Lookup(n.Name)
			return ok && !d.Volatile
		}
		return true
	})
}

// inPartitions are the files whose partition values make a condition true.
func inPartitions(
	env *connector.Env, s *delta.Snapshot, columns []*plan.Attribute, condition plan.Expr, files []*delta.Add,
) ([]*delta.Add, error) {
	var parts []*plan.Attribute
	for _, a := range columns {
		if s.Partitioned(a.Name) {
			parts = append(parts, a)
		}
	}
	test, err := env.Condition(condition, parts)
	if err != nil {
		return nil, err
	}
	var kept []*delta.Add
	for len(files) > 0 {
		some := files[:min(len(files), chunk.MaxRows)]
		files = files[len(some):]
		c, err := s.PartitionRows(some, parts)
		if err != nil {
			return nil, err
		}
		sel, err := test(c)
		if err != nil {
			return nil, err
		}
		sel.Each(len(some), func(i int) { kept = append(kept, some[i]) })
	}
	return kept, nil
}

// InPartitions is the test of a file by conditions on partition columns; nil
// without such conditions.
func InPartitions(
	env *connector.Env, s *delta.Snapshot, columns []*plan.Attribute, conditions []plan.Expr,
) func(*delta.Add) (bool, error) {
	var mine []plan.Expr
	for _, c := range conditions {
		if Partitioned(s, columns, c) {
			mine = append(mine, c)
		}
	}
	if len(mine) == 0 {
		return nil
	}
	return func(f *delta.Add) (bool, error) {
		files := []*delta.Add{f}
		for _, c := range mine {
			var err error
			if files, err = inPartitions(env, s, columns, c, files); err != nil || len(files) == 0 {
				return false, err
			}
		}
		return true, nil
	}
}

// Commit commits a change, and removes its files when they are certain not
// to be wanted. After an error of the disk the commit may stand all the same, so
// they stay. done is false when the table had the change's transaction already.
func Commit(
	ctx context.Context, env *connector.Env, s *delta.Snapshot, change delta.Change, made delta.Rewritten,
) (done bool, err error) {
	done, err = s.Commit(ctx, change)
	if done && s.CheckpointError() != nil {
		env.Warnf("The log of the Delta table in %s goes on without a checkpoint: %v", s.Dir, s.CheckpointError())
	}
	var refused *plan.Error
	if err == nil && !done || errors.As(err, &refused) {
		return done, errors.Join(err, s.DiscardRewritten(made))
	}
	return done, err
}
