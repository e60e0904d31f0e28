package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// Statements that get in each other's way say so, and those that do not lose
// nothing: every increment counts once.
func TestStatementsAtTheSameTimeLoseNothing(t *testing.T) {
	e := openEngine(t, vfs.NewMemory())
	must(t, e.NewSession("u", "a"), "USE main", "CREATE TABLE t (id BIGINT, v BIGINT)",
		"INSERT INTO t VALUES (1, 0), (2, 0)")
	const writers, rounds = 4, 5
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		s := e.NewSession("u", fmt.Sprint("w", w))
		text := "UPDATE t SET v = v + 1 WHERE id = 1"
		switch w {
		case 0:
			text = "OPTIMIZE t"
		case 2:
			text = "MERGE INTO t USING (SELECT 1L id UNION ALL SELECT 3L) s ON t.id = s.id " +
				"WHEN MATCHED AND t.id = 1 THEN UPDATE SET v = t.v + 1 WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 0)"
		}
		wg.Go(func() {
			_, errs[w] = ask(s, "USE main")
			for n := 0; n < rounds && errs[w] == nil; {
				_, err := ask(s, text)
				var e *plan.Error
				switch {
				case err == nil:
					n++
				case !errors.As(err, &e) || !strings.HasPrefix(e.Condition, "DELTA_CONCURRENT_"):
					errs[w] = err
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	s := e.NewSession("u", "b")
	must(t, s, "USE main")
	want := []string{fmt.Sprintf("[1,%d]", (writers-1)*rounds), "[2,0]", "[3,0]"}
	if diff := cmp.Diff(want, must(t, s, "SELECT * FROM t ORDER BY id")); diff != "" {
		t.Error(diff)
	}
}

// changedTables are tables whose rows statements changed, with what every reader
// must find.
var changedTables = map[string]struct {
	statements []string
	want       []string
}{
	"plain": {[]string{
		"CREATE TABLE T (id BIGINT, k STRING, v DOUBLE)",
		"INSERT INTO T VALUES (1, 'a', 1.5D), (2, NULL, 2.5D), (3, 'c', NULL)", "INSERT INTO T VALUES (4, 'd', 4.5D)",
		"DELETE FROM T WHERE id = 2", "UPDATE T SET v = v + 1, k = concat(k, '!') WHERE id >= 3",
		"MERGE INTO T USING (SELECT 1L id, 'merged' k, 0.25D v UNION ALL SELECT 9L, 'new', 9D) s ON T.id = s.id " +
			"WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
		"OPTIMIZE T ZORDER BY (id, v)",
	}, []string{"1|merged|0.25", "3|c!|None", "4|d!|5.5", "9|new|9.0"}},
	"parts": {[]string{
		"CREATE TABLE T (id BIGINT, k STRING) PARTITIONED BY (k) " +
			"TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
		"INSERT INTO T VALUES (1, 'a b'), (2, 'x/y'), (3, NULL), (4, 'gone')",
		"UPDATE T SET k = 'ü=%' WHERE id = 1", "DELETE FROM T WHERE k = 'gone'",
		"UPDATE T SET id = id + 10 WHERE k IS NULL", "OPTIMIZE T",
		"MERGE INTO T USING (SELECT 2L id) s ON T.id = s.id WHEN MATCHED THEN UPDATE SET k = 'moved' " +
			"WHEN NOT MATCHED BY SOURCE AND T.id = 1 THEN UPDATE SET id = 100",
	}, []string{"100|ü=%", "13|None", "2|moved"}},
	"wider": {[]string{
		"CREATE TABLE T (id BIGINT, s STRUCT<a: INT, b: STRING>)",
		"INSERT INTO T VALUES (1, named_struct('a', 1, 'b', 'x')), (2, NULL)",
		"UPDATE T SET s.a = 7 WHERE id = 1",
		"MERGE WITH SCHEMA EVOLUTION INTO T USING (SELECT 3L id, CAST(NULL AS STRUCT<a: INT, b: STRING>) s, " +
			"DATE '2024-02-29' day) s ON T.id = s.id WHEN NOT MATCHED THEN INSERT *",
	}, []string{"1|{a=7,b=x}|None", "2|None|None", "3|None|2024-02-29"}},
}

func TestForeignReadersFindWhatStatementsLeft(t *testing.T) {
	python := testkit.Python(t)
	dir := t.TempDir()
	o := testOptions(vfs.NewLocal())
	o.Dir, o.WorkDir = filepath.Join(dir, "data"), dir
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	s := e.NewSession("u", "a")
	must(t, s, "USE main")
	args := []string{"../delta/testdata/foreign.py"}
	for name, table := range changedTables {
		for _, text := range table.statements {
			must(t, s, strings.NewReplacer("TABLE T ", "TABLE "+name+" ", "INTO T ", "INTO "+name+" ",
				"FROM T ", "FROM "+name+" ", "OPTIMIZE T", "OPTIMIZE "+name, "UPDATE T ", "UPDATE "+name+" ", "T.id", name+".id").Replace(text))
		}
		found, err := s.table([]string{name}, "SELECT")
		if err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(dir, name)
		if err := os.Symlink(found.Location, link); err != nil {
			t.Fatal(err)
		}
		args = append(args, link)
	}
	out, err := exec.CommandContext(t.Context(), python, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]int{}
	for line := range strings.Lines(string(out)) {
		var got struct {
			Reader, Table string
			Rows          []string
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		readers[got.Reader]++
		slices.Sort(got.Rows)
		if diff := cmp.Diff(changedTables[got.Table].want, got.Rows); diff != "" {
			t.Errorf("%s reads %s (-want +got):\n%s", got.Reader, got.Table, diff)
		}
	}
	testkit.Need(t, readers["delta-rs"] > 0, "the Python package deltalake")
	t.Logf("read by %v", readers)
}

// Whatever operation the power fails at, the table has the rows of before a
// statement or of behind it.
func TestStatementsSurviveAPowerLoss(t *testing.T) {
	statements := []string{
		"USE main", "CREATE TABLE t (id BIGINT, v BIGINT) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
		"INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", "DELETE FROM t WHERE id = 1", "UPDATE t SET v = 20 WHERE id = 2",
		"MERGE INTO t USING (SELECT 3L id UNION ALL SELECT 4L) s ON t.id = s.id WHEN MATCHED THEN DELETE " +
			"WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 40)",
		"OPTIMIZE t",
		"SET " + retentionCheckKey + " = false", "VACUUM t RETAIN 0 HOURS",
		"INSERT INTO t VALUES (5, 50)", "RESTORE TABLE t TO VERSION AS OF 5", "TRUNCATE TABLE t",
	}
	const merged = "[2,20][4,40]"
	states := []string{"", "", "", "[1,1][2,2][3,3]", "[2,2][3,3]", "[2,20][3,3]", merged, merged, merged,
		merged, merged + "[5,50]", merged, ""}
	var done int
	testkit.CrashDisk(t, testkit.DiskProgram{
		Run: func(disk *vfs.Crashable) error {
			done = 0
			e, err := Open(testOptions(disk))
			if err != nil {
				return err
			}
			s := e.NewSession("u", "a")
			for _, text := range statements {
				if _, err = ask(s, text); err != nil {
					break
				}
				done++
			}
			return errors.Join(err, e.Close(t.Context()))
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			s := openEngine(t, disk).NewSession("u", "a")
			must(t, s, "USE main")
			rows, err := ask(s, "SELECT * FROM t ORDER BY id")
			if err != nil && done < 2 {
				return // the table need not be there
			}
			got := strings.Join(rows, "")
			if err != nil || got != states[done] && got != states[min(done+1, len(statements))] {
				t.Errorf("after %d statements: %s, %v", done, got, err)
			}
		},
		Points: 70,
	})
}
