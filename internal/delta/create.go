package delta

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/plan"
)

// CreateSpec is what CREATE TABLE says.
type CreateSpec struct {
	Schema      plan.Type
	Partitions  []string
	Clustering  []string // columns of the table, "" for none
	Name        string
	Description string
	Properties  map[string]string
	Defaults    map[string]string // properties of new tables, unless Properties have others
	Managed     bool              // the catalog owns the directory
	// Replace gives an existing table the new columns and none of its rows.
	Replace bool
	Query   bool // the statement has one, whose rows the table begins with
	// Statement is CREATE TABLE, CREATE OR REPLACE TABLE or REPLACE TABLE.
	Statement string
	Now       time.Time
}

// Create makes a table without rows and returns its snapshot.
func (t Table) Create(ctx context.Context, spec CreateSpec) (*Snapshot, error) {
	s, change, err := t.Making(ctx, spec)
	if err != nil {
		return nil, err
	}
	_, err = s.Commit(ctx, change)
	return s, err
}

// Making is what a statement commits that makes a table, or replaces one, but for its
// rows.
func (t Table) Making(ctx context.Context, spec CreateSpec) (*Snapshot, Change, error) {
	metadata, protocol, err := NewMetadata(spec)
	if err != nil {
		return nil, Change{}, err
	}
	change := Change{Operation: cmp.Or(spec.Statement, "CREATE TABLE"), Metadata: metadata, Protocol: protocol,
		Now: spec.Now}
	s, err := t.Load(ctx)
	switch {
	case IsNotTable(err):
		s, err = t.New()
	case err == nil && !spec.Replace:
		err = newError(classAnalysis, "DELTA_TABLE_ALREADY_EXISTS",
			fmt.Sprintf("There is a Delta table in %s already.", t.Dir), "tableName", t.Dir)
	case err == nil:
		change.Replace = true
		change.Protocol = s.joined(*protocol)
	}
	if err != nil {
		return nil, change, err
	}
	if spec.Query {
		change.Operation += " AS SELECT"
	}
	if len(spec.Clustering) > 0 {
		change.Domains = []DomainMetadata{metadata.clusteredBy(spec.Clustering)}
	}
	description := Param{Name: "description"}
	if spec.Description != "" {
		description.Value = &spec.Description
	}
	change.Params = []Param{
		Text("partitionBy", jsonList(spec.Partitions)), Text("clusterBy", jsonList(spec.Clustering)), description,
		Text("isManaged", strconv.FormatBool(spec.Managed)),
		Text("properties", jsonMap(metadata.Configuration)),
	}
	return s, change, nil
}

// jsonMap is a map of texts as JSON text.
func jsonMap(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for _, key := range sortedKeys(m) {
		parts = append(parts, plan.JSONText(key)+":"+plan.JSONText(m[key]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// joined is the protocol of a table that takes on the features of another; nil when it
// has them all.
func (s *Snapshot) joined(p Protocol) *Protocol {
	have := featuresOf(s.Protocol)
	joined := protocolWith(append(have, featuresOf(p)...))
	if len(featuresOf(joined)) == len(have) {
		return nil
	}
	return &joined
}

// clusteredBy is the domain of a table that is clustered by some columns.
func (m *Metadata) clusteredBy(columns []string) DomainMetadata {
	schema, err := plan.ParseTypeJSON(m.SchemaString)
	if err != nil {
		panic(err) // it was written by NewMetadata
	}
	paths := make([]string, len(columns))
	for i, name := range columns {
		f := schema.Fields[columnIndex(schema, name)]
		paths[i] = "[" + plan.JSONText(physicalName(f)) + "]"
	}
	return DomainMetadata{Domain: clusteringDomain, Configuration: fmt.Sprintf(
		`{"clusteringColumns":[%s],"domainName":%q}`, strings.Join(paths, ","), clusteringDomain)}
}

// NewMetadata describes a new table, with the protocol that it needs.
func NewMetadata(spec CreateSpec) (*Metadata, *Protocol, error) {
	configuration, err := CheckProperties(spec.Properties)
	if err != nil {
		return nil, nil, err
	}
	for key, value := range spec.Defaults {
		if _, ok := configuration[key]; !ok {
			configuration[key] = value
		}
	}
	configuration, asked, err := settled(configuration)
	if err != nil {
		return nil, nil, err
	}
	starting, err := startingFeatures(configuration)
	if err != nil {
		return nil, nil, err
	}
	if len(spec.Clustering) > 0 {
		asked = append(asked, "clustering")
	}
	m := &Metadata{
		ID: uuid.NewString(), Name: spec.Name, Description: spec.Description,
		Format:           Format{Provider: "parquet", Options: map[string]string{}},
		PartitionColumns: spelled(spec.Schema, spec.Partitions),
		Configuration:    configuration,
		CreatedTime:      spec.Now.UnixMilli(),
	}
	if m.PartitionColumns == nil {
		m.PartitionColumns = []string{}
	}
	schema := ownMarks(spec.Schema)
	if err := checkSchema(schema, m); err != nil {
		return nil, nil, err
	}
	if err := checkDefaults(schema, asked); err != nil {
		return nil, nil, err
	}
	schema = m.describe(schema)
	if enabled(rowsTracked)(m, schema) {
		configuration[rowIDColumn] = "_row-id-col-" + uuid.NewString()
		configuration[rowVersionColumn] = "_row-commit-version-col-" + uuid.NewString()
	}
	protocol := protocolWith(append(starting, needs(m, schema, asked)...))
	return m, &protocol, nil
}

// CheckSame refuses a CREATE TABLE over a table that is there and differs from
// what the statement says.
func (s *Snapshot) CheckSame(schema plan.Type, partitions []string, properties map[string]string) error {
	if !schema.Equal(Visible(s.Schema)) {
		return newError(classAnalysis, "DELTA_CREATE_TABLE_SCHEME_MISMATCH",
			fmt.Sprintf("The Delta table in %s has other columns. Table: %s. Statement: %s.", s.Dir,
				s.Schema.DDL(), schema.DDL()),
			"path", s.Dir, "specifiedSchema", schema.DDL(), "existingSchema", s.Schema.DDL(),
			"schemaDifferences", "")
	}
	if !sameNames(partitions, s.Metadata.PartitionColumns) {
		return newError(classAnalysis, "DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING",
			fmt.Sprintf("The Delta table in %s is partitioned by (%s).", s.Dir,
				strings.Join(s.Metadata.PartitionColumns, ", ")),
			"path", s.Dir, "specifiedColumns", strings.Join(partitions, ", "),
			"existingColumns", strings.Join(s.Metadata.PartitionColumns, ", "))
	}
	properties, err := CheckProperties(properties)
	if err == nil {
		properties, _, err = settled(properties)
	}
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(properties) {
		if value, ok := s.Metadata.Configuration[key]; !ok || value != properties[key] {
			return newError(classAnalysis, "DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY",
				fmt.Sprintf("The Delta table in %s has %s = %q, not %q.", s.Dir, key, value, properties[key]),
				"path", s.Dir, "specifiedProperties", key+"="+properties[key], "existingProperties", key+"="+value)
		}
	}
	return nil
}

// jsonList is a list of names as JSON text.
func jsonList(names []string) string {
	text := "["
	for i, name := range names {
		if i > 0 {
			text += ","
		}
		text += plan.JSONText(name)
	}
	return text + "]"
}

// StreamUpdate is the change of a micro-batch.
func StreamUpdate(mode plan.OutputMode, queryID string, batchID int64, w Written, now time.Time) Change {
	return Change{
		Operation: "STREAMING UPDATE",
		Params: []Param{
			Text("outputMode", mode.String()), Text("queryId", queryID), Number("epochId", batchID),
		},
		Metrics: []Param{
			Number("numRemovedFiles", 0), Number("numAddedFiles", int64(len(w.Adds))),
			Number("numOutputRows", w.Rows), Number("numOutputBytes", w.Bytes),
		},
		Txn:     &Txn{AppID: queryID, Version: batchID, LastUpdated: now.UnixMilli()},
		Adds:    w.Adds,
		Replace: mode == plan.CompleteMode,
		Now:     now,
	}
}

// BatchWrite is the change of df.write; mode is Append, Overwrite, ErrorIfExists
// or Ignore.
func BatchWrite(mode string, partitions []string, w Written, now time.Time) Change {
	return Change{
		Operation: "WRITE",
		Params:    []Param{Text("mode", mode), Text("partitionBy", jsonList(partitions))},
		Metrics:   writeMetrics(w),
		Adds:      w.Adds,
		Now:       now,
	}
}

func writeMetrics(w Written) []Param {
	return []Param{
		Number("numFiles", int64(len(w.Adds))), Number("numOutputRows", w.Rows), Number("numOutputBytes", w.Bytes),
	}
}

// Begin is the change with the rows that a new table begins with.
func (c Change) Begin(w Written) Change {
	c.Adds, c.Metrics = w.Adds, writeMetrics(w)
	return c
}
