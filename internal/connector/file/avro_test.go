package file

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/codec/avro"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/sql"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

// avroCase is a line of avro/cases.jsonl, which record_avro.py explains.
type avroCase struct {
	What, Name string
	Files      []string
	Schema     *string
	Select     []string
	Options    plan.Options
	Source     string
	OK         json.RawMessage
	Condition  *string
	State      string
	Class      string
	Causes     []string
	Args       map[string]string
	Text       string
	wantSchema string
	wantRows   []string
	wantCount  int
	wantFile   string
}

func avroCases(t *testing.T, what string) []avroCase {
	t.Helper()
	data, err := os.ReadFile("testdata/avro/cases.jsonl")
	conform.Must(t, err)
	var cases []avroCase
	for line := range strings.Lines(string(data)) {
		var c avroCase
		conform.Must(t, json.Unmarshal([]byte(line), &c))
		if c.What != what {
			continue
		}
		switch {
		case c.OK == nil:
		case what == "read":
			var ok struct {
				Schema string
				Count  int
				Rows   []string
			}
			conform.Must(t, json.Unmarshal(c.OK, &ok))
			c.wantSchema, c.wantCount, c.wantRows = ok.Schema, ok.Count, ok.Rows
		case what == "write":
			conform.Must(t, json.Unmarshal(c.OK, &c.wantFile))
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatalf("nothing was recorded as %s", what)
	}
	return cases
}

// judged reports what is wrong with an error, or with its absence.
func (c *avroCase) judged(err error) string {
	var e *plan.Error
	if !errors.As(err, &e) {
		if err == nil {
			return "no error"
		}
		if c.Condition == nil {
			return "" // Spark has no condition either
		}
		return "an error without condition: " + err.Error()
	}
	if c.Condition == nil && (c.Class == "" || slices.Contains(append(c.Causes, c.Class), e.Class)) {
		return ""
	}
	if c.Condition == nil || *c.Condition != e.Condition {
		// The writer of tasks, which is not here, wraps with TASK_WRITE_FAILED.
		if c.Condition != nil && *c.Condition == "TASK_WRITE_FAILED" && slices.Contains(c.Causes, e.Class) {
			return ""
		}
		return "the error " + e.Class + " " + e.Condition + ": " + e.Msg
	}
	for key, value := range c.Args {
		if !strings.HasPrefix(key, "message") && e.Args[key] != value {
			return "the parameter " + key + "=" + e.Args[key] + ", want " + value
		}
	}
	return ""
}

func plainNames(names []string) bool {
	return !slices.ContainsFunc(names, func(s string) bool { return strings.ContainsAny(s, ". ") })
}

// avroRows reads files as a query does.
func avroRows(t *testing.T, c *avroCase) (plan.Type, []*chunk.Chunk, error) {
	t.Helper()
	env := conform.NewEnv(t, vfs.NewLocal())
	r := &plan.Read{Format: "avro", Options: c.Options}
	for _, name := range c.Files {
		at, err := filepath.Abs("testdata/avro/" + name)
		conform.Must(t, err)
		r.Paths = append(r.Paths, at)
	}
	if c.Schema != nil {
		s, err := sql.ParseSchema(*c.Schema)
		conform.Must(t, err)
		r.Schema = &s
	}
	f, _ := formats.Lookup("avro")
	rel, err := f.Describe(t.Context(), env, r)
	if err != nil {
		return plan.Type{}, nil, err
	}
	s := &plan.Scan{Relation: *rel}
	for i, col := range rel.Schema.Fields {
		if len(c.Select) == 0 || slices.Contains(c.Select, col.Name) {
			s.Attrs = append(s.Attrs, &plan.Attribute{Name: col.Name, Of: col.Type, Null: col.Nullable,
				ID: plan.ExprID(i + 1)})
		}
	}
	read := plan.Struct()
	for _, a := range s.Attrs {
		read.Fields = append(read.Fields, plan.Col(a.Name, a.Of))
	}
	chunks, err := chunk.Collect(f.Scan(t.Context(), env, s))
	return read, chunks, err
}

// castTexts are rows cast to strings, as Python shows them.
func castTexts(schema plan.Type, chunks []*chunk.Chunk) []string {
	style := codec.TextStyle{Zone: codec.NewOffsets(time.UTC)}
	texts := []string{}
	for _, c := range chunks {
		row := &chunk.Vector{Type: schema, Len: c.Rows, Kids: c.Cols}
		for i := range c.Rows {
			texts = append(texts, string([]rune(string(style.AppendValue(nil, row, i)))))
		}
	}
	return texts
}

func TestAvroFilesAreReadAsSparkDoes(t *testing.T) {
	for _, c := range avroCases(t, "read") {
		if !plainNames(c.Select) || c.Schema != nil && strings.Contains(*c.Schema, "varchar") {
			// Expressions are held by internal/session/avro_test.go, and so is a schema with
			// VARCHAR, which is refused before anybody looks at files.
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if strings.Contains(c.Name, "xz") {
				_, _, err := avroRows(t, &c)
				if e := new(plan.Error); !errors.As(err, &e) || !strings.Contains(e.Msg, "xz") {
					t.Errorf("xz is not refused by name: %v", err)
				}
				return
			}
			schema, chunks, err := avroRows(t, &c)
			if c.OK == nil {
				if wrong := c.judged(err); wrong != "" {
					t.Errorf("%s\nSpark has %v %s %v: %s", wrong, c.Condition, c.Class, c.Causes, c.Text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want, err := plan.ParseTypeJSON(c.wantSchema)
			conform.Must(t, err)
			if got, want := schema.Simple(), want.Simple(); got != want {
				t.Errorf("schema\n%s, want\n%s", got, want)
			}
			got := castTexts(schema, chunks)
			if len(got) != c.wantCount {
				t.Fatalf("%d rows, want %d", len(got), c.wantCount)
			}
			if got = got[:min(len(got), 60)]; len(c.Files) > 1 {
				return // which file comes first is not Avro's
			}
			if diff := cmp.Diff(got, c.wantRows); diff != "" {
				t.Errorf("rows: got -, want +\n%s", diff)
			}
		})
	}
}

// A file that is written has the schema and, decompressed, the bytes of Spark's.
func TestAvroFilesAreWrittenAsSparkDoes(t *testing.T) {
	for _, c := range avroCases(t, "write") {
		t.Run(c.Name, func(t *testing.T) {
			renamed := map[string]string{}
			for i, s := range c.Select {
				if from, to, ok := strings.Cut(s, " as "); ok {
					renamed[from] = strings.Trim(to, "`")
					c.Select[i] = from
				}
			}
			source := avroCase{Files: []string{c.Source}, Select: c.Select}
			schema, chunks, err := avroRows(t, &source)
			conform.Must(t, err)
			for i, f := range schema.Fields {
				if name, ok := renamed[f.Name]; ok {
					schema.Fields[i].Name = name
				}
			}
			out := filepath.Join(t.TempDir(), "out")
			f, _ := formats.Lookup("avro")
			err = f.Write(t.Context(), conform.NewEnv(t, vfs.NewLocal()),
				connector.WriteSpec{Schema: schema, Mode: plan.SaveError, Path: out, Options: c.Options},
				chunk.One(chunks...))
			if codec := c.Options["compression"]; codec == "bzip2" || codec == "xz" {
				if e := new(plan.Error); !errors.As(err, &e) || !strings.Contains(e.Msg, codec) {
					t.Errorf("%s is not refused by name: %v", codec, err)
				}
				return
			}
			if c.OK == nil {
				if wrong := c.judged(err); wrong != "" {
					t.Errorf("%s\nSpark has %v %s %v: %s", wrong, c.Condition, c.Class, c.Causes, c.Text)
				}
				return
			}
			conform.Must(t, err)
			files, _ := filepath.Glob(out + "/*.avro")
			if len(files) != 1 {
				t.Fatalf("files %q", files)
			}
			got, want := avroParts(t, files[0]), avroParts(t, "testdata/avro/"+c.wantFile)
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("got -, want +\n%s", diff)
			}
		})
	}
}

// avroParts are the header's entries and the decompressed blocks of a file.
func avroParts(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(name)
	conform.Must(t, err)
	parts := map[string]string{}
	at := 4
	number := func() int {
		n, size := binary.Varint(data[at:])
		at += size
		return int(n)
	}
	text := func() string {
		n := number()
		at += n
		return string(data[at-n : at])
	}
	for range number() {
		key := text()
		parts[key] = text()
	}
	var schema any
	conform.Must(t, json.Unmarshal([]byte(parts["avro.schema"]), &schema))
	sorted, err := json.Marshal(schema)
	conform.Must(t, err)
	parts["avro.schema"] = string(sorted)
	if parts["avro.codec"] != "null" {
		return parts
	}
	at += 17
	var rows int
	var blocks bytes.Buffer
	for at < len(data) {
		rows += number()
		blocks.WriteString(text())
		at += 16
	}
	parts["rows"], parts["bytes"] = string(rune('0'+rows%64)), blocks.String()
	return parts
}

func TestAvroRefusesWhatItCannotHold(t *testing.T) {
	f, _ := formats.Lookup("avro")
	for _, typ := range []plan.Type{
		plan.Calendar, plan.Variant, plan.Array(plan.Calendar, true), plan.Map(plan.Int, plan.Int, true),
		plan.Struct(plan.Col("a", plan.Map(plan.Int, plan.Int, true))),
	} {
		schema := plan.Struct(plan.Col("c", typ))
		err := f.Write(t.Context(), conform.NewEnv(t, vfs.NewMemory()),
			connector.WriteSpec{Schema: schema, Path: "/r/out"}, chunk.One(chunk.NewChunk(schema, 1)))
		var e *plan.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", typ.Simple(), err)
		}
		want := "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE"
		if typ.Kind == plan.KindMap || typ.Kind == plan.KindStruct {
			want = ""
		}
		if e.Condition != want {
			t.Errorf("%s is refused by %q: %v", typ.Simple(), e.Condition, err)
		}
	}
}

func TestAvroSuffixes(t *testing.T) {
	for codec, want := range map[string]string{
		"uncompressed": ".avro", "snappy": ".snappy.avro", "deflate": ".deflate.avro", "zstandard": ".zstandard.avro",
	} {
		if got, err := avro.Suffix(codec); got != want || err != nil {
			t.Errorf("%s: %s, %v", codec, got, err)
		}
	}
}
