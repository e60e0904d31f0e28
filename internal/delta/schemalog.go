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

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// SchemaLog is what a stream keeps of the table that it reads: what that was at the
// versions from which on the stream reads it so. The columns of the query are those of
// the last entry, whatever the table has become since.
type SchemaLog struct {
	// Source is the stream's place in the checkpoint, as Spark writes it.
	Source string

	fsys    vfs.FS
	dir     string
	table   Table
	id      string // of the table
	entries []schemaEntry
}

// schemaEntry is a file of the log.
type schemaEntry struct {
	seq int64
	keptSchema
}

// keptSchema is what a file of the log says.
type keptSchema struct {
	TableID         string            `json:"tableId"`
	Version         int64             `json:"deltaCommitVersion"`
	Schema          string            `json:"dataSchemaJson"`
	PartitionSchema string            `json:"partitionSchemaJson"`
	Source          string            `json:"sourceMetadataPath"`
	Configuration   map[string]string `json:"tableConfigurations"`
	Protocol        string            `json:"protocolJson,omitempty"`
	// Previous is the entry that this one follows, where that is not the one before:
	// changes without rows between them are taken as one.
	Previous *int64 `json:"previousMetadataSeqNum,omitempty"`
}

// OpenSchemaLog reads the schema log of a stream from a table, which is in a folder.
func OpenSchemaLog(fsys vfs.FS, dir string, t *Snapshot) (*SchemaLog, error) {
	l := &SchemaLog{fsys: fsys, dir: dir, table: t.Table, id: t.Metadata.ID}
	infos, err := fsys.List(dir)
	if vfs.NotFound(err) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list schema log %s: %w", dir, err)
	}
	for _, info := range infos {
		seq, err := strconv.ParseInt(info.Name, 10, 64)
		if err != nil {
			continue
		}
		e := schemaEntry{seq: seq}
		if e.keptSchema, err = l.read(seq); err != nil {
			return nil, err
		}
		l.entries = append(l.entries, e)
	}
	slices.SortFunc(l.entries, func(a, b schemaEntry) int { return int(a.seq - b.seq) })
	return l, nil
}

func (l *SchemaLog) name(seq int64) string {
	return path.Join(l.dir, strconv.FormatInt(seq, 10))
}

func (l *SchemaLog) read(seq int64) (keptSchema, error) {
	var k keptSchema
	data, err := vfs.ReadFile(l.fsys, l.name(seq))
	if err != nil {
		return k, fmt.Errorf("read schema log: %w", err)
	}
	head, body, ok := bytes.Cut(data, []byte("\n"))
	if !ok || string(head) != "v1" || json.Unmarshal(body, &k) != nil {
		return k, newError(classRuntime, "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED",
			fmt.Sprintf("The file %s of the stream's schema log cannot be read. Begin with another one.",
				l.name(seq)), "location", l.name(seq))
	}
	if k.TableID != l.id {
		return k, newError(classRuntime, "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID",
			fmt.Sprintf("The schema log %s is of the table %s, not of %s. Begin with another one.", l.dir,
				k.TableID, l.id), "persistedId", k.TableID, "tableId", l.id)
	}
	return k, nil
}

// latest is the last entry, nil when there is none.
func (l *SchemaLog) latest() *schemaEntry {
	if len(l.entries) == 0 {
		return nil
	}
	return &l.entries[len(l.entries)-1]
}

// before is the entry that another one followed, nil for the first.
func (l *SchemaLog) before(e *schemaEntry) *schemaEntry {
	seq := e.seq - 1
	if e.Previous != nil {
		seq = *e.Previous
	}
	at := slices.IndexFunc(l.entries, func(o schemaEntry) bool { return o.seq == seq })
	if at < 0 {
		return nil
	}
	return &l.entries[at]
}

// write adds an entry.
func (l *SchemaLog) write(k keptSchema) error {
	e := schemaEntry{keptSchema: k}
	if last := l.latest(); last != nil {
		e.seq = last.seq + 1
	}
	var body bytes.Buffer
	body.WriteString("v1\n")
	in := json.NewEncoder(&body)
	in.SetEscapeHTML(false)
	if err := in.Encode(k); err != nil {
		return err
	}
	if err := l.fsys.MkdirAll(l.dir); err != nil {
		return fmt.Errorf("write schema log: %w", err)
	}
	data := bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	if err := vfs.WriteNew(l.fsys, l.name(e.seq), data); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return newError(classRuntime, "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT",
				"Another stream writes the schema log "+l.dir+"; give each its own.",
				"loc", l.dir, "table", l.table.Dir)
		}
		return fmt.Errorf("write schema log: %w", err)
	}
	l.entries = append(l.entries, e)
	return nil
}

// kept is a version of the table as an entry has it.
func (l *SchemaLog) kept(s *Snapshot) keptSchema {
	partitions := plan.Struct()
	for _, name := range s.Metadata.PartitionColumns {
		if at := columnIndex(s.Schema, name); at >= 0 {
			partitions.Fields = append(partitions.Fields, s.Schema.Fields[at])
		}
	}
	k := keptSchema{TableID: l.id, Version: s.Version, Schema: s.Metadata.SchemaString,
		PartitionSchema: partitions.JSON(), Source: l.Source, Configuration: s.Metadata.Configuration,
		Protocol: s.Protocol.Text()}
	if k.Configuration == nil {
		k.Configuration = map[string]string{}
	}
	return k
}

// differs reports whether a version is another table than the entry says.
func (k *keptSchema) differs(o *keptSchema) bool {
	return k.Schema != o.Schema || k.PartitionSchema != o.PartitionSchema || k.Protocol != o.Protocol ||
		!sameDelta(k.Configuration, o.Configuration)
}

// sameDelta compares the properties that mean something to readers.
func sameDelta(a, b map[string]string) bool {
	of := func(m map[string]string) []string {
		var list []string
		for key, value := range m {
			if strings.HasPrefix(key, "delta.") {
				list = append(list, key+"="+value)
			}
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(of(a), of(b))
}

// Known reports whether the log says anything.
func (l *SchemaLog) Known() bool { return len(l.entries) > 0 }

// Passed reports whether a change of the table in some version is in the log.
func (l *SchemaLog) Passed(version int64) bool { return l.Known() && l.latest().Version >= version }

// Reader reads files as the last entry says that the table was.
func (l *SchemaLog) Reader(head *Snapshot) (*Snapshot, error) {
	k := l.latest()
	partitions, err := plan.ParseTypeJSON(k.PartitionSchema)
	if err != nil {
		return nil, newError(classRuntime, "DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED",
			fmt.Sprintf("The stream's schema log cannot be read (%v). Begin with another one.", err))
	}
	m := head.Metadata
	m.SchemaString, m.Configuration, m.PartitionColumns = k.Schema, k.Configuration, []string{}
	for _, f := range partitions.Fields {
		m.PartitionColumns = append(m.PartitionColumns, f.Name)
	}
	return head.As(m, k.Protocol)
}

// Evolved ends the stream behind a change that is in its log now.
func (l *SchemaLog) Evolved() error {
	k := l.latest()
	config, err := json.Marshal(k.Configuration)
	if err != nil {
		return err
	}
	return newError(classRuntime, "DELTA_STREAMING_METADATA_EVOLUTION",
		fmt.Sprintf("The table was changed in version %d; the stream's schema log has that now. "+
			"Start the query again, and it goes on with the new columns.", k.Version),
		"schema", k.Schema, "config", string(config), "protocol", k.Protocol)
}

// Merge takes changes of the table that follow the last one in the log, without
// rows between them, as one: the query meets what came of them.
func (l *SchemaLog) Merge(ctx context.Context) (bool, error) {
	if !l.Known() {
		return false, nil
	}
	last := l.latest()
	from := l.before(last)
	if from == nil {
		return false, nil
	}
	version := last.Version
	for {
		c, err := l.table.ChangesOf(version + 1)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return false, err
		}
		if c.Metadata == nil && c.Protocol == nil || len(c.Added)+len(c.Gone) > 0 {
			break
		}
		version++
	}
	if version == last.Version {
		return false, nil
	}
	k, err := l.at(ctx, version)
	if err != nil || !k.differs(&last.keptSchema) {
		return false, err
	}
	seq := from.seq
	k.Previous = &seq
	return true, l.write(k)
}

// at is a version of the table as the log has it.
func (l *SchemaLog) at(ctx context.Context, version int64) (keptSchema, error) {
	head, err := l.table.LoadHeadOf(ctx, version)
	if err != nil {
		return keptSchema{}, err
	}
	return l.kept(head), nil
}

// Begin writes the first entry: the table at the version that the query begins with, or
// goes on with. Where that is another one than what the query reads the stream ends.
func (l *SchemaLog) Begin(ctx context.Context, version int64, reader *Snapshot) error {
	if l.Known() {
		return nil
	}
	k, err := l.at(ctx, version)
	if err != nil {
		return err
	}
	if err := l.write(k); err != nil {
		return err
	}
	if now := l.kept(reader); k.differs(&now) {
		return l.Evolved()
	}
	return nil
}

// Changes reports whether a version makes the table another one than the stream reads.
func (l *SchemaLog) Changes(ctx context.Context, version int64) (bool, error) {
	if !l.Known() || l.Passed(version) {
		return false, nil
	}
	k, err := l.at(ctx, version)
	return err == nil && k.differs(&l.latest().keptSchema), err
}

// Evolve writes a version into the log, and ends the stream.
func (l *SchemaLog) Evolve(ctx context.Context, version int64) error {
	if l.Passed(version) {
		return nil
	}
	k, err := l.at(ctx, version)
	if err != nil {
		return err
	}
	if err := l.write(k); err != nil {
		return err
	}
	return l.Evolved()
}

// evolvedConf is what the names of settings begin with that let streams go on.
const evolvedConf = "spark.databricks.delta.streaming."

// allowance is a kind of change and what lets a stream go on behind it.
type allowance struct {
	what    string
	option  string // of the reader, and the end of the setting's name
	further []string
	columns []string
}

// Allowed refuses to go on behind a column that was renamed, dropped or retyped until
// somebody says that what reads the rows can take it.
func (l *SchemaLog) Allowed(o plan.Options, conf func(string) string) error {
	if !l.Known() {
		return nil
	}
	last := l.latest()
	from := l.before(last)
	if from == nil {
		return nil
	}
	changed, err := ChangedColumns(from.Schema, last.Schema)
	if err != nil {
		return err
	}
	var missing []allowance
	for _, a := range []allowance{
		{"RENAME COLUMN", "allowSourceColumnRename", []string{"allowSourceColumnRenameAndDrop",
			"allowSourceColumnRenameAndDropAndTypeChange"}, changed.Renamed},
		{"DROP COLUMN", "allowSourceColumnDrop", []string{"allowSourceColumnRenameAndDrop",
			"allowSourceColumnRenameAndDropAndTypeChange"}, changed.Dropped},
		{"TYPE WIDENING", "allowSourceColumnTypeChange", []string{"allowSourceColumnRenameAndDropAndTypeChange"},
			changed.Retyped},
	} {
		if len(a.columns) > 0 && !a.given(o, conf, last.Version) {
			missing = append(missing, a)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return notAllowed(missing, from.Version, last.Version)
}

// given looks for the option or a setting, whose value is always or the version.
func (a allowance) given(o plan.Options, conf func(string) string, version int64) bool {
	holds := func(text string) bool {
		return strings.EqualFold(text, "always") || text == strconv.FormatInt(version, 10)
	}
	if text, ok := o.Get(a.option); ok && holds(text) {
		return true
	}
	for _, name := range append([]string{a.option}, a.further...) {
		if holds(conf(evolvedConf + name)) {
			return true
		}
	}
	return false
}

func notAllowed(missing []allowance, from, to int64) error {
	var kinds, details, options, confs []string
	version := strconv.FormatInt(to, 10)
	for _, a := range missing {
		kinds = append(kinds, a.what)
		details = append(details, a.what+": "+strings.Join(a.columns, ", "))
		options = append(options, fmt.Sprintf(`.option("%s", "%s")`, a.option, version))
		confs = append(confs, evolvedConf+a.option)
	}
	return newError(classRuntime, "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",
		fmt.Sprintf("Version %s of the table changed columns that rows before it had (%s). Change what the query "+
			"writes into if need be, and then start it again with %s of the reader, or with the setting %s = %s "+
			"(or always).",
			version, strings.Join(details, "; "), strings.Join(options, ""), strings.Join(confs, ", "), version),
		"opType", strings.Join(kinds, " AND "), "previousSchemaChangeVersion", strconv.FormatInt(from, 10),
		"currentSchemaChangeVersion", version, "columnChangeDetails", strings.Join(details, "\n"),
		"unblockChangeOptions", strings.Join(options, ""), "unblockStreamOptions", strings.Join(options, ""),
		"unblockChangeConfs", strings.Join(confs, ", "), "unblockStreamConfs", strings.Join(confs, ", "),
		"unblockAllConfs", strings.Join(confs, ", "))
}
