package stream

import (
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
)

// Classes as Spark 4.3 has them; every error names the file and what to do.
func TestDamagedMetadataIsNamed(t *testing.T) {
	const whole = `{"id":"6f1a2b3c-0000-4000-8000-000000000000"}`
	const parse = "com.fasterxml.jackson.core.JsonParseException"
	for _, c := range []struct{ name, text, class string }{
		{"empty", "", parse}, {"cut off", whole[:20], parse}, {"bytes", "\x00\x01", parse},
		{"without an id", "{}", "org.json4s.MappingException"},
		{"no id", `{"id":"x"}`, plan.ClassJavaIllegal}, {"a number", `{"id":5}`, plan.ClassJavaIllegal},
	} {
		_, err := parseMetadata("/ck/metadata", []byte(c.text))
		said, ok := err.(*plan.Error)
		if !ok || said.Class != c.class {
			t.Errorf("%s: got %v, want class %s", c.name, err, c.class)
			continue
		}
		for _, part := range []string{"/ck/metadata", "damaged", "checkpointLocation"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %s", c.name, err, part)
			}
		}
	}
	if id, err := parseMetadata("m", []byte(whole)); err != nil || "{\"id\":\""+id+"\"}" != whole {
		t.Errorf("whole: %q, %v", id, err)
	}
}
