package session

import (
	"testing"

	"github.com/weir-dev/weir/internal/vfs"
)

// The values that PySpark 4.3.0 reads by itself.
func TestConfDefaultsAreSparks(t *testing.T) {
	c := openEngine(t, vfs.NewMemory()).NewSession("u", "s").Conf()
	for key, want := range map[string]string{
		"spark.connect.session.planCompression.threshold":        "10485760",
		"spark.connect.session.planCompression.defaultAlgorithm": "ZSTD",
		"spark.python.sql.dataFrameDebugging.enabled":            "true",
		"spark.sql.execution.pyspark.binaryAsBytes":              "true",
		"spark.sql.execution.pandas.structHandlingMode":          "legacy",
		"spark.sql.execution.arrow.pyspark.selfDestruct.enabled": "false",
		"spark.sql.repl.eagerEval.enabled":                       "false",
		"spark.sql.repl.eagerEval.maxNumRows":                    "20",
		"spark.sql.timestampType":                                "TIMESTAMP_LTZ",
		"spark.sql.session.localRelationCacheThreshold":          "1048576",
		"spark.sql.session.localRelationSizeLimit":               "3221225472",
		"spark.sql.session.localRelationChunkSizeRows":           "10000",
		"spark.sql.session.localRelationChunkSizeBytes":          "16777216",
		"spark.sql.session.localRelationBatchOfChunksSizeBytes":  "1073741824",
		"spark.sql.execution.pandas.convertToArrowArraySafely":   "true",
		"spark.sql.execution.arrow.useLargeVarTypes":             "false",
		"spark.sql.execution.pythonUDF.arrow.enabled":            "true",
		"spark.sql.execution.pythonUDTF.arrow.enabled":           "true",
		// On purpose not Spark's.
		"spark.sql.connect.serverStacktrace.enabled": "false",
	} {
		if got, err := c.Get(key); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", key, got, err, want)
		}
	}
}
