package analyze_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
)

// statement is a script recorded from Spark 4.3: what each step's result looks
// like, or the error it ends with.
type statement struct {
	ID, Family, Title string
	Steps             []step
}

type step struct {
	SQL    string
	Args   json.RawMessage
	Schema [][3]any
	Error  *struct {
		Class, Condition, SQLState string
		MessageParameters          map[string]string
		Context                    [][3]any
	}
}

// ids are those of columns, which the recordings leave out.
var ids = regexp.MustCompile(`#\d+`)

var shrink = flag.Bool("shrink", false, "drop what passes from the list of failing statements")

const failingList = "testdata/statements_failing.txt"

// TestRecordedStatements resolves recorded scripts and counts those that have
// Spark's schema or error. The ones that do not are listed in a file that may
// only shrink: run with -shrink when more pass.
func TestRecordedStatements(t *testing.T) {
	listed := failingLines(t)
	var kept []string
	total, passed, runtime := 0, 0, 0
	for _, s := range readStatements(t) {
		total++
		line, known := listed[s.ID]
		last := s.Steps[len(s.Steps)-1].SQL
		switch why := runStatement(s); why {
		case "":
			passed++
		case "runtime":
			runtime++
		default:
			if !known {
				t.Errorf("%s %s: %s\n%s", s.ID, s.Family, last, why)
				continue
			}
			kept = append(kept, line)
			t.Logf("%s known to fail: %s\n%s", s.ID, last, why)
		}
	}
	t.Logf("%d scripts: %d passed, %d need execution, %d known to fail", total, passed, runtime, len(kept))
	if *shrink {
		slices.SortFunc(kept, func(a, b string) int { return strings.Compare(a[10:], b[10:]) })
		if err := os.WriteFile(failingList, []byte(strings.Join(kept, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(kept) < len(listed) {
		t.Errorf("%d listed scripts pass now: run go test ./internal/analyze -shrink", len(listed)-len(kept))
	}
}

// failingLines is the list by script: an id and, for readers, its last query.
func failingLines(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(failingList)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		out[line[:10]] = line
	}
	return out
}

func readStatements(t *testing.T) []statement {
	t.Helper()
	var all bytes.Buffer
	// Scripts that execution is tested with, too.
	for _, path := range []string{"testdata/statements.jsonl", "../exec/testdata/windows.jsonl"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	var out []statement
	in := bufio.NewScanner(&all)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var s statement
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// runStatement is "" when every step is as recorded, "runtime" when the
// recorded error is one of execution, else what differs.
func runStatement(s statement) string {
	w := newWorld()
	for _, st := range s.Steps {
		got, err := runStep(w, st)
		why := compare(st, got, err)
		if why != "" {
			return why
		}
	}
	return ""
}

func compare(st step, got [][3]any, err error) string {
	if st.Error == nil {
		if err != nil {
			return "unexpected error: " + err.Error()
		}
		if len(st.Schema)+len(got) == 0 {
			return ""
		}
		return cmp.Diff(st.Schema, got)
	}
	if err == nil {
		if st.Error.Class != "AnalysisException" && st.Error.Class != "ParseException" {
			return "runtime"
		}
		return "no error, want " + st.Error.Condition
	}
	var pe *plan.Error
	if !errors.As(err, &pe) {
		return "not a plan.Error: " + err.Error()
	}
	at := contextOf(pe.Origin)
	if st.Error.Class == "ParseException" { // Spark keeps the place of these in the sentence
		at = ""
	}
	got1 := ids.ReplaceAllString(fmt.Sprint(pe.Condition, pe.State, pe.Args, at), "#N")
	want := st.Error.MessageParameters
	if want == nil {
		want = map[string]string{}
	}
	var context string
	for _, c := range st.Error.Context {
		context = fmt.Sprint(c[0], c[1], c[2])
	}
	if got1 == fmt.Sprint(st.Error.Condition, st.Error.SQLState, want, context) {
		return ""
	}
	return "got  " + got1 + "\nwant " + fmt.Sprint(st.Error.Condition, st.Error.SQLState, want, context)
}

func contextOf(o *plan.Origin) string {
	if o == nil {
		return ""
	}
	return fmt.Sprint(o.Start, o.Stop-1, o.Text())
}

func runStep(w *world, st step) ([][3]any, error) {
	params, err := parameters(st.Args)
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(st.SQL, "CREATE OR REPLACE TEMP VIEW "); ok {
		name, query, _ := strings.Cut(rest, " AS ")
		n, err := sql.Parse(query)
		w.tables[strings.ToLower(name)] = n
		return nil, err
	}
	n, err := sql.ParseBound(st.SQL, params)
	if err != nil {
		return nil, err
	}
	out, err := analyzer(w).Resolve(context.Background(), n)
	if err != nil {
		return nil, err
	}
	if err := wellFormed(out); err != nil {
		return nil, err
	}
	var schema [][3]any
	for _, a := range out.Output() {
		schema = append(schema, [3]any{a.Name, a.Of.Simple(), a.Null})
	}
	return schema, nil
}

// parameters makes constants of the arguments that a script was run with.
func parameters(args json.RawMessage) (sql.Parameters, error) {
	var out sql.Parameters
	if len(args) == 0 || string(args) == "null" {
		return out, nil
	}
	if args[0] == '[' {
		var list []any
		if err := json.Unmarshal(args, &list); err != nil {
			return out, err
		}
		out.Positional = []plan.Expr{}
		for _, v := range list {
			out.Positional = append(out.Positional, constant(v))
		}
		return out, nil
	}
	var named map[string]any
	if err := json.Unmarshal(args, &named); err != nil {
		return out, err
	}
	out.Named = map[string]plan.Expr{}
	for k, v := range named {
		out.Named[k] = constant(v)
	}
	return out, nil
}

func constant(v any) plan.Expr {
	switch v := v.(type) {
	case bool:
		return plan.Lit(v, plan.Boolean)
	case float64:
		if v == float64(int64(v)) {
			return plan.Lit(int64(v), plan.Int)
		}
		return plan.Lit(v, plan.Double)
	default:
		return plan.Lit(v, plan.String)
	}
}
