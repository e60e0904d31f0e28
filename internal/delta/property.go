package delta

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
)

// propertyKind says what the value of a table property must look like.
type propertyKind uint8

const (
	anyText propertyKind = iota
	truth
	positive
	retention
	internal // set by the table itself, never by a user
)

// properties are those of Delta Lake 4.4 that a user may set. Keys are compared
// without case and kept as they stand here.
var properties = map[string]propertyKind{
	"delta.appendOnly":                                  truth,
	"delta.autoOptimize":                                truth,
	"delta.autoOptimize.autoCompact":                    anyText,
	"delta.autoOptimize.optimizeWrite":                  truth,
	"delta.castIcebergTimeType":                         truth,
	"delta.checkpoint.writeStatsAsJson":                 truth,
	"delta.checkpoint.writeStatsAsStruct":               truth,
	"delta.checkpointInterval":                          positive,
	"delta.checkpointPolicy":                            anyText,
	"delta.checkpointRetentionDuration":                 retention,
	maxColumnID:                                         internal,
	mappingMode:                                         anyText,
	"delta.compatibility.symlinkFormatManifest.enabled": truth,
	"delta.dataSkippingNumIndexedCols":                  anyText,
	"delta.dataSkippingStatsColumns":                    anyText,
	"delta.deletedFileRetentionDuration":                retention,
	"delta.enableChangeDataFeed":                        truth,
	"delta.enableDeletionVectors":                       truth,
	"delta.enableExpiredLogCleanup":                     truth,
	"delta.enableFullRetentionRollback":                 truth,
	"delta.enableIcebergCompatV1":                       truth,
	"delta.enableIcebergCompatV2":                       truth,
	"delta.enableIcebergCompatV3":                       truth,
	timesEnabled:                                        truth,
	rowsTracked:                                         truth,
	"delta.enableTypeWidening":                          truth,
	"delta.enableVariantShredding":                      truth,
	"delta.ignoreProtocolDefaults":                      truth,
	timesSinceVersion:                                   anyText,
	timesSince:                                          anyText,
	"delta.isolationLevel":                              anyText,
	"delta.logRetentionDuration":                        retention,
	"delta.minReaderVersion":                            anyText,
	"delta.minWriterVersion":                            anyText,
	"delta.randomPrefixLength":                          positive,
	"delta.randomizeFilePrefixes":                       truth,
	"delta.requireCheckpointProtectionBeforeVersion":    anyText,
	"delta.rowTrackingSuspended":                        truth,
	"delta.sampleRetentionDuration":                     retention,
	"delta.setTransactionRetentionDuration":             retention,
	"delta.universalFormat.enabledFormats":              anyText,
}

const (
	timesEnabled      = "delta.enableInCommitTimestamps"
	timesSinceVersion = "delta.inCommitTimestampEnablementVersion"
	timesSince        = "delta.inCommitTimestampEnablementTimestamp"
	rowsTracked       = "delta.enableRowTracking"
	rowIDColumn       = "delta.rowTracking.materializedRowIdColumnName"
	rowVersionColumn  = "delta.rowTracking.materializedRowCommitVersionColumnName"
	constraintPrefix  = "delta.constraints."
	featurePrefix     = "delta.feature."
	defaultsPrefix    = "spark.databricks.delta.properties.defaults."
)

// DefaultProperties are what the session's settings give to new tables.
func DefaultProperties(conf func(key string) string) map[string]string {
	out := map[string]string{}
	for key := range properties {
		if v := conf(defaultsPrefix + strings.TrimPrefix(key, "delta.")); v != "" {
			out[key] = v
		}
	}
	return out
}

// CheckProperties is properties as a table keeps them, or the error for one that
// Delta does not know or whose value it does not take.
func CheckProperties(given map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for _, key := range sortedKeys(given) {
		value, folded := given[key], strings.ToLower(key)
		switch {
		case !strings.HasPrefix(folded, "delta."):
			out[key] = value
		case strings.HasPrefix(folded, featurePrefix):
			out[featurePrefix+key[len(featurePrefix):]] = value
		case strings.HasPrefix(folded, constraintPrefix):
			out[constraintPrefix+key[len(constraintPrefix):]] = value
		default:
			name := knownProperty(folded)
			if name == "" {
				return nil, newError(classAnalysis, "DELTA_UNKNOWN_CONFIGURATION",
					fmt.Sprintf("Delta tables have no property %s.", key), "config", key,
					"disableCheckConfig", "spark.databricks.delta.allowArbitraryProperties.enabled")
			}
			if err := checkProperty(name, value); err != nil {
				return nil, err
			}
			out[name] = value
		}
	}
	return out, checkRetentions(out)
}

// checkRetentions refuses to keep the log for a shorter time than the files that it
// speaks of.
func checkRetentions(m map[string]string) error {
	const log, files = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"
	logs, kept := 30*24*time.Hour, removedFor
	if text, ok := m[log]; ok {
		logs, _ = parseRetention(text)
	}
	if text, ok := m[files]; ok {
		kept, _ = parseRetention(text)
	}
	if logs < kept {
		return plan.IllegalArgument("requirement failed: The table property %s(%s) needs to be greater than or "+
			"equal to %s(%s).", log, logs, files, kept)
	}
	return nil
}

// knownProperty is the property of a name in lower case, "" for none.
func knownProperty(folded string) string {
	for name := range properties {
		if strings.ToLower(name) == folded {
			return name
		}
	}
	return ""
}

func checkProperty(name, value string) error {
	switch properties[name] {
	case internal:
		return newError(classUnsupported, "DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
			fmt.Sprintf("The property %s is set by the table itself.", name), "prop", name)
	case truth:
		if _, err := strconv.ParseBool(strings.ToLower(value)); err != nil || len(value) < 4 {
			return plan.IllegalArgument("For input string: %q; the property %s is true or false.", value, name)
		}
	case positive:
		if n, err := strconv.ParseInt(value, 10, 32); err != nil || n <= 0 {
			return plan.IllegalArgument("%s needs to be a positive integer.", name)
		}
	case retention:
		if _, ok := parseRetention(value); !ok {
			return newError(classIllegal, "DELTA_INVALID_INTERVAL",
				fmt.Sprintf("%s is no time to keep something: %q; write 7 days or interval 2 weeks.", name, value),
				"interval", value)
		}
	}
	return checkChoice(name, value)
}

// checkChoice refuses values that are not among those that a property takes.
func checkChoice(name, value string) error {
	switch name {
	case "delta.checkpointPolicy":
		if value != "classic" && value != "v2" {
			return plan.IllegalArgument("Invalid policy %s; %s is classic or v2.", value, name)
		}
	case "delta.isolationLevel":
		switch value {
		case "Serializable":
		case "WriteSerializable", "SnapshotIsolation":
			return plan.IllegalArgument("requirement failed: delta.isolationLevel must be Serializable")
		default:
			return newError(classIllegal, "DELTA_INVALID_ISOLATION_LEVEL",
				fmt.Sprintf("%q is no isolation level of Delta tables; Serializable is.", value),
				"isolationLevel", value)
		}
	case mappingMode:
		if !slices.Contains([]string{"none", "name", "id"}, strings.ToLower(value)) {
			return &plan.Error{Class: "org.apache.spark.sql.delta.ColumnMappingUnsupportedException",
				Msg: fmt.Sprintf("The column mapping mode %s is not supported; there are none, name and id.",
					plan.Quote(value))}
		}
	}
	return nil
}

var retentionUnit = regexp.MustCompile(
	`(?i)^\s*(\d+)\s*(week|day|hour|minute|second|millisecond|microsecond)s?`)

var retentionUnits = map[string]time.Duration{
	"week": 7 * 24 * time.Hour, "day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute,
	"second": time.Second, "millisecond": time.Millisecond, "microsecond": time.Microsecond,
}

// parseRetention reads a time such as interval 1 week 2 days.
func parseRetention(text string) (time.Duration, bool) {
	rest := strings.TrimSpace(text)
	if len(rest) > 9 && strings.EqualFold(rest[:9], "interval ") {
		rest = rest[9:]
	}
	total := time.Duration(0)
	for ok := false; ; ok = true {
		m := retentionUnit.FindStringSubmatch(rest)
		if m == nil {
			return total, ok && strings.TrimSpace(rest) == ""
		}
		n, err := strconv.ParseInt(m[1], 10, 32)
		if err != nil {
			return 0, false
		}
		total += time.Duration(n) * retentionUnits[strings.ToLower(m[2])]
		rest = rest[len(m[0]):]
	}
}

// settled takes what only speaks of the protocol out of the properties of a new or
// changed table, and gives the features that it asks for.
func settled(given map[string]string) (kept map[string]string, asked []string, err error) {
	kept = maps.Clone(given)
	var unknown []string
	for _, key := range sortedKeys(given) {
		name, isFeature := strings.CutPrefix(key, featurePrefix)
		if !isFeature {
			continue
		}
		delete(kept, key)
		f := featureNamed(name)
		if f == nil {
			unknown = append(unknown, key)
			continue
		}
		if v := given[key]; v != "supported" && v != "enabled" {
			return nil, nil, newError(classFeatureUse, "DELTA_UNSUPPORTED_FEATURE_STATUS",
				fmt.Sprintf("The feature %s is supported or enabled, not %s.", f.name, v),
				"feature", strings.ToLower(f.name), "status", v)
		}
		asked = append(asked, f.name)
	}
	if len(unknown) > 0 {
		return nil, nil, newError(classFeatureUse, "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG",
			"There are no such table features: "+strings.Join(unknown, ", ")+".",
			"configs", strings.Join(unknown, ", "))
	}
	return kept, asked, nil
}
