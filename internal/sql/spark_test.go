package sql

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
)

// recorded is what Spark's parser said of a text; see testdata/record.py.
type recorded struct {
	Kind      string            `json:"k"`
	Text      string            `json:"t"`
	Tree      string            `json:"tree"`
	Condition string            `json:"cond"`
	Params    map[string]string `json:"params"`
	Line      int               `json:"line"`
	Pos       int               `json:"pos"`
	Context   []int             `json:"context"` // first and last character
}

func readRecorded(t *testing.T, name string) []recorded {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []recorded
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// parse reads the text as what it is.
func (r *recorded) parse() (any, *plan.Error) {
	var out any
	var err error
	if r.Kind == "expr" {
		out, err = ParseExpr(r.Text)
	} else {
		out, err = Parse(r.Text)
	}
	if err == nil {
		return out, nil
	}
	var e *plan.Error
	if !errors.As(err, &e) {
		panic("an error that is no plan.Error: " + err.Error())
	}
	return nil, e
}

// leftToAnalysis are mistakes that Spark's parser finds when it looks deeper
// than a parser must, and that analysis finds here.
func leftToAnalysis(condition string) bool {
	return condition == "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE" ||
		condition == "UNEXPECTED_USE_OF_PARAMETER_MARKER" || strings.HasPrefix(condition, "COLLATION_INVALID")
}

// earlier are mistakes that Spark finds in analysis and we find at once.
func earlier(e *plan.Error) bool {
	return e.Class == plan.ClassAnalysis || e.Condition == "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH"
}

// refused says that weir refuses by name what Spark has.
func refused(e *plan.Error) bool { return e.Class == plan.ClassJavaUnsupported }

// ourOwn are statements that Spark does not have.
func ourOwn(text string) bool {
	upper := strings.ToUpper(text)
	return strings.Contains(upper, "VOLUME") || strings.Contains(upper, "CATALOG")
}

// TestVerdictsOfSpark compares with Spark on recorded scripts, programs and
// expressions, and on mutations of them by which most no longer parse. Texts
// in known.txt are those where the two are known to differ.
func TestVerdictsOfSpark(t *testing.T) {
	known := knownDifferences(t)
	differs := map[string]bool{}
	places, placesWrong := 0, 0
	for _, r := range readRecorded(t, "testdata/verdicts.jsonl.gz") {
		_, e := r.parse()
		switch {
		case leftToAnalysis(r.Condition), ourOwn(r.Text):
			continue
		case e != nil && (refused(e) || r.Condition == "" && earlier(e)):
			continue
		case (e == nil) != (r.Condition == ""):
			differs[r.Text] = true
			if !known[r.Text] {
				t.Errorf("%s\n  got %v\n want %q %v", r.Text, e, r.Condition, r.Params)
			}
		case e == nil:
		case e.Condition == "PARSE_SYNTAX_ERROR" && r.Condition == e.Condition:
			places++
			if e.Args["error"] != r.Params["error"] || e.Origin.Line != r.Line || e.Origin.Pos != r.Pos {
				placesWrong++
			}
		case e.Condition != r.Condition || !equalParams(e.Args, r.Params):
			differs[r.Text] = true
			if !known[r.Text] {
				t.Errorf("%s\n  got %s %v\n want %s %v", r.Text, e.Condition, e.Args, r.Condition, r.Params)
			}
		case r.Context != nil && e.Origin != nil && e.Condition != "_LEGACY_ERROR_TEMP_0035":
			want := []int{e.Origin.Start, e.Origin.Stop - 1}
			if isASCII(r.Text) && !cmp.Equal(r.Context, want) {
				t.Errorf("%s: %s stands at %v, want %v", r.Text, e.Condition, want, r.Context)
			}
		}
	}
	for text := range known {
		if !differs[text] {
			t.Errorf("known.txt lists a text on which we agree now: %s", text)
		}
	}
	t.Logf("%d syntax errors, %d with another token or place than Spark's", places, placesWrong)
	if placesWrong*12 > places {
		t.Errorf("%d of %d syntax errors name another token or place than Spark's", placesWrong, places)
	}
}

func isASCII(s string) bool { return strings.IndexFunc(s, func(r rune) bool { return r > 127 }) < 0 }

// equalParams compares parameters; those that hold prose are ours to write.
func equalParams(got, want map[string]string) bool {
	drop := func(m map[string]string) map[string]string {
		m = maps.Clone(m)
		for _, k := range [...]string{"msg", "message"} {
			delete(m, k)
		}
		return m
	}
	return maps.Equal(drop(got), drop(want))
}

// knownDifferences reads known.txt: texts between lines of dashes.
func knownDifferences(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("testdata/known.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, text := range strings.Split(string(b), "\n----\n") {
		if text != "" {
			known[text] = true
		}
	}
	return known
}

// otherwise are forms in Spark's trees for what we express otherwise.
var otherwise = []string{
	"semistructuredextract", "unresolvedidentifier", "UnresolvedIdentifier", "WithWindowDefinition",
	"likeall", "likeany", "rollup(", "groupingsets(", "cube(", ", None)", "Some(", "LimitAll", "subquery#", "exists#",
	"list#", "scalar-subquery", "listquery", "exists [", "list [", "Sample ", "PipeOperator", "Pivot", "Qualify", "LateralJoin",
	"unresolvedcollation", "TimeTravel", "table-argument", "SetCatalogAndNamespace", "SetNamespaceCommand",
	"SetCatalogCommand", "ScriptTransformation", "parameter(", "DeleteFromTable", "1E-38",
	"Uncache", "ClearCache", "InsertInto", "`", "[range], false", "2026-11-30",
}

// otherwiseText are the same in texts: functions that Spark prints in another
// way than the operators that call them, and what depends on the clock.
var otherwiseText = []string{"IS UNKNOWN", ") IGNORE NULLS", ") RESPECT NULLS", "negative(", "like('", "'now'", "'T10", "'294247"}

func TestTreesOfSpark(t *testing.T) {
	compared := 0
	for _, r := range readRecorded(t, "testdata/trees.jsonl.gz") {
		if containsAny(r.Tree, otherwise) || containsAny(r.Text, otherwiseText) {
			continue
		}
		out, e := r.parse()
		if e != nil {
			if !refused(e) && !earlier(e) {
				t.Errorf("%s: %v", r.Text, e)
			}
			continue
		}
		compared++
		got := ""
		switch n := out.(type) {
		case plan.Node:
			got = sparkTree(n)
		case plan.Expr:
			got = sparkExpr(n)
		}
		if got != r.Tree {
			t.Errorf("%s\n got:\n%s\nwant:\n%s", r.Text, got, r.Tree)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d trees were compared", compared)
	}
}

func containsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// TestPlacesOfNodes checks that every node says where it stands, and that
// operators stand around their operands.
func TestPlacesOfNodes(t *testing.T) {
	for _, r := range readRecorded(t, "testdata/verdicts.jsonl.gz") {
		out, e := r.parse()
		if e != nil {
			continue
		}
		for _, o := range origins(reflect.ValueOf(out), nil) {
			if o.SQL != r.Text || o.Start > o.Stop || o.Stop > len(r.Text) || o.Start == o.Stop {
				t.Fatalf("%s: a node from %d to %d", r.Text, o.Start, o.Stop)
			}
			if text := o.Text(); text != strings.TrimSpace(text) {
				t.Fatalf("%s: a node at %q", r.Text, text)
			}
		}
	}
}

// origins collects the places of all nodes below v.
func origins(v reflect.Value, found []*plan.Origin) []*plan.Origin {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return found
		}
		if o, ok := v.Interface().(*plan.Origin); ok {
			return append(found, o)
		}
		return origins(v.Elem(), found)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() || v.Type().Field(i).Anonymous && v.Field(i).Kind() == reflect.Struct {
				found = origins(v.Field(i), found)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = origins(v.Index(i), found)
		}
	}
	return found
}
