package delta

import (
	"fmt"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Java classes of Delta's errors.
const (
	classAnalysis    = "org.apache.spark.sql.delta.DeltaAnalysisException"
	classMismatch    = "org.apache.spark.sql.delta.DeltaAnalysisExceptionWithSubErrors"
	classState       = "org.apache.spark.sql.delta.DeltaIllegalStateException"
	classFeature     = "org.apache.spark.sql.delta.DeltaUnsupportedTableFeatureException"
	classUnsupported = "org.apache.spark.sql.delta.DeltaUnsupportedOperationException"
	classInvariant   = "org.apache.spark.sql.delta.schema.DeltaInvariantViolationException"
	classMissing     = "org.apache.spark.sql.delta.DeltaFileNotFoundException"
	classFeatureUse  = "org.apache.spark.sql.delta.DeltaTableFeatureException"
	classIllegal     = "org.apache.spark.sql.delta.DeltaIllegalArgumentException"
	classRuntime     = "org.apache.spark.sql.delta.DeltaRuntimeException"
	classConcurrent  = "io.delta.exceptions."
)

// states are the SQLSTATEs of Delta's conditions used here.
var states = map[string]string{
	"DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION": "KD002",
	"DELTA_STREAMING_METADATA_EVOLUTION":                               "22000",
	"DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT":                         "22000",
	"DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED":                    "22000",
	"DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID":           "22000",
	"DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED":                   "22000",

	"DELTA_CONSTRAINT_ALREADY_EXISTS":                      "42710",
	"DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE":             "42K09",
	"DELTA_CONSTRAINT_DOES_NOT_EXIST":                      "42704",
	"DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA":             "0AKDC",
	"DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE":      "42K09",
	"DELTA_OPERATION_NOT_ALLOWED":                          "0AKDC",
	"DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP":          "0AKDC",
	"DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE":         "0AKDC",
	"DELTA_UNSUPPORTED_DROP_COLUMN":                        "0AKDC",
	"DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN":              "0AKDC",
	"DELTA_UNSUPPORTED_RENAME_COLUMN":                      "0AKDC",
	"DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED":        "42000",
	"DELTA_ALL_COLUMNS_ARE_PARTITION":                      "42000",
	"DELTA_CANNOT_MODIFY_APPEND_ONLY":                      "42809",
	"DELTA_CANNOT_MODIFY_TABLE_PROPERTY":                   "42939",
	"DELTA_CONCURRENT_APPEND":                              "2D521",
	"DELTA_CONCURRENT_DELETE_DELETE":                       "2D521",
	"DELTA_CONCURRENT_DELETE_READ":                         "2D521",
	"DELTA_CONCURRENT_TRANSACTION":                         "2D521",
	"DELTA_CONCURRENT_WRITE":                               "2D521",
	"DELTA_CREATE_TABLE_SCHEME_MISMATCH":                   "42KD7",
	"DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING":       "42KD7",
	"DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY":           "42KD7",
	"DELTA_DUPLICATE_COLUMNS_FOUND.DATA":                   "42711",
	"DELTA_EXCEED_CHAR_VARCHAR_LIMIT":                      "22001",
	"DELTA_FAILED_TO_MERGE_FIELDS":                         "22005",
	"DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED": "42808",
	"DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED":       "42601",
	"DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE":         "428H2",
	"DELTA_INSERT_COLUMN_MISMATCH":                         "42802",
	"DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES":             "42K05",
	"DELTA_INVALID_INTERVAL":                               "22006",
	"DELTA_INVALID_ISOLATION_LEVEL":                        "25000",
	"DELTA_INVALID_PARTITION_COLUMN_TYPE":                  "42996",
	"DELTA_LOG_FILE_NOT_FOUND":                             "42K03",
	"DELTA_MERGE_INCOMPATIBLE_DATATYPE":                    "42K09",
	"DELTA_METADATA_CHANGED":                               "2D521",
	"DELTA_METADATA_MISMATCH":                              "42KDG",
	"DELTA_MISSING_DELTA_TABLE":                            "42P01",
	"DELTA_MISSING_NOT_NULL_COLUMN_VALUE":                  "23502",
	"DELTA_NON_PARTITION_COLUMN_ABSENT":                    "KD005",
	"DELTA_NOT_NULL_CONSTRAINT_VIOLATED":                   "23502",
	"DELTA_PARTITION_COLUMN_NOT_FOUND":                     "42703",
	"DELTA_PATH_EXISTS":                                    "42K04",
	"DELTA_PROTOCOL_CHANGED":                               "2D521",
	"DELTA_STATE_RECOVER_ERROR":                            "XXKDS",
	"DELTA_TABLE_ALREADY_EXISTS":                           "42P07",
	"DELTA_TRUNCATED_TRANSACTION_LOG":                      "42K03",
	"DELTA_UNKNOWN_CONFIGURATION":                          "F0000",
	"DELTA_UNSUPPORTED_DATA_TYPES":                         "0AKDC",
	"DELTA_UNSUPPORTED_FEATURES_FOR_READ":                  "56038",
	"DELTA_UNSUPPORTED_FEATURES_FOR_WRITE":                 "56038",
	"DELTA_UNSUPPORTED_FEATURES_IN_CONFIG":                 "56038",
	"DELTA_UNSUPPORTED_FEATURE_STATUS":                     "0AKDE",
	"DELTA_UNSUPPORTED_OUTPUT_MODE":                        "0AKDC",
	"DELTA_VERSIONS_NOT_CONTIGUOUS":                        "KD00C",
	"DELTA_VERSION_NOT_FOUND":                              "22003",
	"DELTA_VIOLATE_CONSTRAINT_WITH_VALUES":                 "23001",
	"WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED":  "0AKDE",
}

// newError is an error of one of Delta's conditions.
func newError(class, condition, msg string, args ...string) *plan.Error {
	e := plan.NewError(class, condition, msg, args...)
	e.State = states[condition]
	if main, _, ok := strings.Cut(condition, "."); ok && e.State == "" {
		e.State = states[main]
	}
	return e
}

// Refused is the error for rows that a table's columns do not allow.
func Refused(condition, msg string, args ...string) *plan.Error {
	return newError(classInvariant, condition, msg, args...)
}

// Mistake is the error of a statement that a table does not allow.
func Mistake(condition, msg string, args ...string) *plan.Error {
	return newError(classAnalysis, condition, msg, args...)
}

// HistoricalWrite is the error for rows that would be written into an older version
// of a table, which the options name.
func HistoricalWrite(o plan.Options) *plan.Error {
	version, ok := o.Get(plan.VersionAsOf)
	if !ok {
		version, _ = o.Get(plan.TimestampAsOf)
	}
	return newError(plan.ClassExtendedAnalysis, "DELTA_FAILED_SCAN_WITH_HISTORICAL_VERSION",
		fmt.Sprintf("Rows go into the newest version of a table, and version %s was named.", version),
		"historicalVersion", version)
}

// damaged says which file of the log cannot be read.
func damaged(name, why string) *plan.Error {
	return newError(classState, "DELTA_STATE_RECOVER_ERROR",
		fmt.Sprintf("The log file %s is damaged: %s.", name, strings.TrimSuffix(why, ".")),
		"operation", name, "version", "")
}

func notATable(dir string) *plan.Error {
	return newError(classAnalysis, "DELTA_MISSING_DELTA_TABLE",
		fmt.Sprintf("There is no Delta table in %s.", dir), "tableName", plan.Quote(dir))
}

// IsNotTable reports that an error says that a directory holds no Delta table.
func IsNotTable(err error) bool {
	e, ok := err.(*plan.Error)
	return ok && e.Condition == "DELTA_MISSING_DELTA_TABLE"
}
