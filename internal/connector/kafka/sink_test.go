package kafka

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/test/conform"
)

var valueSchema = plan.Struct(plan.Col("value", plan.String))

func (k *rig) sink(schema plan.Type, options ...string) *sink {
	k.t.Helper()
	o := plan.Options{"kafka.bootstrap.servers": strings.Join(k.ListenAddrs(), ",")}
	for i := 0; i+1 < len(options); i += 2 {
		o[options[i]] = options[i+1]
	}
	f, _ := formats.Lookup("kafka")
	s, err := f.Sink(k.t.Context(), k.env, connector.SinkSpec{Schema: schema, Options: o, QueryID: "q"})
	conform.Must(k.t, err)
	k.t.Cleanup(func() { conform.Must(k.t, s.Close()) })
	return s.(*sink)
}

// written is the committed values of partition 0, as a batch read sees them.
func (k *rig) written(topic string) []string {
	k.t.Helper()
	r := k.read(topic, "kafka.isolation.level", "read_committed")
	r.Streaming = false
	f, _ := formats.Lookup("kafka")
	rows, err := k.values(f.Scan(k.t.Context(), k.env, formats.ScanOf(k.t, k.env, r)))
	conform.Must(k.t, err)
	return rows
}

func texts(values ...string) *chunk.Chunk {
	c := chunk.NewChunk(valueSchema, len(values))
	for _, v := range values {
		c.AppendValues([]plan.Value{v})
	}
	return c
}

func (k *rig) write(s *sink, id int64, rows chunk.Rows) error {
	_, err := s.Write(k.t.Context(), connector.Batch{ID: id, Rows: rows})
	return err
}

func TestTransactionalKafkaSinkConforms(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	open := func() connector.Sink {
		s := k.sink(valueSchema, "topic", "t", "weir.kafka.transactional", "true")
		conform.Must(t, s.Begin())
		return s
	}
	visible := func() (ids []int64) {
		for _, row := range k.written("t") {
			id, err := strconv.ParseInt(strings.TrimPrefix(row, "0 "), 10, 64)
			conform.Must(t, err)
			ids = append(ids, id)
		}
		slices.Sort(ids)
		return ids
	}
	conform.CheckSinkOf(t, open, visible, func(part int, ids ...int64) *chunk.Chunk {
		values := make([]string, len(ids))
		for i, id := range ids {
			values[i] = strconv.FormatInt(id, 10)
		}
		c := texts(values...)
		c.Part = part
		return c
	})
}

// KF-09: a batch that is repeated after a crash is there twice, and once with
// transactions; one that was cut off is not seen there.
func TestReportKF09(t *testing.T) {
	for exact, want := range map[string][]string{
		"true":  {"0 a", "0 b", "0 c", "0 d"},
		"false": {"0 a", "0 b", "0 cut", "0 a", "0 b", "0 c", "0 d"},
	} {
		k := newRig(t, kfake.SeedTopics(1, "t"))
		open := func() *sink {
			s := k.sink(valueSchema, "topic", "t", "weir.kafka.transactional", exact)
			conform.Must(t, s.Begin())
			return s
		}
		first := open()
		conform.Must(t, k.write(first, 0, chunk.One(texts("a", "b"))))
		if err := k.write(first, 1, conform.CutOff(texts("cut"))); !errors.Is(err, conform.ErrCutOff) {
			t.Fatalf("got %v", err)
		}
		second := open() // commits/0 was lost: batch 0 comes again
		holds, err := second.Holds(t.Context(), 0)
		conform.Must(t, err)
		if holds != (exact == "true") {
			t.Errorf("transactional %s: holds batch 0: %t", exact, holds)
		}
		conform.Must(t, k.write(second, 0, chunk.One(texts("a", "b"))))
		conform.Must(t, k.write(second, 1, chunk.One(texts("c", "d"))))
		conform.Must(t, k.write(second, 2, chunk.One()))
		if err := k.write(first, 1, chunk.One(texts("late"))); exact == "true" && err == nil {
			t.Error("a run that was taken over from goes on writing")
		}
		got := k.written("t")
		if exact == "false" {
			got = slices.DeleteFunc(got, func(v string) bool { return v == "0 late" })
			// The record of the batch that was cut off is sent when its run finds time.
			slices.Sort(got)
			slices.Sort(want)
		}
		testkit.Diff(t, "transactional "+exact, got, want)
	}
}

// What happened to the rows on their way is told as it was, and not as Kafka's doing.
func TestFailuresOfRowsAreNotKafkas(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	cause := errors.New("the source broke")
	for _, exactly := range []string{"false", "true"} {
		s := k.sink(valueSchema, "topic", "t", "weir.kafka.transactional", exactly)
		conform.Must(t, s.Begin())
		if err := k.write(s, 0, chunk.Fail(cause)); err == nil || err.Error() != cause.Error() {
			t.Errorf("transactional %s: %v", exactly, err)
		}
	}
}

func TestKafkaColumnsThatAreRefused(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	value := plan.Col("value", plan.String)
	tests := []struct {
		schema plan.Type
		topic  string
		msg    string // of Spark; "" when it is taken
	}{
		{plan.Struct(value), "t", ""},
		{plan.Struct(plan.Col("key", plan.String)), "t", "Required attribute 'value' not found"},
		{plan.Struct(value), "", "topic option required when no 'topic' attribute is present. " +
			"Use the topic option for setting a topic."},
		{plan.Struct(plan.Col("value", plan.Int)), "t",
			"value attribute unsupported type int. value must be a(n) string or binary"},
		{plan.Struct(plan.Col("topic", plan.Int), value), "",
			"topic attribute unsupported type int. topic must be a(n) string"},
		{plan.Struct(plan.Col("partition", plan.Long), value), "t",
			"partition attribute unsupported type bigint. partition must be a(n) int"},
		{plan.Struct(plan.Col("headers", plan.Map(plan.String, plan.String, true)), value), "t",
			"headers attribute unsupported type map<string,string>. headers must be a(n) " +
				"array<struct<key:string,value:binary>>"},
		{plan.Struct(plan.Col("other", plan.Date), plan.Col("value", plan.Binary)), "t", ""},
	}
	for _, test := range tests {
		var options []string
		if test.topic != "" {
			options = []string{"topic", test.topic}
		}
		err := k.sink(test.schema, options...).Begin()
		var e *plan.Error
		if test.msg == "" && err == nil {
			continue
		}
		if !errors.As(err, &e) || e.Condition != "_LEGACY_ERROR_TEMP_3080" || e.Args["msg"] != test.msg {
			t.Errorf("%s: got %v", test.schema.Simple(), err)
		}
	}
}

func TestKafkaWritesThatAreRefused(t *testing.T) {
	k := newRig(t, kfake.SeedTopics(1, "t"))
	servers := strings.Join(k.ListenAddrs(), ",")
	ok := plan.Options{"kafka.bootstrap.servers": servers, "topic": "t"}
	with := func(key, value string) plan.Options {
		return plan.Options{"kafka.bootstrap.servers": servers, "topic": "t", key: value}
	}
	nowhere := plan.Struct(plan.Col("topic", plan.String), plan.Col("value", plan.String))
	for name, test := range map[string]struct {
		spec      connector.WriteSpec
		rows      chunk.Rows
		class     string
		condition string
	}{
		"taken": {connector.WriteSpec{Schema: valueSchema, Options: ok}, chunk.One(texts("x")), "", ""},
		"overwrite": {connector.WriteSpec{Schema: valueSchema, Options: ok, Mode: plan.SaveOverwrite}, chunk.One(),
			plan.ClassAnalysis, "_LEGACY_ERROR_TEMP_3081"},
		"no servers": {connector.WriteSpec{Schema: valueSchema, Options: plan.Options{"topic": "t"}}, chunk.One(),
			plan.ClassSpark, "MISSING_KAFKA_OPTION"},
		"serializer": {connector.WriteSpec{Schema: valueSchema, Options: with("kafka.key.serializer", "x")},
			chunk.One(),
			plan.ClassJavaIllegal, ""},
		"transactional id": {connector.WriteSpec{Schema: valueSchema, Options: with("kafka.transactional.id", "x")},
			chunk.One(), plan.ClassJavaIllegal, ""},
		"a slip": {connector.WriteSpec{Schema: valueSchema, Options: with("weir.kafka.transactionl", "true")},
			chunk.One(), plan.ClassJavaIllegal, ""},
		"a transaction": {connector.WriteSpec{Schema: valueSchema, Options: with("weir.kafka.transactional",
			"true")},
			chunk.One(), plan.ClassJavaIllegal, ""},
		"neither true nor false": {connector.WriteSpec{Schema: valueSchema,
			Options: with("weir.kafka.transactional", "1")},
			chunk.One(), plan.ClassJavaIllegal, ""},
		"acks": {connector.WriteSpec{Schema: valueSchema, Options: with("kafka.acks", "several")},
			chunk.One(texts("x")),
			plan.ClassSpark, ""},
		"no topic in a row": {connector.WriteSpec{Schema: nowhere,
			Options: plan.Options{"kafka.bootstrap.servers": servers}},
			chunk.One(chunk.FromRows(nowhere, []plan.Value{nil, "x"})), classState, "KAFKA_NULL_TOPIC_IN_DATA"},
		"no such topic": {connector.WriteSpec{Schema: valueSchema, Options: with("topic", "nope")},
			chunk.One(texts("x")),
			plan.ClassSpark, ""},
	} {
		f, _ := formats.Lookup("kafka")
		err := f.Write(t.Context(), k.env, test.spec, test.rows)
		var e *plan.Error
		if test.class == "" && err == nil {
			continue
		}
		if !errors.As(err, &e) || e.Class != test.class || e.Condition != test.condition {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
