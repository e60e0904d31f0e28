package function_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

// The table was recorded from Spark by testdata/record_csv_functions.py.
func TestCSVFunctionsAsInSpark(t *testing.T) {
	data, err := os.ReadFile("testdata/csv_functions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var c struct {
			Expr, Name, Type, Error string
			Nullable                bool
			Value                   *string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		r := &recorded{Expr: c.Expr}
		env := environment(r)
		e, _, err := run(r, env)
		if err == nil && c.Error == "" {
			if got := e.Type().Simple(); got != c.Type || e.Nullable() != c.Nullable {
				t.Errorf("%s: %s nullable %v, want %s nullable %v", c.Expr, got, e.Nullable(), c.Type, c.Nullable)
			}
			if got := plan.SQLTextIn(e, env.Zone); got != c.Name {
				t.Errorf("%s: named %q, want %q", c.Expr, got, c.Name)
			}
			r.Expr = "CAST(" + c.Expr + " AS STRING)"
			_, vec, err := run(r, env)
			switch {
			case err != nil:
				t.Errorf("%s: %v", c.Expr, err)
			case vec.IsNull(0) != (c.Value == nil):
				t.Errorf("%s: NULL is %v", c.Expr, vec.IsNull(0))
			case c.Value != nil && string(vec.Bytes(0)) != *c.Value:
				t.Errorf("%s: got %q, want %q", c.Expr, vec.Bytes(0), *c.Value)
			}
			continue
		}
		e2, _ := err.(*plan.Error)
		if e2 != nil && e2.Class == plan.ClassJavaUnsupported && e2.Condition == "" {
			continue // refused by name
		}
		unnamed := c.Error == "Py4JJavaError" || c.Error == "IllegalArgumentException"
		if err == nil || !unnamed && (e2 == nil || e2.Condition != c.Error) {
			t.Errorf("%s: got error %v, want %q", c.Expr, err, c.Error)
		}
	}
}
