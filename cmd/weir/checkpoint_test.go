package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const resetQuery = "20483d79-77c1-4b23-95a1-70d4f844afe9"

// threeBatches is a checkpoint of a query that read to 3, 6 and 9.
func threeBatches(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const head = "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":177262560000"
	for name, text := range map[string]string{
		"metadata":  `{"id":"` + resetQuery + `"}`,
		"offsets/0": head + "0,\"conf\":{}}\n3",
		"offsets/1": head + "1,\"conf\":{}}\n6",
		"offsets/2": head + "2,\"conf\":{}}\n9",
		"commits/0": "v1\n{\"nextBatchWatermarkMs\":1000}", "commits/1": "v1\n{\"nextBatchWatermarkMs\":2000}",
		"commits/2": "v1\n{\"nextBatchWatermarkMs\":3000}",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestResetFromTheCommandLine(t *testing.T) {
	dir, none := threeBatches(t), t.TempDir()
	where := func() string { return must(t, inspectCommand(), "checkpoint", dir) }
	dry := must(t, checkpointCommand(), "reset", dir, "--to-batch", "0", "--dry-run", "--json", "--dir", none)
	var told resetJSON
	if err := json.Unmarshal([]byte(dry), &told); err != nil {
		t.Fatal(err)
	}
	if told.Applied || told.NextBatch != 5 || *told.WatermarkMs != 1000 || string(told.Sources[0].From) != "3" ||
		string(told.Sources[0].To) != "9" ||
		strings.Join(told.Moved, " ") != "offsets/1 offsets/2 commits/1 commits/2" {
		t.Errorf("%+v", told)
	}
	if out := where(); !strings.HasPrefix(out, "All is done up to batch 2") {
		t.Errorf("after a dry run: %s", out)
	}
	out := must(t, checkpointCommand(), "reset", dir, "--to-batch", "0", "--dir", none)
	const says = "The query goes on behind batch 0, as batch 5."
	const why = "Ids up to 2 were used, and 3 and 4, which read nothing, lead to it."
	for _, want := range []string{why, "3 → 9", " offsets/1–2 commits/1–2\n"} {
		if !strings.HasPrefix(out, says) || !strings.Contains(out, want) {
			t.Errorf("a reset does not say %q: %s", want, out)
		}
	}
	if out := where(); !strings.HasPrefix(out, "All is done up to batch 4") {
		t.Errorf("after a reset: %s", out)
	}
	must(t, checkpointCommand(), "restore", dir, "--dir", none)
	if out := where(); !strings.HasPrefix(out, "All is done up to batch 2") {
		t.Errorf("after it was put back: %s", out)
	}
	out = must(t, checkpointCommand(), "reset", dir, "--offset", "0=7", "--dir", none)
	if !strings.Contains(out, "7 → 9") || !strings.Contains(out, "moved to reset/2          nothing") {
		t.Errorf("a reset to an offset says %s", out)
	}
	for _, args := range [][]string{{}, {"--offset", "7"}, {"--to-batch", "40"}} {
		all := append([]string{"reset", dir, "--dir", none}, args...)
		if _, err := command(t, checkpointCommand(), all...); err == nil {
			t.Errorf("reset %v was not refused", args)
		}
	}
}

func TestMovedFilesAreNamedInRanges(t *testing.T) {
	for files, want := range map[string]string{
		"":                               "nothing",
		"offsets/9":                      "offsets/9",
		"offsets/9 offsets/10 commits/9": "offsets/9–10 commits/9",
		"offsets/1 offsets/2 offsets/4 offsets/5 offsets/6 commits/7": "offsets/1–2 offsets/4–6 commits/7",
	} {
		if got := inRanges(strings.Fields(files)); got != want {
			t.Errorf("%s: %s, want %s", files, got, want)
		}
	}
}

// TestResetOfARunningQueryIsRefused asks the server; one that does not answer leaves
// it open, which is refused too.
func TestResetOfARunningQueryIsRefused(t *testing.T) {
	ended := "null"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"queries":[{"id":"` + resetQuery + `","name":"q","endedAtMs":` + ended + `}]}`))
	}))
	defer server.Close()
	dir, address := threeBatches(t), strings.TrimPrefix(server.URL, "http://")
	for _, args := range [][]string{{"reset", dir, "--to-batch", "1"}, {"restore", dir}} {
		_, err := command(t, checkpointCommand(), append(args, "--http", address)...)
		if err == nil || !strings.Contains(err.Error(), "weir stop "+resetQuery) {
			t.Errorf("%v while the query runs: %v", args, err)
		}
	}
	ended = "1"
	must(t, checkpointCommand(), "reset", dir, "--to-batch", "1", "--http", address)
	server.Close()
	if _, err := command(t, checkpointCommand(), "restore", dir, "--http", address); err == nil {
		t.Error("a server that does not answer was taken for one without the query")
	}
}
