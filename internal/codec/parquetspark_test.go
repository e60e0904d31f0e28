package codec

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/google/go-cmp/cmp"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// The file was written by Spark 4.3.0 with its defaults, so ts is INT96.
func TestParquetFileOfSparkIsRead(t *testing.T) {
	data, err := os.ReadFile("testdata/spark_int96.parquet")
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenParquet(bytes.NewReader(data), int64(len(data)), "spark_int96.parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	schema := f.Schema()
	if got := schema.Fields[4].Type.Simple(); got != "interval day to hour" {
		t.Errorf("the interval's type is %s", got)
	}
	chunks, err := chunk.Collect(f.Read(t.Context(), schema))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for i, ts := range []string{
		"9999-12-31 23:59:59.999999", "null", "0001-01-01 00:00:00", "2024-02-29 10:11:12.123456",
		"1969-12-31 23:59:59.5",
	} {
		n := string(rune('1' + i))
		want = append(want, "{"+n+", "+ts+", {"+n+", "+n+".00, ["+n+", null]}, {"+n+
			" -> 2024-01-01}, INTERVAL '1 02' DAY TO HOUR}")
	}
	if diff := cmp.Diff(rowTexts(schema, chunks), want); diff != "" {
		t.Errorf("got -, want +\n%s", diff)
	}
	only := plan.Struct(schema.Fields[1])
	if chunks, err = chunk.Collect(f.Read(t.Context(), only)); err != nil || chunks[0].Rows != 5 {
		t.Errorf("the INT96 column alone: %v, %v", chunks, err)
	}
}

func TestOnlyRepetitiveColumnsHaveADictionary(t *testing.T) {
	schema := plan.Struct(plan.Col("id", plan.Long), plan.Col("word", plan.String),
		plan.Col("words", plan.Array(plan.String, true)), plan.Col("st", plan.Struct(plan.Col("x", plan.Int))))
	var chunks []*chunk.Chunk
	for k := range 4 {
		c := chunk.NewChunk(schema, 1000)
		for i := range 1000 {
			word := []string{"a", "b", "c"}[i%3]
			c.AppendValues([]plan.Value{int64(k*1000 + i), word, []plan.Value{word, nil}, []plan.Value{int64(i % 7)}})
		}
		chunks = append(chunks, c)
	}
	data, sum := write(t, schema, ParquetOptions{}, chunks...)
	if sum.Rows != 4000 {
		t.Errorf("%d rows", sum.Rows)
	}
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var with []string
	for i := range 4 {
		c, err := r.MetaData().RowGroup(0).ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		if c.HasDictionaryPage() {
			with = append(with, c.PathInSchema().String())
		}
	}
	if want := []string{"word", "words.list.element", "st.x"}; !slices.Equal(with, want) {
		t.Errorf("dictionaries for %v, want %v", with, want)
	}
	if rows := readBack(t, data, schema); len(rows) != 4000 || rows[3999][0] != int64(3999) {
		t.Errorf("%d rows came back", len(rows))
	}
}
