package codec

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

func hostileJSON(f *testing.F) {
	for _, s := range []string{
		`{"i":1,"s":"x\u00e9\ud83d\ude00","l":[1,2,{"x":null}],"m":{"a":1.5e3},"t":"2024-01-02T03:04:05Z"}`,
		`[{"i":1},{"i":"x"}]`, `{"l":[1,"x"]}`, `{"i":1,"i":2,"l":[],"l":[3]}`, `{'i':NaN}`, "\xef\xbb\xbf{}",
		`{"d":1e400,"x":123.456,"s":"\ud800"}`, `{"m":{"a":{"b":[]}}}`, `{`, `"`, `{"i`, `[[[[`,
		`{"st":{"x":1,"y":[{"z":"2024-01-01"}]}}`, "{\"s\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
}

var fuzzSchema = plan.Struct(plan.Col("i", plan.Int), plan.Col("s", plan.String), plan.Col("d", plan.Double),
	plan.Col("x", plan.Decimal(10, 3)), plan.Col("t", plan.Timestamp), plan.Col("l", plan.Array(plan.Int, true)),
	plan.Col("m", plan.Map(plan.String, plan.Double, true)), plan.Col("b", plan.Binary),
	plan.Col("st", plan.Struct(plan.Col("x", plan.Long),
		plan.Col("y", plan.Array(plan.Struct(plan.Col("z", plan.Date)), true)))),
	plan.Col("_corrupt_record", plan.String))

// check reports columns that do not hold together.
func check(t *testing.T, v *chunk.Vector, rows int) {
	t.Helper()
	if v.Len != rows {
		t.Fatalf("column of %s has %d rows, want %d", v.Type.Simple(), v.Len, rows)
	}
	kids := rows
	if v.Offsets != nil {
		if len(v.Offsets) != rows+1 {
			t.Fatalf("%d offsets for %d rows", len(v.Offsets), rows)
		}
		kids = int(v.Offsets[rows])
	}
	for _, k := range v.Kids {
		check(t, k, kids)
	}
}

func FuzzJSONReader(f *testing.F) {
	hostileJSON(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range []JSONOptions{
			{}, {Mode: DropMalformed}, {Mode: FailFast}, {MultiLine: true}, {LineSep: ","},
			{AllowComments: true, AllowUnquotedNames: true, AllowBackslashAny: true, AllowControlChars: true},
		} {
			r, err := NewJSONReader(fuzzSchema, o)
			if err != nil {
				t.Fatal(err)
			}
			for c, err := range r.Read(bytes.NewReader(data)) {
				if err != nil {
					break
				}
				for _, v := range c.Cols {
					check(t, v, c.Rows)
				}
			}
		}
		for _, typ := range []plan.Type{fuzzSchema, fuzzSchema.Fields[5].Type, fuzzSchema.Fields[6].Type,
			plan.Array(fuzzSchema, true)} {
			r, err := NewJSONReader(typ, JSONOptions{Function: true})
			if err != nil {
				t.Fatal(err)
			}
			v := chunk.New(typ, 2)
			for range 2 {
				if err := r.AppendValue(data, v); err != nil {
					t.Fatal(err)
				}
			}
			check(t, v, 2)
		}
		inference, err := NewJSONInference(JSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := inference.Read(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		_, _ = inference.Schema()
	})
}

// FuzzJSONGrammar compares what is JSON with encoding/json, where the two mean
// the same: Jackson also wants valid UTF-8 and bounds nesting and numbers.
func FuzzJSONGrammar(f *testing.F) {
	hostileJSON(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) || len(data) > maxJSONDigits {
			return
		}
		s := jsonScanner{b: data}
		i := s.space(0)
		end := s.skip(i)
		ours := end >= 0 && s.space(end) == len(data)
		if theirs := json.Valid(data); ours != theirs {
			t.Fatalf("%q: is JSON: %v here, %v for encoding/json", data, ours, theirs)
		}
	})
}

func FuzzTexts(f *testing.F) {
	for _, s := range []string{
		"2024-02-29 10:11:12.5+01:00", "-1.5e10", "0x1p3f", "T1:2", "294247-01-10 04:00:54.775807 Europe/Paris",
	} {
		f.Add(s, "yyyy-MM-dd'T'HH:mm[:ss[.SSS]] VV")
	}
	zone := NewOffsets(time.UTC)
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if days, ok := ParseDate(text); ok {
			if again, ok := ParseDate(string(AppendDate(nil, days))); !ok || again != days {
				t.Fatalf("%q is day %d and then %d", text, days, again)
			}
		}
		if micros, ok := ParseTimestamp(text, zone, 0); ok {
			printed := string(AppendTimestamp(nil, micros, zone))
			if again, ok := ParseTimestamp(printed, zone, 0); !ok || again != micros {
				t.Fatalf("%q is %d, printed %s, read %d", text, micros, printed, again)
			}
		}
		if x, ok := ParseDouble(text); ok {
			if again, ok := ParseDouble(string(AppendDouble(nil, x))); !ok || again != x && x == x {
				t.Fatalf("%q is %g and then %g", text, x, again)
			}
		}
		if x, ok := ParseInt(text, true); ok {
			if again, ok := ParseInt(string(appendInt(nil, x)), false); !ok || again != x {
				t.Fatalf("%q is %d and then %d", text, x, again)
			}
		}
		ParseTimestampNTZ(text, true)
		ParseDecimal(text, plan.Decimal(20, 5))
		p, err := CompilePattern(pattern, PatternUse{Parse: true})
		if err != nil {
			return
		}
		_, _ = p.ParseTimestamp(text, zone)
		_, _ = p.ParseDate(text)
		if p, err = CompilePattern(pattern, PatternUse{}); err == nil {
			_, _ = p.AppendTimestamp(nil, int64(len(text))*1e12, zone)
			_, _ = p.AppendDate(nil, int32(len(text)))
		}
	})
}

func FuzzBinaryForms(f *testing.F) {
	f.Add([]byte{2, 1, 0, 0, 2, 12, 1}, []byte{1, 1, 0, 1, 'A'})
	f.Add([]byte("\x00\x00\x00\x03\x00\x00\x00\x05\x03\x08abc"), []byte{})
	zone := NewOffsets(time.UTC)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		AppendVariant(nil, a, b, zone)
		for _, c := range compressions() {
			r, err := Decompress("x"+c.ext, bytes.NewReader(a))
			if err != nil {
				continue
			}
			if _, err := io.Copy(io.Discard, io.LimitReader(r, 1<<20)); err != nil {
				continue
			}
			r.Close()
		}
	})
}

func FuzzCSVReader(f *testing.F) {
	for _, s := range []string{
		"1,a,1.5,2024-01-02 03:04:05\n", `"a""b",c,"d`, `"a"b,"c\"d",` + "\r\n", "#c\n\n ,\t\n", "\xef\xbb\xbfi,s\n1,x",
		`"a` + "\n" + `b",1|x`, "\x00,\xff,\"", `\,\"`, `""a,b" c`, "i,s,d,x,t,b\n1,,NaN,1e3,x,y",
	} {
		f.Add([]byte(s))
	}
	schema := plan.Struct(plan.Col("i", plan.Int), plan.Col("s", plan.String), plan.Col("d", plan.Double),
		plan.Col("x", plan.Decimal(10, 3)), plan.Col("t", plan.Timestamp), plan.Col("b", plan.Binary),
		plan.Col("_corrupt_record", plan.String))
	options := []plan.Options{
		{}, {"mode": "DROPMALFORMED"}, {"mode": "FAILFAST"}, {"multiLine": "true"}, {"lineSep": ";"}, {"sep": "||"},
		{"header": "true", "enforceSchema": "false"}, {"escape": `"`}, {"comment": "#", "quote": "'"}, {"maxColumns": "3"},
		{"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true", "maxCharsPerColumn": "5"},
	}
	for name := range quoteHandlings {
		options = append(options, plan.Options{"unescapedQuoteHandling": name, "multiLine": "true"})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, given := range options {
			o, err := CSVReadOptionsOf(given, time.UTC, 0)
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewCSVReader(schema, schema, o)
			if err != nil {
				t.Fatal(err)
			}
			for c, err := range r.Read(bytes.NewReader(data)) {
				if err != nil {
					break
				}
				for _, v := range c.Cols {
					check(t, v, c.Rows)
				}
			}
			inference, err := NewCSVInference(o)
			if err != nil {
				t.Fatal(err)
			}
			_ = inference.Read(bytes.NewReader(data))
		}
	})
}
