package delta

import (
	"bytes"
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

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// zooTable is what Spark says of a table that it made.
type zooTable struct {
	Schema   json.RawMessage
	Latest   []string
	Changes  []json.RawMessage          // of the change feed, without times
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

// feedFrom is the first version, and the one behind the last, whose changes Spark was
// asked for.
var feedFrom = map[string][2]int64{"zoo/change_feed": {0, 6}, "morezoo/mapped_vectors": {3, 6}}

func TestChangesOfDeltaLakeAreRead(t *testing.T) {
	for name, want := range zooTables(t) {
		versions, ok := feedFrom[name]
		if ok != (len(want.Changes) > 0) {
			t.Errorf("%s: %d changes and no versions for them", name, len(want.Changes))
		}
		if !ok {
			continue
		}
		s, err := openZoo(t, name).Load(t.Context())
		must(t, err)
		schema := plan.Struct(append(slices.Clone(Visible(s.Schema).Fields), FeedColumns[:2]...)...)
		got := []string{}
		for v := versions[0]; v < versions[1]; v++ {
			feed, err := s.FeedOf(v)
			must(t, err)
			for _, piece := range feed.Pieces {
				for _, f := range piece {
					got = append(got, jsonOf(t, schema, s.ReadFeed(t.Context(), f, columnNames(schema), time.Time{}))...)
				}
			}
		}
		slices.Sort(got)
		testkit.Diff(t, name, got, changeTexts(t, want.Changes))
	}
}

// changeTexts are changes as JSON in the order of the columns: recorded as texts or as
// objects, which have Python's blanks.
func changeTexts(t *testing.T, changes []json.RawMessage) []string {
	t.Helper()
	var out []string
	for _, c := range changes {
		var text string
		if json.Unmarshal(c, &text) != nil {
			var compact bytes.Buffer
			must(t, json.Compact(&compact, c))
			text = compact.String()
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func columnNames(schema plan.Type) []string {
	var names []string
	for _, f := range schema.Fields {
		names = append(names, f.Name)
	}
	return names
}

// jsonRows are the rows as Spark's to_json prints them, NULLs kept, sorted.
func jsonRows(t *testing.T, s *Snapshot) []string {
	t.Helper()
	rows := jsonOf(t, s.Schema, s.Read(t.Context(), columnNames(s.Schema)))
	slices.Sort(rows)
	return rows
}

func jsonOf(t *testing.T, schema plan.Type, rows chunk.Rows) []string {
	t.Helper()
	w, err := codec.NewJSONWriter(schema, codec.JSONOptions{KeepNulls: true, Zone: time.UTC})
	must(t, err)
	out := []string{}
	for c, err := range rows {
		must(t, err)
		for i := range c.Rows {
			text, err := w.AppendRow(nil, c.Cols, i)
			must(t, err)
			out = append(out, string(text))
		}
	}
	return out
}
