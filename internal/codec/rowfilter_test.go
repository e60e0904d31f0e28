package codec

import (
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
)

// Spark 4.3 counts these rows too (test/oracle, fs_filtered_rows): it asks a
// filter when the last of its fields has been read.
func TestAFilterLeavesOutWholeRowsOnly(t *testing.T) {
	const lines = `{"id":1,"s":"small"}
{"id":2,"s":"large"}
{"s":"without id"}
{"id":null,"s":"null"}
{"id":"bad","s":"wrong id"}
{broken
{"id":3,"s":"large"}
`
	big := RowFilter{Columns: []int{0}, True: func(c *chunk.Chunk) (chunk.Sel, error) {
		var sel chunk.Sel
		for i, id := range chunk.Values[int64](c.Cols[0])[:c.Rows] {
			if c.Cols[0].Valid.Get(i) && id > 1 {
				sel = append(sel, uint16(i))
			}
		}
		return sel, nil
	}}
	everything := RowFilter{Columns: []int{1}, True: func(*chunk.Chunk) (chunk.Sel, error) { return nil, nil }}
	schema := plan.Struct(plan.Col("id", plan.Long), plan.Col("s", plan.String))
	for _, c := range []struct {
		mode ParseMode
		want []plan.Value
	}{
		{Permissive, []plan.Value{"large", "without id", "wrong id", nil, "large"}},
		{DropMalformed, []plan.Value{"large", "without id", "large"}},
	} {
		r, err := NewJSONReader(schema, JSONOptions{Mode: c.mode, Filters: []RowFilter{big, everything}})
		if err != nil {
			t.Fatal(err)
		}
		var got []plan.Value
		for part, err := range r.Read(strings.NewReader(lines)) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range part.Rows {
				got = append(got, part.Cols[1].Value(i))
			}
		}
		testkit.Diff(t, "rows", got, c.want)
	}
}
