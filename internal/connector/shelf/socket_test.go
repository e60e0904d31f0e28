package shelf

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

// socketRig is a socket source and the server's end of its connection.
type socketRig struct {
	t      *testing.T
	source *socketSource
	server net.Conn
	warned []string
	now    time.Time
}

func newSocketRig(t *testing.T, o plan.Options) *socketRig {
	t.Helper()
	r := &socketRig{t: t, now: time.UnixMicro(1_700_000_000_123_456)}
	env := conform.NewEnv(t, vfs.NewMemory())
	env.Now = func() time.Time { return r.now }
	env.Warn = func(text string) { r.warned = append(r.warned, text) }
	all := plan.Options{"host": "there", "port": "9999"}
	for k, v := range o {
		all[k] = v
	}
	s := formats.ScanOf(t, env, &plan.Read{Format: "socket", Options: all, Streaming: true})
	r.source = formats.OpenSource(t, env, s, connector.Place{}).(*socketSource)
	client, server := net.Pipe()
	r.server = server
	r.source.dial = func(context.Context) (net.Conn, error) { return client, nil }
	return r
}

// send has the server send bytes, and waits until the source has seen them.
func (r *socketRig) send(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.server, text); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// latest asks where a batch may end.
func (r *socketRig) latest(start connector.Offset) connector.Offset {
	r.t.Helper()
	end, err := r.source.Latest(r.t.Context(), start, connector.Limit{})
	conform.Must(r.t, err)
	return end
}

func (r *socketRig) values(from, to connector.Offset) []string {
	r.t.Helper()
	got := []string{}
	for _, row := range conform.RowsOf(r.t, r.source.Read(r.t.Context(), from, to)) {
		got = append(got, row[0].(string))
	}
	return got
}

func (r *socketRig) close() {
	r.t.Helper()
	conform.Must(r.t, r.source.Close())
	conform.Must(r.t, r.server.Close())
	synctest.Wait()
}

// What Spark 4.3 answered to the same bytes, the batches and partitions included.
func TestSocketSplitsLinesAsSpark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSocketRig(t, plan.Options{"numPartitions": "2"})
		defer r.close()
		if got := r.source.Describe(); got != "TextSocketV2[host: there, port: 9999]" {
			t.Errorf("described as %s", got)
		}
		if got := r.latest(""); got != "-1" {
			t.Fatalf("before the first batch the latest is %q", got)
		}
		testkit.Diff(t, "batch 0", r.values("", "-1"), []string{})
		r.send("a\nb\r\ncé\xff\n\n x \nlast")
		if got := r.latest("-1"); got != "4" {
			t.Fatalf("latest is %q", got)
		}
		testkit.Diff(t, "batch 1", r.values("-1", "4"), []string{"a", "cé\ufffd", " x ", "b", ""})
		conform.Must(t, r.source.Advance(t.Context(), "4"))
		r.send(" more\n")
		testkit.Diff(t, "batch 2", r.values("4", r.latest("4")), []string{"last more"})
		r.send("one\rtwo\r\r\ntail")
		if got := r.latest("5"); got != "8" {
			t.Fatalf("latest is %q", got)
		}
		conform.Must(t, r.server.Close())
		synctest.Wait()
		testkit.Diff(t, "batch 3", r.values("5", r.latest("5")), []string{"one", "", "two", "tail"})
		if last := r.warned[len(r.warned)-1]; !strings.Contains(last, "there:9999 closed the connection") {
			t.Errorf("warned of %q", r.warned)
		}
		if got := r.latest("9"); got != "9" {
			t.Errorf("after the end the latest is %s", got)
		}
	})
}

func TestSocketStampsLinesWithMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSocketRig(t, plan.Options{"includeTimestamp": "True"})
		defer r.close()
		r.latest("-1")
		r.send("a\n")
		r.now = r.now.Add(time.Minute)
		r.send("b\n")
		testkit.Diff(t, "rows", conform.RowsOf(t, r.source.Read(t.Context(), "-1", "1")), [][]plan.Value{
			{"a", int64(1_700_000_000_123_000)}, {"b", int64(1_700_000_060_123_000)},
		})
		r.source.TakeDates()
		b, err := r.source.Gauge().Backlog(t.Context(), "0")
		if err != nil || b.Rows != 1 || b.ReadRows != 1 || b.Oldest.UnixMicro() != 1_700_000_060_123_000 {
			t.Errorf("backlog %v, %v", b, err)
		}
	})
}

// A server that is faster than the query waits for it.
func TestSocketHoldsBackTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSocketRig(t, nil)
		defer r.close()
		budget := chunk.NewBudget(nil, socketShare, "k")
		r.source.memory, r.source.room = budget.Part(), 2000
		r.latest("-1")
		long := strings.Repeat("x", 900) + "\n"
		go func() {
			for range 5 {
				if _, err := io.WriteString(r.server, long); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		start := connector.Offset("-1")
		for _, step := range []struct{ latest, done connector.Offset }{{"1", "0"}, {"2", "2"}, {"4", "4"}} {
			if got := r.latest(start); got != step.latest {
				t.Fatalf("latest is %s, want %s", got, step.latest)
			}
			if used := budget.Used(); used != socketShare {
				t.Errorf("holds %d bytes", used)
			}
			conform.Must(t, r.source.Advance(t.Context(), step.done))
			synctest.Wait()
			start = step.done
		}
		if used := budget.Used(); used != 0 {
			t.Errorf("holds %d bytes of nothing", used)
		}
	})
}

func TestSocketRefusesALineWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSocketRig(t, nil)
		defer r.close()
		r.source.room = 10
		r.latest("-1")
		go func() { _, _ = io.WriteString(r.server, "12345678901234567890") }()
		synctest.Wait()
		_, err := r.source.Latest(t.Context(), "-1", connector.Limit{})
		if err == nil || !strings.Contains(err.Error(), "longer than 10 bytes") {
			t.Errorf("got %v", err)
		}
	})
}

func TestSocketRefusesWhatItCannotHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSocketRig(t, nil)
		defer r.close()
		r.source.memory = chunk.NewBudget(nil, 10, "weir.query.maxMemory")
		r.latest("-1")
		r.send("a\n")
		_, err := r.source.Latest(t.Context(), "-1", connector.Limit{})
		if conform.Condition(err) != "UNABLE_TO_ACQUIRE_MEMORY" {
			t.Errorf("got %v", err)
		}
	})
}

// The lines of an earlier run are gone. Spark notices after a batch without rows;
// nothing is skipped here.
func TestSocketGoesOnFromNoCheckpointWithLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSocketRig(t, nil)
		defer r.close()
		_, err := r.source.Latest(t.Context(), "2", connector.Limit{})
		if err == nil || !strings.Contains(err.Error(), "Offsets committed out of order: 2 followed by -1") ||
			!strings.Contains(err.Error(), "there:9999") {
			t.Errorf("going on answers %v", err)
		}
		for _, err := range r.source.Read(t.Context(), "-1", "3") {
			if err == nil || !strings.Contains(err.Error(), "out of order: 3 followed by -1") {
				t.Errorf("a batch that was not committed answers %v", err)
			}
		}
		if got := r.latest("-1"); got != "-1" {
			t.Errorf("from a checkpoint without lines the latest is %q", got)
		}
		_, err = r.source.Latest(t.Context(), `{"a":1}`, connector.Limit{})
		if err == nil || !strings.Contains(err.Error(), "is no offset of a socket source") {
			t.Errorf("another's offset answers %v", err)
		}
	})
}

func TestSocketSaysWhyItDoesNotConnect(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errors.New("connection refused"))}
	cases := []struct {
		name, port string
		err        error
		class, msg string
	}{
		{"nobody listens", "9", refused,
			"java.net.ConnectException", "Connection refused."},
		{"unknown host", "9", &net.OpError{Op: "dial", Err: &net.DNSError{Name: "there"}},
			"java.net.UnknownHostException", "there."},
		{"no port", "70000", nil, "java.lang.IllegalArgumentException", "port out of range:70000."},
		{"negative port", "-4", nil, "java.lang.IllegalArgumentException", "port out of range:-4."},
	}
	for _, c := range cases {
		synctest.Test(t, func(t *testing.T) {
			r := newSocketRig(t, plan.Options{"port": c.port})
			defer r.close()
			r.source.dial = func(context.Context) (net.Conn, error) { return nil, c.err }
			_, err := chunk.Collect(r.source.Read(t.Context(), "", "-1"))
			var said *plan.Error
			if !errors.As(err, &said) || said.Class != c.class || said.Msg != c.msg {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
}

func TestSocketChecksItsOptions(t *testing.T) {
	cases := []struct {
		options   plan.Options
		condition string
	}{
		{plan.Options{}, "_LEGACY_ERROR_TEMP_1295"},
		{plan.Options{"host": "h"}, "_LEGACY_ERROR_TEMP_1296"},
		{plan.Options{"host": "h", "port": "9", "includeTimestamp": "maybe"}, "_LEGACY_ERROR_TEMP_1297"},
		{plan.Options{"host": "h", "port": "x"}, ""},
		{plan.Options{"host": "h", "port": "9", "numPartitions": "0"}, ""},
	}
	env := conform.NewEnv(t, vfs.NewMemory())
	for _, c := range cases {
		_, err := socketFormat().Describe(t.Context(), env, &plan.Read{Format: "socket", Options: c.options})
		if err == nil || conform.Condition(err) != c.condition {
			t.Errorf("%v: %v", c.options, err)
		}
	}
	schema := plan.Struct(plan.Col("value", plan.String))
	_, err := socketFormat().Describe(t.Context(), env, &plan.Read{Format: "socket", Schema: &schema})
	if conform.Condition(err) != "_LEGACY_ERROR_TEMP_2242" {
		t.Errorf("with a schema: %v", err)
	}
}
