package kafka

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/connector/kafka/client"
	"github.com/weir-dev/weir/internal/plan"
)

// sink writes rows as records: at least once, or each batch in a
// transaction that is marked with the batch's id, so that a batch that is
// repeated is recognised.
type sink struct {
	env  *connector.Env
	spec connector.SinkSpec

	producer *client.Producer // opened by Begin
	rows     *rows
	exact    bool  // by transactions
	last     int64 // the newest batch that the cluster has, -1 for none; of transactions
	claimed  bool  // last is known
}

func openSink(_ context.Context, env *connector.Env, spec connector.SinkSpec) (connector.Sink, error) {
	return &sink{env: env, spec: spec}, nil
}

// Describe is Spark's text: the name of a Java object. What follows the @ is its
// identity there; here it tells queries apart.
func (s *sink) Describe() string {
	return fmt.Sprintf("org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable@%08x",
		uint32(xxh3.HashString(s.spec.QueryID)))
}

// Begin checks options and columns when the query runs, as Spark does.
func (s *sink) Begin() (err error) {
	if err := checkWrite(s.spec.Options); err != nil {
		return err
	}
	if s.rows, err = rowsOf(s.spec.Options, s.spec.Schema); err != nil {
		return err
	}
	if s.exact, err = transactional(s.spec.Options); err != nil {
		return err
	}
	id := ""
	if s.exact {
		id = "weir-" + s.spec.QueryID
	}
	s.producer, err = client.OpenProducer(config(s.env, s.spec.Options), id)
	return failed(err)
}

func transactional(o plan.Options) (bool, error) {
	exact, err := connector.BoolOption(o, transactionalKey, false)
	if err != nil {
		text, _ := o.Get(transactionalKey)
		return false, plan.IllegalArgument("The option %s is true or false, not %q.", transactionalKey, text)
	}
	return exact, nil
}

// Close gives up what was not committed.
func (s *sink) Close() error {
	if s.producer != nil {
		s.producer.Close()
	}
	return nil
}

// claim makes this run the only writer of its query's transactions and learns
// which batch was committed last.
func (s *sink) claim(ctx context.Context) (err error) {
	if s.claimed {
		return nil
	}
	if s.last, err = s.producer.Claim(ctx); err != nil {
		return producerFailed(err)
	}
	s.claimed = true
	return nil
}

// Holds tells whether a batch is in the cluster, which only transactions know.
func (s *sink) Holds(ctx context.Context, batchID int64) (bool, error) {
	if !s.exact {
		return false, nil
	}
	if err := s.claim(ctx); err != nil {
		return false, err
	}
	return s.last >= batchID, nil
}

// Placement does not matter: a record goes where its key or its row says.
func (s *sink) Placement() chunk.Placement { return chunk.PartsUnseen }

// Write returns when the cluster has every row.
func (s *sink) Write(ctx context.Context, batch connector.Batch) (int64, error) {
	if !s.exact {
		rows, _, err := s.rows.send(ctx, s.producer, batch.Rows)
		if err == nil {
			err = producerFailed(s.producer.Flush(ctx))
		}
		return rows, err
	}
	if err := s.claim(ctx); err != nil {
		return 0, err
	}
	if s.last >= batch.ID {
		return connector.Drain(batch.Rows)
	}
	rows, err := s.transact(ctx, batch)
	if err != nil {
		return 0, err
	}
	s.last = batch.ID
	return rows, nil
}

// transact writes a batch and its id, both or neither.
func (s *sink) transact(ctx context.Context, batch connector.Batch) (int64, error) {
	if err := s.producer.Begin(); err != nil {
		return 0, producerFailed(err)
	}
	rows, topic, err := s.rows.send(ctx, s.producer, batch.Rows)
	if err == nil {
		err = producerFailed(s.producer.Commit(ctx, topic, batch.ID))
	}
	if err == nil {
		return rows, nil
	}
	if ctx.Err() != nil {
		return 0, err // the next run's claim aborts it
	}
	if undone := s.producer.Abort(ctx); undone != nil {
		s.env.Warnf("batch %d of %s: %s", batch.ID, s.Describe(), undone)
	}
	return 0, err
}

// write writes the rows of a batch query.
func write(ctx context.Context, env *connector.Env, spec connector.WriteSpec, rows chunk.Rows) error {
	if spec.Mode == plan.SaveOverwrite || spec.Mode == plan.SaveIgnore {
		mode := "Overwrite"
		if spec.Mode == plan.SaveIgnore {
			mode = "Ignore"
		}
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_3081",
			"Kafka cannot be written with save mode "+mode+", only with append and errorIfExists.",
			"mode", mode, "append", "Append", "errorIfExists", "ErrorIfExists")
	}
	if err := checkWrite(spec.Options); err != nil {
		return err
	}
	exact, err := transactional(spec.Options)
	if err != nil {
		return err
	}
	if exact {
		return plan.IllegalArgument("The option %s is for streams: the rows of a frame have no batch id by which "+
			"they would be recognised.", transactionalKey)
	}
	columns, err := rowsOf(spec.Options, spec.Schema)
	if err != nil {
		return err
	}
	producer, err := client.OpenProducer(config(env, spec.Options), "")
	if err != nil {
		return producerFailed(err)
	}
	defer producer.Close()
	if _, _, err := columns.send(ctx, producer, rows); err != nil {
		return err
	}
	return producerFailed(producer.Flush(ctx))
}

// checkWrite refuses what Spark refuses before it writes.
func checkWrite(o plan.Options) error {
	if err := checkOwnOptions(o); err != nil {
		return err
	}
	for _, f := range []struct{ key, what string }{{"key.serializer", "keys"}, {"value.serializer", "value"}} {
		if _, ok := o.Get(prefix + f.key); ok {
			return plan.IllegalArgument(
				"Kafka option '%s' is not supported as %s are serialized with ByteArraySerializer.", f.key, f.what)
		}
	}
	if _, ok := o.Get(prefix + "transactional.id"); ok {
		e := plan.IllegalArgument("Kafka option 'transactional.id' is not supported.")
		e.Hint = "Set weir.kafka.transactional=true to write each batch in a transaction."
		return e
	}
	if _, ok := o.Get(prefix + "bootstrap.servers"); !ok {
		return plan.NewError(plan.ClassSpark, "MISSING_KAFKA_OPTION",
			"The option kafka.bootstrap.servers is missing.", "option", "bootstrap.servers")
	}
	return nil
}

// rows turns rows into messages. A column that is missing is -1.
type rows struct {
	topic                                        string // of the option, "" for none
	topicAt, keyAt, valueAt, headersAt, numberAt int
}

func rowsOf(o plan.Options, schema plan.Type) (*rows, error) {
	r := &rows{}
	topic, ok := o.Get("topic")
	r.topic = strings.TrimSpace(topic)
	text, binary := []plan.Type{plan.String}, []plan.Type{plan.String, plan.Binary}
	var err error
	column := func(name string, allowed []plan.Type) int {
		at := connector.FieldIndex(schema, name)
		if at >= 0 && err == nil {
			err = checkColumn(schema.Fields[at], allowed)
		}
		return at
	}
	r.topicAt = -1
	if !ok {
		if r.topicAt = column("topic", text); r.topicAt < 0 {
			return nil, columns3080("topic option required when no 'topic' attribute is present. " +
				"Use the topic option for setting a topic.")
		}
	} else if column("topic", text); err != nil {
		return nil, err
	}
	r.keyAt = column("key", binary)
	if r.valueAt = column("value", binary); r.valueAt < 0 && err == nil {
		err = columns3080("Required attribute 'value' not found")
	}
	r.headersAt = column("headers", []plan.Type{client.HeadersType()})
	r.numberAt = column("partition", []plan.Type{plan.Int})
	return r, err
}

func columns3080(msg string) *plan.Error {
	return plan.AnalysisError("_LEGACY_ERROR_TEMP_3080", msg, "msg", msg)
}

func checkColumn(f plan.Field, allowed []plan.Type) error {
	if slices.ContainsFunc(allowed, func(t plan.Type) bool {
		return t.Kind == plan.KindString && f.Type.IsString() || f.Type.EqualIgnoringNull(t)
	}) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, t := range allowed {
		names[i] = t.Simple()
	}
	return columns3080(fmt.Sprintf("%s attribute unsupported type %s. %s must be a(n) %s",
		f.Name, f.Type.Simple(), f.Name, strings.Join(names, " or ")))
}

// send hands rows to a producer. topic is one of those it wrote to, "" when
// there were no rows.
func (r *rows) send(ctx context.Context, p *client.Producer, rows chunk.Rows,
) (count int64, topic string, err error) {
	for c, err := range rows {
		if err != nil {
			return count, topic, err
		}
		messages, err := r.messages(c)
		if err != nil {
			return count, topic, producerFailed(err)
		}
		if len(messages) > 0 && topic == "" {
			topic = messages[0].Topic
		}
		if err := p.Send(ctx, messages); err != nil {
			return count, topic, producerFailed(err)
		}
		count += int64(c.Rows)
	}
	return count, topic, nil
}

func (r *rows) messages(c *chunk.Chunk) ([]client.Message, error) {
	out := make([]client.Message, c.Rows)
	for i := range out {
		m := &out[i]
		m.Topic, m.Partition = r.topic, client.AnyPartition
		if r.topicAt >= 0 {
			if c.Cols[r.topicAt].IsNull(i) {
				return nil, stateError("KAFKA_NULL_TOPIC_IN_DATA",
					"A row has no topic; the option topic gives one to all rows.")
			}
			m.Topic = c.Cols[r.topicAt].Text(i)
		}
		m.Key, m.Value = bytesAt(c, r.keyAt, i), bytesAt(c, r.valueAt, i)
		if r.numberAt >= 0 && !c.Cols[r.numberAt].IsNull(i) {
			if m.Partition = chunk.Values[int32](c.Cols[r.numberAt])[i]; m.Partition < 0 {
				return nil, fmt.Errorf("partition %d of topic %s: partitions are numbered from 0", m.Partition, m.Topic)
			}
		}
		if r.headersAt >= 0 {
			m.Headers = headersAt(c.Cols[r.headersAt], i)
		}
	}
	return out, nil
}

func bytesAt(c *chunk.Chunk, column, row int) []byte {
	if column < 0 || c.Cols[column].IsNull(row) {
		return nil
	}
	b := c.Cols[column].Bytes(row)
	if b == nil {
		return []byte{} // a nil slice is NULL to Kafka
	}
	return b
}

func headersAt(v *chunk.Vector, row int) []client.Header {
	if v.IsNull(row) {
		return nil
	}
	from, to := v.Span(row)
	headers := make([]client.Header, 0, to-from)
	pairs := v.Kids[0]
	for i := from; i < to; i++ {
		h := client.Header{}
		if !pairs.IsNull(i) {
			if !pairs.Kids[0].IsNull(i) {
				h.Key = pairs.Kids[0].Text(i)
			}
			if !pairs.Kids[1].IsNull(i) {
				h.Value = pairs.Kids[1].Bytes(i)
			}
		}
		headers = append(headers, h)
	}
	return headers
}
