package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
)

// everyType is a column of each type that Parquet files hold.
var everyType = plan.Struct(
	plan.Col("bo", plan.Boolean), plan.Col("ti", plan.Byte), plan.Col("sm", plan.Short), plan.Col("i", plan.Int),
	plan.Col("l", plan.Long), plan.Col("f", plan.Float), plan.Col("d", plan.Double),
	plan.Col("de", plan.Decimal(9, 2)), plan.Col("df", plan.Decimal(38, 10)), plan.Col("s", plan.String),
	plan.Col("bi", plan.Binary), plan.Col("da", plan.Date), plan.Col("ts", plan.Timestamp),
	plan.Col("tn", plan.TimestampNTZ), plan.Col("dt", plan.DayTime), plan.Col("ym", plan.YearMonth),
	plan.Col("a", plan.Array(plan.Int, true)), plan.Col("m", plan.Map(plan.String, plan.Long, true)),
	plan.Col("st", plan.Struct(plan.Col("x", plan.Int), plan.Col("y", plan.Array(plan.String, true)))),
)

func everyRow() []plan.Value {
	return []plan.Value{
		true, int64(-1), int64(300), int64(70000), int64(1) << 40, float32(1.5), -2.5,
		decimal128.FromI64(12345), decimal128.FromI64(-1), "ünï", []byte{0, 255}, int32(19000),
		int64(1_700_000_000_123_456), int64(-1), int64(90_061_000_000), int32(14),
		[]plan.Value{int64(1), nil}, plan.MapValue{Keys: []plan.Value{"k"}, Values: []plan.Value{int64(2)}},
		[]plan.Value{int64(5), []plan.Value{"a", nil}},
	}
}

func nullRow(schema plan.Type) []plan.Value { return make([]plan.Value, len(schema.Fields)) }

func write(
	t testing.TB, schema plan.Type, o ParquetOptions, chunks ...*chunk.Chunk,
) ([]byte, ParquetSummary) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewParquetWriter(&buf, schema, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range chunks {
		if err := w.Append(c); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), s
}

func readBack(t testing.TB, file []byte, want plan.Type) [][]plan.Value {
	t.Helper()
	f, err := OpenParquet(bytes.NewReader(file), int64(len(file)), "file.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := [][]plan.Value{}
	for c, err := range f.Read(t.Context(), want) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Rows {
			rows = append(rows, c.Row(i))
		}
	}
	return rows
}

var sameDecimals = cmp.Comparer(func(a, b chunk.Dec) bool { return a == b })

func TestParquetGivesBackEveryType(t *testing.T) {
	want := [][]plan.Value{everyRow(), nullRow(everyType), everyRow()}
	for name := range parquetCodecs {
		file, s := write(t, everyType, ParquetOptions{Compression: name}, chunk.FromRows(everyType, want[0]),
			chunk.FromRows(everyType), chunk.FromRows(everyType, want[1:]...))
		if diff := cmp.Diff(want, readBack(t, file, everyType), sameDecimals); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
		if s.Rows != 3 || s.Columns[0].Nulls != 1 {
			t.Errorf("%q: %d rows, %d nulls", name, s.Rows, s.Columns[0].Nulls)
		}
	}
}

func TestParquetKeepsSparksSchema(t *testing.T) {
	commented := plan.Field{Name: "c", Type: plan.VarChar(3), Metadata: `{"comment":"x"}`}
	schema := plan.Struct(commented, plan.Col("dt", plan.DayTime))
	file, _ := write(t, schema, ParquetOptions{})
	f, err := OpenParquet(bytes.NewReader(file), int64(len(file)), "f")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Schema(); !got.Equal(schema) || f.Rows() != 0 {
		t.Errorf("got %s with %d rows, want %s", got.JSON(), f.Rows(), schema.JSON())
	}
}

func TestParquetColumnsAreFoundByName(t *testing.T) {
	schema := plan.Struct(plan.Col("A", plan.Int), plan.Col("b", plan.String), plan.Col("c", plan.Struct(
		plan.Col("x", plan.Int), plan.Col("y", plan.Int))))
	file, _ := write(t, schema, ParquetOptions{}, chunk.FromRows(schema,
		[]plan.Value{int64(7), "s", []plan.Value{int64(1), int64(2)}}))
	for _, c := range []struct {
		want plan.Type
		rows []plan.Value
	}{
		{plan.Struct(plan.Col("b", plan.String), plan.Col("a", plan.Long)), []plan.Value{"s", int64(7)}},
		{plan.Struct(plan.Col("nope", plan.Double), plan.Col("A", plan.Decimal(12, 1))),
			[]plan.Value{nil, decimal128.FromI64(70)}},
		{plan.Struct(plan.Col("c", plan.Struct(plan.Col("Y", plan.Long), plan.Col("z", plan.Int)))),
			[]plan.Value{[]plan.Value{int64(2), nil}}},
		{plan.Struct(), []plan.Value{}},
	} {
		if diff := cmp.Diff([][]plan.Value{c.rows}, readBack(t, file, c.want), sameDecimals); diff != "" {
			t.Errorf("as %s: %s", c.want.Simple(), diff)
		}
	}
	f, err := OpenParquet(bytes.NewReader(file), int64(len(file)), "the-file")
	if err != nil {
		t.Fatal(err)
	}
	wide := plan.Struct(plan.Col("l", plan.Long))
	file, _ = write(t, wide, ParquetOptions{}, chunk.FromRows(wide, []plan.Value{int64(1)}))
	long, err := OpenParquet(bytes.NewReader(file), int64(len(file)), "the-file")
	if err != nil {
		t.Fatal(err)
	}
	for _, narrow := range []plan.Type{plan.Byte, plan.Short, plan.Int, plan.Double, plan.Decimal(10, 0)} {
		_, err := chunk.Collect(long.Read(t.Context(), plan.Struct(plan.Col("l", narrow))))
		if err == nil || !strings.Contains(err.Error(), "PARQUET_COLUMN_DATA_TYPE_MISMATCH") {
			t.Errorf("a bigint read as %s: %v", narrow.Simple(), err)
		}
	}
	_, err = chunk.Collect(f.Read(t.Context(), plan.Struct(plan.Col("b", plan.Int))))
	if err == nil || !strings.Contains(err.Error(), "PARQUET_COLUMN_DATA_TYPE_MISMATCH") ||
		!strings.Contains(err.Error(), "the-file") {
		t.Errorf("a string read as an int: %v", err)
	}
}

func TestParquetRangesOfColumns(t *testing.T) {
	schema := plan.Struct(plan.Col("l", plan.Long), plan.Col("d", plan.Double), plan.Col("s", plan.String),
		plan.Col("de", plan.Decimal(5, 1)), plan.Col("n", plan.Int), plan.Col("a", plan.Array(plan.Int, true)))
	long := strings.Repeat("é", 40)
	_, s := write(t, schema, ParquetOptions{},
		chunk.FromRows(schema, []plan.Value{int64(5), 1.0, "b", decimal128.FromI64(-3), nil, nil}),
		chunk.FromRows(schema, []plan.Value{int64(-2), nil, long, decimal128.FromI64(4), nil, nil}))
	want := []ColumnSummary{
		{Min: int64(-2), Max: int64(5)}, {Nulls: 1, Min: 1.0, Max: 1.0},
		{Min: "b", Max: strings.Repeat("é", 32) + "\U0010FFFF"},
		{Min: decimal128.FromI64(-3), Max: decimal128.FromI64(4)}, {Nulls: 2}, {Nulls: 2},
	}
	if diff := cmp.Diff(want, s.Columns, sameDecimals); diff != "" {
		t.Error(diff)
	}
	nan := plan.Struct(plan.Col("d", plan.Double))
	zero := 0.0
	_, s = write(t, nan, ParquetOptions{}, chunk.FromRows(nan, []plan.Value{1.0}, []plan.Value{zero / zero}))
	if s.Columns[0].Min != nil {
		t.Error("a column with NaN has a range")
	}
}

func TestParquetRefusesWhatSparkRefuses(t *testing.T) {
	for _, typ := range []plan.Type{plan.Null, plan.Calendar, plan.Array(plan.Null, true)} {
		_, err := NewParquetWriter(&bytes.Buffer{}, plan.Struct(plan.Col("c", typ)), ParquetOptions{})
		if err == nil || !strings.Contains(err.Error(), "UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE") {
			t.Errorf("%s: %v", typ.Simple(), err)
		}
	}
	_, err := NewParquetWriter(&bytes.Buffer{}, everyType, ParquetOptions{Compression: "lzo"})
	if err == nil || !strings.Contains(err.Error(), "CODEC_NOT_AVAILABLE") {
		t.Errorf("lzo: %v", err)
	}
}

// TestDamagedParquetIsAnErrorThatNamesTheFile flips and cuts bytes anywhere.
func TestDamagedParquetIsAnErrorThatNamesTheFile(t *testing.T) {
	rows := [][]plan.Value{everyRow(), nullRow(everyType), everyRow()}
	file, _ := write(t, everyType, ParquetOptions{}, chunk.FromRows(everyType, rows...))
	rapid.Check(t, func(t *rapid.T) {
		bad := append([]byte{}, file...)
		switch rapid.IntRange(0, 2).Draw(t, "damage") {
		case 0:
			bad = bad[:rapid.IntRange(0, len(bad)-1).Draw(t, "length")]
		case 1:
			bad[rapid.IntRange(0, len(bad)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		default:
			from := rapid.IntRange(0, len(bad)-1).Draw(t, "from")
			clear(bad[from:min(from+100, len(bad))])
		}
		f, err := OpenParquet(bytes.NewReader(bad), int64(len(bad)), "broken.parquet")
		if err == nil {
			_, err = chunk.Collect(f.Read(t.Context(), everyType))
		}
		if err != nil && !strings.Contains(err.Error(), "broken.parquet") {
			t.Fatalf("the error does not name the file: %v", err)
		}
	})
}

// TestForeignReadersAgree lets pyarrow and DuckDB read what was written.
func TestForeignReadersAgree(t *testing.T) {
	python := testkit.Python(t)
	file, _ := write(t, everyType, ParquetOptions{}, chunk.FromRows(everyType, everyRow(), nullRow(everyType)))
	path := filepath.Join(t.TempDir(), "f.parquet")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	const program = `
import json, sys, pyarrow.parquet as pq, duckdb
t = pq.read_table(sys.argv[1])
print(json.dumps({
  "types": [str(f.type) for f in t.schema],
  "row": {k: str(v) for k, v in t.slice(0, 1).to_pylist()[0].items()},
  "nulls": [c.null_count for c in t.columns],
  "duck": [str(x) for x in duckdb.sql(f"select count(*), sum(l), max(de), min(ts) from '{sys.argv[1]}'").fetchall()[0]],
}))`
	out, err := exec.Command(python, "-c", program, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Types []string
		Row   map[string]string
		Nulls []int
		Duck  []string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, n := range got.Nulls {
		if n != 1 {
			t.Errorf("column %s has %d nulls", everyType.Fields[i].Name, n)
		}
	}
	want := map[string]string{
		"de": "123.45", "s": "ünï", "da": "2022-01-08", "ts": "2023-11-14 22:13:20.123456+00:00",
		"a": "[1, None]", "m": "[('k', 2)]", "st": "{'x': 5, 'y': ['a', None]}", "ti": "-1",
	}
	for k, w := range want {
		if got.Row[k] != w {
			t.Errorf("pyarrow reads %s as %q, want %q", k, got.Row[k], w)
		}
	}
	if got.Duck[0] != "2" || got.Duck[1] != fmt.Sprint(int64(1)<<40) || got.Duck[2] != "123.45" {
		t.Errorf("DuckDB reads %v", got.Duck)
	}
}

func BenchmarkParquetSmallFile(b *testing.B) {
	schema := plan.Struct(plan.Col("timestamp", plan.Timestamp), plan.Col("value", plan.Long))
	c := chunk.NewChunk(schema, 10)
	for i := range int64(10) {
		c.AppendValues([]plan.Value{i, i})
	}
	b.ReportAllocs()
	for b.Loop() {
		write(b, schema, ParquetOptions{}, c)
	}
}

// BenchmarkParquetWrite is a file of 65,536 rows; bar: 1.3 times what arrow-go takes
// for the same rows with its defaults, which is printed beside.
func BenchmarkParquetWrite(b *testing.B) {
	schema := plan.Struct(plan.Col("id", plan.Long), plan.Col("word", plan.String), plan.Col("price",
		plan.Double),
		plan.Col("at", plan.Timestamp), plan.Col("n", plan.Int), plan.Col("text", plan.String))
	words := []string{"alpha", "beta", "gamma", "delta"}
	var chunks []*chunk.Chunk
	for k := range 64 {
		c := chunk.NewChunk(schema, chunk.MaxRows)
		for i := range chunk.MaxRows {
			n := int64(k*chunk.MaxRows + i)
			c.AppendValues([]plan.Value{n, words[n%4], float64(n*7919%10_007) / 100, 1_700_000_000_000_000 + n*1000,
				n % 1000, fmt.Sprint("a text of its own ", n*7919)})
		}
		chunks = append(chunks, c)
	}
	rows := func(b *testing.B) {
		b.ReportMetric(float64(b.N)*float64(64*chunk.MaxRows)/b.Elapsed().Seconds(), "rows/s")
	}
	b.Run("weir", func(b *testing.B) {
		for b.Loop() {
			write(b, schema, ParquetOptions{}, chunks...)
		}
		rows(b)
	})
	b.Run("arrow-go", func(b *testing.B) {
		as := chunk.ArrowSchema(schema, chunk.ArrowOptions{Zone: "UTC"})
		props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy))
		for b.Loop() {
			var out bytes.Buffer
			w, err := pqarrow.NewFileWriter(as, &out, props, pqarrow.DefaultWriterProps())
			if err != nil {
				b.Fatal(err)
			}
			for _, c := range chunks {
				if err := w.WriteBuffered(c.ToArrow(as)); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		}
		rows(b)
	})
}
