package eventlog

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/vfs"
)

// batchTap writes down which batches were told.
type batchTap struct {
	mu   sync.Mutex
	told []string
}

func (b *batchTap) Started(*monitor.Query)   {}
func (b *batchTap) Ended(*monitor.Query)     {}
func (b *batchTap) Dismissed(*monitor.Query) {}
func (b *batchTap) Described(*monitor.Query) {}

func (b *batchTap) Committed(_ *monitor.Query, p *monitor.Progress, _ *health.Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, fmt.Sprint(p.BatchID))
}

func (b *batchTap) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.Join(b.told, " ")
	b.told = nil
	return text
}

// process is a fleet until it is closed.
type process struct {
	*Fleet
	registry *monitor.Registry
	tap      *batchTap
}

func follow(t *testing.T, fsys vfs.FS, at map[string]Position) *process {
	t.Helper()
	p := &process{registry: monitor.NewRegistry(), tap: &batchTap{}}
	p.registry.Follow(p.tap)
	var err error
	p.Fleet, err = Follow(Options{Registry: p.registry, Files: fsys, Dirs: []string{"/logs"},
		Log: slog.New(slog.DiscardHandler), Positions: at})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second) // in a bubble
	return p
}

// positions go through JSON, as between two processes.
func (p *process) positions(t *testing.T) (out map[string]Position) {
	t.Helper()
	data, err := json.Marshal(p.Positions())
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func batches(from, to int64) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(kafkaBatch("a", i, began.Add(time.Duration(i)*time.Second), [3]int64{i, i + 1, i + 1}))
	}
	return b.String()
}

const appStart = `{"Event":"SparkListenerLogStart","Spark Version":"4.3.0"}` + "\n" +
	`{"Event":"SparkListenerApplicationStart","App Name":"shop","App ID":"app"}` + "\n"

// A process goes on where the one before it was: nothing is told twice, nothing is left
// out, and what the application was is still known.
func TestReadingGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewMemory()
		put(t, fsys, "/logs/app.inprogress", []byte(appStart+started("a")+batches(0, 3)+batches(3, 4)[:100]))
		first := follow(t, fsys, nil)
		if got := first.tap.take(); got != "0 1 2" {
			t.Errorf("at first %s", got)
		}
		at := first.positions(t)
		first.Close()
		put(t, fsys, "/logs/app.inprogress", []byte(batches(3, 4)[100:]+batches(4, 6)))
		second := follow(t, fsys, at)
		if got := second.tap.take(); got != "3 4 5" {
			t.Errorf("after the restart %s", got)
		}
		q := second.registry.Find("a").Snapshot()
		if q.Application != "shop" || q.Engine != "Spark 4.3.0" || q.Name != "na" || !q.StartedAt.Equal(began) {
			t.Errorf("%+v", q.Run)
		}
		put(t, fsys, "/logs/app.inprogress", []byte(`{"Event":"SparkListenerApplicationEnd"}`+"\n"))
		if err := fsys.Rename("/logs/app.inprogress", "/logs/app"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if second.registry.Find("a").State() != monitor.Stopped {
			t.Error("the end was not read")
		}
		at = second.positions(t)
		second.Close()
		third := follow(t, fsys, at)
		if got := third.tap.take(); got != "" || len(third.registry.Runs()) != 0 {
			t.Errorf("a log that is over was read again: %q, %d runs", got, len(third.registry.Runs()))
		}
		third.Close()
	})
}

// Of a rolling log the parts before the position are not opened, and the part of the
// position is found in the middle of its compression.
func TestARollingLogGoesOnInItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const dir = "/logs/eventlog_v2_app"
		packed := func(text string) []byte {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			return w.EncodeAll([]byte(text), nil)
		}
		fsys := vfs.NewMemory()
		put(t, fsys, dir+"/appstatus_app.inprogress", nil)
		put(t, fsys, dir+"/events_1_app.zstd", packed(appStart+started("a")+batches(0, 2)))
		put(t, fsys, dir+"/events_2_app.zstd", packed(batches(2, 4)))
		first := follow(t, fsys, nil)
		at := first.positions(t)
		if got := first.tap.take(); got != "0 1 2 3" || at[dir].Part != "events_2_app.zstd" {
			t.Errorf("at first %s, %+v", got, at[dir])
		}
		first.Close()
		if err := fsys.Remove(dir + "/events_1_app.zstd"); err != nil {
			t.Fatal(err)
		}
		put(t, fsys, dir+"/events_2_app.zstd", packed(batches(4, 5)))
		put(t, fsys, dir+"/events_3_app.zstd", packed(batches(5, 6)))
		second := follow(t, fsys, at)
		if got := second.tap.take(); got != "4 5" {
			t.Errorf("after the restart %s", got)
		}
		second.Close()
		// Spark compacts the parts meanwhile: what the compacted one has is read, without
		// what was told.
		at = second.positions(t)
		for _, part := range []string{"/events_2_app.zstd", "/events_3_app.zstd"} {
			if err := fsys.Remove(dir + part); err != nil {
				t.Fatal(err)
			}
		}
		put(t, fsys, dir+"/events_3_app.zstd.compact", packed(started("a")+batches(3, 6)))
		put(t, fsys, dir+"/events_4_app.zstd", packed(batches(6, 7)))
		third := follow(t, fsys, at)
		if got := third.tap.take(); got != "6" {
			t.Errorf("after the compaction %s", got)
		}
		third.Close()
	})
}

// A log that was cut off, or whose name another file has, is noticed and read anew: while
// it is read and at a restart.
func TestAReplacedLogIsNoticed(t *testing.T) {
	other := strings.ReplaceAll(started("a")+batches(0, 2), `"ra"`, `"another run"`)
	for _, restarted := range []bool{false, true} {
		for name, replace := range map[string]func(t *testing.T, fsys vfs.FS){
			"truncated": func(t *testing.T, fsys vfs.FS) {
				if _, err := fsys.Create("/logs/app.inprogress"); err != nil {
					t.Fatal(err)
				}
				put(t, fsys, "/logs/app.inprogress", []byte(other))
			},
			"replaced by a longer one": func(t *testing.T, fsys vfs.FS) {
				put(t, fsys, "/logs/.new", []byte(other+strings.Repeat(" \n", 5000)))
				if err := fsys.Rename("/logs/.new", "/logs/app.inprogress"); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(fmt.Sprint(name, restarted), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { readReplaced(t, replace, restarted) })
			})
		}
	}
}

// readReplaced reads a log that becomes another one, while it is read or before a restart.
func readReplaced(t *testing.T, replace func(*testing.T, vfs.FS), restarted bool) {
	fsys := vfs.NewMemory()
	put(t, fsys, "/logs/app.inprogress", []byte(appStart+started("a")+batches(0, 9)))
	p := follow(t, fsys, nil)
	p.tap.take()
	if restarted {
		at := p.positions(t)
		p.Close()
		replace(t, fsys)
		p = follow(t, fsys, at)
	} else {
		replace(t, fsys)
		time.Sleep(10 * time.Second)
	}
	defer p.Close()
	if got := p.tap.take(); got != "0 1" {
		t.Errorf("of the other log %q was read", got)
	}
	old := p.registry.Find("ra")
	if old == nil || old.Snapshot().EndReason != "its event log was truncated or replaced" {
		t.Errorf("the query of the log before: %+v", old)
	}
}
