package codec

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

var (
	fromJSONCall = regexp.MustCompile(`^from_json\('((?:[^'\\]|\\.)*)', '[^']*'` +
		`(, map\('mode', '(\w+)'\)|, map\('columnNameOfCorruptRecord', '_c'\)|, map\('(\w+)', '([^']*)'\))?\)$`)
	sqlEscapes = strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\n`, "\n", `\\`, `\`)
)

// The table holds calls of from_json with their values as show prints them,
// recorded from Spark: {"expr", "type", "show" or "error"}.
func TestFromJSONAsInSpark(t *testing.T) {
	compared := 0
	eachLine(t, "testdata/from_json.jsonl", func(line []byte) {
		var c struct{ Expr, Type, Show, Error string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		m := fromJSONCall.FindStringSubmatch(c.Expr)
		if m == nil {
			return
		}
		typ, err := plan.ParseTypeJSON(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		options := plan.Options{"mode": m[3], m[4]: m[5]}
		if strings.Contains(m[2], "'_c'") {
			options["columnNameOfCorruptRecord"] = "_c"
		}
		o, err := JSONOptionsOf(options, time.UTC, 0)
		if err != nil {
			t.Fatal(err)
		}
		o.Function = true
		r, err := NewJSONReader(typ, o)
		if err != nil {
			t.Fatal(err)
		}
		compared++
		v := chunk.New(typ, 1)
		err = r.AppendValue([]byte(sqlEscapes.Replace(m[1])), v)
		var refusal *plan.Error
		if errors.As(err, &refusal) || c.Error != "" {
			if refusal == nil || refusal.Condition != c.Error {
				t.Errorf("%s: got error %v, want %q", c.Expr, err, c.Error)
			}
			return
		}
		style := TextStyle{Zone: NewOffsets(time.UTC), Pretty: true}
		if got := string(style.AppendValue(nil, v, 0)); got != c.Show {
			t.Errorf("%s: got %s, want %s", c.Expr, got, c.Show)
		}
	})
	if compared < 60 {
		t.Errorf("only %d calls compared", compared)
	}
}
