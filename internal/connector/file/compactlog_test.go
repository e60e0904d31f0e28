package file

import (
	"fmt"
	"testing"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

func TestALongLogIsNotListedForEveryBatch(t *testing.T) {
	listed := 0
	fsys := vfs.NewFaulty(vfs.NewMemory(), func(c vfs.Call) vfs.Fault {
		if c.Op == vfs.OpList {
			listed++
		}
		return vfs.Fault{}
	})
	conform.Must(t, vfs.MkdirDurable(fsys, "/r/ck"))
	log, err := openCompactLog(conform.NewEnv(t, fsys), connector.Place{FS: fsys, Dir: "/r/ck"}, "fileSource")
	conform.Must(t, err)
	before := listed
	for id := range int64(250) {
		conform.Must(t, log.add(id, []string{fmt.Sprintf(`{"path":"file:///r/in/%d","timestamp":1,"batchId":%d}`,
			id, id)}))
	}
	if listed != before {
		t.Errorf("250 batches listed the log %d times", listed-before)
	}
}
