package deltatable

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

const logDir = "/ck/columns"

// described commits another schema of the table.
func (r *rig) described(version int, id, columns string) {
	r.t.Helper()
	r.commit(version, fmt.Sprintf(`{"metaData":{"id":%q,"format":{"provider":"parquet","options":{}},`+
		`"partitionColumns":[],"configuration":{},"schemaString":%q}}`, id, columns))
}

const (
	idAndKey = `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},` +
		`{"name":"k","type":"string","nullable":true,"metadata":{}}]}`
	idColumn = `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}`
)

// tracking opens the stream with its schema log.
func (r *rig) tracking(o plan.Options) (*source, error) {
	r.t.Helper()
	options := plan.Options{schemaLogOption: logDir}
	for key, value := range o {
		options[key] = value
	}
	s, err := openSource(r.t.Context(), r.env, r.scan(options), connector.Place{FS: r.fsys,
		Dir: "/ck/sources/0"})
	d, _ := s.(*source)
	return d, err
}

// raised is the condition of an error.
func raised(err error) string {
	var e *plan.Error
	if errors.As(err, &e) {
		return e.Condition
	}
	return fmt.Sprint(err)
}

// A crash between any two steps around a change of the table leads on to the same batches:
// the places are in the offsets before the log is written.
func TestAStreamWithASchemaLogEndsAtAChangeAndGoesOnBehindIt(t *testing.T) {
	r := newRig(t)
	r.add(1)
	d, err := r.tracking(nil)
	conform.Must(t, err)
	at, err := d.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	r.described(2, d.reader.Metadata.ID, idAndKey)
	r.add(3)
	before, err := d.Latest(t.Context(), at, connector.Limit{})
	conform.Must(t, err)
	if place(before) != "2/-20" {
		t.Fatalf("the batch before the change ends at %s, want 2/-20", before)
	}
	for range 2 { // a crash before the log is written, and one behind
		if d, err = r.tracking(nil); err != nil {
			t.Fatal(err)
		}
		behind, err := d.Latest(t.Context(), before, connector.Limit{})
		conform.Must(t, err)
		if place(behind) != "2/-19" {
			t.Fatalf("the change ends at %s, want 2/-19", behind)
		}
		if got := len(conform.RowsOf(t, d.Read(t.Context(), before, behind))); got != 0 {
			t.Errorf("%d rows within a change", got)
		}
	}
	if err := d.Advance(t.Context(), before); raised(err) != "DELTA_STREAMING_METADATA_EVOLUTION" {
		t.Fatalf("got %v", err)
	}
	if d, err = r.tracking(nil); err != nil {
		t.Fatal(err)
	}
	if len(d.reader.Schema.Fields) != 2 {
		t.Errorf("the query has the columns %s, want two", d.reader.Schema.DDL())
	}
	_, ids, _ := r.batches(d, offset{SourceVersion: 3, TableID: d.reader.Metadata.ID, Version: 2,
		Index: indexBehind}.text(), connector.Limit{})
	if len(ids) != 1 || ids[0] != 3 {
		t.Errorf("got the rows %v behind the change, want 3", ids)
	}
}

func TestADroppedColumnNeedsAWord(t *testing.T) {
	r := newRig(t)
	r.described(1, "x", idAndKey)
	d, err := r.tracking(plan.Options{"startingVersion": "1"})
	conform.Must(t, err)
	_, err = d.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	r.described(2, "x", idColumn)
	d.commits = map[int64]*commit{}
	place := offset{SourceVersion: 3, TableID: d.reader.Metadata.ID, Version: 2, Index: indexBefore}
	if err := d.Advance(t.Context(), place.text()); raised(err) != "DELTA_STREAMING_METADATA_EVOLUTION" {
		t.Fatalf("got %v", err)
	}
	const refused = "DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"
	for _, c := range []struct {
		options plan.Options
		want    string
	}{
		{nil, refused}, {plan.Options{"allowSourceColumnRename": "always"}, refused},
		{plan.Options{"allowSourceColumnDrop": "1"}, refused}, {plan.Options{"allowSourceColumnDrop": "2"}, "<nil>"},
		{plan.Options{"allowsourcecolumndrop": "ALWAYS"}, "<nil>"},
	} {
		if _, err := r.tracking(c.options); raised(err) != c.want {
			t.Errorf("%v: got %v, want %s", c.options, err, c.want)
		}
	}
}

func TestASchemaLogThatCannotBeTrustedStopsTheStream(t *testing.T) {
	const table = "abc"
	for name, c := range map[string]struct{ data, want string }{
		"empty":          {"", "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED"},
		"cut off":        {"v1\n{\"tableId\":\"a", "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED"},
		"of later times": {"v2\n{}", "DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED"},
		"another table":  {"v1\n{\"tableId\":\"other\"}", "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID"},
	} {
		fsys := vfs.NewMemory()
		conform.Must(t, fsys.MkdirAll(logDir+"/_schema_log_"+table))
		conform.Must(t, vfs.WriteNew(fsys, logDir+"/_schema_log_"+table+"/0", []byte(c.data)))
		_, err := delta.OpenSchemaLog(fsys, logDir+"/_schema_log_"+table, headOf(table))
		if raised(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestTwoStreamsDoNotWriteOneSchemaLog(t *testing.T) {
	r := newRig(t)
	r.add(1)
	one, err := r.tracking(nil)
	conform.Must(t, err)
	two, err := r.tracking(nil)
	conform.Must(t, err)
	_, err = one.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	if _, err = two.Latest(t.Context(), "",
		connector.Limit{}); raised(err) != "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT" {
		t.Errorf("got %v", err)
	}
}

func headOf(table string) *delta.Snapshot {
	return &delta.Snapshot{Metadata: delta.Metadata{ID: table}, Protocol: delta.Protocol{MinReaderVersion: 1}}
}

func FuzzSchemaLog(f *testing.F) {
	f.Add("v1\n{\"tableId\":\"t\",\"partitionSchemaJson\":\"{}\"}")
	f.Add("v1\n{\"tableId\":\"t\",\"dataSchemaJson\":" + fmt.Sprintf("%q", idColumn) + "}")
	f.Fuzz(func(t *testing.T, data string) {
		fsys := vfs.NewMemory()
		conform.Must(t, fsys.MkdirAll(logDir+"/_schema_log_t"))
		conform.Must(t, vfs.WriteNew(fsys, logDir+"/_schema_log_t/0", []byte(data)))
		log, err := delta.OpenSchemaLog(fsys, logDir+"/_schema_log_t", headOf("t"))
		if err != nil || !log.Known() {
			return
		}
		_, _ = log.Reader(headOf("t"))
	})
}
