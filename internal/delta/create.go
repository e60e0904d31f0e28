package delta

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// CreateSpec is what CREATE TABLE says.
type CreateSpec struct {
	Schema      plan.Type
	Partitions  []string
	Name        string
	Description string
	Properties  map[string]string
	Managed     bool // the catalog owns the directory
	// Replace gives an existing table the new columns and no rows.
	Replace bool
	Now     time.Time
}

// Create makes a table without rows and returns its snapshot.
func (t Table) Create(ctx context.Context, spec CreateSpec) (*Snapshot, error) {
	metadata, protocol, err := NewMetadata(spec.Schema, spec.Partitions, spec.Now)
	if err != nil {
		return nil, err
	}
	metadata.Name, metadata.Description = spec.Name, spec.Description
	maps.Copy(metadata.Configuration, spec.Properties)
	change := Change{Operation: "CREATE TABLE", Metadata: metadata, Protocol: protocol, Now: spec.Now}
	s, err := t.Load(ctx)
	switch {
	case IsNotTable(err):
		s, err = t.New()
	case err == nil && !spec.Replace:
		return nil, newError(classAnalysis, "DELTA_TABLE_ALREADY_EXISTS",
			fmt.Sprintf("There is a Delta table in %s already.", t.Dir), "tableName", t.Dir)
	case err == nil:
		change.Operation, change.Replace, change.Protocol = "CREATE OR REPLACE TABLE", true, nil
		if wider, ok := widerProtocol(s.Protocol, spec.Schema); ok {
			change.Protocol = &wider
		}
	}
	if err != nil {
		return nil, err
	}
	description := Param{Name: "description"}
	if spec.Description != "" {
		description.Value = &spec.Description
	}
	properties, err := json.Marshal(spec.Properties)
	if err != nil {
		return nil, fmt.Errorf("create table: %w", err)
	}
	if len(spec.Properties) == 0 {
		properties = []byte("{}")
	}
	change.Params = []Param{
		Text("partitionBy", jsonList(spec.Partitions)), Text("clusterBy", "[]"), description,
		Text("isManaged", strconv.FormatBool(spec.Managed)), Text("properties", string(properties)),
	}
	_, err = s.Commit(ctx, change)
	return s, err
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
		Metrics: []Param{
			Number("numFiles", int64(len(w.Adds))), Number("numOutputRows", w.Rows), Number("numOutputBytes", w.Bytes),
		},
		Adds: w.Adds,
		Now:  now,
	}
}
