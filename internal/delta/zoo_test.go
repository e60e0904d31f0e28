package delta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// zooTable is what Spark says of a table that it made.
type zooTable struct {
	Schema   json.RawMessage
	Latest   []string
	Versions map[string]json.RawMessage // "latest", rows, or an object that says why there are none
}

// zooTables are the tables of both zoos by their folder: zoo, and morezoo with what
// morezoo.py says.
func zooTables(t *testing.T) map[string]zooTable {
	t.Helper()
	all := map[string]zooTable{}
	for _, zoo := range []string{"zoo", "morezoo"} {
		data, err := os.ReadFile("testdata/" + zoo + ".json")
		must(t, err)
		var recorded struct{ Tables map[string]zooTable }
		must(t, json.Unmarshal(data, &recorded))
		for name, table := range recorded.Tables {
			all[zoo+"/"+name] = table
		}
	}
	return all
}

func openZoo(t *testing.T, name string) Table {
	t.Helper()
	dir, err := filepath.Abs("testdata/" + name)
	must(t, err)
	return Table{vfs.NewLocal(), dir}
}

func TestTablesOfDeltaLakeAreReadAtEveryVersion(t *testing.T) {
	for name, want := range zooTables(t) {
		t.Run(name, func(t *testing.T) {
			table := openZoo(t, name)
			s, err := table.Load(t.Context())
			must(t, err)
			schema, err := plan.ParseTypeJSON(string(want.Schema))
			must(t, err)
			if got := Visible(s.Schema); !got.Equal(schema) {
				t.Errorf("schema %s, want %s", got.JSON(), schema.JSON())
			}
			slices.Sort(want.Latest)
			testkit.Diff(t, "rows", jsonRows(t, s), want.Latest)
			for text, rows := range want.Versions {
				version, err := strconv.ParseInt(text, 10, 64)
				must(t, err)
				s, err := table.LoadVersion(t.Context(), version)
				must(t, err)
				wantVersion(t, s, rows, want.Latest)
			}
		})
	}
}

func wantVersion(t *testing.T, s *Snapshot, recorded json.RawMessage, latest []string) {
	t.Helper()
	rows := latest
	switch recorded[0] {
	case '{':
		err := readAll(s)
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != "FAILED_READ_FILE.FILE_NOT_EXIST" {
			t.Errorf("version %d: got %v, want that a file is gone", s.Version, err)
		}
		return
	case '[':
		rows = nil
		must(t, json.Unmarshal(recorded, &rows))
		slices.Sort(rows)
	}
	testkit.Diff(t, fmt.Sprintf("rows of version %d", s.Version), jsonRows(t, s), append([]string{}, rows...))
}

// readAll reads every row and forgets it.
func readAll(s *Snapshot) error {
	for _, err := range s.Read(context.Background(), []string{s.Schema.Fields[0].Name}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestCommitsSayTheirTimes(t *testing.T) {
	first, times, err := openZoo(t, "zoo/in_commit_timestamps").Times()
	must(t, err)
	testkit.Diff(t, "times", times, []int64{1796031348862, 1796031349639, 1796031350732, 1796031351375})
	if first != 0 {
		t.Errorf("from version %d on, want 0", first)
	}
}

// jsonRows are the rows as Spark's to_json prints them, NULLs kept, sorted.
func jsonRows(t *testing.T, s *Snapshot) []string {
	t.Helper()
	w, err := codec.NewJSONWriter(s.Schema, codec.JSONOptions{KeepNulls: true, Zone: time.UTC})
	must(t, err)
	var names []string
	for _, f := range s.Schema.Fields {
		names = append(names, f.Name)
	}
	rows := []string{}
	for c, err := range s.Read(t.Context(), names) {
		must(t, err)
		for i := range c.Rows {
			text, err := w.AppendRow(nil, c.Cols, i)
			must(t, err)
			rows = append(rows, string(text))
		}
	}
	slices.Sort(rows)
	return rows
}
