package session

import (
	"os"
	"testing"

	"github.com/weir-dev/weir/internal/vfs"
)

// One of the observations of Spark in ../connector/file/testdata/avro/cases.jsonl reads
// expressions, which are the analysis's and not the source's.
func TestExpressionsOverAvroFiles(t *testing.T) {
	fsys := vfs.NewMemory()
	data, err := os.ReadFile("../connector/file/testdata/avro/all.avro")
	if err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteNew(fsys, "/all.avro", data); err != nil {
		t.Fatal(err)
	}
	s := openEngine(t, fsys).NewSession("u", "s")
	rows := must(t, s, "SELECT count(*), max(i), max(st.b.d[0].e), count(st.b.d) FROM avro.`/all.avro`")
	if rows[0] != "[3,3,1,1]" {
		t.Errorf("got %s of the rows {[{1}], 3}, {null, null}, {null, -2147483648}", rows[0])
	}
}
