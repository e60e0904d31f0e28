package delta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

var (
	textMap  = plan.Map(plan.String, plan.String, true)
	textList = plan.Array(plan.String, true)
)

// vectorSchema is a deletion vector in a checkpoint.
var vectorSchema = plan.Struct(
	plan.Col("storageType", plan.String), plan.Col("pathOrInlineDv", plan.String), plan.Col("offset", plan.Int),
	plan.Col("sizeInBytes", plan.Int), plan.Col("cardinality", plan.Long))

// checkpointSchema is a classic checkpoint: each row has one of the structs.
var checkpointSchema = plan.Struct(
	plan.Col("txn", plan.Struct(
		plan.Col("appId", plan.String), plan.Col("version", plan.Long), plan.Col("lastUpdated", plan.Long))),
	plan.Col("add", plan.Struct(
		plan.Col("path", plan.String), plan.Col("partitionValues", textMap), plan.Col("size", plan.Long),
		plan.Col("modificationTime", plan.Long), plan.Col("dataChange", plan.Boolean), plan.Col("tags", textMap),
		plan.Col("deletionVector", vectorSchema), plan.Col("baseRowId", plan.Long),
		plan.Col("defaultRowCommitVersion", plan.Long), plan.Col("clusteringProvider", plan.String),
		plan.Col("stats", plan.String))),
	plan.Col("remove", plan.Struct(plan.Col("path", plan.String), plan.Col("deletionTimestamp", plan.Long),
		plan.Col("dataChange", plan.Boolean), plan.Col("extendedFileMetadata", plan.Boolean),
		plan.Col("partitionValues", textMap), plan.Col("size", plan.Long),
		plan.Col("deletionVector", vectorSchema), plan.Col("baseRowId", plan.Long),
		plan.Col("defaultRowCommitVersion", plan.Long))),
	plan.Col("metaData", plan.Struct(
		plan.Col("id", plan.String), plan.Col("name", plan.String), plan.Col("description", plan.String),
		plan.Col("format", plan.Struct(plan.Col("provider", plan.String), plan.Col("options", textMap))),
		plan.Col("schemaString", plan.String), plan.Col("partitionColumns", textList),
		plan.Col("configuration", textMap), plan.Col("createdTime", plan.Long))),
	plan.Col("protocol", plan.Struct(
		plan.Col("minReaderVersion", plan.Int), plan.Col("minWriterVersion", plan.Int),
		plan.Col("readerFeatures", textList), plan.Col("writerFeatures", textList))),
	plan.Col("domainMetadata", plan.Struct(
		plan.Col("domain", plan.String), plan.Col("configuration", plan.String),
		plan.Col("removed", plan.Boolean))),
)

// sidecarColumn names the files that have the adds and removes of a checkpoint.
var sidecarColumn = plan.Col("sidecar", plan.Struct(plan.Col("path", plan.String),
	plan.Col("sizeInBytes", plan.Long), plan.Col("modificationTime", plan.Long)))

// versionColumn marks a checkpoint of the second kind, whose rows may be elsewhere.
var versionColumn = plan.Col("checkpointMetadata",
	plan.Struct(plan.Col("version", plan.Long), plan.Col("tags", textMap)))

// readable are the columns of every kind of checkpoint.
var readable = plan.Struct(append(slices.Clone(checkpointSchema.Fields), sidecarColumn)...)

const sidecarDir = "_sidecars"

// readCheckpoint applies one file of a checkpoint, and the files that it names.
func (s *Snapshot) readCheckpoint(ctx context.Context, name string) error {
	var sidecars []*sidecar
	take := func(a *readAction) {
		s.apply(a)
		if a.Sidecar != nil && s.holds != noFiles {
			sidecars = append(sidecars, a.Sidecar)
		}
	}
	if strings.HasSuffix(name, ".json") {
		full := s.logPath(name)
		file, err := s.FS.Open(full)
		if err != nil {
			return fmt.Errorf("read checkpoint: %w", err)
		}
		defer file.Close()
		if err := eachAction(full, file, take); err != nil {
			return err
		}
	} else if err := s.readActions(ctx, s.logPath(name), take); err != nil {
		return err
	}
	for _, f := range sidecars {
		rel, ok := vfs.DecodePath(f.Path)
		if !ok || strings.Contains(rel, "/") {
			return damaged(s.logPath(name), fmt.Sprintf("the sidecar %q is not in %s", f.Path, sidecarDir))
		}
		if err := s.readActions(ctx, s.logPath(path.Join(sidecarDir, rel)), s.apply); err != nil {
			return err
		}
	}
	return nil
}

// readActions reads a Parquet file with actions.
func (s *Snapshot) readActions(ctx context.Context, full string, take func(*readAction)) error {
	file, err := s.FS.Open(full)
	if err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	parquet, err := codec.OpenParquet(file, info.Size, "file:"+full)
	if err != nil {
		return damaged(full, err.Error())
	}
	defer parquet.Close()
	columns := readableOf(s.holds)
	for c, err := range parquet.Read(ctx, columns) {
		if err != nil {
			return damaged(full, err.Error())
		}
		for i := range c.Rows {
			a, err := checkpointAction(c, columns, i)
			if err != nil {
				return damaged(full, err.Error())
			}
			take(&a)
		}
	}
	return nil
}

// readableOf are the columns of a checkpoint that a snapshot is made of.
func readableOf(holds holding) plan.Type {
	var fields []plan.Field
	for _, f := range readable.Fields {
		switch {
		case holds != wholeFiles && f.Name == "remove",
			holds == noFiles && (f.Name == "add" || f.Name == "sidecar"):
			continue
		case holds == bareFiles && f.Name == "add":
			f.Type = plan.Struct(slices.DeleteFunc(slices.Clone(f.Type.Fields), func(g plan.Field) bool {
				return g.Name == "stats" || g.Name == "tags"
			})...)
		}
		fields = append(fields, f)
	}
	return plan.Struct(fields...)
}

// checkpointAction turns a row into the action that a commit's line would be,
// by way of the same JSON.
func checkpointAction(c *chunk.Chunk, columns plan.Type, row int) (readAction, error) {
	var a readAction
	for i, f := range columns.Fields {
		if c.Cols[i].IsNull(row) {
			continue
		}
		text, err := json.Marshal(map[string]any{f.Name: plainValue(c.Cols[i], row)})
		if err != nil {
			return a, err
		}
		return a, json.Unmarshal(text, &a)
	}
	return a, nil
}

// plainValue is a value as encoding/json writes it; NULLs in structs are left out.
func plainValue(v *chunk.Vector, row int) any {
	if v.IsNull(row) {
		return nil
	}
	switch v.Type.Kind {
	case plan.KindStruct:
		object := map[string]any{}
		for i, f := range v.Type.Fields {
			if x := plainValue(v.Kids[i], row); x != nil {
				object[f.Name] = x
			}
		}
		return object
	case plan.KindMap:
		object := map[string]any{}
		from, to := v.Span(row)
		for e := from; e < to; e++ {
			object[string(v.Kids[0].Bytes(e))] = plainValue(v.Kids[1], e)
		}
		return object
	case plan.KindArray:
		list := []any{}
		from, to := v.Span(row)
		for e := from; e < to; e++ {
			list = append(list, plainValue(v.Kids[0], e))
		}
		return list
	}
	return v.Value(row)
}

// defaultInterval is how many commits lie between checkpoints.
const defaultInterval = 10

// removedFor is how long removed files stay in checkpoints, for readers of
// older versions and for vacuum.
const removedFor = 7 * 24 * time.Hour

func (s *Snapshot) checkpointWhenDue(ctx context.Context) error {
	interval, err := strconv.ParseInt(s.property("delta.checkpointInterval", ""), 10, 64)
	if err != nil || interval <= 0 {
		interval = defaultInterval
	}
	if s.Version == 0 || s.Version%interval != 0 {
		return nil
	}
	return s.Checkpoint(ctx)
}

// Checkpoint writes all that the log says up to the snapshot's version into one
// file, from which later readers begin.
func (s *Snapshot) Checkpoint(ctx context.Context) error {
	schema := checkpointSchema
	if s.property("delta.checkpointPolicy", "") == "v2" {
		schema = plan.Struct(append(slices.Clone(readable.Fields), versionColumn)...)
	}
	var b bytes.Buffer
	out, err := codec.NewParquetWriter(&b, schema, codec.ParquetOptions{})
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	rows, err := s.checkpointRows(ctx, out, schema)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if _, err := out.Close(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	name := s.logPath(fmt.Sprintf("%020d.checkpoint.parquet", s.Version))
	err = vfs.WriteNew(s.FS, name, b.Bytes())
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("checkpoint: %w", err)
	}
	hint, err := json.Marshal(checkpointHint{
		Version: s.Version, Size: rows, SizeInBytes: int64(b.Len()), NumOfAddFiles: int64(len(s.files)),
	})
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := vfs.WriteReplace(s.FS, s.logPath(lastCheckpoint), hint); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	s.checkpointed = s.Version
	return nil
}

// checkpointRows writes every action that still counts.
func (s *Snapshot) checkpointRows(ctx context.Context, out *codec.ParquetWriter, schema plan.Type,
) (int64, error) {
	w := &checkpointWriter{out: out, schema: schema, chunk: chunk.NewChunk(schema, chunk.MaxRows)}
	if columnIndex(schema, versionColumn.Name) >= 0 {
		w.put(versionColumn.Name, []plan.Value{s.Version, nil})
	}
	w.put("protocol", s.protocolRow())
	w.put("metaData", s.metadataRow())
	for _, app := range sortedKeys(s.txns) {
		t := s.txns[app]
		w.put("txn", []plan.Value{t.AppID, t.Version, zeroIsNull(t.LastUpdated)})
	}
	for _, name := range sortedKeys(s.domains) {
		d := s.domains[name]
		w.put("domainMetadata", []plan.Value{d.Domain, d.Configuration, d.Removed})
	}
	newest := int64(0)
	for _, r := range s.removed {
		newest = max(newest, r.DeletionTimestamp)
	}
	for _, key := range sortedKeys(s.removed) {
		r := s.removed[key]
		if r.DeletionTimestamp < newest-removedFor.Milliseconds() {
			delete(s.removed, key)
			continue
		}
		w.put("remove", []plan.Value{r.Path, zeroIsNull(r.DeletionTimestamp), false, r.ExtendedFileMetadata,
			mapValue(r.PartitionValues), r.Size, vectorRow(r.DeletionVector),
			numberOrNull(r.BaseRowID), numberOrNull(r.DefaultRowCommitVersion)})
	}
	for _, f := range s.Files() {
		var stats plan.Value
		if f.Stats != "" {
			stats = f.Stats
		}
		w.put("add", []plan.Value{f.Path, mapValue(f.PartitionValues), f.Size, f.ModificationTime, false,
			tagValue(f.Tags), vectorRow(f.DeletionVector), numberOrNull(f.BaseRowID),
			numberOrNull(f.DefaultRowCommitVersion), emptyIsNull(f.ClusteringProvider), stats})
	}
	if w.err == nil && ctx.Err() != nil {
		w.err = context.Cause(ctx)
	}
	w.flush()
	return w.rows, w.err
}

// checkpointWriter gathers rows of which one struct is set.
type checkpointWriter struct {
	out    *codec.ParquetWriter
	schema plan.Type
	chunk  *chunk.Chunk
	rows   int64
	err    error
}

func (w *checkpointWriter) put(name string, value []plan.Value) {
	row := make([]plan.Value, len(w.schema.Fields))
	row[columnIndex(w.schema, name)] = value
	w.chunk.AppendValues(row)
	w.rows++
	if w.chunk.Rows == chunk.MaxRows {
		w.flush()
	}
}

func (w *checkpointWriter) flush() {
	if w.err == nil && w.chunk.Rows > 0 {
		w.err = w.out.Append(w.chunk)
	}
	w.chunk = chunk.NewChunk(w.schema, chunk.MaxRows)
}

func (s *Snapshot) protocolRow() []plan.Value {
	p := s.Protocol
	return []plan.Value{int64(p.MinReaderVersion), int64(p.MinWriterVersion),
		listValue(p.ReaderFeatures, p.MinReaderVersion >= readerVersions),
		listValue(p.WriterFeatures, p.MinWriterVersion >= writerVersions)}
}

func (s *Snapshot) metadataRow() []plan.Value {
	m := s.Metadata
	return []plan.Value{m.ID, emptyIsNull(m.Name), emptyIsNull(m.Description),
		[]plan.Value{m.Format.Provider, tagValueOf(m.Format.Options)}, m.SchemaString,
		listValue(m.PartitionColumns, true), tagValueOf(m.Configuration), zeroIsNull(m.CreatedTime)}
}

func emptyIsNull(s string) plan.Value {
	if s == "" {
		return nil
	}
	return s
}

func zeroIsNull(n int64) plan.Value {
	if n == 0 {
		return nil
	}
	return n
}

func numberOrNull(n *int64) plan.Value {
	if n == nil {
		return nil
	}
	return *n
}

func listValue(list []string, present bool) plan.Value {
	if !present {
		return nil
	}
	out := make([]plan.Value, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func mapValue(m map[string]*string) plan.Value {
	out := plan.MapValue{Keys: []plan.Value{}, Values: []plan.Value{}}
	for _, k := range sortedKeys(m) {
		var x plan.Value
		if m[k] != nil {
			x = *m[k]
		}
		out.Keys, out.Values = append(out.Keys, k), append(out.Values, x)
	}
	return out
}

func tagValueOf(m map[string]string) plan.Value {
	out := plan.MapValue{Keys: []plan.Value{}, Values: []plan.Value{}}
	for _, k := range sortedKeys(m) {
		out.Keys, out.Values = append(out.Keys, k), append(out.Values, m[k])
	}
	return out
}

func tagValue(m map[string]string) plan.Value {
	if m == nil {
		return nil
	}
	return tagValueOf(m)
}

func vectorRow(d *DeletionVector) plan.Value {
	if d == nil {
		return nil
	}
	var offset plan.Value
	if d.Offset != nil {
		offset = *d.Offset
	}
	return []plan.Value{d.StorageType, d.PathOrInlineDv, offset, d.SizeInBytes, d.Cardinality}
}
