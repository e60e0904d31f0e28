package function_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

// variantCase is what Spark says of an expression.
type variantCase struct {
	Expr, Name, Type, Error, Bytes string
	Nullable                       bool
	Value                          *string
	Args                           map[string]string
}

// The table was recorded from Spark by testdata/record_variants.py.
func TestVariantsAreAsInSpark(t *testing.T) {
	packed, err := os.ReadFile("testdata/variants.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var c variantCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Error != "" {
			c.refused(t)
		} else {
			c.answered(t)
		}
	}
}

func (c *variantCase) answered(t *testing.T) {
	r := &recorded{Expr: c.Expr}
	env := environment(r)
	e, vec, err := run(r, env)
	if refusedByName(err) {
		return
	}
	if err != nil {
		t.Errorf("%s: %v", c.Expr, err)
		return
	}
	if got := e.Type().Simple(); got != c.Type || e.Nullable() != c.Nullable {
		t.Errorf("%s: %s nullable %v, want %s nullable %v", c.Expr, got, e.Nullable(), c.Type, c.Nullable)
	}
	path := strings.Contains(c.Expr, "'):") // v:path is named by its end
	if got := plan.SQLTextIn(e, env.Zone); !path && c.Name != "" && got != c.Name {
		t.Errorf("%s: named %q, want %q", c.Expr, got, c.Name)
	}
	if c.Bytes != "" {
		got := hex.EncodeToString(vec.Kids[0].Bytes(0)) + ":" + hex.EncodeToString(vec.Kids[1].Bytes(0))
		if got != c.Bytes {
			t.Errorf("%s: bytes %s, want %s", c.Expr, got, c.Bytes)
		}
	}
	r.Expr = "CAST(" + c.Expr + " AS STRING)"
	_, vec, err = run(r, env)
	switch {
	case err != nil:
		t.Errorf("%s: %v", c.Expr, err)
	case vec.IsNull(0) != (c.Value == nil):
		t.Errorf("%s: NULL is %v, want %v", c.Expr, vec.IsNull(0), c.Value == nil)
	case c.Value != nil && string(vec.Bytes(0)) != *c.Value:
		t.Errorf("%s: got %q, want %q", c.Expr, vec.Bytes(0), *c.Value)
	}
}

// refusedByName reports whether an error says that weir has something not.
func refusedByName(err error) bool {
	e, ok := err.(*plan.Error)
	return ok && e.Class == plan.ClassJavaUnsupported && e.Condition == ""
}

func (c *variantCase) refused(t *testing.T) {
	r := &recorded{Expr: c.Expr}
	_, _, err := run(r, environment(r))
	if refusedByName(err) || c.Error == "org.apache.spark.SparkException" {
		return
	}
	got, _ := err.(*plan.Error)
	if got == nil || got.Condition != c.Error {
		t.Errorf("%s: got error %v, want %q", c.Expr, err, c.Error)
		return
	}
	args := maps.Clone(got.Args)
	delete(args, "docroot")
	delete(c.Args, "docroot")
	if !maps.Equal(args, c.Args) {
		t.Errorf("%s: the error has %v, want %v", c.Expr, args, c.Args)
	}
}
