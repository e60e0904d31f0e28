package session

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// A run tells what it was started with and does, so that it can be held against others;
// what looks like a secret is not in it, and neither are numbers that differ each time.
func TestARunTellsWhatItWasStartedWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
		must(t, s, "SET spark.sql.shuffle.partitions=7", "SET spark.my.password=abc123")
		var plans []string
		for range 2 {
			q := start(t, s, &plan.StartStream{Format: "noop", Input: rate(), Interval: "5 seconds",
				Options: plan.Options{"kafka.sasl.jaas.config": `a required password="abc123";`, "x": "y"}})
			run := q.Record().Snapshot()
			got := map[string]string{}
			for _, set := range run.Settings {
				got[set.Name] = set.Value
			}
			for name, want := range map[string]string{
				"trigger": "5s", "outputMode": "Append", "sink.format": "noop", "sink.x": "y",
				"checkpoint":                  monitor.NoCheckpoint,
				"sink.kafka.sasl.jaas.config": monitor.Hidden, "spark.sql.shuffle.partitions": "7",
				"spark.my.password": monitor.Hidden, "source0.rowsPerSecond": "10",
			} {
				if got[name] != want {
					t.Errorf("%s is %q, want %q", name, got[name], want)
				}
			}
			if !strings.Contains(run.Plan, "MicroBatchScan") || strings.Contains(run.Plan, "#") {
				t.Errorf("the plan is %q", run.Plan)
			}
			plans = append(plans, run.Plan)
			if err := q.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if plans[0] != plans[1] {
			t.Errorf("two starts have two plans: %q", plans)
		}
	})
}
