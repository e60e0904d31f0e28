package function_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

type avroValue struct {
	Name, Type string
	Nullable   bool
	Value      *string
}

// The lines were recorded from Spark by the connector's record_avro.py.
func TestAvroFunctionsAsInSpark(t *testing.T) {
	data, err := os.ReadFile("../connector/file/testdata/avro/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(data) {
		var c struct {
			What, Name, Class string
			Condition         *string
			OK                json.RawMessage
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.What != "expr" {
			continue
		}
		n++
		var ok *avroValue
		if c.OK != nil {
			if err := json.Unmarshal(c.OK, &ok); err != nil {
				t.Fatal(err)
			}
		}
		r := &recorded{Expr: c.Name}
		env := environment(r)
		e, _, err := run(r, env)
		if ok == nil {
			var known *plan.Error
			errors.As(err, &known)
			switch {
			case known == nil:
				t.Errorf("%s: %v, Spark has %s", c.Name, err, c.Class)
			case c.Condition != nil && *c.Condition == "INTERNAL_ERROR": // Spark trips over its own feet
			case c.Condition == nil && known.Condition == "" && (c.Class == "" || known.Class == c.Class):
			case c.Condition == nil || known.Condition != *c.Condition:
				t.Errorf("%s: %s %s %v, Spark has %s", c.Name, known.Class, known.Condition, err, c.Class)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if got := e.Type().Simple(); got != ok.Type || e.Nullable() != ok.Nullable {
			t.Errorf("%s: %s nullable %v, want %s nullable %v", c.Name, got, e.Nullable(), ok.Type, ok.Nullable)
		}
		if got := plan.SQLTextIn(e, env.Zone); got != ok.Name {
			t.Errorf("%s: named %q, want %q", c.Name, got, ok.Name)
		}
		if strings.HasPrefix(c.Name, "to_avro") {
			r.Expr = "hex(" + c.Name + ")"
		} else {
			r.Expr = "CAST(" + c.Name + " AS STRING)"
		}
		_, vec, err := run(r, env)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.Name, err)
		case vec.IsNull(0) != (ok.Value == nil):
			t.Errorf("%s: NULL is %v", c.Name, vec.IsNull(0))
		case ok.Value != nil && string(vec.Bytes(0)) != *ok.Value:
			t.Errorf("%s: got %q, want %q", c.Name, vec.Bytes(0), *ok.Value)
		}
	}
	if n < 40 {
		t.Error(fmt.Sprint(n, " recordings"))
	}
}
