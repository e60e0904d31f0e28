package session

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
)

// deltaPlace is the Delta table that a statement is about.
type deltaPlace struct {
	delta.Table
	entry *catalog.Table // of the catalog; nil for a path
	shown string         // its name as Delta's errors and answers show it
}

// deltaTable finds the Delta table that a statement names; statement is its name in
// errors.
func (sc *scope) deltaTable(name []string, statement string) (*deltaPlace, error) {
	if f := sc.formatOfPath(name); f != nil {
		t, err := deltatable.Table(sc.files, name[1])
		if err != nil {
			return nil, err
		}
		there, err := t.Exists()
		if err == nil && !there {
			err = dml.Mistake("DELTA_TABLE_ONLY_OPERATION", "0AKDD",
				fmt.Sprintf("There is no Delta table at %s, and %s is for Delta tables.", name[1], statement),
				"tableName", plan.Quote(name[1]), "operation", statement)
		}
		return &deltaPlace{Table: t, shown: "delta.`file:" + t.Dir + "`"}, err
	}
	entry, err := sc.session.realTable(name, statement)
	if err != nil {
		return nil, err
	}
	if entry.Format != deltaFormat {
		return nil, dml.Mistake("DELTA_ONLY_OPERATION", "0AKDD",
			fmt.Sprintf("%s is for Delta tables, and %s has the format %s.", statement, entry.ID, entry.Format),
			"operation", statement)
	}
	t, err := deltatable.Table(sc.files, entry.Location)
	return &deltaPlace{Table: t, entry: entry, shown: entry.ID.String()}, err
}

var (
	textMap  = plan.Map(plan.String, plan.String, true)
	textList = plan.Array(plan.String, true)
)

func historySchema() plan.Type {
	job := plan.Struct()
	for _, name := range []string{"jobId", "jobName", "jobRunId", "runId", "jobOwnerId", "triggerType"} {
		job.Fields = append(job.Fields, nullText(name))
	}
	return plan.Struct(plan.Col("version", plan.Long), plan.Col("timestamp", plan.Timestamp), nullText("userId"),
		nullText("userName"), nullText("operation"), plan.Col("operationParameters", textMap),
		plan.Col("job", job), plan.Col("notebook", plan.Struct(nullText("notebookId"))), nullText("clusterId"),
		plan.Col("readVersion", plan.Long), nullText("isolationLevel"), plan.Col("isBlindAppend", plan.Boolean),
		plan.Col("operationMetrics", textMap), nullText("userMetadata"), nullText("engineInfo"))
}

// describeHistory is DESCRIBE HISTORY.
func describeHistory(s *Session, c *plan.Describe) ([][]plan.Value, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	t, err := sc.deltaTable(c.Name, "DESCRIBE HISTORY")
	if err != nil {
		return nil, err
	}
	events, err := t.History(c.Limit)
	if err != nil {
		return nil, err
	}
	rows := make([][]plan.Value, len(events))
	for i, e := range events {
		rows[i] = []plan.Value{e.Version, e.Time * 1000, orNil(e.UserID), orNil(e.UserName), orNil(e.Operation),
			paramMap(e.Parameters), nil, nil, nil, orNil(e.ReadVersion), orNil(e.IsolationLevel),
			orNil(e.IsBlindAppend), paramMap(e.Metrics), orNil(e.UserMetadata), orNil(e.EngineInfo)}
	}
	return rows, nil
}

func orNil[T any](x *T) plan.Value {
	if x == nil {
		return nil
	}
	return *x
}

func paramMap(params []delta.Param) plan.Value {
	if params == nil {
		return nil
	}
	m := plan.MapValue{Keys: []plan.Value{}, Values: []plan.Value{}}
	for _, p := range params {
		m.Keys, m.Values = append(m.Keys, p.Name), append(m.Values, orNil(p.Value))
	}
	return m
}

func propertyMap(properties map[string]string) plan.Value {
	m := plan.MapValue{Keys: []plan.Value{}, Values: []plan.Value{}}
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		m.Keys, m.Values = append(m.Keys, key), append(m.Values, properties[key])
	}
	return m
}

func nameList(names []string) plan.Value {
	out := make([]plan.Value, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

func detailSchema() plan.Type {
	return plan.Struct(nullText("format"), nullText("id"), nullText("name"), nullText("description"),
		nullText("location"), plan.Col("createdAt", plan.Timestamp), plan.Col("lastModified", plan.Timestamp),
		plan.Col("partitionColumns", textList), plan.Col("clusteringColumns", textList),
		plan.Col("numFiles", plan.Long), plan.Col("sizeInBytes", plan.Long), plan.Col("properties", textMap),
		plan.Col("minReaderVersion", plan.Int), plan.Col("minWriterVersion", plan.Int),
		plan.Col("tableFeatures", textList))
}

// describeDetail is DESCRIBE DETAIL.
func describeDetail(ctx context.Context, s *Session, c *plan.Describe) ([][]plan.Value, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	if sc.formatOfPath(c.Name) == nil {
		entry, err := s.realTable(c.Name, "DESCRIBE DETAIL")
		if err != nil {
			return nil, err
		}
		if entry.Format != deltaFormat {
			return [][]plan.Value{plainDetail(entry)}, nil
		}
	}
	t, err := sc.deltaTable(c.Name, "DESCRIBE DETAIL")
	if err != nil {
		return nil, err
	}
	snapshot, err := t.Load(ctx)
	if err != nil {
		return nil, err
	}
	_, times, err := t.Times()
	if err != nil {
		return nil, err
	}
	var name, modified plan.Value
	if t.entry != nil {
		name = t.entry.ID.String()
	}
	if len(times) > 0 {
		modified = times[len(times)-1] * 1000
	}
	m := snapshot.Metadata
	var description plan.Value
	if m.Description != "" {
		description = m.Description
	}
	files, size := snapshot.NumFiles()
	return [][]plan.Value{{deltaFormat, m.ID, name, description, "file:" + t.Dir, m.CreatedTime * 1000, modified,
		nameList(m.PartitionColumns), nameList(snapshot.Clustering()), int64(files), size,
		propertyMap(m.Configuration), int64(snapshot.Protocol.MinReaderVersion),
		int64(snapshot.Protocol.MinWriterVersion), nameList(snapshot.Features())}}, nil
}

// plainDetail is what DESCRIBE DETAIL says of a table of files.
func plainDetail(t *catalog.Table) []plan.Value {
	row := make([]plan.Value, len(detailSchema().Fields))
	row[0], row[2], row[4] = t.Format, t.ID.String(), "file:"+t.Location
	row[5], row[7], row[11] = t.CreatedMs*1000, nameList(t.Partitions), propertyMap(t.Properties)
	if t.Comment != "" {
		row[3] = t.Comment
	}
	return row
}
