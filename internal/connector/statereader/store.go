package statereader

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/function/hashes"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
)

// Store reads what a stateful operator of a checkpoint keeps, as of a
// batch. The query may be running: what is read is its newest committed batch,
// or an older one.
func Store() *connector.Format {
	return &connector.Format{
		Name: "statestore",
		Doc:  "what a stateful operator keeps, as of a batch of a checkpoint",
		Options: connector.Options([][3]string{
			{"batchId", "", "the batch; the newest committed one when it is not given"},
			{"operatorId", "0", "the operator's number"},
			{"stateVarName", "", "of a stateful processor: the variable"},
			{"joinSide", "none", "of a join of two streams: left or right"},
		}),
		Describe: func(_ context.Context, env *connector.Env, r *plan.Read) (*plan.Relation, error) {
			q, err := queryOf(env, r.Options, r.Paths)
			if err != nil {
				return nil, err
			}
			return &plan.Relation{
				Format: "statestore", Schema: q.schema(), Options: r.Options, Paths: r.Paths,
			}, nil
		},
		Scan: scan,
	}
}

// query is what a read of the state asks for.
type query struct {
	checkpoint connector.Place
	batch      int64
	operator   int64
	side       string
	variable   string
	meta       *operatorMetadata
	table      int
	shape      state.Shape
}

// unknownOptions are options of Spark's reader that would change what is read.
var unknownOptions = []string{
	"readChangeFeed", "snapshotStartBatchId", "readRegisteredTimers", "flattenCollectionTypes",
}

// queryOf checks the options against the checkpoint.
func queryOf(env *connector.Env, o plan.Options, paths []string) (*query, error) {
	q := &query{}
	var err error
	if q.checkpoint, err = checkpointOf(env, o, paths); err != nil {
		return nil, err
	}
	for _, name := range unknownOptions {
		if _, ok := o.Get(name); ok {
			return nil, plan.Unsupported("The option " + name + " of statestore")
		}
	}
	if name, ok := o.Get("storeName"); ok && !strings.EqualFold(name, "default") {
		return nil, badOption("storeName", "operators here have one store, which is called default.")
	}
	if q.operator, err = number(o, "operatorId", 0); err != nil {
		return nil, err
	}
	if err := q.pickBatch(o); err != nil {
		return nil, err
	}
	q.variable, _ = o.Get("stateVarName")
	side, _ := o.Get("joinSide")
	if q.side = strings.ToLower(side); q.side == "" {
		q.side = "none"
	}
	return q, q.pickTable()
}

func number(o plan.Options, name string, unset int64) (int64, error) {
	n, err := connector.LongOption(o, name, unset)
	if _, given := o.Get(name); err == nil && given && n < 0 {
		err = plan.NewError(plan.ClassRuntime, "STDS_INVALID_OPTION_VALUE.IS_NEGATIVE",
			fmt.Sprintf("%s is %d, and counts from 0.", name, n), "optionName", name)
	}
	return n, err
}

func badOption(name, why string) error {
	return plan.NewError(plan.ClassRuntime, "STDS_INVALID_OPTION_VALUE.WITH_MESSAGE",
		fmt.Sprintf("the option %s: %s", name, why), "optionName", name, "message", why)
}

func (q *query) pickBatch(o plan.Options) error {
	commits, err := commitsOf(q.checkpoint)
	if err != nil {
		return err
	}
	newest := int64(-1)
	if len(commits) > 0 {
		newest = commits[len(commits)-1]
	}
	if q.batch, err = number(o, "batchId", newest); err != nil {
		return err
	}
	if newest < 0 || q.batch > newest {
		return noCommit(q.checkpoint)
	}
	return nil
}

func noCommit(checkpoint connector.Place) error {
	location := "file:" + checkpoint.Dir
	return plan.NewError(plan.ClassRuntime, "STDS_COMMITTED_BATCH_UNAVAILABLE",
		fmt.Sprintf("%s has not committed such a batch.", location), "checkpointLocation", location)
}

// pickTable finds the table that is asked for.
func (q *query) pickTable() error {
	if q.side != "none" && q.side != "left" && q.side != "right" {
		return badOption("joinSide", "valid values are left, right and none.")
	}
	operators, err := operatorsOf(q.checkpoint)
	if err != nil {
		return err
	}
	for _, op := range operators {
		if int64(op.Info.ID) == q.operator {
			q.meta = op
		}
	}
	if q.meta == nil {
		return q.unreadable(errors.New("there is no such operator"))
	}
	shapes, err := state.Shapes(q.checkpoint.FS, q.dir())
	if err != nil {
		return q.unreadable(err)
	}
	switch {
	case q.meta.isJoin() && q.side == "none":
		return q.unreadable(errors.New("a join has two sides: name one by joinSide"))
	case q.side == "right":
		q.table = 1
	case q.meta.isProcessor():
		if err := q.pickVariable(shapes); err != nil {
			return err
		}
	}
	if q.table >= len(shapes) {
		return q.unreadable(errors.New("the operator is no join"))
	}
	q.shape = shapes[q.table]
	return nil
}

func (q *query) dir() string {
	return path.Join(q.checkpoint.Dir, "state", strconv.FormatInt(q.operator, 10))
}

func (q *query) unreadable(why error) error {
	options := fmt.Sprintf("StateSourceOptions(checkpointLocation=file:%s, batchId=%d, operatorId=%d, "+
		"storeName=default, joinSide=%s)", q.checkpoint.Dir, q.batch, q.operator, q.side)
	e := plan.NewError(plan.ClassRuntime, "STDS_FAILED_TO_READ_STATE_SCHEMA",
		fmt.Sprintf("the state of operator %d in %s cannot be read: %v.", q.operator, q.checkpoint.Dir, why),
		"sourceOptions", options)
	e.Cause = why
	return e
}

// schema is that of the rows: key, value, partition_id.
func (q *query) schema() plan.Type {
	part := plan.Col("partition_id", plan.Int)
	if q.meta.isProcessor() {
		return plan.Struct(append(q.variableFields(), part)...)
	}
	key, value := q.columns()
	return plan.Struct(plan.Col("key", structOf(key)), plan.Col("value", structOf(value)), part)
}

func structOf(columns []state.Column) plan.Type {
	fields := make([]plan.Field, len(columns))
	for i, c := range columns {
		fields[i] = plan.Col(c.Name, c.Type)
	}
	return plan.Struct(fields...)
}

// joinExtra is how many columns a join keeps behind those of a row.
const joinExtra = 2

// columns are those of key and value as Spark shows them, which for some
// operators are not quite what is kept.
func (q *query) columns() (key, value []state.Column) {
	key, value = q.shape.Key, q.shape.Value
	switch {
	case q.meta.isJoin():
		return key, value[:len(value)-joinExtra]
	case q.meta.isSession():
		session := value[0]
		value = append(append([]state.Column{session}, key...), value[1:]...)
		start := state.Column{Name: "sessionStartTime", Type: session.Type.Fields[0].Type}
		return append(key[:len(key):len(key)], start), value
	case q.meta.isLimit():
		return []state.Column{{Name: "key", Type: plan.Null}}, value
	case len(value) == 0:
		return key, []state.Column{{Name: "__dummy__", Type: plan.Null}}
	}
	return key, value
}

// values are the vectors of columns for rows of a table.
func (q *query) values(t *state.Table, rows []int32) (key, value []*chunk.Vector) {
	key, value = t.Keys(rows), t.Values(rows)
	nothing := chunk.NullVector(plan.Null, len(rows))
	switch {
	case q.meta.isJoin():
		return key, value[:len(value)-joinExtra]
	case q.meta.isSession():
		session := value[0]
		value = append(append([]*chunk.Vector{session}, key...), value[1:]...)
		return append(key[:len(key):len(key)], session.Kids[0]), value
	case q.meta.isApply():
		return key, append(value[:1:1], neverAs(value[1:])...)
	case q.meta.isLimit():
		return []*chunk.Vector{nothing}, value
	case len(value) == 0:
		return key, []*chunk.Vector{nothing}
	}
	return key, value
}

func scan(ctx context.Context, env *connector.Env, s *plan.Scan) chunk.Rows {
	return func(yield func(*chunk.Chunk, error) bool) {
		q, err := queryOf(env, s.Relation.Options, s.Relation.Paths)
		if err == nil {
			err = q.read(ctx, env, s, yield)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// errStop ends a walk over a table when nobody wants more rows.
var errStop = errors.New("stop")

func (q *query) read(
	ctx context.Context, env *connector.Env, s *plan.Scan, yield func(*chunk.Chunk, error) bool,
) error {
	tables, err := state.Read(q.checkpoint.FS, q.dir(), q.batch+1)
	if err != nil {
		return q.unreadable(err)
	}
	partition, err := q.partitioner(env)
	if err != nil {
		return err
	}
	err = tables[q.table].Each(func(rows []int32) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		parts, err := partition(tables[q.table].Keys(rows)[:q.grouping()], len(rows))
		if err != nil {
			return err
		}
		all := q.rowsOf(tables[q.table], rows)
		all["partition_id"] = parts
		out := &chunk.Chunk{Rows: len(rows)}
		for _, a := range s.Attrs {
			out.Cols = append(out.Cols, all[a.Name])
		}
		if !yield(out, nil) {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// conform.RowsOf is the columns of rows, by name.
func (q *query) rowsOf(t *state.Table, rows []int32) map[string]*chunk.Vector {
	if q.meta.isProcessor() {
		return q.variableRows(t, rows)
	}
	key, value := q.values(t, rows)
	schema := q.schema()
	return map[string]*chunk.Vector{
		"key":   {Type: schema.Fields[0].Type, Len: len(rows), Kids: key},
		"value": {Type: schema.Fields[1].Type, Len: len(rows), Kids: value},
	}
}

// partitioner tells the partition in which Spark would keep a key.
func (q *query) partitioner(
	env *connector.Env,
) (func(keys []*chunk.Vector, n int) (*chunk.Vector, error), error) {
	parts := q.meta.Partitions()
	def, _ := function.Lookup("hash")
	args := make([]plan.Expr, q.grouping())
	for i, c := range q.shape.Key[:q.grouping()] {
		args[i] = plan.Lit(nil, c.Type)
	}
	kernel, err := def.Kernel(&plan.Call{Name: "hash", Args: args, Of: plan.Int}, env.Eval)
	if err != nil {
		return nil, err
	}
	return func(keys []*chunk.Vector, n int) (*chunk.Vector, error) {
		if len(keys) == 0 || parts < 2 {
			return chunk.Make(plan.Int, n), nil
		}
		v, err := kernel(keys, nil, n)
		if err != nil {
			return nil, err
		}
		out := chunk.Make(plan.Int, n)
		for i, h := range chunk.Values[int32](v) {
			chunk.Values[int32](out)[i] = int32(hashes.Partition(h, parts))
		}
		return out, nil
	}, nil
}
