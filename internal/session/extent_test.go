package session

import (
	"path"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/vfs"
)

// A MERGE does not open files whose keys lie beyond those of its source: here they are
// not there any more.
func TestMergeReadsOnlyFilesThatMayMatch(t *testing.T) {
	for name, c := range map[string]struct {
		on   string
		fine bool
	}{
		"number":          {"t.id = s.id", true},
		"text":            {"t.k = s.k", true},
		"day":             {"t.day = s.day", true},
		"null-safe":       {"t.id <=> s.id", true},
		"null-safe NULL":  {"t.id <=> s.none", false},
		"NULL":            {"t.id = s.none", true},
		"no equality":     {"t.id > s.id", false},
		"one of several":  {"t.id = s.id AND t.k <> s.k", true},
		"beside the keys": {"t.id + 0 = s.id", false},
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMemory()
			s := openEngine(t, disk).NewSession("u", "a")
			must(t, s, "USE main", "CREATE TABLE t (id BIGINT, k STRING, day DATE)",
				"INSERT INTO t VALUES (1, 'a', DATE '2024-01-01'), (9, 'c', DATE '2024-01-09')")
			gone := onlyFile(t, s, disk)
			must(t, s, "INSERT INTO t VALUES (11, 'p', DATE '2024-02-01'), (19, 'q', DATE '2024-02-09')")
			if err := disk.Remove(gone); err != nil {
				t.Fatal(err)
			}
			_, err := ask(s, "MERGE INTO t USING (SELECT 11L id, 'p' k, DATE '2024-02-01' day, CAST(NULL AS BIGINT) none "+
				"UNION ALL SELECT 30L, 'z', DATE '2024-03-01', NULL) s ON "+c.on+
				" WHEN MATCHED THEN UPDATE SET k = 'new' WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
			switch {
			case c.fine && err != nil:
				t.Error(err)
			case !c.fine && (err == nil || !strings.Contains(err.Error(), path.Base(gone))):
				t.Errorf("got %v, want the file that is gone", err)
			}
		})
	}
}

// A query does not open files that have no row for its conditions, by their statistics
// or by their partition: here they are not there any more.
func TestQueriesReadOnlyFilesThatMayMatch(t *testing.T) {
	for name, c := range map[string]struct {
		where string
		fine  bool
	}{
		"number":           {"id > 10", true},
		"both sides":       {"id > 0", false},
		"text":             {"k = 'p'", true},
		"day":              {"day BETWEEN DATE '2024-02-01' AND DATE '2024-02-03'", true},
		"list":             {"id IN (11, 12)", true},
		"NULL":             {"id IS NULL", true},
		"one of two":       {"id > 10 OR k = 'a'", false},
		"partition":        {"p = 2", true},
		"other partition":  {"p < 2", false},
		"all":              {"true", false},
		"column in a call": {"id + 0 > 10", false},
	} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewMemory()
			s := openEngine(t, disk).NewSession("u", "a")
			must(t, s, "USE main", "CREATE TABLE t (id BIGINT, k STRING, day DATE, p INT) PARTITIONED BY (p)",
				"INSERT INTO t VALUES (1, 'a', DATE '2024-01-01', 1), (9, 'c', DATE '2024-01-09', 1)")
			gone := onlyFile(t, s, disk)
			must(t, s, "INSERT INTO t VALUES (11, 'p', DATE '2024-02-01', 2), (19, 'q', DATE '2024-02-09', 2)")
			if err := disk.Remove(gone); err != nil {
				t.Fatal(err)
			}
			_, err := ask(s, "SELECT * FROM t WHERE "+c.where)
			switch {
			case c.fine && err != nil:
				t.Error(err)
			case !c.fine && (err == nil || !strings.Contains(err.Error(), path.Base(gone))):
				t.Errorf("got %v, want the file that is gone", err)
			}
		})
	}
}

// onlyFile is the only data file of the table t.
func onlyFile(t *testing.T, s *Session, disk vfs.FS) string {
	t.Helper()
	found, err := s.table([]string{"t"}, "SELECT")
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := delta.Table{FS: disk, Dir: found.Location}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path.Join(found.Location, snapshot.Files()[0].Path)
}
