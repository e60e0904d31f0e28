package connector

import (
	"fmt"
	"testing"

	"github.com/weir-dev/weir/internal/vfs"
)

func TestALongLogIsNotListedForEveryBatch(t *testing.T) {
	listed := 0
	fsys := vfs.NewFaulty(vfs.NewMemory(), func(c vfs.Call) vfs.Fault {
		if c.Op == vfs.OpList {
			listed++
		}
		return vfs.Fault{}
	})
	must(t, vfs.MkdirDurable(fsys, "/r/ck"))
	log, err := openCompactLog(newEnv(t, fsys), Place{fsys, "/r/ck"}, "fileSource")
	must(t, err)
	before := listed
	for id := range int64(250) {
		must(t, log.add(id, []string{fmt.Sprintf(`{"path":"file:///r/in/%d","timestamp":1,"batchId":%d}`, id, id)}))
	}
	if listed != before {
		t.Errorf("250 batches listed the log %d times", listed-before)
	}
}
