package stream

import (
	"bytes"
	"encoding/json"
	"strings"
)

// pinnedConf is a setting that a query keeps for life: offsets/N records it,
// and the recorded value wins over the session's.
type pinnedConf struct {
	key   string
	value string // Spark 4.3's default
	// legacy stands in for the key when a log was written by a Spark that did
	// not know it; "" takes the session's value.
	legacy string
}

// partitionsKey is the pinned setting that this room itself reads.
const partitionsKey = "spark.sql.shuffle.partitions"

// providerKey names the state store of Spark. Stateful processors want one.
const (
	providerKey    = "spark.sql.streaming.stateStore.providerClass"
	wantedProvider = "RocksDBStateStoreProvider"
)

// policyKey picks how several watermarks become one.
const policyKey = "spark.sql.streaming.multipleWatermarkPolicy"

// pinnedConfs are in the order of Spark's hash map, which is the same in every
// log: files of one query stay comparable byte for byte.
var pinnedConfs = [...]pinnedConf{
	{providerKey,
		"org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider", ""},
	{"spark.sql.dropDuplicates.deterministicKeyOrder.enabled", "true", ""},
	{"spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion", "2", ""},
	{"spark.sql.streaming.stateStore.rocksdb.formatVersion", "5", ""},
	{"spark.sql.streaming.queryEvolution.enableSourceEvolution", "false", ""},
	{"spark.sql.streaming.stateStore.encodingFormat", "unsaferow", "unsaferow"},
	{"spark.sql.streaming.statefulOperator.useStrictDistribution", "true", "false"},
	{"spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion", "2", "1"},
	{policyKey, "min", "min"},
	{"spark.sql.streaming.stateStore.rowChecksum.enabled", "false", "false"},
	{"spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled", "true", ""},
	{"spark.sql.streaming.aggregation.stateFormatVersion", "2", "1"},
	{"spark.sql.function.protobufExtensions.enabled", "false", ""},
	{partitionsKey, "200", ""},
	{"spark.sql.streaming.join.stateFormatVersion", "2", "1"},
	{"spark.sql.streaming.stateStore.compression.codec", "lz4", "lz4"},
	{"spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan", "false", "true"},
}

// PinnedKeys lists the settings that offsets/N records, in its order.
func PinnedKeys() []string {
	keys := make([]string, len(pinnedConfs))
	for i, c := range pinnedConfs {
		keys[i] = c.key
	}
	return keys
}

// pin is the settings that a run works with: the log's, else the session's.
// A nil log is a new query.
func pin(session, log map[string]string) map[string]string {
	out := make(map[string]string, len(pinnedConfs))
	for _, c := range pinnedConfs {
		value, ok := log[c.key]
		if !ok && log != nil && c.legacy != "" {
			value, ok = c.legacy, true
		}
		if !ok {
			value, ok = session[c.key]
		}
		if !ok {
			value = c.value
		}
		out[c.key] = value
	}
	return out
}

// appendConfs writes pinned settings as a JSON object, as Spark does.
func appendConfs(dst []byte, confs map[string]string) []byte {
	dst = append(dst, '{')
	for i, c := range pinnedConfs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(append(appendText(dst, c.key), ':'), confs[c.key])
	}
	return append(dst, '}')
}

// appendText writes a JSON string without escaping what HTML would.
func appendText(dst []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(dst, '"'), s...), '"') // all of them, as a rule
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("stream: encode text: " + err.Error())
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
