package monitor

import "time"

// AppendQueries appends the answer to GET /api/v1/queries: flat objects, the
// unit last in each name, null for what is not known.
func AppendQueries(dst []byte, now time.Time, queries []Snapshot) []byte {
	dst = appendMs(append(dst, `{"nowAtMs":`...), now)
	dst = append(dst, `,"queries":[`...)
	for i := range queries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = queries[i].AppendJSON(dst)
	}
	return append(dst, ']', '}')
}

// AppendJSON appends one row of AppendQueries.
func (s *Snapshot) AppendJSON(dst []byte) []byte {
	dst = appendString(append(dst, `{"id":`...), s.ID)
	dst = appendString(appendField(dst, "runId"), s.RunID)
	dst = appendOptional(appendField(dst, "name"), s.Name)
	dst = appendString(appendField(dst, "state"), string(s.State))
	dst = appendMs(appendField(dst, "startedAtMs"), s.StartedAt)
	dst = appendMs(appendField(dst, "endedAtMs"), s.EndedAt)
	dst = s.appendLastBatch(dst)
	dst = appendMs(appendField(dst, "lastCommitAtMs"), s.CommitAt)
	dst = append(dst, `,"sources":[`...)
	for i, source := range s.Sources {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, source)
	}
	dst = appendOptional(append(dst, `],"sink":`...), s.Sink)
	dst = appendOptional(appendField(dst, "endReason"), s.EndReason)
	dst = appendField(dst, "error")
	if s.Failure == nil {
		return append(dst, "null}"...)
	}
	dst = appendOptional(append(dst, `{"condition":`...), s.Failure.Condition)
	dst = appendString(appendField(dst, "message"), s.Failure.Message)
	dst = appendMs(appendField(dst, "atMs"), s.EndedAt)
	return append(dst, '}', '}')
}

func (s *Snapshot) appendLastBatch(dst []byte) []byte {
	p := s.LastBatch
	if p == nil {
		return append(dst, `,"lastBatchId":null,"arrivalRowsPerSecond":null,`+
			`"processedRowsPerSecond":null,"batchMs":null`...)
	}
	dst = appendInt(appendField(dst, "lastBatchId"), p.BatchID)
	dst = appendDouble(appendField(dst, "arrivalRowsPerSecond"), p.InputRowsPerSecond())
	dst = appendDouble(appendField(dst, "processedRowsPerSecond"), p.ProcessedRowsPerSecond())
	return appendInt(appendField(dst, "batchMs"), p.BatchDurationMs)
}

// appendMs writes an instant, null for the zero time.
func appendMs(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, "null"...)
	}
	return appendInt(dst, t.UnixMilli())
}
