package stream

import (
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// A script drives one machine in fake time, which begins at 2000-01-01. Its
// commands:
//
//	plan a b            a union of the tapes a and b; "a a" reads one twice
//	put a 1 2 3         values on tape a
//	start KEY=VALUE     trigger=10s|availableNow|once limit=N name=TEXT skips logged nopin; other
//	                    keys are settings
//	process             processAllAvailable
//	sleep 10s, await, stop, status, explain, error
//	events              since the last look: kind, then what matters of it
//	json                the same as listeners get it
//	recent              recentProgress, in short
//	files, cat PATH, rm PATH, write PATH, cp FROM TO (a checksum is not copied, the old one goes)
//	rows                what the sink holds, a line a batch
func TestScripts(t *testing.T) {
	files, err := os.ReadDir("testdata/scripts")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{rig: newRig(vfs.NewMemory())}
				s.ear = s.listen()
				testkit.Script(t, path.Join("testdata/scripts", f.Name()), s.run)
				if s.query != nil {
					s.query.Stop(context.Background())
				}
				s.bus.Close()
			})
		})
	}
}

type script struct {
	*rig
	ear   *ear
	query *Query
}

func (s *script) run(t *testing.T, c testkit.Command) string {
	switch c.Name {
	case "plan":
		s.setPlan(c)
	case "put":
		for _, a := range c.Args[1:] {
			n, err := strconv.ParseInt(a.Key, 10, 64)
			if err != nil {
				t.Fatalf("%s: %v", c.Where, err)
			}
			s.tapes[c.Args[0].Key].put(n)
		}
	case "start":
		return s.begin(t, c)
	case "process":
		return said(s.query.ProcessAllAvailable(t.Context()))
	case "await":
		return said(s.query.Await(t.Context()))
	case "stop":
		return said(s.query.Stop(t.Context()))
	case "sleep":
		d, err := time.ParseDuration(c.Args[0].Key)
		if err != nil {
			t.Fatalf("%s: %v", c.Where, err)
		}
		time.Sleep(d)
		synctest.Wait()
	default:
		return s.look(t, c)
	}
	return ""
}

func (s *script) setPlan(c testkit.Command) {
	scans := map[string]*plan.Scan{}
	var all []*plan.Scan
	for _, a := range c.Args {
		if scans[a.Key] == nil {
			scans[a.Key] = scanOf(a.Key)
		}
		if s.tapes[a.Key] == nil {
			s.tapes[a.Key] = &tape{}
		}
		all = append(all, scans[a.Key])
	}
	s.plan = unionOf(all...)
}

func (s *script) begin(t *testing.T, c testkit.Command) string {
	s.trigger, s.limit, s.name = Trigger{}, int64(c.Int(t, "limit", 0)), c.Arg("name", "")
	s.skips, s.logged, s.noPin = c.Has("skips"), c.Has("logged"), c.Has("nopin")
	switch text := c.Arg("trigger", ""); text {
	case "":
	case "availableNow":
		s.trigger.Kind = plan.AvailableNow
	case "once":
		s.trigger.Kind = plan.Once
	default:
		every, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %v", c.Where, err)
		}
		s.trigger.Every = every
	}
	for _, a := range c.Args {
		if strings.Contains(a.Key, ".") {
			s.conf[a.Key] = a.Value
		}
	}
	q, err := s.start()
	if err != nil {
		return said(err)
	}
	s.query = q
	synctest.Wait()
	return ""
}

func (s *script) look(t *testing.T, c testkit.Command) string {
	switch c.Name {
	case "status":
		status := s.query.Record().Snapshot().Status
		return fmt.Sprintf("%s data=%v trigger=%v",
			masked(status.Message), status.IsDataAvailable, status.IsTriggerActive)
	case "events", "json":
		var lines []string
		synctest.Wait()
		for _, e := range s.ear.take() {
			if c.Name == "json" {
				lines = append(lines, masked(e.JSON()))
				continue
			}
			lines = append(lines, short(e))
		}
		return strings.Join(lines, "\n")
	case "recent":
		var lines []string
		for _, p := range s.query.Record().Recent() {
			lines = append(lines, shortProgress(p))
		}
		return strings.Join(lines, "\n")
	case "explain":
		return s.query.Explain(false)
	case "error":
		if err := s.query.Err(); err != nil {
			return masked(err.Error() + s.query.Detail())
		}
		return "none"
	case "rows":
		var lines []string
		for _, batch := range contents(t, s.out()) {
			lines = append(lines, fmt.Sprint(batch))
		}
		return strings.Join(lines, "\n")
	}
	return s.touch(t, c)
}

func (s *script) touch(t *testing.T, c testkit.Command) string {
	switch c.Name {
	case "files":
		return strings.Join(tree(t, s.fs, checkpointDir), "\n")
	case "cat":
		return masked(s.file(path.Join(checkpointDir, c.Args[0].Key)))
	case "rm":
		if err := vfs.RemoveFile(s.fs, path.Join(checkpointDir, c.Args[0].Key)); err != nil {
			t.Fatalf("%s: %v", c.Where, err)
		}
	case "cp":
		to := path.Join(checkpointDir, c.Args[1].Key)
		data := s.file(path.Join(checkpointDir, c.Args[0].Key))
		if err := vfs.WriteReplace(s.fs, to, []byte(data)); err != nil {
			t.Fatalf("%s: %v", c.Where, err)
		}
		if err := vfs.RemoveChecksum(s.fs, to); err != nil {
			t.Fatalf("%s: %v", c.Where, err)
		}
	case "write":
		if err := vfs.WriteReplace(s.fs, path.Join(checkpointDir, c.Args[0].Key), []byte(c.Input)); err != nil {
			t.Fatalf("%s: %v", c.Where, err)
		}
	default:
		t.Fatalf("%s: unknown command %s", c.Where, c.Name)
	}
	return ""
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return masked(err.Error())
}

// short is an event with what a reader checks.
func short(e monitor.Event) string {
	switch e.Kind {
	case monitor.Progressed:
		return "progress " + shortProgress(e.Progress)
	case monitor.Terminated:
		if e.Failure != nil {
			return "terminated " + masked(e.Failure.Trace)
		}
	}
	return e.Kind.String()
}

func shortProgress(p *monitor.Progress) string {
	var b strings.Builder
	fmt.Fprintf(&b, "batch %d at %s", p.BatchID, p.Timestamp.UTC().Format("15:04:05.000"))
	for _, s := range p.Sources {
		fmt.Fprintf(&b, " [%s-%s %d rows]", s.StartOffset, s.EndOffset, s.NumInputRows)
	}
	fmt.Fprintf(&b, " out %d:", p.Sink.NumOutputRows)
	for phase := monitor.TriggerExecution; phase <= monitor.WalCommit; phase++ {
		if _, ok := p.Durations.Ms(phase); ok {
			b.WriteString(" " + phase.String())
		}
	}
	return b.String()
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func masked(text string) string { return uuids.ReplaceAllString(text, "<uuid>") }

// tree lists the files below a directory, without checksums.
func tree(t testing.TB, fsys vfs.FS, dir string) []string {
	t.Helper()
	infos, err := fsys.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, info := range infos {
		switch {
		case info.IsDir():
			for _, name := range tree(t, fsys, path.Join(dir, info.Name)) {
				out = append(out, path.Join(info.Name, name))
			}
		case !strings.HasSuffix(info.Name, ".crc"):
			out = append(out, info.Name)
		}
	}
	return out
}
