package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// upserted is a streaming query over the view "rows" of a Delta table, which is written
// by its groups.
type upserted struct {
	s     *Session
	query string
	parts []string
}

// sourceOfUpserts makes the table that is read, and the view.
func sourceOfUpserts(s *Session) error {
	ctx := context.Background()
	_, err := ask(s, "CREATE TABLE delta.`/here/src` (k STRING, v BIGINT, at TIMESTAMP) USING delta")
	if err != nil {
		return err
	}
	return viewOfUpserts(ctx, s)
}

func viewOfUpserts(ctx context.Context, s *Session) error {
	read := &plan.Read{Format: "delta", Streaming: true, Paths: []string{"/here/src"},
		Options: plan.Options{"maxFilesPerTrigger": "1"}}
	view := &plan.CreateView{Name: []string{"rows"}, Temporary: true, Replace: true, Query: read}
	_, err := s.Command(ctx, view)
	return err
}

func (u upserted) command(s *Session) (*plan.StartStream, error) {
	n, err := s.SQL(context.Background(), u.query, nil, nil, nil)
	return &plan.StartStream{
		Input: n, Format: "delta", Path: "/here/out", OutputMode: "update", Trigger: plan.AvailableNow,
		Partitions: u.parts,
		Options:    plan.Options{deltatable.UpsertOption: "true", "checkpointLocation": "/here/ck"},
	}, err
}

// run reads what there is.
func (u upserted) run() error {
	c, err := u.command(u.s)
	if err != nil {
		return err
	}
	q, err := u.s.StartStream(context.Background(), c, nil, "")
	if err != nil {
		return err
	}
	return q.Await(context.Background())
}

const sums = "SELECT k, count(*) AS n, sum(v) AS total FROM rows GROUP BY k"

// Behind each run the table has what a batch query says of all rows, though another
// writer arranges its files anew.
func TestUpsertsKeepTheTableUpToDate(t *testing.T) {
	queries := []string{
		sums,
		"SELECT total, key AS k2 FROM (SELECT upper(k) AS key, max(v) AS total FROM rows GROUP BY upper(k)) " +
			"WHERE total > -9",
		"SELECT window.start AS begin, k, count(v) AS n FROM rows GROUP BY window(at, '10 minutes'), k",
		"SELECT window, min(k) AS k FROM rows GROUP BY window(at, '10 minutes', '5 minutes')",
	}
	rapid.Check(t, func(rt *rapid.T) {
		e, err := Open(testOptions(vfs.NewMemory()))
		if err != nil {
			rt.Fatal(err)
		}
		defer e.Close(t.Context())
		s := e.NewSession("u", "a")
		if err := sourceOfUpserts(s); err != nil {
			rt.Fatal(err)
		}
		u := upserted{s: s, query: rapid.SampledFrom(queries).Draw(rt, "query")}
		for range rapid.IntRange(1, 3).Draw(rt, "runs") {
			for _, rows := range rapid.SliceOfN(rapid.SliceOfN(genRow(), 1, 3), 1, 3).Draw(rt, "inserts") {
				texts := make([]string, len(rows))
				for i, r := range rows {
					texts[i] = fmt.Sprintf("(%s, %s, timestamp_seconds(%s * 100))", textOf(r.k), textOf(r.v),
						textOf(r.id))
				}
				if _, err := ask(s, "INSERT INTO delta.`/here/src` VALUES "+strings.Join(texts, ", ")); err != nil {
					rt.Fatal(err)
				}
			}
			if err := u.run(); err != nil {
				rt.Fatal(err)
			}
			want, err := ask(s, strings.Replace(u.query, "rows", "delta.`/here/src`", 1)+" ORDER BY ALL")
			if err != nil {
				rt.Fatal(err)
			}
			got, err := ask(s, "SELECT * FROM delta.`/here/out` ORDER BY ALL")
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("%s (-batch +table):\n%s", u.query, diff)
			}
			if rapid.Bool().Draw(rt, "optimize") {
				if _, err := ask(s, "OPTIMIZE delta.`/here/out`"); err != nil {
					rt.Fatal(err)
				}
			}
		}
	})
}

// Whatever operation the power fails at, the table has the groups as they were behind
// some batch, and the next run brings it up to date.
func TestUpsertsSurviveAPowerLoss(t *testing.T) {
	inserts := []string{"('a', 1, NULL), ('b', 2, NULL)", "('b', 3, NULL), (NULL, 4, NULL)", "('a', 5, NULL)"}
	states := []string{
		"", `["a",1,1]["b",1,2]`, `[null,1,4]["a",1,1]["b",2,5]`, `[null,1,4]["a",2,6]["b",2,5]`,
	}
	const table = "SELECT * FROM delta.`/here/out` ORDER BY k"
	testkit.CrashDisk(t, testkit.DiskProgram{
		Run: func(disk *vfs.Crashable) error {
			e, err := Open(testOptions(disk))
			if err != nil {
				return err
			}
			s := e.NewSession("u", "a")
			err = sourceOfUpserts(s)
			for _, rows := range inserts {
				if err == nil {
					_, err = ask(s, "INSERT INTO delta.`/here/src` VALUES "+rows)
				}
				if err == nil {
					err = upserted{s: s, query: sums}.run()
				}
			}
			return errors.Join(err, e.Close(t.Context()))
		},
		Check: func(t *testing.T, disk *vfs.Crashable) {
			s := openEngine(t, disk).NewSession("u", "a")
			src, err := ask(s, "SELECT count(*) FROM delta.`/here/src`")
			if err != nil || src[0] == "[0]" {
				return // the program had not come so far
			}
			rows, _ := ask(s, table)
			if got := strings.Join(rows, ""); !strings.Contains(strings.Join(states, "\n"), got) {
				t.Errorf("found %s", got)
			}
			err = viewOfUpserts(t.Context(), s)
			if err == nil {
				err = upserted{s: s, query: sums}.run()
			}
			if err != nil {
				t.Fatal(err)
			}
			must := map[string]string{"[2]": states[1], "[4]": states[2], "[5]": states[3]}[src[0]]
			rows, err = ask(s, table)
			if got := strings.Join(rows, ""); err != nil || got != must {
				t.Errorf("behind the next run: %s, %v, want %s", got, err, must)
			}
		},
		Points: 60,
	})
}

func TestUpsertsThatCannotBeAreRefused(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "a")
	if err := sourceOfUpserts(s); err != nil {
		t.Fatal(err)
	}
	for query, c := range map[string]struct {
		mode, want string
	}{
		sums + " ": {"complete", "is for the output mode update"},
		"SELECT count(*) AS n, sum(v) AS total FROM rows GROUP BY k": {"update", "there is no k"},
		"SELECT count(*) AS n FROM rows":                             {"update", "needs a grouping column"},
		"SELECT k FROM rows":                                         {"update", "rows are not the groups"},
		"SELECT window.end, count(*) AS n FROM rows GROUP BY window(at, '10 minutes')": {
			"update", "there is no window"},
		"SELECT explode(array(1, 2)) AS x, k FROM (SELECT k FROM rows GROUP BY k)": {
			"update", "rows are not the groups"},
	} {
		start, err := upserted{query: query}.command(s)
		if err != nil {
			t.Fatal(err)
		}
		start.OutputMode = c.mode
		_, err = s.StartStream(t.Context(), start, nil, "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", query, err, c.want)
		}
	}
}
