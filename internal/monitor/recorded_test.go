package monitor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A recording is a line of testdata: the text that a PySpark 4.3 client
// received from Apache Spark 4.3.0 over Connect. spark_progress.jsonl is as it
// came but for paths; in connect_transcripts.jsonl ids are masked and times,
// counts and rates are replaced by constants.
type recording struct {
	form string // event, command, started, terminated
	text string
}

func recordings(t testing.TB, name string) []recording {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []recording
	for line := range strings.Lines(string(data)) {
		form, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		out = append(out, recording{form, text})
	}
	return out
}

// member is one key of a JSON object, in the order of the text.
type member struct {
	key string
	raw json.RawMessage
}

func members(t testing.TB, raw json.RawMessage) []member {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		t.Fatalf("not an object: %s", raw)
	}
	var out []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		out = append(out, member{key.(string), value})
	}
	return out
}

func elements(t testing.TB, raw json.RawMessage) []json.RawMessage {
	t.Helper()
	var out []json.RawMessage
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return out
}

func text(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if s == nil {
		return ""
	}
	return *s
}

func integer(t testing.TB, raw json.RawMessage) int64 {
	t.Helper()
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func number(t testing.TB, raw json.RawMessage) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func instant(t testing.TB, raw json.RawMessage) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// parseProgress reads either form back.
func parseProgress(t testing.TB, r recording) *Progress {
	t.Helper()
	p := &Progress{}
	fields := members(t, json.RawMessage(r.text))
	if r.form == "event" {
		fields = members(t, fields[0].raw)
	}
	for _, m := range fields {
		parseField(t, p, m, r.form == "event")
	}
	return p
}

func parseField(t testing.TB, p *Progress, m member, event bool) {
	t.Helper()
	switch m.key {
	case "id":
		p.ID = text(t, m.raw)
	case "runId":
		p.RunID = text(t, m.raw)
	case "name":
		p.Name = text(t, m.raw)
	case "timestamp":
		p.Timestamp = instant(t, m.raw)
	case "batchId":
		p.BatchID = integer(t, m.raw)
	case "batchDuration":
		p.BatchDurationMs = integer(t, m.raw)
	case "numInputRows", "inputRowsPerSecond", "processedRowsPerSecond": // sums
	case "durationMs":
		for _, d := range members(t, m.raw) {
			for phase := range phaseCount {
				if phase.String() == d.key {
					p.Durations.Add(phase, time.Duration(integer(t, d.raw))*time.Millisecond)
				}
			}
		}
	case "eventTime":
		p.EventTime = parseEventTime(t, m.raw)
	case "stateOperators":
		for _, raw := range elements(t, m.raw) {
			p.StateOperators = append(p.StateOperators, parseOperator(t, raw))
		}
	case "sources":
		for _, raw := range elements(t, m.raw) {
			p.Sources = append(p.Sources, parseSource(t, raw, event))
		}
	case "sink":
		p.Sink = parseSink(t, m.raw)
	case "observedMetrics":
		p.Observed = parseObserved(t, m.raw, event)
	default:
		t.Fatalf("unknown key %q", m.key)
	}
}

func parseEventTime(t testing.TB, raw json.RawMessage) *EventTime {
	t.Helper()
	e, rows := &EventTime{}, &EventTimeRange{}
	fields := members(t, raw)
	for _, m := range fields {
		ms := instant(t, m.raw).UnixMilli()
		switch m.key {
		case "min":
			rows.MinMs = ms
		case "avg":
			rows.AvgMs = ms
		case "max":
			rows.MaxMs = ms
		case "watermark":
			e.WatermarkMs = ms
		}
	}
	switch len(fields) {
	case 0:
		return nil
	case 4:
		e.Rows = rows
	}
	return e
}

func parseOperator(t testing.TB, raw json.RawMessage) StateOperator {
	t.Helper()
	s := StateOperator{}
	numbers := map[string]*int64{
		"numRowsTotal": &s.NumRowsTotal, "numRowsUpdated": &s.NumRowsUpdated,
		"allUpdatesTimeMs": &s.AllUpdatesTimeMs, "numRowsRemoved": &s.NumRowsRemoved,
		"allRemovalsTimeMs": &s.AllRemovalsTimeMs, "commitTimeMs": &s.CommitTimeMs,
		"memoryUsedBytes": &s.MemoryUsedBytes, "numRowsDroppedByWatermark": &s.NumRowsDroppedByWatermark,
		"numShufflePartitions": &s.NumShufflePartitions, "numStateStoreInstances": &s.NumStateStoreInstances,
	}
	for _, m := range members(t, raw) {
		switch m.key {
		case "operatorName":
			s.Name = text(t, m.raw)
		case "customMetrics":
			for _, c := range members(t, m.raw) {
				s.CustomMetrics = append(s.CustomMetrics, StateMetric{Name: c.key, Value: integer(t, c.raw)})
			}
		case "snapshotCustomMetricNames":
			markSnapshots(t, s.CustomMetrics, elements(t, m.raw))
		default:
			*numbers[m.key] = integer(t, m.raw)
		}
	}
	return s
}

// markSnapshots marks the metrics of the given names.
func markSnapshots(t testing.TB, metrics []StateMetric, names []json.RawMessage) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(metrics, func(m StateMetric) bool { return m.Name == text(t, name) })
		if i >= 0 {
			metrics[i].Snapshot = true
		}
	}
}

func parseSource(t testing.TB, raw json.RawMessage, event bool) Source {
	t.Helper()
	s := Source{}
	offset := func(raw json.RawMessage) string {
		if event && string(raw) != "null" {
			return string(raw)
		}
		return text(t, raw)
	}
	for _, m := range members(t, raw) {
		switch m.key {
		case "description":
			s.Description = text(t, m.raw)
		case "startOffset":
			s.StartOffset = offset(m.raw)
		case "endOffset":
			s.EndOffset = offset(m.raw)
		case "latestOffset":
			s.LatestOffset = offset(m.raw)
		case "numInputRows":
			s.NumInputRows = integer(t, m.raw)
		case "inputRowsPerSecond":
			s.InputRowsPerSecond = number(t, m.raw)
		case "processedRowsPerSecond":
			s.ProcessedRowsPerSecond = number(t, m.raw)
		case "metrics":
			s.Metrics = parseMetrics(t, m.raw)
		}
	}
	return s
}

func parseSink(t testing.TB, raw json.RawMessage) Sink {
	t.Helper()
	s := Sink{}
	for _, m := range members(t, raw) {
		switch m.key {
		case "description":
			s.Description = text(t, m.raw)
		case "numOutputRows":
			s.NumOutputRows = integer(t, m.raw)
		case "metrics":
			s.Metrics = parseMetrics(t, m.raw)
		}
	}
	return s
}

func parseMetrics(t testing.TB, raw json.RawMessage) []TextMetric {
	t.Helper()
	var out []TextMetric
	for _, m := range members(t, raw) {
		out = append(out, TextMetric{m.key, text(t, m.raw)})
	}
	return out
}

// parseObserved reads the command form, which holds the types, in full; of the
// event form it takes integers only.
func parseObserved(t testing.TB, raw json.RawMessage, event bool) []Observation {
	t.Helper()
	var out []Observation
	for _, m := range members(t, raw) {
		o := Observation{Name: m.key}
		if event {
			for _, f := range members(t, m.raw) {
				o.Row.Fields = append(o.Row.Fields, Field{f.key, eventValue(t, f.raw)})
			}
		} else {
			o.Row = parseRow(t, m.raw)
		}
		out = append(out, o)
	}
	return out
}

func eventValue(t testing.TB, raw json.RawMessage) Value {
	t.Helper()
	switch {
	case string(raw) == "null":
		return Value{}
	case raw[0] == '"':
		return String(text(t, raw))
	}
	return Decimal(string(raw))
}

type fieldSchema struct {
	Name string
	Type json.RawMessage
}

func parseRow(t testing.TB, raw json.RawMessage) Row {
	t.Helper()
	m := members(t, raw)
	var schema struct{ Fields []fieldSchema }
	if err := json.Unmarshal(m[1].raw, &schema); err != nil {
		t.Fatal(err)
	}
	row := Row{Schema: string(m[1].raw)}
	for i, v := range elements(t, m[0].raw) {
		f := schema.Fields[i]
		row.Fields = append(row.Fields, Field{f.Name, parseValue(t, f.Type, v)})
	}
	return row
}

func parseValue(t testing.TB, typ, raw json.RawMessage) Value {
	t.Helper()
	if string(raw) == "null" {
		return Value{}
	}
	if typ[0] == '{' {
		return parseNested(t, typ, raw)
	}
	switch name, _, _ := strings.Cut(text(t, typ), "("); name {
	case "byte", "short", "integer", "long":
		return Int(integer(t, raw))
	case "double":
		return Double(number(t, raw))
	case "float":
		f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 32)
		if err != nil {
			t.Fatal(err)
		}
		return Float(float32(f))
	case "decimal":
		return Decimal(string(raw))
	case "boolean":
		return Bool(string(raw) == "true")
	case "string":
		return String(text(t, raw))
	case "binary":
		b, err := base64.StdEncoding.DecodeString(text(t, raw))
		if err != nil {
			t.Fatal(err)
		}
		return Binary(b)
	case "timestamp":
		at := time.UnixMilli(integer(t, raw)).UTC()
		return Instant(at.Format(time.DateTime), at.UnixMilli())
	case "date":
		at := time.UnixMilli(integer(t, raw)).UTC()
		return Instant(at.Format(time.DateOnly), at.UnixMilli())
	}
	panic(fmt.Sprintf("type %s", typ))
}

func parseNested(t testing.TB, typ, raw json.RawMessage) Value {
	t.Helper()
	var s struct {
		Type                            string
		ElementType, KeyType, ValueType json.RawMessage
	}
	if err := json.Unmarshal(typ, &s); err != nil {
		t.Fatal(err)
	}
	var items []Value
	switch s.Type {
	case "struct":
		return Struct(parseRow(t, raw))
	case "array":
		for _, e := range elements(t, raw) {
			items = append(items, parseValue(t, s.ElementType, e))
		}
		return Array(items...)
	}
	for _, m := range members(t, raw) {
		key := String(m.key)
		if string(s.KeyType) != `"string"` {
			key = parseValue(t, s.KeyType, json.RawMessage(m.key))
		}
		items = append(items, key, parseValue(t, s.ValueType, m.raw))
	}
	return Map(items...)
}
