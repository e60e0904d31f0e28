package kafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-dev/weir/internal/testkit"
)

// member is what a process of a cluster of one controller (node 0) and two brokers is
// told. A broker that is silent for two seconds counts as gone.
func member(node int, address, controller string) string {
	role, listener := "broker", "PLAINTEXT://"+address+"\nadvertised.listeners=PLAINTEXT://"+address
	if node == 0 {
		role, listener = "controller", "CONTROLLER://"+controller
	}
	return fmt.Sprintf(`process.roles=%s
node.id=%d
controller.quorum.voters=0@%s
listeners=%s
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=300
offsets.topic.replication.factor=2
default.replication.factor=2
min.insync.replicas=1
unclean.leader.election.enable=false
`, role, node, controller, listener)
}

// newCluster starts a controller and two brokers, and gives those two.
func newCluster(t *testing.T) [2]*broker {
	t.Helper()
	testkit.Python(t)
	jars := filepath.Join(testkit.ModuleRoot(t), ".kafka")
	_, noJava := exec.LookPath("java")
	_, noJars := os.Stat(filepath.Join(jars, "installed"))
	testkit.Need(t, noJava == nil && noJars == nil, "Kafka brokers (Java 17 on the PATH and make kafka)")
	first, second := freePorts(t), freePorts(t)
	addresses := []string{first[0], first[1], second[0]}
	var members [3]*broker
	for node, address := range addresses {
		members[node] = &broker{t: t, address: address, jars: jars + "/*"}
		members[node].run(member(node, address, addresses[0]))
	}
	brokers := [2]*broker{members[1], members[2]}
	for _, b := range brokers {
		b.answers()
	}
	return brokers
}

// inSync waits until both brokers have all of both topics.
func inSync(ctx context.Context, t *testing.T, client *kgo.Client) {
	t.Helper()
	for ctx.Err() == nil {
		r := kmsg.NewMetadataRequest()
		for _, topic := range []string{"in", "out"} {
			one := kmsg.NewMetadataRequestTopic()
			one.Topic = kmsg.StringPtr(topic)
			r.Topics = append(r.Topics, one)
		}
		answer, err := r.RequestWith(ctx, client)
		if err != nil {
			continue
		}
		short := len(answer.Topics) < 2
		for _, topic := range answer.Topics {
			short = short || len(topic.Partitions) < 2
			for _, p := range topic.Partitions {
				short = short || len(p.ISR) < 2
			}
		}
		if !short {
			return
		}
	}
	t.Fatal("the brokers never came together")
}

// The broker that leads is killed, and the other, in turns, while the query runs; every
// record is there once in the end.
func TestLeadersThatDieLoseNothing(t *testing.T) {
	brokers := newCluster(t)
	q := &troubled{t: t, at: []string{brokers[0].address, brokers[1].address}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	admin, err := kgo.NewClient(kgo.SeedBrokers(q.at...))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	create := kmsg.NewCreateTopicsRequest()
	for _, name := range []string{"in", "out"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 2, 2
		create.Topics = append(create.Topics, topic)
	}
	made, err := create.RequestWith(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range made.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			t.Fatalf("%s: %v", topic.Topic, err)
		}
	}
	inSync(ctx, t, admin)
	q.start()
	for round := range 4 {
		q.feed()
		dies := brokers[round%2]
		dies.kill()
		q.feed()
		q.order("drained")
		dies.start()
		dies.answers()
		inSync(ctx, t, admin)
	}
	q.check()
	if q.rows != 80 || strings.Contains(q.errs.String(), "Traceback") {
		t.Errorf("%d rows; %s", q.rows, q.errs.String())
	}
}
