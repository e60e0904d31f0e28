package codec

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
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

// recovers reports whether Jackson stumbles over a record and goes on in the
// middle of a string or an array, so that Spark keeps other fields by chance.
// Here no record with broken syntax keeps anything.
func recovers(record []byte) bool {
	return bytes.Contains(record, []byte(`"\u12"`)) || bytes.Contains(record, []byte("\xe4\xb8\"")) ||
		bytes.Count(record, []byte("[")) > maxJSONDepth
}

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
		data, err := hex.DecodeString(c.File)
		if err != nil {
			t.Fatal(err)
		}
		if recovers(data) {
			return
		}
		schema, err := plan.ParseTypeJSON(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		o, err := JSONOptionsOf(c.Options, time.UTC, 0)
		if err != nil {
			t.Fatal(err)
		}
		var chunks []*chunk.Chunk
		r, err := NewJSONReader(schema.AsNullable(), o)
		if err == nil {
			chunks, err = chunk.Collect(r.Read(bytes.NewReader(data)))
		}
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

// The table was recorded from Spark by testdata/record_infer.py.
func TestJSONSchemasAreInferredAsInSpark(t *testing.T) {
	eachLine(t, "testdata/json_infer.jsonl", func(line []byte) {
		var c struct {
			Options       plan.Options
			Lines         []string
			Schema, Error string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		o, err := JSONOptionsOf(c.Options, time.UTC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewJSONInference(o)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, l := range c.Lines {
			text += l + "\n"
		}
		err = f.Read(strings.NewReader(text))
		got, err2 := f.Schema()
		if err == nil {
			err = err2
		}
		if (err != nil) != (c.Error != "" && len(c.Lines) > 0) {
			t.Errorf("%v %v: got error %v, want %q", c.Options, c.Lines, err, c.Error)
		}
		// Spark trips over NaN as a decimal; here it is a double.
		if c.Error != "" || o.PrefersDecimal && strings.Contains(text, "NaN") {
			return
		}
		want, err := plan.ParseTypeJSON(c.Schema)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equal(want) {
			t.Errorf("%v %v:\ngot  %s\nwant %s", c.Options, c.Lines, got.Simple(), want.Simple())
		}
	})
}

// written are the values of the SELECT lists in the table, by their beginning.
var written = map[string][]plan.Value{
	"1 AS a, 'x'":  {int64(1), "x", nil},
	"1.50 AS a":    {dec(150), 1.0, 1e20, float32(1.5), math.NaN(), float32(math.Inf(-1))},
	"DATE '2024":   {int32(19782), int64(1709201472123456), int64(1709201472500000), int64(1709201472000000)},
	"array(1, N":   {list(int64(1), nil, int64(3)), list(), list(list(int64(1), nil))},
	"struct(1 AS":  {list(int64(1), nil), list(nil)},
	"X'616263'":    {[]byte("abc"), true, int64(1), int64(2), int64(3), dec(100), dec(0)},
	"INTERVAL '1'": {int64(86400000000), int32(14), plan.Interval{Months: 14, Days: 21}, int64(93784500000)},
	"'q":           {"q\"\\/\n\t\bf\ré😀<>&\u2028\x01\x7f"},
	"NULL AS a":    {nil},
	"map('a', 1": {mapOf("a", int64(1), "b", nil), mapOf(), mapOf(int64(1), "x"), mapOf(int32(19723), int64(2)),
		mapOf(int64(1704067200000000), int64(3), int64(1704067200500000), int64(4))},
	"map(struct": {mapOf(list(int64(1), int64(2)), int64(1))},
}

func dec(x int64) plan.Value { return decimal128.FromI64(x) }

func list(x ...plan.Value) plan.Value { return append([]plan.Value{}, x...) }

func mapOf(x ...plan.Value) plan.Value {
	m := plan.MapValue{}
	for i := 0; i < len(x); i += 2 {
		m.Keys, m.Values = append(m.Keys, x[i]), append(m.Values, x[i+1])
	}
	return m
}

// The table was recorded from Spark by testdata/record_json.py.
func TestJSONWritesAsSpark(t *testing.T) {
	compared := 0
	eachLine(t, "testdata/json_write.jsonl", func(line []byte) {
		var c struct {
			Select, Zone, Type, Text string
			Options                  plan.Options
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		schema, err := plan.ParseTypeJSON(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := Zone(c.Zone)
		if err != nil {
			t.Fatal(err)
		}
		o, err := JSONOptionsOf(c.Options, zone, 0)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewJSONWriter(schema, o)
		if err != nil {
			t.Fatal(err)
		}
		for start, values := range written {
			// Literals with a time stand in the session's zone; the values above are of UTC.
			if !strings.HasPrefix(c.Select, start) || c.Zone != "UTC" && strings.Contains(c.Select, "TIMESTAMP") {
				continue
			}
			compared++
			row := chunk.FromRows(schema, values)
			got, err := w.AppendRow(nil, row.Cols, 0)
			if err != nil || string(got) != c.Text {
				t.Errorf("%s %v:\ngot  %s, %v\nwant %s", c.Select, c.Options, got, err, c.Text)
			}
		}
	})
	if compared < 70 {
		t.Errorf("only %d comparisons", compared)
	}
}
