package codec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

func bidSchema() plan.Type {
	return plan.Struct(plan.Col("auction", plan.Long), plan.Col("bidder", plan.Long),
		plan.Col("price", plan.Long), plan.Col("channel", plan.String), plan.Col("url", plan.String),
		plan.Col("dateTime", plan.Timestamp))
}

// bids are n records of about 234 bytes.
func bids(n int) []byte {
	var b bytes.Buffer
	channels := []string{"Google", "Facebook", "Baidu", "Apple"}
	for i := range n {
		fmt.Fprintf(&b, `{"auction":%d,"bidder":%d,"price":%d,"channel":"%s",`+
			`"url":"https://www.nexmark.com/%06d/item.htm?query=1&channel_id=%09d",`+
			`"dateTime":"2024-06-%02dT%02d:%02d:%02d.%03dZ","extra":"%s"}`+"\n",
			1000+i%5000, 2000+i%7000, 100+i*37%100000, channels[i%4], i%1000000, i*7919%1000000000,
			1+i%28, i%24, i%60, i*7%60, i%1000, strings.Repeat("x", 40))
	}
	return b.Bytes()
}

func BenchmarkJSONDecode(b *testing.B) {
	data := bids(20000)
	for name, schema := range map[string]plan.Type{
		"6of7": bidSchema(), "3of7": plan.Struct(bidSchema().Fields[:3]...),
		"2of7": plan.Struct(bidSchema().Fields[1], bidSchema().Fields[5]),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			rows := 0
			for b.Loop() {
				rows += countRows(b, schema, data)
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(len(data))/20000, "B/row")
		})
	}
}

func countRows(b *testing.B, schema plan.Type, data []byte) int {
	r, err := NewJSONReader(schema, JSONOptions{})
	if err != nil {
		b.Fatal(err)
	}
	rows := 0
	for c, err := range r.Read(bytes.NewReader(data)) {
		if err != nil {
			b.Fatal(err)
		}
		rows += c.Rows
	}
	return rows
}

func TestReadsAFileOfRecords(t *testing.T) {
	r, err := NewJSONReader(bidSchema(), JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := chunk.Collect(r.Read(bytes.NewReader(bids(2500))))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, c := range chunks {
		if c.Rows > chunk.MaxRows {
			t.Errorf("a chunk of %d rows", c.Rows)
		}
		rows += c.Rows
	}
	if rows != 2500 {
		t.Errorf("got %d rows, want 2500", rows)
	}
	got := fmt.Sprint(chunks[1].Row(0)[:5])
	want := "[2024 3024 37988 Google https://www.nexmark.com/001024/item.htm?query=1&channel_id=008109056]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
