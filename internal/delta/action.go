package delta

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/weir-dev/weir/internal/plan"
)

// Protocol says what a reader and a writer must know to touch the table.
type Protocol struct {
	MinReaderVersion int      `json:"minReaderVersion"`
	MinWriterVersion int      `json:"minWriterVersion"`
	ReaderFeatures   []string `json:"readerFeatures,omitempty"`
	WriterFeatures   []string `json:"writerFeatures,omitempty"`
}

// Text is the protocol as a line of a commit.
func (p Protocol) Text() string {
	data, err := json.Marshal(map[string]Protocol{"protocol": p})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Metadata describes the table.
type Metadata struct {
	ID               string            `json:"id"`
	Name             string            `json:"name,omitempty"`
	Description      string            `json:"description,omitempty"`
	Format           Format            `json:"format"`
	SchemaString     string            `json:"schemaString"`
	PartitionColumns []string          `json:"partitionColumns"`
	Configuration    map[string]string `json:"configuration"`
	CreatedTime      int64             `json:"createdTime,omitempty"` // ms since 1970
}

// Format is that of the data files, always parquet.
type Format struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
}

// Add is a data file of the table.
type Add struct {
	Path             string             `json:"path"` // relative to the table, percent encoded
	PartitionValues  map[string]*string `json:"partitionValues"`
	Size             int64              `json:"size"`
	ModificationTime int64              `json:"modificationTime"` // ms since 1970
	DataChange       bool               `json:"dataChange"`
	Stats            string             `json:"stats,omitempty"` // JSON text
	Tags             map[string]string  `json:"tags,omitempty"`
	DeletionVector   *DeletionVector    `json:"deletionVector,omitempty"`

	BaseRowID               *int64 `json:"baseRowId,omitempty"`
	DefaultRowCommitVersion *int64 `json:"defaultRowCommitVersion,omitempty"`
	ClusteringProvider      string `json:"clusteringProvider,omitempty"`
}

// DeletionVector names the rows of a file that are deleted.
type DeletionVector struct {
	StorageType    string `json:"storageType"`
	PathOrInlineDv string `json:"pathOrInlineDv"`
	Offset         *int64 `json:"offset,omitempty"`
	SizeInBytes    int64  `json:"sizeInBytes"`
	Cardinality    int64  `json:"cardinality"`
}

// key tells files apart: one path may occur with several deletion vectors.
func (d *DeletionVector) key(path string) string {
	if d == nil {
		return path
	}
	key := path + "\x00" + d.StorageType + d.PathOrInlineDv
	if d.Offset != nil {
		key += "@" + strconv.FormatInt(*d.Offset, 10)
	}
	return key
}

// Remove takes a data file out of the table.
type Remove struct {
	Path                 string             `json:"path"`
	DeletionTimestamp    int64              `json:"deletionTimestamp,omitempty"`
	DataChange           bool               `json:"dataChange"`
	ExtendedFileMetadata bool               `json:"extendedFileMetadata,omitempty"`
	PartitionValues      map[string]*string `json:"partitionValues"`
	Size                 int64              `json:"size,omitempty"`
	DeletionVector       *DeletionVector    `json:"deletionVector,omitempty"`
	Stats                string             `json:"stats,omitempty"` // JSON text

	BaseRowID               *int64 `json:"baseRowId,omitempty"`
	DefaultRowCommitVersion *int64 `json:"defaultRowCommitVersion,omitempty"`
}

// CDC is a file of the change feed: rows as a commit changed them.
type CDC struct {
	Path            string             `json:"path"` // relative to the table, percent encoded
	PartitionValues map[string]*string `json:"partitionValues"`
	Size            int64              `json:"size"`
	DataChange      bool               `json:"dataChange"` // never
}

// Txn is how far an application has come: a streaming query by its id, the
// version being its batch id.
type Txn struct {
	AppID       string `json:"appId"`
	Version     int64  `json:"version"`
	LastUpdated int64  `json:"lastUpdated,omitempty"` // ms since 1970
}

// Done reports whether the table has the transaction already.
func (t *Txn) Done(s *Snapshot) bool { return t != nil && s.TxnVersion(t.AppID) >= t.Version }

// DomainMetadata is what a feature keeps with the table: a text under a name.
type DomainMetadata struct {
	Domain        string `json:"domain"`
	Configuration string `json:"configuration"`
	Removed       bool   `json:"removed"`
}

// sidecar is a file of a checkpoint that has the adds and removes.
type sidecar struct {
	Path             string `json:"path"` // a name in _sidecars, percent encoded
	SizeInBytes      int64  `json:"sizeInBytes"`
	ModificationTime int64  `json:"modificationTime"`
}

// Param is an entry of a commit's operationParameters or operationMetrics. A nil
// value is null; a raw one stands as JSON of its own, not as a text.
type Param struct {
	Name  string
	Value *string
	raw   bool
}

// Text is a parameter with a value.
func Text(name, value string) Param { return Param{Name: name, Value: &value} }

// Flag is a parameter that is true or false.
func Flag(name string, value bool) Param {
	text := strconv.FormatBool(value)
	return Param{name, &text, true}
}

// Whole is a parameter that is a number.
func Whole(name string, value int64) Param {
	text := strconv.FormatInt(value, 10)
	return Param{name, &text, true}
}

// Number is a metric.
func Number(name string, value int64) Param { return Text(name, strconv.FormatInt(value, 10)) }

// params are written as an object in their own order.
type params []Param

func (p params) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(plan.JSONText(x.Name) + ":")
		switch {
		case x.Value == nil:
			b.WriteString("null")
		case x.raw:
			b.WriteString(*x.Value)
		default:
			b.WriteString(plan.JSONText(*x.Value))
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// commitInfo is the first line of a commit, for people and DESCRIBE HISTORY.
type commitInfo struct {
	InCommitTimestamp   *int64 `json:"inCommitTimestamp,omitempty"`
	Timestamp           int64  `json:"timestamp"`
	Operation           string `json:"operation"`
	OperationParameters params `json:"operationParameters"`
	ReadVersion         *int64 `json:"readVersion,omitempty"`
	IsolationLevel      string `json:"isolationLevel"`
	IsBlindAppend       bool   `json:"isBlindAppend"`
	OperationMetrics    params `json:"operationMetrics"`

	Tags       map[string]string `json:"tags,omitempty"`
	EngineInfo string            `json:"engineInfo"`
	TxnID      string            `json:"txnId"`
}

// action is one line of a commit: exactly one of these, or something that no
// reader needs to know.
type action struct {
	CommitInfo *commitInfo `json:"commitInfo,omitempty"`
	Metadata   *Metadata   `json:"metaData,omitempty"`
	Protocol   *Protocol   `json:"protocol,omitempty"`
	Txn        *Txn        `json:"txn,omitempty"`
	Add        *Add        `json:"add,omitempty"`
	Remove     *Remove     `json:"remove,omitempty"`

	Domain *DomainMetadata `json:"domainMetadata,omitempty"`
	CDC    *CDC            `json:"cdc,omitempty"`
}

// line is the action as JSON, with a line break.
func (a action) line(to *bytes.Buffer) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc.Encode(a)
}

// readAction is action as far as it is read.
type readAction struct {
	Info     *readInfo `json:"commitInfo"`
	Metadata *Metadata `json:"metaData"`
	Protocol *Protocol `json:"protocol"`
	Txn      *Txn      `json:"txn"`
	Add      *Add      `json:"add"`
	Remove   *Remove   `json:"remove"`

	CDC     *CDC            `json:"cdc"`
	Domain  *DomainMetadata `json:"domainMetadata"`
	Sidecar *sidecar        `json:"sidecar"`
}

// parseCommit reads the lines of a commit.
func parseCommit(name string, data []byte) ([]readAction, error) {
	var actions []readAction
	err := eachAction(name, bytes.NewReader(data), func(a *readAction) { actions = append(actions, *a) })
	return actions, err
}

// eachAction reads the actions of a commit one by one.
func eachAction(name string, from io.Reader, take func(*readAction)) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	for number := 1; ; number++ {
		line, end := lines.ReadBytes('\n')
		if end != nil && end != io.EOF {
			return fmt.Errorf("read log: %w", end)
		}
		if end == io.EOF && len(line) == 0 {
			if number == 1 {
				return damaged(name, "it is empty")
			}
			return nil
		}
		if len(bytes.TrimSpace(line)) > 0 {
			var a readAction
			if err := json.Unmarshal(line, &a); err != nil {
				return damaged(name, fmt.Sprintf("line %d is no JSON: %v", number, err))
			}
			if why := a.lacks(); why != "" {
				return damaged(name, fmt.Sprintf("line %d: %s", number, why))
			}
			take(&a)
		}
		if end == io.EOF {
			return nil
		}
	}
}

// lacks names what an action cannot be without.
func (a *readAction) lacks() string {
	switch {
	case a.Add != nil && a.Add.Path == "":
		return "an add without path"
	case a.Remove != nil && a.Remove.Path == "":
		return "a remove without path"
	case a.CDC != nil && a.CDC.Path == "":
		return "a cdc without path"
	case a.Sidecar != nil && a.Sidecar.Path == "":
		return "a sidecar without path"
	case a.Domain != nil && a.Domain.Domain == "":
		return "a domainMetadata without domain"
	case a.Txn != nil && a.Txn.AppID == "":
		return "a txn without appId"
	case a.Metadata != nil && a.Metadata.SchemaString == "":
		return "a metaData without schema"
	}
	return ""
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
