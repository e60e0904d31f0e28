package codec

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// The table was recorded from Spark by testdata/record_csvread.py.
func TestCSVReadsAsSpark(t *testing.T) {
	if unsupported := csvReadings(t, "testdata/csv_read.jsonl"); unsupported != 24 {
		t.Errorf("%d cases are refused by name, want 24: intervals, variants and words in French", unsupported)
	}
}

// TestCSVOfQuotesAndEscapesReadsAsSpark reads lines that somebody threw quotes, escapes
// and separators into; testdata/record_csvnasty.py recorded them.
func TestCSVOfQuotesAndEscapesReadsAsSpark(t *testing.T) {
	csvReadings(t, "testdata/csv_nasty.jsonl")
}

// csvReadings compares readings with a table, and counts those that are refused by name.
func csvReadings(t *testing.T, table string) (unsupported int) {
	t.Helper()
	eachLine(t, table, func(line []byte) {
		var c struct {
			Schema, File, Type, Error string
			Options                   plan.Options
			Select, Rows              []string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		data, err := hex.DecodeString(c.File)
		if err != nil {
			t.Fatal(err)
		}
		if c.Type == "" && c.Error != "" && c.Error != "Py4JJavaError" {
			return
		}
		file, err := plan.ParseTypeJSON(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		if sparkTrips(c.Options, data, c.Error) {
			return
		}
		file = file.AsNullable()
		want := file
		if c.Select != nil {
			want = plan.Struct()
			for _, name := range c.Select {
				i := slices.IndexFunc(file.Fields, func(f plan.Field) bool { return f.Name == name })
				want.Fields = append(want.Fields, file.Fields[i])
			}
		}
		got, err := readCSV(c.Options, want, file, data)
		if refusal, ok := err.(*plan.Error); ok && refusal.Class == plan.ClassJavaUnsupported {
			unsupported++
			return
		}
		if err != nil || c.Error != "" {
			if c.Error == "" || err == nil {
				t.Errorf("%s %v %.200q: got error %v, want %q", c.Schema, c.Options, data, err, c.Error)
			}
			return
		}
		if !slices.Equal(got, c.Rows) {
			t.Errorf("%.50s %v %v %.60q: got %.150q, want %.150q", c.Schema, c.Options, c.Select, data, got, c.Rows)
		}
	})
	return unsupported
}

// sparkTrips tells the cases in which Spark does what nobody can want: it looks
// for line ends before it decodes two or four bytes to a character, reads in front
// of its buffer while it trims, and takes the second separator of a pair for text
// behind an escape.
func sparkTrips(o plan.Options, data []byte, failure string) bool {
	encoding, _ := o.Get("encoding")
	_, whole := o.Get("multiLine")
	_, trims := o.Get("ignoreTrailingWhiteSpace")
	sep, _ := o.Get("sep")
	return (strings.HasPrefix(encoding, "UTF-16") || strings.HasPrefix(encoding, "UTF-32")) && !whole ||
		trims && failure != "" || sep == ",," && bytes.Contains(data, []byte(`\"`))
}

// readCSV is the rows as text, or their number when no column is wanted.
func readCSV(options plan.Options, want, file plan.Type, data []byte) ([]string, error) {
	o, err := CSVReadOptionsOf(options, time.UTC, 0)
	if err != nil {
		return nil, err
	}
	r, err := NewCSVReader(want, file, o)
	if err != nil {
		return nil, err
	}
	chunks, err := chunk.Collect(r.Read(bytes.NewReader(data)))
	if err != nil || len(want.Fields) > 0 {
		return rowTexts(want, chunks), err
	}
	rows := 0
	for _, c := range chunks {
		rows += c.Rows
	}
	return []string{strconv.Itoa(rows)}, nil
}

// The table was recorded from Spark by testdata/record_csvread.py.
func TestCSVSchemasAreInferredAsInSpark(t *testing.T) {
	eachLine(t, "testdata/csv_infer.jsonl", func(line []byte) {
		var c struct {
			Options      plan.Options
			File, Schema string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		data, err := hex.DecodeString(c.File)
		if err != nil {
			t.Fatal(err)
		}
		want, err := plan.ParseTypeJSON(c.Schema)
		if err != nil {
			t.Fatal(err)
		}
		o, err := CSVReadOptionsOf(c.Options, time.UTC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewCSVInference(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Read(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if got, _ := f.Schema(); !got.Equal(want) {
			t.Errorf("%v %q: got %s, want %s", c.Options, data, got.Simple(), want.Simple())
		}
	})
}

// What Spark 4.3 answers to readings that were once wrong here.
func TestCSVReadingsThatWereWrong(t *testing.T) {
	three := plan.Struct(plan.Col("a", plan.String), plan.Col("b", plan.String),
		plan.Col("_corrupt_record", plan.String))
	price := plan.Struct(plan.Col("a", plan.Decimal(10, 2)), plan.Col("_corrupt_record", plan.String))
	for _, c := range []struct {
		schema  plan.Type
		options plan.Options
		file    string
		want    []string
	}{
		{three, plan.Options{"multiLine": "true", "lineSep": "\n"}, "1,\"a\nb\"\n2,c\n",
			[]string{"{1, a\nb, null}", "{2, c, null}"}},
		{three, plan.Options{"multiLine": "true", "ignoreLeadingWhiteSpace": "true"}, "a,b\n \nc,d\n",
			[]string{"{a, b, null}", "{c, d, null}"}},
		{price, nil, "\"1,000.5\"\n\"1,00\"\n", []string{"{1000.50, null}", "{100.00, null}"}},
	} {
		got, err := readCSV(c.options, c.schema, c.schema, []byte(c.file))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v %q: %q %v, want %q", c.options, c.file, got, err, c.want)
		}
	}
}

func TestCSVOptionsThatAreNotObeyedAreRefused(t *testing.T) {
	for name, value := range map[string]string{"singleVariantColumn": "v", "samplingRatio": "0"} {
		_, err := CSVReadOptionsOf(plan.Options{name: value}, time.UTC, 0)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
