package monitor

import (
	"slices"
	"strings"
)

// AppendJSON appends the event form: what listeners receive, and what a
// progress object of the classic API answers as its json. Empty maps and rates
// that are no numbers are left out, map keys are sorted, rates have one
// decimal, offsets are embedded.
func (p *Progress) AppendJSON(dst []byte) []byte {
	dst = p.appendHead(dst)
	dst = appendInt(appendField(dst, "numInputRows"), p.NumInputRows())
	dst = appendRateField(dst, "inputRowsPerSecond", p.InputRowsPerSecond())
	dst = appendRateField(dst, "processedRowsPerSecond", p.ProcessedRowsPerSecond())
	if !p.Durations.empty() {
		dst = p.Durations.append(appendField(dst, "durationMs"), phasesByName)
	}
	if p.EventTime != nil {
		dst = p.EventTime.appendEvent(appendField(dst, "eventTime"))
	}
	dst = append(dst, `,"stateOperators":[`...)
	for i := range p.StateOperators {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.StateOperators[i].appendEvent(dst)
	}
	dst = append(dst, `],"sources":[`...)
	for i := range p.Sources {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.Sources[i].appendEvent(dst)
	}
	dst = append(dst, `],"sink":`...)
	dst = p.Sink.appendEvent(dst)
	dst = p.appendObserved(dst)
	return append(dst, '}')
}

// AppendCommandJSON appends the command form, in which lastProgress and
// recentProgress travel over Connect: Spark's plain dump of the object, with
// empty maps, offsets as strings and unrounded rates, plus the three totals in
// the place where events have them.
func (p *Progress) AppendCommandJSON(dst []byte) []byte {
	dst = p.appendHead(dst)
	dst = appendInt(appendField(dst, "numInputRows"), p.NumInputRows())
	dst = appendDouble(appendField(dst, "inputRowsPerSecond"), p.InputRowsPerSecond())
	dst = appendDouble(appendField(dst, "processedRowsPerSecond"), p.ProcessedRowsPerSecond())
	dst = p.Durations.append(appendField(dst, "durationMs"), phasesInOrder)
	dst = p.EventTime.appendCommand(appendField(dst, "eventTime"))
	dst = append(dst, `,"stateOperators":[`...)
	for i := range p.StateOperators {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.StateOperators[i].appendCommand(dst)
	}
	dst = append(dst, `],"sources":[`...)
	for i := range p.Sources {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.Sources[i].appendCommand(dst)
	}
	dst = append(dst, `],"sink":`...)
	dst = p.Sink.appendCommand(dst)
	dst = append(dst, `,"observedMetrics":{`...)
	for i := range p.Observed {
		o := &p.Observed[i]
		dst = o.Row.appendCommand(appendKey(dst, i == 0, o.Name))
	}
	return append(dst, '}', '}')
}

// appendHead writes what both forms begin with and leaves the object open.
func (p *Progress) appendHead(dst []byte) []byte {
	dst = appendString(append(dst, `{"id":`...), p.ID)
	dst = appendString(appendField(dst, "runId"), p.RunID)
	dst = appendOptional(appendField(dst, "name"), p.Name)
	dst = appendTime(appendField(dst, "timestamp"), p.Timestamp)
	dst = appendInt(appendField(dst, "batchId"), p.BatchID)
	return appendInt(appendField(dst, "batchDuration"), p.BatchDurationMs)
}

var phasesInOrder = [phaseCount]Phase{
	TriggerExecution, QueryPlanning, GetBatch, CommitOffsets,
	LatestOffset, AddBatch, WalCommit,
}

func (d *Durations) append(dst []byte, order [phaseCount]Phase) []byte {
	dst = append(dst, '{')
	first := true
	for _, phase := range order {
		if ms, ok := d.Ms(phase); ok {
			dst = appendInt(appendKey(dst, first, phaseNames[phase]), ms)
			first = false
		}
	}
	return append(dst, '}')
}

func (e *EventTime) appendEvent(dst []byte) []byte {
	dst = append(dst, '{')
	if r := e.Rows; r != nil {
		dst = appendUnixMs(append(dst, `"avg":`...), r.AvgMs)
		dst = appendUnixMs(append(dst, `,"max":`...), r.MaxMs)
		dst = appendUnixMs(append(dst, `,"min":`...), r.MinMs)
		dst = append(dst, ',')
	}
	dst = appendUnixMs(append(dst, `"watermark":`...), e.WatermarkMs)
	return append(dst, '}')
}

func (e *EventTime) appendCommand(dst []byte) []byte {
	if e == nil {
		return append(dst, "{}"...)
	}
	dst = append(dst, '{')
	if r := e.Rows; r != nil {
		dst = appendUnixMs(append(dst, `"min":`...), r.MinMs)
		dst = appendUnixMs(append(dst, `,"avg":`...), r.AvgMs)
		dst = append(dst, ',')
	}
	dst = appendUnixMs(append(dst, `"watermark":`...), e.WatermarkMs)
	if r := e.Rows; r != nil {
		dst = appendUnixMs(append(dst, `,"max":`...), r.MaxMs)
	}
	return append(dst, '}')
}

// appendFields writes the members that both forms share; the object stays open.
func (s *StateOperator) appendFields(dst []byte) []byte {
	dst = appendString(append(dst, `{"operatorName":`...), s.Name)
	for _, f := range [...]struct {
		name  string
		value int64
	}{
		{"numRowsTotal", s.NumRowsTotal},
		{"numRowsUpdated", s.NumRowsUpdated},
		{"allUpdatesTimeMs", s.AllUpdatesTimeMs},
		{"numRowsRemoved", s.NumRowsRemoved},
		{"allRemovalsTimeMs", s.AllRemovalsTimeMs},
		{"commitTimeMs", s.CommitTimeMs},
		{"memoryUsedBytes", s.MemoryUsedBytes},
		{"numRowsDroppedByWatermark", s.NumRowsDroppedByWatermark},
		{"numShufflePartitions", s.NumShufflePartitions},
		{"numStateStoreInstances", s.NumStateStoreInstances},
	} {
		dst = appendInt(appendField(dst, f.name), f.value)
	}
	return dst
}

func (s *StateOperator) appendEvent(dst []byte) []byte {
	dst = s.appendFields(dst)
	if len(s.CustomMetrics) > 0 {
		sorted := slices.Clone(s.CustomMetrics)
		slices.SortFunc(sorted, func(a, b StateMetric) int { return strings.Compare(a.Name, b.Name) })
		dst = appendStateMetrics(appendField(dst, "customMetrics"), sorted)
	}
	return append(dst, '}')
}

func (s *StateOperator) appendCommand(dst []byte) []byte {
	dst = s.appendFields(dst)
	dst = appendStateMetrics(appendField(dst, "customMetrics"), s.CustomMetrics)
	dst = append(dst, `,"snapshotCustomMetricNames":[`...)
	first := true
	for _, m := range s.CustomMetrics {
		if !m.Snapshot {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = appendString(dst, m.Name)
		first = false
	}
	return append(dst, ']', '}')
}

func appendStateMetrics(dst []byte, metrics []StateMetric) []byte {
	dst = append(dst, '{')
	for i, m := range metrics {
		dst = appendInt(appendKey(dst, i == 0, m.Name), m.Value)
	}
	return append(dst, '}')
}

func (s *Source) appendEvent(dst []byte) []byte {
	dst = appendString(append(dst, `{"description":`...), s.Description)
	dst = appendEmbedded(appendField(dst, "startOffset"), s.StartOffset)
	dst = appendEmbedded(appendField(dst, "endOffset"), s.EndOffset)
	dst = appendEmbedded(appendField(dst, "latestOffset"), s.LatestOffset)
	dst = appendInt(appendField(dst, "numInputRows"), s.NumInputRows)
	dst = appendRateField(dst, "inputRowsPerSecond", s.InputRowsPerSecond)
	dst = appendRateField(dst, "processedRowsPerSecond", s.ProcessedRowsPerSecond)
	return append(appendSortedMetrics(dst, s.Metrics), '}')
}

func (s *Source) appendCommand(dst []byte) []byte {
	dst = appendString(append(dst, `{"description":`...), s.Description)
	dst = appendOptional(appendField(dst, "startOffset"), s.StartOffset)
	dst = appendOptional(appendField(dst, "endOffset"), s.EndOffset)
	dst = appendOptional(appendField(dst, "latestOffset"), s.LatestOffset)
	dst = appendInt(appendField(dst, "numInputRows"), s.NumInputRows)
	dst = appendDouble(appendField(dst, "inputRowsPerSecond"), s.InputRowsPerSecond)
	dst = appendDouble(appendField(dst, "processedRowsPerSecond"), s.ProcessedRowsPerSecond)
	return append(appendTextMetrics(appendField(dst, "metrics"), s.Metrics), '}')
}

func (s *Sink) appendEvent(dst []byte) []byte {
	dst = appendString(append(dst, `{"description":`...), s.Description)
	dst = appendInt(appendField(dst, "numOutputRows"), s.NumOutputRows)
	return append(appendSortedMetrics(dst, s.Metrics), '}')
}

func (s *Sink) appendCommand(dst []byte) []byte {
	dst = appendString(append(dst, `{"description":`...), s.Description)
	dst = appendInt(appendField(dst, "numOutputRows"), s.NumOutputRows)
	return append(appendTextMetrics(appendField(dst, "metrics"), s.Metrics), '}')
}

func appendSortedMetrics(dst []byte, metrics []TextMetric) []byte {
	if len(metrics) == 0 {
		return dst
	}
	sorted := slices.Clone(metrics)
	slices.SortFunc(sorted, func(a, b TextMetric) int { return strings.Compare(a.Name, b.Name) })
	return appendTextMetrics(appendField(dst, "metrics"), sorted)
}

func appendTextMetrics(dst []byte, metrics []TextMetric) []byte {
	dst = append(dst, '{')
	for i, m := range metrics {
		dst = appendString(appendKey(dst, i == 0, m.Name), m.Value)
	}
	return append(dst, '}')
}

// appendObserved writes the observations sorted by name, or nothing when there
// are none or when one of them cannot be written.
func (p *Progress) appendObserved(dst []byte) []byte {
	if len(p.Observed) == 0 {
		return dst
	}
	for i := range p.Observed {
		if p.Observed[i].Row.opaque() {
			return dst
		}
	}
	sorted := slices.Clone(p.Observed)
	slices.SortFunc(sorted, func(a, b Observation) int { return strings.Compare(a.Name, b.Name) })
	dst = append(dst, `,"observedMetrics":{`...)
	for i := range sorted {
		dst = sorted[i].Row.appendEvent(appendKey(dst, i == 0, sorted[i].Name))
	}
	return append(dst, '}')
}
