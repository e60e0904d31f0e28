package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file as spark-submit takes one, with every way to write a line.
func TestPropertiesFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spark-defaults.conf")
	text := "# of the team\n! and\n\nspark.sql.streaming.metricsEnabled=true\n" +
		"spark.metrics.conf.*.sink.prometheusServlet.path=/metrics/prometheus\n" +
		"spark.eventLog.dir            hdfs://namenode:8021/directory\nspark.app.name : my app\r\n" +
		"spark.long  a=b, \\\n  c\nspark.empty\nweir.query.freshnessObjective = 1m\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := parseConfs(file, []string{"spark.app.name=other", "spark.x=a=b"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"spark.sql.streaming.metricsEnabled":               "true",
		"spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
		"spark.eventLog.dir":                               "hdfs://namenode:8021/directory",
		"spark.app.name":                                   "other", "spark.long": "a=b, c", "spark.empty": "",
		"spark.x":                       "a=b",
		"weir.query.freshnessObjective": "1m",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		"spark.a=b\nlog4j.root=x\n": `line 2: "log4j.root" is no setting of Spark`, "=x": "line 1",
	} {
		if _, err := parseProperties(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err = parseConfs(file+".none", nil)
	if err == nil || !strings.Contains(err.Error(), "--properties-file") {
		t.Errorf("a file that is not there: %v", err)
	}
}
