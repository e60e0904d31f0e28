package pyworker

import (
	"context"
	"fmt"
	"sync"
)

// Entry is how a worker reaches the session of its query.
type Entry struct {
	URL string // of Spark Connect, with what is needed to be let in
	// Root is the client's session, which the function may refer to; Clone the
	// copy of it that the batches run in.
	Root, Clone string
	User        string
}

// Batches is the worker of a query with foreachBatch. One goroutine calls it.
type Batches struct {
	host   *Host
	worker *worker
	entry  Entry
	close  sync.Once
}

// openCall and batchCall are calls on the wire.
type openCall struct {
	Do      string `json:"do"`
	Pickles int    `json:"pickles"`
	Python  string `json:"python"`
	URL     string `json:"url"`
	Root    string `json:"root"`
	Clone   string `json:"clone"`
}

type batchCall struct {
	Do    string `json:"do"`
	Frame string `json:"frame"`
	Batch int64  `json:"batch"`
}

// OpenBatches starts a worker, lets it connect and loads the function.
func (h *Host) OpenBatches(ctx context.Context, l Launch, pickle []byte, version string, e Entry,
) (*Batches, error) {
	w, err := h.start(ctx, h.completed(l))
	if err != nil {
		return nil, err
	}
	b := &Batches{host: h, worker: w, entry: e}
	call := openCall{Do: "openBatches", Pickles: 1, Python: version, URL: e.URL, Root: e.Root, Clone: e.Clone}
	if err := b.run(ctx, call, []Function{{Pickle: pickle}}); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Run calls the function with a frame that the session holds under an id.
func (b *Batches) Run(ctx context.Context, frame string, batch int64) error {
	return b.run(ctx, batchCall{Do: "batch", Frame: frame, Batch: batch}, nil)
}

func (b *Batches) run(ctx context.Context, call any, functions []Function) error {
	release := b.worker.until(ctx)
	defer release()
	defer b.worker.output.settle()
	if err := b.worker.tell(call, functions); err != nil {
		return b.worker.broken(ctx, err)
	}
	kind, payload, err := b.worker.receive()
	switch {
	case err != nil:
		return b.worker.broken(ctx, err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case kind == frameDone:
		return nil
	case kind == frameError:
		return failure(payload, fmt.Sprintf("[session: %s] [userId: %s] "+
			"Found error inside foreachBatch Python process", b.entry.Root, b.entry.User))
	default:
		return b.worker.broken(ctx, fmt.Errorf("a frame of kind %q from Python", kind))
	}
}

// Close ends the worker.
func (b *Batches) Close() { b.close.Do(func() { b.host.end(b.worker) }) }
