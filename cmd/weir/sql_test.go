package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// command runs weir with arguments, and gives what it printed.
func command(t *testing.T, c *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	c.SilenceUsage, c.SilenceErrors = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func must(t *testing.T, c *cobra.Command, args ...string) string {
	t.Helper()
	out, err := command(t, c, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out
}

// On the engine of this process, then on a live server of the same directory.
func TestStatementsFromTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	sql := func(args ...string) (string, error) {
		return command(t, sqlCommand(), append([]string{"--dir", dir}, args...)...)
	}
	run := func(t *testing.T) {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"CREATE OR REPLACE TABLE main.default.t (a INT, b STRING)"}, ""},
			{[]string{"INSERT INTO main.default.t VALUES (1, 'x'), (2, NULL)"}, ""},
			{[]string{"SELECT * FROM main.default.t ORDER BY a"}, "+---+----+\n|  a|   b|\n+---+----+\n|  1|   x|\n|  2|NULL|\n+---+----+\n"},
			{[]string{"--json", "SELECT * FROM main.default.t ORDER BY a"}, `{"a":1,"b":"x"}` + "\n" + `{"a":2,"b":null}` + "\n"},
			{[]string{"--rows", "1", "SELECT * FROM main.default.t ORDER BY a"}, "only showing top 1 row"},
			{[]string{"--vertical", "SELECT 1 AS a"}, "-RECORD 0"},
			{[]string{"SELECT repeat('y', 200) AS long"}, strings.Repeat("y", 97) + "..."},
			{[]string{"--full", "SELECT repeat('y', 200) AS long"}, strings.Repeat("y", 200)},
			{[]string{"--json", "SELECT 1 WHERE false"}, ""},
			{[]string{"--json", "SHOW TABLES IN main.default"}, `"tableName":"t"`},
		} {
			out, err := sql(c.args...)
			if err != nil || !strings.Contains(out, c.want) || c.want == "" && out != "" {
				t.Errorf("%q: %v, %q, want %q", c.args, err, out, c.want)
			}
		}
		for text, want := range map[string]string{
			"SELECT nope":         "UNRESOLVED_COLUMN",
			"SELEC 1":             "PARSE_SYNTAX_ERROR",
			"SELECT 1/0":          "DIVIDE_BY_ZERO",
			"":                    "PARSE",
			"SELECT * FROM no.pe": "TABLE_OR_VIEW_NOT_FOUND",
		} {
			if out, err := sql(text); err == nil || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "rpc error") {
				t.Errorf("%q: %v %s, want %s", text, err, out, want)
			}
		}
	}
	t.Run("in this process", run)
	s, err := startServer(serverFlags{dir: dir, http: "127.0.0.1:0", python: "off",
		logLevel: slog.LevelError}, grpcFree)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("on the live server", run)
	if _, err := sql("--conf", "a=b", "SELECT 1"); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("a setting for a server that runs: %v", err)
	}
	if err := s.stop(context.Background()); err != nil {
		t.Error(err)
	}
	c := sqlCommand()
	c.SetIn(strings.NewReader("SELECT 7 AS seven"))
	if out := must(t, c, "--dir", dir, "-"); !strings.Contains(out, "seven") {
		t.Error(out)
	}
	if _, err := sql("--remote", "localhost:1", "SELECT 1"); err == nil || !strings.Contains(err.Error(),
		"sc://HOST:PORT") {
		t.Error(err)
	}
	if _, err := sql("--remote", "sc://127.0.0.1:1", "SELECT 1"); err == nil ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Error(err)
	}
	if _, err := sql("--rows", "-1", "SELECT 1"); err == nil {
		t.Error("a negative number of rows was taken")
	}
}

// A server with a token asks the one who started it for it, too.
func TestStatementsNameTheFileOfTheToken(t *testing.T) {
	dir, token := t.TempDir(), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("abc123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := startServer(serverFlags{dir: dir, http: "127.0.0.1:0", python: "off", token: token,
		logLevel: slog.LevelError}, grpcFree)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := command(t, sqlCommand(), "--dir", dir, "SELECT 1"); err == nil ||
		!strings.Contains(err.Error(), "--token-file FILE") {
		t.Errorf("without the token: %v", err)
	}
	out := must(t, sqlCommand(), "--dir", dir, "--token-file", token, "SELECT 7 AS seven")
	if !strings.Contains(out, "seven") {
		t.Error(out)
	}
}

func TestCommandsSayWhatTheyMiss(t *testing.T) {
	for want, c := range map[string]*cobra.Command{
		"name a statement, in quotation marks": sqlCommand(),
		"name the query, by its name or id":    stopCommand(),
	} {
		for _, args := range [][]string{{}, {"a", "b"}} {
			if _, err := command(t, c, args...); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), c.CommandPath()+" --help") {
				t.Errorf("%s %v: %v", c.Name(), args, err)
			}
		}
	}
}

func TestInspectLooksIntoFiles(t *testing.T) {
	dir := t.TempDir()
	data, table := t.TempDir(), filepath.Join(dir, "table")
	must(t, sqlCommand(), "--dir", data, "CREATE TABLE delta.`"+table+"` (a INT) USING delta")
	must(t, sqlCommand(), "--dir", data, "INSERT INTO delta.`"+table+"` VALUES (1)")
	if out := must(t, inspectCommand(), "delta", table); !strings.Contains(out, "numFiles") ||
		!strings.Contains(out, "-RECORD 0") {
		t.Error(out)
	}
	out := must(t, inspectCommand(), "delta", "--history", "--json", table)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 ||
		!strings.Contains(lines[0], `"version":1`) {
		t.Error(out)
	}
	for _, args := range [][]string{
		{"delta", dir}, {"state", dir}, {"checkpoint", dir}, {"checkpoint", filepath.Join(dir, "none")},
		{"delta", filepath.Join(data, "version")},
	} {
		if out, err := command(t, inspectCommand(), args...); err == nil || strings.Contains(err.Error(),
			"rpc error") {
			t.Errorf("%v: %v %s", args, err, out)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("inspecting left %v, %v", entries, err)
	}
}

func TestInspectTellsWhereACheckpointGoesOn(t *testing.T) {
	write := func(dir, name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const offsets = "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1772625600000,\"conf\":{\"spark.sql.shuffle.partitions\":\"2\"}}\n"
	dir := t.TempDir()
	write(dir, "metadata", `{"id":"20483d79-77c1-4b23-95a1-70d4f844afe9"}`)
	steps := []struct{ file, text, want string }{
		{"", "", "No batch was begun: a start begins at the beginning."},
		{"offsets/0", offsets + "5", "Batch 0 was begun and is not done: a start runs it again over the same input."},
		{"commits/0", "v1\n{\"nextBatchWatermarkMs\":0}", "All is done up to batch 0: a start goes on with batch 1."},
		{"offsets/1", offsets + "9", "Batch 1 was begun and is not done"},
		{"commits/7", "v1\n{\"nextBatchWatermarkMs\":0}", "A start would be refused: "},
	}
	for _, s := range steps {
		if s.file != "" {
			write(dir, s.file, s.text)
		}
		if out := must(t, inspectCommand(), "checkpoint", dir); !strings.HasPrefix(out, s.want) {
			t.Errorf("with %s: %q, want %q", s.file, out, s.want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "commits", "7")); err != nil {
		t.Fatal(err)
	}
	var got checkpointJSON
	if err := json.Unmarshal([]byte(must(t, inspectCommand(), "checkpoint", "--json", dir)), &got); err != nil {
		t.Fatal(err)
	}
	if got.NextBatch == nil || *got.NextBatch != 1 || !got.Replay || len(got.Sources) != 1 ||
		string(got.Sources[0].From) != "5" || string(got.Sources[0].To) != "9" || got.WatermarkMs != nil {
		t.Errorf("%+v", got)
	}
	write(dir, "offsets/1", "v1\nnot JSON")
	if _, err := command(t, inspectCommand(), "checkpoint", dir); err == nil ||
		!strings.Contains(err.Error(), "offsets/1") {
		t.Errorf("a file that cannot be read: %v", err)
	}
}
