package crash

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// CK-02 of test/oracle/reports.tsv: a server stands still while another one goes on
// with its query. When it moves again it must not write over what was done since.
func TestReportCK02(t *testing.T) {
	c := startClient(t)
	w := newStateful(t, c, "windows")
	w.feed(t, beforehand)
	first := w.serve(t)
	number, err := w.start(first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call[string](c, "process", arguments{Query: number}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.dir = filepath.Join(t.TempDir(), "other")
	w.feed(t, 2)
	second := w.serve(t)
	later, err := w.start(second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call[string](c, "process", arguments{Query: later}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(first.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.feed(t, 1)
	_, err = call[string](c, "drain", arguments{Query: number})
	if err == nil || !strings.Contains(err.Error(), "STREAM_FAILED") {
		t.Errorf("the earlier query: %v", err)
	}
	if _, err := call[string](c, "process", arguments{Query: later}); err != nil {
		t.Fatal(err)
	}
	w.closing(t)
	if _, err := call[string](c, "drain", arguments{Query: later}); err != nil {
		t.Fatal(err)
	}
	second.Stop(t)
	w.check(t, true)
}
