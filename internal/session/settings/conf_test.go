package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
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
		{PartitionsKey, "3", "", nil},
		{"my.own.key", "kept", "", nil},
		{ZoneKey, "Asia/Tokyo", "", nil},
		{AnsiKey, " TRUE ", "", nil},
		{"spark.sql.files.maxPartitionBytes", "64m", "", nil},
		{"spark.sql.streaming.pollingDelay", "5s", "", nil},
		{PartitionsKey, "many", "INVALID_CONF_VALUE.TYPE_MISMATCH",
			map[string]string{"confName": PartitionsKey, "confType": "int", "confValue": "many"}},
		{"spark.sql.warehouse.dir", "/x", "CANNOT_MODIFY_STATIC_CONFIG",
			map[string]string{"key": quoted("spark.sql.warehouse.dir")}},
		{"spark.executor.memory", "1g", "CANNOT_MODIFY_CONFIG",
			map[string]string{"key": quoted("spark.executor.memory"), "docroot": docroot}},
		{"spark.sql.mapKeyDedupPolicy", "NOPE", "INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS", map[string]string{
			"confName": "spark.sql.mapKeyDedupPolicy", "confOptions": "EXCEPTION, LAST_WIN", "confValue": "NOPE"}},
		{ZoneKey, "Nowhere/Town", "INVALID_CONF_VALUE.TIME_ZONE",
			map[string]string{"confName": ZoneKey, "confValue": "Nowhere/Town"}},
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
		c := New(&Base{})
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

func TestConfUnknownKeyIsNotFound(t *testing.T) {
	_, err := New(&Base{}).Get("weir.not.set")
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "SQL_CONF_NOT_FOUND" || e.Args["sqlConf"] != `"weir.not.set"` {
		t.Errorf("got %v", err)
	}
}

func TestConfModifiableKeys(t *testing.T) {
	c := New(&Base{})
	for key, want := range map[string]bool{
		PartitionsKey: true, WarehouseKey: false, "weir.unknown.key": false, "spark.executor.memory": false,
		OnReleaseKey: true,
	} {
		if got := c.IsModifiable(key); got != want {
			t.Errorf("%s: got %v", key, got)
		}
	}
}

func TestConfOfTheServerComesBackAfterUnset(t *testing.T) {
	c := New(&Base{Set: map[string]string{PartitionsKey: "2"}})
	if err := c.Set(PartitionsKey, "9"); err != nil {
		t.Fatal(err)
	}
	if err := c.Unset(PartitionsKey); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.Get(PartitionsKey); got != "2" {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff([]Pair{{"partitions", "2"}}, c.All("spark.sql.shuffle.")); diff != "" {
		t.Error(diff)
	}
}

func TestConfFallsBackToAnotherKey(t *testing.T) {
	c := New(&Base{})
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
	for _, d := range Known().Sorted {
		if d.Get == NoValue || d.Get == notFound || d.Check == "requirement" {
			continue
		}
		known++
		if err := d.Accepts(d.Get); err != nil {
			t.Errorf("%s: %v", d.Key, err)
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
	for _, d := range Own() {
		if !strings.Contains(string(guide), "| `"+d.Key+"` |") {
			t.Errorf("docs/settings.md lacks %s", d.Key)
		}
	}
}
