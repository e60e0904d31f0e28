package delta

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// refusedTables are those of the zoo that use what is not supported, with the
// feature that the refusal must name.
var refusedTables = map[string]string{
	"deletion_vectors": "deletionVectors", "mapping_id": "columnMapping", "mapping_name": "columnMapping",
}

// The tables below testdata/zoo were made by Spark with Delta, and zoo.json has
// the rows that Spark reads from them.
func TestTablesOfDeltaLakeAreReadOrRefusedByName(t *testing.T) {
	data, err := os.ReadFile("testdata/zoo.json")
	must(t, err)
	var zoo struct {
		Tables map[string]struct {
			Schema json.RawMessage
			Latest []string
		}
	}
	must(t, json.Unmarshal(data, &zoo))
	for name, want := range zoo.Tables {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs("testdata/zoo/" + name)
			must(t, err)
			s, err := Table{vfs.NewLocal(), dir}.Load(t.Context())
			if feature := refusedTables[name]; feature != "" {
				var e *plan.Error
				if !errors.As(err, &e) || !strings.Contains(e.Args["unsupported"], feature) {
					t.Errorf("got %v, want a refusal of %s", err, feature)
				}
				return
			}
			must(t, err)
			schema, err := plan.ParseTypeJSON(string(want.Schema))
			must(t, err)
			if !s.Schema.EqualIgnoringNull(schema) {
				t.Errorf("schema %s, want %s", s.Schema.DDL(), schema.DDL())
			}
			slices.Sort(want.Latest)
			testkit.Diff(t, "rows", jsonRows(t, s), want.Latest)
		})
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
