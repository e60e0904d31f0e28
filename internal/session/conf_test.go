package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// What Spark 4.3.0 answered over Connect; the last two columns are the
// condition and its parameters.
func TestConfSetRefusesWhatSparkRefuses(t *testing.T) {
	quoted := func(k string) string { return `"` + k + `"` }
	tests := []struct {
		key, value string
		condition  string
		args       map[string]string
	}{
		{partitionsKey, "3", "", nil},
		{"my.own.key", "kept", "", nil},
		{zoneKey, "Asia/Tokyo", "", nil},
		{ansiKey, " TRUE ", "", nil},
		{"spark.sql.files.maxPartitionBytes", "64m", "", nil},
		{"spark.sql.streaming.pollingDelay", "5s", "", nil},
		{partitionsKey, "many", "INVALID_CONF_VALUE.TYPE_MISMATCH",
			map[string]string{"confName": partitionsKey, "confType": "int", "confValue": "many"}},
		{"spark.sql.warehouse.dir", "/x", "CANNOT_MODIFY_STATIC_CONFIG",
			map[string]string{"key": quoted("spark.sql.warehouse.dir")}},
		{"spark.executor.memory", "1g", "CANNOT_MODIFY_CONFIG",
			map[string]string{"key": quoted("spark.executor.memory"), "docroot": docroot}},
		{"spark.sql.mapKeyDedupPolicy", "NOPE", "INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS", map[string]string{
			"confName": "spark.sql.mapKeyDedupPolicy", "confOptions": "EXCEPTION, LAST_WIN", "confValue": "NOPE"}},
		{zoneKey, "Nowhere/Town", "INVALID_CONF_VALUE.TIME_ZONE",
			map[string]string{"confName": zoneKey, "confValue": "Nowhere/Town"}},
		{"spark.sql.session.localRelationChunkSizeRows", "0", "INVALID_CONF_VALUE.REQUIREMENT", map[string]string{
			"confName": "spark.sql.session.localRelationChunkSizeRows", "confValue": "0",
			"confRequirement": "must be at least 1"}},
		{"spark.sql.streaming.multipleWatermarkPolicy", "avg", "INVALID_CONF_VALUE.REQUIREMENT", map[string]string{
			"confName": "spark.sql.streaming.multipleWatermarkPolicy", "confValue": "avg",
			"confRequirement": "Invalid value for 'spark.sql.streaming.multipleWatermarkPolicy'. " +
				"Valid values are 'min' and 'max'"}},
		{"weir.session.onrelease", "stop", "INVALID_CONF_VALUE.REQUIREMENT", map[string]string{
			"confName": "weir.session.onrelease", "confValue": "", "confRequirement": "known key"}},
	}
	for _, test := range tests {
		c := newConf(&baseConf{})
		err := c.Set(test.key, test.value)
		var e *plan.Error
		switch {
		case test.condition == "" && err != nil:
			t.Errorf("%s = %s: %v", test.key, test.value, err)
		case test.condition == "":
			if got, err := c.Get(test.key); got != test.value || err != nil {
				t.Errorf("%s: got %q, %v", test.key, got, err)
			}
		case !errors.As(err, &e) || e.Condition != test.condition:
			t.Errorf("%s = %s: got %v, want %s", test.key, test.value, err, test.condition)
		default:
			if diff := cmp.Diff(test.args, e.Args); diff != "" {
				t.Errorf("%s = %s: parameters (-want +got):\n%s", test.key, test.value, diff)
			}
		}
	}
}

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

func TestConfUnknownKeyIsNotFound(t *testing.T) {
	_, err := newConf(&baseConf{}).Get("weir.not.set")
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "SQL_CONF_NOT_FOUND" || e.Args["sqlConf"] != `"weir.not.set"` {
		t.Errorf("got %v", err)
	}
}

func TestConfModifiableKeys(t *testing.T) {
	c := newConf(&baseConf{})
	for key, want := range map[string]bool{
		partitionsKey: true, warehouseKey: false, "weir.unknown.key": false, "spark.executor.memory": false,
		onReleaseKey: true,
	} {
		if got := c.IsModifiable(key); got != want {
			t.Errorf("%s: got %v", key, got)
		}
	}
}

func TestConfOfTheServerComesBackAfterUnset(t *testing.T) {
	c := newConf(&baseConf{set: map[string]string{partitionsKey: "2"}})
	if err := c.Set(partitionsKey, "9"); err != nil {
		t.Fatal(err)
	}
	if err := c.Unset(partitionsKey); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.Get(partitionsKey); got != "2" {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff([]Pair{{"partitions", "2"}}, c.All("spark.sql.shuffle.")); diff != "" {
		t.Error(diff)
	}
}

func TestConfFallsBackToAnotherKey(t *testing.T) {
	c := newConf(&baseConf{})
	const key, other = "spark.sql.execution.arrow.pyspark.enabled", "spark.sql.execution.arrow.enabled"
	if err := c.Set(other, "false"); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.Get(key); got != "false" {
		t.Errorf("got %s", got)
	}
}

// Every default that the table gives has the key's own type.
func TestConfTableAcceptsItsDefaults(t *testing.T) {
	known := 0
	for _, d := range confRegistry().sorted {
		if d.get == noValue || d.get == notFound || d.check == "requirement" {
			continue
		}
		known++
		if err := d.accepts(d.get); err != nil {
			t.Errorf("%s: %v", d.key, err)
		}
	}
	if known < 800 {
		t.Errorf("only %d keys have a value", known)
	}
}

func TestTheGuideOfSettingsHasEveryKeyOfWeir(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(testkit.ModuleRoot(t), "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range weirConfs() {
		if !strings.Contains(string(guide), "| `"+d.key+"` |") {
			t.Errorf("docs/settings.md lacks %s", d.key)
		}
	}
}
