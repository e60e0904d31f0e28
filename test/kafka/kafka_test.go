package kafka

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-dev/weir/internal/testkit"
)

const patience = 3 * time.Minute

// broker is a Kafka broker in a process of its own.
type broker struct {
	t       testing.TB
	address string
	jars    string
	conf    string
	cmd     *exec.Cmd
	output  bytes.Buffer
}

// newBroker starts a broker, or skips the test where its jars are missing.
func newBroker(t testing.TB) *broker {
	t.Helper()
	jars := filepath.Join(testkit.ModuleRoot(t), ".kafka")
	_, noJava := exec.LookPath("java")
	_, noJars := os.Stat(filepath.Join(jars, "installed"))
	testkit.Need(t, noJava == nil && noJars == nil, "a Kafka broker (Java 17 on the PATH and make kafka)")
	ports := freePorts(t)
	b := &broker{t: t, address: ports[0], jars: jars + "/*"}
	b.run(properties(ports))
	b.answers()
	return b
}

// run formats the broker's directory and starts it.
func (b *broker) run(properties string) {
	t := b.t
	t.Helper()
	dir := t.TempDir()
	b.conf = filepath.Join(dir, "broker.properties")
	properties += "log.dirs=" + filepath.Join(dir, "data") + "\n"
	if err := os.WriteFile(b.conf, []byte(properties), 0o600); err != nil {
		t.Fatal(err)
	}
	format := b.java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", b.conf)
	if out, err := format.CombinedOutput(); err != nil {
		t.Fatalf("format: %v\n%s", err, out)
	}
	b.start()
	t.Cleanup(func() {
		b.kill()
		if t.Failed() {
			t.Logf("broker:\n%s", b.output.String())
		}
	})
}

func freePorts(t testing.TB) [2]string {
	t.Helper()
	var ports [2]string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l.Addr().String()
		defer l.Close()
	}
	return ports
}

// properties are those of one broker that is its own controller. Its intervals
// are short, so that tests see compaction and retention.
func properties(ports [2]string) string {
	return fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=2000
log.cleaner.backoff.ms=500
log.initial.task.delay.ms=1000
file.delete.delay.ms=1000
log.segment.delete.delay.ms=1000
log.retention.ms=-1
message.max.bytes=20000000
`, ports[0], ports[1])
}

// java prepares a Java program of the broker's; starting fast matters more here
// than running fast.
func (b *broker) java(args ...string) *exec.Cmd {
	return exec.Command("java", append([]string{
		"-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dlog4j2.level=ERROR", "-cp", b.jars,
	}, args...)...)
}

func (b *broker) start() {
	b.t.Helper()
	b.cmd = b.java("kafka.Kafka", b.conf)
	b.cmd.Stdout, b.cmd.Stderr = &b.output, &b.output
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
}

// answers waits until the broker does.
func (b *broker) answers() {
	b.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address))
	if err != nil {
		b.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for client.Ping(ctx) != nil {
		if ctx.Err() != nil {
			b.t.Fatal("the broker does not answer")
		}
	}
}

func (b *broker) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// python prepares a program beside this test, for a server.
func (b *broker) python(server *testkit.Server, args ...string) *exec.Cmd {
	cmd := exec.Command(testkit.Python(b.t), args...)
	cmd.Env = append(os.Environ(), "SPARK_REMOTE="+server.Remote(), "SPARK_CONNECT_MODE_ENABLED=1",
		"PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

func serve(t testing.TB, options testkit.ServerOptions) *testkit.Server {
	t.Helper()
	options.Args = append(options.Args, "--conf", "spark.sql.session.timeZone=UTC", "--conf",
		"spark.sql.shuffle.partitions=2")
	return testkit.Start(t, options)
}

// TestOnARealBroker has one broker for all: starting it takes longer than most
// programs.
func TestOnARealBroker(t *testing.T) {
	testkit.Python(t)
	b := newBroker(t)
	for _, cases := range []string{"source", "sink", "more"} {
		t.Run(cases, func(t *testing.T) { programs(t, b, cases) })
	}
	t.Run("a batch is there once after a crash", func(t *testing.T) { crashes(t, b) })
	t.Run("an outage loses nothing", func(t *testing.T) { outage(t, b) })
}

// programs runs a file of cases, each of which must trace as on Spark.
func programs(t *testing.T, b *broker, cases string) {
	server := serve(t, testkit.ServerOptions{})
	cmd := b.python(server, "harness.py", "--cases", "cases_"+cases+".py", "--check", "expected",
		"--remote", server.Remote(), "--broker", b.address)
	out, err := cmd.CombinedOutput()
	text := string(out)
	recorded, globErr := filepath.Glob(filepath.Join("expected", cases+".*.json"))
	if globErr != nil || len(recorded) == 0 {
		t.Fatalf("no recordings of %s (%v)", cases, globErr)
	}
	for _, file := range recorded {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), cases+"."), ".json")
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(text, "same    "+name+" \n") {
				t.Errorf("traces of %s differ (%v):\n%s", name, err, text)
			}
		})
	}
}

// crashes copies a topic while the server is killed at one step after the other.
// In transactions every record is there once; without, none is missing and those
// that are there twice are of one batch.
func crashes(t *testing.T, b *broker) {
	const records, batch = 20, 5
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var want []string
	for i := range records {
		want = append(want, fmt.Sprint("v", i))
		r := &kgo.Record{Topic: "copy-in", Value: []byte(want[i])}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	// Before the batch, a transaction open, committed but not logged, logged.
	for _, step := range []string{"S6:2", "S8:2", "S14:2", "S15:2"} {
		for _, transactional := range []string{"true", "false"} {
			t.Run(step+" "+transactional, func(t *testing.T) {
				work, dir := t.TempDir(), t.TempDir()
				target := "copy-" + strings.ReplaceAll(step, ":", "-") + "-" + transactional
				for _, env := range []string{"WEIR_CRASH_AT=" + step, "WEIR_CRASH_AT="} {
					server := serve(t, testkit.ServerOptions{Dir: dir, Env: []string{env}})
					copied(t, b, server, target, transactional, filepath.Join(work, "ck"))
					server.Kill9()
				}
				got := b.committed(t, target)
				if transactional == "true" || step == "S6:2" || step == "S15:2" {
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("records (-want +got):\n%s", diff)
					}
					return
				}
				seen := map[string]int{}
				for _, v := range got {
					seen[v]++
				}
				if len(seen) != records || len(got) > records+batch {
					t.Errorf("%d records, %d different ones: %v", len(got), len(seen), got)
				}
			})
		}
	}
}

// copied runs the program until it ends or its server does.
func copied(t *testing.T, b *broker, server *testkit.Server, target, transactional, checkpoint string) {
	t.Helper()
	cmd := b.python(server, "exactly.py", b.address, "copy-in", target, transactional, checkpoint)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	go func() {
		// The client of a dead server tries again for minutes.
		if server.Crashed(patience) {
			_ = cmd.Process.Kill()
		}
	}()
	if err := cmd.Wait(); err != nil && !server.Crashed(time.Second) {
		t.Fatalf("%v\n%s", err, out.String())
	}
}

// committed is what a consumer of committed records reads of a topic.
func (b *broker) committed(t *testing.T, topic string) []string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.address), kgo.ConsumeTopics(topic), kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	end := &kgo.Record{Topic: topic, Value: []byte("end")}
	if err := client.ProduceSync(ctx, end).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var values []string
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("%v after %v", err, values)
		}
		for _, r := range fetches.Records() {
			switch {
			case r.Attrs.IsControl():
			case string(r.Value) == "end":
				return values
			default:
				values = append(values, string(r.Value))
			}
		}
	}
}

// outage kills the broker under a running query and starts it again.
func outage(t *testing.T, b *broker) {
	server := serve(t, testkit.ServerOptions{})
	cmd := b.python(server, "outage.py", b.address, t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	for _, step := range []struct {
		says string
		then func()
	}{
		{"ready", b.kill},
		{"waiting", func() { b.start(); _, _ = io.WriteString(in, "back\n") }},
		{"done", func() {}},
	} {
		if !lines.Scan() || lines.Text() != step.says {
			t.Fatalf("it said %q instead of %q\n%s\n%s", lines.Text(), step.says, errs.String(), server.Stderr())
		}
		step.then()
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, errs.String())
	}
}
