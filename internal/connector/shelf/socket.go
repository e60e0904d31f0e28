package shelf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
)

func socketFormat() *connector.Format {
	return &connector.Format{
		Name: "socket",
		Aliases: []string{
			"org.apache.spark.sql.execution.streaming.sources.TextSocketSourceProvider",
		},
		Doc: "lines that a server sends; for trying things out, as its lines cannot be read twice",
		Options: connector.Options([][3]string{
			{"host", "", "where the server is; required"},
			{"port", "", "its port; required"},
			{"includeTimestamp", "false", "whether a column timestamp has the time at which a line came"},
			{"numPartitions", "", "partitions of each batch; the default parallelism when it is not given"},
		}),
		Describe: func(_ context.Context, env *connector.Env, r *plan.Read) (*plan.Relation, error) {
			if r.Schema != nil {
				return nil, takesNoSchema("TextSocketSourceProvider")
			}
			settings, err := socketOptions(env, r.Options)
			if err != nil {
				return nil, err
			}
			schema := plan.Struct(plan.Col("value", plan.String))
			if settings.stamped {
				schema = plan.Struct(plan.Col("value", plan.String), plan.Col("timestamp", plan.Timestamp))
			}
			return &plan.Relation{Format: "socket", Schema: schema, Options: r.Options, Paths: r.Paths}, nil
		},
		Source: openSocket,
	}
}

// socketSettings are the checked options of a socket source.
type socketSettings struct {
	host       string
	port       int
	stamped    bool
	partitions int
}

func socketOptions(env *connector.Env, o plan.Options) (socketSettings, error) {
	var s socketSettings
	var ok bool
	var err error
	if s.host, ok = o.Get("host"); !ok {
		return s, plan.AnalysisError("_LEGACY_ERROR_TEMP_1295",
			`Set a host to read from with option("host", ...).`)
	}
	if _, ok := o.Get("port"); !ok {
		return s, plan.AnalysisError("_LEGACY_ERROR_TEMP_1296",
			`Set a port to read from with option("port", ...).`)
	}
	if s.stamped, err = connector.BoolOption(o, "includeTimestamp", false); err != nil {
		return s, plan.AnalysisError("_LEGACY_ERROR_TEMP_1297",
			`IncludeTimestamp must be set to either "true" or "false".`)
	}
	if s.port, err = connector.IntOption(o, "port", 0); err != nil {
		return s, err
	}
	s.partitions, err = partitionOption(env, o)
	return s, err
}

func (s *socketSettings) address() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// nothingYet is the offset of a socket before its first line; that of a line is its
// number, from 0.
const nothingYet = -1

// socketSource numbers the lines of one connection. They are held until their batch is
// processed, and are gone with the connection, so it is not replayable: C1 to C3 hold
// within a run, and a run that would need lines of an earlier one is refused.
type socketSource struct {
	socketSettings
	columns []int // 0 is value, 1 timestamp
	env     *connector.Env
	dial    func(ctx context.Context) (net.Conn, error)
	room    int // bytes of lines that wait at most
	connector.Arrivals

	conn    net.Conn // nil until the first batch is read
	reader  sync.WaitGroup
	mu      sync.Mutex
	roomy   sync.Cond // lines were dropped, or the source is closed
	lines   []socketLine
	first   int64 // the number of lines[0]
	bytes   int64 // of lines
	taken   int64 // of memory, at least bytes
	memory  *chunk.Budget
	closed  bool
	stopped error // why there will be no more lines; nil when the server ended
}

type socketLine struct {
	text string
	at   int64 // when it came, in microseconds
}

func openSocket(
	_ context.Context, env *connector.Env, s *plan.Scan, _ connector.Place,
) (connector.Source, error) {
	settings, err := socketOptions(env, s.Relation.Options)
	if err != nil {
		return nil, err
	}
	columns, err := connector.ColumnsOf(s)
	if err != nil {
		return nil, err
	}
	env.Warnf("the socket source is not for production: the lines of %s cannot be read again after a restart",
		settings.address())
	source := &socketSource{
		socketSettings: settings, columns: columns, env: env, room: socketRoom, memory: env.Eval.Memory.Part(),
	}
	source.roomy.L = &source.mu
	source.dial = func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", settings.address())
	}
	return source, nil
}

// Describe is Spark's text.
func (s *socketSource) Describe() string {
	return fmt.Sprintf("TextSocketV2[host: %s, port: %d]", s.host, s.port)
}

// connect begins to read lines, once.
func (s *socketSource) connect(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	if s.port < 0 || s.port > 65535 {
		return plan.IllegalArgument("port out of range:%d.", s.port)
	}
	conn, err := s.dial(ctx)
	var unknown *net.DNSError
	var dialed *net.OpError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &unknown):
		return s.unreachable("java.net.UnknownHostException", s.host, err)
	case errors.As(err, &dialed):
		text := innermost(err).Error() // of the system; Java begins it with a capital
		return s.unreachable("java.net.ConnectException", strings.ToUpper(text[:1])+text[1:], err)
	default:
		return s.unreachable("java.net.SocketException", err.Error(), err)
	}
	s.conn = conn
	s.reader.Go(func() { s.listen(conn) })
	return nil
}

// innermost is the error that others are about.
func innermost(err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		err = cause
	}
	return err
}

func (s *socketSource) unreachable(class, message string, cause error) error {
	return &plan.Error{
		Class: class, Msg: message + ".", Cause: cause,
		Hint: "The socket source connects to " + s.address() + " when its query starts: start the server " +
			"there first, or name another with the options host and port.",
	}
}

// Latest is the number of the newest line. Before the first batch there is no
// connection: as in Spark, that batch is empty and makes one.
func (s *socketSource) Latest(
	ctx context.Context, start connector.Offset, _ connector.Limit,
) (connector.Offset, error) {
	from, err := lineNumber(start)
	if err != nil {
		return "", err
	}
	if start != "" {
		if err := s.connect(ctx); err != nil {
			return "", err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if from > s.newest() {
		return "", s.gone(from)
	}
	return connector.Offset(strconv.FormatInt(s.newest(), 10)), s.stopped
}

func (s *socketSource) newest() int64 { return s.first + int64(len(s.lines)) - 1 }

// gone refuses to go on after a line that another connection brought.
func (s *socketSource) gone(line int64) error {
	return &plan.Error{
		Class: plan.ClassRuntime,
		Msg: fmt.Sprintf("Offsets committed out of order: %d followed by %d. The checkpoint is about lines of "+
			"an earlier connection to %s, which nobody has any more.", line, s.newest(), s.address()),
		Hint: "A query over a socket cannot be resumed: give it a new checkpointLocation.",
	}
}

// ReportLatest is the offset that Latest gave last.
func (s *socketSource) ReportLatest(context.Context) (connector.Offset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return connector.Offset(strconv.FormatInt(s.newest(), 10)), nil
}

// Advance drops lines that are processed.
func (s *socketSource) Advance(_ context.Context, upTo connector.Offset) error {
	to, err := lineNumber(upTo)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	done := min(max(0, to-s.first+1), int64(len(s.lines)))
	for _, l := range s.lines[:done] {
		s.bytes -= l.size()
	}
	clear(s.lines[:done])
	s.lines, s.first = s.lines[done:], s.first+done
	if len(s.lines) == 0 {
		s.lines = nil
		s.memory.Give(s.taken)
		s.taken = 0
	}
	s.roomy.Broadcast()
	return nil
}

// Close ends the connection.
func (s *socketSource) Close() error {
	s.mu.Lock()
	s.closed = true
	s.roomy.Broadcast()
	s.mu.Unlock()
	var err error
	if s.conn != nil {
		err = s.conn.Close()
		s.reader.Wait()
	}
	s.memory.Close()
	return err
}

// Read yields the lines of a batch, dealt out to the partitions in turn.
func (s *socketSource) Read(ctx context.Context, from, to connector.Offset) chunk.Rows {
	start, err := lineNumber(from)
	if err != nil {
		return chunk.Fail(err)
	}
	end, err := lineNumber(to)
	if err != nil {
		return chunk.Fail(err)
	}
	if err := s.connect(ctx); err != nil {
		return chunk.Fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if start+1 < s.first || end > s.newest() {
		return chunk.Fail(s.gone(end))
	}
	lines := s.lines[start+1-s.first : end+1-s.first]
	s.date(lines)
	return func(yield func(*chunk.Chunk, error) bool) {
		if !yield(chunk.Partitions(s.partitions), nil) {
			return
		}
		for part := range min(s.partitions, len(lines)) {
			for i := part; i < len(lines); {
				if ctx.Err() != nil {
					yield(nil, context.Cause(ctx))
					return
				}
				c := s.chunk(lines[i:])
				c.Part = part
				if !yield(c, nil) {
					return
				}
				i += c.Rows * s.partitions
			}
		}
	}
}

// chunk takes lines of the partition that the first is of.
func (s *socketSource) chunk(lines []socketLine) *chunk.Chunk {
	rows := min(chunk.MaxRows, (len(lines)+s.partitions-1)/s.partitions)
	c := &chunk.Chunk{Cols: make([]*chunk.Vector, len(s.columns)), Rows: rows}
	for k, column := range s.columns {
		if column == 0 {
			c.Cols[k] = chunk.New(plan.String, rows)
			for i := range rows {
				c.Cols[k].AppendText(lines[i*s.partitions].text)
			}
			continue
		}
		c.Cols[k] = chunk.Make(plan.Timestamp, rows)
		for i, out := 0, chunk.Values[int64](c.Cols[k]); i < rows; i++ {
			out[i] = lines[i*s.partitions].at
		}
	}
	return c
}

// date notes when lines came, at most connector.MostArrivals instants.
func (s *socketSource) date(lines []socketLine) {
	s.Arrivals.Reset()
	step := max(1, (len(lines)+connector.MostArrivals-1)/connector.MostArrivals)
	for i := 0; i < len(lines); i += step {
		s.Arrivals.Add(time.UnixMicro(lines[i].at), float64(min(step, len(lines)-i)))
	}
}

// lineNumber reads an offset of the socket source; "" is before the first line.
func lineNumber(o connector.Offset) (int64, error) {
	if o == "" {
		return nothingYet, nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(o)), 10, 64)
	if err != nil || n < nothingYet {
		return 0, connector.IllegalState("%.60q is no offset of a socket source", string(o))
	}
	return n, nil
}
