package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/testkit"
)

// TestWhatFunctionsPrintIsKeptByQuery has functions print in every place of a query:
// each line is in the logs of its own query, with its batch and stream.
func TestWhatFunctionsPrintIsKeptByQuery(t *testing.T) {
	server := testkit.Start(t, testkit.ServerOptions{Env: []string{"TZ=UTC"}})
	want := map[string][]string{
		"udf":          {"0 stdout udf 0", "0 stdout udf 1"},
		"foreachBatch": {"0 stdout foreachBatch 0 2", "0 stdout udf of a frame 0", "0 stdout udf of a frame 1", "0 stderr \ufffdred <b>"},
		"foreach":      {"0 stdout open 0 0", "0 stdout process 0", "0 stdout process 1", "0 stdout close None"},
		"state":        {"0 stdout state ('k',) 2"},
		"processor":    {"0 stdout processor ('k',) 2"},
		"dies":         {"0 stdout the last words"},
	}
	got := map[string][]string{}
	for _, line := range runProgram(t, server, "4.3", "printing.py") {
		name, id, _ := strings.Cut(line, " ")
		got[name] = logsOf(t, server, id)
	}
	// Lines of the two streams come over different ways.
	got["foreachBatch"] = errorsLast(got["foreachBatch"])
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// logsOf are the lines that a query's functions printed, each behind its batch and stream.
func logsOf(t *testing.T, server *testkit.Server, id string) []string {
	t.Helper()
	answer, err := http.Get("http://" + server.HTTP + "/api/v1/queries/" + id + "/logs")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var logs struct {
		Lines []struct {
			BatchID      json.Number
			Stream, Text string
		}
	}
	if err := json.Unmarshal(body, &logs); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var out []string
	for _, l := range logs.Lines {
		out = append(out, strings.Join([]string{l.BatchID.String(), l.Stream, l.Text}, " "))
	}
	return out
}

func errorsLast(lines []string) []string {
	var out, errors []string
	for _, l := range lines {
		if strings.Contains(l, " stderr ") {
			errors = append(errors, l)
		} else {
			out = append(out, l)
		}
	}
	return append(out, errors...)
}
