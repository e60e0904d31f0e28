package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/session"
	"github.com/weir-dev/weir/internal/ui"
	"github.com/weir-dev/weir/internal/vfs"
)

// The demonstration as users run it, on a clock of its own: within three minutes of
// trouble the fleet page names each query for what it is.
func TestTheFleetPageNamesEveryQueryOfTheDemonstration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := vfs.NewMemory()
		screen := newScreen(io.Discard)
		e, err := session.Open(session.Options{Dir: "/data", Files: files, Console: screen, Parallelism: 1,
			Confs: map[string]string{"spark.sql.shuffle.partitions": "2"}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		d := &lagDemo{engine: e, files: files, dir: "/arrivals", screen: screen, out: &out}
		took, err := d.run(t.Context(), true)
		if err != nil || took == 0 || took > lagNamedWithin {
			t.Errorf("%v, named after %s of trouble:\n%s", err, took, out.String())
		}
		for _, said := range []string{
			"clicks_capped is behind: Falling behind by ", "payments_burst is catching up: Catching up, ",
		} {
			_, text, ok := strings.Cut(out.String(), said)
			line, _, _ := strings.Cut(text, "\n")
			if !ok || !strings.HasSuffix(line, ". Read cap is the limit, not the engine.") {
				t.Errorf("%s%s", said, line)
			}
		}
		pages := ui.New(e.Monitor(), ui.Options{Now: time.Now})
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/", nil))
		for _, want := range []string{"3 of 5 queries need attention.", "Read cap is the limit, not the engine",
			"Catching up", "does not move in", "Watermark stuck: windows do not close"} {
			if !strings.Contains(strings.ReplaceAll(w.Body.String(), "\u00a0", " "), want) {
				t.Errorf("the fleet page lacks %q", want)
			}
		}
		w = httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/v1/fleet", nil))
		var fleet struct {
			Queries []struct{ Name, State string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &fleet); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"orders": "healthy", "clicks_capped": "behind", "payments_burst": "catchingUp",
			"audit_stalled_sink": "stalled", "sessions_stuck_watermark": "lagging"}
		for _, q := range fleet.Queries {
			if want[q.Name] != q.State {
				t.Errorf("%s is %s, want %s", q.Name, q.State, want[q.Name])
			}
			delete(want, q.Name)
		}
		if len(want) > 0 {
			t.Errorf("not there: %v", want)
		}
		t.Logf("\n%s", out.String())
		screen.goOn()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
