//lint:file-ignore SA1019 clients of 4.0 still send and read the deprecated fields

package sparkconnect

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	pb "github.com/weir-dev/weir/internal/sparkpb"
	"github.com/weir-dev/weir/internal/sql"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// read decodes a table by name or a format with options.
func (d *decoder) read(m *pb.Read) (plan.Node, error) {
	switch r := m.GetReadType().(type) {
	case *pb.Read_NamedTable_:
		name, err := sql.ParseName(r.NamedTable.GetUnparsedIdentifier())
		if err != nil {
			return nil, err
		}
		return &plan.NamedTable{Name: name, Options: r.NamedTable.GetOptions(), Streaming: m.GetIsStreaming()}, nil
	case *pb.Read_DataSource_:
		return readSource(r.DataSource, m.GetIsStreaming())
	default:
		return nil, notSet(m, "READTYPE_NOT_SET")
	}
}

func readSource(m *pb.Read_DataSource, streaming bool) (plan.Node, error) {
	if len(m.GetPredicates()) > 0 {
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.PREDICATES_NOT_SUPPORTED_FOR_DATA_SOURCE",
			"The format "+m.GetFormat()+" takes no predicates.", "format", m.GetFormat())
	}
	if streaming && len(m.GetPaths()) > 1 {
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.MULTIPLE_PATHS_NOT_SUPPORTED_FOR_STREAMING_SOURCE",
			"A streaming source takes one path.")
	}
	n := &plan.Read{
		Format: m.GetFormat(), Options: m.GetOptions(), Paths: m.GetPaths(), Streaming: streaming,
		SourceName: m.GetSourceName(),
	}
	if m.GetSchema() != "" {
		t, err := parseSchema(m.GetSchema())
		if err != nil {
			return nil, err
		}
		n.Schema = &t
	}
	return n, nil
}

// parseSchema reads a schema that is either Spark's JSON or DDL text.
func parseSchema(text string) (plan.Type, error) {
	t, err := parseAnyType(text)
	if err == nil && t.Kind != plan.KindStruct {
		err = nonStruct(text, t)
	}
	return t, err
}

func parseAnyType(text string) (plan.Type, error) {
	if t, err := plan.ParseTypeJSON(text); err == nil {
		return t, nil
	}
	return sql.ParseSchema(text)
}

// localSchema reads the schema of local rows. One that is no struct is the type
// of their only column.
func localSchema(text string) (*plan.Type, error) {
	t, err := parseAnyType(text)
	if err == nil && t.Kind != plan.KindStruct {
		t = plan.Struct(plan.Field{Name: "value", Type: t, Nullable: true})
	}
	return &t, err
}

// localRelation decodes rows that travel with the plan. The schema text wins
// over the Arrow schema; columns correspond by position.
func (d *decoder) localRelation(m *pb.LocalRelation) (plan.Node, error) {
	var schema *plan.Type
	if m.GetSchema() != "" {
		t, err := localSchema(m.GetSchema())
		if err != nil {
			return nil, err
		}
		schema = t
	}
	if m.Data == nil {
		if schema == nil {
			return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.SCHEMA_REQUIRED_FOR_LOCAL_RELATION",
				"Local rows without data need a schema.")
		}
		return &plan.LocalData{Schema: *schema}, nil
	}
	return localRows(schema, m.GetData())
}

// localRows is the rows of Arrow streams that share a schema.
func localRows(schema *plan.Type, streams ...[]byte) (plan.Node, error) {
	local := &plan.LocalData{}
	for i, stream := range streams {
		batches, found, err := readArrow(stream, schema)
		if err != nil {
			return nil, badArrow(err)
		}
		schema = &found
		if i == 0 {
			local.Schema = *schema
		}
		local.Rows = append(local.Rows, batches...)
	}
	return local, nil
}

func badArrow(err error) error {
	return plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.CANNOT_PARSE",
		fmt.Sprintf("The local rows are not a readable Arrow stream: %v.", err), "errorMsg", err.Error())
}

// readArrow reads an IPC stream whose rows have the given schema, or without one
// the stream's own. Every batch is read as the engine will read it, which keeps
// bad bytes out of it. Library and kernels panic on some malformed streams,
// which for bytes from outside is an error like any other.
func readArrow(stream []byte, schema *plan.Type) (batches []arrow.RecordBatch, found plan.Type, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("its lengths and offsets lead out of it")
		}
	}()
	if err := checkArrow(stream); err != nil {
		return nil, plan.Type{}, err
	}
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, plan.Type{}, err
	}
	defer r.Release()
	if schema != nil {
		found = *schema
	} else if found, err = chunk.FromArrowSchema(r.Schema()); err != nil {
		return nil, plan.Type{}, err
	}
	for r.Next() {
		b := r.RecordBatch()
		for _, column := range b.Columns() {
			if err := validColumn(column); err != nil {
				return nil, plan.Type{}, err
			}
		}
		if _, err := chunk.FromArrow(b, found); err != nil {
			return nil, plan.Type{}, err
		}
		b.Retain()
		batches = append(batches, b)
	}
	return batches, found, r.Err()
}

// validColumn looks at every value. The library wants a buffer even of columns
// of the null type, which have none.
func validColumn(column arrow.Array) error {
	whole := array.MakeFromData(withNullBuffers(column.Data()))
	defer whole.Release()
	return array.ValidateFull(whole)
}

func withNullBuffers(d arrow.ArrayData) arrow.ArrayData {
	if d.DataType().ID() == arrow.NULL {
		return array.NewData(d.DataType(), d.Len(), []*memory.Buffer{nil}, nil, d.NullN(), d.Offset())
	}
	if len(d.Children()) == 0 {
		return d
	}
	kids := slices.Clone(d.Children())
	for i, k := range kids {
		kids[i] = withNullBuffers(k)
	}
	return array.NewData(d.DataType(), d.Len(), d.Buffers(), kids, d.NullN(), d.Offset())
}

// cachedLocal finds a LocalRelation message that a 4.0 client uploaded.
func (d *decoder) cachedLocal(m *pb.CachedLocalRelation) (plan.Node, error) {
	data, err := d.blob(m.GetHash())
	if err != nil {
		return nil, err
	}
	local := &pb.LocalRelation{}
	if err := proto.Unmarshal(data, local); err != nil {
		return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.CANNOT_PARSE",
			"The uploaded local relation cannot be read.", "errorMsg", err.Error())
	}
	return d.localRelation(local)
}

// chunkedLocal finds rows that were uploaded as several Arrow streams.
func (d *decoder) chunkedLocal(m *pb.ChunkedCachedLocalRelation) (plan.Node, error) {
	if len(m.GetDataHashes()) == 0 && m.SchemaHash == nil {
		return nil, plan.NewError(plan.ClassInvalidPlan,
			"CONNECT_INVALID_PLAN.CHUNKED_CACHED_LOCAL_RELATION_WITHOUT_DATA", "The local rows have no data.")
	}
	var schema *plan.Type
	if m.SchemaHash != nil {
		text, err := d.blob(m.GetSchemaHash())
		if err != nil {
			return nil, err
		}
		if schema, err = localSchema(string(text)); err != nil {
			return nil, err
		}
	}
	streams := make([][]byte, 0, len(m.GetDataHashes()))
	for _, hash := range m.GetDataHashes() {
		data, err := d.blob(hash)
		if err != nil {
			return nil, err
		}
		streams = append(streams, data)
	}
	if len(streams) == 0 {
		return &plan.LocalData{Schema: *schema}, nil
	}
	return localRows(schema, streams...)
}

func (d *decoder) cachedRemote(m *pb.CachedRemoteRelation) (plan.Node, error) {
	return &plan.CachedRemote{ID: m.GetRelationId()}, nil
}

// withRelations decodes a relation that refers to others. Named ones of SQL
// text become its WITH list; the rest are found by subqueries through their id.
func (d *decoder) withRelations(m *pb.WithRelations) (plan.Node, error) {
	outer := d.references
	defer func() { d.references = outer }()
	d.references = maps.Clone(outer)
	if d.references == nil {
		d.references = map[int64]plan.Node{}
	}
	var defs []plan.CTE
	for _, r := range m.GetReferences() {
		if a := r.GetSubqueryAlias(); a != nil && m.GetRoot().GetSql() != nil {
			q, err := d.relation(a.GetInput())
			if err != nil {
				return nil, err
			}
			defs = append(defs, plan.CTE{Name: a.GetAlias(), Query: q})
			continue
		}
		if !hasID(r) {
			return nil, plan.NewError(plan.ClassInvalidPlan, "CONNECT_INVALID_PLAN.INVALID_WITH_RELATION_REFERENCE",
				"A relation that others refer to needs an id.")
		}
		n, err := d.relation(r)
		if err != nil {
			return nil, err
		}
		d.references[r.GetCommon().GetPlanId()] = n
	}
	root, err := d.relation(m.GetRoot())
	if err != nil || len(defs) == 0 {
		return root, err
	}
	if c, ok := root.(plan.Command); ok {
		statement := strings.TrimPrefix(fmt.Sprintf("%T", c), "*plan.")
		return nil, plan.Unsupported("DataFrames as arguments of " + statement)
	}
	return &plan.With{Defs: defs, Input: root}, nil
}

// sqlText parses SQL and binds its parameters.
func (d *decoder) sqlText(m *pb.SQL) (plan.Node, error) {
	params, err := d.parameters(m)
	if err != nil {
		return nil, err
	}
	return sql.ParseBound(m.GetQuery(), params)
}

func (d *decoder) parameters(m *pb.SQL) (sql.Parameters, error) {
	p := sql.Parameters{}
	var err error
	named := func(name string, e plan.Expr) {
		if p.Named == nil {
			p.Named = map[string]plan.Expr{}
		}
		p.Named[name] = e
	}
	for _, name := range slices.Sorted(maps.Keys(m.GetNamedArguments())) {
		given := m.GetNamedArguments()[name]
		e, err := d.expression(given)
		if err != nil {
			return p, err
		}
		named(name, ownDecimal(given, e))
	}
	for _, name := range slices.Sorted(maps.Keys(m.GetArgs())) {
		l, err := d.literal(m.GetArgs()[name])
		if err != nil {
			return p, err
		}
		named(name, l)
	}
	if p.Positional, err = d.expressionList(m.GetPosArguments()); err != nil {
		return p, err
	}
	for i, given := range m.GetPosArguments() {
		p.Positional[i] = ownDecimal(given, p.Positional[i])
	}
	for _, a := range m.GetPosArgs() {
		l, err := d.literal(a)
		if err != nil {
			return p, err
		}
		p.Positional = append(p.Positional, l)
	}
	return p, nil
}
