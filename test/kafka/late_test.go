package kafka

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-dev/weir/internal/testkit"
)

// TestReportWM11: of two partitions one is two hours late. Its rows are dropped, and that
// is seen: in the API, at /metrics, on the page, and as an alert that names it.
func TestReportWM11(t *testing.T) {
	testkit.Python(t)
	brokers, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "in"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(brokers.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	server := serve(t, testkit.ServerOptions{})
	q := &troubled{t: t, at: brokers.ListenAddrs(), client: client}
	q.run(exec.Command(testkit.Python(t), "late.py", strings.Join(q.at, ","), "in", filepath.Join(t.TempDir(), "ck")), server)
	for range 4 {
		now := time.Now().Truncate(time.Millisecond)
		for part, at := range []time.Time{now, now.Add(-2 * time.Hour)} {
			r := &kgo.Record{Topic: "in", Partition: int32(part), Timestamp: at, Value: []byte("x")}
			if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		q.order("drained")
	}
	type part struct {
		Partition  string
		NewestAtMs int64
		Late       bool
	}
	var one struct {
		ID      string
		Sources []struct{ Partitions []part }
	}
	read := func(path string) string {
		t.Helper()
		answer, err := http.Get("http://" + server.HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	var all struct{ Queries []struct{ ID string } }
	if err := json.Unmarshal([]byte(read("/api/v1/queries")), &all); err != nil || len(all.Queries) != 1 {
		t.Fatalf("%v %+v", err, all)
	}
	for deadline := time.Now().Add(patience); ; { // the source is asked once a second
		if err := json.Unmarshal([]byte(read("/api/v1/queries/"+all.Queries[0].ID)), &one); err != nil {
			t.Fatal(err)
		}
		if len(one.Sources) == 1 && len(one.Sources[0].Partitions) == 2 && one.Sources[0].Partitions[1].NewestAtMs > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", one)
		}
	}
	fresh, late := one.Sources[0].Partitions[0], one.Sources[0].Partitions[1]
	apart := time.Duration(fresh.NewestAtMs-late.NewestAtMs) * time.Millisecond
	if fresh.Partition != "in-0" || fresh.Late || late.Partition != "in-1" || !late.Late ||
		apart < 2*time.Hour-time.Second || apart > 2*time.Hour+time.Minute {
		t.Errorf("%+v, %s apart", one.Sources[0].Partitions, apart)
	}
	if !strings.Contains(read("/metrics"), `source="KafkaV2[Subscribe[in]]",partition="in-1"} `) {
		t.Error("/metrics lacks the partition")
	}
	if page := read("/queries/" + one.ID); !strings.Contains(page, "1 partition is older than the watermark: its rows are dropped.") {
		t.Error("the page does not say it")
	}
	pending := func(alerts string) bool {
		return strings.Contains(alerts, "partition behind the watermark") &&
			strings.Contains(alerts, "The newest row of partition in-1 is")
	}
	alerts := read("/api/v1/alerts")
	for deadline := time.Now().Add(patience); !pending(alerts) && time.Now().Before(deadline); { // looked at once a second
		alerts = read("/api/v1/alerts")
	}
	if !pending(alerts) {
		t.Errorf("no alert is pending: %s", alerts)
	}
	q.order("stopped")
}
