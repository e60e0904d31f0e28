//go:build takeover

package takeover

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// batches lists the batch ids of a log, ascending, the compacted ones included.
func batches(t *testing.T, dir string) []int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".compact")); err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// entries are the lines of a log's file below its version.
func entries[T any](t *testing.T, dir string, id int) []T {
	t.Helper()
	name := filepath.Join(dir, strconv.Itoa(id))
	if (id+1)%10 == 0 {
		name += ".compact"
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if lines[0] != "v1" {
		t.Fatalf("%s begins with %q", name, lines[0])
	}
	var out []T
	for _, line := range lines[1:] {
		var e T
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, e)
	}
	return out
}

// checkLogs looks at the checkpoint and the sink's log after a leg that ended by
// itself: nothing is unfinished and nothing has a gap. The source's log has an
// entry for each file. A crash before offsets/N leaves it one ahead, and the
// next batch then has two of its entries, on both engines.
func (w *work) checkLogs(t *testing.T, after string) {
	t.Helper()
	source := filepath.Join(w.checkpoint, "sources", "0")
	if got := batches(t, source); !slices.Equal(got, upTo(w.files)) {
		t.Fatalf("after %s the source's log has entries %v, want 0 to %d", after, got, w.files-1)
	}
	sink := filepath.Join(w.out, "_spark_metadata")
	offsets := batches(t, filepath.Join(w.checkpoint, "offsets"))
	commits := batches(t, filepath.Join(w.checkpoint, "commits"))
	written := batches(t, sink)
	want := upTo(len(offsets))
	if !slices.Equal(offsets, want) || !slices.Equal(commits, want) || !slices.Equal(written, want) {
		t.Fatalf("after %s there are offsets %v, commits %v, batches of the sink %v", after, offsets, commits, written)
	}
	w.checkSource(t, after, source)
	checkSink(t, after, sink, written)
}

// upTo are the batch ids of n batches.
func upTo(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// checkSource wants every input file once, under the batch that read it.
func (w *work) checkSource(t *testing.T, after, dir string) {
	t.Helper()
	type seen struct {
		Path    string
		BatchID int
	}
	last := map[string]int{}
	for id := range w.files {
		for _, e := range entries[seen](t, dir, id) {
			path, err := url.PathUnescape(strings.TrimPrefix(e.Path, "file://"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("after %s the source's log names %s: %v", after, e.Path, err)
			}
			if before, ok := last[path]; ok && before != e.BatchID {
				t.Errorf("after %s %s belongs to batches %d and %d", after, e.Path, before, e.BatchID)
			}
			last[path] = e.BatchID
		}
	}
	if len(last) != w.files {
		t.Errorf("after %s the source's log names %d files of %d", after, len(last), w.files)
	}
}

// checkSink wants a compaction to hold all entries before it, whoever wrote them.
func checkSink(t *testing.T, after, dir string, ids []int) {
	t.Helper()
	type added struct {
		Path, Action string
		Size         int64
	}
	var all []added
	for _, id := range ids {
		lines := entries[added](t, dir, id)
		if (id+1)%10 != 0 {
			all = append(all, lines...)
			continue
		}
		if len(lines) < len(all) || !slices.Equal(lines[:len(all)], all) {
			t.Errorf("after %s %d.compact does not go on with the %d entries before it", after, id, len(all))
		}
		all = lines
	}
	for _, e := range all {
		info, err := os.Stat(strings.TrimPrefix(e.Path, "file://"))
		if err != nil || info.Size() != e.Size || e.Action != "add" {
			t.Errorf("after %s _spark_metadata says %+v of a file that is not so: %v", after, e, err)
		}
	}
}

// queryID is the id in the checkpoint's metadata.
func (w *work) queryID(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.checkpoint, "metadata"))
	if err != nil {
		t.Fatal(err)
	}
	var meta struct{ ID string }
	if err := json.Unmarshal(text, &meta); err != nil {
		t.Fatal(err)
	}
	return meta.ID
}
