package delta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/vfs"
)

// Event is a commit as DESCRIBE HISTORY shows it. What the commit does not say is nil.
type Event struct {
	Version          int64
	Time             int64 // ms since 1970
	UserID, UserName *string
	Operation        *string
	Parameters       []Param // nil when the commit says nothing of itself
	ReadVersion      *int64
	IsolationLevel   *string
	IsBlindAppend    *bool
	Metrics          []Param
	UserMetadata     *string
	EngineInfo       *string
}

// History is the commits that are left, the newest first, at most so many; 0 is all.
func (t Table) History(most int) ([]Event, error) {
	first, times, err := t.Times()
	if err != nil {
		return nil, err
	}
	var out []Event
	for i := len(times) - 1; i >= 0 && (most <= 0 || len(out) < most); i-- {
		e, err := t.event(first + int64(i))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the clean-up was faster
		}
		if err != nil {
			return nil, err
		}
		e.Time = times[i]
		out = append(out, e)
	}
	return out, nil
}

// event is what a commit says of itself.
func (t Table) event(version int64) (Event, error) {
	name := t.logPath(commitName(version))
	data, err := vfs.ReadFile(t.FS, name)
	if err != nil {
		return Event{}, fmt.Errorf("read log: %w", err)
	}
	e := Event{Version: version}
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte(`"commitInfo"`)) {
			continue
		}
		var a struct {
			Info *struct {
				UserID, UserName, Operation, IsolationLevel, UserMetadata, EngineInfo *string
				OperationParameters, OperationMetrics                                 json.RawMessage
				ReadVersion                                                           *int64
				IsBlindAppend                                                         *bool
			} `json:"commitInfo"`
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return e, damaged(name, "its commitInfo is no JSON: "+err.Error())
		}
		if i := a.Info; i != nil {
			e.UserID, e.UserName, e.Operation, e.IsolationLevel = i.UserID, i.UserName, i.Operation, i.IsolationLevel
			e.UserMetadata, e.EngineInfo = i.UserMetadata, i.EngineInfo
			e.Parameters, e.Metrics = paramsOf(i.OperationParameters), paramsOf(i.OperationMetrics)
			e.ReadVersion, e.IsBlindAppend = i.ReadVersion, i.IsBlindAppend
			break
		}
	}
	return e, nil
}

// paramsOf are the entries of an object, in its order: texts as they are, all else
// as JSON. They are nil when there is no object.
func paramsOf(raw json.RawMessage) []Param {
	in := json.NewDecoder(bytes.NewReader(raw))
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	out := []Param{}
	for in.More() {
		key, err := in.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || in.Decode(&value) != nil {
			return out
		}
		var text *string
		if json.Unmarshal(value, &text) != nil {
			plain := string(value)
			text = &plain
		}
		out = append(out, Param{Name: name, Value: text})
	}
	return out
}

// Features are those of the table's protocol, sorted.
func (s *Snapshot) Features() []string {
	set := map[string]bool{}
	for _, f := range append(featuresOf(s.Protocol), s.Protocol.ReaderFeatures...) {
		set[f] = true
	}
	return sortedKeys(set)
}

// Clustering are the columns that the table's rows are kept together by.
func (s *Snapshot) Clustering() []string {
	d := s.domains[clusteringDomain]
	if d == nil {
		return nil
	}
	var of struct {
		ClusteringColumns [][]string `json:"clusteringColumns"`
	}
	if json.Unmarshal([]byte(d.Configuration), &of) != nil {
		return nil
	}
	var out []string
	for _, path := range of.ClusteringColumns {
		for _, f := range s.Schema.Fields {
			if physicalName(f) == path[0] {
				path[0] = f.Name
			}
		}
		out = append(out, strings.Join(path, "."))
	}
	return out
}

// Properties are those of the table with what its protocol is, as SHOW TBLPROPERTIES
// lists them.
func (s *Snapshot) Properties() map[string]string {
	out := map[string]string{}
	maps.Copy(out, s.Metadata.Configuration)
	out["delta.minReaderVersion"] = strconv.Itoa(s.Protocol.MinReaderVersion)
	out["delta.minWriterVersion"] = strconv.Itoa(s.Protocol.MinWriterVersion)
	for _, f := range append(slices.Clone(s.Protocol.ReaderFeatures), s.Protocol.WriterFeatures...) {
		out[featurePrefix+f] = "supported"
	}
	return out
}
