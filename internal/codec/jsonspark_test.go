package codec

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// rowTexts are rows as CAST(struct(*) AS STRING) prints them.
func rowTexts(schema plan.Type, chunks []*chunk.Chunk) []string {
	style := TextStyle{Zone: NewOffsets(time.UTC)}
	texts := []string{}
	for _, c := range chunks {
		row := &chunk.Vector{Type: schema, Len: c.Rows, Kids: c.Cols}
		for i := range c.Rows {
			texts = append(texts, string(style.AppendValue(nil, row, i)))
		}
	}
	return texts
}

func eachLine(t *testing.T, path string, f func(line []byte)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<22)
	for in.Scan() {
		f(in.Bytes())
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
}

// brokenEscape is {"id":9,"k":"\u12"}, where Jackson goes on behind the bad
// digit and finds the end of the record, so that Spark keeps id. Here no record
// with broken syntax keeps anything.
const brokenEscape = "7b226964223a392c226b223a225c753132227d0a"

// The table was recorded from Spark by testdata/record_json.py.
func TestJSONReadsAsSpark(t *testing.T) {
	eachLine(t, "testdata/json_read.jsonl", func(line []byte) {
		var c struct {
			Schema, File, Type, Error string
			Options                   plan.Options
			Rows                      []string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.File == brokenEscape {
			return
		}
		data, err := hex.DecodeString(c.File)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := plan.ParseTypeJSON(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		o, err := JSONOptionsOf(c.Options, time.UTC, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewJSONReader(schema.AsNullable(), o)
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := chunk.Collect(r.Read(bytes.NewReader(data)))
		if err != nil || c.Error != "" {
			var refusal *plan.Error
			if c.Error == "" || !errors.As(err, &refusal) {
				t.Errorf("%s %v %.200q: got error %v, want %q", c.Schema, c.Options, data, err, c.Error)
			}
			return
		}
		if diff := cmp.Diff(rowTexts(schema, chunks), c.Rows); diff != "" {
			t.Errorf("%s %v\n%.200q: got -, want +\n%s", c.Schema, c.Options, data, diff)
		}
	})
}
