package stream

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// Classes as Spark 4.3 has them; every error names the file and what to do.
func TestDamagedMetadataIsNamed(t *testing.T) {
	const whole = `{"id":"6f1a2b3c-0000-4000-8000-000000000000"}`
	const parse = "com.fasterxml.jackson.core.JsonParseException"
	for _, c := range []struct{ name, text, class string }{
		{"empty", "", parse}, {"cut off", whole[:20], parse}, {"bytes", "\x00\x01", parse},
		{"without an id", "{}", "org.json4s.MappingException"},
		{"no id", `{"id":"x"}`, plan.ClassJavaIllegal}, {"a number", `{"id":5}`, plan.ClassJavaIllegal},
	} {
		_, err := parseMetadata("/ck/metadata", []byte(c.text))
		said, ok := err.(*plan.Error)
		if !ok || said.Class != c.class {
			t.Errorf("%s: got %v, want class %s", c.name, err, c.class)
			continue
		}
		for _, part := range []string{"/ck/metadata", "damaged", "checkpointLocation"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not name %s", c.name, err, part)
			}
		}
	}
	if id, err := parseMetadata("m", []byte(whole)); err != nil || "{\"id\":\""+id+"\"}" != whole {
		t.Errorf("whole: %q, %v", id, err)
	}
}

// A run that starts on a checkpoint cleans up what runs before it left. What another run was
// just writing goes with it: that one is told so, and a start that loses its file makes it again.
func TestACleanUpOfAnotherRunIsTold(t *testing.T) {
	disk := vfs.NewMemory()
	gone := false
	fsys := vfs.NewFaulty(disk, func(c vfs.Call) vfs.Fault {
		if c.Op == vfs.OpRenameNew && !gone {
			gone = true
			return vfs.Fault{Err: fs.ErrNotExist}
		}
		return vfs.Fault{}
	})
	place := connector.Place{FS: fsys, Dir: "/ck"}
	if id, err := openMetadata(place, false); err != nil || id == "" || !gone {
		t.Errorf("the start ended with %q, %v", id, err)
	}
	log := &batchLog{place: below(place, offsetsName)}
	if err := vfs.MkdirDurable(disk, log.place.Dir); err != nil {
		t.Fatal(err)
	}
	gone = false
	var said *plan.Error
	err := log.add(7, []byte("v1"))
	if !errors.As(err, &said) || said.Condition != "CONCURRENT_STREAM_LOG_UPDATE" {
		t.Errorf("got %v", err)
	}
	if err := disk.RemoveAll("/ck"); err != nil {
		t.Fatal(err)
	}
	said = nil
	if err := log.add(8, []byte("v1")); err == nil || errors.As(err, &said) {
		t.Errorf("without its directory: %v", err)
	}
}
