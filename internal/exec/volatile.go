package exec

import (
	"time"

	"github.com/weir-dev/weir/internal/state"
	"github.com/weir-dev/weir/internal/vfs"
)

// noWatermark is the watermark that processors see where there is none.
const noWatermark = -1

// remember is the state of an operator in a run, and what ends its use. Without a
// stream it is empty at the start of each run and gone at its end.
func (o *transformOp) remember(r *running) (w working, forget func(), err error) {
	if !o.volatile {
		return r.working(o.id), func() {}, nil
	}
	store, err := state.Open(state.Options{FS: vfs.NewMemory(), Dir: "/state", Shapes: o.tables}, 0)
	if err != nil {
		return working{}, nil, err
	}
	held := r.lease("state of Python")
	w = working{of: &Stateful{
		Stores: []*state.Store{store}, Work: make([]StateWork, 1), Late: []int64{noWatermark},
		Evict: []int64{noWatermark}, Elapsed: func() time.Duration { return 0 },
	}, held: held}
	return w, func() {
		held.End()
		_ = store.Close() // of memory
	}, nil
}

// charge takes what a state without a stream holds from the budget; that of a
// stream is charged when a batch ends.
func (w *working) charge() error {
	if w.held == nil {
		return nil
	}
	return w.held.Hold(w.of.Stores[w.id].Bytes())
}
