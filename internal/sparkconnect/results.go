//lint:file-ignore SA1019 clients of 4.0 still send and read the deprecated fields

package sparkconnect

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session"
	pb "github.com/weir-dev/weir/internal/sparkpb"
)

const (
	// maxBatchBytes cuts Arrow batches well below the largest gRPC message, as
	// Spark does at 70 % of its own limit.
	maxBatchBytes = maxMessageBytes * 7 / 10
	defaultRows   = 10000
)

// relation runs a relation: the schema, its rows in Arrow batches, metrics.
func (x *execution) relation(r *pb.Relation) error {
	n, err := x.decoder().relation(r)
	if err != nil {
		return err
	}
	result, err := x.session.Query(x.op.ctx, n)
	if made := tableMade(r, n); err == nil && made != nil {
		result, err = x.session.Query(x.op.ctx, made)
	}
	if err != nil {
		return err
	}
	schema, err := encodeSchema(result.Schema)
	if err != nil {
		return err
	}
	if err := x.send(&pb.ExecutePlanResponse{Schema: schema}); err != nil {
		return err
	}
	if err := x.sendRows(result); err != nil {
		return err
	}
	if err := x.send(&pb.ExecutePlanResponse{Metrics: &pb.ExecutePlanResponse_Metrics{}}); err != nil {
		return err
	}
	return x.sendObserved(result)
}

// arrowOptions are how results look on the wire under the session's settings.
func (x *execution) arrowOptions() chunk.ArrowOptions {
	conf := x.session.Conf()
	zone, _ := conf.Lookup("spark.sql.session.timeZone")
	large, _ := conf.Lookup("spark.sql.execution.arrow.useLargeVarTypes")
	return chunk.ArrowOptions{Zone: zone, LargeVar: large == "true"}
}

// batchRows is spark.sql.execution.arrow.maxRecordsPerBatch; zero or less
// means no limit.
func (x *execution) batchRows() int {
	text, _ := x.session.Conf().Lookup("spark.sql.execution.arrow.maxRecordsPerBatch")
	n, err := strconv.Atoi(text)
	if err != nil {
		return defaultRows
	}
	if n <= 0 {
		return int(^uint(0) >> 1)
	}
	return n
}

// sendRows sends the rows in batches that end at partition borders and at the
// limits of rows and bytes; at least one, even when there are no rows.
func (x *execution) sendRows(result *session.Result) error {
	b := &batcher{x: x, schema: result.Schema, most: x.batchRows()}
	b.arrow = x.arrowSchema(result.Schema)
	for c, err := range result.Rows {
		if err != nil {
			return err
		}
		if err := b.add(c); err != nil {
			return err
		}
	}
	return b.end()
}

// arrowSchema is how rows go to the client. Fields of one name in a struct get numbers:
// clients make dictionaries of structs, and know the names from elsewhere.
func (x *execution) arrowSchema(t plan.Type) *arrow.Schema {
	own := t
	own.Fields = slices.Clone(t.Fields)
	for i := range own.Fields {
		own.Fields[i].Type = numbered(own.Fields[i].Type)
	}
	return chunk.ArrowSchema(own, x.arrowOptions())
}

// numbered is a type whose structs have no two fields of one name.
func numbered(t plan.Type) plan.Type {
	if t.Elem != nil {
		elem := numbered(*t.Elem)
		t.Elem = &elem
	}
	if t.Key != nil {
		key := numbered(*t.Key)
		t.Key = &key
	}
	count, seen := map[string]int{}, map[string]int{}
	for _, f := range t.Fields {
		count[f.Name]++
	}
	t.Fields = slices.Clone(t.Fields)
	for i := range t.Fields {
		f := &t.Fields[i]
		f.Type = numbered(f.Type)
		if name := f.Name; count[name] > 1 {
			f.Name = fmt.Sprintf("%s_%d", name, seen[name])
			seen[name]++
		}
	}
	return t
}

// batcher gathers chunks into Arrow batches.
type batcher struct {
	x      *execution
	schema plan.Type
	arrow  *arrow.Schema
	most   int // rows in a batch

	held  []*chunk.Chunk
	rows  int
	bytes int
	sent  int64 // rows sent
	any   bool
}

func (b *batcher) add(c *chunk.Chunk) error {
	if b.rows > 0 && c.Part != b.held[0].Part {
		if err := b.flush(); err != nil {
			return err
		}
	}
	for from := 0; from < c.Rows; {
		to := min(c.Rows, from+b.most-b.rows)
		part := c.Slice(from, to)
		b.held = append(b.held, part)
		b.rows += part.Rows
		b.bytes += sizeOf(part)
		from = to
		if b.rows >= b.most || b.bytes >= maxBatchBytes {
			if err := b.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// sizeOf estimates the bytes of a chunk in Arrow form.
func sizeOf(c *chunk.Chunk) int {
	n := 0
	for _, v := range c.Cols {
		n += sizeOfVector(v)
	}
	return n
}

func sizeOfVector(v *chunk.Vector) int {
	n := v.Len/8 + 4*len(v.Offsets)
	if chunk.IsBytes(v.Type) && v.Len > 0 {
		n += int(v.Offsets[v.Len] - v.Offsets[0])
	} else {
		n += v.Len * chunk.Width(v.Type)
	}
	for _, k := range v.Kids {
		n += sizeOfVector(k)
	}
	return n
}

func (b *batcher) flush() error {
	whole := chunk.Concat(b.schema, b.held...)
	b.held, b.rows, b.bytes = nil, 0, 0
	return b.emit(whole)
}

// end sends what is left, or an empty batch when nothing was sent.
func (b *batcher) end() error {
	if b.rows > 0 {
		return b.flush()
	}
	if !b.any {
		return b.emit(chunk.Empty(b.schema))
	}
	return nil
}

func (b *batcher) emit(c *chunk.Chunk) error {
	data, err := arrowStream(c, b.arrow)
	if err != nil {
		return err
	}
	b.any = true
	start, index, one := b.sent, int64(0), int64(1)
	b.sent += int64(c.Rows)
	return b.x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_ArrowBatch_{
		ArrowBatch: &pb.ExecutePlanResponse_ArrowBatch{
			RowCount: int64(c.Rows), Data: data, StartOffset: &start, ChunkIndex: &index, NumChunksInBatch: &one,
		},
	}})
}

// arrowStream is a chunk as a whole Arrow IPC stream.
func arrowStream(c *chunk.Chunk, schema *arrow.Schema) ([]byte, error) {
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema))
	rec := c.ToArrow(schema)
	defer rec.Release()
	if err := w.Write(rec); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// sendObserved sends the metrics that df.observe gathered, if there are any.
func (x *execution) sendObserved(result *session.Result) error {
	if result == nil || result.Observed == nil {
		return nil
	}
	r := &pb.ExecutePlanResponse{}
	for _, o := range result.Observed() {
		m := &pb.ExecutePlanResponse_ObservedMetrics{Name: o.Name}
		for i, f := range o.Schema.Fields {
			m.Keys = append(m.Keys, f.Name)
			m.Values = append(m.Values, encodeLiteral(o.Row[i], f.Type))
		}
		r.ObservedMetrics = append(r.ObservedMetrics, m)
	}
	if len(r.ObservedMetrics) == 0 {
		return nil
	}
	return x.send(r)
}

// sqlCommand answers a query with the same relation, unexecuted, and executes
// everything else now.
func (x *execution) sqlCommand(m *pb.SqlCommand) error {
	in := m.GetInput()
	if in == nil {
		// The form of 3.5 clients.
		in = &pb.Relation{RelType: &pb.Relation_Sql{Sql: &pb.SQL{
			Query: m.GetSql(), Args: m.GetArgs(), PosArgs: m.GetPosArgs(),
			NamedArguments: m.GetNamedArguments(), PosArguments: m.GetPosArguments(),
		}}}
	}
	if in.GetSql() == nil && in.GetWithRelations() == nil {
		return plan.NewError(plan.ClassInvalidCommand,
			"CONNECT_INVALID_PLAN.SQL_COMMAND_EXPECTS_SQL_OR_WITH_RELATIONS",
			"A SQL command needs SQL text.", "other", "none")
	}
	n, err := x.decoder().relation(in)
	if err != nil {
		return err
	}
	c, ok := n.(plan.Command)
	if !ok {
		if _, err := x.session.Analyze(x.op.ctx, n); err != nil {
			return err
		}
		return x.sendSQL(in)
	}
	result, err := x.session.Command(x.op.ctx, c)
	if err != nil {
		return err
	}
	if err := x.sendLocal(result); err != nil {
		return err
	}
	if err := x.send(&pb.ExecutePlanResponse{Metrics: &pb.ExecutePlanResponse_Metrics{}}); err != nil {
		return err
	}
	return x.sendObserved(result)
}

func (x *execution) sendSQL(r *pb.Relation) error {
	return x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_SqlCommandResult_{
		SqlCommandResult: &pb.ExecutePlanResponse_SqlCommandResult{Relation: r},
	}})
}

// sendLocal sends a command's rows as a local relation.
func (x *execution) sendLocal(result *session.Result) error {
	chunks, err := chunk.Collect(result.Rows)
	if err != nil {
		return err
	}
	whole := chunk.Empty(result.Schema)
	if len(chunks) > 0 {
		whole = chunk.Concat(result.Schema, chunks...)
	}
	data, err := arrowStream(whole, x.arrowSchema(result.Schema))
	if err != nil {
		return err
	}
	return x.sendSQL(&pb.Relation{RelType: &pb.Relation_LocalRelation{
		LocalRelation: &pb.LocalRelation{Data: data},
	}})
}

// checkpoint keeps a frame's rows on the server, or its plan when it is lazy.
func (x *execution) checkpoint(m *pb.CheckpointCommand) error {
	if !m.GetLocal() {
		return plan.NewError(plan.ClassSpark, "_LEGACY_ERROR_TEMP_3016",
			"Checkpoint directory has not been set in the SparkContext")
	}
	n, err := x.decoder().relation(m.GetRelation())
	if err != nil {
		return err
	}
	if m.GetEager() {
		n, err = x.materialize(n)
	} else {
		n, err = x.session.Analyze(x.op.ctx, n)
	}
	if err != nil {
		return err
	}
	id := x.session.PutCached(n)
	return x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_CheckpointCommandResult{
		CheckpointCommandResult: &pb.CheckpointCommandResult{Relation: &pb.CachedRemoteRelation{RelationId: id}},
	}})
}

// materialize runs a relation and keeps its rows as local data.
func (x *execution) materialize(n plan.Node) (plan.Node, error) {
	result, err := x.session.Query(x.op.ctx, n)
	if err != nil {
		return nil, err
	}
	schema := x.arrowSchema(result.Schema)
	local := &plan.LocalData{Schema: result.Schema}
	for c, err := range result.Rows {
		if err != nil {
			return nil, err
		}
		local.Rows = append(local.Rows, c.ToArrow(schema))
	}
	return local, nil
}

func (x *execution) removeCached(m *pb.RemoveCachedRemoteRelationCommand) error {
	x.session.DropCached(m.GetRelation().GetRelationId())
	return nil
}

// getResources answers that there are none: weir runs on one machine.
func (x *execution) getResources(*pb.GetResourcesCommand) error {
	return x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_GetResourcesCommandResult{
		GetResourcesCommandResult: &pb.GetResourcesCommandResult{},
	}})
}

// mlCommand answers the clean-up that an interpreter sends when it exits; MLlib
// itself is not weir's.
func (x *execution) mlCommand(m *pb.MlCommand) error {
	if m.GetCleanCache() == nil {
		return plan.Unsupported("MLlib")
	}
	zero := &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Integer{Integer: 0}}
	return x.send(&pb.ExecutePlanResponse{ResponseType: &pb.ExecutePlanResponse_MlCommandResult{
		MlCommandResult: &pb.MlCommandResult{ResultType: &pb.MlCommandResult_Param{Param: zero}},
	}})
}
