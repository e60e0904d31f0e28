package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

// offsetEntry is offsets/N: what batch N reads, fixed before it runs.
//
//	v1
//	{"batchWatermarkMs":0,"batchTimestampMs":1717200001000,"conf":{…}}
//	{"logOffset":0}                    one line a source, "-" for nothing yet
//
// Version 2 names its sources, "name:{…}"; weir reads both and writes 1.
type offsetEntry struct {
	watermarkMs int64
	timestampMs int64
	confs       map[string]string // nil in files of Spark before 2.1
	sources     []sourceOffset
}

// sourceOffset is where one source ends; name is "" in version 1, which goes
// by position.
type sourceOffset struct {
	name   string
	offset connector.Offset
}

const noOffset = "-"

// offsetVersion is the newest version of the offset log that weir reads.
const offsetVersion = 2

func (e *offsetEntry) encode() []byte {
	b := append([]byte(nil), "v1\n{\"batchWatermarkMs\":"...)
	b = strconv.AppendInt(b, e.watermarkMs, 10)
	b = strconv.AppendInt(append(b, `,"batchTimestampMs":`...), e.timestampMs, 10)
	b = appendConfs(append(b, `,"conf":`...), e.confs)
	b = append(b, '}')
	for _, s := range e.sources {
		b = append(b, '\n')
		if s.offset == "" {
			b = append(b, noOffset...)
			continue
		}
		b = append(b, s.offset...)
	}
	return b
}

// parseOffsets reads offsets/N; file is its name for errors.
func parseOffsets(file string, data []byte) (*offsetEntry, error) {
	version, lines, err := splitLog(file, data, offsetVersion)
	if err != nil {
		return nil, err
	}
	e := &offsetEntry{}
	if len(lines) == 0 {
		return nil, logError(file, incomplete())
	}
	// Spark fails over a file without the line of metadata, too: without it the
	// watermark would start again.
	var head *struct {
		BatchWatermarkMs int64             `json:"batchWatermarkMs"`
		BatchTimestampMs int64             `json:"batchTimestampMs"`
		Conf             map[string]string `json:"conf"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil {
		return nil, badJSON(file, err)
	}
	if head == nil {
		return nil, badJSON(file, errors.New("its metadata is null"))
	}
	e.watermarkMs, e.timestampMs, e.confs = head.BatchWatermarkMs, head.BatchTimestampMs, head.Conf
	for _, line := range lines[1:] {
		s := sourceOffset{offset: connector.Offset(line)}
		if version == 2 {
			name, offset, ok := strings.Cut(line, ":")
			if !ok {
				return nil, badJSON(file, fmt.Errorf("source line %q has no name", line))
			}
			s = sourceOffset{name, connector.Offset(offset)}
		}
		if s.offset == noOffset {
			s.offset = ""
		} else if !json.Valid([]byte(s.offset)) {
			return nil, badJSON(file, fmt.Errorf("source offset %q is not JSON", s.offset))
		}
		e.sources = append(e.sources, s)
	}
	return e, nil
}

// arrange puts the offsets of an entry in the order of the plan's sources.
// names are the sources' own names, "" for those without.
func (e *offsetEntry) arrange(names []string) ([]connector.Offset, *plan.Error) {
	if len(e.sources) != len(names) {
		return nil, assertion(fmt.Sprintf("There are [%d] sources in the checkpoint offsets and "+
			"now there are [%d] sources requested by the query. Cannot continue.", len(e.sources), len(names)))
	}
	byName := map[string]connector.Offset{}
	for _, s := range e.sources {
		byName[s.name] = s.offset
	}
	out := make([]connector.Offset, len(names))
	for i, s := range e.sources {
		out[i] = s.offset
		if s.name == "" {
			continue
		}
		key := names[i]
		if key == "" {
			key = strconv.Itoa(i)
		}
		offset, ok := byName[key]
		if !ok {
			return nil, assertion(fmt.Sprintf("the checkpoint has no source named %q.", key))
		}
		out[i] = offset
	}
	return out, nil
}
