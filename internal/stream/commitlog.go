package stream

import (
	"encoding/json"
	"strconv"
)

// commitEntry is commits/N: batch N is done.
//
//	v1
//	{"nextBatchWatermarkMs":1704067230000}
type commitEntry struct{ nextWatermarkMs int64 }

// commitVersion is the newest version of the commit log that weir reads. Its
// version 2 adds the names of state files.
const commitVersion = 2

func (e commitEntry) encode() []byte {
	b := append([]byte(nil), "v1\n{\"nextBatchWatermarkMs\":"...)
	return append(strconv.AppendInt(b, e.nextWatermarkMs, 10), '}')
}

// parseCommit reads commits/N; file is its name for errors.
func parseCommit(file string, data []byte) (commitEntry, error) {
	_, lines, err := splitLog(file, data, commitVersion)
	if err != nil {
		return commitEntry{}, err
	}
	if len(lines) == 0 {
		return commitEntry{}, logError(file, incomplete())
	}
	var body struct {
		NextBatchWatermarkMs int64 `json:"nextBatchWatermarkMs"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &body); err != nil {
		return commitEntry{}, badJSON(file, err)
	}
	return commitEntry{body.NextBatchWatermarkMs}, nil
}
