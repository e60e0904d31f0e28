package codec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// csvTexts are the strings in the tables that testdata/record_csv.py recorded.
var csvTexts = []plan.Value{
	"plain", "", nil, "a,b", `a"b`, `"`, "a\nb", "a\rb", "a\r\nb", " lead", "trail ", "  ", `a\b`, `a\`,
	`\"`, "#c",
	"a;b", "é", "a\tb", "'q'", "x|y", "null", `"quoted"`, "a\x00b", `\`, "\u2028", "a  b", `\,`, `,"\`,
}

// csvRows are the values of the SELECT lists in the table, by their beginning.
func csvRows(name string) [][]plan.Value {
	var rows [][]plan.Value
	switch {
	case name == "texts":
		for i, s := range csvTexts {
			rows = append(rows, []plan.Value{int64(i), s, "z"})
		}
	case name == "single":
		for _, s := range csvTexts {
			rows = append(rows, []plan.Value{s})
		}
	case strings.HasPrefix(name, "1.0D"):
		floats := written["1.50 AS a"][1:]
		return [][]plan.Value{append(append([]plan.Value{}, floats...), dec(150), dec(100), dec(0))}
	case strings.HasPrefix(name, "DATE"):
		days, _ := Days(12345, 2, 28)
		return [][]plan.Value{append(append([]plan.Value{}, written["DATE '2024"]...), int32(days))}
	case strings.HasPrefix(name, "X'"):
		return [][]plan.Value{{[]byte("abc")}}
	case strings.HasPrefix(name, "INTERVAL"):
		return [][]plan.Value{{int64(86400000000), int32(14), int64(93784500000)}}
	}
	return rows
}

func TestCSVWritesAsSpark(t *testing.T) {
	eachLine(t, "testdata/csv_write.jsonl", func(line []byte) {
		var c struct {
			Select, Schema, Text, Error string
			Options                     plan.Options
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		schema, err := plan.ParseTypeJSON(c.Schema)
		if err != nil {
			t.Fatal(err)
		}
		o, err := CSVOptionsOf(c.Options, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewCSVWriter(schema, o)
		if c.Error != "" {
			var refusal *plan.Error
			if !errors.As(err, &refusal) || refusal.Condition != c.Error {
				t.Errorf("%s: got error %v, want %s", c.Select, err, c.Error)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got := w.AppendHeader(nil)
		rows := chunk.FromRows(schema, csvRows(c.Select)...)
		for i := range rows.Rows {
			if got, err = w.AppendRow(got, rows.Cols, i); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(c.Text, "\n")); diff != "" {
			t.Errorf("%s %v: got -, want +\n%s", c.Select, c.Options, diff)
		}
	})
}

func TestCompressedFilesOfSparkAreRead(t *testing.T) {
	const want = "one\nzweizweizweizweizweizweizweizweizweizweizweizweizweizweizweizweizweizweizweizwei\n\n"
	eachLine(t, "testdata/compressed.jsonl", func(line []byte) {
		var c struct{ Codec, Ending, File, Error string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Error != "" || c.Codec == "lz4" {
			return
		}
		data, err := hex.DecodeString(c.File)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decompress("part-00000"+c.Ending, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", c.Codec, got, err)
		}
	})
}

func TestCompressionGoesThereAndBack(t *testing.T) {
	content := bytes.Repeat([]byte("a line of text\n"), 50000)
	for _, codec := range []string{"none", "gzip", "deflate", "zstd", "snappy"} {
		var packed bytes.Buffer
		w, err := Compress(codec, &packed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		ext, err := CompressedSuffix(codec)
		if err != nil {
			t.Fatal(err)
		}
		cut := bytes.NewReader(packed.Bytes()[:packed.Len()-5])
		r, err := Decompress("f"+ext, &packed)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes came back, %v", codec, len(got), err)
		}
		if r, err = Decompress("cut"+ext, cut); err == nil {
			_, err = io.ReadAll(r)
		}
		if codec != "none" && (err == nil || !strings.Contains(err.Error(), "cut"+ext)) {
			t.Errorf("%s: a file that was cut off gives %v", codec, err)
		}
	}
	for _, codec := range []string{"lz4", "bzip2", "lzo"} {
		if _, err := Compress(codec, io.Discard); err == nil {
			t.Errorf("%s is written", codec)
		}
	}
}

func TestTextLines(t *testing.T) {
	for _, c := range []struct {
		file string
		o    TextOptions
		want []string
	}{
		{"a\nb\r\nc\rd", TextOptions{}, []string{"a", "b", "c", "d"}},
		{"\ufeffa\n\n\r\r\n", TextOptions{}, []string{"a", "", "", ""}},
		{"a;b\n;;c", TextOptions{LineSep: ";"}, []string{"a", "b\n", "", "c"}},
		{"a\nb", TextOptions{WholeText: true}, []string{"a\nb"}},
		{"", TextOptions{}, []string{}},
	} {
		got := []string{}
		chunks, err := chunk.Collect(ReadText(iotest.OneByteReader(strings.NewReader(c.file)), c.o))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range chunks {
			for i := range k.Rows {
				got = append(got, string(k.Cols[0].Bytes(i)))
			}
		}
		if diff := cmp.Diff(got, c.want); diff != "" {
			t.Errorf("%q: got -, want +\n%s", c.file, diff)
		}
	}
	rows := chunk.FromRows(TextSchema(), []plan.Value{"a"}, []plan.Value{nil}, []plan.Value{"b"})
	if got := string(AppendTextLines(nil, rows, "")); got != "a\n\nb\n" {
		t.Errorf("got %q", got)
	}
}
