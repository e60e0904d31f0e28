package avro

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

var eventType = plan.Struct(plan.Col("id", plan.Long), plan.Col("name", plan.String), plan.Col("at",
	plan.Timestamp),
	plan.Col("price", plan.Double), plan.Col("ok", plan.Boolean), plan.Col("tags",
		plan.Array(plan.String, true)),
	plan.Col("more", plan.Map(plan.String, plan.Int, true)))

// events is a file of n rows.
func events(t testing.TB, n int, codec string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewFileWriter(&out, eventType, FileOptions{Codec: codec, Sync: [16]byte{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	c := chunk.NewChunk(eventType, n)
	for i := range n {
		c.AppendValues([]plan.Value{int64(i), fmt.Sprintf("the name of row number %d", i),
			int64(i) * 1e6, float64(i) / 2,
			i%2 == 0, []plan.Value{"a", nil, "ccc"}, plan.MapValue{Keys: []plan.Value{"k"},
				Values: []plan.Value{int64(i)}}})
	}
	if err := w.Write(c); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll is the rows before an error, and the error.
func readAll(data []byte, want plan.Type, o ReadOptions) (rows int, err error) {
	f, err := OpenFile(bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	for c, err := range f.Rows(context.Background(), want, o) {
		if err != nil {
			return rows, err
		}
		rows += c.Rows
	}
	return rows, nil
}

func TestCutFilesAreNamedWithTheirBlock(t *testing.T) {
	data := events(t, 3000, "uncompressed")
	whole, err := readAll(data, eventType, ReadOptions{})
	if err != nil || whole != 3000 {
		t.Fatalf("%d rows, %v", whole, err)
	}
	for cutAt := 0; cutAt < len(data); cutAt += 997 {
		rows, err := readAll(data[:cutAt], eventType, ReadOptions{})
		if err == nil && rows == whole || err != nil && !strings.Contains(err.Error(), "Avro") {
			t.Errorf("cut at byte %d: %d rows, %v", cutAt, rows, err)
		}
	}
}

func TestRowsBeforeABrokenRecordStay(t *testing.T) {
	// The branch of the last row's first column becomes 9.
	var body []byte
	for i := range int64(5) {
		branch := int64(0)
		if i == 4 {
			branch = 9
		}
		body = binary.AppendVarint(binary.AppendVarint(body, branch), i)
	}
	data := file(`{"type":"record","name":"r","fields":[{"name":"id","type":["long","null"]}]}`, "null", 5, body)
	rows, err := readAll(data, plan.Struct(plan.Col("id", plan.Long)), ReadOptions{})
	if rows != 4 || err == nil || !strings.Contains(err.Error(), "branch 9 of 2") ||
		!strings.Contains(err.Error(), "byte 1") {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// file is a file of one block.
func file(schema, codec string, rows int64, body []byte) []byte {
	out := append([]byte(magic), 4)
	for _, s := range []string{"avro.schema", schema, "avro.codec", codec} {
		out = append(binary.AppendVarint(out, int64(len(s))), s...)
	}
	out = append(append(out, 0), make([]byte, 16)...)
	out = binary.AppendVarint(binary.AppendVarint(out, rows), int64(len(body)))
	return append(append(out, body...), make([]byte, 16)...)
}

func TestHostileFilesAreRefused(t *testing.T) {
	long := `{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}`
	list := `{"type":"record","name":"r","fields":[{"name":"id","type":{"type":"array","items":"%s"}}]}`
	want := plan.Struct(plan.Col("id", plan.Long))
	var bomb bytes.Buffer
	w, _ := flate.NewWriter(&bomb, 9)
	zeros := make([]byte, 1<<20)
	for range 200 {
		w.Write(zeros)
	}
	w.Close()
	var squeezed bytes.Buffer
	z, _ := zstd.NewWriter(&squeezed)
	for range 200 {
		z.Write(zeros)
	}
	z.Close()
	number := func(n ...int64) (out []byte) {
		for _, x := range n {
			out = binary.AppendVarint(out, x)
		}
		return out
	}
	nulls := plan.Struct(plan.Col("id", plan.Array(plan.Null, true)))
	for _, c := range []struct {
		name string
		data []byte
		want plan.Type
		says string
	}{
		{"a deflate bomb", file(long, "deflate", 1, bomb.Bytes()), want, "when it is decompressed"},
		{"a zstandard bomb", file(long, "zstandard", 1, squeezed.Bytes()), want, "when it is decompressed"},
		{"a snappy lie", file(long, "snappy", 1, append(binary.AppendUvarint(nil, 100<<20), 0, 0, 0,
			0)), want, "promise more"},
		{"snappy without a checksum", file(long, "snappy", 1, []byte{1}), want, "checksum"},
		{"more rows than bytes", file(long, "null", 1<<40, []byte{2}), want, "cannot be in 1 bytes"},
		{"a negative number of rows", file(long, "null", -1, []byte{2}), want, "-1 records"},
		{"bytes behind the rows", file(long, "null", 1, []byte{2, 2}), want, "behind its last record"},
		{"an endless number", file(long, "null", 1, bytes.Repeat([]byte{0xff}, 11)), want, "64 bits"},
		{"elements that are not there", file(fmt.Sprintf(list, "int"), "null", 1, number(1<<40)),
			plan.Struct(plan.Col("id", plan.Array(plan.Int, true))), "elements cannot be"},
		{"a billion nulls", file(fmt.Sprintf(list, "null"), "null", 1, number(1<<30, 0)), nulls,
			"elements cannot be"},
		{"many lists of nulls", file(fmt.Sprintf(list, "null"), "null", 3, number(1<<19, 1<<19, 1<<19,
			0, 0, 0)), nulls,
			"elements cannot be"},
		{"a length of 50 MB", file(strings.Replace(long, `"long"`, `"bytes"`, 1), "null", 1, number(50<<20)),
			plan.Struct(plan.Col("id", plan.Binary)), "goes on behind"},
		{"a negative length", file(strings.Replace(long, `"long"`, `"bytes"`, 1), "null", 1, number(-5)),
			plan.Struct(plan.Col("id", plan.Binary)), "negative"},
		{"xz", file(long, "xz", 1, nil), want, "xz"},
		{"no codec", file(long, "lzo", 1, nil), want, "lzo"},
	} {
		if rows, err := readAll(c.data, c.want, ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %d rows, %v", c.name, rows, err)
		}
	}
	block := append(file(long, "null", 0, nil), number(1, 50<<30)...)
	if _, err := readAll(block, want, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a block of 50 GB: %v", err)
	}
}

func TestDeepValuesThatNobodyReadsAreBounded(t *testing.T) {
	schema := `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"next","type":["null","r"]}]}`
	body := bytes.Repeat([]byte{2, 2}, 5000)
	_, err := readAll(file(schema, "null", 1, append(body, 2, 0)), plan.Struct(plan.Col("id",
		plan.Long)), ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "nested") {
		t.Errorf("5,000 records within each other: %v", err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add(events(f, 3, "uncompressed"))
	for _, codec := range []string{"deflate", "snappy", "zstandard"} {
		f.Add(events(f, 3, codec))
	}
	f.Add(file(`{"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]}]}`, "null", 1, []byte{2, 2, 0}))
	f.Add(file(`{"type":"record","name":"r","fields":[{"name":"m","type":{"type":"map","values":["int","string"]}}]}`,
		"null", 1, []byte{1, 2, 2, 'a', 0, 2, 0}))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := OpenFile(bytes.NewReader(data))
		if err != nil {
			return
		}
		want, err := file.Schema().Columns(TypeOptions{Depth: 3})
		if err != nil {
			return
		}
		for c, err := range file.Rows(context.Background(), want, ReadOptions{}) {
			if err != nil {
				return
			}
			for i, col := range c.Cols {
				if col.Len != c.Rows {
					t.Fatalf("column %d has %d rows of %d", i, col.Len, c.Rows)
				}
			}
			if c.Rows > 0 {
				_ = c.Row(c.Rows - 1)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	data := events(b, 100_000, "uncompressed")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if rows, err := readAll(data, eventType, ReadOptions{}); err != nil || rows != 100_000 {
			b.Fatal(rows, err)
		}
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkReadCompressed is a file of each codec that is read; bytes are those of its records.
func BenchmarkReadCompressed(b *testing.B) {
	plain := len(events(b, 50_000, "uncompressed"))
	for _, codec := range []string{"deflate", "snappy", "zstandard"} {
		data := events(b, 50_000, codec)
		b.Run(codec, func(b *testing.B) {
			b.SetBytes(int64(plain))
			b.ReportAllocs()
			for b.Loop() {
				if rows, err := readAll(data, eventType, ReadOptions{}); err != nil || rows != 50_000 {
					b.Fatal(rows, err)
				}
			}
		})
	}
}

// BenchmarkWrite is a file of rows with lists and maps.
func BenchmarkWrite(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		events(b, 50_000, "snappy")
	}
	b.ReportMetric(float64(b.N)*50_000/b.Elapsed().Seconds(), "rows/s")
}

// A row of about 135 bytes without maps or lists.
func BenchmarkReadFlat(b *testing.B) {
	flat := plan.Struct(plan.Col("id", plan.Long), plan.Col("name", plan.String), plan.Col("at", plan.Timestamp),
		plan.Col("price", plan.Double), plan.Col("n", plan.Int), plan.Col("text", plan.String))
	c := chunk.NewChunk(flat, 1000)
	for i := range 1000 {
		c.AppendValues([]plan.Value{int64(i), "the name of a row", int64(i) * 1e6, 0.5, int64(i),
			strings.Repeat("x", 90)})
	}
	var out bytes.Buffer
	w, err := NewFileWriter(&out, flat, FileOptions{Codec: "uncompressed"})
	if err != nil {
		b.Fatal(err)
	}
	for range 100 {
		if err := w.Write(c); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(out.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if rows, err := readAll(out.Bytes(), flat, ReadOptions{}); err != nil || rows != 100_000 {
			b.Fatal(rows, err)
		}
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "rows/s")
}
