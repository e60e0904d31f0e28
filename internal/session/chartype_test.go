package session

import (
	"errors"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/vfs"
)

// As Spark 4.3.0 was observed to do: it refuses such a schema before it looks for the
// format or for files, and df.to(schema) as well.
func TestSchemasOfReadersTakeNoCharAndVarchar(t *testing.T) {
	s := openEngine(t, vfs.NewMemory()).NewSession("u", "s")
	refused := func(name string, n plan.Node) {
		t.Helper()
		_, err := s.Analyze(t.Context(), n)
		var e *plan.Error
		if !errors.As(err, &e) || e.Condition != "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	schemas := []string{"a CHAR(5)", "a VARCHAR(5)", "a ARRAY<CHAR(3)>", "a STRUCT<b: VARCHAR(3)>"}
	for _, text := range schemas {
		schema, err := sql.ParseSchema(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"avro", "csv", "json", "parquet", "text", "rate", "none of these"} {
			for _, streaming := range []bool{false, true} {
				refused(format+" as "+text, &plan.Read{Format: format, Schema: &schema, Paths: []string{"/none"},
					Streaming: streaming})
			}
		}
		refused("to "+text, plan.NewToSchema(&plan.OneRow{}, schema))
	}
	if err := s.Conf().Set(charAsStringKey, "true"); err != nil {
		t.Fatal(err)
	}
	schema, _ := sql.ParseSchema("a CHAR(5)")
	read := &plan.Read{Format: "json", Schema: &schema, Streaming: true, Paths: []string{"/"}}
	n, err := s.Analyze(t.Context(), read)
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.SchemaOf(n.Output()).DDL(); got != "a STRING" {
		t.Errorf("%s=true reads %s, want a STRING", charAsStringKey, got)
	}
}
